/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a graph object as nodes of a graph. */
#include "server/wire/graph_private.h"

bool reading_value(reading *r, const place *p, value *result, error *err)
{
    const item *x = p->item >= 0 ? &r->items[p->item] : NULL;

    *result = p->outside;
    if (x == NULL)
        return true;
    if (p->output >= x->output_count)
        return error_set(err, ERR_ARGUMENT, "'%s:%d': the node has %d output%s", x->name, p->output,
                         x->output_count, x->output_count == 1 ? "" : "s");
    *result = x->outputs[p->output];
    return true;
}

/* ---- Arguments --------------------------------------------------------------------- */

bool reading_check_count(const item *x, error *err)
{
    const op_def *op = x->op;
    int least = 0, most = 0;

    for (int i = 0; i < op->param_count; i++) {
        const op_param *p = &op->params[i];

        if (p->kind == PARAM_TENSORS && !op_is_captured(op, p))
            most = x->argument_count;
        else if (p->kind == PARAM_TENSOR) {
            least += !p->has_default;
            most++;
        }
    }
    if (x->argument_count >= least && x->argument_count <= most)
        return true;
    return error_set(err, ERR_ARGUMENT, "%s takes %d%s argument%s, got %d", op->name, least,
                     op->input_count < 0 || most > least ? " or more" : "",
                     least == 1 && most == 1 ? "" : "s", x->argument_count);
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
        return reading_value(r, &a->place, result, err);
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

bool reading_build(reading *r, int at, error *err)
{
    item *x = &r->items[at];

    if (x->object == NULL)
        return true; /* a parameter, which its frame sets */
    x->outputs = arena_array(r->arena, OP_OUTPUTS, sizeof *x->outputs);
    if (!(x->op == &op_constant       ? build_constant(r, x, err)
          : x->op->body != NULL       ? reading_build_call(r, x, err)
          : op_takes_functions(x->op) ? reading_build_functions(r, x, err)
                                      : build_node(r, x, err)))
        return false;
    if (x->named)
        graph_name(x->outputs[0], x->name);
    return true;
}
