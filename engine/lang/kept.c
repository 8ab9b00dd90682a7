/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a program that stay operations: their calls are nodes. */
#include <string.h>

#include "engine/graph/define.h"
#include "engine/lang/tracer.h"

/* Whether a call of the function can be a node: of something, for all that is known now. */
static bool may_keep(const tracer *tr, const lang_function *f, const arguments *args)
{
    bool any = false;

    for (int i = 0; i < args->count + args->keyword_count; i++) {
        if (args->values[i].kind != LANG_TENSOR && args->values[i].kind != LANG_NUMBER)
            return false;
        any = any || args->values[i].kind == LANG_TENSOR;
    }
    return any && tr->options->keep_calls && strcmp(f->head->name, "lambda") != 0 &&
           table_get_bytes(&tr->inlined, (const char *)&f->head, sizeof f->head) == NULL;
}

/* The outputs of what was traced; false if it gave anything but tensors. */
static bool add_outputs(graph *g, const lang_value *v, error *err)
{
    const bool many = v->kind == LANG_TUPLE;
    const int n = many ? v->sequence->count : 1;
    const lang_value *items = many ? v->sequence->items : v;

    for (int i = 0; i < n && n <= OP_OUTPUTS; i++)
        if (items[i].kind != LANG_TENSOR || !graph_capture_output(g, items[i].tensor, err))
            return false;
    return n > 0 && n <= OP_OUTPUTS && g->input_count > 0;
}

/* A node of the operation that the traced graph is. */
static bool apply(tracer *tr, const char *name, const graph *traced, bool many, lang_value *result,
                  error *err)
{
    int *order = arena_array(tr->arena, (size_t)traced->input_count + 1, sizeof *order);
    value outputs[OP_OUTPUTS];
    lang_value items[OP_OUTPUTS];
    const node *n;

    for (int i = 0; i < traced->input_count; i++)
        order[i] = i;
    n = graph_apply(tr->graph, define_op(tr->arena, name, traced, order), traced->captured,
                    traced->input_count, NULL, outputs, err);
    if (n == NULL)
        return false;
    for (int i = 0; i < n->output_count; i++)
        items[i] = lang_of_value(outputs[i]);
    *result = many ? tracer_sequence(tr, LANG_TUPLE, items, n->output_count) : items[0];
    return true;
}

/* What a call gives its parameters is called as they are. */
static void name_params(const graph *traced, const code_function *head, const arguments *args)
{
    for (int k = 0; k < args->count && k < head->count; k++)
        for (int i = 0; i < traced->input_count && args->values[k].kind == LANG_TENSOR; i++)
            if (value_equal(traced->captured[i], args->values[k].tensor))
                traced->inputs[i].node->name = head->parameters[k];
}

bool call_kept(tracer *tr, lang_function *f, const arguments *args, lang_value *result)
{
    const tracer before = *tr;
    graph *traced;
    error ignored = {0};
    bool ok;

    if (!may_keep(tr, f, args))
        return false;
    traced = graph_new(tr->arena, tr->graph);
    tr->graph = traced;
    ok = call_inline(tr, f, args, result, &ignored) && add_outputs(traced, result, &ignored);
    tr->graph = before.graph;
    if (ok)
        name_params(traced, f->head, args);
    ok = ok && apply(tr, f->head->name, traced, result->kind == LANG_TUPLE, result, &ignored);
    if (ok)
        return true;
    tr->height = before.height;
    tr->depth = before.depth;
    tr->local = before.local;
    tr->returned = before.returned;
    table_put_bytes(&tr->inlined, (const char *)&f->head, sizeof f->head, f);
    return false;
}
