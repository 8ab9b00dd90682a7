/* private -- what the files of the plan module share. */
#pragma once

#include "engine/plan/plan.h"

/* ---- Groups: which nodes share a step ------------------------------------------------ */

enum { GROUP_NODES = 20 };

typedef struct groups {
    int *root;    /* by node id: the id of the node at whose place the group's step comes */
    int *next;    /* by node id: the next member of the group, -1 at the end */
    int *first;   /* by root id: the first member, in order of ids */
    bool *stored; /* by node id: whether its value leaves the group */
    bool *needed; /* by node id: whether any output needs it */
} groups;

/* Whether the node's operation works element by element. */
bool node_is_elementwise(const node *n);

/* Whether it works element by element or reduces: what groups are made of. */
bool node_is_computed(const node *n);

/* The shape that the node's operation runs over: a reduction's input's, else its result's. */
const shape *node_space(const node *n);

/* Which axes of its input a reduction runs over. False and an error if it names others. */
bool node_folded_axes(const node *n, bool folded[RANK_MAX], error *err);

/* Decides the groups of g. */
groups groups_of(const graph *g, arena *a);
/* Makes groups that read the same values one. */
void groups_share(const graph *g, groups *r, arena *a);

/* ---- Building -------------------------------------------------------------------------- */

/* A value while a tile program is built: in which operand, as which type. A half
 * type's elements are floats once loaded; a leaf holds them as stored. */
typedef struct held {
    int operand;
    dtype dtype;
    bool stored; /* a leaf's own form */
} held;

typedef struct planner {
    const graph *g;
    arena *arena;
    groups groups;
    plan *plan;
    layout ***layouts;       /* [node id][output]: where it lies, NULL if not yet made */
    held *values;            /* by node id: of the members of the group that is being built */
    struct builder *builder; /* of tile programs, one after the other */
    size_t slot_room, buffer_room, step_room;
} planner;

int planner_add_slot(planner *p, slot_kind kind, int index, const tensor *constant);
/* A slot with a buffer of its own for elements of a type and shape; makes a dense layout. */
layout *planner_new_value(planner *p, dtype t, const shape *s);
step *planner_add_step(planner *p, step_kind kind, const node *n);

/* Says how many element operations a step of the plan takes. */
void planner_charge(planner *p, step *s, double work);
layout *planner_layout(planner *p, value v);
void planner_set_layout(planner *p, value v, layout *l);

/* A dense layout in C order over a slot. */
layout *layout_dense(arena *a, int slot, dtype t, const shape *s);
bool layout_is_dense(const layout *l);
/* Whether tensor_matrix can describe what lies there. */
bool layout_is_matrix(const layout *l);
/* Whether each element along axis 0 is dense. */
bool layout_has_dense_elements(const layout *l);
/* The layout of a movement's result; NULL if it needs a dense input first. */
layout *layout_of_view(arena *a, const node *n, const layout *input);

/* ---- Tile programs ------------------------------------------------------------------------- */

/* The program of the group that ends in root; new values for what it stores. */
bool tiles_of_group(planner *p, const node *root, error *err);
/* A dense copy, cast to a type, of what lies in `from`. */
layout *tiles_copy(planner *p, const node *n, const layout *from, dtype to, error *err);

/* ---- Rows ------------------------------------------------------------------------------ */

/* Whether p can be run some of the rows at a time. */
bool rows_divide(const tile_program *p, int64_t rows);
/* Elements of an output of p in one row. */
int64_t rows_output_width(const tile_program *p, int output, int64_t rows);

/* ---- Bands and streams --------------------------------------------------------------------- */

/* Finds the steps that run row by row together. Last uses are known, buffers are shared in
 * place already. */
void bands_find(plan *pl, arena *a);

/* Finds what streams, once bands are found. */
void streams_find(plan *pl, const bool *taken, arena *a);
