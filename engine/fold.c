/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/fold.h"

#include <string.h>

#include "engine/exec/exec.h"
#include "engine/exec/pool.h"

/* ---- Of any kind --------------------------------------------------------------------------- */

/* Copies the node into a graph of its own and runs that. */
static bool fold_by_plan(const node *n, tensor *outputs, error *err)
{
    static const stop_sign never = {0};
    arena *a = arena_new();
    graph *g = graph_new(a, NULL);
    graph_map *map = graph_map_new(n->graph, g);
    run_notes notes = {0};
    const plan *p = NULL;
    bool ok = true;

    for (int i = 0; ok && i < n->input_count; i++)
        if (graph_map_get(map, n->inputs[i]).node == NULL)
            ok = graph_map_copy(map, n->inputs[i].node, err);
    ok = ok && graph_map_copy(map, n, err);
    for (int i = 0; ok && i < n->output_count; i++)
        graph_add_output(g, graph_map_get(map, (value){(node *)n, i}));
    if (ok)
        p = plan_new(g, pool_threads(), a, err);
    ok = p != NULL && exec_run(p, NULL, NULL, &never, outputs, &notes, err);
    if (ok && notes.flags != 0) { /* let it happen when it runs, where it is reported */
        for (int i = 0; i < n->output_count; i++)
            tensor_unref(&outputs[i]);
        ok = false;
    }
    graph_release(g);
    arena_free(a);
    return ok;
}

/* ---- Elementwise, of single elements ----------------------------------------------------------
 */

enum { ELEMENT_BYTES = 16 };

/* A run of LANES elements, as kernels take them. */
typedef struct run {
    _Alignas(64) char bytes[LANES * ELEMENT_BYTES];
} run;

/* Whether a type's elements are computed as what they are. */
static bool is_plain(dtype t)
{
    return dtype_info_of(t)->computed == t;
}

/* Whether the node is an elementwise operation on scalars of plain types, computed in the type
 * `loop` with its inputs cast to `casts`. */
static bool is_of_elements(const node *n, dtype *loop, dtype casts[OP_INPUTS])
{
    type types[OP_INPUTS];
    const op_call call = {n->op, n->input_count, types, n->attrs, n->graph->arena};
    error ignored = {0};

    if (n->op->pattern == NULL || n->op->infer != NULL || n->types[0].shape.rank > 0 ||
        !is_plain(n->types[0].dtype))
        return false;
    for (int i = 0; i < n->input_count; i++) {
        types[i] = *value_type(n->inputs[i]);
        if (!is_plain(types[i].dtype))
            return false;
    }
    return op_loop(&call, loop, casts, &ignored) && is_plain(*loop);
}

/* The elements of a scalar's run: all of them its own, so that none is worse than it is. */
static void load(const tensor *t, dtype as, run *result)
{
    const size_t size = dtype_size(t->dtype);
    run own;
    const void *const in[] = {own.bytes};

    for (size_t i = 0; i < LANES; i++)
        memcpy(own.bytes + i * size, tensor_bytes(t), size);
    if (t->dtype == as)
        *result = own;
    else
        kernel_cast(t->dtype, as)(LANES, result->bytes, in);
}

/* Runs the one kernel that the plan of such a node would, on such a run as that would. */
static bool fold_element(const node *n, dtype loop, const dtype *casts, tensor *output, error *err)
{
    const bool exact = (n->op->traits & OP_REPORTS) != 0 && dtype_is_integer(loop);
    run runs[OP_INPUTS], result;
    const void *in[OP_INPUTS];

    for (int i = 0; i < n->input_count; i++) {
        load(value_constant(n->inputs[i]), casts[i], &runs[i]);
        in[i] = runs[i].bytes;
    }
    kernel_flags = 0;
    n->op->kernel[loop](exact ? 1 : LANES, result.bytes, in);
    if (kernel_flags != 0 || !tensor_new(output, NULL, n->types[0].dtype, &shape_scalar, err))
        return false;
    memcpy(tensor_bytes(output), result.bytes, dtype_size(output->dtype));
    return true;
}

bool fold_node(const node *n, tensor *outputs, error *err)
{
    dtype loop, casts[OP_INPUTS];

    return is_of_elements(n, &loop, casts) ? fold_element(n, loop, casts, outputs, err)
                                           : fold_by_plan(n, outputs, err);
}
