/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/graph/private.h"

const op_def op_input = {.name = "input", .signature = ""};
const op_def op_constant = {.name = "constant", .signature = ""};

graph *graph_new(arena *a, graph *outer)
{
    graph *g = arena_alloc(a, sizeof *g);

    g->arena = a;
    g->outer = outer;
    g->node_limit = outer != NULL ? outer->node_limit : GRAPH_NODES_MAX;
    if (outer != NULL) {
        outer->inner = arena_grow(outer->arena, outer->inner, (size_t)outer->inner_count,
                                  &outer->inner_room, sizeof *outer->inner);
        outer->inner[outer->inner_count++] = g;
    }
    return g;
}

void graph_release(graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->nodes[i]->op == &op_constant)
            buffer_unref(g->nodes[i]->constant->buf);
    for (int i = 0; i < g->inner_count; i++)
        graph_release(g->inner[i]);
    g->count = g->inner_count = 0;
}

/* Sub-graphs and definitions count as well: what is in each of many nodes adds up. */
static bool has_room(graph *g, int inputs, error *err)
{
    graph *root = g;

    while (root->outer != NULL)
        root = root->outer;
    if (g->count - g->constant_count >= g->node_limit)
        return error_set_limit(err, ERR_GRAPH_SIZE, g->node_limit, g->count - g->constant_count + 1,
                               "a graph has at most %d nodes", g->node_limit);
    if (root->total / GRAPH_TOTAL >= root->node_limit)
        return error_set_limit(err, ERR_GRAPH_SIZE, (int64_t)GRAPH_TOTAL * root->node_limit,
                               root->total + 1,
                               "a graph has at most %d nodes with all that its functions and "
                               "definitions hold",
                               GRAPH_TOTAL * root->node_limit);
    if (g->edges > GRAPH_EDGES * g->node_limit - inputs)
        return error_set_limit(err, ERR_GRAPH_SIZE, (int64_t)GRAPH_EDGES * g->node_limit,
                               (int64_t)g->edges + inputs,
                               "the inputs of a graph's nodes are at most %d, all together",
                               GRAPH_EDGES * g->node_limit);
    g->edges += inputs;
    root->total++;
    return true;
}

node *node_new(graph *g, const op_def *op, int inputs, int outputs, error *err)
{
    node *n;

    if (!has_room(g, inputs, err))
        return NULL;
    n = arena_alloc(g->arena, sizeof *n);
    n->op = op;
    n->id = g->count;
    n->graph = g;
    n->input_count = inputs;
    n->output_count = outputs;
    n->inputs = arena_array(g->arena, (size_t)inputs, sizeof *n->inputs);
    n->types = arena_array(g->arena, (size_t)outputs, sizeof *n->types);
    g->nodes = arena_grow(g->arena, g->nodes, (size_t)g->count, &g->node_room, sizeof *g->nodes);
    g->nodes[g->count++] = n;
    return n;
}

/* ---- Leaves ---------------------------------------------------------------------- */

static value add_input(graph *g, const char *name, const type *t, value outer, error *err)
{
    node *n = node_new(g, &op_input, 0, 1, err);
    size_t room = g->input_room;

    if (n == NULL)
        return (value){0};
    *(type *)n->types = *t;
    n->name = arena_copy(g->arena, name, strlen(name));
    g->inputs = arena_grow(g->arena, g->inputs, (size_t)g->input_count, &room, sizeof *g->inputs);
    g->captured =
        arena_grow(g->arena, g->captured, (size_t)g->input_count, &g->input_room, sizeof(value));
    g->captured[g->input_count] = outer;
    g->inputs[g->input_count++] = (value){n, 0};
    return (value){n, 0};
}

value graph_input(graph *g, const char *name, const type *t, error *err)
{
    return add_input(g, name, t, (value){0}, err);
}

value graph_constant(graph *g, const tensor *t, error *err)
{
    node *n = node_new(g, &op_constant, 0, 1, err);
    tensor *copy;

    if (n == NULL)
        return (value){0};
    copy = arena_alloc(g->arena, sizeof *copy);
    *copy = *t;
    tensor_ref(copy);
    n->constant = copy;
    g->constant_count++;
    *(type *)n->types = (type){.dtype = t->dtype, .weak = t->weak, .shape = t->shape};
    return (value){n, 0};
}

value graph_scalar(graph *g, dtype dtype, const void *element, bool weak, error *err)
{
    tensor t = {0};
    value result;

    if (!tensor_new(&t, NULL, dtype, &shape_scalar, err))
        return (value){0};
    memcpy(buffer_bytes(t.buf), element, dtype_size(dtype));
    t.weak = weak;
    result = graph_constant(g, &t, err);
    tensor_unref(&t);
    return result;
}

value graph_capture(graph *g, value v, error *err)
{
    const char *name = v.node->name != NULL ? v.node->name : v.node->op->name;
    value outer;

    if (v.node->graph == g || g->outer == NULL)
        return v;
    if (v.node->op == &op_constant)
        return graph_constant(g, v.node->constant, err);
    outer = graph_capture(g->outer, v, err);
    if (outer.node == NULL)
        return outer;
    for (int i = 0; i < g->input_count; i++)
        if (value_equal(g->captured[i], outer))
            return g->inputs[i];
    return add_input(g, name, value_type(v), outer, err);
}

/* ---- Applying --------------------------------------------------------------------- */

/* The types of values; a missing one has rank -1 and is never looked at. */
static type *types_of(graph *g, const value *inputs, int count)
{
    type *types = arena_array(g->arena, (size_t)count + 1, sizeof *types);

    for (int i = 0; i < count; i++)
        if (inputs[i].node != NULL)
            types[i] = *value_type(inputs[i]);
    return types;
}

static value *captured_inputs(graph *g, const value *inputs, int count, error *err)
{
    value *own = arena_array(g->arena, (size_t)count + 1, sizeof *own);

    for (int i = 0; i < count; i++) {
        if (inputs[i].node == NULL)
            continue;
        own[i] = graph_capture(g, inputs[i], err);
        if (own[i].node == NULL)
            return NULL;
    }
    return own;
}

/* The types of a call's outputs, by whichever way the row has meaning. */
static const type *infer_types(graph *g, const op_def *op, const value *inputs, int count, int own,
                               const attr *attrs, const graph *definition, int *outputs, error *err)
{
    const type *in = types_of(g, inputs, count);
    const op_call call = {op, (op->traits & OP_CONTROL) != 0 ? own : count, in, attrs, g->arena};
    type *types;

    if ((op->traits & OP_CONTROL) != 0) {
        types = arena_alloc(g->arena, sizeof *types);
        return op->infer(&call, types, err)
                   ? subgraph_types(g, op, inputs, own, attrs, outputs, err)
                   : NULL;
    }
    if (definition != NULL) {
        *outputs = definition->output_count;
        types = arena_array(g->arena, (size_t)*outputs + 1, sizeof *types);
        for (int i = 0; i < *outputs; i++)
            types[i] = *value_type(definition->outputs[i]);
        return types;
    }
    *outputs = op_output_count(op, in);
    types = arena_array(g->arena, (size_t)*outputs + 1, sizeof *types);
    return op_infer(&call, types, err) ? types : NULL;
}

/* Whether a computed number can stand where the parameter takes an integer. */
static bool check_computed(const op_def *op, const op_param *p, const attr *a, error *err)
{
    const type *t = a->kind == ATTR_DYNAMIC ? &a->node->types[a->output] : NULL;

    return t == NULL || p->kind == PARAM_NUMBER || dtype_is_integer(t->dtype) ||
           t->dtype == DT_BOOL ||
           error_set(err, ERR_ARGUMENT, "%s: %s is computed as %s, and must be an integer",
                     op->name, p->name, dtype_name(t->dtype));
}

static bool check_attrs(const op_def *op, const attr *attrs, error *err)
{
    for (int i = 0; i < op->attr_count; i++) {
        const op_param *p = op_attr_param(op, i);
        const bool list = attrs[i].kind == ATTR_INTS && attrs[i].dynamic != NULL;

        if (!check_computed(op, p, &attrs[i], err))
            return false;
        for (int k = 0; list && k < attrs[i].n; k++)
            if (!check_computed(op, p, &attrs[i].dynamic[k], err))
                return false;
    }
    return true;
}

static attr *copy_attrs(graph *g, const op_def *op, const attr *attrs)
{
    attr *copy = arena_array(g->arena, (size_t)op->attr_count + 1, sizeof *copy);

    if (op->attr_count > 0)
        memcpy(copy, attrs, (size_t)op->attr_count * sizeof *copy);
    return copy;
}

/* The node, all that the row asks of its inputs being in place. */
static node *apply(graph *g, const op_def *op, value *own, int count, const attr *attrs,
                   value *outputs, error *err)
{
    const value *all = own;
    graph *definition = NULL;
    const type *types;
    const int own_count = count;
    int output_count;
    node *n;

    if (own == NULL || !check_attrs(op, attrs, err) ||
        (op->pattern != NULL &&
         !weak_check(g, op, own, count, types_of(g, own, count), attrs, err)))
        return NULL;
    if ((op->traits & OP_ASSIGNS) != 0 && count > 1 &&
        !weak_check_assignment(op, value_type(own[0])->dtype, own[count - 1], err))
        return NULL;
    if ((op->traits & OP_LIMITS) != 0 && !weak_limit(g, own, count, err))
        return NULL;
    if ((op->traits & OP_CONTROL) != 0)
        all = subgraph_inputs(g, op, own, &count, attrs, err);
    if (op->lower != NULL || op->body != NULL)
        definition = definition_new(g, op, own, count, attrs, err);
    if (all == NULL || (definition == NULL && (op->lower != NULL || op->body != NULL)))
        return NULL;
    types = infer_types(g, op, all, count, own_count, attrs, definition, &output_count, err);
    n = types != NULL ? node_new(g, op, count, output_count, err) : NULL;
    if (n == NULL)
        return NULL;
    n->inputs = all;
    n->types = types;
    n->attrs = copy_attrs(g, op, attrs);
    n->definition = definition;
    for (int i = 0; i < output_count; i++)
        outputs[i] = (value){n, i};
    return n;
}

node *graph_apply(graph *g, const op_def *op, const value *inputs, int count, const attr *attrs,
                  value *outputs, error *err)
{
    const value *given = draws_seed(g, &op, inputs, &count, err);

    return given == NULL && count > 0
               ? NULL
               : apply(g, op, captured_inputs(g, given, count, err), count, attrs, outputs, err);
}

void graph_copy_declared(node *to, const node *from)
{
    if (to->output_count == from->output_count)
        to->declared = from->declared;
}

void graph_name(value v, const char *name)
{
    if (v.node->name == NULL)
        v.node->name = arena_copy(v.node->graph->arena, name, strlen(name));
}

void graph_add_output(graph *g, value v)
{
    g->outputs =
        arena_grow(g->arena, g->outputs, (size_t)g->output_count, &g->output_room, sizeof v);
    g->outputs[g->output_count++] = v;
}

bool graph_capture_output(graph *g, value v, error *err)
{
    v = graph_capture(g, v, err);
    if (v.node == NULL)
        return false;
    graph_add_output(g, v);
    return true;
}

/* ---- Asking ------------------------------------------------------------------------- */

const type *value_type(value v)
{
    return &v.node->types[v.index];
}

bool value_equal(value a, value b)
{
    return a.node == b.node && a.index == b.index;
}

bool type_equal(const type *a, const type *b)
{
    return a->dtype == b->dtype && a->weak == b->weak && shape_equal(&a->shape, &b->shape);
}

/* Somebody would use the number if it were known before the graph runs. */
static void note_wanted(graph *g)
{
    while (g->outer != NULL)
        g = g->outer;
    g->wants_numbers = true;
}

const tensor *value_constant(value v)
{
    if (v.node->op == &op_input && v.node->types[0].weak)
        note_wanted(v.node->graph);
    return v.node->constant;
}
