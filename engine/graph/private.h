/* private -- what the files of the graph module share. */
#pragma once

#include "engine/graph/graph.h"

/* A new node with room for its inputs and types, appended to g; NULL and
 * ERR_GRAPH_SIZE if g is full. */
node *node_new(graph *g, const op_def *op, int inputs, int outputs, error *err);

/* Bare numbers: ERR_OVERFLOW if one of the call's constants does not fit the type
 * that op computes in. For comparisons, which are answered as mathematics has it,
 * such a constant is made a strong int64 or uint64 instead. */
bool weak_check(graph *g, const op_def *op, value *inputs, int count, const type *types,
                const attr *attrs, error *err);

/* Whether v is not a bare integer that integer type `to` cannot hold. */
bool weak_fits(value v, dtype to);

/* ERR_OVERFLOW or ERR_VALUE if v is a bare number that an element of type `to` cannot be. */
bool weak_check_assignment(const op_def *op, dtype to, value v, error *err);

/* Bare integers as limits, the lower and the upper, of a first input of an integer type: one
 * beyond that type becomes its end, which limits nothing (NumPy 2's clip). Other ones that do
 * not fit are left, and found out where they are used. */
bool weak_limit(graph *g, value *inputs, int count, error *err);

/* How many random draws in g and what it calls name no seed (draws.c). */
int64_t draws_in(const graph *g);

/* The inputs of a call of *op, with a seed among them if it draws, names none and g gives
 * seeds; of a call of a graph, *op becomes one that draws with seeds. NULL and
 * ERR_GRAPH_SIZE, if that cannot be. */
const value *draws_seed(graph *g, const op_def **op, const value *inputs, int *count, error *err);

/* The inputs of a call with sub-graphs: those given, then what each captured. */
const value *subgraph_inputs(graph *g, const op_def *op, const value *inputs, int *count,
                             const attr *attrs, error *err);

/* The types of such a call with `own` inputs before the captured ones, from the sub-graphs'
 * outputs; *output_count is set. */
const type *subgraph_types(graph *g, const op_def *op, const value *inputs, int own,
                           const attr *attrs, int *output_count, error *err);

/* The attributes, as mapped, with the sub-graphs built anew for these inputs' types. */
const attr *subgraph_rebuild(graph *g, const node *from, const value *inputs, const attr *mapped,
                             error *err);

/* Builds op->body into a definition for these inputs of it. */
bool define_build(graph *definition, const op_def *op, const value *inputs, error *err);

/* The graph of op->lower or op->body for these inputs, as node.definition is described. */
graph *definition_new(graph *g, const op_def *op, const value *inputs, int count, const attr *attrs,
                      error *err);
