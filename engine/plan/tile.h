/* tile -- a tile program: many elementwise operations, and reductions perhaps, in one
 * pass over memory.
 *
 * The iteration space is cut into tiles of a few hundred elements that stay in the
 * first-level cache. For each tile the program's instructions run one after the
 * other, each a kernel over dense operands: a leaf (an input's elements, read where
 * they are if they lie side by side, else gathered), a register (scratch), or an
 * output (written where it belongs).
 *
 * Loops. The axes are those of the space, reordered and merged: first `kept` axes,
 * then `folded` ones; the last of all is the tile axis. Without a reduction all are
 * kept. By rows (columns false) the tile axis is folded and every result comes from
 * one run; by columns it is kept and rows are folded into it. Several reductions fold
 * the same axes. What is stored element by element beside them lies in the order in
 * which the loops run. */
#pragma once

#include "engine/kernels/kernels.h"
#include "engine/ops/op.h"

enum {
    TILE_OPERANDS = 160,
    TILE_INPUTS = 3,
    TILE_INSTRUCTIONS = 64,
    TILE_LEAVES = 24,
    TILE_FOLDS = 8
};

enum { NO_SLOT = -1 }; /* of an input that was left out */

/* Where the elements of a value lie: in which slot, and how. */
typedef struct layout {
    int slot;
    dtype dtype;
    shape shape;
    int64_t offset; /* elements */
    int64_t strides[RANK_MAX];
} layout;

typedef enum leaf_access {
    LEAF_DENSE,  /* side by side along the tile axis: read in place */
    LEAF_FIXED,  /* the same element along the tile axis: a tile of copies */
    LEAF_STRIDED /* gathered */
} leaf_access;

typedef struct tile_leaf {
    int slot;
    size_t size; /* of an element, bytes */
    int64_t offset;
    int64_t *steps; /* elements, along each loop axis */
    leaf_access access;
    bool constant; /* no step at all: its tile is made once */
    bool walks;    /* read in place, and not again soon: it is worth asking for */
    int64_t ahead; /* elements: how far ahead it is asked for; in a band, those of a row */
} tile_leaf;

/* kernel(n, operand[out], {operand[in[0]], ..}) */
typedef struct tile_instruction {
    kernel_fn *kernel;
    int out, in[TILE_INPUTS];
    bool exact; /* of the elements there are, without padding: the kernel reports */
} tile_instruction;

typedef struct tile_output {
    int slot;
    size_t size;
    bool streams; /* too large for the caches: stored past them */
} tile_output;

/* A reduction of an operand. */
typedef struct tile_fold {
    const reduce_def *reduce;
    dtype folded; /* the type folded in (a computed type) */
    dtype result; /* the type stored */
    size_t size;  /* of an element folded, bytes */
    int value;    /* the operand that is folded */
} tile_fold;

typedef struct tile_program {
    int rank; /* of the loops, at least 1 */
    int64_t *length;
    int kept;        /* the first axes; without a reduction all of them */
    int64_t tile;    /* elements in a tile, a multiple of REDUCE_LANES */
    bool flat;       /* one loop over all elements: the tile axis is too short for tiles */
    bool overwrites; /* its output lies where a leaf lay: no element may be made twice */

    /* Operands are numbered: leaves, then registers, then what is stored element by element:
     * the first outputs. The others are the results of the folds. */
    int leaf_count, register_count, stored_count, output_count;
    tile_leaf *leaves;
    tile_output *outputs;
    int instruction_count;
    tile_instruction *instructions;
    size_t element_size; /* the largest of any operand: what a register is made for */

    int fold_count; /* 0: there is no reduction */
    tile_fold *folds;
    bool columns;
} tile_program;

/* Sets the bytes of an operand's tile, a power of two. For tests and benchmarks: results
 * do not depend on it. Not thread-safe. */
void tile_set_bytes(int64_t bytes);

/* The number of tasks that the space is cut into, and bytes of scratch per thread
 * and for all together. All follow from the program alone. */
int64_t tile_task_count(const tile_program *p);
size_t tile_thread_scratch(const tile_program *p);
size_t tile_shared_scratch(const tile_program *p);

/* ---- How a reduction is cut (the same for any number of threads) -------------------- */

enum {
    FOLD_BLOCK = 4096, /* elements of a run folded in lanes before they are combined */
    FOLD_ROWS = 64,    /* rows added one to the other before they are combined */
    FOLD_PART = 2048,  /* bytes of a tile that are folded at a time */
    FOLD_SEGMENT = 64, /* blocks, of elements or rows, in one part of a result */
    TASK_ELEMENTS = 1 << 16
};

typedef struct fold_cut {
    int64_t results;   /* by rows: results; by columns: results / width of a column panel */
    int64_t run, runs; /* elements in a run, runs that are folded into one result */
    int64_t blocks;    /* of one result */
    int64_t segments;  /* of one result */
    int64_t per_task;  /* (result, segment) pairs in a task */
} fold_cut;

fold_cut tile_fold_cut(const tile_program *p);

/* How a reduction folds rows that come a window at a time. A window begins with a multiple of
 * block. Rows give results each, a block one (result, segment) pair; or they are all folded into
 * every result, per_segment units making one segment of it, of which a row has some. */
typedef struct fold_windows {
    int64_t block; /* 0: rows cannot come so */
    bool whole;
    int64_t units, per_segment;
} fold_windows;

fold_windows tile_fold_windows(const tile_program *p, int64_t rows);
/* The axis along which rows come; whole: as fold_windows has it. */
int tile_rows_axis(const tile_program *p, bool whole);

/* In how many parts all folds take n elements of a tile: lines are asked for before each. */
int64_t tile_fold_parts(const tile_program *p, int64_t n);

/* Bytes for the partial results of one thread and one fold: lanes, levels and, last, a total. */
size_t tile_fold_bytes(const tile_program *p, const tile_fold *f);
size_t tile_total_bytes(const tile_program *p, const tile_fold *f);
/* Bytes of the parts of a fold's results, where one result has several. */
size_t tile_parts_bytes(const tile_program *p, const tile_fold *f);
