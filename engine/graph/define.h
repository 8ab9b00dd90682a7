/* define -- graphs as operations.
 *
 * A graph becomes an operation by a row that is made while the server runs: its name, a
 * parameter for each input of the graph, and the graph as its meaning. A call of it is
 * one node; the node's definition is the graph built anew for the types of its inputs,
 * each checked against what the graph declares of it. Rewriting puts definitions in the
 * place of such nodes, gradients go through them.
 *
 * Lifetimes: a row and its graph must live as long as any graph that has a node of it. */
#pragma once

#include "engine/graph/graph.h"

/* An operation of this name, in a, whose meaning is body: a graph that is not a sub-graph
 * and has 1 to OP_OUTPUTS outputs. Its parameters are the inputs of body; order[i] is the
 * one that stands in place i of calls. */
const op_def *define_op(arena *a, const char *name, const graph *body, const int *order);

/* A copy of g in a in which no node is one of such an operation: definitions are in place,
 * theirs too. NULL and an error of graph_apply; to be released like any graph. */
graph *define_inline(const graph *g, arena *a, error *err);
