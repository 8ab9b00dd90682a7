/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of loops. A scan is run once more with its carried values recorded, then a
 * scan backwards along them carries the gradients. A while loop is counted first: then it
 * is a scan of as many steps.
 *
 * The recorded values take the memory of the carried ones, times the steps. Where that is
 * much and the steps are known, the scan is cut into pieces (pieces.c). */
#include <string.h>

#include "engine/grad/private.h"

/* A scan and which of its parts have gradients. */
typedef struct scan_parts {
    const step *step;
    const node *node;
    const graph *body;
    int carries, walked, captured, stacked;
    bool *carry, *walk, *capture, *stack; /* whether part i takes part */
} scan_parts;

static bool is_real(value v)
{
    return grad_takes(value_type(v)->dtype);
}

static scan_parts parts_of(const step *s)
{
    const node *n = s->node;
    arena *a = s->graph->arena;
    scan_parts p = {.step = s, .node = n, .body = n->attrs[SCAN_BODY].graph};
    int own = graph_own_inputs(n);

    p.carries = (int)n->attrs[SCAN_CARRIES].integer;
    p.walked = own - p.carries;
    p.captured = n->input_count - own;
    p.stacked = n->output_count - p.carries;
    p.carry = arena_array(a, (size_t)n->output_count + 1, sizeof(bool));
    p.stack = arena_array(a, (size_t)n->output_count + 1, sizeof(bool));
    p.walk = arena_array(a, (size_t)n->input_count + 1, sizeof(bool));
    p.capture = arena_array(a, (size_t)n->input_count + 1, sizeof(bool));
    for (int i = 0; i < p.carries; i++)
        p.carry[i] = is_real((value){(node *)n, i});
    for (int i = 0; i < p.stacked; i++)
        p.stack[i] =
            s->incoming[p.carries + i].node != NULL && is_real((value){(node *)n, p.carries + i});
    for (int i = 0; i < p.walked; i++)
        p.walk[i] = s->wanted[p.carries + i];
    for (int i = 0; i < p.captured; i++)
        p.capture[i] = s->wanted[own + i];
    return p;
}

/* ---- Building functions ----------------------------------------------------------------- */

value loop_param(graph *g, const char *name, value like, bool element, error *err)
{
    type t = *value_type(like);

    t.weak = false;
    if (element) {
        t.shape.rank--;
        memmove(t.shape.length, t.shape.length + 1, (size_t)t.shape.rank * sizeof *t.shape.length);
    }
    return graph_input(g, name, &t, err);
}

/* Puts the body in g, its parameters standing for `params`; what it captured is captured
 * from the scan's inputs. Sets the values it captured, if asked. */
static graph_map *put_body(graph *g, const graph *body, const value *params, const value *captured,
                           value *inside, error *err)
{
    graph_map *map = graph_map_new(body, g);
    const int count = graph_param_count(body);

    for (int i = 0; i < body->input_count; i++) {
        const value v = i < count ? params[i] : graph_capture(g, captured[i - count], err);

        if (v.node == NULL)
            return NULL;
        if (i >= count && inside != NULL)
            inside[i - count] = v;
        graph_map_set(map, body->inputs[i], v);
    }
    return graph_map_all(map, err) ? map : NULL;
}

graph *loop_body(graph *outer, const graph *body, const value *likes, int count, int walked_from,
                 const value *captured, error *err)
{
    graph *f = graph_new(outer->arena, outer);
    value *params = arena_array(f->arena, (size_t)count + 1, sizeof *params);
    graph_map *map;

    for (int i = 0; i < count; i++) {
        params[i] = loop_param(f, i < walked_from ? "carry" : "x", likes[i], i >= walked_from, err);
        if (params[i].node == NULL)
            return NULL;
    }
    map = put_body(f, body, params, captured, NULL, err);
    for (int i = 0; map != NULL && i < body->output_count; i++)
        graph_add_output(f, graph_map_get(map, body->outputs[i]));
    return map == NULL ? NULL : f;
}

static bool apply_scan(const scan_parts *p, graph *f, const value *operands, int count, int carries,
                       value *outputs, error *err)
{
    attr attrs[3] = {{.kind = ATTR_GRAPH, .graph = f},
                     {.kind = ATTR_INT, .integer = carries},
                     p->node->attrs[SCAN_LENGTH]};

    return graph_apply(p->step->graph, p->node->op, operands, count, attrs, outputs, err) != NULL;
}

/* ---- Forwards: the carried values, recorded ----------------------------------------------------
 */

/* Sets, for each carried value, what it was before every step, stacked. */
static bool record(const scan_parts *p, value *recorded, error *err)
{
    graph *outer = p->step->graph, *f = graph_new(outer->arena, outer);
    const int own = p->carries + p->walked;
    value *params = arena_array(outer->arena, (size_t)own + 1, sizeof *params);
    value outputs[OP_OUTPUTS];
    graph_map *map;

    if (p->carries == 0)
        return true;
    for (int i = 0; i < own; i++) {
        params[i] =
            loop_param(f, i < p->carries ? "carry" : "x", p->node->inputs[i], i >= p->carries, err);
        if (params[i].node == NULL)
            return false;
    }
    map = put_body(f, p->body, params, p->node->inputs + own, NULL, err);
    if (map == NULL)
        return false;
    for (int i = 0; i < p->carries; i++)
        graph_add_output(f, graph_map_get(map, p->body->outputs[i]));
    for (int i = 0; i < p->carries; i++)
        graph_add_output(f, params[i]);
    if (!apply_scan(p, f, p->node->inputs, own, p->carries, outputs, err))
        return false;
    memcpy(recorded, outputs + p->carries, (size_t)p->carries * sizeof *recorded);
    return true;
}

/* ---- Backwards
 * ------------------------------------------------------------------------------------ */

/* The operands of the scan backwards, and its body's parameters for them. What is carried
 * are gradients; what is walked along are the recorded values, the walked ones and the
 * gradients of the stacked ones, last first. */
typedef struct backwards {
    graph *f;
    int carried, count;
    value operands[OP_OUTPUTS], params[OP_OUTPUTS];
} backwards;

/* Adds an operand; returns its parameter. */
static bool add_operand(backwards *b, const char *name, value operand, bool element, value *param,
                        error *err)
{
    if (b->count == OP_OUTPUTS)
        return error_set(err, ERR_NOT_IMPLEMENTED,
                         "the gradient of a loop with this many values is not implemented");
    *param = loop_param(b->f, name, operand, element, err);
    b->operands[b->count] = operand;
    b->params[b->count++] = *param;
    return param->node != NULL;
}

static bool flip_first(graph *g, value v, value *result, error *err)
{
    const attr axis = {.kind = ATTR_INT, .integer = 0};

    return fit_apply(g, "flip", &v, 1, &axis, result, err);
}

static bool add_flipped(const scan_parts *p, backwards *b, const char *name, value v, value *param,
                        error *err)
{
    value flipped;

    return flip_first(p->step->graph, v, &flipped, err) &&
           add_operand(b, name, flipped, true, param, err);
}

/* The gradient that comes in for output i, or zeros like it. */
static bool incoming_or_zeros(const scan_parts *p, int i, value *result, error *err)
{
    const value output = {(node *)p->node, i};

    *result = p->step->incoming[i];
    if (result->node != NULL)
        return fit_dtype(p->step->graph, output, *result, result, err);
    return fit_apply(p->step->graph, "zeros_like", &output, 1, NULL, result, err);
}

/* Sets the parameters that stand for the gradients of carried values and for the sums of
 * the captured values' gradients. */
static bool add_gradients(const scan_parts *p, backwards *b, value *carry, value *sums, error *err)
{
    const int own = p->carries + p->walked;
    value v;

    for (int i = 0; i < p->carries; i++)
        if (p->carry[i] &&
            (!incoming_or_zeros(p, i, &v, err) || !add_operand(b, "g", v, false, &carry[i], err)))
            return false;
    for (int i = 0; i < p->captured; i++)
        if (p->capture[i] && (!fit_apply(p->step->graph, "zeros_like", &p->node->inputs[own + i], 1,
                                         NULL, &v, err) ||
                              !add_operand(b, "sum", v, false, &sums[i], err)))
            return false;
    b->carried = b->count;
    return true;
}

/* Sets the parameters that the body had, and those of the stacked values' gradients. */
static bool add_walked(const scan_parts *p, backwards *b, value *params, value *stack, error *err)
{
    value recorded[OP_OUTPUTS], v;

    if (!record(p, recorded, err))
        return false;
    for (int i = 0; i < p->carries + p->walked; i++)
        if (!add_flipped(p, b, i < p->carries ? "carry" : "x",
                         i < p->carries ? recorded[i] : p->node->inputs[i], &params[i], err))
            return false;
    for (int i = 0; i < p->stacked; i++)
        if (p->stack[i] && (!incoming_or_zeros(p, p->carries + i, &v, err) ||
                            !add_flipped(p, b, "gy", v, &stack[i], err)))
            return false;
    return true;
}

/* The body's gradients: for carried and walked parameters and for captured values. */
typedef struct body_gradients {
    value *wrt, *gradients;
    int count;
} body_gradients;

static bool differentiate(const scan_parts *p, backwards *b, const value *params,
                          const value *carry, const value *stack, const value *inside,
                          const graph_map *map, body_gradients *d, error *err)
{
    arena *a = p->step->graph->arena;
    const size_t room = (size_t)p->node->input_count + (size_t)p->node->output_count + 1;
    value *ys = arena_array(a, room, sizeof *ys), *seeds = arena_array(a, room, sizeof *seeds);
    gradient_query q = {.ys = ys, .grad_ys = seeds, .zeros = true};

    for (int i = 0; i < p->carries + p->stacked; i++) {
        const bool takes_part = i < p->carries ? p->carry[i] : p->stack[i - p->carries];

        if (!takes_part)
            continue;
        ys[q.y_count] = graph_map_get(map, p->body->outputs[i]);
        seeds[q.y_count++] = i < p->carries ? carry[i] : stack[i - p->carries];
    }
    d->wrt = arena_array(a, room, sizeof *d->wrt);
    d->gradients = arena_array(a, room, sizeof *d->gradients);
    for (int i = 0; i < p->carries + p->walked; i++)
        if (i < p->carries ? p->carry[i] : p->walk[i - p->carries])
            d->wrt[d->count++] = params[i];
    for (int i = 0; i < p->captured; i++)
        if (p->capture[i])
            d->wrt[d->count++] = inside[i];
    q.wrt = d->wrt;
    q.wrt_count = d->count;
    return grad_walk(b->f, &q, d->gradients, err);
}

static int count_true(const bool *flags, int n)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        count += flags[i];
    return count;
}

/* The body's results: new gradients of carried values, sums, gradients of walked ones. */
static bool add_outputs(const scan_parts *p, backwards *b, const body_gradients *d,
                        const value *sums, error *err)
{
    const int carries = count_true(p->carry, p->carries), walks = count_true(p->walk, p->walked);
    int at = carries + walks;

    for (int i = 0; i < carries; i++)
        graph_add_output(b->f, d->gradients[i]);
    for (int i = 0; i < p->captured; i++) {
        value both[2], sum;

        if (!p->capture[i])
            continue;
        both[0] = sums[i];
        both[1] = d->gradients[at++];
        if (!fit_apply(b->f, "add", both, 2, NULL, &sum, err))
            return false;
        graph_add_output(b->f, sum);
    }
    for (int i = carries; i < carries + walks; i++)
        graph_add_output(b->f, d->gradients[i]);
    return true;
}

/* Hands out what the scan backwards gave. */
static bool take_gradients(const scan_parts *p, const value *outputs, value *gradients, error *err)
{
    int at = 0;

    for (int i = 0; i < p->carries; i++)
        if (p->carry[i])
            gradients[i] = outputs[at++];
    for (int i = 0; i < p->captured; i++)
        if (p->capture[i])
            gradients[p->carries + p->walked + i] = outputs[at++];
    for (int i = 0; i < p->walked; i++)
        if (p->walk[i] &&
            !flip_first(p->step->graph, outputs[at++], &gradients[p->carries + i], err))
            return false;
    for (int i = 0; i < p->carries; i++)
        if (!p->step->wanted[i])
            gradients[i] = (value){0};
    return true;
}

/* The gradients of a scan whose carried values are recorded at once. */
static bool recorded_gradients(const step *s, value *gradients, error *err)
{
    const scan_parts p = parts_of(s);
    arena *a = s->graph->arena;
    const size_t room = (size_t)p.node->input_count + (size_t)p.node->output_count + 1;
    backwards *b = arena_alloc(a, sizeof *b);
    value *carry = arena_array(a, room, sizeof(value)), *sums = arena_array(a, room, sizeof(value));
    value *params = arena_array(a, room, sizeof(value)),
          *stack = arena_array(a, room, sizeof(value));
    value *inside = arena_array(a, room, sizeof(value)), outputs[OP_OUTPUTS];
    body_gradients d = {0};
    const graph_map *map;

    b->f = graph_new(a, s->graph);
    if (!add_gradients(&p, b, carry, sums, err) || !add_walked(&p, b, params, stack, err))
        return false;
    map = put_body(b->f, p.body, params, p.node->inputs + p.carries + p.walked, inside, err);
    return map != NULL && differentiate(&p, b, params, carry, stack, inside, map, &d, err) &&
           add_outputs(&p, b, &d, sums, err) &&
           apply_scan(&p, b->f, b->operands, b->count, b->carried, outputs, err) &&
           take_gradients(&p, outputs, gradients, err);
}

bool scan_gradients(const step *s, value *gradients, error *err)
{
    return pieces_wanted(s->node) ? pieces_gradients(s, gradients, err)
                                  : recorded_gradients(s, gradients, err);
}

/* ---- while_loop
 * --------------------------------------------------------------------------------------- */

/* One function of a while loop with a counter behind its variables; counts: gives the
 * counter increased behind its results. */
static graph *with_counter(const step *s, int function, int first_captured, bool counts, error *err)
{
    const node *n = s->node;
    const graph *from = n->attrs[function].graph;
    graph *f = graph_new(s->graph->arena, s->graph);
    const int variables = graph_own_inputs(n);
    const type counter = {.dtype = DT_I64};
    value *params = arena_array(f->arena, (size_t)variables + 1, sizeof *params);
    const int64_t one = 1;
    value both[2], next;
    graph_map *map;

    for (int i = 0; i < variables; i++)
        params[i] = loop_param(f, "v", n->inputs[i], false, err);
    both[0] = graph_input(f, "count", &counter, err);
    both[1] = graph_scalar(f, DT_I64, &one, false, err);
    map =
        error_is_set(err) ? NULL : put_body(f, from, params, n->inputs + first_captured, NULL, err);
    if (map == NULL)
        return NULL;
    for (int i = 0; i < from->output_count; i++)
        graph_add_output(f, graph_map_get(map, from->outputs[i]));
    if (counts && !fit_apply(f, "add", both, 2, NULL, &next, err))
        return NULL;
    if (counts)
        graph_add_output(f, next);
    return f;
}

/* How often the loop runs, as a value of the graph. */
static bool count_steps(const step *s, int condition_at, int body_at, value *count, error *err)
{
    const node *n = s->node;
    const int variables = graph_own_inputs(n);
    value *inputs = arena_array(s->graph->arena, (size_t)variables + 2, sizeof *inputs);
    attr attrs[4] = {{.kind = ATTR_GRAPH}, {.kind = ATTR_GRAPH}, n->attrs[WHILE_LIMIT]};
    value outputs[OP_OUTPUTS];
    const int64_t zero = 0;

    if (variables + 1 > OP_OUTPUTS)
        return error_set(err, ERR_NOT_IMPLEMENTED,
                         "the gradient of a loop with this many values is not implemented");
    memcpy(inputs, n->inputs, (size_t)variables * sizeof *inputs);
    inputs[variables] = graph_scalar(s->graph, DT_I64, &zero, false, err);
    attrs[0].graph = with_counter(s, 0, condition_at, false, err);
    attrs[1].graph = attrs[0].graph == NULL ? NULL : with_counter(s, 1, body_at, true, err);
    if (attrs[1].graph == NULL ||
        graph_apply(s->graph, n->op, inputs, variables + 1, attrs, outputs, err) == NULL)
        return false;
    *count = outputs[variables];
    return true;
}

/* Says of a loop with shape invariants whose variables do not keep their shapes, which the
 * error is about, that it has no gradient. False. */
static bool changes_shape(const node *n, error *err)
{
    if (n->attrs[WHILE_INVARIANTS].kind == ATTR_NONE || err->kind != ERR_SHAPE)
        return false;
    *err = (error){0};
    return error_set(err, ERR_NOT_IMPLEMENTED,
                     "there is no gradient through a while_loop whose variables change their "
                     "shapes: what it records would have another shape in every step");
}

bool while_gradients(const step *s, value *gradients, error *err)
{
    const node *n = s->node;
    const int variables = graph_own_inputs(n);
    const int body_at = graph_first_captured(n, WHILE_BODY);
    const op_def *scan = op_find("scan", 4);
    attr attrs[3] = {{.kind = ATTR_GRAPH}, {.kind = ATTR_INT, .integer = variables}, {0}};
    value outputs[OP_OUTPUTS], count = {0}, *found;
    step same = *s;
    bool *wanted;

    if (!count_steps(s, variables, body_at, &count, err))
        return changes_shape(n, err);
    attrs[2] = (attr){.kind = ATTR_DYNAMIC, .node = count.node, .output = count.index};
    attrs[0].graph = loop_body(s->graph, n->attrs[WHILE_BODY].graph, n->inputs, variables,
                               variables, n->inputs + body_at, err);
    same.node = attrs[0].graph == NULL
                    ? NULL
                    : graph_apply(s->graph, scan, n->inputs, variables, attrs, outputs, err);
    if (same.node == NULL)
        return false;
    wanted = arena_array(s->graph->arena, (size_t)same.node->input_count + 1, sizeof *wanted);
    found = arena_array(s->graph->arena, (size_t)same.node->input_count + 1, sizeof *found);
    for (int i = 0; i < same.node->input_count; i++)
        wanted[i] = s->wanted[i < variables ? i : body_at + i - variables];
    same.wanted = wanted;
    if (!scan_gradients(&same, found, err))
        return false;
    for (int i = 0; i < same.node->input_count; i++)
        gradients[i < variables ? i : body_at + i - variables] = found[i];
    return true;
}
