/* graph_private -- what the files that read graph JSON share. */
#pragma once

#include "server/wire/graph_json.h"

/* Where a reference leads: to an output of an item, or outside of the JSON. */
typedef struct place {
    int item; /* -1: outside */
    int output;
    value outside;
} place;

/* A graph object: the whole, or a sub-graph among a node's attributes, which is a function:
 * its items are built anew whenever it is called. Functions without an object are made of
 * dataflow nodes (graph_dataflow.c). */
typedef struct frame {
    struct reading *reading;
    int number;
    const wire_value *object;
    int outer;                /* the frame around it; -1 for the whole graph */
    int first, count;         /* its named nodes, among the items */
    int *params, param_count; /* its parameters, items too */
    size_t param_room;
    table names;        /* -> int, the index of an item */
    declared *declared; /* what is said of its parameters, or NULL */
    lang_native function;
    int *order, order_count; /* its items, each after those it needs */
    int output_count;
    place *outputs;
    graph *graph; /* that it is built in now */
} frame;

/* One argument of a node. */
typedef struct argument {
    const wire_value *written;
    bool missing;           /* null */
    const tensor *constant; /* or NULL, and */
    place place;
} argument;

typedef enum item_state { ITEM_NEW, ITEM_ENTERED, ITEM_DONE } item_state;

typedef enum item_kind {
    ITEM_OPERATION,
    ITEM_PARAMETER, /* of its frame, which sets its outputs */
    ITEM_ALIAS,     /* all its outputs are its argument 0; it is never built */
    ITEM_STRANDED,  /* in no branch or loop, and needs what is in one: never built */
    ITEM_CHOSEN     /* argument 0, and which one it is: 0 or 1 as argument 1 is true or not */
} item_kind;

/* Another frame that an item is built in. */
typedef struct also {
    int frame;
    struct also *next;
} also;

/* A node, named or written in place, or a parameter of a sub-graph. */
typedef struct item {
    const wire_value *object;
    const char *name; /* of the named node that it is or stands in */
    bool named;
    int frame;
    also *also;
    item_kind kind;
    const op_def *op; /* op_constant, too */
    bool flag;        /* ITEM_CHOSEN: the order of its sides */
    int argument_count;
    argument *arguments;
    int first_frame, frame_count; /* its sub-graphs, in the order of its attributes */
    int first_edge, last_edge;    /* to the items it needs: index + 1, 0 for none */
    item_state state;
    int output_count;
    value *outputs;
} item;

/* That an item needs an output of another one (-1: the item itself). */
typedef struct edge {
    int to, output;
    int next; /* the item's edge that was added next, as index + 1 */
} edge;

typedef struct reading {
    graph_json *json;
    arena *arena;
    frame **frames;
    item *items;
    edge *edges;
    int frame_count, item_count, edge_count;
    size_t frame_room, item_room, edge_room;
} reading;

/* Sets where the fault is: the pointer of v and the item's name. Returns false. */
bool reading_fault_at(const item *x, const wire_value *v, error *err);

/* Reads the reference in a string, seen from a frame; v is where it stands. */
bool reading_locate(reading *r, int frame, const wire_value *v, place *result, error *err);

/* The reference's text if v is a string or {"ref": string}; NULL if it is neither.
 * in_attrs: strings are texts there. */
const wire_value *reading_reference(const wire_value *v, bool in_attrs);

/* Adds what the references among an item's attributes need to its edges. */
bool reading_attr_references(reading *r, int at, error *err);

/* Item `from` needs an output of item `to`; -1: the item itself. */
void reading_add_edge(reading *r, int from, int to, int output);

/* The items in an order in which each comes after those it needs; NULL and ERR_CYCLE
 * if there is none. */
const int *reading_sort(reading *r, error *err);

/* Builds an item, all those it needs being built. */
bool reading_build(reading *r, int at, error *err);

/* Builds a frame's items in the graph that it has now. */
bool reading_build_frame(reading *r, const frame *f, error *err);

/* ---- graph_functions.c: sub-graphs ------------------------------------------------------ */

/* Reads the sub-graphs among an item's attributes. */
bool reading_functions(reading *r, int at, error *err);

/* Makes an item the next parameter of a frame. */
void reading_add_param(reading *r, int frame, int at);

/* Calls the operation of an item that takes functions. */
bool reading_build_functions(reading *r, item *x, error *err);

/* ---- graph_dataflow.h: switch, merge, enter, leave, next_iteration ------------------------- */

/* Makes while_loop and cond of the dataflow nodes among the items. ERR_ARGUMENT at the node
 * that does not fit. */
bool reading_dataflow(reading *r, error *err);

/* ---- graph_read.c: the lists ------------------------------------------------------------- */

/* A frame for an object, which may be NULL. */
frame *reading_new_frame(reading *r, const wire_value *object, int outer);

/* Adds a graph object and its named nodes; returns its frame, -1 on an error. */
int reading_add_frame(reading *r, const wire_value *object, int outer, error *err);

/* Adds an item. */
int reading_add_item(reading *r, const wire_value *object, const char *name, bool named, int frame);

/* Gives an item of a frame its name there. v is where that stands. */
bool reading_name_item(reading *r, int frame, const char *name, int at, const wire_value *v,
                       error *err);

/* The attributes of an item, as many as its operation has. */
attr *reading_attrs(reading *r, const item *x, error *err);

/* Whether all attributes are ones that the item's operation has. */
bool reading_check_attrs(const item *x, error *err);

/* What an attribute says, whatever the parameter takes. */
bool reading_attr(reading *r, const item *x, const wire_value *v, attr *result, error *err);

/* Whether the item has as many arguments as its operation takes. */
bool reading_check_count(const item *x, error *err);

/* The place that one leads to through items that stand for others. */
place reading_target(const reading *r, place p);

/* The value at a place whose item is built, to be used in g. False and ERR_ARGUMENT if the
 * item has fewer outputs, or is one of a function that g is not in. */
bool reading_value(reading *r, const place *p, graph *g, value *result, error *err);

/* Finds the outputs that a frame's object lists; their names as written, unless NULL. */
bool reading_outputs(reading *r, int frame, const char ***names, error *err);

/* Reads one argument of an item. */
bool reading_argument(reading *r, int at, const wire_value *v, argument *result, error *err);

/* ---- graph_call.c: operations whose meaning is a graph ---------------------------------- */

/* Reads the arguments of an item of such an operation: args by their place, attrs by
 * their names. */
bool reading_call_arguments(reading *r, int at, error *err);

/* Builds it. */
bool reading_build_call(reading *r, item *x, error *err);

/* What stands for a name outside of the graph's nodes. */
bool reading_external(graph_json *j, const char *name, value *result, error *err);

/* The value of an argument that is given. */
bool reading_argument_value(reading *r, const item *x, int i, value *result, error *err);
