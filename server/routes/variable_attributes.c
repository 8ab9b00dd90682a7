/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of a variable: units, names of axes, whatever a caller likes. */
#include <string.h>

#include "server/routes/body.h"
#include "server/routes/handlers.h"
#include "server/routes/repeat.h"
#include "server/routes/stored.h"

bool attributes_open(services *s, http_request *r, error *err)
{
    (void)s, (void)err;
    http_collect(r, ATTRIBUTES_BYTES_MAX);
    return true;
}

/* The text of the body: checked to be a JSON object. */
static bool check_object(http_request *r, const text *body, error *err)
{
    const wire_value *root = body_parse(r, body, err);

    return root != NULL && wire_expect(root, WIRE_OBJECT, err);
}

static bool put(services *s, http_request *r, const char *name, const text *body, durability d,
                error *err)
{
    txn *x = stored_txn(s, r, d);
    commit_result done;
    const bool ok = stored_find_to_change(txn_base(x), ENTRY_VARIABLE, name, err) != NULL &&
                    stored_expect(s, r, x, name, err) &&
                    txn_put_attributes(x, name, body->bytes, body->length, err) &&
                    repeat_commit(r, x, &done, err);

    if (ok) {
        answer_empty(r, 204);
    }
    txn_free(x);
    return ok;
}

bool attributes_put(services *s, http_request *r, error *err)
{
    const text *body = r->sink.state;
    const char *name = stored_name(r, err);
    durability d;

    return name != NULL && stored_durability(r, &d, err) && check_object(r, body, err) &&
           put(s, r, name, body, d, err);
}

static bool answer_attributes(services *s, http_request *r, const entry *e, error *err)
{
    if (!stored_answer_kept(r, entry_attributes(s->storage, e, err)))
        return false;
    stored_answer_etag(s, r, e, "attributes");
    return true;
}

bool attributes_get(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    snapshot *n = name != NULL ? stored_snapshot(s, r) : NULL;
    const entry *e = n != NULL ? stored_find(n, ENTRY_VARIABLE, name, err) : NULL;
    const bool ok = e != NULL && answer_attributes(s, r, e, err);

    snapshot_unref(n);
    return ok;
}
