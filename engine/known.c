/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/known.h"

bool known_attrs(const node *n)
{
    for (int i = 0; i < n->op->attr_count; i++)
        if (n->attrs[i].kind == ATTR_DYNAMIC ||
            (n->attrs[i].kind == ATTR_INTS && n->attrs[i].dynamic != NULL))
            return false;
    return true;
}

bool known_types(const node *n)
{
    for (int i = 0; i < n->output_count; i++)
        if (!shape_is_known(&n->types[i].shape))
            return false;
    return true;
}

/* The two call each other for functions, whose nesting is bounded where they are built. */
bool known_functions(const node *n)
{
    for (int i = 0; i < n->op->attr_count; i++)
        if (n->attrs[i].kind == ATTR_GRAPH && !known_graph(n->attrs[i].graph))
            return false;
    return true;
}

bool known_graph(const graph *g)
{
    for (int i = 0; i < g->count; i++) {
        const node *n = g->nodes[i];

        if (!known_types(n) || !known_attrs(n) || !known_functions(n))
            return false;
    }
    return true;
}
