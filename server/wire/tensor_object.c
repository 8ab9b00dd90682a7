/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/tensor_object.h"

#include <inttypes.h>
#include <string.h>

/* ---- The members ----------------------------------------------------------------- */

static const struct {
    const char *word;
    dtype_class class;
} weak_classes[] = {
    {"bool", CLASS_BOOL}, {"int", CLASS_INT}, {"float", CLASS_FLOAT}, {"complex", CLASS_COMPLEX}};

static bool read_weak(const wire_value *weak, dtype_class *class, error *err)
{
    if (!wire_expect(weak, WIRE_STRING, err))
        return false;
    for (int i = 0; i < 4; i++) {
        if (strcmp(wire_string(weak, NULL), weak_classes[i].word) == 0) {
            *class = weak_classes[i].class;
            return true;
        }
    }
    return wire_fault(weak, err, ERR_VALUE,
                      "'weak' is one of bool, int, float, complex, not '%.40s'",
                      wire_string(weak, NULL));
}

static bool read_shape(const wire_value *v, shape *result, error *err)
{
    if (!wire_expect(v, WIRE_LIST, err))
        return false;
    if (wire_count(v) > RANK_MAX)
        return error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, (int64_t)wire_count(v),
                               "a tensor has at most %d axes, not %zu", RANK_MAX, wire_count(v)) ||
               wire_fault_at(v, err);
    result->rank = 0;
    for (const wire_value *item = wire_first(v); item != NULL; item = wire_next(item)) {
        if (!wire_expect(item, WIRE_INTEGER, err))
            return false;
        if (wire_integer(item) < 0)
            return wire_fault(item, err, ERR_SHAPE_INVALID, "a length cannot be %" PRId64,
                              wire_integer(item));
        result->length[result->rank++] = wire_integer(item);
    }
    return shape_check(result, "shape", err) || wire_fault_at(v, err);
}

bool tensor_object_dtype(const wire_value *object, dtype *result, bool *is_known, error *err)
{
    const wire_value *name = wire_member(object, "dtype"), *weak = wire_member(object, "weak");
    dtype_class class;

    *is_known = name != NULL || weak != NULL;
    if (name != NULL)
        return wire_dtype(name, result, err);
    if (weak != NULL) {
        if (!read_weak(weak, &class, err))
            return false;
        *result = dtype_default(class);
        *is_known = class != CLASS_INT; /* int64, or uint64 if it needs that */
    }
    return true;
}

/* ---- The whole -------------------------------------------------------------------- */

/* Checks that the object has only members that belong to its kind of data. */
static bool check_members(const wire_value *object, bool is_weak, error *err)
{
    static const char *const known[2][4] = {{"dtype", "shape", "data", "base64"},
                                            {"weak", "value", "value", "value"}};

    for (const wire_value *m = wire_first(object); m != NULL; m = wire_next(m)) {
        bool found = false;

        for (int i = 0; i < 4; i++)
            found = found || strcmp(wire_key(m), known[is_weak][i]) == 0;
        if (!found)
            return wire_fault(m, err, ERR_MEMBER, "a %s has no member '%.60s'; it has %s",
                              is_weak ? "weak scalar" : "tensor object", wire_key(m),
                              is_weak ? "weak and value" : "dtype, shape and data (or base64)");
    }
    return true;
}

static bool finish_weak(const wire_value *object, data *d, tensor *result, error *err)
{
    const wire_value *weak = wire_member(object, "weak");
    dtype_class class;

    if (weak == NULL)
        return wire_fault(object, err, ERR_REQUEST,
                          "a weak scalar has 'weak' (bool, int, float, complex) beside 'value'");
    return read_weak(weak, &class, err) && data_finish_weak(d, &class, result, err);
}

/* Booleans are stored as 0 or 1, whatever came. */
static void normalise_bools(grow *g)
{
    for (size_t i = 0; i < g->size; i++)
        g->bytes[i] = g->bytes[i] != 0;
}

static bool finish_base64(const wire_value *object, data *d, const data_facts *facts,
                          tensor *result, error *err)
{
    char text[SHAPE_TEXT_MAX];
    buffer *buf;
    size_t size;

    if (!facts->has_dtype || !facts->has_shape)
        return wire_fault(object, err, ERR_REQUEST, "base64 needs '%s' beside it",
                          facts->has_dtype ? "shape" : "dtype");
    size = (size_t)shape_size(&facts->shape) * dtype_size(facts->dtype);
    if (d->bytes.size != size)
        return error_set(err, ERR_SIZE, "base64 has %zu bytes, %s of shape %s asks for %zu",
                         d->bytes.size, dtype_name(facts->dtype), shape_print(&facts->shape, text),
                         size);
    if (facts->dtype == DT_BOOL)
        normalise_bools(&d->bytes);
    buf = grow_take(&d->bytes, err);
    if (buf == NULL)
        return false;
    tensor_wrap_take(result, buf, facts->dtype, &facts->shape);
    return true;
}

bool tensor_object_finish(const wire_value *object, data *d, tensor *result, error *err)
{
    const wire_value *name = wire_member(object, "dtype"), *lengths = wire_member(object, "shape");
    const bool is_weak = wire_member(object, "value") != NULL;
    data_facts facts = {.has_dtype = name != NULL, .has_shape = lengths != NULL};

    if (!check_members(object, is_weak, err))
        return false;
    if (is_weak)
        return finish_weak(object, d, result, err);
    if ((name != NULL && !wire_dtype(name, &facts.dtype, err)) ||
        (lengths != NULL && !read_shape(lengths, &facts.shape, err)))
        return false;
    if (wire_member(object, "base64") == NULL)
        return data_finish(d, &facts, result, err);
    if (wire_member(object, "data") != NULL)
        return wire_fault(object, err, ERR_REQUEST, "a tensor object has data or base64, not both");
    return finish_base64(object, d, &facts, result, err);
}
