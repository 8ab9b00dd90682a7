/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/tokens.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/name.h"
#include "server/auth/token.h"

/* ---- Scopes ------------------------------------------------------------------------------ */

static const char *const scope_words[] = {
#define SCOPE(id, word, doc) word,
#include "server/auth/scopes.def"
#undef SCOPE
};
enum { SCOPES = sizeof scope_words / sizeof *scope_words };

void auth_add_scopes(unsigned scopes, text *to)
{
    const char *between = "";

    for (int i = 0; i < SCOPES; i++) {
        if ((scopes >> i & 1) == 0)
            continue;
        text_addf(to, "%s%s", between, scope_words[i]);
        between = ",";
    }
}

static bool read_scopes(const char *said, unsigned *scopes, error *err)
{
    *scopes = 0;
    for (const char *at = said; *at != '\0';) {
        const size_t n = strcspn(at, ",");
        int i = 0;

        while (i < SCOPES && (strlen(scope_words[i]) != n || strncmp(scope_words[i], at, n) != 0))
            i++;
        if (i == SCOPES)
            return error_set(err, ERR_VALUE,
                             "'%.*s' is no scope; there are read, eval, write, admin", (int)n, at);
        *scopes |= 1U << i;
        at += n + (at[n] == ',');
    }
    return *scopes != 0 || error_set(err, ERR_VALUE, "a token has at least one scope");
}

/* ---- The file ------------------------------------------------------------------------------ */

static bool path_of(const char *data, char path[PATH_MAX], error *err)
{
    return snprintf(path, PATH_MAX, "%s/tokens", data) < PATH_MAX ||
           error_set(err, ERR_VALUE, "%s: the path is too long", data);
}

static bool read_line(const char *line, token_row *row)
{
    char scopes[64], hex[SHA256_DIGITS + 1];
    error ignored = {0};

    *row = (token_row){0};
    return sscanf(line, "%16s %63s %" SCNd64 " %64s %64s %255s", row->caller.id, scopes,
                  &row->expires_us, hex, row->name, row->caller.prefixes) >= 5 &&
           sha256_read(hex, row->digest) && read_scopes(scopes, &row->caller.scopes, &ignored);
}

bool tokens_read(const char *data, token_list *list, error *err)
{
    char path[PATH_MAX], line[1024];
    FILE *file;
    bool ok = true;

    *list = (token_list){0};
    if (!path_of(data, path, err))
        return false;
    file = fopen(path, "re");
    if (file == NULL)
        return errno == ENOENT || error_set(err, ERR_VALUE, "%s: %s", path, strerror(errno));
    while (ok && fgets(line, sizeof line, file) != NULL) {
        list->rows = realloc(list->rows, (list->count + 1) * sizeof *list->rows);
        if (list->rows == NULL)
            abort();
        ok = read_line(line, &list->rows[list->count++]) ||
             error_set(err, ERR_VALUE, "%s: line %zu is no token", path, list->count);
    }
    fclose(file);
    if (!ok)
        tokens_clear(list);
    return ok;
}

void tokens_clear(token_list *list)
{
    free(list->rows);
    *list = (token_list){0};
}

static bool write_list(const char *data, const token_list *list, error *err)
{
    char path[PATH_MAX], hex[SHA256_DIGITS + 1];
    text t;
    bool ok;

    if (!path_of(data, path, err))
        return false;
    text_init(&t);
    text_add(&t, "");
    for (size_t i = 0; i < list->count; i++) {
        const token_row *row = &list->rows[i];

        sha256_hex(row->digest, hex);
        text_addf(&t, "%s ", row->caller.id);
        auth_add_scopes(row->caller.scopes, &t);
        text_addf(&t, " %" PRId64 " %s %s%s%s\n", row->expires_us, hex, row->name,
                  row->caller.prefixes[0] == '\0' ? "" : " ", row->caller.prefixes);
    }
    ok = token_write_file(path, t.bytes, err);
    text_clear(&t);
    return ok;
}

/* ---- Finding ----------------------------------------------------------------------------------
 */

/* The row, unless it has expired. */
static const token_row *unless_expired(const token_row *row)
{
    return row != NULL && row->expires_us != 0 && clock_date_us() > row->expires_us ? NULL : row;
}

const token_row *tokens_find(const token_list *list, const uint8_t digest[SHA256_BYTES])
{
    const token_row *found = NULL;

    for (size_t i = 0; i < list->count; i++)
        if (digest_equal(list->rows[i].digest, digest))
            found = &list->rows[i];
    return unless_expired(found);
}

const token_row *tokens_find_id(const token_list *list, const char *id)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->rows[i].caller.id, id) == 0)
            return unless_expired(&list->rows[i]);
    return NULL;
}

/* The place of a name or id in the list; count if it is not there. */
static size_t place_of(const token_list *list, const char *name)
{
    size_t i = 0;

    while (i < list->count && strcmp(list->rows[i].name, name) != 0 &&
           strcmp(list->rows[i].caller.id, name) != 0)
        i++;
    return i;
}

/* ---- Changing ----------------------------------------------------------------------------------
 */

static bool check_name(const token_list *list, const char *name, error *err)
{
    const size_t n = strlen(name);

    if (n == 0 || n > TOKEN_NAME_BYTES || strpbrk(name, " \t\r\n") != NULL)
        return error_set(err, ERR_VALUE, "a token's name has 1 to %d bytes and no blanks",
                         TOKEN_NAME_BYTES);
    return place_of(list, name) == list->count ||
           error_set(err, ERR_VALUE, "there is a token '%s'; revoke it first", name);
}

/* Takes prefixes with commas between, each of which must be the beginning of names. */
static bool read_prefixes(const char *said, caller *to, error *err)
{
    arena *a = arena_new();
    bool ok = strlen(said) <= PREFIXES_BYTES ||
              error_set(err, ERR_VALUE, "the prefixes have more than %d bytes", PREFIXES_BYTES);

    for (const char *at = said; ok && *at != '\0';) {
        const size_t n = strcspn(at, ",");
        const char *name = name_normalise(a, at, n, err);

        ok = name != NULL &&
             (strncmp(name, at, n) == 0 ||
              error_set(err, ERR_VALUE, "write the prefix '%s' in normal form C", name));
        at += n + (at[n] == ',');
    }
    if (ok)
        strcpy(to->prefixes, said);
    arena_free(a);
    return ok;
}

bool tokens_create(const char *data, const token_wanted *wanted, char token[SHA256_DIGITS + 1],
                   error *err)
{
    token_row row = {.expires_us = wanted->expires_us};
    token_list list;
    bool ok;

    if (!tokens_read(data, &list, err))
        return false;
    ok = check_name(&list, wanted->name, err) &&
         read_scopes(wanted->scopes, &row.caller.scopes, err) &&
         read_prefixes(wanted->prefixes, &row.caller, err);
    if (ok) {
        random_hex(token, SHA256_DIGITS / 2);
        random_hex(row.caller.id, 4);
        sha256(token, SHA256_DIGITS, row.digest);
        strcpy(row.name, wanted->name);
        list.rows = realloc(list.rows, (list.count + 1) * sizeof *list.rows);
        if (list.rows == NULL)
            abort();
        list.rows[list.count++] = row;
        ok = write_list(data, &list, err);
    }
    tokens_clear(&list);
    return ok;
}

bool tokens_revoke(const char *data, const char *name, error *err)
{
    token_list list;
    size_t at;
    bool ok;

    if (!tokens_read(data, &list, err))
        return false;
    at = place_of(&list, name);
    ok = at < list.count || error_set(err, ERR_VALUE, "there is no token '%s'", name);
    if (ok) {
        list.rows[at] = list.rows[--list.count];
        ok = write_list(data, &list, err);
    }
    tokens_clear(&list);
    return ok;
}

bool tokens_add_list(const char *data, text *to, error *err)
{
    token_list list;

    if (!tokens_read(data, &list, err))
        return false;
    for (size_t i = 0; i < list.count; i++) {
        const token_row *row = &list.rows[i];

        text_addf(to, "%s  %-20s ", row->caller.id, row->name);
        auth_add_scopes(row->caller.scopes, to);
        if (row->caller.prefixes[0] != '\0')
            text_addf(to, "  names %s", row->caller.prefixes);
        text_add(to, row->expires_us == 0 ? "" : "  expires ");
        if (row->expires_us != 0)
            clock_add_date_of(to, row->expires_us);
        text_add_char(to, '\n');
    }
    tokens_clear(&list);
    return true;
}
