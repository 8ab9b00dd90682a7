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
 * Reading order: view.h, notation.def, view_private.h, notation.c, describe.c,
 * view_constant.c; apply.c, debug.c, formula.c, dot.c. */
#pragma once

#include "engine/base/text.h"
#include "engine/graph/graph.h"

/* Theano's structure as JSON: variables with their types, owners and clients; the applies
 * that make them; the outputs. */
void view_apply(const graph *g, text *t);

/* Theano's debugprint: the outputs as indented trees, each value with an id and a type. A
 * value that was shown before is a line with its id. */
void view_debug(const graph *g, text *t);

/* The outputs as one line of infix text, in which "where" introduces what is used several
 * times. */
void view_pretty(const graph *g, text *t);

/* The same in LaTeX's mathematics. */
void view_latex(const graph *g, text *t);

/* One value in infix text, at most depth operations deep: for reports. */
void view_value(value v, int depth, text *t);

/* A picture in Graphviz's language: a box for each input, output and constant, an ellipse
 * for each application, edges with the types of what flows. */
void view_dot(const graph *g, text *t);

/* The same as Theano draws it: a blue box for each Apply, a red one for each Variable, a
 * green circle for each Op, a purple box for each Type, and an arrow for each reference. */
void view_structure(const graph *g, text *t);
