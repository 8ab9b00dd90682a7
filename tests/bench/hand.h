/* hand -- the limit: the works of rows.def as a good programmer would write them by hand.
 *
 * One pass over memory, SLEEF's vector functions, the lines to come asked for a few at a
 * time, large results stored past the caches, threads with equal parts. Products of
 * matrices are OpenBLAS's own, with its own threads. */
#pragma once

#include <stdint.h>

enum { HAND_INPUTS = 4, HAND_THREADS = 16, COLUMNS_MAX = 1024 };

typedef struct hand_work {
    const void *in[HAND_INPUTS];
    void *out;
    int64_t rows, columns, batch; /* of the first input; a vector has one row */
    int64_t out_columns;
    int threads;
    double partial[HAND_THREADS]; /* sums of the threads' parts */
    _Alignas(64) double row[HAND_THREADS][COLUMNS_MAX];
} hand_work;

/* Does the part [from, to) of a work's elements or rows. */
typedef void hand_part(hand_work *w, int thread, int64_t from, int64_t to);

/* Runs a part on each thread. count: of elements or rows; each thread gets a multiple of
 * grain. */
void hand_run(hand_part *part, hand_work *w, int64_t count, int64_t grain);

/* The sum of the threads' partial results, as the result. */
void hand_add_partials(hand_work *w);

/* The whole of a row of rows.def; NULL if nobody wrote it. */
typedef void hand_fn(hand_work *w);
hand_fn *hand_find(const char *name);
