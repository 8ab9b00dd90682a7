/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tests/fuzz/targets.h"
#include "tests/fuzz/targets/sentences.h"
#include "tests/lib/evaluate.h"

/* Plans the graph as it would be run. */
static void plan_graph(graph *g, bool optimize)
{
    static const stop_sign never = {0};
    const engine_options how = {
        .limits = {.peak_bytes = 64 << 20, .work = 1e9}, .optimize = optimize, .dry_run = true};
    tensor *outputs = arena_array(g->arena, (size_t)g->output_count + 1, sizeof *outputs);
    error err = {0};
    engine_stats stats;
    budget b;

    budget_init(&b, 64 << 20);
    if (engine_run(g, NULL, &how, &b, &never, outputs, &stats, &err))
        target_check(stats.peak_bytes >= 0 && stats.work >= 0, "a plan has a peak and work");
    target_check(b.used == 0, "planning gives its memory back");
}

/* What the views of stored graphs do with it. */
static void outline(graph *g)
{
    arena *a = arena_new();
    error err = {0};
    graph *optimized = engine_optimized(g, false, NULL, NULL, a, &err);

    if (optimized != NULL) {
        engine_outline(optimized, a);
        graph_release(optimized);
    }
    arena_free(a);
}

void target_plan(const uint8_t *bytes, size_t n)
{
    const lang_options options = {.dialect = LANG_NUMPY};
    supply s = {bytes, bytes + n};
    arena *a = arena_new();
    graph *g = graph_new(a, NULL);
    lang_program built = {0};
    error err = {0};
    text program;

    evaluate_init();
    text_init(&program);
    sentences_add(&s, true, &program);
    if (lang_build(g, program.bytes, program.length, &options, NULL, &built, &err)) {
        for (int i = 0; i < built.result_count; i++)
            graph_add_output(g, built.results[i]);
        plan_graph(g, true);
        plan_graph(g, false);
        outline(g);
    }
    text_clear(&program);
    graph_release(g);
    arena_free(a);
}
