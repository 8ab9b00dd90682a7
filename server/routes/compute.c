/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/compute.h"

#include "engine/engine.h"
#include "server/routes/bindings.h"
#include "server/routes/source.h"
#include "server/routes/stored.h"

static bool build(source *from, graph *g, const char *program, const lang_scope *scope, budget *b,
                  int count, arena *a, error *err)
{
    wire_request *says = arena_alloc(a, sizeof *says);
    const source_options options = {.scope = scope, .mode = DECLARED_GIVEN, .budget = b};
    const char *const *names;
    const value *values;
    bool is_list;
    int found;

    says->program = program;
    if (!source_build(from, g, says, &options, err) ||
        !source_results(from, &found, &values, &names, &is_list, err))
        return false;
    for (int i = 0; i < count && i < found; i++)
        graph_add_output(g, values[i]);
    return found == count ||
           error_set(err, ERR_INTERNAL, "A program of the server's own gives %d results.", found);
}

static bool run(const services *s, const http_request *r, const graph *g, const bindings *names,
                budget *b, tensor *results, error *err)
{
    const config *c = s->config;
    const engine_options options = {
        .limits = {.peak_bytes = c->plan_bytes_max, .work = (double)c->work_max}, .optimize = true};
    const stop_sign stop = {.cancelled = &r->cancel,
                            .deadline_us = r->deadline_us,
                            .iterations_max = c->loop_iterations_max};
    tensor *tensors = bindings_tensors(names, g, NULL, err);
    engine_stats stats = {0};

    return tensors != NULL && engine_run(g, tensors, &options, b, &stop, results, &stats, err);
}

bool compute(services *s, http_request *r, const char *program, const wire_inputs *inputs,
             budget *b, tensor *results, int count, error *err)
{
    graph *g = graph_new(r->arena, NULL);
    source from = {0};
    lang_scope scope;
    bindings names;
    bool ok;

    bindings_init_take(&names, s, r->arena, stored_txn(s, r, DURABILITY_MEMORY), inputs, false, b);
    scope = bindings_scope(&names);
    ok = build(&from, g, program, &scope, b, count, r->arena, err) &&
         run(s, r, g, &names, b, results, err);
    graph_release(g);
    bindings_clear(&names);
    return ok;
}
