/* program -- programs built into graphs, for tests.
 *
 * Everything a program makes lives until program_clear. The inputs that exist are
 * those of the table below. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/lang/lang.h"

typedef struct program {
    arena *arena;
    graph *graph;
    lang_program says;
    error err;
    bool ok;
    text printed; /* the graph as a program */
} program;

static const struct program_input {
    const char *name;
    dtype dtype;
    int rank;
    int64_t lengths[3];
} program_inputs[] = {
    {"x", DT_F64, 2, {2, 3}},  {"w", DT_F64, 2, {3, 2}},
    {"v", DT_F32, 1, {3}},     {"n", DT_I64, 0, {0}},
    {"p", DT_BOOL, 0, {0}},    {"m", DT_BOOL, 1, {2}},
    {"i8", DT_I8, 1, {3}},     {"u", DT_F64, 2, {LENGTH_UNKNOWN, 3}},
    {"alpha", DT_F64, 0, {0}},
};

static inline bool program_resolve(void *context, graph *g, const char *name, value *result,
                                   error *err)
{
    (void)context;
    for (size_t i = 0; i < sizeof program_inputs / sizeof *program_inputs; i++) {
        const struct program_input *in = &program_inputs[i];
        type t = {.dtype = in->dtype, .shape = {.rank = in->rank}};

        if (strcmp(in->name, name) != 0)
            continue;
        memcpy(t.shape.length, in->lengths, sizeof in->lengths);
        *result = graph_input(g, name, &t, err);
        return result->node != NULL;
    }
    return true;
}

static inline const char *program_nearest(void *context, const char *name)
{
    (void)context;
    return text_distance(name, "alpha", 2) <= 2 ? "alpha" : NULL;
}

/* Builds a program; its results become the outputs of the graph. */
static inline void program_build(program *p, lang_dialect dialect, const char *words)
{
    const lang_options options = {.dialect = dialect};
    const lang_scope scope = {.resolve = program_resolve, .nearest = program_nearest};

    *p = (program){.arena = arena_new()};
    text_init(&p->printed);
    p->graph = graph_new(p->arena, NULL);
    p->ok = lang_build(p->graph, words, strlen(words), &options, &scope, &p->says, &p->err);
    for (int i = 0; p->ok && i < p->says.result_count; i++)
        graph_add_output(p->graph, p->says.results[i]);
    if (p->ok)
        lang_print(p->graph, &p->printed);
}

static inline void program_clear(program *p)
{
    text_clear(&p->printed);
    graph_release(p->graph);
    arena_free(p->arena);
}

/* The program builds the graph that prints so. */
static inline void program_gives(const char *words, const char *printed)
{
    program p;

    program_build(&p, LANG_NUMPY, words);
    if (!p.ok)
        fail_msg("%s\n%s", words, p.err.detail);
    assert_string_equal(p.printed.bytes, printed);
    program_clear(&p);
}
