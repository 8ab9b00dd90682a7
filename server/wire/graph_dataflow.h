/* graph_dataflow -- dataflow nodes of graph JSON as while_loop and cond (private to the
 * files that do it: graph_dataflow.c, graph_loops.c, graph_branches.c).
 *
 * A loop named f, with a variable i that begins as 0:
 *
 *     enter(0, frame_name=f) -> merge -> switch -> leave            when it has ended
 *                                 ^        |
 *                                 |        +-> .. -> next_iteration  the body
 *                                 +----------------------'
 *
 * where the switch's predicate is computed from merges. A choice is a switch whose sides
 * meet again in a merge. Loops are made first, inner ones before those around them, then
 * choices. What lies between is moved into functions, which have no JSON object of their
 * own. The nodes themselves become parameters of those, or stand for results.
 *
 * The method is that of TensorFlow's functionalisation of control flow
 * (tensorflow/compiler/tf2xla/functionalize_control_flow.cc), on our own lists. */
#pragma once

#include "server/wire/graph_private.h"

enum {
    DATAFLOW_GROWTH = 4,      /* for each item that is read at most three are added */
    DATAFLOW_EDGES = 4000000, /* of all items */
};

bool dataflow_loops(reading *r, error *err);
bool dataflow_branches(reading *r, error *err);

/* Whether an item is the dataflow node of this name, and still to be made something of. */
bool dataflow_is(const item *x, const char *name);

/* Sets ERR_ARGUMENT at an item, with the reason. False. */
bool dataflow_fault(const reading *r, int at, error *err, const char *reason);

/* A function without an object, around which is frame `outer`; its number. */
int dataflow_frame(reading *r, int outer);

/* An item for the operation of this name with one argument place each; its number. */
int dataflow_item(reading *r, const char *op, const char *name, int frame, int arguments);

/* Makes an item stand for its argument, under one output. */
void dataflow_alias(reading *r, int at, argument of);

/* Whether two arguments are the same value. */
bool dataflow_same(const reading *r, const argument *a, const argument *b);

/* Moves an item into another frame, and its functions with it. */
void dataflow_move(reading *r, int at, int frame);

/* Makes an item need just what its arguments do. */
void dataflow_reset_edges(reading *r, int at);

/* ---- What depends on what --------------------------------------------------------------- */

/* What it means to a search that item `from` (-1: nobody) takes an output of another: bits,
 * 0 for nothing special. Sets *stop if the search ends there. */
typedef unsigned search_meets(const void *context, int from, int item, int output, bool *stop);

/* A search backwards from places, which says of every item on the way what it depends on. */
typedef struct search {
    reading *reading;
    void *context;
    search_meets *meets;
    unsigned char *bits; /* by item: of all it depends on */
    unsigned char *state;
    int *found; /* the items that were passed, each after those it needs */
    int count;
    int *stack, *next; /* entered; which of its edges comes next */
} search;

/* A search that has passed nothing yet; it has room for DATAFLOW_GROWTH times the items. */
search search_new(reading *r, void *context, search_meets *meets);

/* Forgets what was passed. */
void search_reset(search *s);

/* Searches from one more place; gives what it depends on. */
unsigned search_from(search *s, const place *from);

/* Adds to what `owner` needs all that the items of `inside` (flags) need outside of them, and
 * their result if it is outside. ERR_GRAPH_SIZE above DATAFLOW_EDGES. */
bool search_add_outer_edges(const search *s, const place *result, int owner, const bool *inside,
                            error *err);
