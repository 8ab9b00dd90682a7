/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/repeat.h"
#include "server/routes/stored.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/name.h"
#include "engine/base/nearest.h"
#include "engine/base/number.h"

enum { NEAREST_NAMES_MAX = 20000, PAGE = 256, LIMIT_USUAL = 100, LIMIT_MAX = 1000 };

/* ---- What a caller sees ---------------------------------------------------------------------- */

snapshot *stored_snapshot(services *s, const http_request *r)
{
    const char *prefixes = route_caller(r)->prefixes;
    snapshot *all = storage_snapshot(s->storage), *part;

    if (prefixes[0] == '\0')
        return all;
    part = snapshot_within(all, prefixes);
    snapshot_unref(all);
    return part;
}

txn *stored_txn(services *s, const http_request *r, durability d)
{
    snapshot *base = stored_snapshot(s, r);
    txn *x = txn_new(s->storage, base, d);

    snapshot_unref(base);
    return x;
}

/* ---- Names ------------------------------------------------------------------------------- */

const char *stored_name(const http_request *r, error *err)
{
    const char *name = route_capture(r, "name");

    return name_normalise(r->arena, name, strlen(name), err);
}

const char *stored_nearest(const snapshot *n, entry_kind kind, const char *name, arena *a)
{
    const entry *page[PAGE];
    const char *after = "";
    nearest near = nearest_to(name, NEAREST_EDITS);
    size_t count = PAGE;

    for (int seen = 0; count == PAGE && seen < NEAREST_NAMES_MAX; seen += PAGE) {
        count = snapshot_list(n, kind, "", after, page, PAGE);
        for (size_t i = 0; i < count; i++) {
            after = page[i]->name;
            nearest_offer(&near, after);
        }
    }
    return near.word == NULL ? NULL : arena_copy(a, near.word, strlen(near.word));
}

const entry *stored_find(const snapshot *n, entry_kind kind, const char *name, error *err)
{
    const entry *e = snapshot_find(n, name);
    const char *near;
    arena *a;

    if (e != NULL && e->kind == kind)
        return e;
    a = arena_new();
    near = stored_nearest(n, kind, name, a);
    error_set(err, ERR_NOT_FOUND, "There is no %s '%s'.",
              kind == ENTRY_VARIABLE ? "variable" : "graph", name);
    error_suggest(err, near);
    arena_free(a);
    return NULL;
}

const entry *stored_find_to_change(const snapshot *n, entry_kind kind, const char *name, error *err)
{
    return snapshot_allows(n, name, err) ? stored_find(n, kind, name, err) : NULL;
}

const entry *stored_find_version(const http_request *r, const snapshot *n, const char *name,
                                 error *err)
{
    const entry *e = stored_find(n, ENTRY_VARIABLE, name, err);
    const char *said = http_query(r, "version");
    int64_t version = 0;

    if (e == NULL || said == NULL)
        return e;
    if (!http_query_integer(r, "version", &version) || version < 1) {
        error_set(err, ERR_REQUEST, "version is a number from 1 on, not '%.40s'.", said);
        return NULL;
    }
    e = snapshot_find_version(n, name, version);
    if (e == NULL)
        error_set(err, ERR_NOT_FOUND,
                  "There is no version %" PRId64 " of '%s'; /v1/variables/%s/versions lists those "
                  "that are kept (--history).",
                  version, name, name);
    return e;
}

static const char *const words[] = {
    [DURABILITY_DISK] = "disk", [DURABILITY_PROCESS] = "process", [DURABILITY_MEMORY] = "memory"};

const char *stored_durability_name(durability d)
{
    return words[d];
}

bool stored_durability(const http_request *r, durability *result, error *err)
{
    const char *word = http_query(r, "durability");

    *result = DURABILITY_DISK;
    for (int i = 0; word != NULL && i < 3; i++) {
        if (strcmp(words[i], word) == 0) {
            *result = (durability)i;
            return true;
        }
    }
    return word == NULL ||
           error_set(err, ERR_REQUEST, "durability is disk, process or memory, not '%.40s'.", word);
}

/* ---- Pages
 * ---------------------------------------------------------------------------------------- */

bool stored_limit(const http_request *r, size_t *limit, error *err)
{
    int64_t n = LIMIT_USUAL;

    if (!http_query_integer(r, "limit", &n) || n < 1 || n > LIMIT_MAX)
        return error_set(err, ERR_REQUEST, "limit is 1 to %d, not '%.40s'.", LIMIT_MAX,
                         http_query(r, "limit"));
    *limit = (size_t)n;
    return true;
}

const char *stored_cursor(const http_request *r, const char *prefix, error *err)
{
    const char *said = http_query(r, "cursor"), *name;
    error none = {0};

    if (said == NULL)
        return "";
    name = name_normalise(r->arena, said, strlen(said), &none);
    if (name != NULL && strcmp(name, said) == 0 && strncmp(said, prefix, strlen(prefix)) == 0)
        return said;
    error_set(err, ERR_REQUEST, "cursor is what the page before said, not '%.40s'.", said);
    return NULL;
}

/* Adds a word to an address, with what is special in addresses escaped. */
static void add_escaped(text *to, const char *word)
{
    for (; *word != '\0'; word++) {
        if (isalnum((unsigned char)*word) || *word == '_')
            text_add_char(to, *word);
        else
            text_addf(to, "%%%02X", (unsigned char)*word);
    }
}

void stored_link_next(http_request *r, const char *path, const char *prefix, size_t limit,
                      const char *cursor)
{
    text link;

    text_init(&link);
    text_addf(&link, "<%s?limit=%zu&cursor=", path, limit);
    add_escaped(&link, cursor);
    if (prefix[0] != '\0') {
        text_add(&link, "&prefix=");
        add_escaped(&link, prefix);
    }
    text_add(&link, ">; rel=\"next\"");
    answer_header(r, "Link", link.bytes);
    text_clear(&link);
}

void stored_add_time(json_writer *w, const char *key, int64_t date_us)
{
    text t;

    text_init(&t);
    clock_add_date_of(&t, date_us);
    json_string(w, key, t.bytes);
    text_clear(&t);
}

/* ---- Headers of answers -----------------------------------------------------------------------
 */

void stored_answer_etag(services *s, http_request *r, const entry *e, const char *form)
{
    char tag[ENTRY_ETAG];

    storage_etag(s->storage, e->commit, tag);
    answer_header(r, "ETag", arena_format(r->arena, "\"%s.%s\"", tag, form));
}

void stored_answer_number(http_request *r, const char *header, int64_t number)
{
    char text[NUMBER_TEXT_MAX + 1];

    *number_print_i64(text, number) = '\0';
    answer_header(r, header, text);
}

/* ---- Conditions ---------------------------------------------------------------------------------
 */

/* Whether the quoted tag is that of the entry; form NULL: in any form. */
static bool tag_is(services *s, const char *tag, size_t n, const entry *e, const char *form)
{
    const char *dot = memchr(tag, '.', n);
    const size_t rest = dot == NULL ? 0 : n - (size_t)(dot + 1 - tag);

    if (storage_etag_commit(s->storage, tag, n) != e->commit)
        return false;
    return form == NULL ||
           (dot != NULL && rest >= strlen(form) && memcmp(dot + 1, form, strlen(form)) == 0 &&
            (rest == strlen(form) || dot[1 + strlen(form)] == '-')); /* -gzip */
}

/* Whether a list of entity tags names the entry, which may be NULL (only * fails). */
static bool list_has(services *s, const char *list, const entry *e, const char *form)
{
    if (e == NULL)
        return false;
    if (list[strspn(list, " \t")] == '*')
        return true;
    for (const char *at = strchr(list, '"'); at != NULL; at = strchr(at, '"')) {
        const size_t n = strcspn(at + 1, "\"");

        if (tag_is(s, at + 1, n, e, form))
            return true;
        at += 1 + n + (at[1 + n] != '\0');
    }
    return false;
}

bool stored_answer_kept(http_request *r, buffer *kept)
{
    text body;

    if (kept == NULL)
        return false;
    text_init(&body);
    text_addf(&body, "%s\n", (const char *)buffer_bytes(kept));
    buffer_unref(kept);
    answer_text(r, 200, "application/json", &body);
    return true;
}

void stored_answer_put(services *s, http_request *r, const commit_result *done, const entry *e,
                       const char *form, text *body)
{
    /* what was put, whichever route puts it: /v1/KIND/NAME */
    const char *behind = strchr(strchr(r->path + strlen("/v1/"), '/') + 1, '/');
    const char *location =
        behind == NULL ? r->path : arena_copy(r->arena, r->path, (size_t)(behind - r->path));

    answer_text(r, done->names[0].created ? 201 : 200, "application/json", body);
    if (done->names[0].created)
        answer_header(r, "Location", location);
    if (e != NULL && e->commit == done->commit)
        stored_answer_etag(s, r, e, form);
}

bool stored_matches(services *s, const http_request *r, const entry *e, error *err)
{
    const char *match = http_header(r, "If-Match");

    return match == NULL || list_has(s, match, e, NULL) ||
           error_set(err, ERR_PRECONDITION, "If-Match: '%s' has another state.", e->name);
}

bool stored_range_holds(services *s, const http_request *r, const entry *e, const char *form)
{
    const char *known = http_header(r, "If-Range");

    return known == NULL || (*known == '"' && list_has(s, known, e, form));
}

bool stored_is_known(services *s, const http_request *r, const entry *e, const char *form)
{
    const char *list = http_header(r, "If-None-Match");

    return list != NULL && list_has(s, list, e, form);
}

bool stored_expect(services *s, const http_request *r, txn *x, const char *name, error *err)
{
    const char *match = http_header(r, "If-Match"), *none = http_header(r, "If-None-Match");
    const entry *e = snapshot_find(txn_base(x), name);
    const int64_t commit = e == NULL ? EXPECT_ABSENT : e->commit;
    const char *folder = strrchr(name, '/'); /* of what is hidden */
    const char *shown = folder == NULL ? name : folder + 1;

    if (!snapshot_allows(txn_base(x), name, err))
        return false;
    if (match != NULL && !list_has(s, match, e, NULL))
        return error_set(
            err, ERR_PRECONDITION,
            e == NULL ? "If-Match: there is no '%s'." : "If-Match: '%s' has another state.", shown);
    if (none != NULL && list_has(s, none, e, NULL))
        return error_set(err, ERR_PRECONDITION, "If-None-Match: '%s' exists.", shown);
    if (match != NULL || none != NULL)
        txn_expect(x, name, commit, ERR_PRECONDITION);
    return true;
}

bool stored_commit_delete(http_request *r, txn *x, const char *name, error *err)
{
    commit_result done;

    txn_delete(x, name);
    if (!repeat_commit(r, x, &done, err))
        return false;
    answer_empty(r, 204);
    return true;
}

bool stored_delete(services *s, http_request *r, entry_kind kind, error *err)
{
    const char *name = stored_name(r, err);
    durability d;
    txn *x;
    bool ok;

    if (name == NULL || !stored_durability(r, &d, err))
        return false;
    x = stored_txn(s, r, d);
    ok = stored_find_to_change(txn_base(x), kind, name, err) != NULL &&
         stored_expect(s, r, x, name, err);
    ok = ok && stored_commit_delete(r, x, name, err);
    txn_free(x);
    return ok;
}

void stored_add_committed(json_writer *w, const commit_result *done)
{
    json_begin(w, "stored", '{');
    for (size_t i = 0; i < done->count; i++) {
        if (done->names[i].deleted || done->names[i].hidden)
            continue;
        json_begin(w, done->names[i].name, '{');
        json_int(w, "version", done->names[i].version);
        json_end(w, '}');
    }
    json_end(w, '}');
}
