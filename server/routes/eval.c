/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "engine/base/clock.h"
#include "server/routes/evaluation.h"
#include "server/routes/handlers.h"

enum { TRIES_MAX = 4 };

bool eval_open(services *s, http_request *r, error *err)
{
    return body_open(s, r, WIRE_EVAL_BODY, err);
}

/* ---- Reading ---------------------------------------------------------------------------- */

static bool not_yet(const char *member, error *err)
{
    error_set(err, ERR_NOT_IMPLEMENTED, "'%s' is not implemented.", member);
    return error_at_pointer(err, "/%s", member);
}

/* Brings the request's deadline forward, if it asks for that. */
static void set_deadline(http_request *r, int64_t timeout_ms)
{
    const int64_t now = clock_us();

    if (timeout_ms > 0 && timeout_ms < (r->deadline_us - now) / 1000)
        r->deadline_us = now + timeout_ms * 1000;
}

static bool read_request(evaluation *e, error *err)
{
    http_request *r = e->request;

    if (!wire_read_eval(body_root(r), http_query(r, "program"), r->arena, &e->asked, err))
        return false;
    if (e->asked.givens != NULL)
        return not_yet("givens", err);
    if (e->asked.trace)
        return not_yet("trace", err);
    set_deadline(r, e->asked.timeout_ms);
    return true;
}

/* ---- Building ----------------------------------------------------------------------------- */

/* What a program deletes without having assigned it must be there. */
static bool check_deleted(evaluation *e, const lang_scope *scope, error *err)
{
    for (int i = 0; i < e->program.deleted_count; i++) {
        const lang_name *n = &e->program.deleted[i];

        if (bindings_has(&e->bindings, n->name))
            continue;
        error_set(err, ERR_UNKNOWN_NAME, "the name '%s' is not known", n->name);
        error_suggest(err, scope->nearest(scope->context, n->name));
        error_at_text(err, e->asked.program, n->offset);
        return error_at_pointer(err, "/program");
    }
    return true;
}

static bool build_program(evaluation *e, const lang_scope *scope, error *err)
{
    static const lang_dialect dialects[] = {
        [WIRE_NUMPY] = LANG_NUMPY, [WIRE_SMALL] = LANG_TENSOR_STATEMENTS};
    const wire_request *asked = &e->asked;
    const lang_options options = {.dialect = dialects[asked->dialect],
                                  .budget = &body_of(e->request)->budget,
                                  .has_seed = asked->has_seed,
                                  .seed = asked->seed};

    if (!lang_build(e->graph, asked->program, strlen(asked->program), &options, scope, &e->program,
                    err))
        return err->line > 0 ? error_at_pointer(err, "/program") : false;
    table_init(&e->assigned, e->request->arena);
    for (int i = 0; i < e->program.assigned_count; i++)
        table_put(&e->assigned, e->program.assigned[i].name, &e->program.assigned[i]);
    return check_deleted(e, scope, err);
}

static bool build(evaluation *e, error *err)
{
    const int64_t start = clock_us(), nodes = e->services->config->graph_nodes_max;
    const lang_scope scope = bindings_scope(&e->bindings);
    bool ok;

    e->graph->node_limit = nodes < INT32_MAX ? (int)nodes : INT32_MAX;
    ok = e->asked.program != NULL
             ? build_program(e, &scope, err)
             : graph_json_read(e->graph, e->asked.graph, &scope, &e->json, err);
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
    for (int i = 0; i < e->answered_count; i++) {
        const type *t = value_type(e->graph->outputs[i]);

        if (!check_result(e, have_run ? &e->values[i].shape : &t->shape, t->dtype, err))
            return false;
    }
    return true;
}

static bool run(evaluation *e, error *err)
{
    const config *c = e->services->config;
    http_request *r = e->request;
    const engine_options options = {
        .limits = {.peak_bytes = c->plan_bytes_max, .work = (double)c->work_max},
        .strict = e->asked.strict,
        .optimize = e->asked.optimize,
        .dry_run = e->asked.dry_run,
    };
    const stop_sign stop = {.cancelled = &r->cancel, .deadline_us = r->deadline_us};
    tensor *values = arena_array(r->arena, (size_t)e->graph->output_count + 1, sizeof *values);
    bool ok;

    if (!check_results(e, false, err))
        return false;
    ok = engine_run(e->graph, e->bindings.tensors, &options, &body_of(r)->budget, &stop, values,
                    &e->stats, err);
    http_spent(r, PHASE_PLAN, e->stats.plan_us);
    http_spent(r, PHASE_RUN, e->stats.run_us + 1);
    if (ok)
        e->values = values;
    return ok && check_results(e, true, err);
}

/* ---- The whole --------------------------------------------------------------------------------
 */

static void release(evaluation *e)
{
    for (int i = 0; e->values != NULL && i < e->graph->output_count; i++)
        tensor_unref(&e->values[i]);
    graph_release(e->graph);
    bindings_clear(&e->bindings);
}

/* One try. What the request says is read already. */
static bool evaluate(evaluation *e, error *err)
{
    static const durability levels[] = {[WIRE_DISK] = DURABILITY_DISK,
                                        [WIRE_PROCESS] = DURABILITY_PROCESS,
                                        [WIRE_MEMORY] = DURABILITY_MEMORY};
    http_request *r = e->request;
    bool ok;

    e->graph = graph_new(r->arena, NULL);
    bindings_init(&e->bindings, e->services, r->arena, &e->asked.inputs,
                  levels[e->asked.durability]);
    e->bindings.note_reads = e->asked.isolation == WIRE_SERIALIZABLE;
    ok = build(e, err) && evaluation_select(e, err) && run(e, err) && evaluation_store(e, err) &&
         evaluation_answer(e, err);
    release(e);
    return ok;
}

/* An evaluation that somebody overtook is done again, on what is there then. */
static bool try_again(const evaluation *e, int tries, error *err)
{
    if (err->kind != ERR_CONFLICT || tries >= TRIES_MAX || e->request->cancel != 0)
        return false;
    error_clear(err);
    return true;
}

bool eval_handle(services *s, http_request *r, error *err)
{
    const evaluation new = {
        .services = s, .request = r, .format = answer_format(r), .started_us = clock_us()};
    evaluation *e = arena_alloc(r->arena, sizeof *e), asked = new;
    int tries = 0;

    if (!read_request(&asked, err))
        return false;
    do
        *e = asked;
    while (!evaluate(e, err) && try_again(e, ++tries, err));
    return !error_is_set(err);
}
