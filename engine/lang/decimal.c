/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lang/decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/number.h"
#include "engine/tensor/half.h"

enum { DIGITS = 400, PRECISION = 8 };

/* d[0].d[1]d[2].. times ten to the power exponent, without trailing zeros. */
typedef struct decimal {
    bool negative;
    char digits[DIGITS];
    int count, exponent;
} decimal;

/* ---- Digits ----------------------------------------------------------------- */

/* x rounded to a type. */
static double rounded_to(double x, dtype type)
{
    if (type == DT_F32 || type == DT_C64)
        return (double)(float)x;
    if (type == DT_F16)
        return (double)f32_of_f16(f16_of_f64(x));
    return type == DT_BF16 ? (double)f32_of_bf16(bf16_of_f64(x)) : x;
}

static int read_exponent(const char *text, const char *end)
{
    const bool negative = *text == '-';
    int exponent = 0;

    for (text += *text == '-' || *text == '+'; text < end; text++)
        exponent = exponent * 10 + (*text - '0');
    return negative ? -exponent : exponent;
}

/* Reads what printf or to_chars wrote. */
static void read_decimal(const char *text, const char *end, decimal *d)
{
    int point = -1, zeros = 0;
    bool started = false;

    *d = (decimal){.negative = *text == '-'};
    for (text += d->negative; text < end && *text != 'e'; text++) {
        if (*text == '.') {
            point = d->count + zeros;
            continue;
        }
        started = started || *text != '0';
        if (!started)
            zeros++;
        else if (d->count < DIGITS)
            d->digits[d->count++] = *text;
    }
    d->exponent = (point < 0 ? d->count + zeros : point) - zeros - 1;
    if (text < end)
        d->exponent += read_exponent(text + 1, end);
    while (d->count > 0 && d->digits[d->count - 1] == '0')
        d->count--;
    if (d->count == 0) {
        d->digits[d->count++] = '0';
        d->exponent = 0;
    }
}

static void print_decimal(double x, const char *format, int precision, decimal *d)
{
    char room[DIGITS];
    const int n = snprintf(room, sizeof room, format, precision, x);

    read_decimal(room, room + n, d);
}

/* The fewest digits that read back as x, found by trying. */
static void shortest_tried(double x, dtype type, decimal *d)
{
    char room[64];

    for (int precision = 0; precision < 17; precision++) {
        const int n = snprintf(room, sizeof room, "%.*e", precision, x);

        read_decimal(room, room + n, d);
        if (rounded_to(strtod(room, NULL), type) == x)
            return;
    }
}

/* The fewest digits that read back as the finite number x in its type. Whole
 * numbers beyond the precision of the type have more in number's texts. */
static void shortest(double x, dtype type, decimal *d)
{
    const bool narrow = type == DT_F32 || type == DT_C64;
    const double exact = narrow ? 16777216.0 : 9007199254740992.0;
    char room[NUMBER_TEXT_MAX];

    if (type == DT_F16 || type == DT_BF16 || fabs(x) > exact)
        shortest_tried(x, type, d);
    else
        read_decimal(room, narrow ? number_print_f32(room, (float)x) : number_print_f64(room, x),
                     d);
}

/* At most PRECISION digits behind the point, in one of the two forms. */
static void limited(double x, dtype type, bool exponent, decimal *d)
{
    shortest(x, type, d);
    if ((exponent ? d->count - 1 : d->count - 1 - d->exponent) > PRECISION)
        print_decimal(x, exponent ? "%.*e" : "%.*f", PRECISION, d);
}

static int fraction_digits(const decimal *d, bool exponent)
{
    const int n = exponent ? d->count - 1 : d->count - 1 - d->exponent;

    return n > 0 ? n : 0;
}

static int whole_digits(const decimal *d, bool exponent)
{
    return exponent || d->exponent < 0 ? 1 : d->exponent + 1;
}

/* The digit that stands for ten to the power i; behind and before them zeros. */
static char digit_at(const decimal *d, int i)
{
    const int at = d->exponent - i;

    return at >= 0 && at < d->count ? d->digits[at] : '0';
}

/* Writes the number without an exponent: whole part, point, fraction. */
static void write_positional(const decimal *d, text *t)
{
    const int fraction = fraction_digits(d, false);

    for (int i = whole_digits(d, false) - 1; i >= 0; i--)
        text_add_char(t, digit_at(d, i));
    text_add_char(t, '.');
    for (int i = 1; i <= fraction; i++)
        text_add_char(t, digit_at(d, -i));
}

/* ---- One number ------------------------------------------------------------- */

static void write_special(double x, text *t)
{
    text_add(t, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
}

static void write_exponent(int exponent, int digits, text *t)
{
    text_addf(t, "e%c%0*d", exponent < 0 ? '-' : '+', digits, abs(exponent));
}

void decimal_scalar(double x, dtype type, const char *whole, text *t)
{
    decimal d;

    if (!isfinite(x)) {
        write_special(x, t);
        return;
    }
    shortest(x, type, &d);
    if (d.negative)
        text_add_char(t, '-');
    if (x == 0 || (d.exponent >= -4 && d.exponent < 16)) {
        write_positional(&d, t);
        if (t->bytes[t->length - 1] == '.') {
            t->length--;
            t->bytes[t->length] = '\0';
            text_add(t, whole);
        }
        return;
    }
    text_add_char(t, d.digits[0]);
    if (d.count > 1) {
        text_add_char(t, '.');
        text_add_bytes(t, d.digits + 1, (size_t)d.count - 1);
    }
    write_exponent(d.exponent, 2, t);
}

/* ---- The form of an array
 * ------------------------------------------------------------------------ */

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Whether the sizes of the numbers ask for exponents. */
static bool needs_exponent(const double *x, int64_t n, int64_t step, dtype type)
{
    double most = 0, least = INFINITY;

    for (int64_t i = 0; i < n; i++) {
        const double size = fabs(x[i * step]);

        if (!isfinite(size) || size == 0)
            continue;
        most = size > most ? size : most;
        least = size < least ? size : least;
    }
    return most > 0 && (most >= 1e8 || least < rounded_to(0.0001, type) ||
                        rounded_to(most / least, type) > 1000);
}

static int exponent_width(const decimal *d)
{
    return abs(d->exponent) < 100 ? 2 : 3;
}

void decimal_form_find(decimal_form *f, const double *x, int64_t n, int64_t step, dtype type,
                       bool plus)
{
    bool special = false, negative_infinity = plus;
    int right = 0;

    *f = (decimal_form){.type = type, .plus = plus};
    f->exponent = needs_exponent(x, n, step, type);
    for (int64_t i = 0; i < n; i++) {
        const double v = x[i * step];
        decimal d;

        special = special || !isfinite(v);
        negative_infinity = negative_infinity || (isinf(v) && v < 0);
        if (!isfinite(v))
            continue;
        limited(v, type, f->exponent, &d);
        f->left = larger(f->left, whole_digits(&d, f->exponent) + (plus || d.negative));
        right = larger(right, fraction_digits(&d, f->exponent));
        f->exponent_digits = larger(f->exponent_digits, exponent_width(&d));
    }
    f->precision = right;
    f->right = f->exponent ? f->exponent_digits + 2 + right : right;
    if (special)
        f->left = larger(f->left, larger(3, 3 + negative_infinity) - (f->right + 1));
}

static void pad(text *t, int n)
{
    for (; n > 0; n--)
        text_add_char(t, ' ');
}

static void special_in_form(const decimal_form *f, double x, text *t)
{
    const bool sign = f->plus && (isnan(x) || x > 0);

    pad(t, f->left + f->right + 1 - (3 + (sign || (isinf(x) && x < 0))));
    if (sign)
        text_add_char(t, '+');
    write_special(x, t);
}

/* Digits that the form shows beyond the shortest are those of the exact value. */
void decimal_in_form(const decimal_form *f, double x, text *t)
{
    decimal d;

    if (!isfinite(x)) {
        special_in_form(f, x, t);
        return;
    }
    limited(x, f->type, f->exponent, &d);
    if (f->exponent ? d.count - 1 < f->precision : d.count - 1 < d.exponent)
        print_decimal(x, f->exponent ? "%.*e" : "%.*f", f->precision * f->exponent, &d);
    pad(t, f->left - whole_digits(&d, f->exponent) - (f->plus || d.negative));
    if (f->plus || d.negative)
        text_add_char(t, d.negative ? '-' : '+');
    if (!f->exponent) {
        write_positional(&d, t);
        pad(t, f->right - fraction_digits(&d, false));
        return;
    }
    text_addf(t, "%c.", d.digits[0]);
    for (int i = 1; i <= f->precision; i++)
        text_add_char(t, i < d.count ? d.digits[i] : '0');
    write_exponent(d.exponent, f->exponent_digits, t);
}
