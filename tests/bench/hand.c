/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/hand.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cblas.h>

#include "engine/kernels/kernels.h"
#include "engine/kernels/stream.h"
#include "engine/kernels/target.h"
#include "engine/kernels/vecmath.h"

enum { BLOCK = 32, AHEAD = 512 }; /* elements: those of a turn, and how far ahead is asked */

/* ---- Threads -------------------------------------------------------------------------- */

typedef struct hand_thread {
    hand_part *part;
    hand_work *work;
    int thread;
    int64_t from, to;
    pthread_t id;
} hand_thread;

static void *run_part(void *argument)
{
    hand_thread *t = argument;

    t->part(t->work, t->thread, t->from, t->to);
    return NULL;
}

void hand_run(hand_part *part, hand_work *w, int64_t count, int64_t grain)
{
    const int64_t each = (count / grain + w->threads - 1) / w->threads * grain;
    hand_thread threads[HAND_THREADS];

    for (int i = 0; i < w->threads; i++) {
        const int64_t end = (i + 1) * each;

        threads[i] = (hand_thread){part, w, i, i * each, end < count ? end : count, 0};
    }
    for (int i = 1; i < w->threads; i++)
        pthread_create(&threads[i].id, NULL, run_part, &threads[i]);
    run_part(&threads[0]);
    for (int i = 1; i < w->threads; i++)
        pthread_join(threads[i].id, NULL);
}

void hand_add_partials(hand_work *w)
{
    double sum = 0;

    for (int i = 0; i < w->threads; i++)
        sum += w->partial[i];
    *(double *)w->out = sum;
}

/* ---- The works --------------------------------------------------------------------------- */

#define HAND __attribute__((unused)) static

#define T      double
#define SUFFIX f64
#include "tests/bench/hand.tmpl.h"
#define T      float
#define SUFFIX f32
#include "tests/bench/hand.tmpl.h"

/* OpenBLAS with its own threads, which are then left to fall asleep. */
#define MATMUL(name, gemm, T, turned)                                                              \
    static void hand_##name(hand_work *w)                                                          \
    {                                                                                              \
        const int m = (int)(turned ? w->columns : w->rows);                                        \
        const int k = (int)(turned ? w->rows : w->columns), n = (int)w->out_columns;               \
        openblas_set_num_threads(w->batch > 1 ? 1 : w->threads);                                   \
        for (int64_t i = 0; i < w->batch; i++)                                                     \
            gemm(CblasRowMajor, turned ? CblasTrans : CblasNoTrans, CblasNoTrans, m, n, k, 1,      \
                 (const T *)w->in[0] + i * m * k, turned ? m : k, (const T *)w->in[1] + i * k * n, \
                 n, 0, (T *)w->out + i * m * n, n);                                                \
        openblas_set_num_threads(1);                                                               \
    }
MATMUL(matmul_f64, cblas_dgemm, double, 0)
MATMUL(matmul_f32, cblas_sgemm, float, 0)
MATMUL(matmul_turned_f32, cblas_sgemm, float, 1)
MATMUL(matmul_batch_f32, cblas_sgemm, float, 0)

hand_fn *hand_find(const char *name)
{
    static const struct {
        const char *name;
        hand_fn *run;
    } works[] = {
#define ROW(name, ...) {#name, hand_##name},
#include "tests/bench/rows.def"
#undef ROW
    };

    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (strcmp(works[i].name, name) == 0)
            return works[i].run;
    return NULL;
}
