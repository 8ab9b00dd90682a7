/* SPDX-License-Identifier: Apache-2.0 */
/* Times what tests/bench/run.py asks for, one line a question: "engine FORMULA" or "hand
 * FORMULA" (a row's name) is answered with milliseconds. Inputs are changed before each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/kernels/target.h"
#include "engine/kernels/vecmath.h"
#include "tests/lib/evaluate.h"

enum { N = 10000000, INPUTS = 4, AHEAD = 512 };

/* What a good programmer would write by hand: one loop, prefetching what comes. */
#define HAND(name, body)                                                                           \
    CPU_LEVELS static void hand_##name(double *restrict out, const double *a, const double *b,     \
                                       const double *c, const double *d)                           \
    {                                                                                              \
        (void)d;                                                                                   \
        for (int64_t i = 0; i < N; i += 64) {                                                      \
            for (int64_t k = i + AHEAD; k < i + AHEAD + 64; k += 8) {                              \
                __builtin_prefetch(a + k);                                                         \
                __builtin_prefetch(b + k);                                                         \
                __builtin_prefetch(c + k);                                                         \
                __builtin_prefetch(d + k);                                                         \
            }                                                                                      \
            for (int64_t k = i; k < i + 64; k++)                                                   \
                out[k] = body;                                                                     \
        }                                                                                          \
    }
HAND(chain, 2 * a[k] + 3 * b[k] * sin(c[k]) - exp(d[k]))
HAND(multiply_add, a[k] * b[k] + c[k])

typedef void hand_fn(double *, const double *, const double *, const double *, const double *);

static const struct {
    const char *name, *program;
    hand_fn *hand;
} formulas[] = {
    {"chain", "2*a + 3*b*sin(c) - exp(d)", hand_chain},
    {"multiply_add", "a*b + c", hand_multiply_add},
};

static evaluation_input inputs[INPUTS] = {
    {.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}};

static void make_inputs(void)
{
    const shape s = {.rank = 1, .length = {N}};
    error err = {0};

    for (int k = 0; k < INPUTS; k++) {
        double *x;

        if (!tensor_new(&inputs[k].value, NULL, DT_F64, &s, &err))
            exit(1);
        x = tensor_bytes(&inputs[k].value);
        for (int64_t i = 0; i < N; i++)
            x[i] = 0.1 + (double)((i * (k + 3)) % 1000) / 300;
    }
}

static void change_inputs(int turn)
{
    for (int k = 0; k < INPUTS; k++)
        ((double *)tensor_bytes(&inputs[k].value))[turn % N] += 1e-3;
}

static double time_engine(const char *program)
{
    const evaluation_options options = {.input_count = INPUTS, .inputs = inputs};
    evaluated e;
    double ms;

    evaluate(&e, program, &options);
    ms = (double)e.stats.run_us / 1000;
    if (error_is_set(&e.err))
        fprintf(stderr, "%s\n", e.err.detail);
    evaluated_clear(&e);
    return ms;
}

static double time_hand(hand_fn *hand)
{
    static tensor out;
    error err = {0};
    int64_t start;

    if (out.buf == NULL && !tensor_new(&out, NULL, DT_F64, &inputs[0].value.shape, &err))
        exit(1);
    start = clock_us();
    hand(tensor_bytes(&out), tensor_bytes(&inputs[0].value), tensor_bytes(&inputs[1].value),
         tensor_bytes(&inputs[2].value), tensor_bytes(&inputs[3].value));
    return (double)(clock_us() - start) / 1000;
}

int main(void)
{
    char who[16], what[32];
    int turn = 0;

    evaluate_init();
    make_inputs();
    while (scanf("%15s %31s", who, what) == 2) {
        change_inputs(turn++);
        for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
            if (strcmp(formulas[i].name, what) == 0)
                printf("%.3f\n", strcmp(who, "engine") == 0 ? time_engine(formulas[i].program)
                                                            : time_hand(formulas[i].hand));
        fflush(stdout);
    }
    return 0;
}
