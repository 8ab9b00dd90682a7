/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/declared.h"

#include <inttypes.h>
#include <string.h>

#include "engine/base/name.h"
#include "engine/base/nearest.h"
#include "server/wire/request.h"

/* ---- Reading ------------------------------------------------------------------------ */

static bool read_length(const wire_value *v, int64_t *length, const char **symbol, error *err)
{
    *length = LENGTH_UNKNOWN;
    switch (wire_type_of(v)) {
    case WIRE_NULL:
        return true;
    case WIRE_STRING:
        *symbol = wire_string(v, NULL);
        return true;
    case WIRE_INTEGER:
        *length = wire_integer(v);
        return *length >= 0 ||
               wire_fault(v, err, ERR_SHAPE_INVALID, "a length cannot be %" PRId64, *length);
    default:
        return wire_fault(v, err, ERR_REQUEST, "a length is an integer, null or a name, not %s",
                          wire_type_name(wire_type_of(v)));
    }
}

/* Whether an axis of length 1 is one for sure. */
static bool read_broadcastable(const wire_value *v, int64_t *length, const char **symbol,
                               error *err)
{
    (void)symbol;
    if (wire_type_of(v) != WIRE_BOOL)
        return wire_fault(v, err, ERR_REQUEST,
                          "broadcastable has true or false for each axis, "
                          "not %s",
                          wire_type_name(wire_type_of(v)));
    *length = wire_bool(v) ? 1 : LENGTH_UNKNOWN;
    return true;
}

typedef bool read_axis(const wire_value *v, int64_t *length, const char **symbol, error *err);

static bool read_shape(const wire_value *v, read_axis *read, declaration *d, error *err)
{
    if (v == NULL)
        return true;
    if (!wire_expect(v, WIRE_LIST, err))
        return false;
    if (d->has_shape)
        return wire_fault(v, err, ERR_REQUEST, "shape and broadcastable say the same: give one");
    if (wire_count(v) > RANK_MAX)
        return error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, (int64_t)wire_count(v),
                               "a tensor has at most %d axes, not %zu", RANK_MAX, wire_count(v)) ||
               wire_fault_at(v, err);
    for (const wire_value *w = wire_first(v); w != NULL; w = wire_next(w)) {
        const int i = d->shape.rank++;

        if (!read(w, &d->shape.length[i], &d->symbols[i], err))
            return false;
    }
    d->has_shape = true;
    return shape_check(&d->shape, "shape", err) || wire_fault_at(v, err);
}

static bool read_dtype(const wire_value *v, declaration *d, error *err)
{
    d->has_dtype = v != NULL;
    return v == NULL || wire_dtype(v, &d->dtype, err);
}

static bool read_object(const wire_value *v, declaration *d, error *err)
{
    static const char *const members[] = {"dtype", "shape", "broadcastable"};

    return wire_expect(v, WIRE_OBJECT, err) &&
           wire_known_members(v, members, 3, "a declared input", err) &&
           read_dtype(wire_member(v, "dtype"), d, err) &&
           read_shape(wire_member(v, "shape"), read_length, d, err) &&
           read_shape(wire_member(v, "broadcastable"), read_broadcastable, d, err);
}

static bool read_one(const wire_value *v, declaration *d, error *err)
{
    if (wire_type_of(v) != WIRE_STRING)
        return read_object(v, d, err);
    return declaration_of_name(wire_string(v, NULL), d) ||
           wire_fault(
               v, err, ERR_DTYPE_NAME,
               "there is no type '%.40s'; a name is one of b w i l f d c z, or nothing, and then "
               "scalar, vector, row, col, matrix, tensor3 .. tensor7",
               wire_string(v, NULL));
}

bool declared_read(declared *d, const wire_value *inputs, error *err)
{
    if (inputs == NULL)
        return true;
    if (!wire_expect(inputs, WIRE_OBJECT, err))
        return false;
    for (const wire_value *v = wire_first(inputs); v != NULL; v = wire_next(v)) {
        const char *key = wire_key(v), *name = name_normalise(d->arena, key, strlen(key), err);
        declaration *one = arena_alloc(d->arena, sizeof *one);

        if (name == NULL)
            return wire_fault_at(v, err);
        if (!read_one(v, one, err))
            return false;
        if (table_put(&d->types, name, one) != NULL)
            return wire_fault(v, err, ERR_REQUEST, "the input '%s' is given twice", name);
    }
    return true;
}

/* ---- What stands for them --------------------------------------------------------------- */

static bool resolve_new(declared *d, graph *g, const char *name, value *result, error *err)
{
    const declaration *one = table_get(&d->types, name);
    const lang_scope *under = one != NULL && d->mode == DECLARED_ONLY ? NULL : d->under;

    if (under != NULL && !under->resolve(under->context, g, name, result, err))
        return false;
    if (one == NULL)
        return true;
    if (result->node != NULL)
        return declaration_take(g, one, name, &d->lengths, result, err);
    if (d->mode == DECLARED_GIVEN)
        return error_set(err, ERR_UNKNOWN_NAME,
                         "the input '%s' is given neither in the request nor by a stored variable",
                         name);
    *result = graph_declare(g, name, one, err);
    return result->node != NULL;
}

static bool resolve(void *context, graph *g, const char *name, value *result, error *err)
{
    declared *d = context;
    value *known = table_get(&d->values, name);

    *result = known != NULL ? *known : (value){0};
    if (known != NULL)
        return true;
    if (!resolve_new(d, g, name, result, err))
        return false;
    if (result->node == NULL)
        return true;
    known = arena_alloc(d->arena, sizeof *known);
    *known = *result;
    table_put(&d->values, name, known);
    return true;
}

static const char *nearest_known(void *context, const char *name)
{
    const declared *d = context;
    const lang_scope *under = d->under;
    nearest n = nearest_to(name, NEAREST_EDITS);

    nearest_offer_keys(&n, &d->types);
    if (n.word == NULL && under != NULL && under->nearest != NULL)
        return under->nearest(under->context, name);
    return n.word;
}

static bool find_op(void *context, const char *name, const op_def **result, error *err)
{
    const lang_scope *under = ((declared *)context)->under;

    *result = NULL;
    return under == NULL || under->find_op == NULL ||
           under->find_op(under->context, name, result, err);
}

static bool resolve_stored(void *context, graph *g, const char *name, value *result, error *err)
{
    const lang_scope *under = ((declared *)context)->under;

    *result = (value){0};
    return under == NULL || under->resolve_stored == NULL ||
           under->resolve_stored(under->context, g, name, result, err);
}

void declared_init(declared *d, arena *a, const lang_scope *under, declared_mode mode)
{
    *d = (declared){.arena = a, .under = under, .mode = mode};
    table_init(&d->types, a);
    table_init(&d->values, a);
    table_init(&d->lengths, a);
}

lang_scope declared_scope(declared *d)
{
    return (lang_scope){.context = d,
                        .resolve = resolve,
                        .nearest = nearest_known,
                        .find_op = find_op,
                        .resolve_stored = resolve_stored};
}
