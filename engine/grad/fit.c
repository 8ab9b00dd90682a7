/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients made of the shape and type of what they are gradients of. */
#include <string.h>

#include "engine/grad/private.h"

bool fit_apply(graph *g, const char *name, const value *inputs, int count, const attr *attrs,
               value *result, error *err)
{
    const op_def *op = op_find(name, strlen(name));
    value outputs[OP_OUTPUTS];
    attr defaults[OP_PARAMS];

    for (int i = 0; attrs == NULL && i < op->attr_count; i++)
        defaults[i] = op_attr_param(op, i)->value;
    if (graph_apply(g, op, inputs, count, attrs != NULL ? attrs : defaults, outputs, err) == NULL)
        return false;
    *result = outputs[0];
    return true;
}

/* ---- Type ------------------------------------------------------------------------- */

bool fit_dtype(graph *g, value v, value t, value *result, error *err)
{
    const dtype to = value_type(v)->dtype;
    const attr type = {.kind = ATTR_DTYPE, .dtype = to};

    *result = t;
    if (dtype_is_complex(value_type(t)->dtype) && !dtype_is_complex(to) &&
        !fit_apply(g, "real", &t, 1, NULL, result, err))
        return false;
    return (value_type(*result)->dtype == to && !value_type(*result)->weak) ||
           fit_apply(g, "astype", result, 1, &type, result, err);
}

/* ---- Shape ------------------------------------------------------------------------- */

static bool sum_axes(graph *g, value *t, const int64_t *axes, int n, bool keepdims, error *err)
{
    int64_t *ints = arena_array(g->arena, (size_t)n + 1, sizeof *ints);
    const attr attrs[] = {{.kind = ATTR_INTS, .n = n, .ints = ints},
                          {.kind = ATTR_NONE},
                          {.kind = ATTR_BOOL, .truth = keepdims}};

    if (n == 0)
        return true;
    memcpy(ints, axes, (size_t)n * sizeof *ints);
    return fit_apply(g, "sum", t, 1, attrs, t, err);
}

/* Sums over axes that the input does not have, and over those that it has with length
 * 1 and t with more. */
static bool sum_stretched(graph *g, const shape *to, value *t, error *err)
{
    const int more = value_type(*t)->shape.rank - to->rank;
    int64_t axes[RANK_MAX];
    int n = 0;

    for (int i = 0; i < more; i++)
        axes[i] = i;
    if (more > 0 && !sum_axes(g, t, axes, more, false, err))
        return false;
    for (int i = more < 0 ? -more : 0; i < to->rank; i++) {
        const int axis = more < 0 ? i + more : i;

        if (to->length[i] == 1 && value_type(*t)->shape.length[axis] != 1)
            axes[n++] = axis;
    }
    return sum_axes(g, t, axes, n, true, err);
}

/* Whether an axis of the input, from the right, may have been stretched by another
 * input without anybody knowing before it runs. */
static bool may_stretch(const node *n, int input, int from_right)
{
    const shape *own = &value_type(n->inputs[input])->shape;

    if (own->length[own->rank - from_right] != LENGTH_UNKNOWN)
        return false;
    for (int i = 0; i < n->input_count; i++) {
        const shape *other = n->inputs[i].node == NULL ? NULL : &value_type(n->inputs[i])->shape;

        if (other != NULL && !value_equal(n->inputs[i], n->inputs[input]) &&
            other->rank >= from_right && other->length[other->rank - from_right] != 1)
            return true;
    }
    return false;
}

static bool any_may_stretch(const node *n, int input)
{
    for (int i = 1; i <= value_type(n->inputs[input])->shape.rank; i++)
        if (may_stretch(n, input, i))
            return true;
    return false;
}

/* Whether t, as far as is known, lacks elements that the input has. */
static bool is_short(const shape *t, const shape *to)
{
    for (int i = 0; t->rank == to->rank && i < to->rank; i++)
        if (t->length[i] == 1 && to->length[i] != 1)
            return true;
    return t->rank < to->rank;
}

static bool stretch(graph *g, value like, value *t, error *err)
{
    static const char *const names[] = {"t", "x"};
    const lang_value values[] = {lang_of_value(*t), lang_of_value(like)};

    return lang_function_build(g, "broadcast_to(t, x.shape)", names, values, 2, t, 1, err);
}

bool fit_input(graph *g, const node *n, int input, value t, value *result, error *err)
{
    const value like = n->inputs[input];
    const shape *to = &value_type(like)->shape;
    value both[2] = {t, like};

    if (!sum_stretched(g, to, &both[0], err))
        return false;
    if (is_short(&value_type(both[0])->shape, to)) {
        if (!stretch(g, like, &both[0], err))
            return false;
    } else if (any_may_stretch(n, input) && !fit_apply(g, "sum_to", both, 2, NULL, &both[0], err)) {
        return false;
    }
    return fit_dtype(g, like, both[0], result, err);
}
