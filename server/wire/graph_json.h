/* graph_json -- graphs as JSON objects, and back.
 *
 *     {"inputs":  {"x": {"dtype": "float64", "shape": [null, "n"]}},
 *      "nodes":   {"h": {"op": "multiply", "args": ["x", 2.0]},
 *                  "s": {"op": "sum", "args": ["h"], "attrs": {"axis": 1}}},
 *      "outputs": ["s"],
 *      "params":  ["x"]}
 *
 * An argument is a reference ("h", or "q:1" for the second output of q, or {"ref":
 * "q:1"}), a weak scalar, a constant, a node written in place, or null for a tensor
 * that is left out. args are the operation's tensors only; the rest is in attrs, by
 * the parameters' names: a list is a tuple, {"ref": ..} a computed number. The operation
 * "constant" gives its one argument a name. Of a stored graph args are the inputs in its
 * order, attrs those that are given by name, and what is left out is the stored variable
 * of that name.
 *
 * A function among the attributes is a graph object, whose names reach into the graph
 * around it. "params" lists the names of its parameters; "inputs" may say their types,
 * and their names if there are no params:
 *
 *     {"op": "scan", "args": [0, "xs"], "attrs": {"f":
 *         {"params": ["c", "x"], "nodes": {"n": {"op": "add", "args": ["c", "x"]}},
 *          "outputs": ["n", "c"]}}}
 *
 * It gets all values one by one and gives them so: those that are carried, then others.
 * Instead of functions there may be the nodes of dataflow graphs, switch, merge, enter,
 * leave and next_iteration (graph_dataflow.h).
 *
 * Reading takes the order of nodes from their references, so the order in the text
 * is free; a cycle is an error that lists it. Nothing here recurs on what a caller
 * wrote: all nodes, however deep they stand, become one flat list first.
 *
 * Reading order: graph_json.h, declared.h, graph_private.h, graph_read.c, graph_functions.c,
 * graph_call.c, graph_dataflow.h, graph_dataflow.c, graph_loops.c, graph_branches.c, graph_sort.c,
 * graph_build.c, graph_attr.c, graph_write.c. */
#pragma once

#include "server/wire/declared.h"

/* What was read. Lives in the graph's arena. */
typedef struct graph_json {
    graph *graph;
    struct reading *reading; /* private: the nodes */
    declared declared;       /* "inputs", over the caller's scope */
    int output_count;
    const char **output_names; /* as written */
    value *outputs;
} graph_json;

/* Builds in g, which is empty, the graph that object describes. Names that are
 * neither nodes nor known to the graph come from scope (which may know more than the
 * declared inputs, and must live as long as result); mode says what happens to those that
 * are declared (declared.h). The graph's outputs are not added to g:
 * the caller chooses. False and an error with a JSON pointer, and the node's name
 * where there is one: ERR_MEMBER, ERR_REQUEST, ERR_NAME, ERR_UNKNOWN_OP,
 * ERR_UNKNOWN_NAME, ERR_UNKNOWN_ATTR, ERR_ARGUMENT, ERR_CYCLE, and those of
 * graph_apply. */
bool graph_json_read(graph *g, const wire_value *object, const lang_scope *scope,
                     declared_mode mode, graph_json *result, error *err);

/* The value that a reference names: of a node, an input, or what the scope knows. No
 * node if there is none (the caller says so); false and an error if it has no such
 * output or cannot be had. */
bool graph_json_find(graph_json *j, const char *reference, value *result, error *err);

/* Whether a node has the name. */
bool graph_json_has(const graph_json *j, const char *name);

/* The nearest name there is, or NULL. */
const char *graph_json_nearest(const graph_json *j, const char *name);

/* Adds the graph's JSON to t: reading that gives the same graph. */
void graph_json_write(const graph *g, text *t);
