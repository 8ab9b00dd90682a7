/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/evaluate.h"

#include <stdlib.h>
#include <string.h>

void evaluate_init(void)
{
    static bool started;
    const char *threads = getenv("TENSORD_THREADS");

    if (started)
        return;
    started = true;
    engine_init(threads != NULL ? atoi(threads) : 2);
    lang_init();
}

/* The inputs of an evaluation while its program is built. */
typedef struct scope {
    const evaluation_options *options;
} scope;

static bool resolve(void *context, graph *g, const char *name, value *result, error *err)
{
    const evaluation_options *options = ((scope *)context)->options;

    *result = (value){0};
    for (int i = 0; options != NULL && i < options->input_count; i++) {
        const tensor *t = &options->inputs[i].value;
        const type of = {.dtype = t->dtype, .shape = t->shape};

        if (strcmp(options->inputs[i].name, name) != 0)
            continue;
        *result = graph_input(g, name, &of, err);
        return result->node != NULL;
    }
    return true;
}

/* The inputs in the order in which the graph has them. */
static const tensor *inputs_of(arena *a, const graph *g, const evaluation_options *options)
{
    tensor *inputs = arena_array(a, (size_t)g->input_count + 1, sizeof *inputs);

    for (int i = 0; i < g->input_count; i++)
        for (int k = 0; options != NULL && k < options->input_count; k++)
            if (strcmp(options->inputs[k].name, g->inputs[i].node->name) == 0)
                inputs[i] = options->inputs[k].value;
    return inputs;
}

void evaluate_graph(evaluated *e, graph *g, const evaluation_options *options)
{
    static const stop_sign never = {0};
    const int64_t peak =
        options != NULL && options->peak_bytes > 0 ? options->peak_bytes : (int64_t)1 << 32;
    const engine_options how = {
        .limits = {.peak_bytes = peak, .result_bytes = (int64_t)1 << 30, .work = 1e11},
        .optimize = options == NULL || !options->unoptimized,
        .sinks = options != NULL ? options->sinks : NULL,
        .strict = options != NULL && options->strict};

    for (int i = 0; i < e->count; i++)
        tensor_unref(&e->results[i]);
    budget_init(&e->budget, (int64_t)1 << 32);
    e->count = 0;
    e->results = arena_array(e->arena, (size_t)g->output_count + 1, sizeof *e->results);
    if (engine_run(g, inputs_of(e->arena, g, options), &how, &e->budget, &never, e->results,
                   &e->stats, &e->err))
        e->count = g->output_count;
}

void evaluate(evaluated *e, const char *program, const evaluation_options *options)
{
    lang_options building = {.dialect = options != NULL ? options->dialect : LANG_NUMPY};
    scope names = {options};
    const lang_scope from = {.context = &names, .resolve = resolve};
    lang_program built = {0};

    evaluate_init();
    memset(e, 0, sizeof *e);
    e->arena = arena_new();
    e->graph = graph_new(e->arena, NULL);
    if (!lang_build(e->graph, program, strlen(program), &building, &from, &built, &e->err))
        return;
    e->is_tuple = built.is_tuple;
    for (int i = 0; i < built.result_count; i++)
        graph_add_output(e->graph, built.results[i]);
    evaluate_graph(e, e->graph, options);
}

void evaluated_clear(evaluated *e)
{
    for (int i = 0; i < e->count; i++)
        tensor_unref(&e->results[i]);
    if (e->graph != NULL)
        graph_release(e->graph);
    arena_free(e->arena);
    memset(e, 0, sizeof *e);
}

const char *evaluated_text(evaluated *e)
{
    const char *result;
    text t;

    text_init(&t);
    if (error_is_set(&e->err))
        text_addf(&t, "error %s: %s", error_info_of(e->err.kind)->code, e->err.detail);
    for (int i = 0; i < e->count; i++) {
        char shape[SHAPE_TEXT_MAX];

        text_addf(&t, "%s%s %s ", i > 0 ? "; " : "", dtype_name(e->results[i].dtype),
                  shape_print(&e->results[i].shape, shape));
        lang_show_lists(&e->results[i], &t);
    }
    result = text_copy(&t, e->arena);
    text_clear(&t);
    return result;
}

bool same_bits(const tensor *a, const tensor *b)
{
    const size_t n = (size_t)tensor_nbytes(a);
    char *x = malloc(n + 1), *y = malloc(n + 1);
    bool same = a->dtype == b->dtype && shape_equal(&a->shape, &b->shape);

    if (same) {
        tensor_copy_dense(a, x);
        tensor_copy_dense(b, y);
        same = memcmp(x, y, n) == 0;
    }
    free(x);
    free(y);
    return same;
}
