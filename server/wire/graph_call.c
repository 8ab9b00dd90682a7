/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of operations whose meaning is a graph: all their arguments are tensors. */
#include <string.h>

#include "server/wire/graph_private.h"

/* ---- Reading --------------------------------------------------------------------------- */

/* Reads the argument for a parameter, unless it has one. */
static bool take(reading *r, int at, const op_param *p, const wire_value *v, argument *list,
                 error *err)
{
    argument *to = &list[p->position];
    const wire_type type = wire_type_of(v);

    if (type == WIRE_NULL)
        return true;
    if (to->written != NULL)
        return wire_fault(v, err, ERR_ARGUMENT, "%s: '%s' is given twice", r->items[at].op->name,
                          p->name);
    if (type != WIRE_INTEGER && type != WIRE_REAL && type != WIRE_BOOL)
        return reading_argument(r, at, v, to, err);
    *to = (argument){.written = v, .place = {.item = -1}}; /* a bare number among attrs */
    return true;
}

static bool take_args(reading *r, int at, const wire_value *args, argument *list, error *err)
{
    const op_def *op = r->items[at].op;
    int i = 0;

    if (args == NULL)
        return true;
    if (!wire_expect(args, WIRE_LIST, err))
        return false;
    if (wire_count(args) > (size_t)op->param_count)
        return wire_fault(args, err, ERR_ARGUMENT, "%s takes at most %d argument%s, got %zu",
                          op->name, op->param_count, op->param_count == 1 ? "" : "s",
                          wire_count(args));
    for (const wire_value *v = wire_first(args); v != NULL; v = wire_next(v), i++)
        if (!take(r, at, &op->params[i], v, list, err))
            return false;
    return true;
}

static bool take_attrs(reading *r, int at, const wire_value *attrs, argument *list, error *err)
{
    const op_def *op = r->items[at].op;

    if (attrs == NULL)
        return true;
    if (!wire_expect(attrs, WIRE_OBJECT, err))
        return false;
    for (const wire_value *v = wire_first(attrs); v != NULL; v = wire_next(v)) {
        const op_param *p = op_param_find(op, wire_key(v), strlen(wire_key(v)));

        if (p == NULL)
            return wire_fault(v, err, ERR_UNKNOWN_ATTR, "%s has no input '%.60s'", op->name,
                              wire_key(v));
        if (!take(r, at, p, v, list, err))
            return false;
    }
    return true;
}

bool reading_call_arguments(reading *r, int at, error *err)
{
    const wire_value *object = r->items[at].object;
    const int n = r->items[at].op->param_count;
    argument *list = arena_array(r->arena, (size_t)n + 1, sizeof *list);

    if (!take_args(r, at, wire_member(object, "args"), list, err) ||
        !take_attrs(r, at, wire_member(object, "attrs"), list, err))
        return false;
    r->items[at].arguments = list;
    r->items[at].argument_count = n;
    return true;
}

/* ---- Building ------------------------------------------------------------------------------ */

/* A bare number. */
static value number(graph *g, const wire_value *v, error *err)
{
    const bool truth = wire_type_of(v) == WIRE_BOOL && wire_bool(v);
    const int64_t integer = wire_type_of(v) == WIRE_INTEGER ? wire_integer(v) : 0;
    const double real = wire_type_of(v) == WIRE_REAL ? wire_real(v) : 0;

    return wire_type_of(v) == WIRE_BOOL      ? graph_scalar(g, DT_BOOL, &truth, true, err)
           : wire_type_of(v) == WIRE_INTEGER ? graph_scalar(g, DT_I64, &integer, true, err)
                                             : graph_scalar(g, DT_F64, &real, true, err);
}

static bool take_stored(reading *r, const item *x, const char *name, value *result, error *err)
{
    const lang_scope scope = declared_scope(&r->json->declared);

    if (!scope.resolve_stored(scope.context, r->json->graph, name, result, err))
        return false;
    return result->node != NULL ||
           error_set(
               err, ERR_ARGUMENT,
               "%s: its input '%s' is not given, and there is no stored variable of that name",
               x->op->name, name);
}

static bool input(reading *r, const item *x, int i, value *result, error *err)
{
    const wire_value *v = x->arguments[i].written;
    const wire_type type = v == NULL ? WIRE_NULL : wire_type_of(v);

    if (v == NULL)
        return take_stored(r, x, op_input_param(x->op, i)->name, result, err);
    if (type != WIRE_INTEGER && type != WIRE_REAL && type != WIRE_BOOL)
        return reading_argument_value(r, x, i, result, err) || reading_fault_at(x, v, err);
    *result = number(r->frames[x->frame]->graph, v, err);
    return result->node != NULL;
}

bool reading_build_call(reading *r, item *x, error *err)
{
    value *inputs = arena_array(r->arena, (size_t)x->argument_count + 1, sizeof *inputs);
    const node *n;

    for (int i = 0; i < x->argument_count; i++)
        if (!input(r, x, i, &inputs[i], err))
            return false;
    n = graph_apply(r->frames[x->frame]->graph, x->op, inputs, x->argument_count, NULL, x->outputs,
                    err);
    if (n == NULL)
        return false;
    x->output_count = n->output_count;
    return true;
}
