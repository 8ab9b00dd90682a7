/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rounds.h"

#include <inttypes.h>
#include <string.h>

#include "engine/known.h"

/* A loop while it runs. */
typedef struct loop {
    const node *node;
    const engine_options *options;
    budget *budget;
    const stop_sign *stop;
    engine_stats *stats;
    arena *arena;         /* of the loop */
    int own;              /* its inputs, without what its functions captured */
    const tensor *inputs; /* all */
    int64_t count;        /* of rounds so far */
} loop;

bool rounds_needed(const node *n)
{
    return (n->op->control == CONTROL_WHILE || n->op->control == CONTROL_SCAN) &&
           !known_functions(n);
}

static void release(tensor *tensors, int count)
{
    for (int i = 0; i < count; i++)
        tensor_unref(&tensors[i]);
}

/* ---- One call of a function --------------------------------------------------------- */

/* The function as a graph of its own, for arguments of just these shapes; sets what it is
 * to be run with. */
static graph *instantiate(const loop *l, int function, const tensor *arguments, arena *a,
                          tensor *given, error *err)
{
    const graph *f = l->node->attrs[function].graph;
    const int params = graph_param_count(f), at = graph_first_captured(l->node, function);
    graph *g = graph_new(a, NULL);
    graph_map *map = graph_map_new(f, g);

    for (int i = 0; i < f->input_count; i++) {
        given[i] = i < params ? arguments[i] : l->inputs[at + i - params];
        const type t = {.dtype = given[i].dtype, .weak = given[i].weak, .shape = given[i].shape};

        graph_map_set(map, f->inputs[i], graph_input(g, "v", &t, err));
        if (error_is_set(err))
            return g;
    }
    graph_map_all(map, err);
    for (int i = 0; !error_is_set(err) && i < f->output_count; i++)
        graph_add_output(g, graph_map_get(map, f->outputs[i]));
    return g;
}

/* Adds what an evaluation took; the work of all rounds counts towards the limit. */
static bool add_stats(const loop *l, const engine_stats *one, error *err)
{
    engine_stats *all = l->stats;
    const double most = l->options->limits.work;

    all->steps += one->steps;
    all->fused += one->fused;
    all->work += one->work;
    all->plan_us += one->plan_us;
    all->run_us += one->run_us;
    all->divided = all->divided || one->divided;
    if (one->peak_bytes > all->peak_bytes)
        all->peak_bytes = one->peak_bytes;
    return all->work <= most ||
           error_set_limit(err, ERR_WORK, (int64_t)most, (int64_t)all->work,
                           "the evaluation took more than %.3g element operations, in round "
                           "%" PRId64 " of a %s",
                           most, l->count, l->node->op->name);
}

/* Calls a function of the loop; the outputs are the caller's. */
static bool call(const loop *l, int function, const tensor *arguments, tensor *outputs, error *err)
{
    const int count = l->node->attrs[function].graph->output_count;
    arena *a = arena_new();
    tensor *given =
        arena_array(a, (size_t)l->node->attrs[function].graph->input_count + 1, sizeof *given);
    graph *g = instantiate(l, function, arguments, a, given, err);
    engine_options options = *l->options;
    engine_stats stats;
    bool ok;

    options.limits.result_bytes = 0; /* these are no results */
    options.sinks = NULL;
    ok = !error_is_set(err) &&
         engine_run(g, given, &options, l->budget, l->stop, outputs, &stats, err);
    if (ok && !add_stats(l, &stats, err)) {
        release(outputs, count);
        ok = false;
    }
    graph_release(g);
    arena_free(a);
    return ok;
}

/* ---- while_loop --------------------------------------------------------------------------- */

static bool holds(const loop *l, const tensor *variables, bool *result, error *err)
{
    tensor *answer = arena_alloc(l->arena, sizeof *answer);

    if (!call(l, WHILE_CONDITION, variables, answer, err))
        return false;
    *result = *(const bool *)tensor_bytes(answer);
    tensor_unref(answer);
    return true;
}

static bool run_while(loop *l, tensor *variables, error *err)
{
    tensor *next = arena_array(l->arena, (size_t)l->own + 1, sizeof *next);
    bool go_on;

    for (;; l->count++) {
        if (!holds(l, variables, &go_on, err))
            return false;
        if (!go_on)
            return true;
        if (!loop_may_go_on(l->node, l->stop, l->count, err) ||
            !call(l, WHILE_BODY, variables, next, err))
            return false;
        release(variables, l->own);
        memcpy(variables, next, (size_t)l->own * sizeof *next);
    }
}

/* ---- scan ------------------------------------------------------------------------------------ */

/* The tensor that a scan's i-th stacked results go to, for results like `one`; lengths
 * that are not known count as 0 where there is no step. */
static bool make_stack(const loop *l, int i, const tensor *one, int64_t length, tensor *result,
                       error *err)
{
    const type *t = &l->node->types[i];
    shape s = t->shape;

    s.length[0] = length;
    for (int k = 1; k < s.rank; k++)
        s.length[k] = one != NULL ? one->shape.length[k - 1] : s.length[k] < 0 ? 0 : s.length[k];
    return shape_check(&s, l->node->op->name, err) &&
           tensor_new(result, l->budget, t->dtype, &s, err);
}

static bool stack(const loop *l, int i, const tensor *one, int64_t length, tensor *all, error *err)
{
    char x[SHAPE_TEXT_MAX], y[SHAPE_TEXT_MAX];
    tensor *place = arena_alloc(l->arena, sizeof *place);

    if (l->count == 0 && !make_stack(l, i, one, length, all, err))
        return false;
    *place = tensor_element(all, l->count);
    if (!shape_equal(&place->shape, &one->shape))
        return error_set(err, ERR_SHAPE,
                         "%s: what is stacked has shape %s in step 0 and %s in step %" PRId64,
                         l->node->op->name, shape_print(&place->shape, x),
                         shape_print(&one->shape, y), l->count);
    tensor_copy_dense(one, tensor_bytes(place));
    return true;
}

/* One step: results' first values are carried on, the others stacked. arguments hold the
 * carried values, and room for the elements. */
static bool scan_step(loop *l, tensor *arguments, tensor *results, tensor *stacks, int64_t length,
                      error *err)
{
    const int carries = (int)l->node->attrs[SCAN_CARRIES].integer, count = l->node->output_count;
    bool ok = true;

    for (int i = carries; i < l->own; i++)
        arguments[i] = tensor_element(&l->inputs[i], l->count);
    if (!call(l, SCAN_BODY, arguments, results, err))
        return false;
    release(arguments, carries);
    memcpy(arguments, results, (size_t)carries * sizeof *results);
    for (int i = carries; i < count; i++) {
        ok = ok && stack(l, i, &results[i], length, &stacks[i], err);
        tensor_unref(&results[i]);
    }
    return ok;
}

static bool run_scan(loop *l, tensor *arguments, tensor *stacks, error *err)
{
    const int carries = (int)l->node->attrs[SCAN_CARRIES].integer, count = l->node->output_count;
    const int64_t length =
        l->own > carries ? l->inputs[carries].shape.length[0] : l->node->attrs[SCAN_LENGTH].integer;
    tensor *results = arena_array(l->arena, (size_t)count + 1, sizeof *results);

    for (; l->count < length; l->count++)
        if (!loop_may_go_on(l->node, l->stop, l->count, err) ||
            !scan_step(l, arguments, results, stacks, length, err))
            return false;
    for (int i = carries; length == 0 && i < count; i++)
        if (!make_stack(l, i, NULL, 0, &stacks[i], err))
            return false;
    return true;
}

/* ---- Both --------------------------------------------------------------------------------------
 */

bool rounds_run(const node *n, const tensor *inputs, const engine_options *options, budget *b,
                const stop_sign *stop, tensor *outputs, engine_stats *stats, error *err)
{
    const bool scans = n->op->control == CONTROL_SCAN;
    loop l = {n, options, b, stop, stats, arena_new(), graph_own_inputs(n), inputs, 0};
    const int carried = scans ? (int)n->attrs[SCAN_CARRIES].integer : l.own;
    tensor *variables = arena_array(l.arena, (size_t)l.own + 1, sizeof *variables);
    tensor *stacks = arena_array(l.arena, (size_t)n->output_count + 1, sizeof *stacks);
    bool ok;

    for (int i = 0; i < carried; i++) {
        variables[i] = inputs[i];
        variables[i].weak = false;
        tensor_ref(&variables[i]);
    }
    ok = scans ? run_scan(&l, variables, stacks, err) : run_while(&l, variables, err);
    for (int i = 0; i < n->output_count; i++)
        outputs[i] = i < carried ? variables[i] : stacks[i];
    if (!ok) {
        release(variables, carried);
        release(stacks, n->output_count);
    }
    arena_free(l.arena);
    return ok;
}
