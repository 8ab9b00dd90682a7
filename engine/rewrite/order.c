/* SPDX-License-Identifier: Apache-2.0 */
/* a @ b @ c ...: matrix products of two axes each, multiplied in the order that takes the
 * fewest multiplications.
 *
 * A chain is found in the graph as it was written, where it is known how often a product is
 * used: one that has a single use, by another product, is absorbed by it. When the last
 * product of a chain was copied, the order of least work is found from the lengths, by
 * dynamic programming, and if it is less than that of the order written, the products are
 * made anew; the old ones are then used by nothing. Numbers that round come out otherwise in
 * the last places, so that strict leaves them; integers wrap the same in any order. */
#include <string.h>

#include "engine/rewrite/private.h"

enum { OPERANDS = 64 }; /* of one chain; longer ones are cut */

/* ---- Finding ---------------------------------------------------------------------------- */

static const op_def *product_op(void)
{
    return op_find("matmul", 6);
}

/* Whether a node is a matrix product: matmul, or what is defined as the matmul of its two
 * inputs (dot). */
static bool is_product(const node *n)
{
    const graph *d = n->definition;
    const node *m;

    if (n->op == product_op())
        return true;
    if (d == NULL || n->output_count != 1 || n->input_count != 2)
        return false;
    m = d->outputs[0].node;
    if (m->op != product_op() || m->graph != d)
        return false;
    for (int i = 0, k; i < 2; i++) {
        for (k = 0; k < d->input_count && !value_equal(d->inputs[k], m->inputs[i]); k++)
            ;
        if (k == d->input_count || !value_equal(d->captured[k], n->inputs[i]))
            return false;
    }
    return true;
}

static void count_uses(const graph *g, const node *n, int *uses)
{
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i].node != NULL && n->inputs[i].node->graph == g)
            uses[n->inputs[i].node->id]++;
}

/* Products of the same values become one: then each of them is used by all that use one. */
static void share_equal(const graph *g, int *uses, arena *a)
{
    table seen;

    table_init(&seen, a);
    for (int i = 0; i < g->count; i++) {
        node *n = g->nodes[i], *first;
        uintptr_t key[2 * ORIGIN_KEY];

        if (!is_product(n))
            continue;
        rule_origin_key(n->inputs[0], key);
        rule_origin_key(n->inputs[1], key + ORIGIN_KEY);
        first = table_get_bytes(&seen, (const char *)key, sizeof key);
        if (first == NULL)
            table_put_bytes(&seen, (const char *)key, sizeof key, n);
        else
            uses[first->id] = uses[i] = uses[first->id] + uses[i] + 1;
    }
}

static int *uses_of(const graph *g, arena *a)
{
    int *uses = arena_array(a, (size_t)g->count + 1, sizeof *uses);

    for (int i = 0; i < g->count; i++)
        count_uses(g, g->nodes[i], uses);
    for (int i = 0; i < g->output_count; i++)
        if (g->outputs[i].node->graph == g)
            uses[g->outputs[i].node->id] += 2; /* a result is needed as it is */
    share_equal(g, uses, a);
    return uses;
}

bool order_find(const graph *g, chains *c, arena *a)
{
    int products = 0;
    int *uses;

    for (int i = 0; i < g->count; i++)
        products += is_product(g->nodes[i]);
    if (products < 2)
        return false;
    uses = uses_of(g, a);
    c->length = arena_array(a, (size_t)g->count + 1, sizeof *c->length);
    c->absorbed = arena_array(a, (size_t)g->count + 1, sizeof *c->absorbed);
    for (int i = 0; i < g->count; i++) {
        const node *n = g->nodes[i];

        c->length[i] = is_product(n) ? 2 : 0;
        for (int k = 0; c->length[i] > 0 && k < 2; k++) {
            const node *m = n->inputs[k].node;
            const int more = m->graph == g ? c->length[m->id] - 1 : 0;

            if (more > 0 && uses[m->id] == 1 && c->length[i] + more <= OPERANDS) {
                c->absorbed[m->id] = true;
                c->length[i] += more;
            }
        }
    }
    return true;
}

/* ---- A chain in the new graph --------------------------------------------------------------- */

typedef struct chain {
    int count;
    value operands[OPERANDS];
    double dims[OPERANDS + 1]; /* operand i is dims[i] x dims[i + 1] */
    double written;            /* multiplications in the order that was written */
} chain;

static bool is_matrix(value v, dtype t)
{
    const type *of = v.node == NULL ? NULL : value_type(v);

    return of != NULL && of->dtype == t && !of->weak && of->shape.rank == 2 &&
           shape_is_known(&of->shape);
}

/* What the product of two values costs. */
static double cost_of(value x, value y)
{
    const int64_t *a = value_type(x)->shape.length, *b = value_type(y)->shape.length;

    return (double)a[0] * (double)a[1] * (double)b[1];
}

/* Whether a product of the graph that is copied is still one in the new graph. */
static bool goes_on(const chains *c, const graph_map *map, value v)
{
    const value copy = graph_map_get(map, v);

    return c->length[v.node->id] > 0 && c->absorbed[v.node->id] && copy.node != NULL &&
           copy.node->op == product_op();
}

/* Collects the operands of the chain that ends in n, from left to right. */
static bool collect(const chains *c, const graph_map *map, const node *n, dtype t, chain *result)
{
    value stack[2 * OPERANDS] = {{(node *)n, 0}};
    int top = 1;

    while (top > 0) {
        const value v = stack[--top];
        const value copy = graph_map_get(map, v);

        if (!is_matrix(copy, t))
            return false;
        if (v.node == n || goes_on(c, map, v)) {
            const value x = graph_map_get(map, v.node->inputs[0]);
            const value y = graph_map_get(map, v.node->inputs[1]);

            if (!is_matrix(x, t) || !is_matrix(y, t))
                return false;
            result->written += cost_of(x, y);
            stack[top++] = v.node->inputs[1];
            stack[top++] = v.node->inputs[0];
        } else {
            result->operands[result->count++] = copy;
        }
    }
    for (int i = 0; i < result->count; i++) {
        result->dims[i] = (double)value_type(result->operands[i])->shape.length[0];
        result->dims[i + 1] = (double)value_type(result->operands[i])->shape.length[1];
    }
    return true;
}

/* ---- The cheapest order ------------------------------------------------------------------------
 */

typedef struct orders {
    double cost[OPERANDS][OPERANDS];
    int split[OPERANDS][OPERANDS]; /* the last operand of the left part */
} orders;

static void find_split(orders *o, const double *dims, int i, int k)
{
    o->cost[i][k] = -1;
    for (int s = i; s < k; s++) {
        const double cost = o->cost[i][s] + o->cost[s + 1][k] + dims[i] * dims[s + 1] * dims[k + 1];

        if (o->cost[i][k] >= 0 && o->cost[i][k] <= cost)
            continue;
        o->cost[i][k] = cost;
        o->split[i][k] = s;
    }
}

static orders *find_order(const chain *c, arena *a)
{
    orders *o = arena_alloc(a, sizeof *o);

    for (int i = 0; i < c->count; i++)
        o->cost[i][i] = 0;
    for (int span = 1; span < c->count; span++)
        for (int i = 0; i + span < c->count; i++)
            find_split(o, c->dims, i, i + span);
    return o;
}

/* The product of operands i to k. Recursion is at most OPERANDS deep. */
static value multiply(rewriter *r, const chain *c, const orders *o, int i, int k, error *err)
{
    value inputs[2], outputs[OP_OUTPUTS] = {{0}};

    if (i == k)
        return c->operands[i];
    inputs[0] = multiply(r, c, o, i, o->split[i][k], err);
    inputs[1] = multiply(r, c, o, o->split[i][k] + 1, k, err);
    if (error_is_set(err) || !rewrite_apply(r, product_op(), inputs, 2, NULL, outputs, err))
        return (value){0};
    return outputs[0];
}

/* Whether products of this type may be made in another order. Halves reach the ends of their
 * range too soon. */
static bool may_order(const rewriter *r, dtype t)
{
    return dtype_is_integer(t) || (!r->options->strict && t != DT_F16 && t != DT_BOOL);
}

bool order_chain(rewriter *r, const chains *c, graph_map *map, const node *n, error *err)
{
    const value copy = graph_map_get(map, (value){(node *)n, 0});
    chain *found;
    orders *o;
    value result;

    if (c->length[n->id] < 3 || c->absorbed[n->id] || copy.node->op != product_op() ||
        !may_order(r, value_type(copy)->dtype))
        return true;
    found = arena_alloc(r->to->arena, sizeof *found);
    *found = (chain){0};
    if (!collect(c, map, n, value_type(copy)->dtype, found))
        return true;
    o = find_order(found, r->to->arena);
    if (o->cost[0][found->count - 1] >= found->written)
        return true;
    result = multiply(r, found, o, 0, found->count - 1, err);
    if (result.node == NULL)
        return false;
    rewrite_report(r, "order", NULL, copy, result);
    graph_map_set(map, (value){(node *)n, 0}, result);
    return true;
}
