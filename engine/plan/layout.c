/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/plan/private.h"

layout *layout_dense(arena *a, int slot, dtype t, const shape *s)
{
    layout *l = arena_alloc(a, sizeof *l);

    l->slot = slot;
    l->dtype = t;
    l->shape = *s;
    shape_strides(s, l->strides);
    return l;
}

/* A tensor without a buffer that lies as the layout says. */
static tensor tensor_of(const layout *l)
{
    tensor t = {.dtype = l->dtype, .offset = l->offset, .shape = l->shape};

    memcpy(t.strides, l->strides, sizeof t.strides);
    return t;
}

bool layout_is_dense(const layout *l)
{
    const tensor t = tensor_of(l);

    return tensor_is_contiguous(&t);
}

bool layout_has_dense_elements(const layout *l)
{
    layout element = *l;

    element.shape.length[0] = 1; /* its stride matters no more */
    return layout_is_dense(&element);
}

bool layout_is_matrix(const layout *l)
{
    const tensor t = tensor_of(l);
    int64_t width;
    bool turned;

    return tensor_matrix(&t, &turned, &width);
}

layout *layout_of_view(arena *a, const node *n, const layout *input)
{
    type *types = arena_array(a, (size_t)n->input_count, sizeof *types);
    const tensor from = tensor_of(input);
    tensor result = from;
    layout *l;

    for (int i = 0; i < n->input_count; i++)
        types[i] = *value_type(n->inputs[i]);
    const op_call call = {n->op, n->input_count, types, n->attrs, a};
    result.shape = n->types[0].shape;
    if (!n->op->view(&call, &from, &result))
        return NULL;
    l = arena_alloc(a, sizeof *l);
    l->slot = input->slot;
    l->dtype = input->dtype;
    l->shape = result.shape;
    l->offset = result.offset;
    memcpy(l->strides, result.strides, sizeof l->strides);
    return l;
}
