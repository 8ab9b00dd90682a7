/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/bindings.h"

#include <string.h>

#include "engine/base/nearest.h"
#include "engine/engine.h"
#include "server/routes/stored.h"

void bindings_init_take(bindings *b, services *s, arena *a, txn *x, const wire_inputs *inputs,
                        bool note_reads, budget *budget)
{
    *b =
        (bindings){.services = s, .arena = a, .txn = x, .note_reads = note_reads, .inputs = inputs};
    table_init(&b->by_name, a);
    table_init(&b->given, a);
    table_init(&b->variables, a);
    library_init(&b->library, s, a, b->txn, note_reads, budget);
    for (size_t i = 0; i < inputs->count; i++)
        table_put(&b->by_name, inputs->items[i].name, &inputs->items[i]);
}

void bindings_clear(bindings *b)
{
    for (size_t i = 0; i < b->count; i++)
        tensor_unref(&b->bound[i].tensor);
    b->count = 0;
    library_clear(&b->library);
    txn_free(b->txn);
    b->txn = NULL;
}

/* ---- Values ----------------------------------------------------------------------------- */

/* Makes t, whose reference it takes over, an input of the graph. */
static bool bind_take(bindings *b, graph *g, const char *name, tensor *t, value *result, error *err)
{
    const type type = {.dtype = t->dtype, .weak = t->weak, .shape = t->shape};

    *result = graph_input(g, name, &type, err);
    b->bound = arena_grow(b->arena, b->bound, b->count, &b->room, sizeof *b->bound);
    b->bound[b->count++] = (bound){.node = result->node, .tensor = *t};
    return result->node != NULL;
}

bool bindings_fixed(const bindings *b, const tensor *t)
{
    return t->weak && (!b->types_only || engine_number_counts(t));
}

bool bindings_add(bindings *b, graph *g, const char *name, const tensor *t, value *result,
                  error *err)
{
    tensor copy = *t;

    if (bindings_fixed(b, t)) { /* what is kept has bytes of its own */
        *result = b->types_only ? graph_scalar(g, t->dtype, tensor_bytes(t), true, err)
                                : graph_constant(g, t, err);
        return result->node != NULL;
    }
    tensor_ref(&copy);
    return bind_take(b, g, name, &copy, result, err);
}

/* Notes what a name stands for, in one of the tables. */
static void keep(bindings *b, table *in, const char *name, value v)
{
    value *kept = arena_alloc(b->arena, sizeof *kept);

    *kept = v;
    table_put(in, name, kept);
}

/* Whether what is stored under a name may be read. */
static bool may_read(const bindings *b, const char *name, error *err)
{
    return !b->inputs_only || error_set(err, ERR_UNKNOWN_NAME, "'%s' is stored", name);
}

/* Remembers what was looked for, since it may be stored later. */
static void note_missed(bindings *b, const char *name)
{
    b->missed =
        arena_grow(b->arena, b->missed, b->missed_count, &b->missed_room, sizeof *b->missed);
    b->missed[b->missed_count++] = arena_copy(b->arena, name, strlen(name));
}

static bool bind_entry(bindings *b, graph *g, const entry *e, value *result, error *err)
{
    tensor t;

    if (!may_read(b, e->name, err) || !entry_tensor(b->services->storage, e, &t, err))
        return false;
    if (!bind_take(b, g, e->name, &t, result, err) ||
        !entry_verify(b->services->storage, e, 0, entry_nbytes(e), err))
        return false;
    keep(b, &b->variables, e->name, *result);
    return true;
}

static bool bind_variable(bindings *b, graph *g, const char *name, value *result, error *err)
{
    const value *known = table_get(&b->variables, name);
    const entry *e;

    *result = known != NULL ? *known : (value){0};
    if (known != NULL)
        return true;
    e = b->note_reads ? txn_read(b->txn, name) : snapshot_find(txn_base(b->txn), name);
    if (e == NULL)
        note_missed(b, name);
    return e == NULL || e->kind != ENTRY_VARIABLE || bind_entry(b, g, e, result, err);
}

static bool bind_input(bindings *b, graph *g, const wire_input *input, value *result, error *err)
{
    const value *known = table_get(&b->given, input->name);

    if (known != NULL) {
        *result = *known;
        return true;
    }
    if (!bindings_add(b, g, input->name, input->tensor, result, err))
        return false;
    keep(b, &b->given, input->name, *result);
    return true;
}

/* ---- The scope ----------------------------------------------------------------------------- */

static bool resolve(void *context, graph *g, const char *name, value *result, error *err)
{
    bindings *b = context;
    const wire_input *input = table_get(&b->by_name, name);

    return input != NULL ? bind_input(b, g, input, result, err)
                         : bind_variable(b, g, name, result, err);
}

static bool resolve_stored(void *context, graph *g, const char *name, value *result, error *err)
{
    bindings *b = context;

    return b->feeds ? resolve(context, g, name, result, err)
                    : bind_variable(b, g, name, result, err);
}

bool bindings_has(const bindings *b, const char *name)
{
    const entry *e = snapshot_find(txn_base(b->txn), name);

    return table_get(&b->by_name, name) != NULL || (e != NULL && e->kind == ENTRY_VARIABLE);
}

static const char *nearest_known(void *context, const char *name)
{
    const bindings *b = context;
    const snapshot *base = txn_base(b->txn);
    nearest n = nearest_to(name, NEAREST_EDITS);
    const char *best;

    for (size_t i = 0; i < b->inputs->count; i++)
        nearest_offer(&n, b->inputs->items[i].name);
    best = n.word;
    if (best == NULL)
        best = stored_nearest(base, ENTRY_VARIABLE, name, b->arena);
    return best != NULL ? best : stored_nearest(base, ENTRY_GRAPH, name, b->arena);
}

static bool find_op(void *context, const char *name, const op_def **result, error *err)
{
    bindings *b = context;

    if (snapshot_find(txn_base(b->txn), name) == NULL)
        note_missed(b, name);
    else if (!may_read(b, name, err))
        return false;
    return library_find(&b->library, name, result, err);
}

lang_scope bindings_scope(bindings *b)
{
    return (lang_scope){.context = b,
                        .resolve = resolve,
                        .nearest = nearest_known,
                        .find_op = find_op,
                        .resolve_stored = resolve_stored};
}

/* ---- For the run ------------------------------------------------------------------------------
 */

tensor *bindings_tensors(const bindings *b, const graph *g, const bool *needed, error *err)
{
    tensor *list = arena_array(b->arena, (size_t)g->input_count + 1, sizeof *list);
    size_t at = 0;
    int count = 0;

    for (int i = 0; i < g->input_count; i++) {
        const node *n = g->inputs[i].node;
        const bool given = at < b->count && b->bound[at].node == n;

        if (given)
            at++;
        if (needed != NULL && !needed[i])
            continue;
        if (!given) {
            error_set(err, ERR_UNKNOWN_NAME,
                      "the input '%s' is neither fed nor the name of a stored variable", n->name);
            return NULL;
        }
        list[count++] = b->bound[at - 1].tensor;
    }
    return list;
}
