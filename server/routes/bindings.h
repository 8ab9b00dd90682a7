/* bindings -- what the names of a program or graph stand for (private to routes).
 *
 * A name that a program does not assign is, in this order, an input of the request or
 * a stored variable. Inputs become inputs of the graph, whose types alone matter while
 * it is built; bare numbers become weak constants, since their values decide types. A
 * name that is called and is no operation may be a stored graph. */
#pragma once

#include "engine/base/table.h"
#include "engine/lang/lang.h"
#include "server/routes/library.h"
#include "server/routes/routes.h"
#include "server/wire/wire.h"
#include "storage/storage.h"

/* A tensor that an input of the graph is run with. */
typedef struct bound {
    const node *node;
    tensor tensor;
} bound;

typedef struct bindings {
    services *services;
    arena *arena;
    txn *txn;         /* reads stored variables, all from one snapshot */
    bool note_reads;  /* a commit of txn rests on what was read */
    bool feeds;       /* inputs go before stored variables in the calls of a graph, too: they
                         are those of all that is run */
    bool inputs_only; /* nothing is taken from storage: where it would be, an error */
    bool types_only;  /* what is built is run with other inputs of these types, too */
    const wire_inputs *inputs;
    table by_name;   /* of inputs */
    table given;     /* names of inputs that the graph asked for -> values */
    table variables; /* names -> values, of those that were read */
    library library;
    bound *bound; /* in the order of the graph's inputs */
    size_t count, room;
    const char **missed; /* names looked for in storage that are not there */
    size_t missed_count, missed_room;
} bindings;

/* What names stand for that a request has as inputs, or that x reads, which is taken over.
 * budget pays for stored graphs. */
void bindings_init_take(bindings *b, services *s, arena *a, txn *x, const wire_inputs *inputs,
                        bool note_reads, budget *budget);

/* Gives up what was taken from storage, and the transaction. */
void bindings_clear(bindings *b);

/* Whether a name is an input or a stored variable. */
bool bindings_has(const bindings *b, const char *name);

/* Whether t, a bare number, is a constant of what is built, rather than an input. */
bool bindings_fixed(const bindings *b, const tensor *t);

/* Makes a tensor, or bare number, a value of the graph. */
bool bindings_add(bindings *b, graph *g, const char *name, const tensor *t, value *result,
                  error *err);

/* What the inputs of g are run with, in their order: those of g that needed marks (NULL:
 * all). ERR_UNKNOWN_NAME if one of them was not given. The tensors are borrowed. */
tensor *bindings_tensors(const bindings *b, const graph *g, const bool *needed, error *err);

/* The scope in which programs and graphs find their names. */
lang_scope bindings_scope(bindings *b);
