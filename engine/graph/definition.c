/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that others define: their texts, built by the language, or their graphs. */
#include <stdio.h>
#include <string.h>

#include "engine/graph/private.h"

static graph_expander *expand;

void graph_set_expander(graph_expander *expander)
{
    expand = expander;
}

/* ---- Definitions ------------------------------------------------------------------------ */

/* Says which operation it was that the caller wrote, before the one that failed in its
 * definition. */
static void blame(const op_def *op, error *err)
{
    char detail[sizeof err->detail];

    memcpy(detail, err->detail, sizeof detail);
    snprintf(err->detail, sizeof err->detail, "%s: %.400s", op->name, detail);
}

graph *definition_new(graph *g, const op_def *op, const value *inputs, int count, const attr *attrs,
                      error *err)
{
    graph *definition = graph_new(g->arena, g);
    value *own = arena_array(g->arena, (size_t)count + 1, sizeof *own);

    for (int i = 0; i < count; i++) {
        own[i] = inputs[i].node == NULL ? (value){0} : graph_capture(definition, inputs[i], err);
        if (inputs[i].node != NULL && own[i].node == NULL)
            return NULL;
    }
    if (op->body == NULL && expand == NULL) {
        error_set(err, ERR_INTERNAL, "%s is defined in the language, which is not there", op->name);
        return NULL;
    }
    if (op->body != NULL ? define_build(definition, op, own, err)
                         : expand(definition, op, own, count, attrs, err))
        return definition;
    blame(op, err);
    return NULL;
}
