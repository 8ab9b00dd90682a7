/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/plan/private.h"

/* ---- Slots, buffers, steps --------------------------------------------------------- */

int planner_add_slot(planner *p, slot_kind kind, int index, const tensor *constant)
{
    plan *pl = p->plan;

    pl->slots = arena_grow(p->arena, pl->slots, (size_t)pl->slot_count, &p->slot_room, sizeof(slot));
    pl->slots[pl->slot_count] = (slot){kind, index, constant};
    return pl->slot_count++;
}

/* A slot whose buffer has room for size bytes. */
static int add_buffer(planner *p, size_t size, bool made_by_step)
{
    plan *pl = p->plan;

    pl->buffers = arena_grow(p->arena, pl->buffers, (size_t)pl->buffer_count, &p->buffer_room,
                             sizeof *pl->buffers);
    pl->buffers[pl->buffer_count] =
        (plan_buffer){.size = size, .made_by_step = made_by_step, .last_step = -1};
    return planner_add_slot(p, SLOT_BUFFER, pl->buffer_count++, NULL);
}

layout *planner_new_value(planner *p, dtype t, const shape *s)
{
    const bool known = shape_is_known(s);
    const size_t size = known ? (size_t)shape_size(s) * dtype_size(t) : 0;

    return layout_dense(p->arena, add_buffer(p, size, !known), t, s);
}

step *planner_add_step(planner *p, step_kind kind, const node *n)
{
    plan *pl = p->plan;
    step *s;

    pl->steps =
        arena_grow(p->arena, pl->steps, (size_t)pl->step_count, &p->step_room, sizeof *pl->steps);
    s = &pl->steps[pl->step_count++];
    s->kind = kind;
    s->node = n;
    return s;
}

layout *planner_layout(planner *p, value v)
{
    layout **row = p->layouts[v.node->id];

    return row == NULL ? NULL : row[v.index];
}

void planner_set_layout(planner *p, value v, layout *l)
{
    layout ***row = &p->layouts[v.node->id];

    if (*row == NULL)
        *row = arena_array(p->arena, (size_t)v.node->output_count + 1, sizeof **row);
    (*row)[v.index] = l;
}

/* ---- Nodes ----------------------------------------------------------------------------- */

static void plan_input(planner *p, const node *n)
{
    int index = 0;

    while (p->g->inputs[index].node != n)
        index++;
    planner_set_layout(p, (value){(node *)n, 0},
                       layout_dense(p->arena, planner_add_slot(p, SLOT_INPUT, index, NULL),
                                    n->types[0].dtype, &n->types[0].shape));
}

static void plan_constant(planner *p, const node *n)
{
    const tensor *t = n->constant;
    layout *l = layout_dense(p->arena, planner_add_slot(p, SLOT_CONSTANT, 0, t), t->dtype,
                             &t->shape);

    l->offset = t->offset;
    memcpy(l->strides, t->strides, sizeof l->strides);
    planner_set_layout(p, (value){(node *)n, 0}, l);
}

/* The input as the operation wants it: of a type, and dense if dense is set. */
static layout *prepare(planner *p, const node *n, value input, dtype t, bool dense, error *err)
{
    layout *l = planner_layout(p, input);

    if (l->dtype == t && (!dense || layout_is_dense(l)))
        return l;
    return tiles_copy(p, n, l, t, err);
}

static bool plan_view(planner *p, const node *n, error *err)
{
    layout *from = planner_layout(p, n->inputs[0]);
    layout *l = layout_of_view(p->arena, n, from);

    if (l == NULL) {
        from = tiles_copy(p, n, from, from->dtype, err);
        l = from == NULL ? NULL : layout_of_view(p->arena, n, from);
    }
    if (l == NULL)
        return error_set(err, ERR_INTERNAL, "%s cannot be arranged", n->op->name);
    planner_set_layout(p, (value){(node *)n, 0}, l);
    return true;
}

static op_call call_of(planner *p, const node *n)
{
    type *types = arena_array(p->arena, (size_t)n->input_count + 1, sizeof *types);

    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i].node != NULL)
            types[i] = *value_type(n->inputs[i]);
    return (op_call){n->op, n->input_count, types, n->attrs, p->arena};
}

static void plan_outputs(planner *p, const node *n, int *slots, bool by_step)
{
    for (int i = 0; i < n->output_count; i++) {
        layout *l = planner_new_value(p, n->types[i].dtype, &n->types[i].shape);

        slots[i] = l->slot;
        if (by_step)
            p->plan->buffers[p->plan->slots[l->slot].index].made_by_step = true;
        planner_set_layout(p, (value){(node *)n, i}, l);
    }
}

static double run_work(const op_call *call, const node *n)
{
    double elements = 0;

    if (call->op->work != NULL)
        return call->op->work(call);
    for (int i = 0; i < call->count; i++)
        elements += (double)shape_size(&call->inputs[i].shape);
    for (int i = 0; i < n->output_count; i++)
        if (shape_is_known(&n->types[i].shape))
            elements += (double)shape_size(&n->types[i].shape);
    return elements;
}

static bool plan_run(planner *p, const node *n, error *err)
{
    const op_call call = call_of(p, n);
    layout *inputs = arena_array(p->arena, (size_t)n->input_count + 1, sizeof *inputs);
    dtype *casts = arena_array(p->arena, (size_t)n->input_count + 1, sizeof *casts);
    int *outputs = arena_array(p->arena, (size_t)n->output_count + 1, sizeof *outputs);
    step *s;

    if (n->op->run == NULL)
        return error_set(err, ERR_INTERNAL, "%s has no way to run", n->op->name);
    for (int i = 0; i < n->input_count; i++)
        casts[i] = value_type(n->inputs[i])->dtype;
    if (n->op->casts != NULL)
        n->op->casts(&call, n->types, casts);
    for (int i = 0; i < n->input_count; i++) {
        const layout *l =
            prepare(p, n, n->inputs[i], casts[i], (n->op->traits & OP_DENSE) != 0, err);

        if (l == NULL)
            return false;
        inputs[i] = *l;
    }
    plan_outputs(p, n, outputs, false);
    s = planner_add_step(p, STEP_RUN, n);
    s->input_count = n->input_count;
    s->inputs = inputs;
    s->output_count = n->output_count;
    s->outputs = outputs;
    s->output_types = n->types;
    s->scratch = n->op->scratch != NULL ? n->op->scratch(&call) : 0;
    p->plan->work += run_work(&call, n);
    return true;
}

static bool plan_cond(planner *p, const node *n, error *err)
{
    layout *inputs = arena_array(p->arena, (size_t)n->input_count + 1, sizeof *inputs);
    int *outputs = arena_array(p->arena, (size_t)n->output_count + 1, sizeof *outputs);
    const plan *yes = plan_new(n->attrs[0].graph, p->plan->threads, p->arena, err);
    const plan *no = yes ? plan_new(n->attrs[1].graph, p->plan->threads, p->arena, err) : NULL;
    step *s;

    if (no == NULL)
        return false;
    for (int i = 0; i < n->input_count; i++) {
        const dtype t = i == 0 ? DT_BOOL : value_type(n->inputs[i])->dtype;
        const layout *l = prepare(p, n, n->inputs[i], t, true, err);

        if (l == NULL)
            return false;
        inputs[i] = *l;
    }
    plan_outputs(p, n, outputs, true);
    s = planner_add_step(p, STEP_COND, n);
    s->input_count = n->input_count;
    s->inputs = inputs;
    s->output_count = n->output_count;
    s->outputs = outputs;
    s->output_types = n->types;
    s->branch[0] = no;
    s->branch[1] = yes;
    s->scratch = yes->peak > no->peak ? yes->peak : no->peak;
    p->plan->work += yes->work > no->work ? yes->work : no->work;
    return true;
}

static bool plan_node(planner *p, const node *n, error *err)
{
    if (n->op == &op_input)
        plan_input(p, n);
    else if (n->op == &op_constant)
        plan_constant(p, n);
    else if (n->op->reduce != NULL || node_is_elementwise(n))
        return p->groups.root[n->id] != n->id || tiles_of_group(p, n, err);
    else if (n->op->is_cond)
        return plan_cond(p, n, err);
    else if (n->op->view != NULL && (n->op->run == NULL || n->input_count == 1))
        return plan_view(p, n, err);
    else
        return plan_run(p, n, err);
    return true;
}

/* ---- Memory -------------------------------------------------------------------------------- */

static void note_use(plan *pl, int slot_index, int at)
{
    const slot *s = &pl->slots[slot_index];

    if (s->kind == SLOT_BUFFER && pl->buffers[s->index].last_step < at)
        pl->buffers[s->index].last_step = at;
}

static void note_step_uses(plan *pl, int at)
{
    const step *s = &pl->steps[at];

    for (int i = 0; i < s->input_count; i++)
        note_use(pl, s->inputs[i].slot, at);
    for (int i = 0; i < s->output_count; i++)
        note_use(pl, s->outputs[i], at);
    for (int i = 0; s->tiles != NULL && i < s->tiles->leaf_count; i++)
        note_use(pl, s->tiles->leaves[i].slot, at);
    for (int i = 0; s->tiles != NULL && i < s->tiles->output_count; i++)
        note_use(pl, s->tiles->outputs[i].slot, at);
}

static void find_last_uses(plan *pl)
{
    for (int i = 0; i < pl->step_count; i++)
        note_step_uses(pl, i);
    for (int i = 0; i < pl->output_count; i++)
        note_use(pl, pl->outputs[i].slot, pl->step_count);
}

/* Whether the leaf walks through its slot exactly as the output is written. */
static bool walks_densely(const tile_program *t, const tile_leaf *l)
{
    int64_t dense = 1;

    for (int i = t->rank - 1; i >= 0; i--) {
        if (l->steps[i] != dense && t->length[i] != 1)
            return false;
        dense *= t->length[i];
    }
    return l->offset == 0;
}

static bool is_only_leaf(const tile_program *t, int leaf)
{
    for (int i = 0; i < t->leaf_count; i++)
        if (i != leaf && t->leaves[i].slot == t->leaves[leaf].slot)
            return false;
    return true;
}

/* Lets a step write its one output over an input that dies with it. */
static void reuse_in_place(plan *pl, int at)
{
    const tile_program *t = pl->steps[at].tiles;
    slot *out;

    if (t == NULL || t->reduce != NULL || t->output_count != 1)
        return;
    out = &pl->slots[t->outputs[0].slot];
    for (int i = 0; i < t->leaf_count; i++) {
        const slot *in = &pl->slots[t->leaves[i].slot];
        plan_buffer *b = in->kind == SLOT_BUFFER ? &pl->buffers[in->index] : NULL;

        if (b == NULL || b->last_step != at || b->made_by_step ||
            t->leaves[i].size != t->outputs[0].size || b->size != pl->buffers[out->index].size ||
            !walks_densely(t, &t->leaves[i]) || !is_only_leaf(t, i))
            continue;
        b->last_step = pl->buffers[out->index].last_step;
        pl->buffers[out->index].last_step = -1; /* never made */
        out->index = in->index;
        return;
    }
}

static int64_t cost_of(const plan_buffer *b)
{
    return b->last_step >= 0 ? buffer_cost(b->size) : 0;
}

/* The buffers that a step makes come to life with it, or lived before, in place. */
static int64_t made_by(const plan *pl, const step *s, bool *alive)
{
    int64_t bytes = 0;
    const int count = s->tiles != NULL ? s->tiles->output_count : s->output_count;

    for (int i = 0; i < count; i++) {
        const int slot_index = s->tiles != NULL ? s->tiles->outputs[i].slot : s->outputs[i];
        const int b = pl->slots[slot_index].index;

        if (!alive[b] && s->kind != STEP_COND)
            bytes += cost_of(&pl->buffers[b]);
        alive[b] = true;
    }
    return bytes;
}

/* Lists, for each step, the buffers whose last use it is. */
static void list_dying(plan *pl, arena *a)
{
    pl->next_dying = arena_array(a, (size_t)pl->buffer_count + 1, sizeof *pl->next_dying);
    pl->first_dying = arena_array(a, (size_t)pl->step_count + 1, sizeof *pl->first_dying);
    for (int i = 0; i <= pl->step_count; i++)
        pl->first_dying[i] = -1;
    for (int b = 0; b < pl->buffer_count; b++) {
        const int step = pl->buffers[b].last_step;

        if (step < 0)
            continue;
        pl->next_dying[b] = pl->first_dying[step];
        pl->first_dying[step] = b;
    }
}

static void find_peak(plan *pl, arena *a)
{
    bool *alive = arena_array(a, (size_t)pl->buffer_count + 1, sizeof *alive);
    int64_t live = 0;

    for (int i = 0; i < pl->step_count; i++) {
        const step *s = &pl->steps[i];
        int64_t during;

        live += made_by(pl, s, alive);
        during = live + (s->kind == STEP_TILES ? buffer_cost((size_t)s->scratch) : s->scratch);
        pl->peak = during > pl->peak ? during : pl->peak;
        for (int k = 0; s->kind == STEP_COND && k < s->output_count; k++)
            live += cost_of(&pl->buffers[pl->slots[s->outputs[k]].index]);
        for (int b = pl->first_dying[i]; b >= 0; b = pl->next_dying[b])
            live -= cost_of(&pl->buffers[b]);
    }
}

/* ---- Plans ------------------------------------------------------------------------------------ */

plan *plan_new(const graph *g, int threads, arena *a, error *err)
{
    plan *pl = arena_alloc(a, sizeof *pl);
    planner p = {.g = g, .arena = a, .plan = pl};

    pl->threads = threads;
    pl->input_count = g->input_count;
    pl->output_count = g->output_count;
    p.groups = groups_of(g, a);
    p.values = arena_array(a, (size_t)g->count + 1, sizeof *p.values);
    p.layouts = arena_array(a, (size_t)g->count + 1, sizeof *p.layouts);
    for (int i = 0; i < g->count; i++)
        if (p.groups.needed[i] && !plan_node(&p, g->nodes[i], err))
            return NULL;
    pl->outputs = arena_array(a, (size_t)g->output_count + 1, sizeof *pl->outputs);
    for (int i = 0; i < g->output_count; i++)
        pl->outputs[i] = *planner_layout(&p, g->outputs[i]);
    find_last_uses(pl);
    for (int i = 0; i < pl->step_count; i++)
        reuse_in_place(pl, i);
    list_dying(pl, a);
    find_peak(pl, a);
    return pl;
}
