/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/stored.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/name.h"

enum { NEAREST_NAMES_MAX = 20000, PAGE = 256 };

/* ---- Names ------------------------------------------------------------------------------- */

const char *stored_name(const http_request *r, error *err)
{
    const char *name = route_capture(r, "name");

    return name_normalise(r->arena, name, strlen(name), err);
}

const char *stored_nearest(const snapshot *n, const char *name, arena *a)
{
    const entry *page[PAGE];
    const char *after = "", *best = NULL;
    int least = 3;
    size_t count = PAGE;

    for (int seen = 0; count == PAGE && seen < NEAREST_NAMES_MAX; seen += PAGE) {
        count = snapshot_list(n, ENTRY_VARIABLE, "", after, page, PAGE);
        for (size_t i = 0; i < count; i++) {
            const int distance = text_distance(name, page[i]->name, least);

            after = page[i]->name;
            if (distance >= least)
                continue;
            least = distance;
            best = page[i]->name;
        }
    }
    return best == NULL ? NULL : arena_copy(a, best, strlen(best));
}

const entry *stored_find(const snapshot *n, const char *name, error *err)
{
    const entry *e = snapshot_find(n, name);
    const char *near;
    arena *a;

    if (e != NULL && e->kind == ENTRY_VARIABLE)
        return e;
    a = arena_new();
    near = stored_nearest(n, name, a);
    error_set(err, ERR_NOT_FOUND, "There is no variable '%s'.", name);
    error_suggest(err, near);
    arena_free(a);
    return NULL;
}

bool stored_durability(const http_request *r, durability *result, error *err)
{
    static const char *const words[] = {[DURABILITY_DISK] = "disk",
                                        [DURABILITY_PROCESS] = "process",
                                        [DURABILITY_MEMORY] = "memory"};
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
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, number);
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

    if (match != NULL && !list_has(s, match, e, NULL))
        return error_set(
            err, ERR_PRECONDITION,
            e == NULL ? "If-Match: there is no '%s'." : "If-Match: '%s' has another state.", name);
    if (none != NULL && list_has(s, none, e, NULL))
        return error_set(err, ERR_PRECONDITION, "If-None-Match: '%s' exists.", name);
    if (match != NULL || none != NULL)
        txn_expect(x, name, commit, ERR_PRECONDITION);
    return true;
}
