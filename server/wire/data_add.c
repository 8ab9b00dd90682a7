/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/number.h"
#include "server/wire/data_parts.h"
#include "server/wire/element.h"

/* ---- Elements ------------------------------------------------------------------------ */

void data_to_float(data *d)
{
    char *p = d->bytes.bytes;

    for (int64_t i = 0; i < d->elements; i++, p += sizeof(int64_t)) {
        int64_t value;
        double x;

        memcpy(&value, p, sizeof value);
        x = d->has_big ? (double)(uint64_t)value : (double)value;
        memcpy(p, &x, sizeof x);
    }
    for (size_t at = 0; at < d->patches.size; at += sizeof(data_patch)) {
        data_patch patch;

        memcpy(&patch, d->patches.bytes + at, sizeof patch);
        memcpy(d->bytes.bytes + patch.element * 8, &patch.f64, sizeof patch.f64);
    }
    d->kind = KIND_FLOAT;
}

static bool add_patch(data *d, double f64, float f32, error *err)
{
    const data_patch patch = {d->elements, f64, f32};

    if (!grow_reserve(&d->patches, sizeof patch, err))
        return false;
    memcpy(d->patches.bytes + d->patches.size, &patch, sizeof patch);
    d->patches.size += sizeof patch;
    return true;
}

static void put(data *d, const void *element, size_t size)
{
    memcpy(d->bytes.bytes + d->bytes.size, element, size);
    d->bytes.size += size;
    d->elements++;
}

/* Adds a float of unknown type; text is its token, NULL for one of the words. */
static bool add_float(data *d, double value, const char *text, const char *end, error *err)
{
    uint64_t bits;
    float direct;

    if (d->kind == KIND_INTEGER)
        data_to_float(d);
    memcpy(&bits, &value, sizeof bits);
    if (text != NULL &&
        ((bits & 0x1fffffff) == 0x10000000 || (fabs(value) < 0x1p-126 && value != 0))) {
        number_read_f32(text, end, &direct);
        if (direct != (float)value && !add_patch(d, value, direct, err))
            return false;
    }
    put(d, &value, sizeof value);
    return true;
}

/* Adds an integer that neither int64 nor uint64 need hold. */
static bool add_big(data *d, const char *text, const char *end, error *err)
{
    uint64_t value;
    double x;
    bool out;
    const bool fits = number_read_u64(text, end, &value, &out) == end;

    if (fits && d->kind == KIND_INTEGER && !d->has_negative) {
        d->has_big = true;
        put(d, &value, sizeof value);
        return true;
    }
    number_read_f64(text, end, &x);
    if (isinf(x))
        return data_bad_element(d, ERR_OVERFLOW, text, (size_t)(end - text),
                                "is too large for a number", err);
    return add_float(d, x, text, end, err);
}

static bool add_integer(data *d, int64_t value, const char *text, const char *end, error *err)
{
    if (d->kind == KIND_FLOAT) {
        double x;

        number_read_f64(text, end, &x);
        return add_float(d, x, text, end, err);
    }
    if (value < 0 && d->has_big) {
        data_to_float(d);
        return add_float(d, (double)value, text, end, err);
    }
    if (value == 0 && *text == '-' && !add_patch(d, -0.0, -0.0f, err))
        return false;
    d->has_negative = d->has_negative || value < 0;
    put(d, &value, sizeof value);
    return true;
}

/* Adds an element of the known type. */
static bool add_direct(data *d, const char *text, const char *end, error *err)
{
    char element[ELEMENT_BYTES];
    const element_fit fit = element_read(d->part, text, end, element);
    char what[96];

    if (fit == FITS) {
        put(d, element, dtype_size(d->part));
        return true;
    }
    snprintf(what, sizeof what, "%s %s", element_misfit(fit), dtype_name(d->part));
    return data_bad_element(d, fit == FIT_RANGE ? ERR_OVERFLOW : ERR_VALUE, text,
                            (size_t)(end - text), what, err);
}

/* Adds the number, of correct grammar, that [text, end) is. */
bool data_add_number(data *d, const char *text, const char *end, bool whole, error *err)
{
    int64_t i;
    double x;
    bool out;

    if (!grow_reserve(&d->bytes, ELEMENT_BYTES, err))
        return false;
    d->has_number = true;
    if (d->kind == KIND_DIRECT)
        return add_direct(d, text, end, err);
    if (whole && number_read_i64(text, end, &i, &out) == end)
        return add_integer(d, i, text, end, err);
    if (whole)
        return add_big(d, text, end, err);
    number_read_f64(text, end, &x);
    if (isinf(x))
        return data_bad_element(d, ERR_OVERFLOW, text, (size_t)(end - text),
                                "is too large for float64", err);
    return add_float(d, x, text, end, err);
}

bool data_add_bool(data *d, bool value, const char *text, size_t n, error *err)
{
    char element[ELEMENT_BYTES];
    static const char digits[] = "01";
    const int64_t number = value;

    if (!grow_reserve(&d->bytes, ELEMENT_BYTES, err))
        return false;
    d->has_bool = true;
    if (d->kind != KIND_DIRECT)
        return add_integer(d, number, digits + value, digits + value + 1, err);
    if (element_from_i64(d->part, number, element) != FITS)
        return data_bad_element(d, ERR_VALUE, text, n, "does not fit the element type", err);
    put(d, element, dtype_size(d->part));
    return true;
}

bool data_add_special(data *d, double value, const char *text, size_t n, error *err)
{
    char element[ELEMENT_BYTES];

    if (!grow_reserve(&d->bytes, ELEMENT_BYTES, err))
        return false;
    d->has_number = true;
    if (d->kind != KIND_DIRECT)
        return add_float(d, value, NULL, NULL, err);
    if (element_from_f64(d->part, value, element) != FITS)
        return data_bad_element(d, ERR_VALUE, text, n, "is a float, which integers cannot hold",
                                err);
    put(d, element, dtype_size(d->part));
    return true;
}
