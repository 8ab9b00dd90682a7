/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/variable_meta.h"

#include <inttypes.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "server/routes/answer.h"
#include "server/routes/bulk.h"
#include "server/routes/handlers.h"
#include "server/routes/stored.h"

/* ---- Members ----------------------------------------------------------------------------- */

static void add_shape(json_writer *w, const shape *s)
{
    json_begin(w, "shape", '[');
    for (int i = 0; i < s->rank; i++)
        json_int(w, NULL, s->length[i]);
    json_end(w, ']');
}

/* In bytes, as NumPy counts them. */
static void add_strides(json_writer *w, const entry *e, const shape *s, dtype t)
{
    int64_t strides[RANK_MAX];

    entry_strides(e, strides);
    json_begin(w, "strides", '[');
    for (int i = 0; i < s->rank; i++)
        json_int(w, NULL, strides[i] * (int64_t)dtype_size(t));
    json_end(w, ']');
}

static void add_array_interface(json_writer *w, const entry *e, const shape *s, dtype t)
{
    const char *typestr = dtype_info_of(t)->typestr;

    json_begin(w, "array_interface", '{');
    add_shape(w, s);
    json_string(w, "typestr", typestr);
    json_begin(w, "descr", '[');
    json_begin(w, NULL, '[');
    json_string(w, NULL, "");
    json_string(w, NULL, typestr);
    json_end(w, ']');
    json_end(w, ']');
    add_strides(w, e, s, t);
    json_int(w, "version", 3);
    json_end(w, '}');
}

static void add_place(json_writer *w, const entry *e)
{
    const attachment *a = entry_attachment(e);
    char file[ENTRY_FILE];

    entry_file(e, file);
    json_string(w, "storage",
                entry_is_volatile(e)            ? "memory"
                : entry_form(e) == FORM_CHUNKED ? "chunked"
                : entry_form(e) == FORM_MEMMAP  ? "memmap"
                                                : "inline");
    json_string(w, "file", a != NULL ? a->path : file[0] == '\0' ? NULL : file);
    if (a == NULL)
        return;
    json_begin(w, "attached", '{');
    json_string(w, "mode", a->read_only ? "r" : "c");
    json_int(w, "offset", a->offset);
    json_string(w, "order", a->fortran ? "F" : "C");
    json_end(w, '}');
}

static bool add_attributes(services *s, const entry *e, json_writer *w, error *err)
{
    buffer *text = entry_attributes(s->storage, e, err);

    if (text == NULL)
        return false;
    json_raw(w, "attributes", buffer_bytes(text));
    buffer_unref(text);
    return true;
}

bool variable_add_meta(services *s, const entry *e, bool with_attributes, json_writer *w,
                       error *err)
{
    const dtype t = entry_dtype(e);
    shape shape;
    bool ok;

    entry_shape(e, &shape);
    json_begin(w, NULL, '{');
    json_string(w, "name", e->name);
    json_string(w, "dtype", dtype_name(t));
    add_shape(w, &shape);
    add_strides(w, e, &shape, t);
    json_int(w, "nbytes", entry_nbytes(e));
    add_place(w, e);
    json_int(w, "version", e->version);
    json_int(w, "commit", e->commit);
    stored_add_time(w, "created", e->created_us);
    stored_add_time(w, "modified", e->modified_us);
    add_array_interface(w, e, &shape, t);
    ok = !with_attributes || add_attributes(s, e, w, err);
    json_end(w, '}');
    return ok;
}

bool variable_answer_stored(services *s, http_request *r, const char *name,
                            const commit_result *done, error *err)
{
    snapshot *n = stored_snapshot(s, r);
    const entry *e = snapshot_find(n, name);
    text body;
    json_writer w = json_to(&body, false);

    text_init(&body);
    if (e != NULL && e->kind == ENTRY_VARIABLE)
        variable_add_meta(s, e, false, &w, err);
    else /* somebody removed it since */
        json_raw(&w, NULL, "{}");
    text_add_char(&body, '\n');
    stored_answer_put(s, r, done, e, "json", &body);
    snapshot_unref(n);
    return !error_is_set(err);
}

/* ---- GET /v1/variables/{name}/meta --------------------------------------------------------- */

static bool answer_meta(services *s, http_request *r, const entry *e, error *err)
{
    text body;
    json_writer w = json_to(&body, false);

    text_init(&body);
    if (!variable_add_meta(s, e, true, &w, err)) {
        text_clear(&body);
        return false;
    }
    text_add_char(&body, '\n');
    answer_text(r, 200, "application/json", &body);
    stored_answer_etag(s, r, e, "meta");
    return true;
}

bool variable_meta(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    snapshot *n = name != NULL ? stored_snapshot(s, r) : NULL;
    const entry *e = n != NULL ? stored_find(n, ENTRY_VARIABLE, name, err) : NULL;
    const bool ok = e != NULL && answer_meta(s, r, e, err);

    snapshot_unref(n);
    return ok;
}

/* ---- GET /v1/variables/{name}/versions ------------------------------------------------------- */

static void add_version(json_writer *w, const entry *e)
{
    shape shape;

    entry_shape(e, &shape);
    json_begin(w, NULL, '{');
    json_int(w, "version", e->version);
    json_int(w, "commit", e->commit);
    stored_add_time(w, "modified", e->modified_us);
    json_string(w, "dtype", dtype_name(entry_dtype(e)));
    add_shape(w, &shape);
    json_int(w, "nbytes", entry_nbytes(e));
    json_end(w, '}');
}

/* The versions before one, the newest first; the present one comes first of all. */
static void answer_versions(http_request *r, const snapshot *n, const entry *e, int64_t before,
                            size_t limit)
{
    const entry **page = arena_array(r->arena, limit + 2, sizeof *page);
    size_t count = 0;
    text body;
    json_writer w = json_to(&body, false);

    if (before > e->version)
        page[count++] = e;
    count += snapshot_versions(n, e->name, before > e->version ? e->version : before, page + count,
                               limit + 1 - count);
    text_init(&body);
    json_begin(&w, NULL, '{');
    json_string(&w, "name", e->name);
    json_begin(&w, "versions", '[');
    for (size_t i = 0; i < count && i < limit; i++)
        add_version(&w, page[i]);
    json_end(&w, ']');
    if (count > limit)
        json_string(&w, "cursor", arena_format(r->arena, "%" PRId64, page[limit - 1]->version));
    else
        json_string(&w, "cursor", NULL);
    json_end(&w, '}');
    text_add_char(&body, '\n');
    answer_text(r, 200, "application/json", &body);
}

bool variable_versions(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    int64_t before = INT64_MAX;
    size_t limit;
    snapshot *n;
    const entry *e;

    if (name == NULL || !stored_limit(r, &limit, err))
        return false;
    if (!http_query_integer(r, "cursor", &before) || before < 1)
        return error_set(err, ERR_REQUEST, "cursor is the number of a version, not '%.40s'.",
                         http_query(r, "cursor"));
    n = stored_snapshot(s, r);
    e = stored_find(n, ENTRY_VARIABLE, name, err);
    if (e != NULL)
        answer_versions(r, n, e, before, limit);
    snapshot_unref(n);
    return e != NULL;
}

/* ---- GET /v1/variables ----------------------------------------------------------------------- */

static bool answer_page(services *s, http_request *r, const snapshot *n, size_t limit, error *err)
{
    const char *prefix = http_query(r, "prefix") == NULL ? "" : http_query(r, "prefix");
    const char *after = stored_cursor(r, prefix, err);
    const entry **page = arena_array(r->arena, limit + 1, sizeof *page);
    text body;
    json_writer w = json_to(&body, false);
    size_t count;

    if (after == NULL)
        return false;
    count = snapshot_list(n, ENTRY_VARIABLE, prefix, after, page, limit + 1);
    text_init(&body);
    json_begin(&w, NULL, '{');
    json_begin(&w, "variables", '[');
    for (size_t i = 0; i < count && i < limit; i++)
        variable_add_meta(s, page[i], false, &w, err);
    json_end(&w, ']');
    json_int(&w, "count", snapshot_count_prefix(n, ENTRY_VARIABLE, prefix));
    json_string(&w, "cursor", count > limit ? page[limit - 1]->name : NULL);
    json_int(&w, "snapshot", snapshot_commit(n));
    json_end(&w, '}');
    text_add_char(&body, '\n');
    answer_text(r, 200, "application/json", &body);
    if (count > limit)
        stored_link_next(r, "/v1/variables", prefix, limit, page[limit - 1]->name);
    return true;
}

bool variables_list(services *s, http_request *r, error *err)
{
    const char *names = http_query(r, "names");
    snapshot *n;
    size_t limit = 0;
    bool ok;

    if (names != NULL)
        return bulk_get(s, r, names, err);
    if (answer_format(r) != WIRE_JSON)
        return error_set(err, ERR_REQUEST, "Say which variables the file is to have: names=a,b.");
    if (!stored_limit(r, &limit, err))
        return false;
    n = stored_snapshot(s, r);
    ok = answer_page(s, r, n, limit, err);
    snapshot_unref(n);
    return ok;
}
