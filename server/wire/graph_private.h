/* graph_private -- what the files that read graph JSON share. */
#pragma once

#include "server/wire/graph_json.h"

/* A graph object: the whole, or a sub-graph among a node's attributes. */
typedef struct frame {
    const wire_value *object;
    int outer;        /* the frame around it; -1 for the whole graph */
    int first, count; /* its named nodes, among the items */
    table names;      /* -> int, the index of an item */
    graph *graph;
} frame;

/* Where a reference leads: to an output of an item, or outside of the JSON. */
typedef struct place {
    int item; /* -1: outside */
    int output;
    value outside;
} place;

/* One argument of a node. */
typedef struct argument {
    const wire_value *written;
    bool missing;           /* null */
    const tensor *constant; /* or NULL, and */
    place place;
} argument;

typedef enum item_state { ITEM_NEW, ITEM_ENTERED, ITEM_DONE } item_state;

/* A node, named or written in place. */
typedef struct item {
    const wire_value *object;
    const char *name; /* of the named node that it is or stands in */
    bool named;
    int frame;
    const op_def *op; /* op_constant, too */
    int argument_count;
    argument *arguments;
    int first_frame, frame_count; /* its sub-graphs, in the order of its parameters */
    int first_edge, edge_count;   /* the items it needs */
    item_state state;
    int output_count;
    value *outputs;
} item;

typedef struct reading {
    graph_json *json;
    arena *arena;
    frame *frames;
    item *items;
    int *edges;
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

/* Item `from` needs item `to`. Only while `from` is being read. */
void reading_add_edge(reading *r, int from, int to);

/* The items in an order in which each comes after those it needs; NULL and ERR_CYCLE
 * if there is none. */
const int *reading_sort(reading *r, error *err);

/* Builds an item, all those it needs being built. */
bool reading_build(reading *r, int at, error *err);

/* The attributes of an item, as many as its operation has. */
attr *reading_attrs(reading *r, item *x, error *err);

/* The value at a place whose item is built. False and ERR_ARGUMENT if the item has
 * fewer outputs. */
bool reading_value(reading *r, const place *p, value *result, error *err);

/* The outputs that a frame's object lists: how many, their places and names. */
bool reading_outputs(reading *r, int frame, int *count, place **places, const char ***names,
                     error *err);

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
