/* machine -- runs tile programs. Private to exec. */
#pragma once

#include "engine/exec/exec.h"
#include "engine/kernels/stream.h"

/* What the threads that work on one step have in common: whether to stop, and what their
 * kernels met. */
typedef struct watch {
    const stop_sign *stop;
    run_progress *progress; /* told of each task; NULL: nobody asks, or who runs windows tells it */
    double work, task_work; /* element operations of all tasks, and of each */
    _Atomic bool stopped;
    _Atomic unsigned flags;
    error err; /* set by who sets stopped */
} watch;

/* Whether to stop now; the first to find so notes why. */
bool watch_stops(watch *w);
/* A task is done: adds what this thread's kernels met since kernel_flags was cleared, and the
 * task's work. */
void watch_note(watch *w);

/* A program bound to memory. */
typedef struct machine {
    const tile_program *program;
    const char *leaf[TILE_LEAVES]; /* the first byte of each leaf's slot */
    char *output[TILE_LEAVES];     /* the first byte of each output */
    char *scratch;                 /* a part for each thread */
    size_t thread_scratch;
    char *shared; /* parts of results, fold after fold; NULL if each has one part */
    char start[TILE_FOLDS][REDUCE_LANES * 16]; /* what partial results begin with */
    char divisor[TILE_FOLDS][LANES * 16];      /* means: the number of elements */
    watch *watch;
} machine;

/* Runs all tasks. False, with the watch's err set, if stopped. */
bool machine_run_tasks(machine *m);

/* Runs the rows [from, to) of a band; machines: of its steps, with all memory that is not local;
 * scratch: of all threads. False, with the watch's err set, if stopped. */
bool band_run_tasks(const plan *p, const band *b, const machine *machines, char *scratch, watch *w,
                    int64_t from, int64_t to);

/* ---- One thread's work on one task --------------------------------------------------- */

/* Bytes that will be read later: after this tile or, in a band, after this block of rows. A
 * few lines are asked for at each instruction, all the time, since the processor waits for
 * few at once. */
typedef struct ahead {
    const char *next[TILE_LEAVES], *end[TILE_LEAVES];
    int count;     /* of ranges with lines left */
    int64_t lines; /* at a time */
    bool far;      /* a block is larger than the first-level cache */
} ahead;

/* Asks for the next few lines. */
static inline void ask_ahead(ahead *a)
{
    for (int64_t wanted = a->lines; wanted > 0 && a->count > 0;) {
        const char **next = &a->next[a->count - 1];
        const int64_t left = (a->end[a->count - 1] - *next + CACHE_LINE - 1) / CACHE_LINE;
        const int64_t lines = left < wanted ? left : wanted;

        if (a->far)
            prefetch_lines_later(*next, lines);
        else
            prefetch_lines(*next, lines);
        *next += lines * CACHE_LINE;
        wanted -= lines;
        a->count -= lines == left;
    }
}

/* Where the lines begin, for a kernel that asks for them while it reads as many bytes; NULL if they
 * are several ranges, or to be spread over a block of rows. */
static inline const char *take_ahead(ahead *a, int64_t bytes)
{
    if (a->far || a->count != 1 || a->end[0] - a->next[0] != bytes)
        return NULL;
    a->count = 0;
    return a->next[0];
}

typedef struct worker {
    machine *machine;
    ahead *ahead; /* of its band, or its own */
    ahead own;    /* lines of its own leaves, of a tile to come */
    const tile_program *program;
    void *operand[TILE_OPERANDS]; /* what the instructions read and write */
    char *spare[TILE_OPERANDS];   /* scratch for each operand */
    int64_t offset[TILE_LEAVES];  /* elements: where each leaf's row begins */
    bool filled[TILE_LEAVES];     /* FIXED: its tile is made for this row */
    char *levels[TILE_FOLDS];     /* partial results */
} worker;

void worker_init(worker *w, machine *m, int lane);

/* Points the leaves at the row whose index along axes [from, to) is the mixed-radix
 * number `row`; add: keeps what other axes contributed. */
void worker_seek(worker *w, int64_t row, int from, int to, bool add);

/* Elements that a tile of n is padded to. Nothing but adding and comparing is the same without. */
int64_t worker_padded(const tile_program *p, int64_t n);

/* How many elements of a run the next tile is for, where `done` are done and `left` are left. One
 * that would need padding at the end begins so many elements before, which are made twice; where
 * that cannot be, what fills no lanes comes alone, and all before it needs no padding. */
int64_t worker_cut(const worker *w, int64_t done, int64_t left, int64_t *back);

/* Runs the instructions for n elements from `at` along the tile axis (or the flat run).
 * out: element of the stored outputs where they go. */
void worker_tile(worker *w, int64_t at, int64_t n, int64_t out);

/* Runs the part of an elementwise program that is the rows [from, to) of all of them. */
void worker_rows(worker *w, int64_t rows, int64_t from, int64_t to);

/* Sets what the partial results of a machine begin with. */
void fold_prepare(machine *m);
/* Runs one task of a reduction, and what follows when all have run. */
void fold_task(worker *w, int64_t task);
void fold_finish(machine *m);
/* Makes the results [from, to) of a reduction whose results have one part each. */
void fold_results(worker *w, int64_t from, int64_t to);
/* Looks up what folds need; called once at start. */
void fold_init(void);
