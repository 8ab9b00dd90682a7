/* SPDX-License-Identifier: Apache-2.0 */
/* What views and casts in a row come to.
 *
 * What a chain of views does is seen by trying it: a dense tensor of the first one's input is
 * arranged by each in turn. If it lies as it did, the chain is nothing: transposes that
 * undo each other, axes that come and go, slices of the whole. If it lies dense, the chain
 * is one reshape; if its axes are there in another order, one transpose. */
#include <string.h>

#include "engine/rewrite/private.h"

enum { CHAIN = 8 }; /* views looked back over */

/* ---- Views -------------------------------------------------------------------------- */

static bool is_computed(const node *n)
{
    for (int i = 0; i < n->op->attr_count; i++)
        if (n->attrs[i].kind == ATTR_DYNAMIC ||
            (n->attrs[i].kind == ATTR_INTS && n->attrs[i].dynamic != NULL))
            return true;
    return false;
}

/* Whether a node only arranges the elements of its first input, in a way known now. */
static bool is_view(const node *n)
{
    if (n->op->view == NULL || (n->op->run != NULL && n->input_count != 1) ||
        n->inputs[0].node == NULL || is_computed(n))
        return false;
    for (int i = 0; i < n->input_count; i++)
        if (!shape_is_known(&value_type(n->inputs[i])->shape))
            return false;
    return shape_is_known(&n->types[0].shape) && shape_size(&n->types[0].shape) > 0;
}

/* A tensor without a buffer that lies dense. */
static tensor dense_like(const type *t)
{
    tensor result = {.dtype = t->dtype, .shape = t->shape};

    shape_strides(&t->shape, result.strides);
    return result;
}

/* Arranges t as the view does; false if no strides can say it. */
static bool arrange(const node *n, tensor *t, arena *a)
{
    type *types = arena_array(a, (size_t)n->input_count, sizeof *types);
    const tensor from = *t;

    for (int i = 0; i < n->input_count; i++)
        types[i] = *value_type(n->inputs[i]);
    const op_call call = {n->op, n->input_count, types, n->attrs, a};
    t->shape = n->types[0].shape;
    return n->op->view(&call, &from, t);
}

/* Whether two tensors have their elements at the same places; the step along an axis of
 * length 1 does not matter. */
static bool lie_alike(const tensor *a, const tensor *b)
{
    if (a->offset != b->offset || !shape_equal(&a->shape, &b->shape))
        return false;
    for (int i = 0; i < a->shape.rank; i++)
        if (a->shape.length[i] > 1 && a->strides[i] != b->strides[i])
            return false;
    return true;
}

/* Which axis of a dense tensor each axis of t is, if t has the same axes in another order. */
static bool axes_of(const tensor *t, const tensor *dense, int64_t axes[RANK_MAX])
{
    bool taken[RANK_MAX] = {false};

    if (t->offset != dense->offset || t->shape.rank != dense->shape.rank)
        return false;
    for (int i = 0; i < t->shape.rank; i++) {
        int k = 0;

        while (k < t->shape.rank &&
               (taken[k] || t->shape.length[i] != dense->shape.length[k] ||
                (t->shape.length[i] > 1 && t->strides[i] != dense->strides[k])))
            k++;
        if (k == t->shape.rank)
            return false;
        taken[k] = true;
        axes[i] = k;
    }
    return true;
}

static const int64_t *keep_ints(const rewriter *r, const int64_t *ints, int n)
{
    int64_t *kept = arena_array(r->to->arena, (size_t)n + 1, sizeof *kept);

    memcpy(kept, ints, (size_t)n * sizeof *kept);
    return kept;
}

/* One view, of source, that arranges as t lies: a reshape or a transpose. */
static bool one_view(rewriter *r, value source, const tensor *t, value *result)
{
    const type to = {.dtype = t->dtype, .shape = t->shape};
    const tensor dense = dense_like(&to), from = dense_like(value_type(source));
    int64_t axes[RANK_MAX];
    attr a = {.kind = ATTR_INTS, .n = t->shape.rank};
    value outputs[OP_OUTPUTS] = {{0}};
    const op_def *op = NULL;
    error ignored = {0};

    if (shape_size(&from.shape) == shape_size(&t->shape) && lie_alike(t, &dense)) {
        op = op_find("reshape", 7);
        a.ints = t->shape.length;
    } else if (axes_of(t, &from, axes)) {
        op = op_find("transpose", 9);
        a.ints = axes;
    }
    if (op == NULL)
        return false;
    a.ints = keep_ints(r, a.ints, a.n); /* the node keeps them */
    if (!rewrite_apply(r, op, &source, 1, &a, outputs, &ignored))
        return false;
    *result = outputs[0];
    return true;
}

/* The value that the view and those before it come to; no node if they stay. */
static value shorter(rewriter *r, const node *n)
{
    const node *views[CHAIN];
    value result = {0};

    for (int count = 0; count < CHAIN && is_view(n); n = n->inputs[0].node) {
        const value source = n->inputs[0];
        const tensor from = dense_like(value_type(source));
        tensor t = from;
        bool ok = true;

        views[count++] = n;
        for (int i = count - 1; ok && i >= 0; i--)
            ok = arrange(views[i], &t, r->to->arena);
        if (ok && lie_alike(&t, &from))
            return source;
        if (ok && count == 2 && !one_view(r, source, &t, &result))
            result = (value){0};
        if (source.index != 0)
            break;
    }
    return result;
}

/* ---- Casts of casts ------------------------------------------------------------------ */

/* Whether every value of one type is a value of the other. */
static bool holds(dtype to, dtype from)
{
    return dtype_can_cast_safely(from, to) && !(dtype_size(from) == 8 && dtype_is_integer(from) &&
                                                to != from && !dtype_is_integer(to));
}

static bool is_whole(dtype t)
{
    return t == DT_BOOL || dtype_is_integer(t);
}

/* Whether a cast from one type to another by way of a third is the cast itself. */
static bool is_direct(dtype from, dtype by, dtype to)
{
    return holds(by, from) &&
           (to == from || holds(to, from) || (is_whole(from) && is_whole(by) && is_whole(to)) ||
            (dtype_is_float(from) && dtype_is_float(by) && dtype_is_float(to)) ||
            (dtype_is_complex(from) && dtype_is_complex(by) && dtype_is_complex(to)));
}

static value direct_cast(rewriter *r, const node *n)
{
    const op_def *astype = op_find("astype", 6);
    const node *inner = n->inputs[0].node;
    const attr to = {.kind = ATTR_DTYPE, .dtype = n->types[0].dtype};
    value outputs[OP_OUTPUTS] = {{0}};
    error ignored = {0};
    value source;

    if (n->op != astype || inner == NULL || inner->op != astype)
        return (value){0};
    source = inner->inputs[0];
    if (!is_direct(value_type(source)->dtype, inner->types[0].dtype, to.dtype))
        return (value){0};
    if (to.dtype == value_type(source)->dtype)
        return source;
    return rewrite_apply(r, astype, &source, 1, &to, outputs, &ignored) ? outputs[0] : (value){0};
}

/* ---- Both ------------------------------------------------------------------------------ */

void rewrite_shapes(rewriter *r, const node *n, value *outputs)
{
    value result;

    if (r->options->only_lower || n->input_count == 0 || n->output_count != 1 ||
        r->depth >= REPLACEMENT_DEPTH)
        return;
    r->depth++;
    result = n->op->view != NULL ? shorter(r, n) : direct_cast(r, n);
    r->depth--;
    if (result.node == NULL || !type_equal(value_type(result), &n->types[0]))
        return;
    rewrite_report(r, "simplify", NULL, outputs[0], result);
    outputs[0] = result;
}
