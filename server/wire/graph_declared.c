/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs that a graph object declares, and what stands for them. */
#include <inttypes.h>
#include <string.h>

#include "engine/base/name.h"
#include "server/wire/graph_private.h"
#include "server/wire/request.h"

/* {"dtype": "float64", "shape": [null, 3, "n"]}; either may be left out. */
typedef struct declared {
    const wire_value *object;
    bool has_dtype, has_shape;
    dtype dtype;
    shape shape; /* LENGTH_UNKNOWN for null and symbols */
    const char *symbols[RANK_MAX];
} declared;

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

static bool read_shape(const wire_value *v, declared *d, error *err)
{
    if (!wire_expect(v, WIRE_LIST, err))
        return false;
    if (wire_count(v) > RANK_MAX)
        return wire_fault(v, err, ERR_SHAPE_INVALID, "a tensor has at most %d axes, not %zu",
                          RANK_MAX, wire_count(v));
    for (const wire_value *w = wire_first(v); w != NULL; w = wire_next(w)) {
        const int i = d->shape.rank++;

        if (!read_length(w, &d->shape.length[i], &d->symbols[i], err))
            return false;
    }
    d->has_shape = true;
    return shape_check(&d->shape, "shape", err) || reading_fault_at(NULL, v, err);
}

static bool read_declared(const wire_value *v, declared *d, error *err)
{
    static const char *const members[] = {"dtype", "shape"};
    const wire_value *type = wire_member(v, "dtype"), *lengths = wire_member(v, "shape");
    const char *text;
    size_t n;

    d->object = v;
    if (!wire_expect(v, WIRE_OBJECT, err) ||
        !wire_known_members(v, members, 2, "a declared input", err))
        return false;
    if (type != NULL) {
        if (!wire_expect(type, WIRE_STRING, err))
            return false;
        text = wire_string(type, &n);
        d->has_dtype = true;
        if (!dtype_parse(text, n, &d->dtype, err))
            return reading_fault_at(NULL, type, err);
    }
    return lengths == NULL || read_shape(lengths, d, err);
}

bool declared_read(graph_json *j, const wire_value *inputs, error *err)
{
    if (!wire_expect(inputs, WIRE_OBJECT, err))
        return false;
    for (const wire_value *v = wire_first(inputs); v != NULL; v = wire_next(v)) {
        const char *key = wire_key(v);
        const char *name = name_normalise(j->graph->arena, key, strlen(key), err);
        declared *d = arena_alloc(j->graph->arena, sizeof *d);

        if (name == NULL)
            return reading_fault_at(NULL, v, err);
        if (!read_declared(v, d, err))
            return false;
        if (table_put(&j->declared, name, d) != NULL)
            return wire_fault(v, err, ERR_REQUEST, "the input '%s' is given twice", name);
    }
    return true;
}

/* ---- What stands for them --------------------------------------------------------------- */

/* Whether a length is what a symbol stood for before; notes what it stands for now. */
static bool check_symbol(graph_json *j, const char *symbol, int64_t length, error *err)
{
    int64_t *known = table_get(&j->lengths, symbol);

    if (known == NULL) {
        known = arena_alloc(j->graph->arena, sizeof *known);
        *known = length;
        table_put(&j->lengths, symbol, known);
    }
    return *known == length ||
           error_set(err, ERR_SHAPE,
                     "the length '%.60s' is %" PRId64 " here and %" PRId64 " elsewhere", symbol,
                     length, *known);
}

static bool check_shape(graph_json *j, const char *name, const declared *d, const shape *s,
                        error *err)
{
    char asked[SHAPE_TEXT_MAX], given[SHAPE_TEXT_MAX];
    bool fits = s->rank == d->shape.rank;

    for (int i = 0; fits && i < s->rank; i++)
        fits = d->shape.length[i] == LENGTH_UNKNOWN || d->shape.length[i] == s->length[i];
    if (!fits)
        return error_set(err, ERR_SHAPE,
                         "the input '%s' is declared with shape %s and given with "
                         "shape %s",
                         name, shape_print(&d->shape, asked), shape_print(s, given));
    for (int i = 0; i < s->rank; i++)
        if (d->symbols[i] != NULL && !check_symbol(j, d->symbols[i], s->length[i], err))
            return false;
    return true;
}

/* The value as the declared type, if that loses nothing. */
static bool cast(graph_json *j, const char *name, dtype to, value *v, error *err)
{
    static const char as[] = "astype";
    const type *t = value_type(*v);
    const op_def *op = op_find(as, strlen(as));
    const bool joins = t->weak && dtype_join_weak(to, dtype_info_of(t->dtype)->class) == to;
    value outputs[OP_OUTPUTS];
    attr *attrs;

    if (t->dtype == to && !t->weak)
        return true;
    if (!joins && !dtype_can_cast_safely(t->dtype, to))
        return error_set(err, ERR_DTYPE, "the input '%s' is declared as %s and given as %s", name,
                         dtype_name(to), dtype_name(t->dtype));
    attrs = arena_array(j->graph->arena, (size_t)op->attr_count + 1, sizeof *attrs);
    for (int i = 0; i < op->attr_count; i++)
        attrs[i] = op_attr_param(op, i)->kind == PARAM_DTYPE
                       ? (attr){.kind = ATTR_DTYPE, .dtype = to}
                       : op_attr_param(op, i)->value;
    if (graph_apply(j->graph, op, v, 1, attrs, outputs, err) == NULL)
        return false;
    *v = outputs[0];
    return true;
}

/* Asks the scope for a name, which has not been asked for before. */
static bool resolve_new(graph_json *j, const char *name, value *result, error *err)
{
    const declared *d = table_get(&j->declared, name);

    if (j->scope != NULL && !j->scope->resolve(j->scope->context, j->graph, name, result, err))
        return false;
    if (result->node == NULL)
        return d == NULL || error_set(err, ERR_UNKNOWN_NAME,
                                      "the input '%s' is given neither in the request nor by a "
                                      "stored variable",
                                      name);
    if (d == NULL)
        return true;
    return (!d->has_shape || check_shape(j, name, d, &value_type(*result)->shape, err)) &&
           (!d->has_dtype || cast(j, name, d->dtype, result, err));
}

bool declared_resolve(graph_json *j, const char *name, value *result, error *err)
{
    value *known = table_get(&j->external, name);

    *result = (value){0};
    if (known == NULL) {
        if (!resolve_new(j, name, result, err) || result->node == NULL)
            return !error_is_set(err);
        known = arena_alloc(j->graph->arena, sizeof *known);
        *known = *result;
        table_put(&j->external, name, known);
    }
    *result = *known;
    return true;
}
