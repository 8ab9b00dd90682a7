/* SPDX-License-Identifier: Apache-2.0 */
/* Times the rows of rows.def, as tests/bench/run.py asks. First it prints the rows, one a
 * line. Then each question "engine ROW" or "hand ROW" is answered with milliseconds;
 * inputs are changed before each; ROW@SIZE has vectors of another size. "check ROW" is answered
 * with the greatest difference of the two results. TENSORD_THREADS says how many threads both have.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "tests/bench/hand.h"
#include "tests/lib/evaluate.h"

#define SHAPE(...)                                                                                 \
    {                                                                                              \
        .rank = SHAPE_RANK(__VA_ARGS__, 3, 2, 1), .length = { __VA_ARGS__ }                        \
    }
#define SHAPE_RANK(a, b, c, rank, ...) rank

static const struct bench_row {
    const char *name, *target;
    dtype dtype;
    double work;
    const char *program;
    shape inputs[HAND_INPUTS]; /* of rank 0: there is none */
} rows[] = {
#define ROW(name, target, dtype, work, program, ...)                                               \
    {#name, #target, DT_##dtype, work, program, {__VA_ARGS__}},
#include "tests/bench/rows.def"
#undef ROW
};

/* The tensors of one row; made when it is asked for. */
static struct {
    const struct bench_row *row;
    evaluation_input inputs[HAND_INPUTS];
    int count, turn;
    int64_t size;  /* of its vectors; 0: the row's */
    tensor result; /* where the loop by hand writes */
} now;

static void fail(const char *why)
{
    fprintf(stderr, "bench: %s\n", why);
    exit(1);
}

static void put(const tensor *t, int64_t i, double x)
{
    if (t->dtype == DT_F64)
        ((double *)tensor_bytes(t))[i] = x;
    else
        ((float *)tensor_bytes(t))[i] = (float)x;
}

static tensor make_input(dtype type, const shape *s, int k)
{
    tensor t;
    error err = {0};

    if (!tensor_new(&t, NULL, type, s, &err))
        fail(err.detail);
    for (int64_t i = 0; i < shape_size(s); i++)
        put(&t, i, 0.1 + (double)((i * (k + 3)) % 1000) / 300);
    return t;
}

static void leave_row(void)
{
    for (int k = 0; k < now.count; k++)
        tensor_unref(&now.inputs[k].value);
    tensor_unref(&now.result);
    now.count = 0;
    now.result = (tensor){0};
}

/* Begins a row anew. */
static void enter_row(const struct bench_row *row)
{
    static const char *const names[HAND_INPUTS] = {"a", "b", "c", "d"};

    leave_row();
    now.row = row;
    for (; now.count < HAND_INPUTS && row->inputs[now.count].rank > 0; now.count++) {
        shape s = row->inputs[now.count];

        s.length[0] = now.size > 0 ? now.size : s.length[0];
        now.inputs[now.count] =
            (evaluation_input){names[now.count], make_input(row->dtype, &s, now.count)};
    }
}

/* Another element of each input is changed each time. */
static void change_inputs(void)
{
    now.turn++;
    for (int k = 0; k < now.count; k++) {
        const tensor *t = &now.inputs[k].value;

        put(t, now.turn * 4099 % shape_size(&t->shape), 1 + 1e-3 * (now.turn % 100));
    }
}

static double run_engine(tensor *result)
{
    const evaluation_options options = {.input_count = now.count, .inputs = now.inputs};
    evaluated e;
    double ms;

    evaluate(&e, now.row->program, &options);
    if (error_is_set(&e.err))
        fail(e.err.detail);
    ms = (double)e.stats.run_us / 1000;
    if (now.result.buf == NULL &&
        !tensor_new(&now.result, NULL, e.results[0].dtype, &e.results[0].shape, &e.err))
        fail(e.err.detail);
    if (result != NULL)
        *result = e.results[0], tensor_ref(result);
    evaluated_clear(&e);
    return ms;
}

static int threads(void)
{
    const char *n = getenv("TENSORD_THREADS");

    return n != NULL ? atoi(n) : 2;
}

static double run_hand(void)
{
    static hand_work work;
    const shape *s = &now.inputs[0].value.shape, *out = &now.result.shape;
    int64_t start;

    work = (hand_work){.out = tensor_bytes(&now.result),
                       .rows = s->rank > 1 ? s->length[s->rank - 2] : 1,
                       .columns = s->length[s->rank - 1],
                       .batch = s->rank > 2 ? s->length[0] : 1,
                       .out_columns = out->rank > 0 ? out->length[out->rank - 1] : 1,
                       .threads = threads()};
    for (int k = 0; k < now.count; k++)
        work.in[k] = tensor_bytes(&now.inputs[k].value);
    start = clock_us();
    hand_find(now.row->name)(&work);
    return (double)(clock_us() - start) / 1000;
}

static double element(const tensor *t, int64_t i)
{
    return t->dtype == DT_F64 ? ((double *)tensor_bytes(t))[i] : ((float *)tensor_bytes(t))[i];
}

/* The greatest relative difference of the engine's result and the loop's. */
static double check(void)
{
    tensor result;
    double worst = 0;

    run_engine(&result);
    run_hand();
    for (int64_t i = 0; i < shape_size(&result.shape); i++) {
        const double x = element(&result, i), y = element(&now.result, i);
        const double off = fabs(x - y) / (1e-3 + fabs(y));

        worst = off > worst || isnan(off) ? off : worst;
    }
    tensor_unref(&result);
    return worst;
}

static double answer(const char *question)
{
    if (strcmp(question, "engine") == 0)
        return run_engine(NULL);
    return strcmp(question, "hand") == 0 ? run_hand() : check();
}

static void print_row(const struct bench_row *r)
{
    printf("%s\t%s\t%s\t%.0f\t%s\t", r->name, r->target, dtype_name(r->dtype), r->work, r->program);
    for (int k = 0; k < HAND_INPUTS && r->inputs[k].rank > 0; k++) {
        for (int i = 0; i < r->inputs[k].rank; i++)
            printf("%s%ld", i > 0 ? "x" : k > 0 ? " " : "", (long)r->inputs[k].length[i]);
    }
    printf("\n");
}

/* Sets the row that a question is about, with inputs of its shapes or, for vectors, of a
 * size of their own. */
static void go_to_row(const char *name, int64_t size)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0 && (now.row != &rows[i] || now.size != size)) {
            now.size = size;
            enter_row(&rows[i]);
        }
}

int main(void)
{
    const size_t count = sizeof rows / sizeof *rows;
    char question[16], name[32];
    long size;

    evaluate_init();
    for (size_t i = 0; i < count; i++)
        print_row(&rows[i]);
    printf("\n");
    fflush(stdout);
    while (scanf("%15s %31[^@\n]", question, name) == 2) {
        if (scanf("@%ld", &size) != 1)
            size = 0;
        go_to_row(name, size);
        change_inputs();
        if (now.result.buf == NULL)
            run_engine(NULL);
        printf("%.9g\n", answer(question));
        fflush(stdout);
    }
    leave_row();
    return 0;
}
