/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/rewritten.h"

#include <string.h>

#include "engine/base/text.h"

static void keep(void *context, const rewrite_event *event)
{
    rewritten *r = context;

    if (r->event_count < EVENTS)
        r->events[r->event_count] = *event;
    r->event_count++;
}

void rewritten_init(rewritten *r, const char *program, const evaluation_input *inputs, int count,
                    rewrite_options options)
{
    const evaluation_options how = {.input_count = count, .inputs = inputs};

    memset(r, 0, sizeof *r);
    evaluate(&r->source, program, &how);
    r->arena = arena_new();
    r->options = options;
    r->options.log = keep;
    r->options.log_context = r;
    if (!error_is_set(&r->source.err))
        r->graph = rewrite_graph(r->source.graph, &r->options, r->arena, &r->source.err);
}

void rewritten_clear(rewritten *r)
{
    if (r->graph != NULL)
        graph_release(r->graph);
    arena_free(r->arena);
    evaluated_clear(&r->source);
}

int rewritten_count(const rewritten *r, const char *phase)
{
    int count = 0;

    for (int i = 0; i < r->event_count && i < EVENTS; i++)
        count += strcmp(r->events[i].phase, phase) == 0;
    return count;
}

const char *rewritten_operations(rewritten *r)
{
    const graph *g = r->graph;
    bool *needed = arena_array(r->arena, (size_t)g->count + 1, sizeof *needed);
    const char *result;
    text t;

    for (int i = 0; i < g->output_count; i++)
        needed[g->outputs[i].node->id] = true;
    for (int i = g->count - 1; i >= 0; i--)
        for (int k = 0; needed[i] && k < g->nodes[i]->input_count; k++)
            if (g->nodes[i]->inputs[k].node != NULL)
                needed[g->nodes[i]->inputs[k].node->id] = true;
    text_init(&t);
    for (int i = 0; i < g->count; i++)
        if (needed[i] && g->nodes[i]->op != &op_input && g->nodes[i]->op != &op_constant)
            text_addf(&t, "%s%s", t.length > 0 ? " " : "", g->nodes[i]->op->name);
    result = text_copy(&t, r->arena);
    text_clear(&t);
    return result;
}

tensor numbers_of(dtype t, int rank, int64_t rows, int64_t columns, int seed)
{
    const shape s = {.rank = rank, .length = {rows, columns, 1}};
    const int64_t n = shape_size(&s);
    error err = {0};
    tensor result;

    if (!tensor_new(&result, NULL, t, &s, &err))
        return (tensor){0};
    for (int64_t i = 0; i < n; i++) {
        double x[LANES] = {(double)((i * 7919 + seed * 104729) % 10007) / 5003.5 - 1};
        char element[LANES * 16];
        const void *in[] = {x};

        if (dtype_is_integer(t))
            x[0] = (double)(int)(x[0] * 9);
        kernel_cast(DT_F64, t)(LANES, element, in);
        memcpy((char *)tensor_bytes(&result) + (size_t)i * dtype_size(t), element, dtype_size(t));
    }
    return result;
}
