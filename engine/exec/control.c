/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow: plans that run inside a plan, once or many times. */
#include <inttypes.h>
#include <string.h>

#include "engine/exec/runner.h"

/* A function of a step with the inputs of its plan: parameters, then what it captured. */
typedef struct function {
    const plan *plan;
    tensor *inputs;
    int params;
} function;

/* Function k of a step that has `params` parameters. */
static function function_of(runner *r, const step *s, int k, int params)
{
    function f = {.plan = s->function[k], .params = params};
    int at = s->own;

    f.inputs = arena_array(r->arena, (size_t)f.plan->input_count + 1, sizeof *f.inputs);
    if (k > 0)
        at += s->function[0]->input_count - params;
    for (int i = params; i < f.plan->input_count; i++)
        f.inputs[i] = runner_tensor(r, &s->inputs[at + i - params]);
    return f;
}

static void release(tensor *tensors, int count)
{
    for (int i = 0; i < count; i++)
        tensor_unref(&tensors[i]);
}

/* Makes tensors dense, one after the other. On an error all are given up. */
static bool make_dense(runner *r, tensor *tensors, int count, error *err)
{
    for (int i = 0; i < count; i++) {
        tensor dense;

        if (!tensor_dense(&tensors[i], r->budget, &dense, err)) {
            release(tensors, count);
            return false;
        }
        tensor_unref(&tensors[i]);
        tensors[i] = dense;
    }
    return true;
}

/* Calls the function; outputs are dense and the caller's. */
static bool call(runner *r, const function *f, tensor *outputs, error *err)
{
    return exec_run(f->plan, f->inputs, r->budget, r->stop, outputs, r->notes, err) &&
           make_dense(r, outputs, f->plan->output_count, err);
}

/* ---- Choice ---------------------------------------------------------------------------- */

bool run_cond(runner *r, const step *s, error *err)
{
    const tensor pred = runner_tensor(r, &s->inputs[0]);
    const bool yes = *(const bool *)tensor_bytes(&pred);
    const function chosen = function_of(r, s, yes ? 0 : 1, 0);
    tensor *outputs = arena_array(r->arena, (size_t)s->output_count + 1, sizeof *outputs);

    if (!call(r, &chosen, outputs, err))
        return false;
    for (int i = 0; i < s->output_count; i++)
        runner_adopt_take(r, s->outputs[i], &outputs[i]);
    return true;
}

/* ---- Loops -------------------------------------------------------------------------------- */

/* The first `count` inputs of a step as variables, each with a reference. */
static tensor *variables_of(runner *r, const step *s, int count)
{
    tensor *variables = arena_array(r->arena, (size_t)count + 1, sizeof *variables);

    for (int i = 0; i < count; i++) {
        variables[i] = runner_tensor(r, &s->inputs[i]);
        tensor_ref(&variables[i]);
    }
    return variables;
}

static bool holds(runner *r, const function *condition, const tensor *variables, bool *result,
                  error *err)
{
    tensor answer;

    memcpy(condition->inputs, variables, (size_t)condition->params * sizeof *variables);
    if (!call(r, condition, &answer, err))
        return false;
    *result = *(const bool *)tensor_bytes(&answer);
    tensor_unref(&answer);
    return true;
}

/* Applies the body to the variables, which become what it gives. */
static bool advance(runner *r, const function *body, tensor *variables, tensor *results, error *err)
{
    memcpy(body->inputs, variables, (size_t)body->params * sizeof *variables);
    if (!call(r, body, results, err))
        return false;
    release(variables, body->params);
    memcpy(variables, results, (size_t)body->params * sizeof *variables);
    return true;
}

bool loop_may_go_on(const node *n, const stop_sign *stop, int64_t count, error *err)
{
    const attr *given = &n->attrs[n->op->control == CONTROL_WHILE ? WHILE_LIMIT : SCAN_LENGTH];
    const int64_t most = stop->iterations_max > 0 ? stop->iterations_max : LOOP_ITERATIONS;
    const int64_t limit = given->kind == ATTR_INT && given->integer < most ? given->integer : most;

    return count < limit ||
           error_set_limit(err, ERR_LOOP, limit, count + 1,
                           "%s would run more than %" PRId64 " times", n->op->name, limit);
}

/* How far a loop is that nobody knows the length of: half of its work after so many iterations, two
 * thirds after twice as many. */
static void tell_iterations(run_progress *p, int64_t before, double work, int64_t count)
{
    enum { HALF = 1000 };

    if (p == NULL)
        return;
    p->work_done = before + (int64_t)(work * (double)count / (double)(count + HALF));
    p->iterations += count > 0;
}

/* Applies the body as long as the condition holds. A failure releases the variables. */
static bool iterate(runner *r, const step *s, run_progress *p, tensor *variables, error *err)
{
    const int params = s->own;
    const function condition = function_of(r, s, 0, params), body = function_of(r, s, 1, params);
    tensor *results = arena_array(r->arena, (size_t)params + 1, sizeof *results);
    const int64_t before = p == NULL ? 0 : p->work_done;
    bool go_on = true;

    for (int64_t count = 0;; count++) {
        tell_iterations(p, before, s->work, count);
        if (!holds(r, &condition, variables, &go_on, err) ||
            (go_on && (!loop_may_go_on(s->node, r->stop, count, err) ||
                       !advance(r, &body, variables, results, err)))) {
            release(variables, params);
            return false;
        }
        if (!go_on)
            return true;
    }
}

/* Its functions tell nobody how far they are: how often they are called is not known. */
bool run_while(runner *r, const step *s, error *err)
{
    tensor *variables = variables_of(r, s, s->own);
    const stop_sign *stop = r->stop;
    stop_sign quiet = *stop;
    bool ok;

    quiet.progress = NULL;
    r->stop = &quiet;
    ok = iterate(r, s, stop->progress, variables, err);
    r->stop = stop;
    for (int i = 0; ok && i < s->own; i++)
        runner_adopt_take(r, s->outputs[i], &variables[i]);
    return ok;
}

/* A scan while it runs. */
typedef struct scan {
    function body;
    tensor *carried; /* values, each with a reference */
    tensor *results; /* of one call */
    tensor *walked;  /* what is walked along */
    tensor *stacked; /* what is stacked, by output */
    int carries, walks;
    int64_t length;
} scan;

static bool scan_start(runner *r, const step *s, scan *sc, error *err)
{
    sc->carries = (int)s->node->attrs[SCAN_CARRIES].integer;
    sc->walks = s->own - sc->carries;
    sc->body = function_of(r, s, 0, s->own);
    sc->results = arena_array(r->arena, (size_t)s->output_count + 1, sizeof *sc->results);
    sc->stacked = arena_array(r->arena, (size_t)s->output_count + 1, sizeof *sc->stacked);
    sc->walked = arena_array(r->arena, (size_t)sc->walks + 1, sizeof *sc->walked);
    for (int i = sc->carries; i < s->output_count; i++) {
        if (!runner_make(r, s->outputs[i], err))
            return false;
        tensor_wrap_take(&sc->stacked[i], r->buffers[r->plan->slots[s->outputs[i]].index],
                         s->output_types[i].dtype, &s->output_types[i].shape);
    }
    for (int i = 0; i < sc->walks; i++)
        sc->walked[i] = runner_tensor(r, &s->inputs[sc->carries + i]);
    sc->length =
        sc->walks > 0 ? sc->walked[0].shape.length[0] : s->node->attrs[SCAN_LENGTH].integer;
    sc->carried = variables_of(r, s, sc->carries);
    return true;
}

static bool scan_step(runner *r, const step *s, scan *sc, int64_t i, error *err)
{
    memcpy(sc->body.inputs, sc->carried, (size_t)sc->carries * sizeof *sc->carried);
    for (int k = 0; k < sc->walks; k++)
        sc->body.inputs[sc->carries + k] = tensor_element(&sc->walked[k], i);
    if (!call(r, &sc->body, sc->results, err))
        return false;
    release(sc->carried, sc->carries);
    memcpy(sc->carried, sc->results, (size_t)sc->carries * sizeof *sc->carried);
    for (int k = sc->carries; k < s->output_count; k++) {
        const tensor place = tensor_element(&sc->stacked[k], i);

        tensor_copy_dense(&sc->results[k], tensor_bytes(&place));
        tensor_unref(&sc->results[k]);
    }
    return true;
}

bool run_scan(runner *r, const step *s, error *err)
{
    const int64_t most = r->stop->iterations_max > 0 ? r->stop->iterations_max : LOOP_ITERATIONS;
    scan sc = {0};

    if (!scan_start(r, s, &sc, err))
        return false;
    if (sc.length > most)
        error_set_limit(err, ERR_LOOP, most, sc.length,
                        "%s would run %" PRId64 " times, the limit is %" PRId64, s->node->op->name,
                        sc.length, most);
    for (int64_t i = 0; !error_is_set(err) && i < sc.length; i++)
        scan_step(r, s, &sc, i, err);
    if (error_is_set(err)) {
        release(sc.carried, sc.carries);
        return false;
    }
    for (int i = 0; i < sc.carries; i++)
        runner_adopt_take(r, s->outputs[i], &sc.carried[i]);
    return true;
}
