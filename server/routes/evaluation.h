/* evaluation -- one eval or run request, from what it asks to its answer (private to
 * routes).
 *
 *   read     the request's members                             eval.c
 *   build    the program or graph, over the bindings           eval_run.c, source.c
 *   select   which values are wanted, and what for             eval_select.c
 *   replace  what is given in the place of values              eval_replace.c
 *   run      the engine                                        eval_run.c
 *   store    one transaction, a job's answer included          eval_store.c
 *   answer   in the format that was negotiated                 eval_answer.c, outcome.c
 *
 * A small program that comes again with other numbers is built and planned once, and
 * kept: eval_kept.c.
 *
 * Every value that is wanted is an output of the graph; here they are known by their
 * index among those. */
#pragma once

#include "engine/engine.h"
#include "server/jobs/jobs.h"
#include "server/routes/bindings.h"
#include "server/routes/body.h"
#include "server/routes/outcome.h"
#include "server/routes/source.h"

/* A value that goes to storage while it is computed. */
typedef struct taking {
    const struct evaluation *of;
    incoming *incoming; /* NULL: it is a tensor after all */
} taking;

typedef struct kept kept;

typedef struct evaluation {
    services *services;
    http_request *request;
    arena *arena;   /* of the graph and what is found out about it */
    budget *budget; /* pays for constants */
    kept *kept;     /* what the graph is borrowed from; NULL: it was built */
    wire_format format;
    int64_t started_us;
    wire_request asked;
    const char *stored_name; /* of the graph that is run; NULL: the request says it all */
    wire_request says;       /* what is evaluated: asked, or what the stored graph says */
    const snapshot *base;    /* what is stored, to this evaluation */
    bindings bindings;
    lang_scope scope;
    graph *graph;
    source source;
    size_t replacement_count;
    replacement *replacements;
    graph *whole;    /* as built, if graph is a part of it now */
    tensor *tensors; /* that graph's inputs are run with; borrowed */

    outcome gives; /* its tensors are the first outputs of the graph */
    int *printed;  /* of each printed item; -1: it has no value */
    bool writes;
    int stored_count;
    wanted *stored; /* under which names */
    durability durability;
    taking *takings;                /* by output of the graph; NULL: none is taken */
    const commit_result *committed; /* NULL: nothing was */
    tensor *values;                 /* of the graph's outputs, once it ran */
    job *job;                       /* that is done; NULL: the answer is waited for */
    engine_stats stats;
} evaluation;

/* Whether what is asked changes what is stored. */
bool evaluation_writes(const evaluation *e);

/* Whether the caller's token lets it do that; ERR_FORBIDDEN otherwise. */
bool evaluation_is_allowed(const evaluation *e, error *err);

/* Does what is asked, whose request is read, and answers. While the connection's thread is
 * trying, that is only what is small and reads nothing that is stored. */
bool evaluation_perform(const evaluation *asked, error *err);

/* An empty graph, and the bindings. */
void evaluation_begin(evaluation *e);

/* Builds the program over the bindings, selects what is wanted of it and finds what it is run
 * with. */
bool evaluation_build(evaluation *e, error *err);

/* Takes the graph from what is kept of the program, with what it is run with; false if it is to
 * be built. What was taken is given back by evaluation_give_back. */
bool evaluation_take_kept(evaluation *e);
prepared *evaluation_prepared(const evaluation *e);
void evaluation_give_back(evaluation *e);

/* Finds what the request gives in the place of values that the text computes. */
bool evaluation_find_givens(evaluation *e, error *err);

/* Makes the wanted values outputs of the graph. ERR_UNKNOWN_NAME with the nearest name;
 * ERR_ACCEPT if the answer's format cannot say what is wanted. */
bool evaluation_select(evaluation *e, error *err);

/* Makes what is to be stored outputs of the graph, and notes what is to be deleted. */
bool evaluation_select_stored(evaluation *e, error *err);

/* Takes from the graph what its outputs need, with the replacements made, and finds what
 * its inputs are run with. */
bool evaluation_replace(evaluation *e, error *err);

/* Who takes what is only stored while it is computed, by output of the graph; NULL if nobody
 * does. */
const sink *evaluation_sinks(evaluation *e);

/* Gives up what was taken and not committed. */
void evaluation_drop_taken(evaluation *e);

/* Commits what is to be stored and deleted, if anything. */
bool evaluation_store(evaluation *e, error *err);

/* Writes what the answer has besides tensors, now that all is done. */
void evaluation_tell(evaluation *e);

/* Sets the answer. */
bool evaluation_answer(evaluation *e, error *err);
