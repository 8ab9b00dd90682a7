/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a graph object as nodes of a graph. */
#include <string.h>

#include "server/wire/graph_private.h"

/* Whether a node may be used in g: it is in g or around it. */
static bool is_visible(const node *n, const graph *g)
{
    while (g != NULL && n->graph != g)
        g = g->outer;
    return g != NULL;
}

place reading_target(const reading *r, place p)
{
    for (int steps = 0; steps < r->item_count; steps++) { /* there may be a cycle yet */
        const item *x = p.item >= 0 ? &r->items[p.item] : NULL;

        if (x == NULL || x->kind != ITEM_ALIAS || x->arguments[0].constant != NULL)
            break;
        p = x->arguments[0].place;
    }
    return p;
}

/* An item that stands for a constant. */
static bool is_constant(const item *x)
{
    return x->kind == ITEM_ALIAS && x->arguments[0].constant != NULL;
}

bool reading_value(reading *r, const place *from, graph *g, value *result, error *err)
{
    const place target = reading_target(r, *from), *p = &target;
    const item *x = p->item >= 0 ? &r->items[p->item] : NULL;

    *result = p->outside;
    if (x == NULL)
        return true;
    if (is_constant(x)) {
        *result = graph_constant(g, x->arguments[0].constant, err);
        return result->node != NULL;
    }
    if (x->outputs != NULL && p->output >= x->output_count)
        return error_set(err, ERR_ARGUMENT, "'%s:%d': the node has %d output%s", x->name, p->output,
                         x->output_count, x->output_count == 1 ? "" : "s");
    if (x->outputs == NULL || !is_visible(x->outputs[p->output].node, g))
        return error_set(err, ERR_ARGUMENT,
                         "'%s' is inside a branch or loop; outside of it there is what merge or "
                         "leave gives",
                         x->name);
    *result = x->outputs[p->output];
    return true;
}

/* ---- Arguments --------------------------------------------------------------------- */

bool reading_check_count(const item *x, error *err)
{
    const op_def *op = x->op;
    bool list = false;
    int least = 0, most = 0;

    for (int i = 0; i < op->param_count; i++) {
        const op_param *p = &op->params[i];

        if (p->kind == PARAM_TENSORS)
            list = list || !op_is_captured(op, p);
        else if (p->kind == PARAM_TENSOR) {
            least += !p->has_default;
            most++;
        }
    }
    if (x->argument_count >= least && (list || x->argument_count <= most))
        return true;
    return error_set(err, ERR_ARGUMENT, "%s takes %d%s argument%s, got %d", op->name, least,
                     list || most > least ? " or more" : "",
                     least == 1 && most == 1 && !list ? "" : "s", x->argument_count);
}

static bool missing_argument(const item *x, int i, error *err)
{
    const op_param *p = op_input_param(x->op, i);

    return (p != NULL && p->has_default) ||
           error_set(err, ERR_ARGUMENT, "%s: argument %d cannot be left out", x->op->name, i);
}

bool reading_argument_value(reading *r, const item *x, int i, value *result, error *err)
{
    const argument *a = &x->arguments[i];

    *result = (value){0};
    if (a->missing)
        return missing_argument(x, i, err);
    if (a->constant == NULL)
        return reading_value(r, &a->place, r->frames[x->frame]->graph, result, err);
    *result = graph_constant(r->frames[x->frame]->graph, a->constant, err);
    return result->node != NULL;
}

static value *argument_values(reading *r, const item *x, error *err)
{
    value *values = arena_array(r->arena, (size_t)x->argument_count + OP_PARAMS, sizeof *values);

    for (int i = 0; i < x->argument_count; i++) {
        if (!reading_argument_value(r, x, i, &values[i], err)) {
            reading_fault_at(x, x->arguments[i].written, err);
            return NULL;
        }
    }
    return values;
}

/* ---- Nodes ---------------------------------------------------------------------------- */

/* The constant that a node of the operation "constant" names. */
static bool build_constant(reading *r, item *x, error *err)
{
    if (x->argument_count != 1 || x->arguments[0].constant == NULL)
        return error_set(err, ERR_ARGUMENT, "constant takes one argument, a number or tensor");
    x->output_count = 1;
    return reading_argument_value(r, x, 0, &x->outputs[0], err);
}

static bool build_node(reading *r, item *x, error *err)
{
    int count = x->argument_count, tensors = 0;
    const value *inputs;
    const attr *attrs;
    const node *n;

    if (!reading_check_count(x, err))
        return false;
    for (int i = 0; i < x->op->param_count; i++)
        tensors += x->op->params[i].kind == PARAM_TENSOR;
    if (count < tensors)
        count = tensors;
    inputs = argument_values(r, x, err);
    attrs = inputs != NULL ? reading_attrs(r, x, err) : NULL;
    n = attrs != NULL
            ? graph_apply(r->frames[x->frame]->graph, x->op, inputs, count, attrs, x->outputs, err)
            : NULL;
    if (n == NULL)
        return false;
    x->output_count = n->output_count;
    return true;
}

/* What a merge gives: the value, and which of its arguments it is. */
static bool build_chosen(reading *r, item *x, error *err)
{
    static const char where[] = "where";
    graph *g = r->frames[x->frame]->graph;
    const int32_t sides[2] = {x->flag, !x->flag};
    value choice[3];

    x->output_count = 2;
    if (!reading_argument_value(r, x, 0, &x->outputs[0], err) ||
        !reading_argument_value(r, x, 1, &choice[0], err))
        return false;
    for (int i = 0; i < 2; i++)
        choice[1 + i] = graph_scalar(g, DT_I32, &sides[i], false, err);
    return !error_is_set(err) && graph_apply(g, op_find(where, strlen(where)), choice, 3, NULL,
                                             x->outputs + 1, err) != NULL;
}

bool reading_build(reading *r, int at, error *err)
{
    item *x = &r->items[at];

    if (x->kind == ITEM_PARAMETER || x->kind == ITEM_ALIAS || x->kind == ITEM_STRANDED)
        return true;
    x->outputs = arena_array(r->arena, OP_OUTPUTS, sizeof *x->outputs);
    if (x->kind == ITEM_CHOSEN)
        return build_chosen(r, x, err);
    if (!(x->op == &op_constant       ? build_constant(r, x, err)
          : x->op->body != NULL       ? reading_build_call(r, x, err)
          : op_takes_functions(x->op) ? reading_build_functions(r, x, err)
                                      : build_node(r, x, err)))
        return false;
    if (x->named)
        graph_name(x->outputs[0], x->name);
    return true;
}
