/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/bindings.h"

#include <string.h>

#include "server/routes/stored.h"

void bindings_init(bindings *b, services *s, arena *a, const wire_inputs *inputs, durability d)
{
    *b = (bindings){.services = s,
                    .arena = a,
                    .txn = txn_new(s->storage, NULL, d),
                    .note_reads = true,
                    .inputs = inputs};
    table_init(&b->by_name, a);
    for (size_t i = 0; i < inputs->count; i++)
        table_put(&b->by_name, inputs->items[i].name, &inputs->items[i]);
}

void bindings_clear(bindings *b)
{
    for (size_t i = 0; i < b->count; i++)
        tensor_unref(&b->tensors[i]);
    b->count = 0;
    txn_free(b->txn);
    b->txn = NULL;
}

/* Makes t, whose reference it takes over, an input of the graph. */
static bool bind_take(bindings *b, graph *g, const char *name, tensor *t, value *result, error *err)
{
    const type type = {.dtype = t->dtype, .shape = t->shape};

    b->tensors = arena_grow(b->arena, b->tensors, b->count, &b->room, sizeof *b->tensors);
    b->tensors[b->count++] = *t;
    *result = graph_input(g, name, &type, err);
    return result->node != NULL;
}

static bool bind_input(bindings *b, graph *g, const wire_input *input, value *result, error *err)
{
    tensor t = *input->tensor;

    if (t.weak) {
        *result = graph_constant(g, &t, err);
        return result->node != NULL;
    }
    tensor_ref(&t);
    return bind_take(b, g, input->name, &t, result, err);
}

static bool bind_stored(bindings *b, graph *g, const char *name, value *result, error *err)
{
    const entry *e = b->note_reads ? txn_read(b->txn, name) : snapshot_find(txn_base(b->txn), name);
    tensor t;

    if (e == NULL || e->kind != ENTRY_VARIABLE)
        return true;
    return entry_tensor(b->services->storage, e, &t, err) &&
           entry_verify(b->services->storage, e, 0, entry_nbytes(e), err) &&
           bind_take(b, g, name, &t, result, err);
}

static bool resolve(void *context, graph *g, const char *name, value *result, error *err)
{
    bindings *b = context;
    const wire_input *input = table_get(&b->by_name, name);

    *result = (value){0};
    return input != NULL ? bind_input(b, g, input, result, err)
                         : bind_stored(b, g, name, result, err);
}

bool bindings_has(const bindings *b, const char *name)
{
    const entry *e = snapshot_find(txn_base(b->txn), name);

    return table_get(&b->by_name, name) != NULL || (e != NULL && e->kind == ENTRY_VARIABLE);
}

static const char *nearest(void *context, const char *name)
{
    const bindings *b = context;
    const char *best = NULL;
    int least = 3;

    for (size_t i = 0; i < b->inputs->count; i++) {
        const int distance = text_distance(name, b->inputs->items[i].name, least);

        if (distance < least) {
            least = distance;
            best = b->inputs->items[i].name;
        }
    }
    return best != NULL ? best : stored_nearest(txn_base(b->txn), name, b->arena);
}

lang_scope bindings_scope(bindings *b)
{
    return (lang_scope){.context = b, .resolve = resolve, .nearest = nearest};
}
