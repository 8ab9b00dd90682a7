/* SPDX-License-Identifier: Apache-2.0 */
/* Stored graphs: put, listed, deleted. How they are shown is graph_view.c's. */
#include "engine/base/json.h"

#include <string.h>

#include "engine/graph/declaration.h"
#include "server/routes/handlers.h"
#include "server/routes/library.h"
#include "server/routes/repeat.h"
#include "server/routes/stored.h"

/* ---- Metadata -------------------------------------------------------------------------- */

/* The members that every description of a graph has. */
static void add_entry(json_writer *w, const entry *e)
{
    json_string(w, "name", e->name);
    json_int(w, "nbytes", entry_nbytes(e));
    json_int(w, "version", e->version);
    json_int(w, "commit", e->commit);
    stored_add_time(w, "created", e->created_us);
    stored_add_time(w, "modified", e->modified_us);
}

static void add_type(json_writer *w, const char *key, value v)
{
    const type *t = value_type(v);
    text lengths;

    text_init(&lengths);
    declaration_write_lengths(declaration_of(v), &t->shape, &lengths);
    json_begin(w, key, '{');
    json_string(w, "dtype", dtype_name(t->dtype));
    json_raw(w, "shape", lengths.bytes);
    json_end(w, '}');
    text_clear(&lengths);
}

/* What it takes, in the order of calls, and gives. */
static bool add_signature(json_writer *w, library_graph *b, error *err)
{
    const graph *g = b->graph;
    const char *const *names;
    const value *values;
    bool is_list;
    int count;

    if (!source_results(&b->source, &count, &values, &names, &is_list, err))
        return false;
    json_begin(w, "inputs", '{');
    for (int i = 0; i < g->input_count; i++)
        add_type(w, g->inputs[b->order[i]].node->name, g->inputs[b->order[i]]);
    json_end(w, '}');
    json_begin(w, "outputs", '[');
    for (int i = 0; i < count; i++) {
        json_begin(w, NULL, '{');
        json_string(w, "name", names[i]);
        add_type(w, "type", values[i]);
        json_end(w, '}');
    }
    json_end(w, ']');
    return true;
}

/* ---- PUT /v1/graphs/{name} ----------------------------------------------------------------- */

bool graph_open(services *s, http_request *r, error *err)
{
    (void)s, (void)err;
    http_collect(r, TEXT_BYTES_MAX);
    return true;
}

/* The bare token that text begins with, as strict JSON has it: NaN and the infinities,
 * which tensor data may have bare, in quotes. Returns its length. */
static size_t add_bare(const char *at, text *to)
{
    const size_t n = strcspn(at, " \t\n\r,:[]{}\"");
    const bool special = strncmp(at, "NaN", n) == 0 || strncmp(at, "Infinity", n) == 0 ||
                         strncmp(at, "-Infinity", n) == 0;

    text_add(to, special && n > 0 ? "\"" : "");
    text_add_bytes(to, at, n);
    text_add(to, special && n > 0 ? "\"" : "");
    return n;
}

/* A string with its quotes. Returns its length. */
static size_t add_string(const char *at, text *to)
{
    size_t n = 1;

    while (at[n] != '"')
        n += at[n] == '\\' ? 2 : 1;
    text_add_bytes(to, at, n + 1);
    return n + 1;
}

/* The JSON as it was sent, which was read and found right, without blanks. */
static void add_compact(const char *json, text *to)
{
    while (*json != '\0') {
        if (strchr(" \t\n\r", *json) != NULL)
            json++;
        else if (*json == '"')
            json += add_string(json, to);
        else if (strchr(",:[]{}", *json) != NULL)
            text_add_char(to, *json++);
        else
            json += add_bare(json, to);
    }
}

static bool store(services *s, http_request *r, txn *x, const char *name, commit_result *done,
                  error *err)
{
    const text *body = r->sink.state;
    text compact;
    bool ok;

    text_init(&compact);
    add_compact(body->bytes, &compact);
    ok = stored_expect(s, r, x, name, err) &&
         txn_put_graph(x, name, compact.bytes, compact.length, err) &&
         repeat_commit(r, x, done, err);
    text_clear(&compact);
    return ok;
}

static bool answer_stored(services *s, http_request *r, const char *name, library_graph *b,
                          const commit_result *done, error *err)
{
    snapshot *n = stored_snapshot(s, r);
    const entry *e = snapshot_find(n, name);
    text body;
    json_writer w = json_to(&body, false);
    bool ok = true;

    text_init(&body);
    json_begin(&w, NULL, '{');
    if (e != NULL && e->kind == ENTRY_GRAPH) {
        add_entry(&w, e);
        ok = add_signature(&w, b, err);
    }
    json_end(&w, '}');
    text_add_char(&body, '\n');
    stored_answer_put(s, r, done, e, "graph", &body);
    snapshot_unref(n);
    return ok;
}

static bool put(services *s, http_request *r, const char *name, txn *x, library *l, error *err)
{
    const text *body = r->sink.state;
    library_graph *b = arena_alloc(r->arena, sizeof *b);
    commit_result done;

    return library_read(l, body->bytes, body->length, &b->says, err) &&
           library_build(l, name, b, err) && store(s, r, x, name, &done, err) &&
           answer_stored(s, r, name, b, &done, err);
}

bool graph_put(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    const text *body = r->sink.state;
    budget budget;
    durability d;
    library l;
    txn *x;
    bool ok;

    if (name == NULL || !stored_durability(r, &d, err))
        return false;
    if (body->length == 0)
        return error_set(err, ERR_LENGTH_REQUIRED, "The body is missing: a graph is expected.");
    budget_init(&budget, s->config->plan_bytes_max);
    x = stored_txn(s, r, d);
    library_init(&l, s, r->arena, x, false, &budget);
    ok = put(s, r, name, x, &l, err);
    library_clear(&l);
    txn_free(x);
    return ok;
}

/* ---- DELETE /v1/graphs/{name} ---------------------------------------------------------------- */

bool graph_delete(services *s, http_request *r, error *err)
{
    return stored_delete(s, r, ENTRY_GRAPH, err);
}

/* ---- GET /v1/graphs -----------------------------------------------------------------------------
 */

static void add_page(json_writer *w, const snapshot *n, const char *prefix, const entry **page,
                     size_t count, size_t limit)
{
    json_begin(w, NULL, '{');
    json_begin(w, "graphs", '[');
    for (size_t i = 0; i < count && i < limit; i++) {
        json_begin(w, NULL, '{');
        add_entry(w, page[i]);
        json_end(w, '}');
    }
    json_end(w, ']');
    json_int(w, "count", snapshot_count_prefix(n, ENTRY_GRAPH, prefix));
    json_string(w, "cursor", count > limit ? page[limit - 1]->name : NULL);
    json_int(w, "snapshot", snapshot_commit(n));
    json_end(w, '}');
}

bool graphs_list(services *s, http_request *r, error *err)
{
    const char *prefix = http_query(r, "prefix"), *after;
    const entry **page;
    snapshot *n;
    size_t limit = 0, count;
    text body;
    json_writer w = json_to(&body, false);

    prefix = prefix == NULL ? "" : prefix;
    after = stored_cursor(r, prefix, err);
    if (after == NULL || !stored_limit(r, &limit, err))
        return false;
    page = arena_array(r->arena, limit + 1, sizeof *page);
    n = stored_snapshot(s, r);
    count = snapshot_list(n, ENTRY_GRAPH, prefix, after, page, limit + 1);
    text_init(&body);
    add_page(&w, n, prefix, page, count, limit);
    text_add_char(&body, '\n');
    answer_text(r, 200, "application/json", &body);
    if (count > limit)
        stored_link_next(r, "/v1/graphs", prefix, limit, page[limit - 1]->name);
    snapshot_unref(n);
    return true;
}
