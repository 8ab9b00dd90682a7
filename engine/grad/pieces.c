/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of long scans. A scan of n steps is one over pieces, each of which is a scan of
 * as many steps as there are pieces, about the root of n, and then a scan of the steps that
 * are left. Their gradients are those of loops.c: only what is carried into each piece is
 * recorded, and what is carried in a piece when its turn comes. So 2 sqrt(n) carried values
 * are held in place of n, and every step is done once more. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/grad/private.h"

/* A scan in pieces. */
typedef struct pieces {
    const step *step;
    const node *node;
    int carries, own;             /* inputs of the scan: carried ones, and all before captured */
    int64_t count, length, steps; /* pieces, steps in each, steps in all of them */
    bool has_rest;                /* whether steps are left */
} pieces;

/* ---- When ---------------------------------------------------------------------------- */

/* How many steps a scan has; LENGTH_UNKNOWN if that is not known. */
static int64_t steps_of(const node *n)
{
    const int carries = (int)n->attrs[SCAN_CARRIES].integer;

    if (graph_own_inputs(n) > carries)
        return value_type(n->inputs[carries])->shape.length[0];
    return n->attrs[SCAN_LENGTH].kind == ATTR_INT ? n->attrs[SCAN_LENGTH].integer : LENGTH_UNKNOWN;
}

bool pieces_wanted(const node *n)
{
    const int own = graph_own_inputs(n);
    double bytes = 0;

    for (int i = 0; i < own; i++) {
        const type *t = value_type(n->inputs[i]);

        if (!shape_is_known(&t->shape))
            return false;
        if (i < n->attrs[SCAN_CARRIES].integer)
            bytes += (double)shape_size(&t->shape) * (double)dtype_size(t->dtype);
    }
    for (int i = 0; i < n->output_count; i++)
        if (!shape_is_known(&n->types[i].shape))
            return false;
    return steps_of(n) >= PIECES_STEPS && bytes * (double)steps_of(n) > PIECES_BYTES;
}

static pieces cut(const step *s)
{
    const int64_t steps = steps_of(s->node), root = (int64_t)sqrt((double)steps);
    pieces p = {.step = s, .node = s->node};

    p.carries = (int)s->node->attrs[SCAN_CARRIES].integer;
    p.own = graph_own_inputs(s->node);
    p.length = root;
    p.count = steps / root;
    p.steps = p.count * p.length;
    p.has_rest = p.steps < steps;
    return p;
}

/* ---- Parts of what is walked along ------------------------------------------------------ */

/* Replaces *v, unless it is no value, by what an expression of x makes of it. */
static bool arrange(const pieces *p, const char *expression, value *v, error *err)
{
    static const char *const names[] = {"x"};
    const lang_value x = lang_of_value(*v);

    return v->node == NULL ||
           lang_function_build(p->step->graph, expression, names, &x, 1, v, 1, err);
}

/* The lengths of all axes but the first `from`, each with a comma behind it. */
static const char *lengths_from(const pieces *p, int from, value v)
{
    const char *words = "";

    for (int i = from; v.node != NULL && i < value_type(v)->shape.rank; i++)
        words = arena_format(p->step->graph->arena, "%s %" PRId64 ",", words,
                             value_type(v)->shape.length[i]);
    return words;
}

/* The steps that lie in pieces, with an axis for the pieces before that of the steps; `like`
 * tells the lengths. */
static bool take_pieces(const pieces *p, value from, value like, value *result, error *err)
{
    *result = from;
    return arrange(p,
                   arena_format(p->step->graph->arena,
                                "reshape(x[:%" PRId64 "], (%" PRId64 ", %" PRId64 ",%s))", p->steps,
                                p->count, p->length, lengths_from(p, 1, like)),
                   result, err);
}

/* The steps that are left. */
static bool take_rest(const pieces *p, value from, value *result, error *err)
{
    *result = from;
    return arrange(p, arena_format(p->step->graph->arena, "x[%" PRId64 ":]", p->steps), result,
                   err);
}

/* Both together again. */
static bool join(const pieces *p, value in_pieces, value rest, value *result, error *err)
{
    value both[2] = {in_pieces, rest};
    const attr axis = {.kind = ATTR_INT, .integer = 0};

    *result = in_pieces;
    if (!arrange(p,
                 arena_format(p->step->graph->arena, "reshape(x, (%" PRId64 ",%s))", p->steps,
                              lengths_from(p, 2, in_pieces)),
                 &both[0], err))
        return false;
    *result = both[0];
    return rest.node == NULL || both[0].node == NULL ||
           fit_apply(p->step->graph, "concatenate", both, 2, &axis, result, err);
}

/* ---- The scans ------------------------------------------------------------------------ */

/* The scan with another body, over another number of steps. */
static node *apply_scan(graph *g, const pieces *p, graph *body, const value *operands,
                        int64_t steps, value *outputs, error *err)
{
    const attr attrs[3] = {{.kind = ATTR_GRAPH, .graph = body},
                           p->node->attrs[SCAN_CARRIES],
                           {.kind = ATTR_INT, .integer = steps}};

    return graph_apply(g, p->node->op, operands, p->own, attrs, outputs, err);
}

/* The function of the scan over pieces: a scan of one piece. */
static graph *piece_of(const pieces *p, const value *operands, error *err)
{
    graph *outer = p->step->graph, *f = graph_new(outer->arena, outer), *body;
    value *params = arena_array(outer->arena, (size_t)p->own + 1, sizeof *params);
    value outputs[OP_OUTPUTS];

    for (int i = 0; i < p->own; i++) {
        params[i] =
            loop_param(f, i < p->carries ? "carry" : "x", operands[i], i >= p->carries, err);
        if (params[i].node == NULL)
            return NULL;
    }
    body = loop_body(f, p->node->attrs[SCAN_BODY].graph, params, p->own, p->carries,
                     p->node->inputs + p->own, err);
    if (body == NULL || apply_scan(f, p, body, params, p->length, outputs, err) == NULL)
        return NULL;
    for (int i = 0; i < p->node->output_count; i++)
        graph_add_output(f, outputs[i]);
    return f;
}

static node *scan_pieces(const pieces *p, value *outputs, error *err)
{
    value *operands = arena_array(p->step->graph->arena, (size_t)p->own + 1, sizeof *operands);
    graph *f;

    for (int i = 0; i < p->own; i++) {
        operands[i] = p->node->inputs[i];
        if (i >= p->carries && !take_pieces(p, operands[i], operands[i], &operands[i], err))
            return NULL;
    }
    f = piece_of(p, operands, err);
    return f == NULL ? NULL : apply_scan(p->step->graph, p, f, operands, p->count, outputs, err);
}

static node *scan_rest(const pieces *p, const value *carried, error *err)
{
    graph *g = p->step->graph;
    value *operands = arena_array(g->arena, (size_t)p->own + 1, sizeof *operands);
    value outputs[OP_OUTPUTS];
    graph *f;

    for (int i = 0; i < p->own; i++) {
        operands[i] = i < p->carries ? carried[i] : p->node->inputs[i];
        if (i >= p->carries && !take_rest(p, operands[i], &operands[i], err))
            return NULL;
    }
    f = loop_body(g, p->node->attrs[SCAN_BODY].graph, operands, p->own, p->carries,
                  p->node->inputs + p->own, err);
    return f == NULL ? NULL
                     : apply_scan(g, p, f, operands, steps_of(p->node) - p->steps, outputs, err);
}

/* ---- Backwards ---------------------------------------------------------------------------- */

/* Which input of the whole scan one that a part captured is: the first of this value. */
static int place_of(const pieces *p, value captured)
{
    int i = p->own;

    while (!value_equal(p->node->inputs[i], captured))
        i++;
    return i;
}

/* Goes back through a part: its own inputs' gradients are own[0 ..), what it captured
 * contributes to `gradients`. */
static bool go_back(const pieces *p, const node *part, const value *incoming, value *own,
                    value *gradients, error *err)
{
    graph *g = p->step->graph;
    const size_t room = (size_t)part->input_count + 1;
    bool *wanted = arena_array(g->arena, room, sizeof *wanted);
    value *found = arena_array(g->arena, room, sizeof *found);
    const step back = {g, part, incoming, wanted};

    for (int i = 0; i < part->input_count; i++)
        wanted[i] = i < p->carries ? grad_takes(value_type(part->inputs[i])->dtype)
                                   : p->step->wanted[i < p->own ? i : place_of(p, part->inputs[i])];
    if (!scan_gradients(&back, found, err))
        return false;
    memcpy(own, found, (size_t)p->own * sizeof *own);
    for (int i = p->own; i < part->input_count; i++) {
        value *sum = &gradients[place_of(p, part->inputs[i])], both[2] = {*sum, found[i]};

        if (sum->node != NULL && found[i].node != NULL &&
            !fit_apply(g, "add", both, 2, NULL, sum, err))
            return false;
        *sum = both[0].node == NULL ? found[i] : *sum;
    }
    return true;
}

/* The gradients that come in for what a part gives: of carried values as they are. */
static bool incoming_of(const pieces *p, bool rest, const value *carried, value *incoming,
                        error *err)
{
    for (int i = 0; i < p->node->output_count; i++) {
        const value all = p->step->incoming[i], like = {(node *)p->node, i};

        if (i < p->carries)
            incoming[i] = carried[i];
        else if (!(rest ? take_rest(p, all, &incoming[i], err)
                        : take_pieces(p, all, like, &incoming[i], err)))
            return false;
    }
    return true;
}

/* The steps that are left come first; the gradients of what was carried to them come in
 * for the pieces. */
bool pieces_gradients(const step *s, value *gradients, error *err)
{
    const pieces p = cut(s);
    const size_t room = (size_t)s->node->input_count + (size_t)s->node->output_count + 1;
    value *incoming = arena_array(s->graph->arena, room, sizeof *incoming);
    value *last = arena_array(s->graph->arena, room, sizeof *last);
    value outputs[OP_OUTPUTS];
    const node *in_pieces = scan_pieces(&p, outputs, err), *rest;

    if (in_pieces == NULL)
        return false;
    memcpy(last, s->incoming, (size_t)p.carries * sizeof *last);
    if (p.has_rest && ((rest = scan_rest(&p, outputs, err)) == NULL ||
                       !incoming_of(&p, true, last, incoming, err) ||
                       !go_back(&p, rest, incoming, last, gradients, err)))
        return false;
    if (!incoming_of(&p, false, last, incoming, err) ||
        !go_back(&p, in_pieces, incoming, gradients, gradients, err))
        return false;
    for (int i = 0; i < p.own; i++) {
        const value left = i >= p.carries && p.has_rest ? last[i] : (value){0};

        if (!s->wanted[i])
            gradients[i] = (value){0};
        else if (i >= p.carries && !join(&p, gradients[i], left, &gradients[i], err))
            return false;
    }
    return true;
}
