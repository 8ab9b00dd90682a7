/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/rewrite/private.h"

enum { FOLD_ELEMENTS = 4096 }; /* larger constants are left to the plan */

static bool rewrite_nodes(rewriter *r, const graph *from, graph_map *map, error *err);

void rewrite_report(const rewriter *r, const char *phase, const rule *by, value before, value after)
{
    const rewrite_event e = {.phase = phase,
                             .rule = by != NULL ? by->pattern : NULL,
                             .rule_gives = by != NULL ? by->replacement : NULL,
                             .before = before,
                             .after = after};

    if (r->depth > 0)
        return;
    r->options->fired++;
    if (r->options->log != NULL)
        r->options->log(r->options->log_context, &e);
}

/* ---- Folding ----------------------------------------------------------------------- */

static bool is_small(const type *t)
{
    return shape_is_known(&t->shape) && shape_size(&t->shape) <= FOLD_ELEMENTS;
}

static bool can_fold(const rewriter *r, const node *n)
{
    if (r->options->fold == NULL || n->input_count == 0 || n->op->lower != NULL ||
        (n->op->traits & (OP_IMPURE | OP_CONTROL)) != 0)
        return false;
    for (int i = 0; i < n->op->attr_count; i++)
        if (n->attrs[i].kind == ATTR_DYNAMIC || n->attrs[i].dynamic != NULL)
            return false;
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i].node == NULL || value_constant(n->inputs[i]) == NULL ||
            !is_small(value_type(n->inputs[i])))
            return false;
    for (int i = 0; i < n->output_count; i++)
        if (!is_small(&n->types[i]))
            return false;
    return true;
}

/* A tensor that has a shape but no elements, for operations that ask for no more. */
static tensor shape_only(const type *t)
{
    return (tensor){.dtype = t->dtype, .shape = t->shape};
}

/* Runs an operation whose result follows from its inputs' types. */
static bool run_on_shape(const node *n, tensor *output, error *err)
{
    const tensor input = shape_only(value_type(n->inputs[0]));
    op_run run = {.op = n->op, .count = 1, .inputs = &input, .attrs = n->attrs, .outputs = output};

    return tensor_new(output, NULL, n->types[0].dtype, &n->types[0].shape, err) &&
           n->op->run(&run, err);
}

static bool replace_by_constants(rewriter *r, const node *n, tensor *tensors, value *outputs,
                                 error *err)
{
    bool ok = true;

    for (int i = 0; i < n->output_count; i++) {
        tensors[i].weak = n->types[i].weak;
        outputs[i] = graph_constant(r->to, &tensors[i], err);
        ok = ok && outputs[i].node != NULL;
        tensor_unref(&tensors[i]);
    }
    if (ok)
        rewrite_report(r, "fold", NULL, (value){(node *)n, 0}, outputs[0]);
    return ok;
}

/* Folds the node if it can be. A node whose computation fails is left as it is: it may
 * never run, and if it does, it fails then. */
static bool fold(rewriter *r, const node *n, value *outputs, error *err)
{
    tensor *tensors = arena_array(r->to->arena, (size_t)n->output_count + 1, sizeof *tensors);
    error ignored = {0};

    if (r->options->only_lower && (n->op->traits & OP_SHAPE_ONLY) == 0)
        return true;
    if ((n->op->traits & OP_SHAPE_ONLY) != 0 && shape_is_known(&value_type(n->inputs[0])->shape)) {
        if (!run_on_shape(n, &tensors[0], err))
            return false;
    } else if (!can_fold(r, n) || !r->options->fold(n, tensors, &ignored))
        return true;
    return replace_by_constants(r, n, tensors, outputs, err);
}

/* ---- Bare numbers ------------------------------------------------------------------------ */

/* A scalar constant as an element of another type, strong. */
static value converted(rewriter *r, const tensor *t, dtype to, error *err)
{
    char element[LANES * 16] = {0}, result[LANES * 16];
    const void *in[] = {element};

    memcpy(element, tensor_bytes(t), dtype_size(t->dtype));
    kernel_cast(t->dtype, to)(LANES, result, in);
    return graph_scalar(r->to, to, result, false, err);
}

/* Converts the bare numbers among an elementwise node's inputs to the type that it
 * computes in, so that no tile has to. The node's type stays what it is: a node of bare
 * numbers only is left alone. Returns whether there was anything to convert. */
static bool convert_numbers(rewriter *r, const node *n, value *inputs, error *err)
{
    type types[OP_INPUTS];
    const op_call call = {n->op, n->input_count, types, n->attrs, r->to->arena};
    dtype loop = DT_BOOL, casts[OP_INPUTS];
    bool any = false;

    if (n->op->pattern == NULL || n->op->infer != NULL || n->types[0].weak)
        return false;
    for (int i = 0; i < n->input_count; i++)
        types[i] = *value_type(n->inputs[i]);
    if (!op_loop(&call, &loop, casts, err))
        return false;
    for (int i = 0; i < n->input_count; i++) {
        const tensor *t = types[i].weak ? value_constant(n->inputs[i]) : NULL;

        inputs[i] = t == NULL ? n->inputs[i] : converted(r, t, casts[i], err);
        any = any || t != NULL;
    }
    return any && !error_is_set(err);
}

/* ---- Applying ------------------------------------------------------------------------ */

/* Remembers which node's definition gave a value: the innermost if it was one in another. */
static void remember_origin(rewriter *r, const node *n, value v)
{
    uintptr_t key[ORIGIN_KEY];

    rule_origin_key(v, key);
    if (table_get_bytes(&r->origins, (const char *)key, sizeof key) == NULL)
        table_put_bytes(&r->origins, (const char *)key, sizeof key, (node *)n);
}

static bool put_definition(rewriter *r, const node *n, value *outputs, error *err)
{
    graph_map *map = graph_map_new(n->definition, r->to);
    const bool is_text = n->op->lower != NULL;
    bool ok;

    for (int i = 0; i < n->definition->input_count; i++)
        graph_map_set(map, n->definition->inputs[i], n->definition->captured[i]);
    r->texts += is_text;
    ok = rewrite_nodes(r, n->definition, map, err);
    r->texts -= is_text;
    if (!ok)
        return false;
    for (int i = 0; i < n->output_count; i++)
        outputs[i] = graph_map_get(map, n->definition->outputs[i]);
    if (n->output_count == 1)
        remember_origin(r, n, outputs[0]);
    rewrite_report(r, "lower", NULL, (value){(node *)n, 0}, outputs[0]);
    return true;
}

static bool apply_new(rewriter *r, const op_def *op, const value *inputs, int count,
                      const attr *attrs, value *outputs, error *err)
{
    const node *n = graph_apply(r->to, op, inputs, count, attrs, outputs, err);
    value numbers[OP_INPUTS];

    if (n != NULL && convert_numbers(r, n, numbers, err))
        n = graph_apply(r->to, op, numbers, count, attrs, outputs, err);
    if (n == NULL || error_is_set(err))
        return false;
    rewrite_by_rules(r, n, outputs);
    if (outputs[0].node == n)
        rewrite_shapes(r, n, outputs);
    if (outputs[0].node != n)
        return true;
    return n->definition != NULL ? put_definition(r, n, outputs, err) : fold(r, n, outputs, err);
}

/* Remembers what a key gave, as values, for the next node with the same key. */
static void remember(rewriter *r, const text *key, const value *outputs, int count)
{
    value *kept = arena_array(r->to->arena, (size_t)count + 1, sizeof *kept);

    memcpy(kept, outputs, (size_t)count * sizeof *kept);
    table_put_bytes(&r->merged, key->bytes, key->length, kept);
}

/* The number of outputs of a call in the graph that is being made. */
static int count_outputs(const op_def *op, const value *inputs, int count)
{
    type first = {0};

    if (count > 0 && inputs[0].node != NULL)
        first = *value_type(inputs[0]);
    return op_output_count(op, &first);
}

bool rewrite_apply(rewriter *r, const op_def *op, const value *inputs, int count, const attr *attrs,
                   value *outputs, error *err)
{
    const int results = count_outputs(op, inputs, count);
    value *known = NULL;
    bool keyed, ok;
    text key;

    text_init(&key);
    keyed = merge_key(op, inputs, count, attrs, &key);
    if (keyed)
        known = table_get_bytes(&r->merged, key.bytes, key.length);
    if (known != NULL) {
        memcpy(outputs, known, (size_t)results * sizeof *known);
        rewrite_report(r, "merge", NULL, (value){0}, outputs[0]);
        ok = true;
    } else {
        ok = apply_new(r, op, inputs, count, attrs, outputs, err);
        if (ok && keyed)
            remember(r, &key, outputs, results);
    }
    text_clear(&key);
    return ok;
}

/* ---- Masks ------------------------------------------------------------------------------ */

static bool has_mask(const node *n)
{
    for (int i = 0; i < n->op->attr_count; i++)
        for (int k = 0; n->attrs[i].kind == ATTR_INDEX && k < n->attrs[i].n; k++) {
            const index_item *x = &n->attrs[i].index[k];

            if (x->kind == INDEX_TENSOR && value_type(n->inputs[x->operand])->dtype == DT_BOOL)
                return true;
        }
    return false;
}

/* An index without masks: each is replaced by as many index tensors as it has axes. */
static bool apply_masked(rewriter *r, const node *n, const value *inputs, value *outputs,
                         error *err)
{
    arena *a = r->to->arena;
    const attr *key = &n->attrs[0];
    value *all = arena_array(a, (size_t)(n->input_count + key->n * RANK_MAX), sizeof *all);
    index_item *items = arena_array(a, (size_t)(key->n * RANK_MAX + 1), sizeof *items);
    attr plain = {.kind = ATTR_INDEX, .index = items};
    const op_def *nonzero = op_find("nonzero", 7);
    int count = 1, last = 0;

    all[0] = inputs[0];
    for (int i = 0; i < key->n; i++) {
        const index_item *x = &key->index[i];
        value found[OP_OUTPUTS];
        int parts = 1;

        items[plain.n] = *x;
        if (x->kind != INDEX_TENSOR) {
            plain.n++;
            continue;
        }
        last = x->operand > last ? x->operand : last;
        found[0] = inputs[x->operand];
        if (value_type(found[0])->dtype == DT_BOOL) {
            parts = value_type(found[0])->shape.rank;
            if (!rewrite_apply(r, nonzero, &inputs[x->operand], 1, NULL, found, err))
                return false;
        }
        for (int k = 0; k < parts; k++) {
            items[plain.n++] = (index_item){.kind = INDEX_TENSOR, .operand = count};
            all[count++] = found[k];
        }
    }
    for (int i = last + 1; i < n->input_count; i++) /* setitem's value */
        all[count++] = inputs[i];
    return rewrite_apply(r, n->op, all, count, &plain, outputs, err);
}

/* ---- Choices -------------------------------------------------------------------------------- */

/* The value cast to a type, if it is of another. */
static value cast_to(rewriter *r, value v, dtype t, error *err)
{
    const attr to = {.kind = ATTR_DTYPE, .dtype = t};
    value result[OP_OUTPUTS];

    if (value_type(v)->dtype == t)
        return v;
    return rewrite_apply(r, op_find("astype", 6), &v, 1, &to, result, err) ? result[0] : (value){0};
}

/* The type that output i of a node's function must have: what the node gives, but a
 * condition gives bool, and what is stacked loses its first axis again. */
static dtype given_dtype(const node *n, int function, int i)
{
    return n->op->control == CONTROL_WHILE && function == 0 ? DT_BOOL : n->types[i].dtype;
}

/* A function rewritten as a graph of its own, giving what the node says it gives. */
static graph *rewrite_function(rewriter *r, const node *n, int function, const value *inputs,
                               error *err)
{
    const graph *from = n->attrs[function].graph;
    rewriter inner = {.options = r->options, .depth = r->depth, .texts = r->texts};
    graph_map *map;

    inner.to = graph_begin_function(r->to, n, inputs, function, &map, err);
    table_init(&inner.merged, r->to->arena);
    table_init(&inner.origins, r->to->arena);
    if (inner.to == NULL || !rewrite_nodes(&inner, from, map, err))
        return NULL;
    for (int i = 0; i < from->output_count; i++) {
        value v =
            cast_to(&inner, graph_map_get(map, from->outputs[i]), given_dtype(n, function, i), err);

        if (v.node == NULL)
            return NULL;
        graph_add_output(inner.to, v);
    }
    return inner.to;
}

static bool is_true(const tensor *t)
{
    char element[LANES * 16] = {0};
    const void *in[] = {element};
    bool truth[LANES];

    memcpy(element, tensor_bytes(t), dtype_size(t->dtype));
    kernel_cast(t->dtype, DT_BOOL)(LANES, truth, in);
    return truth[0];
}

/* A choice that is made already: the branch in place of the choice. */
static bool apply_chosen(rewriter *r, const node *n, const value *inputs, value *outputs,
                         error *err)
{
    const bool yes = is_true(value_constant(inputs[0]));
    const graph *branch = n->attrs[yes ? 0 : 1].graph;
    const int first = yes ? 1 : 1 + n->attrs[0].graph->input_count;
    graph_map *map = graph_map_new(branch, r->to);

    for (int i = 0; i < branch->input_count; i++)
        graph_map_set(map, branch->inputs[i], inputs[first + i]);
    if (!rewrite_nodes(r, branch, map, err))
        return false;
    for (int i = 0; i < branch->output_count; i++) {
        outputs[i] = cast_to(r, graph_map_get(map, branch->outputs[i]), n->types[i].dtype, err);
        if (outputs[i].node == NULL)
            return false;
    }
    rewrite_report(r, "choose", NULL, (value){(node *)n, 0}, outputs[0]);
    return true;
}

/* Control flow: the same node with its functions rewritten. */
static bool apply_control(rewriter *r, const node *n, const value *inputs, const attr *mapped,
                          value *outputs, error *err)
{
    attr *attrs = arena_array(r->to->arena, (size_t)n->op->attr_count + 1, sizeof *attrs);

    for (int i = 0; i < n->op->attr_count; i++) {
        attrs[i] = mapped[i];
        if (attrs[i].kind != ATTR_GRAPH)
            continue;
        attrs[i].graph = rewrite_function(r, n, i, inputs, err);
        if (attrs[i].graph == NULL)
            return false;
    }
    return graph_apply(r->to, n->op, inputs, graph_own_inputs(n), attrs, outputs, err) != NULL;
}

/* ---- Graphs -----------------------------------------------------------------------------------
 */

void rewrite_keep_notes(const node *n, value became)
{
    if (became.node->op == &op_input || became.node->op == &op_constant)
        return;
    if (n->name != NULL)
        graph_name(became, n->name);
    if (became.node->declared == NULL)
        graph_copy_declared(became.node, n);
}

bool rewrite_node(rewriter *r, graph_map *map, const node *n, error *err)
{
    value *inputs = arena_array(r->to->arena, (size_t)n->input_count + 1, sizeof *inputs);
    value outputs[OP_OUTPUTS] = {{0}};
    bool ok;

    if (n->op == &op_input || n->op == &op_constant)
        return graph_map_copy(map, n, err);
    for (int i = 0; i < n->input_count; i++)
        inputs[i] = graph_map_get(map, n->inputs[i]);
    if (n->op->control == CONTROL_COND && value_constant(inputs[0]) != NULL)
        ok = apply_chosen(r, n, inputs, outputs, err);
    else if (n->op->control != CONTROL_NONE)
        ok = apply_control(r, n, inputs, graph_map_attrs(map, n), outputs, err);
    else if (has_mask(n))
        ok = apply_masked(r, n, inputs, outputs, err);
    else
        ok = rewrite_apply(r, n->op, inputs, n->input_count, graph_map_attrs(map, n), outputs, err);
    for (int i = 0; ok && i < n->output_count; i++)
        graph_map_set(map, (value){(node *)n, i}, outputs[i]);
    if (ok && n->output_count == 1)
        rewrite_keep_notes(n, outputs[0]);
    return ok;
}

static bool rewrite_nodes(rewriter *r, const graph *from, graph_map *map, error *err)
{
    chains products;
    const bool any = !r->options->only_lower && order_find(from, &products, r->to->arena);

    for (int i = 0; i < from->count; i++) {
        node *n = from->nodes[i];

        if (graph_map_get(map, (value){n, 0}).node != NULL)
            continue;
        if (!rewrite_node(r, map, n, err) || (any && !order_chain(r, &products, map, n, err)))
            return false;
    }
    return true;
}

graph *rewrite_graph(const graph *g, rewrite_options *options, arena *a, error *err)
{
    rewriter r = {.to = graph_new(a, NULL), .options = options};
    graph_map *map = graph_map_new(g, r.to);

    table_init(&r.merged, a);
    table_init(&r.origins, a);
    r.to->node_limit = 16 * GRAPH_NODES_MAX; /* definitions take more room than they came in */
    if (!rewrite_nodes(&r, g, map, err)) {
        graph_release(r.to);
        return NULL;
    }
    for (int i = 0; i < g->output_count; i++)
        graph_add_output(r.to, graph_map_get(map, g->outputs[i]));
    return r.to;
}
