/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "engine/base/number.h"
#include "server/wire/data_parts.h"
#include "server/wire/element.h"

enum { DIGITS_EXACT = 15, DIGITS_MAX = 18 }; /* that float64, and int64, hold exactly */

/* Powers of ten that float64 holds exactly. */
static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* A plain number: [text, end) is digits / 10^scale, negated perhaps. */
typedef struct plain {
    const char *text, *end;
    uint64_t digits;
    int scale;
    bool negative, whole;
    bool is_exact; /* digits are few enough: one division rounds correctly */
} plain;

/* Whether the eight bytes at p are digits. */
static inline bool are_8_digits(const char *p)
{
    uint64_t bytes;

    memcpy(&bytes, p, sizeof bytes);
    return ((bytes & 0xf0f0f0f0f0f0f0f0) |
            (((bytes + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0) >> 4)) == 0x3333333333333333;
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

/* Scans the number at p; false if it is not plain, or not a number. Digits beyond
 * DIGITS_MAX wrap, and are not used then. */
static inline bool scan(const char *p, const char *safe, plain *x)
{
    const char *first = p + (*p == '-'), *point, *end;

    *x = (plain){.text = p, .negative = *p == '-', .whole = true};
    end = point = take_digits(first, x);
    if (end == first || (*first == '0' && end > first + 1))
        return false;
    if (*point == '.') {
        x->whole = false;
        if (safe - point > 17 && are_8_digits(point + 1) && are_8_digits(point + 9)) {
            x->end = point; /* the whole is read by others */
            return true;
        }
        end = take_digits(point + 1, x);
        x->scale = (int)(end - point - 1);
        if (x->scale == 0)
            return false;
    }
    x->end = end;
    x->is_exact = end - first - !x->whole <= DIGITS_EXACT;
    if (*end == 'e' || *end == 'E') {
        x->whole = x->is_exact = false;
        return true;
    }
    return is_delimiter(*end);
}

/* The value as float64; false if the number is not plain. */
static inline bool value_f64(plain *x, const char *safe, double *value)
{
    if (x->is_exact) {
        *value = (double)x->digits / powers[x->scale];
        *value = x->negative ? -*value : *value;
        return true;
    }
    x->end = number_read_f64(x->text, safe + 1, value);
    return x->end != NULL && x->end <= safe && is_delimiter(*x->end) && !isinf(*value);
}

static inline bool value_f32(plain *x, const char *safe, float *value)
{
    if (x->is_exact && x->digits < 1 << 24 && x->scale <= 10) {
        *value = (float)x->digits / (float)powers[x->scale];
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
