/* SPDX-License-Identifier: Apache-2.0 */
/* One evaluation, from the text that is evaluated to the answer; again if it must be. */
#include <inttypes.h>
#include <string.h>

#include "engine/base/clock.h"
#include "server/routes/evaluation.h"
#include "server/routes/stored.h"

enum { TRIES_MAX = 4 };

/* What a connection's thread tries: some ten microseconds of work. */
enum { TRIED_NODES = 64, TRIED_WORK = 10000, TRIED_BYTES = 1 << 20, TRIED_ITERATIONS = 100 };

/* A limit, which is lower for what is tried. */
static int64_t at_most(int64_t limit, bool tried, int64_t tried_limit)
{
    return tried && tried_limit < limit ? tried_limit : limit;
}

/* ---- Building ----------------------------------------------------------------------------- */

/* What a program deletes without having assigned it must be there. */
static bool check_deleted(evaluation *e, error *err)
{
    const lang_program *p = &e->source.program;

    for (int i = 0; i < p->deleted_count; i++) {
        const lang_name *n = &p->deleted[i];

        if (bindings_has(&e->bindings, n->name))
            continue;
        error_set(err, ERR_UNKNOWN_NAME, "the name '%s' is not known", n->name);
        error_suggest(err, source_nearest(&e->source, n->name));
        error_at_text(err, e->says.program, n->offset);
        return error_at_pointer(err, "/program");
    }
    return true;
}

/* What is to be evaluated: the request itself, or what a stored graph says. */
static bool load(evaluation *e, error *err)
{
    if (e->stored_name != NULL)
        return library_load(&e->bindings.library, e->stored_name, &e->says, err);
    e->says = e->asked;
    return true;
}

static bool build_source(evaluation *e, error *err)
{
    const source_options options = {.scope = &e->scope,
                                    .mode = e->stored_name != NULL ? DECLARED_OPEN : DECLARED_GIVEN,
                                    .budget = e->budget,
                                    .has_seed = e->asked.has_seed,
                                    .seed = e->asked.seed};

    if (!source_build(&e->source, e->graph, &e->says, &options, err))
        return e->stored_name != NULL && library_blame(e->stored_name, err);
    return e->says.program == NULL || check_deleted(e, err);
}

static bool build(evaluation *e, error *err)
{
    const int64_t start = clock_us(), nodes = at_most(e->services->config->graph_nodes_max,
                                                      e->request->trying, TRIED_NODES);
    bool ok;

    e->scope = bindings_scope(&e->bindings);
    e->graph->node_limit = nodes < INT32_MAX ? (int)nodes : INT32_MAX;
    ok = load(e, err) && build_source(e, err);
    http_spent(e->request, PHASE_PARSE, clock_us() - start);
    return ok;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* What is answered is bound by a limit; what is stored, by the quota alone. */
static bool check_result(const evaluation *e, const shape *s, dtype t, error *err)
{
    const int64_t limit = e->services->config->result_bytes_max;
    char text[SHAPE_TEXT_MAX];
    int64_t bytes;

    if (!shape_is_known(s) ||
        (!__builtin_mul_overflow(shape_size(s), (int64_t)dtype_size(t), &bytes) && bytes <= limit))
        return true;
    return error_set_limit(err, ERR_RESULT_SIZE, limit, bytes,
                           "A result of shape %s and type %s has more bytes than the limit of "
                           "%" PRId64 ".",
                           shape_print(s, text), dtype_name(t), limit);
}

static bool check_results(const evaluation *e, bool have_run, error *err)
{
    for (int i = 0; i < e->gives.tensor_count; i++) {
        const type *t = value_type(e->graph->outputs[i]);

        if (!check_result(e, have_run ? &e->values[i].shape : &t->shape, t->dtype, err))
            return false;
    }
    return true;
}

/* What was computed from files that could not be read is nothing. */
static bool check_inputs(const evaluation *e, error *err)
{
    for (int i = 0; i < e->graph->input_count; i++) {
        const char *name = e->graph->inputs[i].node->name;
        const entry *stored;

        if (e->tensors[i].buf == NULL || !buffer_is_lost(e->tensors[i].buf))
            continue;
        stored = snapshot_find(txn_base(e->bindings.txn), name);
        return stored != NULL
                   ? entry_lost(stored, err)
                   : error_set(err, ERR_INTEGRITY, "The file of '%s' could not be read.", name);
    }
    return true;
}

/* Not 0 once the evaluation is to stop. */
static const _Atomic int *evaluation_cancelled(const evaluation *e)
{
    return e->job != NULL ? job_cancelled(e->job) : &e->request->cancel;
}

static bool run(evaluation *e, error *err)
{
    const config *c = e->services->config;
    http_request *r = e->request;
    const int64_t work = e->job != NULL ? c->job_work_max : c->work_max;
    const engine_options options = {
        .limits = {.peak_bytes = at_most(c->plan_bytes_max, r->trying, TRIED_BYTES),
                   .work = (double)at_most(work, r->trying, TRIED_WORK)},
        .sinks = evaluation_sinks(e),
        .strict = e->asked.strict,
        .optimize = e->asked.optimize,
        .dry_run = e->asked.dry_run,
    };
    const stop_sign stop = {
        .cancelled = evaluation_cancelled(e),
        .deadline_us = r->deadline_us,
        .iterations_max = at_most(c->loop_iterations_max, r->trying, TRIED_ITERATIONS),
        .progress = e->job != NULL ? job_progress(e->job) : NULL,
    };
    tensor *values = arena_array(r->arena, (size_t)e->graph->output_count + 1, sizeof *values);
    bool ok;

    if (!check_results(e, false, err))
        return false;
    ok = e->kept != NULL
             ? engine_run_prepared(evaluation_prepared(e), e->tensors, &options, e->budget, &stop,
                                   values, &e->stats, err)
             : engine_run(e->graph, e->tensors, &options, e->budget, &stop, values, &e->stats, err);
    http_spent(r, PHASE_PLAN, e->stats.plan_us);
    http_spent(r, PHASE_RUN, e->stats.run_us + 1);
    if (ok)
        e->values = e->gives.tensors = values;
    ok = ok && check_inputs(e, err);
    return ok && check_results(e, true, err);
}

/* ---- The whole --------------------------------------------------------------------------------
 */

static void release(evaluation *e)
{
    text_clear(&e->gives.rest);
    evaluation_drop_taken(e);
    for (int i = 0; e->values != NULL && i < e->graph->output_count; i++)
        tensor_unref(&e->values[i]);
    if (e->kept != NULL) {
        evaluation_give_back(e);
        return;
    }
    graph_release(e->graph);
    if (e->whole != NULL)
        graph_release(e->whole);
    bindings_clear(&e->bindings);
}

bool evaluation_writes(const evaluation *e)
{
    return e->asked.store_all || e->asked.store.count > 0 || e->asked.updates.count > 0 ||
           e->asked.delete.count > 0;
}

void evaluation_begin(evaluation *e)
{
    http_request *r = e->request;

    e->graph = graph_new(e->arena, NULL);
    bindings_init_take(&e->bindings, e->services, e->arena,
                       stored_txn(e->services, r, e->durability),
                       e->stored_name != NULL ? &e->asked.feeds : &e->asked.inputs,
                       e->asked.isolation == WIRE_SERIALIZABLE && e->writes, e->budget);
    e->bindings.feeds = e->stored_name != NULL;
    e->bindings.inputs_only = r->trying;
    e->base = txn_base(e->bindings.txn);
}

bool evaluation_build(evaluation *e, error *err)
{
    return build(e, err) && evaluation_find_givens(e, err) && evaluation_select(e, err) &&
           evaluation_replace(e, err);
}

bool evaluation_is_allowed(const evaluation *e, error *err)
{
    return !evaluation_writes(e) || auth_check_scope(route_caller(e->request), SCOPE_WRITE, err);
}

/* One try. What the request says is read already. */
static bool evaluate(evaluation *e, error *err)
{
    static const durability levels[] = {[WIRE_DISK] = DURABILITY_DISK,
                                        [WIRE_PROCESS] = DURABILITY_PROCESS,
                                        [WIRE_MEMORY] = DURABILITY_MEMORY};
    bool ok;

    e->arena = e->request->arena;
    e->budget = &body_of(e->request)->budget;
    e->writes = evaluation_writes(e);
    e->durability = levels[e->asked.durability];
    if (e->job != NULL)
        run_progress_restart(job_progress(e->job));
    if (!evaluation_take_kept(e))
        evaluation_begin(e);
    ok = evaluation_is_allowed(e, err) && (e->kept != NULL || evaluation_build(e, err)) &&
         run(e, err) && evaluation_store(e, err) && evaluation_answer(e, err);
    release(e);
    return ok;
}

/* An evaluation that somebody overtook is done again, on what is there then. */
static bool try_again(const evaluation *e, int tries, error *err)
{
    if (err->kind != ERR_CONFLICT || tries >= TRIES_MAX || *evaluation_cancelled(e) != 0)
        return false;
    error_clear(err);
    return true;
}

bool evaluation_perform(const evaluation *asked, error *err)
{
    evaluation *e = arena_alloc(asked->request->arena, sizeof *e);
    int tries = 0;

    do
        *e = *asked;
    while (!evaluate(e, err) && try_again(e, ++tries, err));
    return !error_is_set(err);
}
