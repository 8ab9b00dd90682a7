/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow: operations with sub-graphs. What the graphs hold is a matter of the
 * modules above; here is only what a call of them takes and gives. */
#include "engine/ops/families.h"

/* Inputs: the predicate, then what the two branches take from outside. The types of
 * the branches' results come from the graph module, which set them in `branches`. */
static bool infer_cond(const op_call *call, type *output, error *err)
{
    (void)output;
    if (call->inputs[0].shape.rank != 0)
        return error_set(err, ERR_SHAPE, "%s: the predicate must be a scalar; use where to choose "
                         "element by element", call->op->name);
    return true;
}

static op_def rows[] = {
    {
        .name = "cond",
        .family = "Control flow",
        .signature = "pred, true_fn: graph, false_fn: graph, captured: tensors",
        .infer = infer_cond,
        .is_cond = true,
        .traits = OP_CONTROL,
        .doc = "Result of the first function if the predicate is true, else of the second; only "
               "that one is evaluated.",
        .example = "cond(2 > 1, lambda: 10, lambda: 20)",
        .gives = "10",
    },
};

const op_family control_family = {rows, sizeof rows / sizeof *rows};
