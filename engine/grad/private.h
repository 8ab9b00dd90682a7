/* private -- what the files of the grad module share. */
#pragma once

#include "engine/grad/grad.h"

/* Whether values of this type have gradients. */
bool grad_takes(dtype t);

/* ---- Nodes between ys and wrt (path.c) --------------------------------------------- */

/* What is known of a node while gradients are found. */
typedef struct place {
    bool needed;    /* a y depends on it */
    bool reached;   /* it depends on a wrt, or is one */
    value *stands;  /* per output: the value of the definition put in its place */
    value *adjoint; /* per output: the sum of the contributions so far */
} place;

typedef struct path {
    graph *graph;
    place *places; /* by node id */
    size_t room;
    const node **nodes; /* those to differentiate, each after its inputs; none defined by
                           others */
    int count;
    size_t node_room;
} path;

/* As grad_build, but with the conjugates: of incoming gradients and of what it gives. */
bool grad_walk(graph *g, const gradient_query *query, value *gradients, error *err);

/* Finds the nodes of g that lie between a wrt and a y, adding definitions to g. */
bool path_find(path *p, graph *g, const gradient_query *query, error *err);

/* The place of a node, also of one that was made meanwhile. */
place *path_place(path *p, const node *n);

/* The value that v stands for: an output of a definition, or v itself. */
value path_value(path *p, value v);

/* Whether attribute i of a node is computed from a wrt. */
bool path_attr_reached(path *p, const node *n, int i);

/* ---- One node (row.c, control.c) ------------------------------------------------------ */

/* One step backwards: n, the gradients of its outputs (no node: zero), and for which
 * inputs gradients are wanted. */
typedef struct step {
    graph *graph;
    const node *node;
    const value *incoming;
    const bool *wanted;
} step;

/* Sets the gradients of the wanted inputs, each fitted to its input; no node: zero. */
bool row_gradients(const step *s, value *gradients, error *err);

/* Sets the gradients of the wanted attributes, by their position. */
bool row_attr_gradients(const step *s, const bool *wanted, value *gradients, error *err);

/* The same for a choice. */
bool choice_gradients(const step *s, value *gradients, error *err);

/* The same for loops (loops.c). */
bool scan_gradients(const step *s, value *gradients, error *err);
bool while_gradients(const step *s, value *gradients, error *err);

/* A parameter of g like a value of the enclosing graph, or like an element of it. */
value loop_param(graph *g, const char *name, value like, bool element, error *err);

/* A sub-graph of `outer` that is a copy of a body: its `count` parameters are like `likes`,
 * from walked_from on like elements of them; what it captured is taken from `captured`. */
graph *loop_body(graph *outer, const graph *body, const value *likes, int count, int walked_from,
                 const value *captured, error *err);

/* ---- Long scans (pieces.c) -------------------------------------------------------------- */

/* Whether what a scan carries is better not recorded at once: it is more than PIECES_BYTES,
 * over PIECES_STEPS steps or more, and their number and all lengths are known. */
enum { PIECES_BYTES = 16 << 20, PIECES_STEPS = 256 };
bool pieces_wanted(const node *scan);

/* The gradients of such a scan. */
bool pieces_gradients(const step *s, value *gradients, error *err);

/* ---- Fitting (fit.c) ---------------------------------------------------------------------- */

/* Applies an operation that has one result, by its name. attrs may be NULL: defaults. */
bool fit_apply(graph *g, const char *op, const value *inputs, int count, const attr *attrs,
               value *result, error *err);

/* Makes t, a contribution to the gradient of n's input, of the input's shape and type. */
bool fit_input(graph *g, const node *n, int input, value t, value *result, error *err);

/* Makes t of v's type, which it has the shape of. */
bool fit_dtype(graph *g, value v, value t, value *result, error *err);
