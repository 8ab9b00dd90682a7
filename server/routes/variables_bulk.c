/* SPDX-License-Identifier: Apache-2.0 */
/* Several variables at once: read from one snapshot, stored by one commit. */
#include <string.h>

#include "engine/base/name.h"
#include "server/routes/answer.h"
#include "server/routes/body.h"
#include "server/routes/bulk.h"
#include "server/routes/handlers.h"
#include "server/routes/repeat.h"
#include "server/routes/stored.h"

/* ---- GET /v1/variables?names= -------------------------------------------------------------- */

/* What is read: entries of one snapshot, each once, and their tensors. */
typedef struct selection {
    const entry **entries;
    tensor *tensors;
    size_t count;
    int64_t bytes;
} selection;

static bool add_name(services *s, http_request *r, const snapshot *n, const char *at, size_t length,
                     selection *x, error *err)
{
    const char *name = name_normalise(r->arena, at, length, err);
    const entry *e = name == NULL ? NULL : stored_find(n, ENTRY_VARIABLE, name, err);

    if (e == NULL)
        return false;
    for (size_t i = 0; i < x->count; i++)
        if (x->entries[i] == e)
            return true;
    if (!entry_tensor(s->storage, e, &x->tensors[x->count], err))
        return false;
    x->entries[x->count++] = e;
    x->bytes += entry_nbytes(e);
    return entry_verify(s->storage, e, 0, entry_nbytes(e), err);
}

/* Finds what the names, with commas between, stand for. */
static bool select_names(services *s, http_request *r, const snapshot *n, const char *names,
                         selection *x, error *err)
{
    size_t room = 1;

    for (const char *p = names; *p != '\0'; p++)
        room += *p == ',';
    x->entries = arena_array(r->arena, room, sizeof *x->entries);
    x->tensors = arena_array(r->arena, room, sizeof *x->tensors);
    for (const char *at = names;;) {
        const size_t length = strcspn(at, ",");

        if (!add_name(s, r, n, at, length, x, err))
            return false;
        if (at[length] == '\0')
            return true;
        at += length + 1;
    }
}

static void answer_selection(http_request *r, const selection *x, wire_format format)
{
    wire_writer *w = wire_writer_new(format);
    text key;

    for (size_t i = 0; i < x->count; i++) {
        if (format == WIRE_JSON) {
            text_init(&key);
            text_addf(&key, "%c", i == 0 ? '{' : ',');
            text_add_json(&key, x->entries[i]->name);
            text_add_char(&key, ':');
            wire_writer_text_bytes(w, key.bytes, key.length);
            text_clear(&key);
        }
        wire_writer_tensor(w, x->entries[i]->name, &x->tensors[i]);
    }
    if (format == WIRE_JSON)
        wire_writer_text(w, "}\n");
    answer_written_take(r, 200, format, w, x->bytes);
}

bool bulk_get(services *s, http_request *r, const char *names, error *err)
{
    snapshot *n = stored_snapshot(s, r);
    selection x = {0};
    const bool ok = select_names(s, r, n, names, &x, err);

    if (ok) {
        answer_selection(r, &x, answer_format(r));
        stored_answer_number(r, "Tensord-Snapshot", snapshot_commit(n));
    }
    for (size_t i = 0; i < x.count; i++)
        tensor_unref(&x.tensors[i]);
    snapshot_unref(n);
    return ok;
}

/* ---- PUT /v1/variables ------------------------------------------------------------------------
 */

bool bulk_open(services *s, http_request *r, error *err)
{
    return body_open(s, r, WIRE_TENSORS_BODY, err);
}

static bool put_all(http_request *r, txn *x, error *err)
{
    for (const wire_value *v = wire_first(body_root(r)); v != NULL; v = wire_next(v)) {
        const char *key = wire_key(v), *name = name_normalise(r->arena, key, strlen(key), err);

        if (name == NULL || !txn_put_tensor(x, name, wire_tensor(v), FORM_AUTO, err))
            return wire_fault_at(v, err);
    }
    return true;
}

static void answer_stored(http_request *r, const commit_result *done)
{
    text body;
    json_writer w = json_to(&body, false);

    text_init(&body);
    json_begin(&w, NULL, '{');
    stored_add_committed(&w, done);
    json_int(&w, "commit", done->commit);
    json_end(&w, '}');
    text_add_char(&body, '\n');
    answer_text(r, 200, "application/json", &body);
}

bool variables_put(services *s, http_request *r, error *err)
{
    commit_result done;
    durability d;
    txn *x;
    bool ok;

    if (!stored_durability(r, &d, err))
        return false;
    x = stored_txn(s, r, d);
    ok = put_all(r, x, err) && repeat_commit(r, x, &done, err);
    if (ok)
        answer_stored(r, &done);
    txn_free(x);
    return ok;
}
