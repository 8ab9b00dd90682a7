/* SPDX-License-Identifier: Apache-2.0 */
/* float64 as text: the fewest digits, with a point or an exponent, whichever is shorter. */
#include <math.h>
#include <string.h>

#include "engine/base/digits.h"
#include "engine/base/number.h"

enum {
    DIGITS_OF_WHOLE = 15, /* whole numbers of that many digits are exact */
    DIGITS_MAX = 17       /* of any shortest decimal */
};

/* Powers of ten. */
static const uint64_t tens[] = {1,
                                10,
                                100,
                                1000,
                                10000,
                                100000,
                                1000000,
                                10000000,
                                100000000,
                                1000000000,
                                10000000000,
                                100000000000,
                                1000000000000,
                                10000000000000,
                                100000000000000,
                                1000000000000000,
                                10000000000000000,
                                100000000000000000};

/* Of a number above 0 that has at most DIGITS_MAX. */
static inline int digit_count(uint64_t x)
{
    const int guess = (64 - __builtin_clzll(x)) * 1233 >> 12; /* log10, or one less */

    return guess + (x >= tens[guess]);
}

/* The eight digits of x, below 10^8, each in a byte, the first one lowest: fours, then pairs, then
 * single ones are taken apart, all at once. */
static inline uint64_t apart(uint32_t x)
{
    uint64_t fours = x / 10000, pairs, hundreds, ones;

    fours |= (uint64_t)(x % 10000) << 32;
    hundreds = (fours * 10486 >> 20) & 0x0000007f0000007f;
    pairs = hundreds | (fours - hundreds * 100) << 16;
    ones = (pairs * 103 >> 10) & 0x000f000f000f000f;
    return ones | (pairs - ones * 10) << 8;
}

/* A decimal: 0.d1d2d3... * 10^before, of 17 digits, of which those behind the first `count` are
 * zeros. */
typedef struct decimal {
    uint64_t first, second; /* eight digits each, a byte each, as bytes lie in memory */
    int last, count, before;
} decimal;

static inline int zeros_at_end(uint64_t eight)
{
    return eight == 0 ? 8 : __builtin_clzll(eight) / 8;
}

/* digits with zeros behind them, so that there are 17; *count becomes how many there were. Mostly
 * that is 16 or 17, which takes no multiplication to tell. */
static inline uint64_t fill_up(uint64_t digits, int *count)
{
    const int64_t lacks_one = (int64_t)(digits - tens[16]) >> 63; /* all bits set if so */

    if (digits < tens[15]) {
        *count = digit_count(digits);
        return digits * tens[DIGITS_MAX - *count];
    }
    *count = DIGITS_MAX + (int)lacks_one;
    return digits + (9 * digits & (uint64_t)lacks_one);
}

static inline decimal decimal_of(double value)
{
    int exponent = 0, count;
    const uint64_t digits = fill_up(digits_of_f64(value, &exponent), &count);
    const uint32_t first = (uint32_t)(digits / 1000000000), rest = (uint32_t)(digits % 1000000000);
    decimal x = {.first = apart(first),
                 .second = apart(rest / 10),
                 .last = (int)(rest % 10),
                 .before = count + exponent};
    const int zeros = zeros_at_end(x.second);
    const int some = 16 - zeros - (zeros == 8 ? zeros_at_end(x.first) : 0);

    /* By arithmetic: a branch would be mispredicted half of the time. */
    x.count = some + ((DIGITS_MAX - some) & -x.last >> 31);
    return x;
}

static const uint64_t all_zeros = 0x3030303030303030; /* as text */

/* Writes all 17 digits. */
static inline void write_digits(const decimal *x, char *to)
{
    const uint64_t first = x->first | all_zeros, second = x->second | all_zeros;

    memcpy(to, &first, 8);
    memcpy(to + 8, &second, 8);
    to[16] = (char)('0' + x->last);
}

/* 12.3: digits on both sides of the point. All are written one further to the right, then the
 * eight bytes that the point is among, where the digits before it go back. */
static inline char *write_around_point(const decimal *x, char *to)
{
    const int before = x->before;

    write_digits(x, to + 1);
    if (before < 8) {
        const uint64_t first = x->first | all_zeros, bit = UINT64_C(1) << 8 * before;
        const uint64_t text = (first & (bit - 1)) | bit * '.' | (first & -bit) << 8;

        memcpy(to, &text, 8);
    } else {
        memmove(to, to + 1, (size_t)before);
        to[before] = '.';
    }
    return to + x->count + 1;
}

/* 0.00123: zeros behind the point, at most three. */
static inline char *write_behind_point(const decimal *x, char *to)
{
    memcpy(to, "0.000000", 8);
    write_digits(x, to + 2 - x->before);
    return to + 2 - x->before + x->count;
}

/* 1.23e-05: the exponent has two digits, or three. */
static char *write_scientific(const decimal *x, char *to)
{
    const int exponent = x->before - 1;
    const int size = exponent < 0 ? -exponent : exponent;

    write_digits(x, to + 1);
    to[0] = to[1];
    to[1] = '.';
    to += x->count == 1 ? 1 : x->count + 1;
    *to++ = 'e';
    *to++ = exponent < 0 ? '-' : '+';
    if (size >= 100)
        *to++ = (char)('0' + size / 100);
    *to++ = (char)('0' + size / 10 % 10);
    *to++ = (char)('0' + size % 10);
    return to;
}

/* Whether the scientific form is shorter than the fixed one, without .0 if the number is whole. */
static inline bool is_scientific(const decimal *x)
{
    const int n = x->count, before = x->before;
    const int fixed = before <= 0 ? 2 + n - before : before < n ? n + 1 : before;

    return fixed > n + (n > 1) + (before > 100 || before < -98 ? 5 : 4);
}

static inline char *write_finite(double value, char *to)
{
    const decimal x = decimal_of(value);

    if (is_scientific(&x))
        return write_scientific(&x, to);
    if (x.before <= 0)
        return write_behind_point(&x, to);
    if (x.before < x.count)
        return write_around_point(&x, to);
    if (x.before > DIGITS_OF_WHOLE)
        return number_print_whole(to, value);
    write_digits(&x, to);
    memcpy(to + x.before, ".0", 2);
    return to + x.before + 2;
}

char *number_print_f64(char *to, double value)
{
    *to = '-';
    to += signbit(value) && !isnan(value) ? 1 : 0;
    if (isfinite(value) && value != 0)
        return write_finite(fabs(value), to);
    memcpy(to, isnan(value) ? "nan" : isinf(value) ? "inf" : "0.0", 3);
    return to + 3;
}
