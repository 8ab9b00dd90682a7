/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/grad/private.h"

bool grad_takes(dtype t)
{
    return dtype_is_float(t) || dtype_is_complex(t);
}

/* ---- Contributions ---------------------------------------------------------------- */

static bool add_to(path *p, value v, value contribution, error *err)
{
    const value at = path_value(p, v);
    place *place = path_place(p, at.node);
    value both[2];

    if (place->adjoint == NULL)
        place->adjoint =
            arena_array(p->graph->arena, (size_t)at.node->output_count + 1, sizeof(value));
    both[0] = place->adjoint[at.index];
    both[1] = contribution;
    if (both[0].node != NULL)
        return fit_apply(p->graph, "add", both, 2, NULL, &place->adjoint[at.index], err);
    place->adjoint[at.index] = contribution;
    return true;
}

/* The gradients of a node's outputs, or NULL if all are zero. */
static const value *incoming(path *p, const node *n)
{
    const place *place = path_place(p, n);

    for (int i = 0; place->adjoint != NULL && i < n->output_count; i++)
        if (place->adjoint[i].node != NULL)
            return place->adjoint;
    return NULL;
}

/* How the gradients of a node's inputs are found. */
static bool input_gradients(const step *s, value *gradients, error *err)
{
    switch (s->node->op->control) {
    case CONTROL_COND:
        return choice_gradients(s, gradients, err);
    case CONTROL_WHILE:
        return while_gradients(s, gradients, err);
    case CONTROL_SCAN:
        return scan_gradients(s, gradients, err);
    case CONTROL_NONE:
        break;
    }
    return row_gradients(s, gradients, err);
}

/* Hands on what the computed attributes of a node get. */
static bool step_back_attrs(path *p, const step *s, error *err)
{
    const node *n = s->node;
    bool wanted[OP_PARAMS] = {false}, any = false;
    value gradients[OP_PARAMS] = {{0}};

    for (int i = 0; i < n->op->attr_count; i++)
        any = (wanted[i] = path_attr_reached(p, n, i)) || any;
    if (!any)
        return true;
    if (!row_attr_gradients(s, wanted, gradients, err))
        return false;
    for (int i = 0; i < n->op->attr_count; i++)
        if (gradients[i].node != NULL &&
            !add_to(p, (value){n->attrs[i].node, n->attrs[i].output}, gradients[i], err))
            return false;
    return true;
}

static bool step_back(path *p, const node *n, error *err)
{
    arena *a = p->graph->arena;
    bool *wanted = arena_array(a, (size_t)n->input_count + 1, sizeof *wanted);
    value *gradients = arena_array(a, (size_t)n->input_count + 1, sizeof *gradients);
    const step s = {p->graph, n, incoming(p, n), wanted};

    if (s.incoming == NULL)
        return true;
    for (int i = 0; i < n->input_count; i++)
        wanted[i] = n->inputs[i].node != NULL && grad_takes(value_type(n->inputs[i])->dtype) &&
                    path_place(p, path_value(p, n->inputs[i]).node)->reached;
    if (!input_gradients(&s, gradients, err))
        return false;
    for (int i = 0; i < n->input_count; i++)
        if (gradients[i].node != NULL && !add_to(p, n->inputs[i], gradients[i], err))
            return false;
    return step_back_attrs(p, &s, err);
}

/* ---- Where it begins and ends ----------------------------------------------------------- */

/* What a value is called in messages. */
static const char *name_of(graph *g, value v)
{
    return v.node->name != NULL ? arena_format(g->arena, "'%s'", v.node->name)
                                : arena_format(g->arena, "the result of %s", v.node->op->name);
}

static bool check_types(graph *g, const gradient_query *q, error *err)
{
    for (int i = 0; i < q->y_count + q->wrt_count; i++) {
        const value v = i < q->y_count ? q->ys[i] : q->wrt[i - q->y_count];

        if (!grad_takes(value_type(v)->dtype))
            return error_set(err, ERR_DTYPE,
                             "%s is of %s, and gradients are of floating-point and complex "
                             "numbers only",
                             name_of(g, v), dtype_name(value_type(v)->dtype));
    }
    return true;
}

/* An incoming gradient must have its y's shape, as far as both are known. */
static bool check_seed(graph *g, value y, value seed, error *err)
{
    const shape *a = &value_type(y)->shape, *b = &value_type(seed)->shape;
    char of_y[SHAPE_TEXT_MAX], of_seed[SHAPE_TEXT_MAX];
    bool same = a->rank == b->rank;

    for (int i = 0; same && i < a->rank; i++)
        same = a->length[i] == b->length[i] || a->length[i] < 0 || b->length[i] < 0;
    return same || error_set(err, ERR_SHAPE, "the incoming gradient of %s has shape %s, not %s",
                             name_of(g, y), shape_print(b, of_seed), shape_print(a, of_y));
}

static bool seed(path *p, const gradient_query *q, int i, error *err)
{
    value from = q->grad_ys != NULL ? q->grad_ys[i] : (value){0};

    if (from.node == NULL && !fit_apply(p->graph, "ones_like", &q->ys[i], 1, NULL, &from, err))
        return false;
    return check_seed(p->graph, q->ys[i], from, err) &&
           fit_dtype(p->graph, q->ys[i], from, &from, err) && add_to(p, q->ys[i], from, err);
}

static bool collect(path *p, const gradient_query *q, int i, value *gradient, error *err)
{
    const value at = path_value(p, q->wrt[i]);
    const value *adjoint = path_place(p, at.node)->adjoint;

    if (!q->zeros && !path_place(p, q->wrt[i].node)->needed)
        return error_set(err, ERR_VALUE,
                         "nothing that is differentiated depends on %s, so it has no gradient",
                         name_of(p->graph, q->wrt[i]));
    if (adjoint != NULL && adjoint[at.index].node != NULL) {
        *gradient = adjoint[at.index];
        return true;
    }
    return fit_apply(p->graph, "zeros_like", &q->wrt[i], 1, NULL, gradient, err);
}

bool grad_walk(graph *g, const gradient_query *query, value *gradients, error *err)
{
    path p;

    if (!check_types(g, query, err) || !path_find(&p, g, query, err))
        return false;
    for (int i = 0; i < query->y_count; i++)
        if (!seed(&p, query, i, err))
            return false;
    for (int i = p.count - 1; i >= 0; i--)
        if (!step_back(&p, p.nodes[i], err))
            return false;
    for (int i = 0; i < query->wrt_count; i++)
        if (!collect(&p, query, i, &gradients[i], err))
            return false;
    return true;
}

/* ---- Complex numbers ---------------------------------------------------------------------- */

/* The conjugate of v, if it is complex. */
static bool conjugate(graph *g, value *v, error *err)
{
    return v->node == NULL || !dtype_is_complex(value_type(*v)->dtype) ||
           fit_apply(g, "conjugate", v, 1, NULL, v, err);
}

bool grad_build(graph *g, const gradient_query *query, value *gradients, error *err)
{
    gradient_query uphill = *query;
    value *seeds = arena_array(g->arena, (size_t)query->y_count + 1, sizeof *seeds);

    for (int i = 0; query->grad_ys != NULL && i < query->y_count; i++) {
        seeds[i] = query->grad_ys[i];
        if (!conjugate(g, &seeds[i], err))
            return false;
    }
    uphill.grad_ys = query->grad_ys == NULL ? NULL : seeds;
    if (!grad_walk(g, &uphill, gradients, err))
        return false;
    for (int i = 0; i < query->wrt_count; i++)
        if (!conjugate(g, &gradients[i], err))
            return false;
    return true;
}
