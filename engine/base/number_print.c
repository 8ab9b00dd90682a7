/* SPDX-License-Identifier: Apache-2.0 */
/* float64 as text: the fewest digits, with a point or an exponent, whichever is shorter. */
#include <math.h>
#include <string.h>

#include "engine/base/digits.h"
#include "engine/base/number.h"

enum { DIGITS_OF_WHOLE = 15 }; /* whole numbers of that many digits are exact */

/* The two digits of every number below 100. */
static const char pairs[] =
    "000102030405060708091011121314151617181920212223242526272829303132333435"
    "363738394041424344454647484950515253545556575859606162636465666768697071"
    "72737475767778798081828384858687888990919293949596979899";

/* Of a number above 0 that has at most 17. */
static inline int digit_count(uint64_t x)
{
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
    const int guess = (64 - __builtin_clzll(x)) * 1233 >> 12; /* log10, or one less */

    return guess + (x >= tens[guess]);
}

/* Writes the last 8 digits of x at to. */
static inline void write_8(uint32_t x, char *to)
{
    const uint32_t high = x / 10000, low = x % 10000;

    memcpy(to, pairs + 2 * (high / 100), 2);
    memcpy(to + 2, pairs + 2 * (high % 100), 2);
    memcpy(to + 4, pairs + 2 * (low / 100), 2);
    memcpy(to + 6, pairs + 2 * (low % 100), 2);
}

/* Writes all n digits of x so that they end at `end`. */
static inline void write_digits(uint64_t x, int n, char *end)
{
    uint32_t rest;

    for (; n >= 8; n -= 8) {
        write_8((uint32_t)(x % 100000000), end -= 8);
        x /= 100000000;
    }
    for (rest = (uint32_t)x; n >= 2; n -= 2) {
        memcpy(end -= 2, pairs + 2 * (rest % 100), 2);
        rest /= 100;
    }
    if (n > 0)
        end[-1] = (char)('0' + rest);
}

/* 0.00123 or 12.3: the point stands behind `before` digits, or that many zeros before them. */
static inline char *write_fixed(uint64_t digits, int n, int before, char *to)
{
    if (before <= 0) {
        *to++ = '0';
        *to++ = '.';
        for (; before < 0; before++)
            *to++ = '0';
        write_digits(digits, n, to + n);
        return to + n;
    }
    write_digits(digits, n, to + n + 1);
    for (int i = 0; i < before; i++)
        to[i] = to[i + 1];
    to[before] = '.';
    return to + n + 1;
}

/* 1.23e-05: the exponent has two digits, or three. */
static char *write_scientific(uint64_t digits, int n, int exponent, char *to)
{
    const unsigned size = (unsigned)(exponent < 0 ? -exponent : exponent);

    write_digits(digits, n, to + n + 1);
    to[0] = to[1];
    to[1] = '.';
    to += n == 1 ? 1 : n + 1;
    *to++ = 'e';
    *to++ = exponent < 0 ? '-' : '+';
    if (size >= 100)
        *to++ = (char)('0' + size / 100);
    memcpy(to, pairs + 2 * (size % 100), 2);
    return to + 2;
}

static inline char *write_finite(double value, char *to)
{
    int exponent = 0;
    const uint64_t digits = digits_of_f64(value, &exponent);
    const int n = digit_count(digits), before = n + exponent;
    const int fixed = before <= 0 ? 2 - exponent : exponent < 0 ? n + 1 : before;
    const int scientific = n + (n > 1) + (before > 100 || before < -98 ? 5 : 4);

    if (fixed > scientific)
        return write_scientific(digits, n, before - 1, to);
    if (exponent < 0)
        return write_fixed(digits, n, before, to);
    if (before > DIGITS_OF_WHOLE)
        return number_print_whole(to, value);
    write_digits((uint64_t)value, before, to + before);
    memcpy(to + before, ".0", 2);
    return to + before + 2;
}

char *number_print_f64(char *to, double value)
{
    if (signbit(value) && !isnan(value))
        *to++ = '-';
    if (isfinite(value) && value != 0)
        return write_finite(fabs(value), to);
    memcpy(to, isnan(value) ? "nan" : isinf(value) ? "inf" : "0.0", 3);
    return to + 3;
}
