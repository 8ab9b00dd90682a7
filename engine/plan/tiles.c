/* SPDX-License-Identifier: Apache-2.0 */
/* Builds tile programs: instructions for a group's nodes, then loops for its space. */
#include <stdlib.h>
#include <string.h>

#include "engine/plan/loops.h"
#include "engine/plan/private.h"

typedef struct builder {
    planner *planner;
    const node *root;
    tile_program *program;
    const shape *space;
    tile_instruction instructions[TILE_INSTRUCTIONS];
    tile_leaf leaves[TILE_LEAVES];
    const layout *leaf_layouts[TILE_LEAVES];
    held loaded[TILE_LEAVES]; /* the leaf as computed with, once it was loaded */
    bool is_loaded[TILE_LEAVES];
    int instruction_count, leaf_count, register_count, stored_count, fold_count;
    tile_output stored[TILE_LEAVES], results[TILE_FOLDS];
    tile_fold folds[TILE_FOLDS];
    size_t element_size;
    bool failed;
} builder;

/* While a program is built, registers count from REGISTER, outputs from OUTPUT. */
enum { REGISTER = 1000, OUTPUT = 2000 };

static dtype computed(dtype t)
{
    return dtype_info_of(t)->computed;
}

static bool is_half(dtype t)
{
    return computed(t) != t;
}

static void note_size(builder *b, dtype t)
{
    if (dtype_size(t) > b->element_size)
        b->element_size = dtype_size(t);
}

static int emit(builder *b, kernel_fn *kernel, int out, const int *in, int inputs)
{
    tile_instruction *i = &b->instructions[b->instruction_count];

    if (b->instruction_count == TILE_INSTRUCTIONS) {
        b->failed = true;
        return out;
    }
    b->instruction_count++;
    i->exact = false;
    i->kernel = kernel;
    i->out = out >= 0 ? out : REGISTER + b->register_count++;
    for (int k = 0; k < TILE_INPUTS; k++)
        i->in[k] = k < inputs ? in[k] : in[0];
    return i->out;
}

/* ---- Conversion between types ------------------------------------------------------- */

/* The value as it is computed with. */
static held load(builder *b, held v)
{
    if (!v.stored)
        return v;
    if (!b->is_loaded[v.operand]) {
        held loaded = {v.operand, v.dtype, false};

        if (is_half(v.dtype))
            loaded.operand = emit(b, kernel_cast(v.dtype, DT_F32), -1, &v.operand, 1);
        note_size(b, DT_F32);
        b->loaded[v.operand] = loaded;
        b->is_loaded[v.operand] = true;
    }
    return b->loaded[v.operand];
}

/* The value as another type, computed with; out: where to put it, or -1. */
static held convert(builder *b, held v, dtype to)
{
    held from = load(b, v);
    int operand = from.operand;

    note_size(b, computed(to));
    if (from.dtype == to)
        return from;
    if (computed(from.dtype) != computed(to)) {
        const dtype target = is_half(to) ? to : computed(to);

        operand = emit(b, kernel_cast(computed(from.dtype), target), -1, &operand, 1);
        if (is_half(to))
            operand = emit(b, kernel_cast(to, DT_F32), -1, &operand, 1);
    } else if (is_half(to))
        operand = emit(b, kernel_round(to), -1, &operand, 1);
    return (held){operand, to, false};
}

/* ---- Leaves ----------------------------------------------------------------------------- */

static bool same_layout(const layout *a, const layout *b)
{
    return a->slot == b->slot && a->dtype == b->dtype && a->offset == b->offset &&
           shape_equal(&a->shape, &b->shape) &&
           memcmp(a->strides, b->strides, (size_t)a->shape.rank * sizeof *a->strides) == 0;
}

static held leaf(builder *b, const layout *l)
{
    int i = 0;

    while (i < b->leaf_count && !same_layout(b->leaf_layouts[i], l))
        i++;
    if (i == TILE_LEAVES) {
        b->failed = true;
        return (held){0, l->dtype, true};
    }
    if (i == b->leaf_count) {
        b->leaf_layouts[b->leaf_count++] = l;
        b->is_loaded[i] = false;
        b->leaves[i] =
            (tile_leaf){.slot = l->slot, .size = dtype_size(l->dtype), .offset = l->offset};
        note_size(b, l->dtype);
    }
    return (held){i, l->dtype, true};
}

static held value_held(builder *b, value v)
{
    const groups *r = &b->planner->groups;

    if (node_is_elementwise(v.node) && r->root[v.node->id] == b->root->id)
        return b->planner->values[v.node->id];
    return leaf(b, planner_layout(b->planner, v));
}

/* ---- Instructions --------------------------------------------------------------------------- */

static held emit_cast(builder *b, const node *n)
{
    return convert(b, value_held(b, n->inputs[0]), n->types[0].dtype);
}

static held emit_operation(builder *b, const node *n)
{
    type types[TILE_INPUTS];
    dtype loop, casts[TILE_INPUTS];
    int in[TILE_INPUTS];
    held result = {-1, n->types[0].dtype, false};
    error err = {0};

    for (int i = 0; i < n->input_count; i++)
        types[i] = *value_type(n->inputs[i]);
    const op_call call = {n->op, n->input_count, types, n->attrs, b->planner->arena};
    if (!op_loop(&call, &loop, casts, &err)) {
        b->failed = true;
        return result;
    }
    for (int i = 0; i < n->input_count; i++)
        in[i] = convert(b, value_held(b, n->inputs[i]), casts[i]).operand;
    note_size(b, computed(loop));
    result.operand = emit(b, n->op->kernel[computed(loop)], -1, in, n->input_count);
    if (b->instruction_count > 0)
        b->instructions[b->instruction_count - 1].exact =
            (n->op->traits & OP_REPORTS) != 0 && dtype_is_integer(loop);
    if (is_half(result.dtype))
        result.operand = emit(b, kernel_round(result.dtype), -1, &result.operand, 1);
    return result;
}

/* Puts a value where it is stored: the instruction that makes it writes there, unless
 * it must be converted or was there before instruction `begin`. Returns where others may read
 * it. */
static held store(builder *b, held v, int slot, int begin)
{
    const int out = OUTPUT + b->stored_count;
    tile_instruction *last =
        b->instruction_count > begin ? &b->instructions[b->instruction_count - 1] : NULL;

    b->stored[b->stored_count++] = (tile_output){.slot = slot, .size = dtype_size(v.dtype)};
    if (is_half(v.dtype) || last == NULL || last->out != v.operand) {
        const dtype from = v.stored ? v.dtype : computed(v.dtype);

        emit(b, kernel_cast(from, v.dtype), out, &v.operand, 1);
        return v;
    }
    for (int i = 0; i < b->leaf_count; i++) /* what was made may be a leaf that was loaded */
        if (b->is_loaded[i] && b->loaded[i].operand == v.operand)
            b->loaded[i].operand = out;
    last->out = out;
    v.operand = out;
    return v;
}

static void emit_member(builder *b, const node *n)
{
    const int begin = b->instruction_count;
    held v = n->op->infer != NULL ? emit_cast(b, n) : emit_operation(b, n);

    if (b->planner->groups.stored[n->id]) {
        layout *l = planner_new_value(b->planner, n->types[0].dtype, &n->types[0].shape);

        planner_set_layout(b->planner, (value){(node *)n, 0}, l);
        v = store(b, v, l->slot, begin);
    }
    b->planner->values[n->id] = v;
}

/* ---- Numbering operands ---------------------------------------------------------------------- */

/* Gives registers that are no longer read to later instructions: fewer registers stay
 * nearer. last[r] is the last instruction that reads virtual register r. */
static void assign_registers(builder *b, int *physical)
{
    int last[TILE_INSTRUCTIONS], owner[TILE_INSTRUCTIONS], count = 0;

    memset(last, -1, sizeof last);
    for (int i = 0; i < b->instruction_count; i++)
        for (int k = 0; k < TILE_INPUTS; k++)
            if (b->instructions[i].in[k] >= REGISTER && b->instructions[i].in[k] < OUTPUT)
                last[b->instructions[i].in[k] - REGISTER] = i;
    for (int k = 0; k < b->fold_count; k++)
        if (b->folds[k].value >= REGISTER && b->folds[k].value < OUTPUT)
            last[b->folds[k].value - REGISTER] = TILE_INSTRUCTIONS;
    for (int i = 0; i < b->instruction_count; i++) {
        const int out = b->instructions[i].out;
        int r = 0;

        if (out < REGISTER || out >= OUTPUT)
            continue;
        while (r < count && last[owner[r]] >= i)
            r++;
        owner[r] = out - REGISTER;
        physical[out - REGISTER] = r;
        count = r == count ? count + 1 : count;
    }
    b->program->register_count = count;
}

static int final_operand(const builder *b, const int *physical, int operand)
{
    if (operand >= OUTPUT)
        return b->leaf_count + b->program->register_count + operand - OUTPUT;
    return operand >= REGISTER ? b->leaf_count + physical[operand - REGISTER] : operand;
}

static void *copy(builder *b, const void *from, int n, size_t size)
{
    void *to = arena_array(b->planner->arena, (size_t)n + 1, size);

    memcpy(to, from, (size_t)n * size);
    return to;
}

static void finish(builder *b)
{
    tile_program *p = b->program;
    int physical[TILE_INSTRUCTIONS] = {0};

    assign_registers(b, physical);
    for (int i = 0; i < b->instruction_count; i++) {
        tile_instruction *t = &b->instructions[i];

        t->out = final_operand(b, physical, t->out);
        for (int k = 0; k < TILE_INPUTS; k++)
            t->in[k] = final_operand(b, physical, t->in[k]);
    }
    for (int k = 0; k < b->fold_count; k++)
        b->folds[k].value = final_operand(b, physical, b->folds[k].value);
    memcpy(b->stored + b->stored_count, b->results, (size_t)b->fold_count * sizeof *b->results);
    p->leaf_count = b->leaf_count;
    p->leaves = copy(b, b->leaves, b->leaf_count, sizeof *b->leaves);
    p->stored_count = b->stored_count;
    p->output_count = b->stored_count + b->fold_count;
    p->outputs = copy(b, b->stored, p->output_count, sizeof *b->stored);
    p->fold_count = b->fold_count;
    p->folds = copy(b, b->folds, b->fold_count, sizeof *b->folds);
    p->instruction_count = b->instruction_count;
    p->instructions = copy(b, b->instructions, b->instruction_count, sizeof *b->instructions);
    p->element_size = b->element_size;
}

/* ---- Programs -----------------------------------------------------------------------------------
 */

/* The planner's builder, for another program. */
static builder *builder_begin(planner *p, const node *root, const shape *space)
{
    builder *b = p->builder;

    if (b == NULL)
        b = p->builder = arena_alloc(p->arena, sizeof *b);
    b->planner = p;
    b->root = root;
    b->space = space;
    b->program = arena_alloc(p->arena, sizeof *b->program);
    b->instruction_count = b->leaf_count = b->register_count = 0;
    b->stored_count = b->fold_count = 0;
    b->element_size = 1;
    b->failed = false;
    return b;
}

static bool complete(builder *b, const bool folded[RANK_MAX], error *err)
{
    planner *p = b->planner;
    step *s;

    if (b->failed)
        return error_set(err, ERR_INTERNAL, "the group of %s is too large for one pass",
                         b->root->op->name);
    finish(b);
    loops_arrange(b->program, b->space, b->leaf_layouts, folded, p->arena);
    s = planner_add_step(p, STEP_TILES, b->root);
    s->tiles = b->program;
    s->scratch = (int64_t)(tile_thread_scratch(b->program) * (size_t)p->plan->threads +
                           tile_shared_scratch(b->program));
    planner_charge(p, s, (double)shape_size(b->space) * (b->instruction_count + 1));
    return true;
}

bool node_folded_axes(const node *n, bool folded[RANK_MAX], error *err)
{
    const shape *in = &value_type(n->inputs[0])->shape;
    const attr *axis = &n->attrs[0];
    int i;

    memset(folded, axis->kind == ATTR_NONE, RANK_MAX);
    if (axis->kind == ATTR_INT && in->rank > 0) {
        if (!shape_axis(axis->integer, in->rank, n->op->name, &i, err))
            return false;
        folded[i] = true;
    }
    for (int k = 0; axis->kind == ATTR_INTS && k < axis->n; k++) {
        if (!shape_axis(axis->ints[k], in->rank, n->op->name, &i, err))
            return false;
        folded[i] = true;
    }
    return true;
}

static void emit_fold(builder *b, const node *n)
{
    const dtype result = n->types[0].dtype;
    held v = convert(b, value_held(b, n->inputs[0]), result);
    layout *l = planner_new_value(b->planner, result, &n->types[0].shape);

    planner_set_layout(b->planner, (value){(node *)n, 0}, l);
    b->results[b->fold_count] = (tile_output){.slot = l->slot, .size = dtype_size(result)};
    b->folds[b->fold_count++] = (tile_fold){.reduce = n->op->reduce,
                                            .folded = computed(result),
                                            .result = result,
                                            .size = dtype_size(computed(result)),
                                            .value = v.operand};
}

bool tiles_of_group(planner *p, const node *root, error *err)
{
    builder *b = builder_begin(p, root, node_space(root));
    bool folded[RANK_MAX] = {false};
    int members = 0;

    for (int i = p->groups.first[root->id]; i >= 0; i = p->groups.next[i], members++) {
        const node *n = p->g->nodes[i];

        if (n->op->reduce == NULL)
            emit_member(b, n);
        else if (node_folded_axes(n, folded, err))
            emit_fold(b, n);
        else
            return false;
    }
    if (members > 1)
        p->plan->fused += members;
    return complete(b, folded, err);
}

layout *tiles_copy(planner *p, const node *n, const layout *from, dtype to, error *err)
{
    builder *b = builder_begin(p, n, &from->shape);
    layout *l = planner_new_value(p, to, &from->shape);
    const bool folded[RANK_MAX] = {false};

    store(b, from->dtype == to ? leaf(b, from) : convert(b, leaf(b, from), to), l->slot, 0);
    return complete(b, folded, err) ? l : NULL;
}
