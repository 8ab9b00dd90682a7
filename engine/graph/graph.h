/* graph -- a program as a graph of operations on tensors.
 *
 * A graph is a list of nodes in which every node comes after its inputs. A node
 * applies an operation to values; a value is one output of a node. Inputs and
 * constants are nodes too, of the rows op_input and op_constant. The type (dtype
 * and shape) of every value is known when it is built; lengths that only data
 * decide are LENGTH_UNKNOWN.
 *
 * Nodes are immutable once built. Equal nodes are not merged here but by a
 * rewrite, so that a graph can be shown as it was written.
 *
 * Sub-graphs (bodies of control flow) are graphs of their own, closed: a value
 * of the enclosing graph enters through graph_capture, which makes an input.
 *
 * Lifetimes: a graph and all in it live in an arena and die with it, but for the
 * buffers of constants, which the graph holds and graph_release gives up.
 * Threads: a graph belongs to one thread at a time; read-only once built.
 *
 * Other faces of the module: declaration.h (what inputs may be), define.h (graphs as
 * operations), view.h (graphs as text and pictures).
 *
 * Reading order: graph.h, build.c, weak.c, draws.c, functions.c, definition.c, copy.c, extract.c;
 * declaration.h, define.h, view.h. */
#pragma once

#include "engine/ops/op.h"

typedef struct graph graph;
typedef struct node node;
typedef struct graph_map graph_map;

/* One output of a node; node is NULL for "no value". */
typedef struct value {
    node *node;
    int index;
} value;

struct node {
    const op_def *op;
    int id; /* position in the graph's list */
    int input_count, output_count;
    const value *inputs;
    const attr *attrs;       /* as many as op->attr_count */
    const type *types;       /* of the outputs */
    const tensor *constant;  /* op_constant: its value */
    const char *name;        /* op_input: its name; others: the name it was given, or NULL */
    const graph *definition; /* op->lower or op->body built for these inputs; its captured
                                values are among this node's inputs */
    const struct declaration *declared; /* op_input: what was said of it, or NULL; others: what
                                           declaration_spread noted of each output */
    graph *graph;
};

struct graph {
    arena *arena;
    graph *outer; /* the enclosing graph of a sub-graph, else NULL */
    node **nodes; /* in topological order */
    int count;
    value *inputs; /* op_input nodes in the order of their making */
    int input_count;
    value *captured; /* sub-graphs: the outer value that each input stands for;
                        no node for parameters */
    value *outputs;
    int output_count;
    graph **inner; /* all sub-graphs made for this one, used or not */
    int inner_count;
    size_t node_room, input_room, output_room, inner_room;
    int constant_count; /* nodes that are constants; they do not count towards the limit */
    int node_limit;     /* of this graph; GRAPH_TOTAL times as many with all inner ones */
    int edges;          /* inputs of its nodes, at most GRAPH_EDGES times node_limit */
    int total;          /* of the outermost graph: its nodes and those of all in it */
    bool wants_numbers; /* of the outermost graph: the constant of an input was asked for that is
                           a bare number; built with the number, it might be another */
    bool gives_seeds;   /* to random draws in it that name none (graph_seed) */
    int64_t next_seed;
};

extern const op_def op_input, op_constant;

/* ---- Building ---------------------------------------------------------------- */

enum { GRAPH_NODES_MAX = 10000, GRAPH_EDGES = 4, GRAPH_TOTAL = 16 };

/* An empty graph in a. outer is NULL but for sub-graphs. */
graph *graph_new(arena *a, graph *outer);

/* Gives up the references to the constants' buffers, sub-graphs' included. */
void graph_release(graph *g);

/* From now on, random draws that are applied to g or to its sub-graphs and name no seed get
 * one each, as a constant: seed, seed + 1, .. in the order in which they are applied; so do
 * those in stored graphs that are called. Copies of the nodes draw the same, and so does every
 * turn of a loop. */
void graph_seed(graph *g, int64_t seed);

/* An input of a name and type (copied). No node and an error if the graph is full. */
value graph_input(graph *g, const char *name, const type *type, error *err);

/* A constant with the elements of t, whose buffer gets one more reference. */
value graph_constant(graph *g, const tensor *t, error *err);

/* The scalar constants of programs: weak if weak is set. */
value graph_scalar(graph *g, dtype dtype, const void *element, bool weak, error *err);

/* The value as seen in g: itself if it is g's own; if it belongs to an enclosing
 * graph, the input that stands for it, made when first asked for, through every
 * graph in between. */
value graph_capture(graph *g, value v, error *err);

/* Captures a value and makes it the next output of g. */
bool graph_capture_output(graph *g, value v, error *err);

/* Applies op to inputs and attributes (op->attr_count of them, converted) and sets
 * outputs, an array of OP_OUTPUTS; returns the node, whose output_count says how
 * many. The values may belong to enclosing graphs. A missing optional input is a
 * value without node. To an operation with sub-graphs give its own inputs only:
 * what the sub-graphs captured is added here, in the order of the attributes. NULL
 * and an error of op_infer, or ERR_GRAPH_SIZE, if that cannot be. Copies inputs and
 * attrs. */
node *graph_apply(graph *g, const op_def *op, const value *inputs, int count, const attr *attrs,
                  value *outputs, error *err);

/* Gives a node what is declared of another one, of as many outputs. */
void graph_copy_declared(node *to, const node *from);

/* Names a value for pictures and printed programs. */
void graph_name(value v, const char *name);

/* Appends an output. */
void graph_add_output(graph *g, value v);

/* ---- Asking ------------------------------------------------------------------ */

const type *value_type(value v);
bool value_equal(value a, value b);
bool type_equal(const type *a, const type *b);

/* The constant of a value, or NULL. Of an input that is a bare number, notes that it was asked. */
const tensor *value_constant(value v);

/* ---- Sub-graphs ---------------------------------------------------------------- */

/* How many of a sub-graph's inputs are parameters: the first ones, which stand for no
 * value of the enclosing graph. */
int graph_param_count(const graph *sub);

/* The types of the parameters that the function in attribute `function` of a call gets,
 * for the call's own inputs. *count of them, at most OP_OUTPUTS. */
bool graph_param_types(const op_def *op, const value *inputs, int input_count, const attr *attrs,
                       int function, type types[OP_OUTPUTS], int *count, error *err);

/* How many inputs a node has of its own, before what its sub-graphs captured. */
int graph_own_inputs(const node *n);

/* Where, among a node's inputs, what the function in attribute `function` captured begins. */
int graph_first_captured(const node *n, int function);

/* An empty sub-graph of g for the function in attribute `function` of n, whose inputs are
 * now `inputs`: with its parameters and what it captures, mapped from the old one's. */
graph *graph_begin_function(graph *g, const node *n, const value *inputs, int function,
                            graph_map **map, error *err);

/* ---- Operations written in the language --------------------------------------- */

/* Builds op->lower in g for these inputs and attributes and adds the results as g's
 * outputs. The module lang, which lies above, registers the function at start. */
typedef bool graph_expander(graph *g, const op_def *op, const value *inputs, int count,
                            const attr *attrs, error *err);
void graph_set_expander(graph_expander *expander);

/* ---- Copying ----------------------------------------------------------------- */

/* A map from the values of one graph to those of another. */
graph_map *graph_map_new(const graph *from, graph *to);
void graph_map_set(graph_map *m, value from, value to);
/* The value that `from` became; no node if it was not copied yet. */
value graph_map_get(const graph_map *m, value from);
/* Copies one node, its inputs being mapped already; types are inferred anew, those of
 * sub-graphs too. Inputs and constants are copied as such. */
bool graph_map_copy(graph_map *m, const node *n, error *err);
/* The node's attributes with their computed parts referring to the copies; a part that
 * became a constant becomes a plain integer. */
const attr *graph_map_attrs(const graph_map *m, const node *n);
/* Copies all of a graph's nodes that are not mapped yet. */
bool graph_map_all(graph_map *m, error *err);

/* ---- Parts ------------------------------------------------------------------- */

/* A value to be used wherever another one of the same graph is. */
typedef struct replacement {
    value from, to;
} replacement;

/* Copies to the empty graph `to` what g's outputs need once the replacements are made,
 * with those inputs, in their order, that are needed: needed[i] tells of g's i-th. Types
 * are inferred anew. ERR_CYCLE if the replacements make a value need itself. */
bool graph_extract(const graph *g, const replacement *list, int count, graph *to, bool *needed,
                   error *err);
