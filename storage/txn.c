/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "storage/commit.h"
#include "storage/incoming.h"

/* ---- Life ---------------------------------------------------------------------- */

txn *txn_new(storage *s, snapshot *base, durability d)
{
    txn *x = calloc(1, sizeof *x);

    if (x == NULL)
        abort();
    x->storage = s;
    x->base = base == NULL ? storage_snapshot(s) : snapshot_ref(base);
    x->durability = d;
    x->arena = arena_new();
    table_init(&x->by_name, x->arena);
    pthread_cond_init(&x->woken, NULL);
    return x;
}

static void drop(change *c)
{
    content_unref(c->content);
    content_unref(c->attributes);
    c->content = c->attributes = NULL;
}

void txn_free(txn *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; i < x->change_count; i++)
        drop(x->changes[i]);
    pthread_cond_destroy(&x->woken);
    snapshot_unref(x->base);
    arena_free(x->arena);
    free(x);
}

/* ---- Reading ------------------------------------------------------------------- */

durability txn_durability(const txn *x)
{
    return x->durability;
}

snapshot *txn_base(const txn *x)
{
    return x->base;
}

/* Of a name that the base does not show nothing is expected, nor told by failing. */
void txn_expect(txn *x, const char *name, int64_t commit, error_kind failing)
{
    if (!within_has(x->base->within, name))
        return;
    x->expectations = arena_grow(x->arena, x->expectations, x->expectation_count,
                                 &x->expectation_room, sizeof *x->expectations);
    x->expectations[x->expectation_count++] = (expectation){
        .name = arena_copy(x->arena, name, strlen(name)), .commit = commit, .failing = failing};
}

const entry *txn_read(txn *x, const char *name)
{
    const entry *e = snapshot_find(x->base, name);

    txn_expect(x, name, e == NULL ? EXPECT_ABSENT : e->commit, ERR_CONFLICT);
    return e;
}

/* ---- Changing ------------------------------------------------------------------ */

/* The change of a name, a new one that does nothing yet if there was none. */
static change *change_of(txn *x, const char *name)
{
    change *c = table_get(&x->by_name, name);

    if (c != NULL)
        return c;
    c = arena_alloc(x->arena, sizeof *c);
    c->name = arena_copy(x->arena, name, strlen(name));
    table_put(&x->by_name, name, c);
    x->changes =
        arena_grow(x->arena, x->changes, x->change_count, &x->change_room, sizeof(change *));
    x->changes[x->change_count++] = c;
    return c;
}

static void put_take(txn *x, const char *name, entry_kind kind, content *value)
{
    change *c = change_of(x, name);

    content_unref(c->content);
    c->content = value;
    c->kind = kind;
    c->removes = false;
    c->make = NULL;
}

bool txn_put_incoming_take(txn *x, const char *name, incoming *in, error *err)
{
    content *value = incoming_content_take(in, err);

    if (value == NULL)
        return false;
    put_take(x, name, name_is_hidden(name) ? ENTRY_HIDDEN : ENTRY_VARIABLE, value);
    return true;
}

bool txn_put_tensor(txn *x, const char *name, const tensor *t, storage_form form, error *err)
{
    incoming *in = incoming_new(x->storage, x->durability, form, t->dtype, &t->shape, err);

    if (in != NULL && incoming_write_tensor(in, t, err) && incoming_finish(in, err))
        return txn_put_incoming_take(x, name, in, err);
    incoming_free(in);
    return false;
}

bool txn_attach(txn *x, const char *name, const attachment *a, dtype t, const shape *shape,
                error *err)
{
    content *c = place_content(x, a, t, shape, err);

    if (c == NULL)
        return false;
    put_take(x, name, ENTRY_VARIABLE, c);
    return true;
}

static content *text_content(txn *x, const char *text, size_t length, size_t most, error *err)
{
    content *c;

    if (!storage_can_write(x->storage, err))
        return NULL;
    if (length > most) {
        error_set_limit(err, ERR_BODY_SIZE, (int64_t)most, (int64_t)length,
                        "a text of %zu bytes is above the limit of %zu", length, most);
        return NULL;
    }
    if (x->durability != DURABILITY_MEMORY && !disk_has_room(x->storage, (int64_t)length, err))
        return NULL;
    c = content_of_text(x->storage, text, length, err);
    if (c != NULL)
        c->is_volatile = x->durability == DURABILITY_MEMORY;
    return c;
}

static bool put_text(txn *x, const char *name, entry_kind kind, const char *text, size_t length,
                     error *err)
{
    content *c = text_content(x, text, length, TEXT_BYTES_MAX, err);

    if (c == NULL)
        return false;
    put_take(x, name, kind, c);
    return true;
}

bool txn_put_graph(txn *x, const char *name, const char *text, size_t length, error *err)
{
    return put_text(x, name, ENTRY_GRAPH, text, length, err);
}

bool txn_put_text(txn *x, const char *name, const char *text, size_t length, error *err)
{
    return put_text(x, name, ENTRY_HIDDEN, text, length, err);
}

void txn_put_receipt(txn *x, const char *name, txn_receipt *make, void *context)
{
    change *c;

    put_take(x, name, ENTRY_HIDDEN, NULL);
    c = change_of(x, name);
    c->make = make;
    c->context = context;
}

bool txn_put_attributes(txn *x, const char *name, const char *text, size_t length, error *err)
{
    content *value = text_content(x, text, length, ATTRIBUTES_BYTES_MAX, err);
    change *c;

    if (value == NULL)
        return false;
    c = change_of(x, name);
    content_unref(c->attributes);
    c->attributes = value;
    c->removes = false;
    return true;
}

void txn_delete(txn *x, const char *name)
{
    change *c = change_of(x, name);

    drop(c);
    c->removes = true;
    c->make = NULL;
}

/* ---- Committing ---------------------------------------------------------------- */

static bool expectation_failed(const expectation *want, const entry *found, error *err)
{
    if (want->commit == EXPECT_ABSENT)
        return error_set(err, want->failing, "%s exists, written by commit %" PRId64, want->name,
                         found->commit);
    if (found == NULL)
        return error_set(err, want->failing, "%s does not exist", want->name);
    return error_set(err, want->failing,
                     "%s was written by commit %" PRId64 ", not by commit %" PRId64, want->name,
                     found->commit, want->commit);
}

bool txn_check_expectations(const txn *x, const names *now, error *err)
{
    for (size_t i = 0; i < x->expectation_count; i++) {
        const expectation *want = &x->expectations[i];
        const entry *found = names_find(now, want->name);
        bool holds = want->commit == EXPECT_PRESENT ? found != NULL
                     : want->commit == EXPECT_ABSENT
                         ? found == NULL
                         : found != NULL && found->commit == want->commit;

        if (!holds)
            return expectation_failed(want, found, err);
    }
    return true;
}

/* Puts x at the end of the queue and waits until the writer is done with it. */
static bool wait_for_writer(txn *x, error *err)
{
    storage *s = x->storage;

    x->names = arena_array(x->arena, x->change_count, sizeof *x->names);
    pthread_mutex_lock(&s->lock);
    *s->last_waiting = x;
    s->last_waiting = &x->next;
    pthread_cond_signal(&s->work);
    while (!x->done)
        pthread_cond_wait(&x->woken, &s->lock);
    pthread_mutex_unlock(&s->lock);
    if (!error_is_set(&x->failure))
        return true;
    *err = x->failure;
    return false;
}

static bool check_names(const txn *x, error *err)
{
    for (size_t i = 0; i < x->change_count; i++)
        if (!snapshot_allows(x->base, x->changes[i]->name, err))
            return false;
    return true;
}

bool txn_commit(txn *x, commit_result *result, error *err)
{
    *result = (commit_result){0};
    if (x->change_count == 0) {
        snapshot *now = storage_snapshot(x->storage);
        bool ok = txn_check_expectations(x, now->names, err);

        result->commit = now->commit;
        snapshot_unref(now);
        return ok;
    }
    if (!check_names(x, err) || !storage_can_write(x->storage, err) || !wait_for_writer(x, err))
        return false;
    *result = (commit_result){.commit = x->commit, .count = x->change_count, .names = x->names};
    return true;
}
