/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a choice: a choice of the branches' gradients. */
#include "engine/grad/private.h"

/* What gradients of a choice are for: the values outside that its branches use. */
typedef struct targets {
    int count;
    value *values; /* each once */
} targets;

static targets find_targets(const step *s)
{
    const node *n = s->node;
    targets t = {0, arena_array(s->graph->arena, (size_t)n->input_count + 1, sizeof(value))};

    for (int i = 1; i < n->input_count; i++) {
        bool known = !s->wanted[i];

        for (int k = 0; k < t.count; k++)
            known = known || value_equal(t.values[k], n->inputs[i]);
        if (!known)
            t.values[t.count++] = n->inputs[i];
    }
    return t;
}

/* Copies a branch into g, a sub-graph; its inputs are n's from `first` on. */
static graph_map *copy_branch(graph *g, const graph *branch, const value *inputs, error *err)
{
    graph_map *map = graph_map_new(branch, g);

    for (int i = 0; i < branch->input_count; i++) {
        const value v = graph_capture(g, inputs[i], err);

        if (v.node == NULL)
            return NULL;
        graph_map_set(map, branch->inputs[i], v);
    }
    return graph_map_all(map, err) ? map : NULL;
}

/* Sets the query's ys and their gradients: the outputs of the branch that have any. */
static bool take_results(const step *s, graph *g, const graph *branch, const graph_map *map,
                         gradient_query *q, error *err)
{
    value *ys = arena_array(g->arena, (size_t)branch->output_count + 1, sizeof *ys);
    value *grad_ys = arena_array(g->arena, (size_t)branch->output_count + 1, sizeof *grad_ys);

    for (int i = 0; i < branch->output_count; i++) {
        const value y = graph_map_get(map, branch->outputs[i]);

        if (s->incoming[i].node == NULL || !grad_takes(value_type(y)->dtype))
            continue;
        ys[q->y_count] = y;
        grad_ys[q->y_count] = graph_capture(g, s->incoming[i], err);
        if (grad_ys[q->y_count++].node == NULL)
            return false;
    }
    q->ys = ys;
    q->grad_ys = grad_ys;
    return true;
}

/* A branch that gives the gradients for the targets instead of its results. */
static graph *branch_gradients(const step *s, const graph *branch, const value *inputs,
                               const targets *t, error *err)
{
    graph *g = graph_new(s->graph->arena, s->graph);
    value *wrt = arena_array(g->arena, (size_t)t->count + 1, sizeof *wrt);
    value *gradients = arena_array(g->arena, (size_t)t->count + 1, sizeof *gradients);
    gradient_query q = {.wrt = wrt, .wrt_count = t->count, .zeros = true};
    const graph_map *map = copy_branch(g, branch, inputs, err);

    if (map == NULL || !take_results(s, g, branch, map, &q, err))
        return NULL;
    for (int i = 0; i < t->count; i++) {
        wrt[i] = graph_capture(g, t->values[i], err);
        if (wrt[i].node == NULL)
            return NULL;
    }
    if (!grad_walk(g, &q, gradients, err))
        return NULL;
    for (int i = 0; i < t->count; i++)
        graph_add_output(g, gradients[i]);
    return g;
}

/* The first input that the i-th attribute, a branch, takes. */
static int first_input(const node *n, int branch)
{
    int at = n->input_count;

    for (int i = n->op->attr_count - 1; i >= branch; i--)
        at -= n->attrs[i].kind == ATTR_GRAPH ? n->attrs[i].graph->input_count : 0;
    return at;
}

bool choice_gradients(const step *s, value *gradients, error *err)
{
    const node *n = s->node;
    const targets t = find_targets(s);
    attr *attrs = arena_array(s->graph->arena, (size_t)n->op->attr_count + 1, sizeof *attrs);
    value outputs[OP_OUTPUTS];

    if (t.count > OP_OUTPUTS)
        return error_set(err, ERR_NOT_IMPLEMENTED,
                         "the gradient of %s for %d values is not implemented; %d are possible",
                         n->op->name, t.count, OP_OUTPUTS);
    for (int i = 0; i < n->op->attr_count; i++) {
        attrs[i] = n->attrs[i];
        if (attrs[i].kind != ATTR_GRAPH)
            continue;
        attrs[i].graph =
            branch_gradients(s, n->attrs[i].graph, n->inputs + first_input(n, i), &t, err);
        if (attrs[i].graph == NULL)
            return false;
    }
    if (graph_apply(s->graph, n->op, n->inputs, 1, attrs, outputs, err) == NULL)
        return false;
    for (int k = 0; k < t.count; k++)
        for (int i = 1, given = 0; i < n->input_count; i++)
            if (!given && s->wanted[i] && value_equal(n->inputs[i], t.values[k])) {
                gradients[i] = outputs[k];
                given = 1;
            }
    return true;
}
