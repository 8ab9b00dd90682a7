/* declaration -- what an input of a graph may be.
 *
 * A declaration says an element type and the lengths of the axes, as far as they are
 * known: a number, unknown, or a name, which stands for one number wherever it occurs
 * among the inputs of a graph. A value that is given for the input is checked against
 * it, and cast to its element type where that loses nothing.
 *
 * Types have names as well, those of Theano: a letter for the element type, float64 if
 * there is none, and a word for the axes, "dmatrix", "irow" or "vector". */
#pragma once

#include "engine/base/table.h"
#include "engine/base/text.h"
#include "engine/graph/graph.h"

typedef struct declaration {
    bool has_dtype, has_shape; /* what was said at all */
    dtype dtype;
    shape shape;                   /* LENGTH_UNKNOWN for unknown and for named lengths */
    const char *symbols[RANK_MAX]; /* names of lengths, NULL for the others */
} declaration;

/* Reads the name of a type: "dmatrix". False if it is none. */
bool declaration_of_name(const char *name, declaration *result);

/* The word for a row of broadcastable axes, "matrix"; NULL if there is none. */
const char *declaration_axes_word(const shape *s);

/* What is declared, or was noted, of a value; NULL if nothing is. */
const declaration *declaration_of(value v);

/* Adds the declaration as messages have it: float64 [n, 3]. */
void declaration_write(const declaration *d, text *t);

/* Adds the lengths as JSON: [null, "n", 3]. d may be NULL: they are those of s then. */
void declaration_write_lengths(const declaration *d, const shape *s, text *t);

/* An input of the declared type; what was left out counts as float64. ERR_SHAPE_INVALID
 * if no shape was said: a graph needs at least the number of axes. */
value graph_declare(graph *g, const char *name, const declaration *d, error *err);

/* Notes of the nodes of g, in their own declarations, which lengths are ones that the
 * declarations of its inputs name: of all outputs, and in sub-graphs and definitions.
 *
 * ERR_SHAPE, naming the length and both numbers, if one name would have to be two numbers. What
 * is seen is where a named length meets a known one in one operation: it must be that (in
 * matmul), or that or 1 (where it broadcasts). Not seen is what follows only from several
 * steps: that two names must be equal, and what sums and products of lengths must be. Nothing
 * that could run is refused. Takes time proportional to the nodes. */
bool declaration_spread(graph *g, error *err);

/* Checks that *v, of g, may stand for the input `name` that d declares, and casts it in g
 * if it must be. lengths holds what the names of lengths stand for (int64_t), and learns
 * what they are here. ERR_SHAPE or ERR_DTYPE that name both types. */
bool declaration_take(graph *g, const declaration *d, const char *name, table *lengths, value *v,
                      error *err);
