/* evaluate -- programs run from C tests: text in, tensors out. */
#pragma once

#include "engine/engine.h"
#include "engine/lang/lang.h"

typedef struct evaluation_input {
    const char *name;
    tensor value;
} evaluation_input;

/* What a program gave. Everything lives until evaluated_clear. */
typedef struct evaluated {
    arena *arena;
    graph *graph; /* as written */
    budget budget;
    int count;
    bool is_tuple;
    tensor *results;
    engine_stats stats;
    error err; /* set if it failed */
} evaluated;

/* How evaluate runs a program; all zero is the usual way. */
typedef struct evaluation_options {
    bool unoptimized;
    bool strict;
    int input_count;
    const evaluation_input *inputs;
    lang_dialect dialect;
    int64_t peak_bytes; /* limit; 0: 4 GiB */
    const sink *sinks;  /* as engine_options has them */
} evaluation_options;

/* Starts the engine once, with two threads or as many as TENSORD_THREADS says. */
void evaluate_init(void);

/* Builds and runs a program. options may be NULL. */
void evaluate(evaluated *e, const char *program, const evaluation_options *options);
/* Runs the graph of one evaluation once more, in another way. */
void evaluate_graph(evaluated *e, graph *g, const evaluation_options *options);
void evaluated_clear(evaluated *e);

/* All results as text in the language's form: type, shape and elements. */
const char *evaluated_text(evaluated *e);

/* Whether two tensors have the same type, shape and bits. */
bool same_bits(const tensor *a, const tensor *b);
