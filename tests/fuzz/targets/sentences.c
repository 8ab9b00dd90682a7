/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/targets/sentences.h"

#include <string.h>

enum { LINES_MAX = 40 };

/* @ is an earlier value, # a small integer, % an axis, & an element type, $ a shape. */
static const char *const operations[] = {
    "@ + @",
    "@ - @",
    "@ * @",
    "@ / @",
    "@ // @",
    "remainder(@, @)",
    "@ ** #",
    "matmul(@, @)",
    "-@",
    "abs(@)",
    "exp(@)",
    "log(@)",
    "log(exp(@) + 1)",
    "sqrt(@)",
    "sin(@)",
    "tanh(@)",
    "sigmoid(@)",
    "1 / (1 + exp(-@))",
    "softmax(@)",
    "log(softmax(@))",
    "maximum(@, @)",
    "minimum(@, #)",
    "where(@ > #, @, @)",
    "@ < @",
    "@ == @",
    "logical_not(@)",
    "@.sum()",
    "@.sum(axis=%)",
    "sum(@, axis=%, keepdims=True)",
    "@.mean(axis=%)",
    "@.max(axis=%)",
    "@.prod()",
    "argmax(@, axis=%)",
    "cumsum(@, axis=%)",
    "@.T",
    "@.reshape(-1)",
    "@.reshape($)",
    "broadcast_to(@, $)",
    "@[#]",
    "@[::-1]",
    "@[#:]",
    "@[..., None]",
    "@[:, ::2]",
    "@[@ > #]",
    "@[[0, #]]",
    "expand_dims(@, %)",
    "squeeze(@)",
    "concatenate([@, @], axis=%)",
    "stack([@, @], axis=%)",
    "@.astype('&')",
    "bitwise_and(@, @)",
    "@ << #",
    "zeros($, dtype='&')",
    "ones($)",
    "arange(#)",
    "eye(#)",
    "clip(@, #, None)",
    "nonzero(@)[0]",
    "flip(@, %)",
    "tensordot(@, @, 1)",
    "cond(@.sum() > #, lambda: @, lambda: @)",
    "scan(lambda c, e: (c + e, c * e), #, @.reshape(-1))",
    "fori_loop(0, #, lambda i, v: v + i, @)",
    "while_loop(lambda i, v: i < #, lambda i, v: (i + 1, v * 2), (0, @))[1]",
    "map(lambda e: e * #, @)",
    "grad(lambda z: (z * z).sum(), @)",
    "grad(lambda z: exp(z * #).sum(), @)",
    "round(@)",
    "real(@ * 1j)",
    "isnan(@)",
};

static const char *const types[] = {"bool",    "int8",     "int64",   "uint8",   "uint64",
                                    "float16", "bfloat16", "float32", "float64", "complex128"};
static const char *const small_shapes[] = {"(2, 3)", "(6,)", "(3, 2)", "()",        "(1, 1)",
                                           "(0, 3)", "(5,)", "(1,)",   "(2, 1, 3)", "(3,)"};
static const char *const large_shapes[] = {"(200, 300)",  "(60000,)", "(300, 200)", "()",
                                           "(1, 1)",      "(0, 3)",   "(5000,)",    "(100000,)",
                                           "(20, 1, 30)", "(300,)"};

/* The letters of an operation, filled in. */
static void add_operation(supply *s, bool large, unsigned lines, text *to)
{
    const char *const *shapes = large ? large_shapes : small_shapes;

    for (const char *p = operations[supply_below(s, sizeof operations / sizeof *operations)];
         *p != '\0'; p++) {
        if (*p == '@')
            text_addf(to, "v%u", supply_below(s, lines));
        else if (*p == '#')
            text_addf(to, "%d", (int)supply_below(s, 7) - 2);
        else if (*p == '%')
            text_addf(to, "%d", (int)supply_below(s, 4) - 1);
        else if (*p == '&')
            text_add(to, types[supply_below(s, sizeof types / sizeof *types)]);
        else if (*p == '$')
            text_add(to, shapes[supply_below(s, 10)]);
        else
            text_add_char(to, *p);
    }
}

void sentences_add(supply *s, bool large, text *program)
{
    unsigned lines = 3;

    text_add(program, large ? "v0 = ones((200, 300)) * 1.5\nv1 = arange(300)\nv2 = v0 < v1\n"
                            : "v0 = array([[1.5, -2.0, 0.25], [nan, inf, -0.0]])\n"
                              "v1 = array([3, -1, 0])\nv2 = v0 < v1\n");
    for (; lines < LINES_MAX && !supply_ended(s); lines++) {
        text_addf(program, "v%u = ", lines);
        add_operation(s, large, lines, program);
        text_add_char(program, '\n');
    }
    text_addf(program, "v%u, v%u\n", lines - 1, lines - 1 - supply_below(s, 3));
}
