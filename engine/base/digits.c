/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/digits.h"

#include <string.h>

/* ---- Powers of ten ---------------------------------------------------------------------- */

enum { POWER_MIN = -342, POWER_MAX = 324 };

/* The first 128 bits of 10^k, the first of them set: cut off for k >= 0, and for k < 0 cut
 * off and one more. */
typedef struct power {
    uint64_t high, low;
} power;

static power powers[POWER_MAX - POWER_MIN + 1];

enum { LIMBS = 26 }; /* of 32 bits: 5^342 has 795 bits */

/* A whole number, the lowest limb first. */
typedef struct whole {
    uint32_t limb[LIMBS];
} whole;

static void times_5(whole *x)
{
    uint64_t carry = 0;

    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)x->limb[i] * 5;
        x->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int bit_count(const whole *x)
{
    int i = LIMBS - 1;

    while (i > 0 && x->limb[i] == 0)
        i--;
    return 32 * i + 32 - __builtin_clz(x->limb[i] | 1);
}

static bool bit(const whole *x, int i)
{
    return i >= 0 && (x->limb[i / 32] >> i % 32 & 1) != 0;
}

static power first_bits(const whole *x)
{
    const int top = bit_count(x) - 1;
    power p = {0, 0};

    for (int i = 0; i < 64; i++) {
        p.high = p.high << 1 | bit(x, top - i);
        p.low = p.low << 1 | bit(x, top - 64 - i);
    }
    return p;
}

/* Doubles x, adding a bit. */
static void shift_in(whole *x, bool low)
{
    for (int i = LIMBS - 1; i > 0; i--)
        x->limb[i] = x->limb[i] << 1 | x->limb[i - 1] >> 31;
    x->limb[0] = x->limb[0] << 1 | low;
}

/* x - y if that is not negative. */
static bool subtract(whole *x, const whole *y)
{
    whole difference;
    int64_t carry = 0;

    for (int i = 0; i < LIMBS; i++) {
        carry += (int64_t)x->limb[i] - y->limb[i];
        difference.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry == 0)
        *x = difference;
    return carry == 0;
}

/* The first 128 bits of 1/x and one more, by long division. */
static power inverse_bits(const whole *x)
{
    whole rest = {{1}};
    power p = {0, 0};
    bool begun = false;

    for (int i = 0; i < 128;) {
        bool one;

        shift_in(&rest, false);
        one = subtract(&rest, x);
        begun = begun || one;
        i += begun;
        p.high = p.high << 1 | p.low >> 63;
        p.low = p.low << 1 | one;
    }
    p.low++;
    p.high += p.low == 0;
    return p;
}

__attribute__((constructor)) static void make_powers(void)
{
    whole x = {{1}};

    for (int k = 0; k <= -POWER_MIN; k++) {
        if (k <= POWER_MAX)
            powers[k - POWER_MIN] = first_bits(&x);
        if (k > 0)
            powers[-k - POWER_MIN] = inverse_bits(&x);
        times_5(&x);
    }
}

/* 128 bits of a product. */
static inline uint64_t multiply(uint64_t a, uint64_t b, uint64_t *low)
{
    const unsigned __int128 product = (unsigned __int128)a * b;

    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
}

/* ---- Reading --------------------------------------------------------------------------------- */

enum { FRACTION_BITS = 52, EXPONENT_BIAS = 1023, EXPONENT_TOP = 0x7ff, DECIMAL_TOP = 308 };

static inline double of_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The value of a significand of 54 bits, the last to be rounded away, times 2^(exponent) in
 * the biased form; below the normal range bits are dropped first. */
static inline double round_significand(uint64_t m, int exponent)
{
    if (exponent <= 0) {
        if (exponent <= -63)
            return 0;
        m >>= 1 - exponent;
        m = (m + (m & 1)) >> 1;
        return of_bits(m); /* 2^52 is the smallest normal number */
    }
    m = (m + (m & 1)) >> 1;
    if (m >> (FRACTION_BITS + 1) != 0) {
        m >>= 1;
        exponent++;
    }
    if (exponent >= EXPONENT_TOP)
        return __builtin_inf();
    return of_bits((m & ~(UINT64_C(1) << FRACTION_BITS)) | (uint64_t)exponent << FRACTION_BITS);
}

/* The first 128 bits of digits, of which the first bit is set, times a power of ten, as far as
 * they matter; false if what was cut off might carry. */
static inline bool product(uint64_t digits, int exponent, uint64_t *high, uint64_t *low)
{
    const power *p = &powers[exponent - POWER_MIN];
    uint64_t more, unused;

    *high = multiply(digits, p->high, low);
    if ((*high & 0x1ff) != 0x1ff)
        return true;
    more = multiply(digits, p->low, &unused);
    *low += more;
    *high += *low < more;
    return *low != UINT64_MAX || (exponent >= -27 && exponent <= 55);
}

bool digits_to_f64(uint64_t digits, int exponent, double *value)
{
    const int zeros = digits == 0 ? 0 : __builtin_clzll(digits);
    uint64_t high, low, m;
    int up, binary;

    *value = digits == 0 || exponent < 0 ? 0 : __builtin_inf();
    if (digits == 0 || exponent < POWER_MIN || exponent > DECIMAL_TOP)
        return true;
    if (!product(digits << zeros, exponent, &high, &low))
        return false;
    up = (int)(high >> 63);
    binary = ((217706 * exponent) >> 16) + 63 + up - zeros + EXPONENT_BIAS;
    m = high >> (up + 9);
    if (low <= 1 && exponent >= -4 && exponent <= 23 && (m & 3) == 1 && m << (up + 9) == high)
        m &= ~UINT64_C(1); /* just halfway, and the lower one is even */
    *value = round_significand(m, binary);
    return true;
}

/* ---- Printing
 * ------------------------------------------------------------------------------------ */

/* floor(log2(10^k)) for |k| <= 1233, and floor(log10(2^q)) or, for closer, floor(log10(3/4 2^q)),
 * for |q| <= 1650. */
static inline int log2_of_power(int k)
{
    return (k * 1741647) >> 19;
}

static inline int log10_of_power(int q, bool closer)
{
    return (q * 1262611 - (closer ? 524031 : 0)) >> 22;
}

/* The power times c, its first 64 bits: the last one is set if any behind it is. */
static inline uint64_t round_to_odd(power p, uint64_t c)
{
    uint64_t low, middle;
    const uint64_t carry = multiply(p.low, c, &low);
    uint64_t high = multiply(p.high, c, &middle);

    middle += carry;
    high += middle < carry;
    return high | (middle > 1);
}

/* Comparison and choice by arithmetic. Branches would be mispredicted half of the time, and flags
 * that are set as bytes wait for whatever their registers held. All bits are set if a < b, of
 * numbers that differ by less than 2^63. */
static inline uint64_t less(uint64_t a, uint64_t b)
{
    return (uint64_t)((int64_t)(a - b) >> 63);
}

static inline uint64_t choose(uint64_t mask, uint64_t one, uint64_t other)
{
    return other ^ ((one ^ other) & mask);
}

/* The digits of significand * 2^q, of which the next lower value is half as far away if it
 * is closer. The names are those of the paper, four times the values. All
 * that is possible is computed and then chosen from. */
static inline uint64_t shortest(uint64_t significand, int q, bool closer, int *exponent)
{
    const uint64_t odd = significand & 1;
    const int k = log10_of_power(q, closer), h = q + log2_of_power(-k) + 1;
    power g = powers[-k - POWER_MIN];
    uint64_t lower, upper, v, s, tens, below, above, more, fewer;

    if (-k >= 0) { /* the table's is cut off */
        g.low++;
        g.high += g.low == 0;
    }
    lower = round_to_odd(g, (4 * significand - 2 + closer) << h) + odd;
    v = round_to_odd(g, (4 * significand) << h);
    upper = round_to_odd(g, (4 * significand + 2) << h) - odd;
    *exponent = k;
    s = v / 4;
    tens = s / 10;
    below = ~less(4 * s, lower);
    above = ~less(upper, 4 * s + 4);
    more = s - choose(below ^ above, above, less(4 * s + 2, v + (s & 1)));
    below = ~less(40 * tens, lower);
    above = ~less(upper, 40 * tens + 40);
    fewer = 10 * (tens - above);
    return choose((below ^ above) & less(9, s), fewer, more);
}

uint64_t digits_of_f64(double value, int *exponent)
{
    uint64_t bits, fraction, significand;
    int biased, q;

    memcpy(&bits, &value, sizeof bits);
    fraction = bits & ((UINT64_C(1) << FRACTION_BITS) - 1);
    biased = (int)(bits >> FRACTION_BITS);
    significand = biased != 0 ? fraction | UINT64_C(1) << FRACTION_BITS : fraction;
    q = (biased != 0 ? biased : 1) - EXPONENT_BIAS - FRACTION_BITS;
    if (q <= 0 && q > -53 && (significand & ((UINT64_C(1) << -q) - 1)) == 0) {
        *exponent = 0; /* whole */
        return significand >> -q;
    }
    if (fraction == 0 && biased > 1)
        return shortest(significand, q, true, exponent);
    return shortest(significand, q, false, exponent);
}
