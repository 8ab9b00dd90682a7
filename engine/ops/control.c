/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow: operations with sub-graphs. What the graphs hold is a matter of the
 * modules above; here is only what a call of them takes and gives. */
#include "engine/ops/families.h"

/* Inputs: the predicate, then what the two branches take from outside. The types of
 * the results come from the graph module, which knows the branches. */
static bool infer_cond(const op_call *call, type *output, error *err)
{
    (void)output;
    if (call->inputs[0].shape.rank != 0)
        return error_set(err, ERR_SHAPE,
                         "%s: the predicate must be a scalar; use where to choose "
                         "element by element",
                         call->op->name);
    return true;
}

static bool infer_while(const op_call *call, type *output, error *err)
{
    (void)output;
    if (call->attrs[2].kind == ATTR_INT && call->attrs[2].integer < 0)
        return error_set(err, ERR_VALUE, "%s: the limit cannot be negative", call->op->name);
    return true;
}

/* Operands: `carries` values that are carried, then what is walked along, whose first
 * axes have one length. */
static bool infer_scan(const op_call *call, type *output, error *err)
{
    const attr *carries = &call->attrs[1], *length = &call->attrs[2];

    (void)output;
    if (carries->integer < 0 || carries->integer > call->count)
        return error_set(err, ERR_ARGUMENT, "%s: %d values cannot be carried of %d operands",
                         call->op->name, (int)carries->integer, call->count);
    if (length->kind == ATTR_INT && length->integer < 0)
        return error_set(err, ERR_VALUE, "%s: the length cannot be negative", call->op->name);
    return true;
}

static op_def rows[] = {
    {
        .name = "cond",
        .family = "Control flow",
        .signature = "pred, true_fn: graph, false_fn: graph, captured: tensors",
        .infer = infer_cond,
        .control = CONTROL_COND,
        .traits = OP_CONTROL,
        .doc = "Result of the first function if the predicate is true, else of the second; only "
               "that one is evaluated.",
        .example = "cond(2 > 1, lambda: 10, lambda: 20)",
        .gives = "10",
    },
    {
        .name = "while_loop",
        .family = "Control flow",
        .signature = "cond_fn: graph, body_fn: graph, operands: tensors, limit: int = None, "
                     "shape_invariants: shapes = None",
        .infer = infer_while,
        .control = CONTROL_WHILE,
        .traits = OP_CONTROL,
        .doc = "Loop variables after the body was applied as often as the condition holds.",
        .example = "while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2), (0, 1))",
        .gives = "(5, 32)",
    },
    {
        .name = "scan",
        .family = "Control flow",
        .signature = "f: graph, operands: tensors, carries: int = 1, length: int = None",
        .infer = infer_scan,
        .control = CONTROL_SCAN,
        .traits = OP_CONTROL,
        .doc = "Carried values after f was applied along axis 0, and what it gave on the way, "
               "stacked.",
        .example = "scan(lambda c, x: (c + x, c * x), 1, [1, 2, 3])",
        .gives = "(7, [1, 4, 12])",
    },
};

const op_family control_family = {rows, sizeof rows / sizeof *rows};
