/* SPDX-License-Identifier: Apache-2.0 */
/* Notebooks: documents of cells, kept and checked, never run. Their names are a space of their
 * own; storage keeps them as hidden texts. */
#include <string.h>

#include "engine/base/table.h"
#include "server/routes/body.h"
#include "server/routes/handlers.h"
#include "server/routes/repeat.h"
#include "server/routes/stored.h"

static const char folder[] = ".notebooks/";

static const char *hidden_name(const http_request *r, const char *name)
{
    return arena_format(r->arena, "%s%s", folder, name);
}

/* ---- The document --------------------------------------------------------------------------- */

static bool check_source(const config *c, const wire_value *source, error *err)
{
    size_t length;

    if (!wire_expect(source, WIRE_STRING, err))
        return false;
    wire_string(source, &length);
    if ((int64_t)length <= c->notebook_source_bytes_max)
        return true;
    error_set_limit(err, ERR_NOTEBOOK_SIZE, c->notebook_source_bytes_max, (int64_t)length,
                    "The source of a cell has %zu bytes, above the limit.", length);
    return wire_fault_at(source, err);
}

static bool check_kind(const wire_value *kind, error *err)
{
    const char *word;

    if (!wire_expect(kind, WIRE_STRING, err))
        return false;
    word = wire_string(kind, NULL);
    return strcmp(word, "code") == 0 || strcmp(word, "markdown") == 0 ||
           wire_fault(kind, err, ERR_REQUEST, "a cell's kind is 'code' or 'markdown', not '%.40s'",
                      word);
}

/* The id of a cell, which no cell before has. */
static bool check_id(const wire_value *id, table *seen, error *err)
{
    return wire_expect(id, WIRE_STRING, err) &&
           (table_put(seen, wire_string(id, NULL), (void *)(uintptr_t)id) == NULL ||
            wire_fault(id, err, ERR_REQUEST, "two cells have the id '%.60s'",
                       wire_string(id, NULL)));
}

static bool check_cell(const config *c, const wire_value *cell, table *seen, error *err)
{
    static const char *const members[] = {"id", "kind", "source", "view"};
    const wire_value *view;

    if (!wire_expect(cell, WIRE_OBJECT, err) ||
        !wire_known_members(cell, members, sizeof members / sizeof *members, "a cell", err))
        return false;
    for (int i = 0; i < 3; i++)
        if (wire_member(cell, members[i]) == NULL)
            return wire_fault(cell, err, ERR_REQUEST, "a cell needs '%s'", members[i]);
    view = wire_member(cell, "view");
    return check_id(wire_member(cell, "id"), seen, err) &&
           check_kind(wire_member(cell, "kind"), err) &&
           check_source(c, wire_member(cell, "source"), err) &&
           (view == NULL || wire_expect(view, WIRE_OBJECT, err));
}

static bool check_cells(const config *c, const wire_value *cells, arena *a, error *err)
{
    const int64_t count = (int64_t)wire_count(cells);
    table seen;

    if (count > c->notebook_cells_max) {
        error_set_limit(err, ERR_NOTEBOOK_SIZE, c->notebook_cells_max, count,
                        "The notebook has more cells than the limit.");
        return wire_fault_at(cells, err);
    }
    table_init(&seen, a);
    for (const wire_value *cell = wire_first(cells); cell != NULL; cell = wire_next(cell))
        if (!check_cell(c, cell, &seen, err))
            return false;
    return true;
}

static bool check_notebook(const config *c, const wire_value *root, arena *a, error *err)
{
    static const char *const members[] = {"title", "cells"};
    const wire_value *title, *cells;

    if (!wire_expect(root, WIRE_OBJECT, err) ||
        !wire_known_members(root, members, 2, "a notebook", err))
        return false;
    title = wire_member(root, "title");
    cells = wire_member(root, "cells");
    if (cells == NULL)
        return wire_fault(root, err, ERR_REQUEST, "a notebook needs 'cells', a list");
    return (title == NULL || wire_expect(title, WIRE_STRING, err)) &&
           wire_expect(cells, WIRE_LIST, err) && check_cells(c, cells, a, err);
}

/* ---- PUT /v1/notebooks/{name} ------------------------------------------------------------------
 */

bool notebook_open(services *s, http_request *r, error *err)
{
    (void)err;
    http_collect(r, s->config->notebook_bytes_max);
    return true;
}

static bool read_notebook(services *s, http_request *r, const text *body, error *err)
{
    const wire_value *root = body_parse(r, body, err);

    return root != NULL && check_notebook(s->config, root, r->arena, err);
}

static bool check_count(services *s, const snapshot *n, const char *hidden, error *err)
{
    const int64_t most = s->config->notebooks_max;

    return snapshot_find(n, hidden) != NULL ||
           snapshot_count_prefix(n, ENTRY_HIDDEN, folder) < most ||
           error_set_limit(err, ERR_VARIABLE_QUOTA, most, most + 1,
                           "There are as many notebooks as the limit allows.");
}

static void add_entry(json_writer *w, const entry *e)
{
    json_begin(w, NULL, '{');
    json_string(w, "name", e->name + strlen(folder));
    json_int(w, "nbytes", entry_nbytes(e));
    json_int(w, "commit", e->commit);
    stored_add_time(w, "created", e->created_us);
    stored_add_time(w, "modified", e->modified_us);
    json_end(w, '}');
}

static void answer_put(services *s, http_request *r, const char *hidden, const commit_result *done)
{
    snapshot *n = stored_snapshot(s, r);
    const entry *e = snapshot_find(n, hidden);
    text body;
    json_writer w = json_to(&body, false);

    text_init(&body);
    text_add(&body, "");
    if (e != NULL)
        add_entry(&w, e);
    text_add_char(&body, '\n');
    stored_answer_put(s, r, done, e, "notebook", &body);
    snapshot_unref(n);
}

bool notebook_put(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err), *hidden;
    const text *body = r->sink.state;
    commit_result done;
    durability d;
    txn *x;
    bool ok;

    if (name == NULL || !stored_durability(r, &d, err) || !read_notebook(s, r, body, err))
        return false;
    hidden = hidden_name(r, name);
    x = stored_txn(s, r, d);
    ok = snapshot_allows(txn_base(x), name, err) && check_count(s, txn_base(x), hidden, err) &&
         stored_expect(s, r, x, hidden, err) &&
         txn_put_text(x, hidden, body->bytes, body->length, err) && repeat_commit(r, x, &done, err);
    if (ok)
        answer_put(s, r, hidden, &done);
    txn_free(x);
    return ok;
}

/* ---- GET, DELETE /v1/notebooks/{name}
 * ------------------------------------------------------------ */

/* The entry of a notebook that the caller may see. */
static const entry *find(const snapshot *n, const http_request *r, const char *name, error *err)
{
    error hidden_from = {0};
    const entry *e =
        snapshot_allows(n, name, &hidden_from) ? snapshot_find(n, hidden_name(r, name)) : NULL;

    if (e == NULL)
        error_set(err, ERR_NOT_FOUND, "There is no notebook '%s'.", name);
    return e;
}

bool notebook_get(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    snapshot *n = name != NULL ? stored_snapshot(s, r) : NULL;
    const entry *e = n != NULL ? find(n, r, name, err) : NULL;
    bool ok = e != NULL && stored_matches(s, r, e, err);

    if (ok && stored_is_known(s, r, e, "notebook"))
        answer_empty(r, 304);
    else
        ok = ok && stored_answer_kept(r, entry_text(s->storage, e, err));
    if (ok)
        stored_answer_etag(s, r, e, "notebook");
    snapshot_unref(n);
    return ok;
}

bool notebook_delete(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    durability d;
    txn *x;
    bool ok;

    if (name == NULL || !stored_durability(r, &d, err))
        return false;
    x = stored_txn(s, r, d);
    ok = snapshot_allows(txn_base(x), name, err) && find(txn_base(x), r, name, err) != NULL &&
         stored_expect(s, r, x, hidden_name(r, name), err) &&
         stored_commit_delete(r, x, hidden_name(r, name), err);
    txn_free(x);
    return ok;
}

/* ---- GET /v1/notebooks
 * ---------------------------------------------------------------------------- */

/* Up to room notebooks that the caller may see whose names come after one. */
static size_t list(const snapshot *n, const char *prefix, const char *after, const entry **found,
                   size_t room)
{
    size_t count = 0;

    while (count < room) {
        const entry *e;
        error hidden_from = {0};

        if (snapshot_list(n, ENTRY_HIDDEN, prefix, after, &e, 1) == 0)
            break;
        after = e->name;
        if (snapshot_allows(n, e->name + strlen(folder), &hidden_from))
            found[count++] = e;
    }
    return count;
}

bool notebooks_list(services *s, http_request *r, error *err)
{
    const char *prefix = http_query(r, "prefix"), *after;
    const entry **page;
    size_t limit = 0, count;
    snapshot *n;
    text body;
    json_writer w = json_to(&body, false);

    prefix = prefix == NULL ? "" : prefix;
    after = stored_cursor(r, prefix, err);
    if (after == NULL || !stored_limit(r, &limit, err))
        return false;
    n = stored_snapshot(s, r);
    page = arena_array(r->arena, limit + 1, sizeof *page);
    count = list(n, hidden_name(r, prefix), *after == '\0' ? "" : hidden_name(r, after), page,
                 limit + 1);
    text_init(&body);
    json_begin(&w, NULL, '{');
    json_begin(&w, "notebooks", '[');
    for (size_t i = 0; i < count && i < limit; i++)
        add_entry(&w, page[i]);
    json_end(&w, ']');
    json_string(&w, "cursor", count > limit ? page[limit - 1]->name + strlen(folder) : NULL);
    json_int(&w, "snapshot", snapshot_commit(n));
    json_end(&w, '}');
    text_add_char(&body, '\n');
    answer_text(r, 200, "application/json", &body);
    if (count > limit)
        stored_link_next(r, "/v1/notebooks", prefix, limit, page[limit - 1]->name + strlen(folder));
    snapshot_unref(n);
    return true;
}
