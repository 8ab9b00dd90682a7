/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <inttypes.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/exec/pool.h"
#include "engine/fold.h"
#include "engine/grad/grad.h"
#include "engine/known.h"
#include "engine/lang/lang.h"
#include "engine/plan/plan.h"
#include "engine/prepared.h"
#include "engine/rewrite/rules.h"
#include "engine/rounds.h"

/* One evaluation. The current graph shrinks from stage to stage. */
typedef struct evaluation {
    const engine_options *options;
    const tensor *inputs;
    budget *budget;
    const stop_sign *stop;
    engine_stats *stats;
    arena *arena;
} evaluation;

/* g rewritten, in the evaluation's arena; g is released. */
static graph *rewritten_take(const evaluation *e, graph *g, error *err)
{
    const int64_t start = clock_us();
    rewrite_options options = {.fold = fold_node,
                               .strict = e->options->strict,
                               .only_lower = !e->options->optimize,
                               .again = true};
    graph *result = rewrite_graph(g, &options, e->arena, err);

    graph_release(g);
    e->stats->plan_us += clock_us() - start;
    return result;
}

/* ---- Limits --------------------------------------------------------------------------------- */

static bool check_results(const evaluation *e, const graph *g, error *err)
{
    for (int i = 0; i < g->output_count; i++) {
        const type *t = value_type(g->outputs[i]);
        int64_t bytes;
        char text[SHAPE_TEXT_MAX];

        if (e->options->limits.result_bytes == 0 || !shape_is_known(&t->shape))
            continue;
        if (__builtin_mul_overflow(shape_size(&t->shape), (int64_t)dtype_size(t->dtype), &bytes) ||
            bytes > e->options->limits.result_bytes)
            return error_set_limit(err, ERR_RESULT_SIZE, e->options->limits.result_bytes, bytes,
                                   "a result of shape %s and type %s has more bytes than the "
                                   "limit of %" PRId64,
                                   shape_print(&t->shape, text), dtype_name(t->dtype),
                                   e->options->limits.result_bytes);
    }
    return true;
}

/* What the evaluation would hold at its peak. */
static int64_t peak_of(const evaluation *e, const plan *p)
{
    int64_t peak;

    return __builtin_add_overflow(e->budget->used, p->peak, &peak) ? INT64_MAX : peak;
}

static bool fits(const evaluation *e, const plan *p)
{
    return peak_of(e, p) <= e->options->limits.peak_bytes;
}

static bool refuse_peak(const evaluation *e, const plan *p, error *err)
{
    const int64_t peak = peak_of(e, p), limit = e->options->limits.peak_bytes;
    text why;

    text_init(&why);
    plan_explain_peak(p, &why);
    error_set_limit(err, ERR_PLAN_MEMORY, limit, peak,
                    "the evaluation would need %" PRId64 " bytes at once, above the limit of "
                    "%" PRId64 "%s%s%s",
                    peak, limit, why.length > 0 ? ": " : "", why.length > 0 ? why.bytes : "",
                    why.length > 0 ? "; compute it for parts of the data, such as slices" : "");
    text_clear(&why);
    return false;
}

static bool check_plan(const evaluation *e, const plan *p, error *err)
{
    const engine_limits *limits = &e->options->limits;

    if (!fits(e, p))
        return refuse_peak(e, p, err);
    if (e->stats->work + p->work > limits->work)
        return error_set_limit(err, ERR_WORK, (int64_t)limits->work,
                               (int64_t)(e->stats->work + p->work),
                               "the evaluation would take %.3g element operations, above the "
                               "limit of %.3g",
                               e->stats->work + p->work, limits->work);
    return true;
}

/* ---- Inputs ------------------------------------------------------------------------------------
 */

/* Dense inputs, each with a reference, in the arena. */
static tensor *dense_inputs(evaluation *e, const graph *g, error *err)
{
    tensor *dense = arena_array(e->arena, (size_t)g->input_count + 1, sizeof *dense);

    for (int i = 0; i < g->input_count; i++) {
        if (!tensor_dense(&e->inputs[i], e->budget, &dense[i], err)) {
            while (i-- > 0)
                tensor_unref(&dense[i]);
            return NULL;
        }
    }
    return dense;
}

static void release_tensors(tensor *tensors, int count)
{
    for (int i = 0; i < count; i++)
        tensor_unref(&tensors[i]);
}

/* ---- One stage
 * ------------------------------------------------------------------------------------ */

static void count_plan(engine_stats *stats, const graph *g, const plan *p, int64_t base)
{
    int64_t peak = base + p->peak;

    stats->nodes += g->count;
    stats->steps += p->step_count;
    stats->fused += p->fused;
    stats->work += p->work;
    stats->stages++;
    if (peak > stats->peak_bytes)
        stats->peak_bytes = peak;
}

/* Tells who watches what is about to run. */
static void announce_plan(run_progress *watched, const plan *p)
{
    if (watched == NULL)
        return;
    watched->steps += p->step_count;
    watched->work += (int64_t)p->work;
}

static bool run_plan(evaluation *e, const graph *g, const plan *p, tensor *outputs, error *err)
{
    tensor *inputs = dense_inputs(e, g, err);
    const int64_t base = e->budget->used, start = clock_us();
    run_notes notes = {0};
    bool ok;

    if (inputs == NULL)
        return false;
    count_plan(e->stats, g, p, base);
    announce_plan(e->stop->progress, p);
    ok = exec_run_to(p, inputs, e->budget, e->stop, e->options->sinks, outputs, &notes, err);
    release_tensors(inputs, g->input_count);
    if (base + p->peak + notes.extra_peak > e->stats->peak_bytes)
        e->stats->peak_bytes = base + p->peak + notes.extra_peak;
    e->stats->divided = e->stats->divided || (notes.flags & KERNEL_DIVIDE) != 0;
    e->stats->run_us += clock_us() - start;
    return ok;
}

/* ---- Streams
 * -------------------------------------------------------------------------------------- */

/* By output of g, whether somebody takes it; NULL if nobody takes any. */
static const bool *taken_outputs(const evaluation *e, const graph *g)
{
    const sink *sinks = e->options->sinks;
    bool *taken = sinks == NULL ? NULL : arena_array(e->arena, (size_t)g->output_count + 1, 1);

    for (int i = 0; sinks != NULL && i < g->output_count; i++)
        taken[i] = sinks[i].open != NULL;
    return taken;
}

static bool any_large(const graph *g, const bool *taken)
{
    for (int i = 0; taken != NULL && i < g->output_count; i++) {
        const type *t = value_type(g->outputs[i]);

        if (taken[i] && shape_size(&t->shape) >= plan_large_bytes() / (int64_t)dtype_size(t->dtype))
            return true;
    }
    return false;
}

/* A streaming plan for *g, or, if that does not fit and another does, for a graph that then
 * stands in its place, to be released. */
static const plan *plan_streamed(const evaluation *e, const graph **g, graph **made, error *err)
{
    const plan *p = plan_new_streamed(*g, pool_threads(), taken_outputs(e, *g), e->arena, err);
    const plan *other = NULL;
    error ignored = {0};

    *made = p == NULL || fits(e, p) ? NULL : plan_apart(*g, e->arena);
    if (*made != NULL)
        other =
            plan_new_streamed(*made, pool_threads(), taken_outputs(e, *made), e->arena, &ignored);
    if (other == NULL || !fits(e, other))
        return p;
    *g = *made;
    return other;
}

/* A plan that streams where that is needed to stay within the limit, or spares making a large
 * output before it is taken. */
static const plan *plan_stage(const evaluation *e, const graph **g, graph **made, error *err)
{
    const plan *whole = plan_new(*g, pool_threads(), e->arena, err), *streamed;

    if (whole == NULL || (fits(e, whole) && !any_large(*g, taken_outputs(e, *g))))
        return whole;
    streamed = plan_streamed(e, g, made, err);
    return streamed == NULL || streamed->peak <= whole->peak ? streamed : whole;
}

static bool run_planned(evaluation *e, const graph *g, const plan *p, tensor *outputs, error *err)
{
    if (!check_plan(e, p, err))
        return false;
    if (!e->options->dry_run)
        return run_plan(e, g, p, outputs, err);
    count_plan(e->stats, g, p, e->budget->used);
    for (int i = 0; i < g->output_count; i++) {
        const type *t = value_type(g->outputs[i]);

        outputs[i] = (tensor){.dtype = t->dtype, .shape = t->shape};
    }
    return true;
}

/* Plans and runs a graph whose shapes are known. */
static bool run_stage(evaluation *e, const graph *g, tensor *outputs, error *err)
{
    const int64_t start = clock_us();
    graph *made = NULL;
    const plan *p = check_results(e, g, err) ? plan_stage(e, &g, &made, err) : NULL;
    bool ok;

    e->stats->plan_us += clock_us() - start;
    ok = p != NULL && run_planned(e, g, p, outputs, err);
    if (made != NULL)
        graph_release(made);
    return ok;
}

/* ---- Stages
 * ------------------------------------------------------------------------------------------ */

/* What the first stage of a graph can do. A node is ready if its shapes are known once
 * its inputs are; it is open if only running it tells its shapes. */
typedef struct stage {
    bool *ready, *open; /* by node id */
    bool *wanted;       /* whether the stage must give the node's values */
    bool *fixed;        /* inputs that decide a shape: they become constants */
    bool complete;      /* every node that is needed is ready */
} stage;

static bool inputs_ready(const stage *s, const node *n)
{
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i].node != NULL && !s->ready[n->inputs[i].node->id])
            return false;
    return true;
}

static void want(stage *s, const node *n)
{
    if (s->ready[n->id])
        s->wanted[n->id] = true;
}

/* Wants a value that an attribute is computed from. */
static void want_for_attr(stage *s, const node *n)
{
    want(s, n);
    s->fixed[n->id] = n->op == &op_input;
}

static void want_attrs(stage *s, const node *n)
{
    for (int i = 0; i < n->op->attr_count; i++) {
        const attr *a = &n->attrs[i];

        if (a->kind == ATTR_DYNAMIC)
            want_for_attr(s, a->node);
        for (int k = 0; a->kind == ATTR_INTS && a->dynamic != NULL && k < a->n; k++)
            if (a->dynamic[k].kind == ATTR_DYNAMIC)
                want_for_attr(s, a->dynamic[k].node);
    }
}

/* The nodes that outputs need, computed values of attributes included. */
static bool *needed_nodes(const graph *g, arena *a)
{
    bool *needed = arena_array(a, (size_t)g->count + 1, sizeof *needed);

    for (int i = 0; i < g->output_count; i++)
        needed[g->outputs[i].node->id] = true;
    for (int i = g->count - 1; i >= 0; i--) {
        const node *n = g->nodes[i];

        if (!needed[i])
            continue;
        for (int k = 0; k < n->input_count; k++)
            if (n->inputs[k].node != NULL)
                needed[n->inputs[k].node->id] = true;
        for (int k = 0; k < n->op->attr_count; k++) {
            const attr *x = &n->attrs[k];

            if (x->kind == ATTR_DYNAMIC)
                needed[x->node->id] = true;
            for (int j = 0; x->kind == ATTR_INTS && x->dynamic != NULL && j < x->n; j++)
                if (x->dynamic[j].kind == ATTR_DYNAMIC)
                    needed[x->dynamic[j].node->id] = true;
        }
    }
    return needed;
}

static stage stage_of(const graph *g, const bool *needed, arena *a)
{
    const size_t n = (size_t)g->count + 1;
    stage s = {arena_array(a, n, 1), arena_array(a, n, 1), arena_array(a, n, 1),
               arena_array(a, n, 1), true};

    for (int i = 0; i < g->count; i++) {
        const node *m = g->nodes[i];
        const bool can_run = known_attrs(m) && inputs_ready(&s, m) && known_functions(m);

        s.ready[i] = can_run && known_types(m);
        s.open[i] = can_run && !s.ready[i] && m->op->run != NULL;
        s.complete = s.complete && (s.ready[i] || !needed[i]);
    }
    for (int i = 0; i < g->count; i++) {
        if (s.ready[i] || !needed[i])
            continue;
        want_attrs(&s, g->nodes[i]);
        for (int k = 0; k < g->nodes[i]->input_count; k++)
            if (g->nodes[i]->inputs[k].node != NULL)
                want(&s, g->nodes[i]->inputs[k].node);
        s.wanted[i] = s.wanted[i] || s.open[i];
    }
    for (int i = 0; i < g->output_count; i++)
        want(&s, g->outputs[i].node);
    return s;
}

static bool is_leaf(const node *n)
{
    return n->op == &op_input || n->op == &op_constant;
}

/* A graph of what the stage does, its outputs being all values of wanted nodes. */
static graph *stage_graph(const graph *g, const stage *s, const bool *needed, arena *a, error *err)
{
    graph *part = graph_new(a, NULL);
    graph_map *map = graph_map_new(g, part);

    part->node_limit = g->node_limit;
    for (int i = 0; i < g->count; i++) {
        node *n = g->nodes[i];

        if (n->op != &op_input && (!needed[i] || !(s->ready[i] || s->open[i])))
            continue;
        if (!graph_map_copy(map, n, err))
            return part;
        for (int k = 0; s->wanted[i] && !is_leaf(n) && k < n->output_count; k++)
            graph_add_output(part, graph_map_get(map, (value){n, k}));
    }
    return part;
}

/* What an input of g is run with. */
static const tensor *input_value(const evaluation *e, const graph *g, const node *n)
{
    int index = 0;

    while (g->inputs[index].node != n)
        index++;
    return &e->inputs[index];
}

/* What is left of g once the stage's values are constants. Takes over the values. */
static graph *rest_graph(const evaluation *e, const graph *g, const stage *s, const bool *needed,
                         tensor *values, error *err)
{
    graph *rest = graph_new(e->arena, NULL);
    graph_map *map = graph_map_new(g, rest);
    int at = 0;

    rest->node_limit = g->node_limit;
    for (int i = 0; i < g->count; i++) {
        node *n = g->nodes[i];

        for (int k = 0; s->wanted[i] && !is_leaf(n) && k < n->output_count; k++) {
            values[at].weak = n->types[k].weak;
            if (!error_is_set(err))
                graph_map_set(map, (value){n, k}, graph_constant(rest, &values[at], err));
            tensor_unref(&values[at++]);
        }
        if (error_is_set(err)) /* the other values are to be given up all the same */
            continue;
        if (is_leaf(n) || (needed[i] && !s->wanted[i] && !s->ready[i]))
            graph_map_copy(map, n, err);
        if (s->fixed[i])
            graph_map_set(map, (value){n, 0}, graph_constant(rest, input_value(e, g, n), err));
    }
    for (int i = 0; !error_is_set(err) && i < g->output_count; i++)
        graph_add_output(rest, graph_map_get(map, g->outputs[i]));
    return rest;
}

/* Whether the stage has anything to run for. */
static bool gives_values(const graph *g, const stage *s)
{
    for (int i = 0; i < g->count; i++)
        if (s->wanted[i] && !is_leaf(g->nodes[i]))
            return true;
    return false;
}

static bool any_fixed(const graph *g, const stage *s)
{
    for (int i = 0; i < g->count; i++)
        if (s->fixed[i])
            return true;
    return false;
}

/* Runs what can be planned and makes constants of what it gives. */
static graph *next_stage(evaluation *e, const graph *g, const stage *s, const bool *needed,
                         error *err)
{
    graph *part = stage_graph(g, s, needed, e->arena, err), *rest = NULL;
    engine_options staged = *e->options;
    tensor *values;

    staged.limits.result_bytes = 0; /* these are no results */
    staged.sinks = NULL;
    e->options = &staged;
    values = arena_array(e->arena, (size_t)part->output_count + 1, sizeof *values);
    if (!error_is_set(err) && part->output_count == 0 && !any_fixed(g, s))
        error_set(err, ERR_NOT_IMPLEMENTED,
                  "a shape in this graph depends on a value in a way that cannot be planned");
    if (!error_is_set(err) && (part->output_count == 0 || run_stage(e, part, values, err)))
        rest = rest_graph(e, g, s, needed, values, err);
    graph_release(part);
    if (rest != NULL && error_is_set(err)) {
        graph_release(rest);
        rest = NULL;
    }
    return rest;
}

/* A dry run cannot know what values decide: it reports what the first stage costs. */
static bool run_dry(evaluation *e, const graph *g, const stage *s, const bool *needed,
                    tensor *outputs, error *err)
{
    graph *part = stage_graph(g, s, needed, e->arena, err);
    tensor *values = arena_array(e->arena, (size_t)part->output_count + 1, sizeof *values);
    engine_options staged = *e->options;
    bool ok;

    staged.limits.result_bytes = 0;
    staged.sinks = NULL;
    e->options = &staged;
    ok = !error_is_set(err) && run_stage(e, part, values, err);
    graph_release(part);
    for (int i = 0; i < g->output_count; i++) {
        const type *t = value_type(g->outputs[i]);

        outputs[i] = (tensor){.dtype = t->dtype, .shape = t->shape};
    }
    return ok;
}

/* ---- Loops without a plan ---------------------------------------------------------------- */

/* The value of a leaf; NULL if v is none. */
static const tensor *leaf_value(const evaluation *e, const graph *g, value v)
{
    return v.node->op == &op_input ? input_value(e, g, v.node) : value_constant(v);
}

/* The values of a node's inputs if all are leaves, else NULL. */
static tensor *leaf_values(const evaluation *e, const graph *g, const node *n)
{
    tensor *values = arena_array(e->arena, (size_t)n->input_count + 1, sizeof *values);

    for (int i = 0; i < n->input_count; i++) {
        const tensor *value = leaf_value(e, g, n->inputs[i]);

        if (value == NULL)
            return NULL;
        values[i] = *value;
    }
    return values;
}

/* A loop that has no plan and whose inputs are there; NULL if there is none. */
static const node *loop_for_rounds(const evaluation *e, const graph *g, const bool *needed,
                                   tensor **inputs)
{
    for (int i = 0; i < g->count; i++) {
        const node *n = g->nodes[i];

        if (!needed[i] || !rounds_needed(n) || !known_attrs(n))
            continue;
        *inputs = leaf_values(e, g, n);
        if (*inputs != NULL)
            return n;
    }
    return NULL;
}

/* Runs the loop and makes constants of what it gives. */
static graph *after_rounds(evaluation *e, const graph *g, const node *n, const tensor *inputs,
                           const bool *needed, error *err)
{
    const size_t count = (size_t)g->count + 1;
    const stage done = {arena_array(e->arena, count, 1), NULL, arena_array(e->arena, count, 1),
                        arena_array(e->arena, count, 1), false};
    tensor *values = arena_array(e->arena, (size_t)n->output_count + 1, sizeof *values);
    graph *rest;

    done.wanted[n->id] = true;
    if (!rounds_run(n, inputs, e->options, e->budget, e->stop, values, e->stats, err))
        return NULL;
    rest = rest_graph(e, g, &done, needed, values, err);
    if (!error_is_set(err))
        return rest;
    graph_release(rest);
    return NULL;
}

static bool run_rewritten(evaluation *e, graph *g, tensor *outputs, error *err)
{
    const engine_options *options = e->options;

    for (;;) {
        const bool *needed = needed_nodes(g, e->arena);
        const stage s = stage_of(g, needed, e->arena);
        tensor *inputs;
        const node *loop =
            s.complete || options->dry_run ? NULL : loop_for_rounds(e, g, needed, &inputs);
        graph *rest;

        if (s.complete || (options->dry_run && gives_values(g, &s))) {
            const bool ok = s.complete ? run_stage(e, g, outputs, err)
                                       : run_dry(e, g, &s, needed, outputs, err);

            graph_release(g);
            return ok;
        }
        rest = loop != NULL ? after_rounds(e, g, loop, inputs, needed, err)
                            : next_stage(e, g, &s, needed, err);
        e->options = options;
        graph_release(g);
        g = rest == NULL ? NULL : rewritten_take(e, rest, err);
        if (g == NULL)
            return false;
    }
}

static bool run_anew(evaluation *e, const graph *g, tensor *outputs, error *err)
{
    rewrite_options rewriting = {
        .fold = fold_node, .strict = e->options->strict, .only_lower = !e->options->optimize};
    const int64_t start = clock_us();
    graph *rewritten = rewrite_graph(g, &rewriting, e->arena, err);

    e->stats->plan_us += clock_us() - start;
    return rewritten != NULL && run_rewritten(e, rewritten, outputs, err);
}

static bool run_prepared(evaluation *e, const prepared *kept, tensor *outputs, error *err)
{
    const graph *g = prepared_graph(kept);
    const plan *p = prepared_plan(kept);

    return check_results(e, g, err) && check_plan(e, p, err) && run_plan(e, g, p, outputs, err);
}

/* Whether a kept plan, which does not stream, is as good as a new one. */
static bool is_fitting(const evaluation *e, const prepared *kept)
{
    return fits(e, prepared_plan(kept)) &&
           !any_large(prepared_graph(kept), taken_outputs(e, prepared_graph(kept)));
}

bool engine_run(const graph *g, const tensor *inputs, const engine_options *options, budget *b,
                const stop_sign *stop, tensor *outputs, engine_stats *stats, error *err)
{
    evaluation e = {options, inputs, b, stop, stats, arena_new()};
    const int64_t start = clock_us();
    prepared *kept;
    bool ok;

    *stats = (engine_stats){0};
    stats->peak_bytes = b->used;
    kept = prepared_find(g, options);
    stats->plan_us = clock_us() - start;
    ok = kept != NULL && is_fitting(&e, kept) ? run_prepared(&e, kept, outputs, err)
                                              : run_anew(&e, g, outputs, err);
    prepared_release(kept);
    arena_free(e.arena);
    return ok;
}

prepared *engine_prepare(const graph *g, const engine_options *options)
{
    return prepared_get(g, options);
}

void engine_release(prepared *p)
{
    prepared_release(p);
}

bool engine_run_prepared(prepared *p, const tensor *inputs, const engine_options *options,
                         budget *b, const stop_sign *stop, tensor *outputs, engine_stats *stats,
                         error *err)
{
    evaluation e = {options, inputs, b, stop, stats, arena_new()};
    bool ok;

    *stats = (engine_stats){0};
    stats->peak_bytes = b->used;
    prepared_count_use(p);
    ok = run_prepared(&e, p, outputs, err);
    arena_free(e.arena);
    return ok;
}

bool engine_number_counts(const tensor *t)
{
    return rules_name_number(t);
}

graph *engine_optimized(const graph *g, bool strict, rewrite_log *log, void *context, arena *a,
                        error *err)
{
    rewrite_options options = {
        .fold = fold_node, .strict = strict, .log = log, .log_context = context};

    return rewrite_graph(g, &options, a, err);
}

void engine_init(int threads)
{
    ops_init();
    lang_init();
    grad_init();
    rules_init();
    exec_init(threads);
}
