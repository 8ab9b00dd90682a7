/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs inside graphs: the functions of control flow, what they get and what they give. */
#include <string.h>

#include "engine/graph/private.h"

int graph_param_count(const graph *sub)
{
    int count = 0;

    while (count < sub->input_count && sub->captured[count].node == NULL)
        count++;
    return count;
}

int graph_own_inputs(const node *n)
{
    int count = n->input_count;

    for (int i = 0; i < n->op->attr_count; i++)
        if (n->attrs[i].kind == ATTR_GRAPH)
            count -= n->attrs[i].graph->input_count - graph_param_count(n->attrs[i].graph);
    return count;
}

/* ---- What functions get -------------------------------------------------------------- */

/* A value as a variable: strong, since what comes back will be. */
static type variable_type(const type *t)
{
    type result = *t;

    result.weak = false;
    return result;
}

/* A variable's type with the lengths that a loop's shape invariant leaves open. */
static bool loosen(const op_def *op, int i, const int64_t *invariant, type *t, error *err)
{
    shape said = {.rank = (int)invariant[0]};
    char x[SHAPE_TEXT_MAX], y[SHAPE_TEXT_MAX];
    bool fits = said.rank == t->shape.rank;

    memcpy(said.length, invariant + 1, (size_t)said.rank * sizeof *said.length);
    for (int k = 0; fits && k < said.rank; k++)
        fits = said.length[k] == LENGTH_UNKNOWN || t->shape.length[k] == LENGTH_UNKNOWN ||
               said.length[k] == t->shape.length[k];
    if (!fits)
        return error_set(err, ERR_SHAPE,
                         "%s: variable %d begins with shape %s, which its shape invariant %s does "
                         "not allow",
                         op->name, i, shape_print(&t->shape, x), shape_print(&said, y));
    t->shape = said;
    return true;
}

/* Lets the variables of a while loop have the shapes that its invariants allow. */
static bool loosen_all(const op_def *op, const attr *invariants, type *types, int count, error *err)
{
    int given = 0;

    for (int at = 0; at < invariants->n; at += 1 + (int)invariants->ints[at])
        if (given++ < count &&
            !loosen(op, given - 1, invariants->ints + at, &types[given - 1], err))
            return false;
    return given == count ||
           error_set(err, ERR_ARGUMENT, "%s: there are %d shape invariants for %d loop variables",
                     op->name, given, count);
}

/* The type of an element along axis 0. */
static bool element_type(const op_def *op, const type *t, type *result, error *err)
{
    *result = variable_type(t);
    if (t->shape.rank == 0)
        return error_set(err, ERR_SHAPE, "%s cannot walk along a scalar", op->name);
    result->shape.rank--;
    memmove(result->shape.length, t->shape.length + 1,
            (size_t)result->shape.rank * sizeof *t->shape.length);
    return true;
}

bool graph_param_types(const op_def *op, const value *inputs, int input_count, const attr *attrs,
                       int function, type types[OP_OUTPUTS], int *count, error *err)
{
    (void)function;
    *count = op->control == CONTROL_COND ? 0 : input_count;
    if (*count > OP_OUTPUTS)
        return error_set(err, ERR_ARGUMENT, "%s takes at most %d values", op->name, OP_OUTPUTS);
    for (int i = 0; i < *count; i++) {
        const type *t = value_type(inputs[i]);

        if (op->control != CONTROL_SCAN || i < attrs[SCAN_CARRIES].integer)
            types[i] = variable_type(t);
        else if (!element_type(op, t, &types[i], err))
            return false;
    }
    return op->control != CONTROL_WHILE || attrs[WHILE_INVARIANTS].kind == ATTR_NONE ||
           loosen_all(op, &attrs[WHILE_INVARIANTS], types, *count, err);
}

const value *subgraph_inputs(graph *g, const op_def *op, const value *inputs, int *count,
                             const attr *attrs, error *err)
{
    int total = *count, n = *count;
    value *all;

    for (int i = 0; i < op->attr_count; i++)
        if (attrs[i].kind == ATTR_GRAPH)
            total += attrs[i].graph->input_count;
    all = arena_array(g->arena, (size_t)total + 1, sizeof *all);
    memcpy(all, inputs, (size_t)n * sizeof *all);
    for (int i = 0; i < op->attr_count; i++) {
        const graph *sub = attrs[i].kind == ATTR_GRAPH ? attrs[i].graph : NULL;

        for (int k = sub == NULL ? 0 : graph_param_count(sub); sub != NULL && k < sub->input_count;
             k++) {
            all[n] = graph_capture(g, sub->captured[k], err);
            if (all[n++].node == NULL)
                return NULL;
        }
    }
    *count = n;
    return all;
}

/* ---- What they give -------------------------------------------------------------------- */

/* The type that a value of either of two types has. */
static bool join_types(const op_def *op, const type *a, const type *b, type *result, error *err)
{
    const bool one_weak = a->weak != b->weak;
    char x[SHAPE_TEXT_MAX], y[SHAPE_TEXT_MAX];

    *result = *a;
    result->weak = a->weak && b->weak;
    if (one_weak)
        result->dtype = a->weak ? dtype_join_weak(b->dtype, dtype_info_of(a->dtype)->class)
                                : dtype_join_weak(a->dtype, dtype_info_of(b->dtype)->class);
    else
        result->dtype = dtype_promote(a->dtype, b->dtype);
    if (a->shape.rank != b->shape.rank)
        return error_set(err, ERR_SHAPE,
                         "%s: one function gives shape %s, the other %s; they "
                         "must have as many axes",
                         op->name, shape_print(&a->shape, x), shape_print(&b->shape, y));
    for (int i = 0; i < a->shape.rank; i++)
        if (a->shape.length[i] != b->shape.length[i])
            result->shape.length[i] = LENGTH_UNKNOWN;
    return true;
}

static bool cond_types(const op_def *op, const attr *attrs, type *types, int *count, error *err)
{
    const graph *a = attrs[0].graph, *b = attrs[1].graph;

    if (a->output_count != b->output_count)
        return error_set(err, ERR_ARGUMENT, "%s: one function gives %d results, the other %d",
                         op->name, a->output_count, b->output_count);
    *count = a->output_count;
    for (int i = 0; i < a->output_count; i++)
        if (!join_types(op, value_type(a->outputs[i]), value_type(b->outputs[i]), &types[i], err))
            return false;
    return true;
}

/* Whether a value of the one shape may be where one of the other is: open lengths may be
 * any, and it is seen when it runs. */
static bool fits(const shape *out, const shape *in)
{
    if (out->rank != in->rank)
        return false;
    for (int i = 0; i < in->rank; i++)
        if (in->length[i] != LENGTH_UNKNOWN && out->length[i] != in->length[i])
            return false;
    return true;
}

/* Variable i of a loop must come back from the body as it went in. */
static bool check_variable(const op_def *op, const graph *body, int i, const type *in, error *err)
{
    const type *out = value_type(body->outputs[i]);
    char x[SHAPE_TEXT_MAX], y[SHAPE_TEXT_MAX];

    if (out->dtype != in->dtype)
        return error_set(err, ERR_DTYPE,
                         "%s: variable %d begins as %s and comes back from the function as %s; "
                         "give it that type before",
                         op->name, i, dtype_name(in->dtype), dtype_name(out->dtype));
    if (!fits(&out->shape, &in->shape))
        return error_set(err, ERR_SHAPE,
                         "%s: variable %d begins with shape %s and comes back from the function "
                         "with %s; a loop's variables keep their shapes%s",
                         op->name, i, shape_print(&in->shape, x), shape_print(&out->shape, y),
                         op->control == CONTROL_WHILE
                             ? " where shape_invariants does not say None for a length"
                             : "");
    return true;
}

static bool while_types(const op_def *op, const attr *attrs, const type *params, int param_count,
                        type *types, int *count, error *err)
{
    const graph *condition = attrs[WHILE_CONDITION].graph, *body = attrs[WHILE_BODY].graph;

    if (condition->output_count != 1 || value_type(condition->outputs[0])->shape.rank != 0)
        return error_set(err, ERR_SHAPE, "%s: the condition must give one scalar", op->name);
    if (body->output_count != param_count)
        return error_set(err, ERR_ARGUMENT, "%s: the body gives %d results for %d loop variables",
                         op->name, body->output_count, param_count);
    *count = param_count;
    for (int i = 0; i < param_count; i++) {
        types[i] = params[i];
        if (!check_variable(op, body, i, &params[i], err))
            return false;
    }
    return true;
}

/* The length of what a scan walks along: of all operands behind the carried ones, or as
 * given. */
static bool scan_length(const op_def *op, const value *inputs, int own, const attr *attrs,
                        int64_t *length, error *err)
{
    const attr *given = &attrs[SCAN_LENGTH];

    *length = given->kind == ATTR_INT ? given->integer : LENGTH_UNKNOWN;
    for (int i = (int)attrs[SCAN_CARRIES].integer; i < own; i++) {
        const int64_t n = value_type(inputs[i])->shape.length[0];

        if (*length >= 0 && n >= 0 && n != *length)
            return error_set(err, ERR_SHAPE, "%s walks along lengths that differ: %ld and %ld",
                             op->name, (long)*length, (long)n);
        *length = n >= 0 ? n : *length;
    }
    if (own == attrs[SCAN_CARRIES].integer && given->kind == ATTR_NONE)
        return error_set(err, ERR_ARGUMENT, "%s needs something to walk along, or a length",
                         op->name);
    return true;
}

static bool scan_types(const op_def *op, const value *inputs, int own, const attr *attrs,
                       const type *params, type *types, int *count, error *err)
{
    const graph *body = attrs[SCAN_BODY].graph;
    const int carries = (int)attrs[SCAN_CARRIES].integer;
    int64_t length;

    if (body->output_count < carries)
        return error_set(err, ERR_ARGUMENT, "%s: the function gives %d results, but %d are carried",
                         op->name, body->output_count, carries);
    if (!scan_length(op, inputs, own, attrs, &length, err))
        return false;
    *count = body->output_count;
    for (int i = 0; i < body->output_count; i++) {
        types[i] = i < carries ? params[i] : variable_type(value_type(body->outputs[i]));
        if (i < carries ? !check_variable(op, body, i, &params[i], err)
                        : types[i].shape.rank == RANK_MAX)
            return error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, RANK_MAX + 1,
                                   "%s: a tensor has at most %d axes", op->name, RANK_MAX);
        if (i < carries)
            continue;
        memmove(types[i].shape.length + 1, types[i].shape.length,
                (size_t)types[i].shape.rank++ * sizeof *types[i].shape.length);
        types[i].shape.length[0] = length;
        if (!shape_check(&types[i].shape, op->name, err))
            return false;
    }
    return true;
}

/* Every function must take just the parameters that it gets. */
static bool check_params(const op_def *op, const attr *attrs, int count, error *err)
{
    for (int i = 0; i < op->attr_count; i++)
        if (attrs[i].kind == ATTR_GRAPH && graph_param_count(attrs[i].graph) != count)
            return error_set(err, ERR_ARGUMENT,
                             "%s: the function %s takes %d parameters, it gets %d", op->name,
                             op_attr_param(op, i)->name, graph_param_count(attrs[i].graph), count);
    return true;
}

const type *subgraph_types(graph *g, const op_def *op, const value *inputs, int own,
                           const attr *attrs, int *output_count, error *err)
{
    type *params = arena_array(g->arena, OP_OUTPUTS, sizeof *params);
    type *types = arena_array(g->arena, OP_OUTPUTS, sizeof *types);
    int count;
    bool ok;

    for (int i = 0; i < op->attr_count; i++)
        if (attrs[i].kind == ATTR_GRAPH && attrs[i].graph->output_count > OP_OUTPUTS) {
            error_set(err, ERR_ARGUMENT, "%s: a function gives at most %d results", op->name,
                      OP_OUTPUTS);
            return NULL;
        }
    if (!graph_param_types(op, inputs, own, attrs, 0, params, &count, err) ||
        !check_params(op, attrs, count, err))
        return NULL;
    if (op->control == CONTROL_COND)
        ok = cond_types(op, attrs, types, output_count, err);
    else if (op->control == CONTROL_WHILE)
        ok = while_types(op, attrs, params, count, types, output_count, err);
    else
        ok = scan_types(op, inputs, own, attrs, params, types, output_count, err);
    if (ok && *output_count == 0)
        ok = error_set(err, ERR_ARGUMENT,
                       "%s: the functions give nothing; they give one value at least", op->name);
    return ok ? types : NULL;
}

/* ---- Building them anew ------------------------------------------------------------------ */

int graph_first_captured(const node *n, int function)
{
    int at = graph_own_inputs(n);

    for (int i = 0; i < function; i++)
        if (n->attrs[i].kind == ATTR_GRAPH)
            at += n->attrs[i].graph->input_count - graph_param_count(n->attrs[i].graph);
    return at;
}

graph *graph_begin_function(graph *g, const node *n, const value *inputs, int function,
                            graph_map **map, error *err)
{
    const graph *from = n->attrs[function].graph;
    type *types = arena_array(g->arena, OP_OUTPUTS, sizeof *types);
    graph *to = graph_new(g->arena, g);
    const int params = graph_param_count(from), at = graph_first_captured(n, function);
    int count;

    *map = graph_map_new(from, to);
    if (!graph_param_types(n->op, inputs, graph_own_inputs(n), n->attrs, function, types, &count,
                           err))
        return NULL;
    for (int i = 0; i < from->input_count; i++) {
        const value v = i < params ? graph_input(to, from->inputs[i].node->name, &types[i], err)
                                   : graph_capture(to, inputs[at + i - params], err);

        if (v.node == NULL)
            return NULL;
        graph_map_set(*map, from->inputs[i], v);
    }
    return to;
}

const attr *subgraph_rebuild(graph *g, const node *n, const value *inputs, const attr *mapped,
                             error *err)
{
    attr *attrs = arena_array(g->arena, (size_t)n->op->attr_count + 1, sizeof *attrs);

    for (int i = 0; i < n->op->attr_count; i++) {
        graph_map *map;
        graph *to;

        attrs[i] = mapped[i];
        if (attrs[i].kind != ATTR_GRAPH)
            continue;
        to = graph_begin_function(g, n, inputs, i, &map, err);
        if (to == NULL || !graph_map_all(map, err))
            return NULL;
        for (int k = 0; k < n->attrs[i].graph->output_count; k++)
            graph_add_output(to, graph_map_get(map, n->attrs[i].graph->outputs[k]));
        attrs[i].graph = to;
    }
    return attrs;
}
