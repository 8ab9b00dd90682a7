/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of nodes, from JSON to what the operations' parameters take. */
#include <inttypes.h>
#include <string.h>

#include "server/wire/graph_private.h"

/* ---- References among the attributes ---------------------------------------------------- */

static bool note_reference(reading *r, int at, const wire_value *v, error *err)
{
    const wire_value *ref = reading_reference(v, true);
    place p;

    if (ref == NULL)
        return true;
    if (!reading_locate(r, r->items[at].frame, ref, &p, err))
        return false;
    if (p.item >= 0)
        reading_add_edge(r, at, p.item, p.output);
    return true;
}

bool reading_attr_references(reading *r, int at, error *err)
{
    const wire_value *attrs = wire_member(r->items[at].object, "attrs");

    if (attrs == NULL)
        return true;
    if (!wire_expect(attrs, WIRE_OBJECT, err))
        return false;
    for (const wire_value *v = wire_first(attrs); v != NULL; v = wire_next(v)) {
        if (!note_reference(r, at, v, err))
            return false;
        if (wire_type_of(v) != WIRE_LIST)
            continue;
        for (const wire_value *item = wire_first(v); item != NULL; item = wire_next(item))
            if (!note_reference(r, at, item, err))
                return false;
    }
    return true;
}

/* ---- Values ------------------------------------------------------------------------------ */

/* A computed number: known now if it is a constant. */
static bool convert_reference(reading *r, const item *x, const wire_value *ref, attr *result,
                              error *err)
{
    const tensor *known;
    value v;
    place p;

    if (!reading_locate(r, x->frame, ref, &p, err) ||
        !reading_value(r, &p, r->frames[x->frame]->graph, &v, err))
        return false;
    if (value_type(v)->shape.rank != 0)
        return wire_fault(ref, err, ERR_ARGUMENT,
                          "%s: an attribute that is computed must be a "
                          "scalar",
                          x->op->name);
    v = graph_capture(r->frames[x->frame]->graph, v, err);
    if (v.node == NULL)
        return false;
    known = value_constant(v);
    *result = (attr){
        .kind = ATTR_DYNAMIC, .node = v.node, .output = v.index, .dtype = value_type(v)->dtype};
    if (known != NULL && known->dtype == DT_I64)
        *result = (attr){.kind = ATTR_INT, .integer = *(const int64_t *)tensor_bytes(known)};
    else if (known != NULL && known->dtype == DT_F64)
        *result = (attr){.kind = ATTR_FLOAT, .real = *(const double *)tensor_bytes(known)};
    return true;
}

/* A value that is no list. */
static bool convert_single(reading *r, const item *x, const wire_value *v, attr *result, error *err)
{
    const wire_value *ref = reading_reference(v, true);

    *result = (attr){0};
    if (ref != NULL)
        return convert_reference(r, x, ref, result, err);
    switch (wire_type_of(v)) {
    case WIRE_NULL:
        return true;
    case WIRE_BOOL:
        *result = (attr){.kind = ATTR_BOOL, .truth = wire_bool(v), .integer = wire_bool(v)};
        return true;
    case WIRE_INTEGER:
        *result = (attr){.kind = ATTR_INT, .integer = wire_integer(v)};
        return true;
    case WIRE_REAL:
        *result = (attr){.kind = ATTR_FLOAT, .real = wire_real(v)};
        return true;
    case WIRE_STRING:
        *result = (attr){.kind = ATTR_TEXT, .text = wire_string(v, NULL)};
        return true;
    case WIRE_LIST:
    case WIRE_OBJECT:
    case WIRE_TENSOR:
        break;
    }
    return wire_fault(v, err, ERR_ARGUMENT, "%s: '%s' cannot hold %s", x->op->name,
                      wire_key(v) != NULL ? wire_key(v) : "a list",
                      wire_type_name(wire_type_of(v)));
}

/* A list whose items, count of them, are all integers or computed, as one attribute. */
static void join_ints(reading *r, attr *list)
{
    const size_t n = (size_t)list->n + 1;
    int64_t *ints = arena_array(r->arena, n, sizeof *ints);
    attr *dynamic = arena_array(r->arena, n, sizeof *dynamic);
    bool computed = false;

    for (int i = 0; i < list->n; i++) {
        const attr *item = &list->items[i];

        if (item->kind != ATTR_INT && item->kind != ATTR_DYNAMIC)
            return;
        ints[i] = item->kind == ATTR_INT ? item->integer : INT64_MIN;
        if (item->kind == ATTR_DYNAMIC)
            dynamic[i] = *item;
        computed = computed || item->kind == ATTR_DYNAMIC;
    }
    *list =
        (attr){.kind = ATTR_INTS, .n = list->n, .ints = ints, .dynamic = computed ? dynamic : NULL};
}

typedef bool convert_item(reading *r, const item *x, const wire_value *v, attr *result, error *err);

static bool convert_list(reading *r, const item *x, const wire_value *v, convert_item *convert,
                         attr *result, error *err)
{
    attr *items = arena_array(r->arena, wire_count(v) + 1, sizeof *items);
    int n = 0;

    for (const wire_value *w = wire_first(v); w != NULL; w = wire_next(w))
        if (!convert(r, x, w, &items[n++], err))
            return false;
    *result = (attr){.kind = ATTR_LIST, .n = n, .items = items};
    join_ints(r, result);
    return true;
}

/* An item of a list: no parameter takes lists deeper than two. */
static bool convert_inner(reading *r, const item *x, const wire_value *v, attr *result, error *err)
{
    if (wire_type_of(v) == WIRE_LIST)
        return convert_list(r, x, v, convert_single, result, err);
    return convert_single(r, x, v, result, err);
}

bool reading_attr(reading *r, const item *x, const wire_value *v, attr *result, error *err)
{
    if (wire_type_of(v) == WIRE_LIST)
        return convert_list(r, x, v, convert_inner, result, err);
    return convert_single(r, x, v, result, err);
}

/* ---- Parameters ---------------------------------------------------------------------------- */

static bool convert_index(reading *r, const item *x, const wire_value *v, attr *result, error *err)
{
    size_t n;
    const char *text;

    if (!wire_expect(v, WIRE_STRING, err))
        return false;
    text = wire_string(v, &n);
    return lang_index_parse(r->arena, text, n, x->argument_count - 1, result, err);
}

static bool convert_param(reading *r, const item *x, const op_param *p, const wire_value *v,
                          attr *result, error *err)
{
    if (p->kind == PARAM_INDEX)
        return convert_index(r, x, v, result, err);
    if (p->kind == PARAM_NUMBER && wire_type_of(v) == WIRE_LIST)
        return wire_fault(v, err, ERR_ARGUMENT, "%s: %s is a number", x->op->name, p->name);
    return reading_attr(r, x, v, result, err) && op_attr_convert(x->op, p, result, r->arena, err);
}

bool reading_check_attrs(const item *x, error *err)
{
    const wire_value *attrs = wire_member(x->object, "attrs");

    for (const wire_value *v = wire_first(attrs); v != NULL; v = wire_next(v)) {
        const char *name = wire_key(v);
        const op_param *p = op_param_find(x->op, name, strlen(name));

        if (p != NULL && p->kind != PARAM_TENSOR && p->kind != PARAM_TENSORS)
            continue;
        if (p != NULL)
            return wire_fault(v, err, ERR_UNKNOWN_ATTR, "%s: '%s' is a tensor and belongs to args",
                              x->op->name, name);
        wire_fault(v, err, ERR_UNKNOWN_ATTR, "%s has no attribute '%.60s'", x->op->name, name);
        return error_did_you_mean(err, op_param_nearest(x->op, name));
    }
    return true;
}

static bool read_param(reading *r, const item *x, const op_param *p, const wire_value *v, attr *a,
                       error *err)
{
    if (v == NULL && !p->has_default)
        return error_set(err, ERR_ARGUMENT, "%s needs the attribute '%s'", x->op->name, p->name);
    if (v == NULL)
        *a = p->value;
    else if (!convert_param(r, x, p, v, a, err))
        return reading_fault_at(x, v, err);
    return true;
}

attr *reading_attrs(reading *r, const item *x, error *err)
{
    const wire_value *attrs = wire_member(x->object, "attrs");
    attr *list = arena_array(r->arena, (size_t)x->op->attr_count + 1, sizeof *list);

    if (!reading_check_attrs(x, err))
        return NULL;
    for (int i = 0; i < x->op->attr_count; i++) {
        const op_param *p = op_attr_param(x->op, i);

        if (!read_param(r, x, p, wire_member(attrs, p->name), &list[i], err))
            return NULL;
    }
    return list;
}
