/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "server/wire/data_parts.h"
#include "server/wire/element.h"

/* The type of data that was read without one. */
static dtype infer_dtype(const data *d)
{
    if (d->elements == 0 || d->kind == KIND_FLOAT || (d->has_bool && d->has_number))
        return DT_F64;
    if (d->has_bool)
        return DT_BOOL;
    return d->has_big ? DT_U64 : DT_I64;
}

/* Makes an element of type t at to of the collected one at from; patch is what was
 * kept aside for it, or NULL. */
static element_fit convert(const data *d, dtype t, const char *from, const data_patch *patch,
                           void *to)
{
    int64_t i;
    double x;

    if (patch != NULL && t == DT_F32) {
        memcpy(to, &patch->f32, sizeof patch->f32);
        return patch->f32 - patch->f32 == 0 ? FITS : FIT_RANGE;
    }
    if (patch != NULL && dtype_is_float(t))
        return element_from_f64(t, patch->f64, to);
    if (d->kind == KIND_FLOAT) {
        memcpy(&x, from, sizeof x);
        return element_from_f64(t, x, to);
    }
    memcpy(&i, from, sizeof i);
    return d->has_big ? element_from_u64(t, (uint64_t)i, to) : element_from_i64(t, i, to);
}

/* Converts what was collected to type t, in place: no type is wider. */
static bool convert_all(data *d, dtype t, error *err)
{
    const size_t size = dtype_size(t);
    const char *patches = d->patches.bytes;
    const char *patches_end = patches == NULL ? NULL : patches + d->patches.size;
    char *bytes = d->bytes.bytes;

    for (int64_t i = 0; i < d->elements; i++) {
        data_patch patch = {.element = -1};
        element_fit fit;

        if (patches < patches_end)
            memcpy(&patch, patches, sizeof patch);
        fit = convert(d, t, bytes + i * 8, patch.element == i ? &patch : NULL,
                      bytes + (size_t)i * size);
        if (fit != FITS)
            return data_misfit(d, i, (int)fit, t, err);
        if (patch.element == i)
            patches += sizeof patch;
    }
    d->bytes.size = (size_t)d->elements * size;
    return true;
}

/* Brings the collected elements to type t. */
static bool settle_type(data *d, dtype t, error *err)
{
    const bool as_is = d->kind == KIND_DIRECT || d->elements == 0 ||
                       (d->kind == KIND_FLOAT ? t == DT_F64 : t == (d->has_big ? DT_U64 : DT_I64));

    return as_is || convert_all(d, t, err);
}

/* Puts a zero behind each part: real numbers become complex ones. */
static bool add_imaginary(data *d, size_t size, error *err)
{
    if (!grow_reserve(&d->bytes, (size_t)d->elements * size, err))
        return false;

    char *bytes = d->bytes.bytes;

    for (size_t i = (size_t)d->elements; i-- > 0;) {
        memmove(bytes + 2 * i * size, bytes + i * size, size);
        memset(bytes + (2 * i + 1) * size, 0, size);
    }
    d->bytes.size *= 2;
    return true;
}

/* Makes complex numbers of pairs, or of reals; s is the shape of the lists and
 * becomes that of the numbers. */
static bool settle_complex(data *d, const data_facts *facts, shape *s, error *err)
{
    const bool ends_in_pairs = s->rank > 0 && s->length[s->rank - 1] == 2;
    const bool real = facts->has_shape ? d->elements == shape_size(&facts->shape)
                                       : s->rank == 0 || d->elements == 0;

    if (real)
        return add_imaginary(d, dtype_size(d->part), err);
    if (!ends_in_pairs)
        return error_set(err, ERR_SHAPE, "a complex number is a pair [re, im] in the data");
    s->rank--;
    return true;
}

/* The shape that the lists have. */
static void read_shape(const data *d, shape *s)
{
    s->rank = d->rank;
    for (int i = 0; i < d->rank; i++)
        s->length[i] = d->length[i + 1] < 0 ? 0 : d->length[i + 1];
}

/* Whether s, of lists without elements, is as much of shape as brackets can say:
 * [[], []] for [2, 0, 3]. */
static bool begins_empty(const shape *s, const shape *whole)
{
    return shape_size(s) == 0 && shape_size(whole) == 0 && s->rank <= whole->rank &&
           memcmp(s->length, whole->length, (size_t)s->rank * sizeof *s->length) == 0;
}

/* Checks the shape of the numbers against the one that was said, and takes it. */
static bool settle_shape(const data_facts *facts, shape *s, error *err)
{
    char found[SHAPE_TEXT_MAX], said[SHAPE_TEXT_MAX];
    const int64_t size = facts->has_shape ? shape_size(&facts->shape) : 0;

    if (!facts->has_shape || shape_equal(s, &facts->shape))
        return true;
    if (begins_empty(s, &facts->shape)) {
        *s = facts->shape;
        return true;
    }
    if (s->rank != 1)
        return error_set(err, ERR_SHAPE, "the data has the shape %s, 'shape' says %s",
                         shape_print(s, found), shape_print(&facts->shape, said));
    if (s->length[0] != size)
        return error_set(err, ERR_SIZE,
                         "the data has %" PRId64 " elements, the shape %s asks for %" PRId64,
                         s->length[0], shape_print(&facts->shape, said), size);
    *s = facts->shape;
    return true;
}

bool data_finish(data *d, const data_facts *facts, tensor *result, error *err)
{
    const dtype t = facts->has_dtype ? facts->dtype : infer_dtype(d);
    shape s;
    buffer *buf;

    read_shape(d, &s);
    d->part = dtype_real(t);
    if (!settle_type(d, d->part, err) ||
        (dtype_is_complex(t) && !settle_complex(d, facts, &s, err)) ||
        !settle_shape(facts, &s, err) || !shape_check(&s, "data", err))
        return false;
    buf = grow_take(&d->bytes, err);
    if (buf == NULL)
        return false;
    tensor_wrap_take(result, buf, t, &s);
    return true;
}

bool data_finish_weak(data *d, const dtype_class *class, tensor *result, error *err)
{
    const bool is_pair =
        class != NULL && *class == CLASS_COMPLEX && d->rank == 1 && d->elements == 2;
    const bool is_int = class != NULL && *class == CLASS_INT; /* int64 or uint64 */
    data_facts facts = {.has_dtype = class != NULL && !is_int, .has_shape = true};

    if (d->rank != 0 && !is_pair)
        return error_set(err, ERR_SHAPE, "a weak scalar is one number, not a list");
    if (class != NULL)
        facts.dtype = dtype_default(*class);
    if (!data_finish(d, &facts, result, err))
        return false;
    if (is_int && !dtype_is_integer(result->dtype)) {
        error_set(err, ERR_VALUE, "a weak int is a whole number");
        tensor_unref(result);
        return false;
    }
    result->weak = true;
    return true;
}
