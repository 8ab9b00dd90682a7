/* bindings -- what the names of a program or graph stand for (private to routes).
 *
 * A name that a program does not assign is, in this order, an input of the request or
 * a stored variable. Inputs become inputs of the graph, whose types alone matter while
 * it is built; bare numbers become weak constants, since their values decide types. */
#pragma once

#include "engine/base/table.h"
#include "engine/lang/lang.h"
#include "server/routes/routes.h"
#include "server/wire/wire.h"
#include "storage/storage.h"

typedef struct bindings {
    services *services;
    arena *arena;
    txn *txn;        /* reads stored variables, all from one snapshot */
    bool note_reads; /* a commit of txn rests on what was read */
    const wire_inputs *inputs;
    table by_name;   /* of inputs */
    tensor *tensors; /* what the graph's inputs are run with, in their order */
    size_t count, room;
} bindings;

void bindings_init(bindings *b, services *s, arena *a, const wire_inputs *inputs, durability d);

/* Gives up what was taken from storage, and the transaction. */
void bindings_clear(bindings *b);

/* Whether a name is an input or a stored variable. */
bool bindings_has(const bindings *b, const char *name);

/* The scope in which programs and graphs find their names. */
lang_scope bindings_scope(bindings *b);
