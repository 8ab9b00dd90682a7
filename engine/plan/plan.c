/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/plan/private.h"

/* ---- Slots, buffers, steps --------------------------------------------------------- */

int planner_add_slot(planner *p, slot_kind kind, int index, const tensor *constant)
{
    plan *pl = p->plan;

    pl->slots =
        arena_grow(p->arena, pl->slots, (size_t)pl->slot_count, &p->slot_room, sizeof(slot));
    pl->slots[pl->slot_count] = (slot){.kind = kind, .index = index, .constant = constant};
    return pl->slot_count++;
}

/* A slot whose buffer has room for size bytes. */
static int add_buffer(planner *p, size_t size, bool made_by_step)
{
    plan *pl = p->plan;

    pl->buffers = arena_grow(p->arena, pl->buffers, (size_t)pl->buffer_count, &p->buffer_room,
                             sizeof *pl->buffers);
    pl->buffers[pl->buffer_count] = (plan_buffer){
        .size = size, .made_by_step = made_by_step, .first_step = -1, .last_step = -1};
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

void planner_charge(planner *p, step *s, double work)
{
    s->work = work;
    p->plan->work += work;
}

layout *planner_layout(planner *p, value v)
{
    layout **row = p->layouts[v.node->id];

    return row == NULL ? NULL : row[v.index];
}

void planner_set_layout(planner *p, value v, layout *l)
{
    layout ***row = &p->layouts[v.node->id];
    slot *s = &p->plan->slots[l->slot];

    if (s->value.node == NULL) /* later ones are other ways to look at it */
        s->value = v;
    if (*row == NULL)
        *row = arena_array(p->arena, (size_t)v.node->output_count + 1, sizeof **row);
    (*row)[v.index] = l;
}

/* ---- Nodes ----------------------------------------------------------------------------- */

static void plan_inputs(planner *p)
{
    for (int i = 0; i < p->g->input_count; i++) {
        const value v = p->g->inputs[i];
        const type *t = value_type(v);

        if (p->groups.needed[v.node->id])
            planner_set_layout(p, v,
                               layout_dense(p->arena, planner_add_slot(p, SLOT_INPUT, i, NULL),
                                            t->dtype, &t->shape));
    }
}

static void plan_constant(planner *p, const node *n)
{
    const tensor *t = n->constant;
    layout *l =
        layout_dense(p->arena, planner_add_slot(p, SLOT_CONSTANT, 0, t), t->dtype, &t->shape);

    l->offset = t->offset;
    memcpy(l->strides, t->strides, sizeof l->strides);
    planner_set_layout(p, (value){(node *)n, 0}, l);
}

static bool lies_anyhow(const layout *l)
{
    (void)l;
    return true;
}

/* How the row's run wants its inputs to lie. */
typedef bool lies_well_fn(const layout *l);

static lies_well_fn *wanted_by(const op_def *op)
{
    return op->traits & OP_DENSE      ? layout_is_dense
           : op->traits & OP_MATRICES ? layout_is_matrix
                                      : lies_anyhow;
}

/* The input as the operation wants it: of a type, and lying well. */
static layout *prepare(planner *p, const node *n, value input, dtype t, lies_well_fn *lies_well,
                       error *err)
{
    layout *l = planner_layout(p, input);

    return l->dtype == t && lies_well(l) ? l : tiles_copy(p, n, l, t, err);
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

static void plan_outputs(planner *p, const node *n, int *slots)
{
    for (int i = 0; i < n->output_count; i++) {
        layout *l = planner_new_value(p, n->types[i].dtype, &n->types[i].shape);

        slots[i] = l->slot;
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

/* The inputs of a run as its row wants them; one that was left out has no slot. */
static bool prepare_all(planner *p, const op_call *call, const node *n, layout *inputs, error *err)
{
    dtype *casts = arena_array(p->arena, (size_t)n->input_count + 1, sizeof *casts);

    for (int i = 0; i < n->input_count; i++)
        casts[i] = call->inputs[i].dtype;
    if (n->op->casts != NULL)
        n->op->casts(call, n->types, casts);
    for (int i = 0; i < n->input_count; i++) {
        const layout *l;

        inputs[i].slot = NO_SLOT;
        if (n->inputs[i].node == NULL)
            continue;
        l = prepare(p, n, n->inputs[i], casts[i], wanted_by(n->op), err);
        if (l == NULL)
            return false;
        inputs[i] = *l;
    }
    return true;
}

static bool plan_run(planner *p, const node *n, error *err)
{
    const op_call call = call_of(p, n);
    layout *inputs = arena_array(p->arena, (size_t)n->input_count + 1, sizeof *inputs);
    int *outputs = arena_array(p->arena, (size_t)n->output_count + 1, sizeof *outputs);
    step *s;

    if (n->op->run == NULL)
        return error_set(err, ERR_INTERNAL, "%s has no way to run", n->op->name);
    if (!prepare_all(p, &call, n, inputs, err))
        return false;
    plan_outputs(p, n, outputs);
    s = planner_add_step(p, STEP_RUN, n);
    s->input_count = n->input_count;
    s->inputs = inputs;
    s->output_count = n->output_count;
    s->outputs = outputs;
    s->output_types = n->types;
    s->scratch = n->op->scratch != NULL ? n->op->scratch(&call) : 0;
    planner_charge(p, s, run_work(&call, n));
    return true;
}

/* ---- Control flow ------------------------------------------------------------------------- */

/* The plans of a node's functions. */
static bool plan_functions(planner *p, const node *n, const plan *plans[2], error *err)
{
    int count = 0;

    for (int i = 0; i < n->op->attr_count; i++) {
        if (n->attrs[i].kind != ATTR_GRAPH)
            continue;
        plans[count] = plan_new(n->attrs[i].graph, p->plan->threads, p->arena, err);
        if (plans[count++] == NULL)
            return false;
    }
    return true;
}

/* The type in which input i comes: a predicate as bool, a variable as its parameter has it. */
static dtype control_input(const node *n, int i)
{
    if (n->op->control == CONTROL_COND && i == 0)
        return DT_BOOL;
    if (n->op->control == CONTROL_WHILE && i < n->output_count)
        return n->types[i].dtype;
    return value_type(n->inputs[i])->dtype;
}

/* Whether input i of a loop is walked along: only its elements must be dense then. */
static bool is_walked(const node *n, int i)
{
    return n->op->control == CONTROL_SCAN && i >= n->attrs[SCAN_CARRIES].integer &&
           i < graph_own_inputs(n);
}

/* How often the functions run, as far as that is known: a while loop is watched while
 * it runs. */
static double control_count(const node *n)
{
    const int carries = n->op->control == CONTROL_SCAN ? (int)n->attrs[SCAN_CARRIES].integer : 0;

    if (n->op->control != CONTROL_SCAN)
        return 1;
    if (n->attrs[SCAN_LENGTH].kind == ATTR_INT)
        return (double)n->attrs[SCAN_LENGTH].integer;
    return (double)value_type(n->inputs[carries])->shape.length[0];
}

/* Outputs come from the functions, but for what a scan stacks. */
static bool made_by_function(const node *n, int i)
{
    return n->op->control != CONTROL_SCAN || i < n->attrs[SCAN_CARRIES].integer;
}

static void plan_control_outputs(planner *p, const node *n, step *s, int *slots)
{
    for (int i = 0; i < n->output_count; i++) {
        plan_buffer *b = &p->plan->buffers[p->plan->slots[slots[i]].index];

        b->made_by_step = made_by_function(n, i);
        if (n->op->control != CONTROL_COND && b->made_by_step)
            s->scratch += buffer_cost(b->size); /* the old value beside the new one */
    }
}

/* What the functions cost: the larger peak, and their work as often as they run. */
static void note_functions(planner *p, const node *n, step *s)
{
    int64_t peak = 0;
    double work = 0;

    for (int i = 0; i < 2 && s->function[i] != NULL; i++) {
        peak = s->function[i]->peak > peak ? s->function[i]->peak : peak;
        work = s->function[i]->work > work ? s->function[i]->work : work;
    }
    s->scratch += peak;
    planner_charge(p, s, work * control_count(n));
}

static bool plan_control(planner *p, const node *n, error *err)
{
    static const step_kind kinds[] = {
        [CONTROL_COND] = STEP_COND, [CONTROL_WHILE] = STEP_WHILE, [CONTROL_SCAN] = STEP_SCAN};
    layout *inputs = arena_array(p->arena, (size_t)n->input_count + 1, sizeof *inputs);
    int *outputs = arena_array(p->arena, (size_t)n->output_count + 1, sizeof *outputs);
    const plan *plans[2] = {NULL, NULL};
    step *s;

    if (!plan_functions(p, n, plans, err))
        return false;
    for (int i = 0; i < n->input_count; i++) {
        const dtype t = control_input(n, i);
        const layout *l = planner_layout(p, n->inputs[i]);

        if (!is_walked(n, i) || l->dtype != t || !layout_has_dense_elements(l))
            l = prepare(p, n, n->inputs[i], t, layout_is_dense, err);
        if (l == NULL)
            return false;
        inputs[i] = *l;
    }
    plan_outputs(p, n, outputs);
    s = planner_add_step(p, kinds[n->op->control], n);
    s->input_count = n->input_count;
    s->inputs = inputs;
    s->output_count = n->output_count;
    s->outputs = outputs;
    s->output_types = n->types;
    s->own = graph_own_inputs(n);
    plan_control_outputs(p, n, s, outputs);
    memcpy(s->function, plans, sizeof plans);
    note_functions(p, n, s);
    return true;
}

static bool plan_node(planner *p, const node *n, error *err)
{
    if (n->op == &op_constant || n->op == &op_input)
        return true; /* it has its place already */
    else if (node_is_computed(n))
        return p->groups.root[n->id] != n->id || tiles_of_group(p, n, err);
    else if (n->op->control != CONTROL_NONE)
        return plan_control(p, n, err);
    else if (n->op->view != NULL && (n->op->run == NULL || n->input_count == 1))
        return plan_view(p, n, err);
    else
        return plan_run(p, n, err);
    return true;
}

/* ---- Memory -------------------------------------------------------------------------------- */

static void note_use(plan *pl, int slot_index, int at)
{
    const slot *s = slot_index == NO_SLOT ? NULL : &pl->slots[slot_index];

    plan_buffer *b = s != NULL && s->kind == SLOT_BUFFER ? &pl->buffers[s->index] : NULL;

    if (b == NULL)
        return;
    if (b->first_step < 0)
        b->first_step = at;
    if (b->last_step < at)
        b->last_step = at;
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
    tile_program *t = pl->steps[at].tiles;
    slot *out;

    if (t == NULL || t->fold_count > 0 || t->output_count != 1)
        return;
    out = &pl->slots[t->outputs[0].slot];
    for (int i = 0; i < t->leaf_count; i++) {
        const slot *in = &pl->slots[t->leaves[i].slot];
        plan_buffer *b = in->kind == SLOT_BUFFER ? &pl->buffers[in->index] : NULL;

        if (b == NULL || b->last_step != at || b->made_by_step ||
            t->leaves[i].size != t->outputs[0].size || b->size != pl->buffers[out->index].size ||
            !walks_densely(t, &t->leaves[i]) || !is_only_leaf(t, i))
            continue;
        pl->steps[at].over = in->value;
        t->overwrites = true;
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

        if (!alive[b] && !pl->buffers[b].made_by_step)
            bytes += cost_of(&pl->buffers[b]);
        alive[b] = true;
    }
    return bytes;
}

/* The buffers that a step did not make but got from its functions. */
static int64_t brought_by(const plan *pl, const step *s)
{
    int64_t bytes = 0;

    for (int i = 0; i < s->output_count; i++) {
        const plan_buffer *b = &pl->buffers[pl->slots[s->outputs[i]].index];

        bytes += b->made_by_step ? cost_of(b) : 0;
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

int plan_steps_together(const step *s)
{
    return s->stream != NULL ? s->stream->steps : s->band != NULL ? s->band->steps : 1;
}

static int64_t scratch_of(const step *s)
{
    if (s->stream != NULL)
        return buffer_cost(s->stream->scratch);
    return s->kind == STEP_TILES ? buffer_cost((size_t)s->scratch) : s->scratch;
}

static void find_peak(plan *pl, arena *a)
{
    bool *alive = arena_array(a, (size_t)pl->buffer_count + 1, sizeof *alive);
    int64_t live = 0;

    for (int i = 0, end; i < pl->step_count; i = end) {
        const step *s = &pl->steps[i];
        int64_t during;

        end = i + plan_steps_together(s);
        for (int k = i; k < end; k++)
            live += made_by(pl, &pl->steps[k], alive);
        during = live + scratch_of(s);
        if (during > pl->peak) {
            pl->peak = during;
            pl->peak_step = i;
        }
        live += brought_by(pl, s);
        for (int k = i; k < end; k++)
            for (int b = pl->first_dying[k]; b >= 0; b = pl->next_dying[b])
                live -= cost_of(&pl->buffers[b]);
    }
}

/* ---- Plans ------------------------------------------------------------------------------------
 */

static plan *plan_any(const graph *g, int threads, bool streams, const bool *taken, arena *a,
                      error *err)
{
    plan *pl = arena_alloc(a, sizeof *pl);
    planner p = {.g = g, .arena = a, .plan = pl};

    pl->threads = threads;
    pl->input_count = g->input_count;
    pl->output_count = g->output_count;
    p.groups = groups_of(g, a);
    p.values = arena_array(a, (size_t)g->count + 1, sizeof *p.values);
    p.layouts = arena_array(a, (size_t)g->count + 1, sizeof *p.layouts);
    plan_inputs(&p);
    for (int i = 0; i < g->count; i++)
        if (p.groups.needed[i] && g->nodes[i]->op == &op_constant)
            plan_constant(&p, g->nodes[i]);
    for (int i = 0; i < g->count; i++)
        if (p.groups.needed[i] && !plan_node(&p, g->nodes[i], err))
            return NULL;
    pl->outputs = arena_array(a, (size_t)g->output_count + 1, sizeof *pl->outputs);
    for (int i = 0; i < g->output_count; i++)
        pl->outputs[i] = *planner_layout(&p, g->outputs[i]);
    find_last_uses(pl);
    for (int i = 0; i < pl->step_count; i++)
        reuse_in_place(pl, i);
    bands_find(pl, a);
    if (streams)
        streams_find(pl, taken, a);
    list_dying(pl, a);
    find_peak(pl, a);
    return pl;
}

plan *plan_new(const graph *g, int threads, arena *a, error *err)
{
    return plan_any(g, threads, false, NULL, a, err);
}

plan *plan_new_streamed(const graph *g, int threads, const bool *taken, arena *a, error *err)
{
    return plan_any(g, threads, true, taken, a, err);
}

bool plan_output_is_taken(const plan *p, int i)
{
    const slot *s = &p->slots[p->outputs[i].slot];

    return s->kind == SLOT_BUFFER && p->buffers[s->index].is_window;
}
