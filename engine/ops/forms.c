/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on functions that the language makes of others when they are called: a map
 * is a scan, a gradient the nodes that compute it. No node is ever of such a row; it says
 * how a call is written, in programs and in graph JSON. */
#include "engine/ops/families.h"

static op_def rows[] = {
    {
        .name = "fori_loop",
        .family = "Control flow",
        .signature = "lower, upper, body_fn: graph, init: tensors",
        .traits = OP_FORM,
        .doc = "Value after v = body_fn(i, v) for every i from lower up to, not including, upper.",
        .example = "fori_loop(0, 4, lambda i, v: v + i, 10)",
        .gives = "16",
    },
    {
        .name = "map",
        .family = "Control flow",
        .signature = "f: graph, xs: tensors",
        .traits = OP_FORM,
        .doc = "The function's value for each element along axis 0, stacked.",
        .example = "map(lambda row: row.sum(), [[1, 2], [3, 4]])",
        .gives = "[3, 7]",
    },
    {
        .name = "case",
        .family = "Control flow",
        .signature = "preds: tensors, fns: graphs, default: graph",
        .traits = OP_FORM,
        .doc = "Result of the first function whose predicate is true, else of the default; in "
               "programs predicates and functions are pairs in a list.",
        .example = "case([(1 > 2, lambda: 1), (2 > 1, lambda: 2)], default=lambda: 3)",
        .gives = "2",
    },
    {
        .name = "group",
        .family = "Control flow",
        .signature = "inputs: tensors",
        .traits = OP_FORM,
        .doc = "All its inputs, as a tuple: to fetch them by one name.",
        .example = "group(1, [2.0, 3.0])",
        .gives = "(1, [2.0, 3.0])",
    },
    {
        .name = "grad",
        .family = "Derivatives",
        .signature = "f: graph, x: tensors",
        .traits = OP_FORM,
        .doc = "Gradient of a function that gives one real number, in the shape of x.",
        .example = "grad(lambda x: (x**2).sum(), [1.0, 2.0])",
        .gives = "[2.0, 4.0]",
    },
    {
        .name = "value_and_grad",
        .family = "Derivatives",
        .signature = "f: graph, x: tensors",
        .traits = OP_FORM,
        .doc = "The function's value and its gradient.",
        .example = "value_and_grad(lambda x: x**2, 3.0)",
        .gives = "(9.0, 6.0)",
    },
    {
        .name = "jacobian",
        .family = "Derivatives",
        .signature = "f: graph, x: tensors",
        .traits = OP_FORM,
        .doc = "Derivatives of every element of f(x) for every element of x.",
        .example = "jacobian(lambda x: x**2, [1.0, 2.0])",
        .gives = "[[2.0, 0.0], [0.0, 4.0]]",
    },
    {
        .name = "hessian",
        .family = "Derivatives",
        .signature = "f: graph, x: tensors",
        .traits = OP_FORM,
        .doc = "Second derivatives of a function that gives one real number.",
        .example = "hessian(lambda x: (x**3).sum(), [1.0, 2.0])",
        .gives = "[[6.0, 0.0], [0.0, 12.0]]",
    },
    {
        .name = "vjp",
        .family = "Derivatives",
        .signature = "f: graph, x: tensors, v: tensors",
        .traits = OP_FORM,
        .doc = "The vector v times the jacobian of f at x: the gradient of sum(v * f(x)).",
        .example = "vjp(lambda x: x**2, [1.0, 2.0], [1.0, 10.0])",
        .gives = "[2.0, 40.0]",
    },
    {
        .name = "jvp",
        .family = "Derivatives",
        .signature = "f: graph, x: tensors, v: tensors",
        .traits = OP_FORM,
        .doc = "The jacobian of f at x times the vector v: how f(x) changes as x moves along v.",
        .example = "jvp(lambda x: x**2, [1.0, 2.0], [1.0, 10.0])",
        .gives = "[2.0, 40.0]",
    },
    /* ---- Of graph JSON: what dataflow graphs make loops and choices of ---- */
    {
        .name = "switch",
        .family = "Dataflow",
        .signature = "data, pred",
        .outputs = 2,
        .traits = OP_FORM | OP_DATAFLOW,
        .doc =
            "In graph JSON: the data on output 1 if the predicate is true, else on output 0; what "
            "follows up to a merge becomes a branch of cond.",
        .example = "cond(True, lambda: 1, lambda: 2)",
        .gives = "1",
    },
    {
        .name = "merge",
        .family = "Dataflow",
        .signature = "inputs: tensors",
        .outputs = 2,
        .traits = OP_FORM | OP_DATAFLOW,
        .doc =
            "In graph JSON: whichever of two values is there, and which one it is; they come from "
            "both sides of a switch, or from enter and next_iteration.",
        .example = "cond(True, lambda: 1, lambda: 2)",
        .gives = "1",
    },
    {
        .name = "enter",
        .family = "Dataflow",
        .signature = "data, frame_name: text = loop, is_constant: bool = False",
        .traits = OP_FORM | OP_DATAFLOW,
        .doc = "In graph JSON: a value as it goes into the loop of this name, as a variable if it "
               "goes to a merge.",
        .example = "while_loop(lambda i: i < 3, lambda i: i + 1, 0)",
        .gives = "3",
    },
    {
        .name = "leave",
        .aliases = "exit",
        .family = "Dataflow",
        .signature = "data",
        .traits = OP_FORM | OP_DATAFLOW,
        .doc =
            "In graph JSON: a loop variable when the loop has ended, from output 0 of its switch.",
        .example = "while_loop(lambda i: i < 3, lambda i: i + 1, 0)",
        .gives = "3",
    },
    {
        .name = "next_iteration",
        .family = "Dataflow",
        .signature = "data",
        .traits = OP_FORM | OP_DATAFLOW,
        .doc = "In graph JSON: a loop variable for the next step, on its way back to the merge.",
        .example = "while_loop(lambda i: i < 3, lambda i: i + 1, 0)",
        .gives = "3",
    },
    {
        .name = "loop_cond",
        .family = "Dataflow",
        .signature = "pred",
        .traits = OP_FORM | OP_DATAFLOW,
        .doc = "In graph JSON: the predicate of a loop, the same value.",
        .example = "while_loop(lambda i: i < 3, lambda i: i + 1, 0)",
        .gives = "3",
    },
};

const op_family form_family = {rows, sizeof rows / sizeof *rows};
