/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/routes/answer.h"
#include "server/routes/body.h"
#include "server/routes/handlers.h"
#include "server/routes/ranges.h"
#include "server/routes/repeat.h"
#include "server/routes/stored.h"
#include "server/routes/variable_meta.h"

/* ---- Reading ----------------------------------------------------------------------------- */

/* The bytes of t's buffer that hold its elements, from the first to the last. */
static void extent(const tensor *t, int64_t *from, int64_t *n)
{
    int64_t low = t->offset, high = t->offset;
    const int64_t size = (int64_t)dtype_size(t->dtype);

    for (int i = 0; i < t->shape.rank; i++) {
        const int64_t reach = (t->shape.length[i] - 1) * t->strides[i];

        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    *from = low * size;
    *n = tensor_size(t) == 0 ? 0 : (high - low + 1) * size;
}

/* The part that ?slice= asks for, whole and undamaged; without a reference of its own. */
static bool take_part(services *s, const http_request *r, const entry *e, const tensor *whole,
                      tensor *part, error *err)
{
    const char *text = http_query(r, "slice");
    slice asked = {0};
    int64_t from, n;

    if (!slice_parse(text == NULL ? "" : text, &asked, err) ||
        !slice_apply(&asked, whole, part, err))
        return false;
    extent(part, &from, &n);
    return entry_verify(s->storage, e, from, n, err);
}

static bool answer_part(services *s, http_request *r, const entry *e, const tensor *part,
                        error *err)
{
    const char *name = route_capture(r, "name"); /* an older version has another */
    const wire_format format = answer_format(r);
    bool done = false;

    if (!ranges_answer(r, format, part, stored_range_holds(s, r, e, wire_format_name(format)),
                       &done, err))
        return false;
    if (!done && !answer_tensor(r, format, name, part, err))
        return false;
    if (buffer_is_lost(part->buf))
        return entry_lost(e, err);
    stored_answer_etag(s, r, e, wire_format_name(format));
    answer_header(r, "Cache-Control", "private, no-cache");
    return true;
}

static bool answer_entry(services *s, http_request *r, const entry *e, error *err)
{
    tensor whole, part;
    bool ok;

    if (!stored_matches(s, r, e, err))
        return false;
    if (stored_is_known(s, r, e, wire_format_name(answer_format(r)))) {
        answer_empty(r, 304);
        stored_answer_etag(s, r, e, wire_format_name(answer_format(r)));
        return true;
    }
    if (!entry_tensor(s->storage, e, &whole, err))
        return false;
    ok = take_part(s, r, e, &whole, &part, err) && answer_part(s, r, e, &part, err);
    tensor_unref(&whole);
    return ok;
}

bool variable_get(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    snapshot *n = name != NULL ? stored_snapshot(s, r) : NULL;
    const entry *e = n != NULL ? stored_find_version(r, n, name, err) : NULL;
    bool ok = e != NULL;

    if (ok) {
        stored_answer_number(r, "Tensord-Snapshot", snapshot_commit(n));
        ok = answer_entry(s, r, e, err);
    }
    snapshot_unref(n);
    return ok;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static bool read_form(const http_request *r, storage_form *result, error *err)
{
    static const char *const words[] = {
        [FORM_AUTO] = "auto",
        [FORM_INLINE] = "inline",
        [FORM_MEMMAP] = "memmap",
        [FORM_CHUNKED] = "chunked",
    };
    const char *word = http_query(r, "storage");

    *result = FORM_AUTO;
    for (int i = 0; word != NULL && i < STORAGE_FORMS; i++) {
        if (strcmp(words[i], word) == 0) {
            *result = (storage_form)i;
            return true;
        }
    }
    return word == NULL ||
           error_set(err, ERR_REQUEST, "storage is inline, memmap, chunked or auto, not '%.40s'.",
                     word);
}

bool variable_open(services *s, http_request *r, error *err)
{
    return body_open(s, r, WIRE_TENSOR_BODY, err);
}

bool variable_put_open(services *s, http_request *r, error *err)
{
    storage_form form;
    durability d;

    return read_form(r, &form, err) && stored_durability(r, &d, err) &&
           body_open_stored(s, r, form, d, err);
}

/* Puts what came into the transaction, which may be in storage already. */
static bool put_body(txn *x, const char *name, body *b, error *err)
{
    incoming *in = b->incoming;

    if (in == NULL)
        return txn_put_tensor(x, name, wire_tensor(wire_reader_root(b->reader)), b->form, err);
    if (!incoming_finish(in, err))
        return false;
    b->incoming = NULL;
    return txn_put_incoming_take(x, name, in, err);
}

bool variable_put(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    body *b = body_of(r);
    commit_result done;
    txn *x;
    bool ok;

    if (name == NULL)
        return false;
    x = stored_txn(s, r, b->durability);
    ok = stored_expect(s, r, x, name, err) && put_body(x, name, b, err) &&
         repeat_commit(r, x, &done, err) && variable_answer_stored(s, r, name, &done, err);
    txn_free(x);
    return ok;
}

bool variable_delete(services *s, http_request *r, error *err)
{
    return stored_delete(s, r, ENTRY_VARIABLE, err);
}
