/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "engine/base/digits.h"
#include "server/wire/data_parts.h"
#include "server/wire/element.h"
#include "server/wire/plain.h"

enum { WHOLE_MAX = 999999999999999999 }; /* every number of as many digits fits */

/* The value as float64; false if it takes more than the common case to find it. */
PLAIN_INLINE bool value_f64(plain x, double *value)
{
    uint64_t bits;

    if (!digits_to_f64(x.digits, x.exponent, value))
        return false;
    memcpy(&bits, value, sizeof bits);
    bits |= (uint64_t)x.negative << 63;
    memcpy(value, &bits, sizeof bits);
    return !isinf(*value);
}

PLAIN_INLINE void put(data *d, const void *element, size_t size)
{
    memcpy(d->bytes.bytes + d->bytes.size, element, size);
    d->bytes.size += size;
    d->elements++;
}

/* Whether a float64 of unknown type might be read differently as float32: others look at it then.
 * It might be halfway between two of them, and where they are subnormal. */
PLAIN_INLINE bool is_doubtful(double value)
{
    uint64_t bits, size;

    memcpy(&bits, &value, sizeof bits);
    size = bits & INT64_MAX;
    return (bits & 0x1fffffff) == 0x10000000 || size - 1 < UINT64_C(0x3810000000000000) - 1;
}

/* The value as int64; false if the number is not whole, too long, or -0. */
PLAIN_INLINE bool value_i64(plain x, int64_t *value)
{
    if (!x.whole || x.digits > WHOLE_MAX || (x.negative && x.digits == 0))
        return false;
    *value = x.negative ? -(int64_t)x.digits : (int64_t)x.digits;
    return true;
}

PLAIN_INLINE bool put_integer(data *d, plain x)
{
    int64_t value;

    if (!value_i64(x, &value) || (x.negative && d->has_big))
        return false;
    d->has_negative = d->has_negative || x.negative;
    put(d, &value, sizeof value);
    return true;
}

PLAIN_INLINE bool put_f64(data *d, plain x, bool is_known)
{
    double value;

    if (!value_f64(x, &value) || (!is_known && is_doubtful(value)))
        return false;
    put(d, &value, sizeof value);
    return true;
}

PLAIN_INLINE bool put_f32(data *d, plain x)
{
    double value;
    float rounded;

    if (!value_f64(x, &value) || is_doubtful(value) || isinf(rounded = (float)value))
        return false;
    put(d, &rounded, sizeof rounded);
    return true;
}

/* An integer of another known type. */
static bool put_other(data *d, plain x)
{
    char element[ELEMENT_BYTES];
    int64_t value;

    if (!value_i64(x, &value) || element_from_i64(d->part, value, element) != FITS)
        return false;
    put(d, element, dtype_size(d->part));
    return true;
}

/* Adds the number; false if that takes more than the common case. */
PLAIN_INLINE bool put_plain(data *d, plain x)
{
    if (d->kind == KIND_INTEGER)
        return put_integer(d, x);
    if (d->kind == KIND_FLOAT || d->part == DT_F64)
        return put_f64(d, x, d->kind == KIND_DIRECT);
    return d->part == DT_F32 ? put_f32(d, x) : put_other(d, x);
}

/* data_run by one of the ways to scan. */
PLAIN_INLINE const char *run_by(data *d, const char *p, const char *safe, error *err,
                                bool (*scan)(const char *, plain *))
{
    plain x;

    while (safe - p > PLAIN_AFTER) {
        if (d->bytes.limit - d->bytes.size < ELEMENT_BYTES &&
            !grow_reserve(&d->bytes, ELEMENT_BYTES, err))
            return NULL;
        if (!scan(p, &x) || !put_plain(d, x))
            return p;
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

static const char *run_words(data *d, const char *p, const char *safe, error *err)
{
    return run_by(d, p, safe, err, plain_scan);
}

#if defined(__x86_64__)
PLAIN_WIDE static const char *run_wide(data *d, const char *p, const char *safe, error *err)
{
    return run_by(d, p, safe, err, plain_scan_wide);
}

const char *data_run(data *d, const char *p, const char *safe, error *err)
{
    return plain_can_be_wide() ? run_wide(d, p, safe, err) : run_words(d, p, safe, err);
}
#else
const char *data_run(data *d, const char *p, const char *safe, error *err)
{
    return run_words(d, p, safe, err);
}
#endif
