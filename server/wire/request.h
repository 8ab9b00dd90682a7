/* request -- what eval, run and grad requests say, as plain C.
 *
 * The members a request object may have are the rows of members in request.c; one
 * that is not there is refused with the nearest known name. What a request leaves
 * out has the value that the comment here names. Names are in normal form and
 * were checked; everything lives in the arena of the document. A graph stays a
 * value: who builds graphs walks it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "server/wire/value.h"

/* A tensor given to a program or graph under a name. */
typedef struct wire_input {
    const char *name;
    const wire_value *value; /* where it stands, for complaints */
    const tensor *tensor;    /* borrowed from the reader */
} wire_input;

/* A result stored, or a variable updated: stored name = what the program calls it. */
typedef struct wire_assignment {
    const char *stored, *name;
    const wire_value *value;
} wire_assignment;

typedef struct wire_inputs {
    size_t count;
    wire_input *items;
} wire_inputs;

typedef struct wire_names {
    size_t count;
    const char **items;
} wire_names;

typedef struct wire_assignments {
    size_t count;
    wire_assignment *items;
} wire_assignments;

typedef enum wire_dialect { WIRE_NUMPY, WIRE_SMALL } wire_dialect;
typedef enum wire_durability { WIRE_DISK, WIRE_PROCESS, WIRE_MEMORY } wire_durability;
typedef enum wire_isolation { WIRE_SERIALIZABLE, WIRE_SNAPSHOT } wire_isolation;

typedef struct wire_request {
    /* eval, and a graph to be stored: exactly one of the first two */
    const char *program;     /* NULL */
    const wire_value *graph; /* NULL; an object */
    wire_inputs inputs;      /* none; eval only */
    wire_names outputs;      /* none */
    wire_dialect dialect;    /* numpy */
    /* a program to be stored */
    const wire_value *declared; /* "inputs": NULL; an object */
    wire_names results;         /* "outputs"; none: the value of the last expression */
    wire_names params;          /* of a graph too; none: in the order of their appearance */
    /* run */
    wire_inputs feeds;        /* none */
    wire_names fetches;       /* none: the graph's outputs */
    wire_assignments updates; /* none */
    /* grad */
    const char *of, *as; /* NULL */
    wire_names wrt;      /* none */
    /* eval and run */
    wire_assignments store;      /* none */
    bool store_all;              /* false: "store" was "all" */
    wire_names delete;           /* none */
    const wire_value *givens;    /* NULL; an object */
    bool dry_run, strict, trace; /* false */
    bool optimize;               /* true */
    bool has_seed;
    int64_t seed;
    int64_t timeout_ms;         /* 0: the server's limit; at least 1 otherwise */
    wire_durability durability; /* disk */
    wire_isolation isolation;   /* serializable */
} wire_request;

/* Each reads the request in root, an object; a is the document's arena. False and
 * ERR_MEMBER, ERR_REQUEST, ERR_NAME with a pointer. */

/* An eval request; program is what the query says (?program=), or NULL. */
bool wire_read_eval(const wire_value *root, const char *program, arena *a, wire_request *result,
                    error *err);
/* A graph to be stored, or stored. */
bool wire_read_graph(const wire_value *root, arena *a, wire_request *result, error *err);
bool wire_read_run(const wire_value *root, arena *a, wire_request *result, error *err);
bool wire_read_grad(const wire_value *root, arena *a, wire_request *result, error *err);

/* Whether the members of object are all among names (count of them); false and
 * ERR_MEMBER with the nearest one otherwise. what names the object's kind in the
 * message: "a node". For other readers of documents. */
bool wire_known_members(const wire_value *object, const char *const *names, size_t count,
                        const char *what, error *err);
