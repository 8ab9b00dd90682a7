/* rewritten -- programs rewritten by tests: what comes out, and what was reported. */
#pragma once

#include "engine/rewrite/rewrite.h"
#include "tests/lib/evaluate.h"

enum { EVENTS = 256 };

typedef struct rewritten {
    evaluated source; /* the program, built; its results too, where it was run */
    arena *arena;
    graph *graph;
    rewrite_options options;
    int event_count; /* of all; the first EVENTS are kept */
    rewrite_event events[EVENTS];
} rewritten;

/* Builds a program of inputs and rewrites it. */
void rewritten_init(rewritten *r, const char *program, const evaluation_input *inputs, int count,
                    rewrite_options options);
void rewritten_clear(rewritten *r);

/* How many events of a phase were reported. */
int rewritten_count(const rewritten *r, const char *phase);

/* The operations that outputs need, by name, in order, separated by blanks, without inputs and
 * constants. In r's arena. */
const char *rewritten_operations(rewritten *r);

/* A tensor of a type, of at most three axes, the third of length 1, with numbers between
 * -1 and 1, of integers between -9 and 9. */
tensor numbers_of(dtype t, int rank, int64_t rows, int64_t columns, int seed);
