/* library -- stored graphs, read for one request (private to routes).
 *
 * A stored graph is a text, the JSON that was put; what it means follows from the names
 * it uses: its declared inputs, stored variables, and other stored graphs, which it calls
 * as operations. Here such a text becomes a graph whose inputs are those it declares and
 * the variables it uses, and an operation that programs and graphs can call.
 *
 * All is read from one snapshot, each graph once. Graphs that call each other in a circle
 * are an error, and so are calls more than LIBRARY_DEPTH deep. */
#pragma once

#include "server/routes/routes.h"
#include "server/routes/source.h"
#include "storage/storage.h"

enum { LIBRARY_DEPTH = 32 };

typedef struct library {
    services *services;
    arena *arena;
    txn *txn;
    bool note_reads;                   /* a commit of txn rests on what was read */
    budget *budget;                    /* pays for constants */
    table ops;                         /* names -> op_def, what was read so far */
    const char *active[LIBRARY_DEPTH]; /* being built, each called by the one before */
    int depth;
    graph **graphs; /* all that were built */
    wire_reader **readers;
    size_t graph_count, graph_room, reader_count, reader_room;
} library;

void library_init(library *l, services *s, arena *a, txn *x, bool note_reads, budget *b);

/* Gives up what was built and read; no graph that has a node of it may be used again. */
void library_clear(library *l);

/* A stored graph built by itself: its outputs are those it gives. */
typedef struct library_graph {
    wire_request says;
    source source;
    graph *graph;
    int *order; /* of its inputs in calls */
} library_graph;

/* Reads a text that was stored, or is to be: a stored graph's JSON. */
bool library_read(library *l, const char *text, size_t n, wire_request *says, error *err);

/* The text of a stored graph, read. ERR_NOT_FOUND if there is none of this name. */
bool library_load(library *l, const char *name, wire_request *says, error *err);

/* Builds what result->says says, under a name by which it must not call itself. */
bool library_build(library *l, const char *name, library_graph *result, error *err);

/* Sets *result to the operation that a stored graph is; to NULL if there is no graph of
 * the name. An error of the graph itself says its name. */
bool library_find(library *l, const char *name, const op_def **result, error *err);

/* Says in an error that it is one of the stored graph, and not of the request, whose
 * places it forgets. False. */
bool library_blame(const char *name, error *err);
