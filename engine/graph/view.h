/* view -- graphs as text and pictures.
 *
 * Every view shows what the graph's outputs and named nodes need, and all its inputs.
 * Views of one graph agree in their order. All are linear in the size of the graph, but
 * for long constants, which are cut: a value that is used several times is written once
 * and named, or marked. Nothing recurs on a graph but into sub-graphs, whose nesting is
 * bounded where they are built.
 *
 * How operations are written is said once, in engine/ops/operators.def and notation.def.
 *
 * Functions of control flow are shown where they are used. What they capture is drawn and named
 * outside.
 *
 * Reading order: view.h, notation.def, view_private.h, notation.c, describe.c,
 * view_constant.c; apply.c, debug.c, formula.c, dot.c. */
#pragma once

#include "engine/base/table.h"
#include "engine/base/text.h"
#include "engine/graph/graph.h"

/* How one node will run. */
typedef struct view_run {
    int fused;  /* the number of the pass over memory that it shares with others; 0: none */
    value over; /* the value that its result is written over; no node: none */
} view_run;

/* A pass: the operations that share it, each after those it needs. */
typedef struct view_pass {
    const node **nodes;
    int count;
} view_pass;

/* How the nodes of one graph will run. */
typedef struct view_runs {
    const graph *graph;
    view_run *runs;             /* by node id */
    int first_pass, pass_count; /* whose numbers are first_pass, first_pass + 1 .. */
    view_pass *passes;
} view_runs;

/* The same of a graph and of the functions in it, as far as that is known: for pictures of
 * optimised graphs. */
typedef struct view_plan {
    table graphs;        /* the bytes of a pointer to a graph -> view_runs */
    int pass_count;      /* of all of them */
    const char *assumed; /* what was taken to be so, and is not known: a sentence; or NULL */
} view_plan;

/* What the plan says of g; NULL if that is nothing, or plan is NULL. */
const view_runs *view_runs_of(const view_plan *plan, const graph *g);

/* How n runs; of a plan that says nothing of it, or is NULL: by itself. */
view_run view_run_of(const view_plan *plan, const node *n);

/* Theano's structure as JSON: variables with their types, owners and clients; the applies
 * that make them; the outputs. */
void view_apply(const graph *g, text *t);

/* Theano's debugprint: the outputs as indented trees, each value with an id and a type. A
 * value that was shown before is a line with its id. Graphs inside of nodes follow, indented
 * under the ids of theirs. plan, which may be NULL, adds "fused 2" and "in place of [id C]". */
void view_debug(const graph *g, const view_plan *plan, text *t);

/* The outputs as one line of infix text, in which "where" introduces what is used several
 * times. */
void view_pretty(const graph *g, text *t);

/* The same in LaTeX's mathematics. */
void view_latex(const graph *g, text *t);

/* One value in infix text, at most depth operations deep: for reports. */
void view_value(value v, int depth, text *t);

/* A picture in Graphviz's language: a box for each input, output and constant, an ellipse
 * for each application, edges with the types of what flows. Functions are rounded boxes around
 * their nodes, with dotted edges from their results to the node that has them. plan, which may
 * be NULL, adds a dashed box for each pass over memory, and dashed edges from what is
 * overwritten. */
void view_dot(const graph *g, const view_plan *plan, text *t);

/* The same as Theano draws it: a blue box for each Apply, a red one for each Variable, a
 * green circle for each Op, a purple box for each Type, and an arrow for each reference. */
void view_structure(const graph *g, text *t);
