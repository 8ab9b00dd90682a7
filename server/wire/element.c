/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/element.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/number.h"
#include "engine/tensor/half.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are stored little-endian");

const char *element_misfit(element_fit fit)
{
    static const char *const reasons[] = {
        [FITS] = "fits",
        [FIT_RANGE] = "is out of the range of",
        [FIT_FRACTION] = "is not a whole number, as needed for",
        [FIT_INEXACT] = "may be rounded; write it without point or exponent for",
    };

    return reasons[fit];
}

/* ---- Floats --------------------------------------------------------------------- */

/* What the float types differ in. */
typedef struct float_type {
    double (*load)(const void *element);
    void (*store)(double value, void *to);
    element_printer *print;
} float_type;

static double load_f16(const void *element)
{
    uint16_t h;

    memcpy(&h, element, sizeof h);
    return (double)f32_of_f16(h);
}

static double load_bf16(const void *element)
{
    uint16_t h;

    memcpy(&h, element, sizeof h);
    return (double)f32_of_bf16(h);
}

static double load_f32(const void *element)
{
    float x;

    memcpy(&x, element, sizeof x);
    return (double)x;
}

static double load_f64(const void *element)
{
    double x;

    memcpy(&x, element, sizeof x);
    return x;
}

static void store_f16(double value, void *to)
{
    const uint16_t h = f16_of_f64(value);

    memcpy(to, &h, sizeof h);
}

static void store_bf16(double value, void *to)
{
    const uint16_t h = bf16_of_f64(value);

    memcpy(to, &h, sizeof h);
}

static void store_f32(double value, void *to)
{
    const float x = (float)value;

    memcpy(to, &x, sizeof x);
}

static void store_f64(double value, void *to)
{
    memcpy(to, &value, sizeof value);
}

static char *print_f32(const void *element, char *to)
{
    float x;

    memcpy(&x, element, sizeof x);
    return number_print_f32(to, x);
}

/* Numbers below 1e5 with at most three decimals, which people write: the quotient
 * of two exact numbers is rounded once, so that it reads back, and no shorter
 * decimal does, since decimals of 15 digits are all different. Returns NULL for
 * others. */
static char *print_short(double x, char *to)
{
    const double thousands = x * 1000;
    int64_t whole = (int64_t)thousands;
    int rest;

    if ((double)whole != thousands || (double)whole / 1000 != x || (whole == 0 && signbit(x)))
        return NULL;
    if (whole < 0) {
        *to++ = '-';
        whole = -whole;
    }
    rest = (int)(whole % 1000);
    to = number_print_i64(to, whole / 1000);
    *to++ = '.';
    *to++ = (char)('0' + rest / 100);
    if (rest % 100 != 0)
        *to++ = (char)('0' + rest / 10 % 10);
    if (rest % 10 != 0)
        *to++ = (char)('0' + rest % 10);
    return to;
}

static char *print_f64(const void *element, char *to)
{
    const double x = load_f64(element);
    char *end = fabs(x) < 1e5 ? print_short(x, to) : NULL;

    return end != NULL ? end : number_print_f64(to, x);
}

/* The decimal of fewest digits that reads back to the same half: at most five
 * are needed, so trying is quick enough. */
static char *print_half(const void *element, char *to, const float_type *half)
{
    const double exact = half->load(element);
    uint16_t back;

    for (int digits = 0; digits < 9 && isfinite(exact); digits++) {
        char text[NUMBER_TEXT_MAX];
        double shorter;
        const int n = snprintf(text, sizeof text, "%.*e", digits, exact);

        number_read_f64(text, text + n, &shorter);
        half->store(shorter, &back);
        if (memcmp(&back, element, sizeof back) == 0)
            return number_print_f64(to, shorter);
    }
    return number_print_f64(to, exact);
}

static char *print_f16(const void *element, char *to);
static char *print_bf16(const void *element, char *to);

static const float_type floats[DT_COUNT] = {
    [DT_F16] = {load_f16, store_f16, print_f16},
    [DT_BF16] = {load_bf16, store_bf16, print_bf16},
    [DT_F32] = {load_f32, store_f32, print_f32},
    [DT_F64] = {load_f64, store_f64, print_f64},
};

static char *print_f16(const void *element, char *to)
{
    return print_half(element, to, &floats[DT_F16]);
}

static char *print_bf16(const void *element, char *to)
{
    return print_half(element, to, &floats[DT_BF16]);
}

/* ---- From values ------------------------------------------------------------------ */

static element_fit store_float(dtype t, double value, void *to)
{
    unsigned char element[8];

    floats[t].store(value, element);
    if (isinf(floats[t].load(element)) && !isinf(value))
        return FIT_RANGE;
    memcpy(to, element, dtype_size(t));
    return FITS;
}

/* The largest value of an integer type or bool. */
static uint64_t largest(const dtype_info *info)
{
    if (info->class == CLASS_BOOL)
        return 1;
    return UINT64_MAX >> (64 - 8 * info->size + (info->class == CLASS_INT));
}

element_fit element_from_i64(dtype t, int64_t value, void *to)
{
    const dtype_info *info = dtype_info_of(t);

    if (info->class == CLASS_FLOAT && t == DT_F32) { /* rounded once */
        const float x = (float)value;

        memcpy(to, &x, sizeof x);
        return FITS;
    }
    if (info->class == CLASS_FLOAT)
        return store_float(t, (double)value, to);
    if (value >= 0)
        return element_from_u64(t, (uint64_t)value, to);
    if (info->class != CLASS_INT || value < -(int64_t)largest(info) - 1)
        return FIT_RANGE;
    memcpy(to, &value, (size_t)info->size);
    return FITS;
}

element_fit element_from_u64(dtype t, uint64_t value, void *to)
{
    const dtype_info *info = dtype_info_of(t);

    if (info->class == CLASS_FLOAT && t == DT_F32) {
        const float x = (float)value;

        memcpy(to, &x, sizeof x);
        return FITS;
    }
    if (info->class == CLASS_FLOAT)
        return store_float(t, (double)value, to);
    if (value > largest(info))
        return FIT_RANGE;
    memcpy(to, &value, (size_t)info->size);
    return FITS;
}

element_fit element_from_f64(dtype t, double value, void *to)
{
    if (dtype_info_of(t)->class == CLASS_FLOAT)
        return store_float(t, value, to);
    if (!isfinite(value))
        return FIT_RANGE;
    if (value != trunc(value))
        return FIT_FRACTION;
    if (fabs(value) >= 0x1p53)
        return fabs(value) >= 0x1p64 ? FIT_RANGE : FIT_INEXACT;
    return element_from_i64(t, (int64_t)value, to);
}

/* ---- From text --------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

const char *element_scan(const char *text, const char *end, bool *whole)
{
    const char *p = text, *first;

    p += p < end && *p == '-';
    first = p;
    while (p < end && is_digit(*p))
        p++;
    if (p == first || (*first == '0' && p > first + 1))
        return NULL;
    *whole = true;
    if (p < end && *p == '.') {
        *whole = false;
        first = ++p;
        while (p < end && is_digit(*p))
            p++;
        if (p == first)
            return NULL;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        *whole = false;
        p++;
        p += p < end && (*p == '-' || *p == '+');
        first = p;
        while (p < end && is_digit(*p))
            p++;
        if (p == first)
            return NULL;
    }
    return p;
}

static element_fit read_integer(dtype t, const char *text, const char *end, void *to)
{
    int64_t i;
    uint64_t u;
    double x;
    bool out;

    if (number_read_i64(text, end, &i, &out) == end)
        return element_from_i64(t, i, to);
    if (number_read_u64(text, end, &u, &out) == end)
        return element_from_u64(t, u, to);
    number_read_f64(text, end, &x);
    return isinf(x) ? FIT_RANGE : element_from_f64(t, x, to);
}

element_fit element_read(dtype t, const char *text, const char *end, void *to)
{
    double x;

    if (dtype_info_of(t)->class != CLASS_FLOAT)
        return read_integer(t, text, end, to);
    if (t == DT_F32) {
        float f;

        number_read_f32(text, end, &f);
        if (!isinf(f))
            memcpy(to, &f, sizeof f);
        return isinf(f) ? FIT_RANGE : FITS;
    }
    number_read_f64(text, end, &x);
    return isinf(x) ? FIT_RANGE : store_float(t, x, to);
}

/* ---- To text ------------------------------------------------------------------------ */

static char *print_word(char *to, const char *word)
{
    const size_t n = strlen(word);

    memcpy(to, word, n);
    return to + n;
}

static char *print_bool(const void *element, char *to)
{
    return print_word(to, *(const bool *)element ? "true" : "false");
}

/* A float as JSON has it: numbers, and words for what is none. */
#define FLOAT_PRINTER(type)                                                                        \
    static char *json_##type(const void *element, char *to)                                        \
    {                                                                                              \
        const double x = load_##type(element);                                                     \
                                                                                                   \
        if (isfinite(x))                                                                           \
            return print_##type(element, to);                                                      \
        return print_word(to, isnan(x) ? "\"NaN\"" : x > 0 ? "\"Infinity\"" : "\"-Infinity\"");    \
    }
FLOAT_PRINTER(f16)
FLOAT_PRINTER(bf16)
FLOAT_PRINTER(f32)
FLOAT_PRINTER(f64)
#undef FLOAT_PRINTER

#define INTEGER_PRINTER(type, print)                                                               \
    static char *print_##type(const void *element, char *to)                                       \
    {                                                                                              \
        type value;                                                                                \
                                                                                                   \
        memcpy(&value, element, sizeof value);                                                     \
        return print(to, value);                                                                   \
    }
INTEGER_PRINTER(int8_t, number_print_i64)
INTEGER_PRINTER(int16_t, number_print_i64)
INTEGER_PRINTER(int32_t, number_print_i64)
INTEGER_PRINTER(int64_t, number_print_i64)
INTEGER_PRINTER(uint8_t, number_print_u64)
INTEGER_PRINTER(uint16_t, number_print_u64)
INTEGER_PRINTER(uint32_t, number_print_u64)
INTEGER_PRINTER(uint64_t, number_print_u64)
#undef INTEGER_PRINTER

element_printer *element_printer_of(dtype t, bool plain)
{
    static element_printer *const printers[DT_COUNT] = {
        [DT_BOOL] = print_bool,    [DT_I8] = print_int8_t,    [DT_I16] = print_int16_t,
        [DT_I32] = print_int32_t,  [DT_I64] = print_int64_t,  [DT_U8] = print_uint8_t,
        [DT_U16] = print_uint16_t, [DT_U32] = print_uint32_t, [DT_U64] = print_uint64_t,
        [DT_F16] = json_f16,       [DT_BF16] = json_bf16,     [DT_F32] = json_f32,
        [DT_F64] = json_f64,
    };

    return plain && dtype_info_of(t)->class == CLASS_FLOAT ? floats[t].print : printers[t];
}
