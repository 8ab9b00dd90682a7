/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients as a graph of their own. */
#include <string.h>

#include "engine/grad/grad.h"
#include "engine/grad/private.h"
#include "engine/graph/define.h"

/* g with definitions in place; its outputs are y and the wrt. */
static graph *prepare(const graph *g, value y, const value *wrt, int count, arena *a, error *err)
{
    graph asked = *g;

    asked.outputs = arena_array(a, (size_t)count + 1, sizeof *asked.outputs);
    asked.output_count = count + 1;
    asked.outputs[0] = y;
    memcpy(asked.outputs + 1, wrt, (size_t)count * sizeof *wrt);
    return define_inline(&asked, a, err);
}

/* The value as an output of a name: a node of its own if it has a name, or others use it. */
static bool name_output(graph *g, value v, const char *name, error *err)
{
    if ((v.node->name != NULL || v.node->op == &op_input || v.node->output_count > 1) &&
        !fit_apply(g, "astype", &v, 1, NULL, &v, err))
        return false;
    graph_name(v, name);
    graph_add_output(g, v);
    return true;
}

/* What the outputs of g need, as a graph. */
static graph *take_part(const graph *g, arena *a, error *err)
{
    graph *part = graph_new(a, NULL);
    bool *needed = arena_array(a, (size_t)g->input_count + 1, sizeof *needed);

    part->node_limit = g->node_limit;
    if (graph_extract(g, NULL, 0, part, needed, err))
        return part;
    graph_release(part);
    return NULL;
}

graph *grad_graph(const graph *g, value y, const value *wrt, const char *const *grad_names,
                  int count, arena *a, error *err)
{
    value *gradients = arena_array(a, (size_t)count + 1, sizeof *gradients);
    graph *whole = prepare(g, y, wrt, count, a, err), *part = NULL;
    const value *asked = whole != NULL ? whole->outputs : NULL;
    const gradient_query query = {.ys = asked, .y_count = 1, .wrt = asked + 1, .wrt_count = count};
    bool ok = whole != NULL && grad_build(whole, &query, gradients, err);

    if (whole == NULL)
        return NULL;
    whole->outputs = NULL;
    whole->output_count = 0;
    whole->output_room = 0;
    for (int i = 0; ok && i < count; i++)
        ok = name_output(whole, gradients[i], grad_names[i], err);
    if (ok)
        part = take_part(whole, a, err);
    graph_release(whole);
    return part;
}
