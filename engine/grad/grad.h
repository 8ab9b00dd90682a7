/* grad -- reverse-mode differentiation of graphs.
 *
 * A gradient is a graph like any other: the nodes that compute it are added to the
 * graph of what is differentiated, so it can be stored, printed, optimised and
 * differentiated again. The nodes are walked once, last to first; what each row says
 * of its inputs' gradients is text in our own language (op.h), built in place.
 *
 * What no text needs to say, because it is the same for all:
 *   - Contributions add up, in the order of the walk.
 *   - The gradient of an input has the input's shape and type. A text may give any
 *     shape that the input broadcasts to, or that broadcasts to the input: it is summed
 *     over axes along which the input was stretched, and cast.
 *   - No value (NULL, None) is zero. A row with no_grad passes nothing on.
 *   - Integers and bools have no gradient, neither as inputs nor as results.
 *   - An operation that is defined by others is replaced by its definition. A choice is
 *     a choice between its branches' gradients, so the branch not taken costs nothing; a
 *     loop is walked backwards along recorded values.
 *
 * Memory of loops. What is recorded is what a loop carries, once for each step. Of a scan of
 * n steps, 256 or more, that would record more than 16 MiB it is 2 sqrt(n) times what is
 * carried instead, and every step is done once more; beside that come the operands, their
 * gradients, and what one step takes. How often a while loop runs is known late: it records
 * every step, and a plan that would need more than the limit is refused when that is known.
 *
 * Complex numbers. The gradient of a real y for z = a + bi is dy/da - i dy/db, as in JAX: for
 * a function that has a derivative, vjp multiplies with just that. Downhill from z goes
 * z - step * conj(gradient). (TensorFlow and PyTorch give the conjugate.) Inside of the
 * module gradients are the conjugates, which point uphill, so the texts conjugate the
 * factors that a gradient is multiplied with, and a real input takes the real part;
 * grad_build conjugates what comes in and what goes out.
 *
 * Lengths that only data decide are no obstacle: where it is not known whether an axis
 * was stretched, sum_to finds out when it runs.
 *
 * Reading order: grad.h, private.h, grad.c, path.c, row.c, fit.c, control.c, loops.c, pieces.c,
 * separate.c, check.c. */
#pragma once

#include "engine/lang/lang.h"

/* Adds to g the nodes that compute the gradients that query asks for and sets one for
 * each wrt, with its shape and type. What a wrt that is computed from another one
 * contributes to that one counts (total derivatives).
 *
 * ERR_VALUE naming the first wrt on which no y depends, unless query->zeros is set;
 * ERR_DTYPE if a y or wrt is of integers or bools; ERR_SHAPE if an incoming gradient has
 * not its y's shape; ERR_NOT_IMPLEMENTED if the way to a wrt leads through an attribute
 * (the computed start of a linspace); errors of building the texts, ERR_GRAPH_SIZE among
 * them. Time and nodes are proportional to the nodes between ys and wrt. */
bool grad_build(graph *g, const gradient_query *query, value *gradients, error *err);

/* A graph in a of its own, whose outputs are the gradients of the sum of y for
 * each of the wrt, under the names grad_names; its inputs are those of g that they need, in
 * g's order. Operations that are graphs themselves are in place. To be released like any
 * graph. NULL and an error of grad_build. */
graph *grad_graph(const graph *g, value y, const value *wrt, const char *const *grad_names,
                  int count, arena *a, error *err);

/* Whether the row's gradient texts can be read, built for the row's example (its inputs
 * as float64) and give what fits the inputs. An error that says which text is wrong, if
 * not. Rows without texts are right. */
bool grad_check(const op_def *op, error *err);

/* Checks every row, stopping the process with a message if one is wrong, and registers
 * grad_build with the language. Called once at start, after lang_init. */
void grad_init(void);
