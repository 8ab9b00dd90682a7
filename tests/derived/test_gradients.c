/* SPDX-License-Identifier: Apache-2.0 */
/* Every gradient that a row has, compared with finite differences: first and second order,
 * in float64, over random inputs.
 *
 * A case is an expression of inputs a, b, c. Its elements, each times a weight of its own,
 * make one number, whose gradient for every element of every input is compared with the
 * central difference. The gradient's elements, weighed again, are the function whose
 * gradient is the second order. Complex numbers come in as a + 1j * b.
 *
 * Elementwise operations and reductions need no cases here: theirs follow from the row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/evaluate.h"

enum { INPUTS = 3, PROGRAM = 4096, ELEMENTS = 64 };
static const double STEP = 1e-5, TOLERANCE = 1e-6;

typedef struct gradient_case {
    const char *row;
    const char *expression;
    const char *shapes; /* "2,3|3|": of a, b, c; "=0 1.5" gives a vector's elements */
    bool once;          /* the gradient jumps here: first order only */
} gradient_case;

static const gradient_case cases[] = {
    {"cumsum", "cumsum(a)", "2,3", 0},
    {"cumsum", "cumsum(a)", "", 0},
    {"cumsum", "cumsum(a, axis=0)", "2,3", 0},
    {"cumsum", "cumsum(a, axis=-1)", "2,3", 0},
    {"cumsum", "cumsum(a, axis=0)", "", 0},
    {"cumsum", "cumsum(a)", "0,3", 0},
    {"sum_to", "sum_to(a, zeros((1, 3)))", "2,3", 0},
    {"sum_to", "sum_to(a, 0.0)", "2,3", 0},
    {"sum_to", "sum_to(a, zeros((3, 1)))", "2,3,2", 0},
    {"sum", "sum(a * b, axis=0)", "2,3|3", 0},
    {"mean", "mean(a * b)", "0,3|3", 0},
    {"prod", "prod(a)", "=0 0.5 2", 0},
    {"prod", "prod(a)", "=0 0 2", 0},
    {"prod", "prod(reshape(a, (2, 3)), axis=1)", "=0 0.5 2 1 3 4", 0},
    {"max", "max(a)", "=1 2 2", 1},
    {"min", "min(a)", "=1 2 1", 1},
    {"maximum", "maximum(a, b)", "=1 2|=1 3", 1},
    {"minimum", "minimum(a, b)", "=1 2|=1 3", 1},
    {"power", "a ** 2", "=-1.5 0 2", 0},
    {"power", "a ** 3", "=-1.5 0 2", 0},
    {"power", "a ** b", "=0 0|=2 3", 1},
    {"power", "a ** 0", "=0 2", 0},
    {"hypot", "hypot(a, b)", "=0|=0", 1},
    {"reshape", "reshape(a, (3, -1))", "2,3", 0},
    {"reshape", "reshape(a, (0, 5))", "0,3", 0},
    {"reshape", "reshape(a, ())", "1,1", 0},
    {"ravel", "ravel(a)", "2,3", 0},
    {"transpose", "transpose(a)", "2,3", 0},
    {"transpose", "transpose(a, (2, 0, -2))", "2,3,2", 0},
    {"untranspose", "untranspose(a, (2, 0, 1))", "2,3,2", 0},
    {"swapaxes", "swapaxes(a, 0, -1)", "2,3,2", 0},
    {"expand_dims", "expand_dims(a, 0)", "2,3", 0},
    {"expand_dims", "expand_dims(a, (0, -1))", "2,3", 0},
    {"squeeze", "squeeze(a)", "1,3,1", 0},
    {"squeeze", "squeeze(a, axis=0)", "1,3,1", 0},
    {"squeeze", "squeeze(a, axis=(0, -1))", "1,3,1", 0},
    {"broadcast_to", "broadcast_to(a, (2, 3))", "3", 0},
    {"broadcast_to", "broadcast_to(a, (4, 2, 3))", "2,1", 0},
    {"broadcast_to", "broadcast_to(a, (2, 3))", "", 0},
    {"broadcast_to", "broadcast_to(a, (0, 3))", "1,3", 0},
    {"spread", "spread(a, zeros((2, 3)), axis=0)", "3", 0},
    {"spread", "spread(a, zeros((2, 3)), axis=1, keepdims=True)", "2,1", 0},
    {"flip", "flip(a)", "2,3", 0},
    {"flip", "flip(a, axis=(0, 2))", "2,3,2", 0},
    {"getitem", "a[1]", "2,3", 0},
    {"getitem", "a[:, ::2]", "2,3", 0},
    {"getitem", "a[..., None, 1:]", "2,3", 0},
    {"getitem", "a[::-1, 1]", "2,3", 0},
    {"getitem", "a[:0]", "2,3", 0},
    {"getitem", "a[...]", "", 0},
    {"getitem", "a[[0, 0, 1]]", "2,3", 0},
    {"getitem", "a[:, [2, 2, -3]]", "2,3", 0},
    {"getitem", "a[[0, 0, 1], [1, 1, 1]]", "2,3", 0},
    {"getitem", "a[array([True, False, True])]", "3", 0},
    {"getitem", "a[a > 1]", "2,3", 0},
    {"getitem", "exp(a[a > 1]) * b", "2,3|", 0},
    {"getitem", "a[a > 1] * b[a > 1]", "2,3|2,3", 0},
    {"getitem", "a[a > 1] * b[b > 0]", "=0.5 2 0.3|=1 2 3", 0},
    {"getitem", "a[a > 9]", "2,3", 0},
    {"setitem", "setitem(a, (b,), key='1')", "2,3|3", 0},
    {"setitem", "setitem(a, (b,), key='0, 1:')", "2,3|", 0},
    {"setitem", "setitem(a, (b,), key='0')", "2,3|1,3", 0},
    {"setitem", "setitem(a, ([0, 2, 0], b), key='$1')", "3|3", 0},
    {"setitem", "setitem(a, ([0, 0], b), key='$1')", "2,3|2,3", 0},
    {"setitem", "setitem(a, (a > 1, b), key='$1')", "2,3|", 0},
    {"index_add", "index_add(a, (b,), key='1')", "2,3|3", 0},
    {"index_add", "index_add(a, ([0, 2, 0], b), key='$1')", "3|3", 0},
    {"index_add", "index_add(a, ([0, 0], b), key='$1')", "2,3|", 0},
    {"concatenate", "concatenate([a, b])", "2,3|1,3", 0},
    {"concatenate", "concatenate([a, b, a], axis=-1)", "2,3|2,1", 0},
    {"concatenate", "concatenate([a, ones((0, 3)), b])", "2,3|0,3", 0},
    {"concatenate", "concatenate([a[a > 1], a])", "4", 0},
    {"stack", "stack([a, b, a], axis=1)", "2,3|2,3", 0},
    {"stack", "stack([a, b])", "|", 0},
    {"constant", "constant(a, shape=(2, 3))", "6", 0},
    {"constant", "constant(a, shape=(2, 3))", "", 0},
    {"constant", "constant(a, shape=(2, 3), verify_shape=True)", "2,3", 0},
    {"ensure_shape", "ensure_shape(a, (2, -1))", "2,3", 0},
    {"matmul", "a @ b", "3|3", 0},
    {"matmul", "a @ b", "2,3|3", 0},
    {"matmul", "a @ b", "3|3,2", 0},
    {"matmul", "a @ b", "2,3|3,2", 0},
    {"matmul", "a @ a", "2,2", 0},
    {"matmul", "a @ b", "2,2,3|3,2", 0},
    {"matmul", "a @ b", "2,3|2,3,2", 0},
    {"matmul", "a @ b", "2,1,2,3|2,3,2", 0},
    {"matmul", "a @ b", "3|2,3,2", 0},
    {"matmul", "a @ b", "2,2,3|3", 0},
    {"matmul", "a @ b", "0,3|3,2", 0},
    {"matmul", "a @ b", "2,0|0,2", 0},
    {"matmul", "real((a + 1j * b) @ (b - 2j * a) * (1 - 3j))", "2,2|2,2", 0},
    {"tensordot", "tensordot(a, b)", "2,3|2,3", 0},
    {"tensordot", "tensordot(a, b, 0)", "2|3", 0},
    {"tensordot", "tensordot(a, b, 1)", "2,3|3,2", 0},
    {"tensordot", "tensordot(a, b, ([0, 1], [1, 0]))", "2,3,2|3,2", 0},
    {"tensordot", "tensordot(a, b, ([1, 2], [0, 2]))", "2,3,2|3,2,2", 0},
    {"tensordot", "real(tensordot(a + 1j * b, b - 2j * a, 1) * (1 - 3j))", "2,2|2,2", 0},
    {"tensordot_x", "tensordot_x(a, b, 1)", "2,4|3,4", 0},
    {"tensordot_x", "tensordot_x(a, b, ([0, 1], [1, 0]))", "2|3,2", 0},
    {"tensordot_x", "real(tensordot_x(a + 1j * b, b - 2j * a, 1) * (1 - 3j))", "2,2|2,2", 0},
    {"tensordot_y", "tensordot_y(a, b, 1)", "2,3|2,4", 0},
    {"tensordot_y", "real(tensordot_y(a + 1j * b, b - 2j * a, 1) * (1 - 3j))", "2,2|2,2", 0},
    {"astype", "astype(a, float64) * 2", "2,3", 0},
    {"astype", "real(astype(a * a, complex128) * (1 + 2j))", "2,3", 0},
    {"astype", "real(astype(a * a, complex128) ** (1 + 2j))", "3", 0},
    {"random_uniform", "random_uniform((3,), a, b, seed=1)", "|", 0},
    {"random_normal", "random_normal((2, 2), a, b, seed=2)", "|", 0},
    {"truncated_normal", "truncated_normal((3,), a, b, seed=3)", "3|", 0},
    {"scan", "fori_loop(0, 4, lambda i, v: v * a + b, 1.0)", "|", 0},
    {"scan", "scan(lambda c, x: (c * x + b, sin(c) * x), b, a)[1]", "4|", 0},
    {"scan", "scan(lambda c, x: (c * x + b, sin(c) * x), b, a)[0]", "4|", 0},
    {"scan", "scan(lambda c, x: (c @ x, c), eye(2), a)[0] @ b", "3,2,2|2", 0},
    {"scan", "scan(lambda c, x: ((c[0] * x[0], c[1] + x[1]), c[0] - c[1]), (b, b), (a, a * a))[1]",
     "3|", 0},
    {"scan", "scan(lambda c, x: (c + 1, a * c), 0, zeros(3))[1]", "2", 0},
    {"scan", "scan(lambda c, x: (c * b, c), a, None, length=3)[1]", "2|2", 0},
    {"scan", "map(lambda x: x ** 3 * b, a)", "2,3|3", 0},
    {"scan", "fori_loop(0, 3, lambda i, v: fori_loop(0, 2, lambda k, w: w * sin(a), v), b)", "2|2",
     0},
    {"while_loop", "while_loop(lambda v: v.sum() < 50.0, lambda v: v * a + 1.0, b)", "=2 3|=1 2",
     0},
    {"while_loop", "while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * v * b), (0, a))[1]",
     "2|2", 0},
    {"while_loop", "while_loop(lambda v: False, lambda v: v * a, b)", "2|2", 0},
    {"cond", "cond(sum(a) > 1, lambda: a * a * b, lambda: sin(a))", "2,3|", 0},
    {"cond", "cond(sum(a) > 100, lambda: a * a * b, lambda: sin(a))", "2,3|", 0},
    {"cond", "cond(sum(a) > 1, lambda: 2.0, lambda: b)", "3|", 0},
    {"cond", "cond(sum(a) > 1, lambda: cond(b > 9, lambda: a, lambda: b * exp(a)), lambda: a)",
     "3|", 0},
    {"cond", "cond(a > 0, lambda: (a, b, a * b), lambda: (b, a, b))[2] ** 2", "|", 0},
    {"zeros_like", "zeros_like(a)", "2,3", 0},
    {"ones_like", "ones_like(a) * a", "2,3", 0},
    {"full", "full((2, 3), a)", "", 0},
    {"full_like", "full_like(a, b)", "2,3|", 0},
    {"divmod", "divmod(a, b)[1]", "2,3|3", 0},
    {"divmod", "divmod(a, b)[0] * a", "2,3|3", 0},
    {"clip", "clip(a, 0.8, 1.2)", "2,3", 0},
    {"clip", "clip(a, b, None)", "2,3|", 0},
    {"clip", "clip(a, max=b) * b", "2,3|3", 0},
    {"dot", "dot(a, b)", "3|3", 0},
    {"dot", "dot(a, b)", "|2,3", 0},
    {"dot", "dot(a, b)", "2,3|3,2", 0},
    {"dot", "dot(a, b)", "2,2,3|2,3,2", 0},
    {"dot", "dot(a, a)", "2,2", 0},
    {"var", "var(a, axis=0, ddof=1)", "2,3", 0},
    {"var", "var(a)", "=1 2 3", 0},
    {"var", "var(a + 1j * b)", "3|3", 0},
    {"std", "std(a, axis=1, keepdims=True)", "2,3", 0},
    {"softmax", "softmax(a)", "2,3", 0},
    {"softmax", "softmax(a, axis=0)", "2,3", 0},
    {"softmax", "log(softmax(a, axis=(0, 1)))", "2,3", 0},
    {"log_softmax", "log_softmax(a)", "2,3", 0},
    {"log_softmax", "log_softmax(a, axis=(0, 1))", "2,3", 0},
    {"logsumexp", "logsumexp(a)", "2,3", 0},
    {"logsumexp", "logsumexp(a, axis=0)", "2,3", 0},
    {"logsumexp", "logsumexp(a, axis=-1, keepdims=True)", "2,3", 0},
};
enum { CASES = sizeof cases / sizeof *cases };

static const char *const unary_shapes[] = {"", "2,3", "0,3"};
static const char *const binary_shapes[] = {"|",       "2,3|2,3", "2,3|3",  "3|2,3",
                                            "2,1|1,3", "|2,3",    "0,3|1,3"};

/* ---- Inputs --------------------------------------------------------------------------- */

/* Numbers from 0.4 to 1.6, the same for the same seed, none near another. */
static double number(int seed, int64_t i)
{
    const double x = sin(12.9898 * (double)(i + 1) + 78.233 * (seed + 1)) * 43758.5453;

    return 0.4 + 1.2 * (x - floor(x));
}

static tensor vector_of(const char *elements)
{
    shape s = {.rank = 1};
    double values[16];
    error err = {0};
    tensor t;
    char *end;

    for (const char *at = elements;; at = end) {
        values[s.length[0]] = strtod(at, &end);
        if (end == at)
            break;
        s.length[0]++;
    }
    assert_true(tensor_new(&t, NULL, DT_F64, &s, &err));
    memcpy(tensor_bytes(&t), values, (size_t)s.length[0] * sizeof *values);
    return t;
}

static tensor random_of(const char *lengths, size_t n, int seed)
{
    shape s = {0};
    error err = {0};
    tensor t;

    for (const char *at = lengths; at < lengths + n; at += strcspn(at, ",|") + 1)
        s.length[s.rank++] = strtol(at, NULL, 10);
    assert_true(tensor_new(&t, NULL, DT_F64, &s, &err));
    for (int64_t i = 0; i < tensor_size(&t); i++)
        ((double *)tensor_bytes(&t))[i] = number(seed, i);
    return t;
}

typedef struct inputs {
    int count;
    evaluation_input list[INPUTS];
} inputs;

static inputs make_inputs(const char *shapes)
{
    static const char *const names[] = {"a", "b", "c"};
    inputs in = {0};

    for (const char *at = shapes;; at++) {
        const size_t n = strcspn(at, "|");

        in.list[in.count].name = names[in.count];
        in.list[in.count].value = *at == '=' ? vector_of(at + 1) : random_of(at, n, in.count);
        in.count++;
        at += n;
        if (*at == '\0')
            return in;
    }
}

static void clear_inputs(inputs *in)
{
    for (int i = 0; i < in->count; i++)
        tensor_unref(&in->list[i].value);
}

/* ---- Comparing -------------------------------------------------------------------------- */

typedef struct trial {
    const char *expression, *shapes;
    inputs in;
    evaluated value;
    int compared; /* orders */
    bool nonzero; /* some gradient was not zero */
} trial;

/* The number that the graph of `value` gives for the inputs as they are. */
static double run(trial *t)
{
    const evaluation_options options = {.input_count = t->in.count, .inputs = t->in.list};

    evaluate_graph(&t->value, t->value.graph, &options);
    if (t->value.count != 1)
        fail_msg("%s: %s", t->expression, t->value.err.detail);
    return *(const double *)tensor_bytes(&t->value.results[0]);
}

static double difference(trial *t, double *x)
{
    const double before = *x;
    double up, down;

    *x = before + STEP;
    up = run(t);
    *x = before - STEP;
    down = run(t);
    *x = before;
    return (up - down) / (2 * STEP);
}

static void compare(trial *t, const evaluated *gradients, int order)
{
    for (int i = 0; i < t->in.count; i++) {
        const tensor *x = &t->in.list[i].value, *g = &gradients->results[i];
        double elements[ELEMENTS];

        if (g->dtype != DT_F64 || !shape_equal(&g->shape, &x->shape))
            fail_msg("%s (%s), order %d: the gradient for %s has another type", t->expression,
                     t->shapes, order, t->in.list[i].name);
        assert_true(tensor_size(g) <= ELEMENTS);
        tensor_copy_dense(g, elements);
        for (int64_t k = 0; k < tensor_size(x); k++) {
            const double wanted = difference(t, (double *)tensor_bytes(x) + k);
            const double got = elements[k];

            t->nonzero = t->nonzero || got != 0;
            if (!(fabs(got - wanted) <= TOLERANCE * fmax(1, fabs(wanted))))
                fail_msg("%s (%s), order %d: the gradient for %s at %d is %.12g, differences give "
                         "%.12g",
                         t->expression, t->shapes, order, t->in.list[i].name, (int)k, got, wanted);
        }
    }
}

/* The program that defines f1, the weighed expression, and f2, its weighed gradient, and
 * ends with one of them at the inputs, or with its gradients. */
static const char *program_of(const trial *t, int order, bool gradient)
{
    static const char *const lists[] = {"a", "a, b", "a, b, c"};
    static const char *const parts[] = {"p", "p, q", "p, q, s"};
    static const char *const sums[] = {"weigh(p)", "weigh(p) + weigh(q)",
                                       "weigh(p) + weigh(q) + weigh(s)"};
    static char program[PROGRAM];
    const int n = t->in.count - 1;
    int at;

    at = snprintf(program, sizeof program,
                  "def weigh(y): return sum(y * cos(arange(y.size) + 0.5).reshape(y.shape))\n"
                  "def f1(%s): return weigh(%s)\n"
                  "def f2(%s):\n"
                  "    %s, = grad(f1, (%s,))\n"
                  "    return %s\n",
                  lists[n], t->expression, lists[n], parts[n], lists[n], sums[n]);
    snprintf(program + at, sizeof program - (size_t)at,
             gradient ? "grad(f%d, (%s,))\n" : "f%d(%s)\n", order, lists[n]);
    return program;
}

/* Compares at one order; nothing is compared where the function has no number, such as
 * the logarithm of -1. */
static void try_order(trial *t, int order)
{
    const evaluation_options options = {.input_count = t->in.count, .inputs = t->in.list};
    evaluated gradients;

    evaluate(&t->value, program_of(t, order, false), &options);
    if (t->value.count != 1)
        fail_msg("%s (%s), order %d: %s", t->expression, t->shapes, order, t->value.err.detail);
    if (isfinite(*(const double *)tensor_bytes(&t->value.results[0]))) {
        evaluate(&gradients, program_of(t, order, true), &options);
        if (gradients.count != t->in.count)
            fail_msg("%s (%s), order %d: %s", t->expression, t->shapes, order,
                     gradients.err.detail);
        compare(t, &gradients, order);
        evaluated_clear(&gradients);
        t->compared++;
    }
    evaluated_clear(&t->value);
}

/* ---- Rows ------------------------------------------------------------------------------- */

/* What was tried of a row. */
typedef struct tally {
    const op_def *op;
    int compared;
    bool nonzero;
} tally;

static void try_case(tally *row, const char *expression, const char *shapes, bool once)
{
    trial t = {.expression = expression, .shapes = shapes, .in = make_inputs(shapes)};

    try_order(&t, 1);
    if (!once)
        try_order(&t, 2);
    row->compared += t.compared;
    row->nonzero = row->nonzero || t.nonzero;
    clear_inputs(&t.in);
}

/* Formats a call of the row and tries it. */
static void try_call(tally *row, const char *form, const char *shapes)
{
    char expression[256];

    snprintf(expression, sizeof expression, form, row->op->name);
    try_case(row, expression, shapes, false);
}

static void try_elementwise(tally *row)
{
    const op_def *op = row->op;
    const bool chooses = op->pattern[0] == 'B', binary = op->input_count > 1;
    const size_t n = binary ? sizeof binary_shapes / sizeof *binary_shapes
                            : sizeof unary_shapes / sizeof *unary_shapes;

    for (size_t i = 0; i < n; i++) {
        const char *shapes = binary ? binary_shapes[i] : unary_shapes[i];

        try_call(row, chooses ? "%s(b > 1, a, b)" : binary ? "%s(a, b)" : "%s(a)", shapes);
        try_call(row,
                 chooses  ? "%s(a > b, a, b * b)"
                 : binary ? "%s(a - 1, b)"
                          : "%s(a - 1)",
                 shapes);
    }
    if (op->kernel[DT_C128] == NULL)
        return;
    for (size_t i = 0; i < sizeof binary_shapes / sizeof *binary_shapes; i++)
        try_call(row,
                 chooses  ? "real(%s(b > 1, a + 1j * b, b - 2j * a) * (1 - 3j))"
                 : binary ? "real(%s(a + 1j * b, b - 2j * a) * (1 - 3j))"
                          : "real(%s(a - 1 + 1j * b) * (1 - 3j))",
                 binary_shapes[i]);
}

/* Whether the row reduces along axes of x. */
static bool reduces(const op_def *op)
{
    const op_param *axis = op_param_find(op, "axis", 4);

    return strcmp(op->family, "Reductions") == 0 && axis != NULL && axis->kind == PARAM_AXES;
}

static void try_reduction(tally *row)
{
    try_call(row, "%s(a)", "2,3");
    try_call(row, "%s(a, keepdims=True)", "2,3");
    try_call(row, "%s(a, axis=0)", "2,3");
    try_call(row, "%s(a, axis=-1, keepdims=True)", "2,3,2");
    try_call(row, "%s(a, axis=(0, 2))", "2,3,2");
    try_call(row, "%s(a, axis=(2, 0), keepdims=True)", "2,3,2");
    try_call(row, "%s(a, axis=1)", "0,3");
    try_call(row, "%s(a * b)", "2,3|3");
    if (strcmp(row->op->name, "var") != 0 && strcmp(row->op->name, "std") != 0)
        try_call(row, "%s(a)", "");
}

static bool has_gradient(const op_def *op)
{
    return !op->no_grad && op->input_count != 0 && (op->traits & OP_FORM) == 0;
}

static void every_gradient_agrees_with_differences(void **state)
{
    int compared = 0, tried = 0;
    size_t count;

    (void)state;
    evaluate_init();
    const op_def *const *all = ops_all(&count);
    for (size_t i = 0; i < count; i++) {
        tally row = {.op = all[i]};

        if (!has_gradient(row.op))
            continue;
        if (row.op->pattern != NULL && row.op->infer == NULL)
            try_elementwise(&row);
        else if (reduces(row.op))
            try_reduction(&row);
        for (int k = 0; k < CASES; k++)
            if (strcmp(cases[k].row, row.op->name) == 0)
                try_case(&row, cases[k].expression, cases[k].shapes, cases[k].once);
        if (row.compared == 0)
            fail_msg("%s has a gradient, but no case tries it", row.op->name);
        if (!row.nonzero && row.op->lower == NULL)
            fail_msg("%s: every gradient is zero; should the row say no_grad?", row.op->name);
        compared += row.compared;
        tried++;
    }
    print_message("note: %d functions of %d rows compared\n", compared, tried);
}

/* What says that it has no gradient is flat: differences are zero, or the result is no
 * number that could have one. Only stop_gradient says so in spite of what it is. */
static void rows_without_gradient_are_flat(void **state)
{
    size_t count;

    (void)state;
    evaluate_init();
    const op_def *const *all = ops_all(&count);
    for (size_t i = 0; i < count; i++) {
        tally row = {.op = all[i]};
        const type real[] = {{.dtype = DT_F64}, {.dtype = DT_F64}};
        const op_call call = {.op = row.op, .count = row.op->input_count, .inputs = real};
        error ignored = {0};
        type result;

        if (has_gradient(row.op) || row.op->pattern == NULL ||
            strcmp(row.op->name, "stop_gradient") == 0 || !op_infer(&call, &result, &ignored) ||
            !dtype_is_float(result.dtype))
            continue;
        try_elementwise(&row);
        assert_false(row.nonzero);
    }
}

/* Wherever the elements of a row's result are numbers with fractions, the row has a
 * gradient or is one of those that are flat. */
static void every_row_without_gradient_is_of_a_kind_that_has_none(void **state)
{
    size_t count;

    (void)state;
    evaluate_init();
    const op_def *const *all = ops_all(&count);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; all[i]->no_grad && k < OP_INPUTS; k++)
            if (all[i]->grad[k] != NULL || all[i]->lower != NULL || op_takes_functions(all[i]))
                fail_msg("%s says that it has no gradient, and has one", all[i]->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gradient_agrees_with_differences),
        cmocka_unit_test(rows_without_gradient_are_flat),
        cmocka_unit_test(every_row_without_gradient_is_of_a_kind_that_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
