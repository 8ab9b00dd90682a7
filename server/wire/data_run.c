/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "engine/base/digits.h"
#include "engine/base/number.h"
#include "server/wire/data_parts.h"
#include "server/wire/element.h"

enum {
    DIGITS_EXACT = 15, /* that float64 holds exactly */
    DIGITS_MAX = 18,   /* that int64 holds */
    DIGITS_KEPT = 19,  /* that uint64 holds */
    EXPONENT_MAX = 9999
};

/* Powers of ten that float64 holds exactly. */
static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* A plain number: [text, end) is digits * 10^exponent, negated perhaps. */
typedef struct plain {
    const char *text, *end;
    uint64_t digits;
    int count; /* of digits; above DIGITS_KEPT they have wrapped */
    int exponent;
    bool negative, whole;
    bool is_exact; /* digits are few enough: one division rounds correctly */
} plain;

/* For each of the eight bytes that is no digit its highest bits are set. */
static inline uint64_t not_digits(uint64_t bytes)
{
    const uint64_t low = bytes ^ 0x3030303030303030;

    return (low | (low + 0x0606060606060606)) & 0xf0f0f0f0f0f0f0f0;
}

/* The number that eight digits are: pairs, then fours, then all are put together. */
static inline uint64_t value_of_8_digits(uint64_t bytes)
{
    const uint64_t mask = 0x000000ff000000ff;

    bytes -= 0x3030303030303030;
    bytes = bytes * 10 + (bytes >> 8);
    return ((bytes & mask) * 0x000f424000000064 + (bytes >> 16 & mask) * 0x0000271000000001) >> 32;
}

static inline bool is_delimiter(char c)
{
    return c == ',' || c == ']';
}

/* Adds the digits at p to x; returns their end. Some delimiter follows. */
static inline const char *take_digits(const char *p, plain *x)
{
    for (unsigned digit; (digit = (unsigned)(*p - '0')) < 10; p++)
        x->digits = x->digits * 10 + digit;
    return p;
}

/* The same eight at a time, where that many bytes can be read. */
static inline const char *take_many_digits(const char *p, const char *safe, plain *x)
{
    static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    uint64_t bytes, others;
    int n;

    for (;; p += 8) {
        if (safe - p < (long)sizeof bytes)
            return take_digits(p, x);
        memcpy(&bytes, p, sizeof bytes);
        others = not_digits(bytes);
        if (others != 0)
            break;
        x->digits = x->digits * 100000000 + value_of_8_digits(bytes);
    }
    n = __builtin_ctzll(others) / 8;
    if (n == 0)
        return p;
    bytes = bytes << (64 - 8 * n) | 0x3030303030303030 >> 8 * n;
    x->digits = x->digits * tens[n] + value_of_8_digits(bytes);
    return p + n;
}

/* Reads the exponent behind an e at p; returns its end, NULL if there is none, or a long one. */
static inline const char *take_exponent(const char *p, plain *x)
{
    const bool negative = p[1] == '-';
    const char *first = p + 1 + (negative || p[1] == '+');
    int exponent = 0;

    for (p = first; (unsigned)(*p - '0') < 10; p++) {
        exponent = exponent * 10 + (*p - '0');
        if (exponent > EXPONENT_MAX)
            return NULL;
    }
    x->exponent += negative ? -exponent : exponent;
    x->whole = x->is_exact = false;
    return p == first ? NULL : p;
}

/* Scans the number at p; false if it is not plain, or not a number. */
static inline bool scan(const char *p, const char *safe, plain *x)
{
    const char *first = p + (*p == '-'), *end;

    *x = (plain){.text = p, .negative = *p == '-', .whole = true};
    end = take_digits(first, x);
    x->count = (int)(end - first);
    if (end == first || (*first == '0' && x->count > 1))
        return false;
    if (*end == '.') {
        const char *point = end;

        x->whole = false;
        end = take_many_digits(point + 1, safe, x);
        x->exponent = -(int)(end - point - 1);
        x->count -= x->exponent + (*first == '0');
        if (x->exponent == 0)
            return false;
    }
    x->is_exact = x->count <= DIGITS_EXACT && x->exponent >= -DIGITS_EXACT;
    if (*end == 'e' || *end == 'E')
        end = take_exponent(end, x);
    x->end = end;
    return end != NULL && is_delimiter(*end);
}

/* The value as float64; false if the number is not plain. */
static inline bool value_f64(plain *x, const char *safe, double *value)
{
    if (x->is_exact)
        *value = (double)x->digits / powers[-x->exponent];
    else if (x->count > DIGITS_KEPT || !digits_to_f64(x->digits, x->exponent, value)) {
        x->end = number_read_f64(x->text, safe + 1, value);
        return x->end != NULL && x->end <= safe && is_delimiter(*x->end) && !isinf(*value);
    }
    *value = x->negative ? -*value : *value;
    return !isinf(*value);
}

static inline bool value_f32(plain *x, const char *safe, float *value)
{
    if (x->is_exact && x->digits < 1 << 24 && x->exponent >= -10) {
        *value = (float)x->digits / (float)powers[-x->exponent];
        *value = x->negative ? -*value : *value;
        return true;
    }
    x->end = number_read_f32(x->text, safe + 1, value);
    return x->end != NULL && x->end <= safe && is_delimiter(*x->end) && !isinf(*value);
}

static inline void put(data *d, const void *element, size_t size)
{
    memcpy(d->bytes.bytes + d->bytes.size, element, size);
    d->bytes.size += size;
    d->elements++;
}

/* Whether a float64 of unknown type might be read differently as float32: others
 * look at it then. */
static inline bool is_doubtful(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x1fffffff) == 0x10000000 || (fabs(value) < 0x1p-126 && value != 0);
}

/* The value as int64; false if the number is not whole, too long, or -0. */
static inline bool value_i64(const plain *x, int64_t *value)
{
    if (!x->whole || x->end - x->text > DIGITS_MAX || (x->negative && x->digits == 0))
        return false;
    *value = x->negative ? -(int64_t)x->digits : (int64_t)x->digits;
    return true;
}

static inline bool put_integer(data *d, const plain *x)
{
    int64_t value;

    if (!value_i64(x, &value) || (x->negative && d->has_big))
        return false;
    d->has_negative = d->has_negative || x->negative;
    put(d, &value, sizeof value);
    return true;
}

static inline bool put_f64(data *d, plain *x, const char *safe, bool is_known)
{
    double value;

    if (!value_f64(x, safe, &value) || (!is_known && is_doubtful(value)))
        return false;
    put(d, &value, sizeof value);
    return true;
}

static inline bool put_f32(data *d, plain *x, const char *safe)
{
    float value;

    if (!value_f32(x, safe, &value))
        return false;
    put(d, &value, sizeof value);
    return true;
}

/* An integer of another known type. */
static bool put_other(data *d, const plain *x)
{
    char element[ELEMENT_BYTES];
    int64_t value;

    if (!value_i64(x, &value) || element_from_i64(d->part, value, element) != FITS)
        return false;
    put(d, element, dtype_size(d->part));
    return true;
}

/* Adds the number; false if that takes more than the common case. */
static inline bool put_plain(data *d, plain *x, const char *safe)
{
    if (d->kind == KIND_INTEGER)
        return put_integer(d, x);
    if (d->kind == KIND_FLOAT || d->part == DT_F64)
        return put_f64(d, x, safe, d->kind == KIND_DIRECT);
    return d->part == DT_F32 ? put_f32(d, x, safe) : put_other(d, x);
}

const char *data_run(data *d, const char *p, const char *safe, error *err)
{
    plain x;

    while (p < safe) {
        if (d->bytes.limit - d->bytes.size < ELEMENT_BYTES &&
            !grow_reserve(&d->bytes, ELEMENT_BYTES, err))
            return NULL;
        if (!scan(p, safe, &x) || !put_plain(d, &x, safe))
            return p;
        if (x.end - p > DATA_TOKEN_MAX) { /* others say so */
            d->bytes.size -= dtype_size(d->kind == KIND_DIRECT ? d->part : DT_F64);
            d->elements--;
            return p;
        }
        d->has_number = true;
        d->count[d->level]++;
        p = x.end + 1;
        if (*x.end == ']')
            return data_close_list(d, err) ? p : NULL;
        while (p < safe && (*p == ' ' || *p == '\n'))
            p++;
    }
    return p;
}
