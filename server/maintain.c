/* SPDX-License-Identifier: Apache-2.0 */
#include "server/maintain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "server/auth/tokens.h"

enum { EXIT_DAMAGED = 1, EXIT_IN_USE = 3 };

/* The directories of --attach-root, each also by the path that no link is in. Commands only look
 * at what was attached before, wherever it is. */
static const char *find_roots(const config *c)
{
    text roots;
    const char *found;

    if (c->command != COMMAND_SERVE && c->attach_root[0] == '\0')
        return "/";
    text_init(&roots);
    text_add(&roots, c->attach_root);
    for (const char *at = c->attach_root; *at != '\0';) {
        const size_t n = strcspn(at, ",");
        char *real = realpath(arena_copy(c->arena, at, n), NULL);

        if (real != NULL)
            text_addf(&roots, ",%s", real);
        else
            log_message(LOG_WARN, "attach-root: %.*s cannot be found", (int)n, at);
        free(real);
        at += n + (at[n] == ',');
    }
    found = text_copy(&roots, c->arena);
    text_clear(&roots);
    return found;
}

storage *maintain_open(const config *c, error *err)
{
    storage_options options = storage_options_default(c->data);

    options.names_max = c->variables_max;
    options.free_bytes_min = c->free_bytes_min;
    options.attach_roots = find_roots(c);
    options.history = c->history;
    if (c->data_bytes_max < options.bytes_max)
        options.bytes_max = c->data_bytes_max;
    return storage_open(&options, err);
}

static int fail(const error *err)
{
    fprintf(stderr, "tensord: %s\n", err->detail);
    return err->kind == ERR_CONFLICT ? EXIT_IN_USE : EXIT_FAILURE;
}

/* ---- Commands ------------------------------------------------------------------------- */

static void tell(void *context, const char *name, const error *why)
{
    (void)context;
    printf("damaged: %s: %s\n", name, why->detail);
}

static int check(storage *s)
{
    storage_findings found;
    error err = {0};

    if (!storage_check(s, tell, NULL, &found, &err))
        return fail(&err);
    printf("%" PRId64 " names, %" PRId64 " bytes, %" PRId64 " damaged\n", found.names, found.bytes,
           found.damaged);
    return found.damaged > 0 ? EXIT_DAMAGED : EXIT_SUCCESS;
}

static int do_with(storage *s, const config *c)
{
    error err = {0};

    switch (c->command) {
    case COMMAND_BACKUP:
        return storage_backup(s, c->operands[0], &err) ? EXIT_SUCCESS : fail(&err);
    case COMMAND_COMPACT:
        return storage_compact(s, &err) ? EXIT_SUCCESS : fail(&err);
    default:
        return check(s);
    }
}

/* Opens the copy where it lies and backs it up to where the data are to be. */
static int restore(const config *c)
{
    config from = *c;
    error err = {0};
    storage *s;
    int code;

    if (access(c->operands[0], R_OK) != 0) {
        error_set(&err, ERR_VALUE, "%s: %s", c->operands[0], strerror(errno));
        return fail(&err);
    }
    from.data = c->operands[0];
    s = maintain_open(&from, &err);
    if (s == NULL)
        return fail(&err);
    code = storage_backup(s, c->data, &err) ? EXIT_SUCCESS : fail(&err);
    storage_close(s);
    if (code != EXIT_SUCCESS)
        return code;
    s = maintain_open(c, &err);
    if (s == NULL)
        return fail(&err);
    code = check(s);
    storage_close(s);
    return code;
}

/* ---- Tokens --------------------------------------------------------------------------- */

/* When a token ends that lasts as long as said: 30d, 12h. */
static bool read_end(const char *said, int64_t *end_us, error *err)
{
    enum { HOURS_MAX = 36500 * 24 };
    char *unit;
    int64_t hours;

    *end_us = 0;
    if (said == NULL)
        return true;
    hours = strtoll(said, &unit, 10);
    if (hours > 0 && hours <= HOURS_MAX && strcmp(unit, "d") == 0)
        hours *= 24;
    else if (strcmp(unit, "h") != 0)
        hours = 0;
    if (hours <= 0 || hours > HOURS_MAX)
        return error_set(err, ERR_VALUE,
                         "a token lasts some days or hours, like 30d or 12h, not '%s'", said);
    *end_us = clock_date_us() + hours * 3600 * 1000000;
    return true;
}

static bool create_token(const config *c, text *out, error *err)
{
    token_wanted wanted = {
        .name = c->operands[1],
        .scopes = c->operands[2] == NULL ? "read,eval,write" : c->operands[2],
        .prefixes = c->prefixes == NULL ? "" : c->prefixes,
    };
    char token[SHA256_DIGITS + 1];

    if (!read_end(c->expires, &wanted.expires_us, err) ||
        !tokens_create(c->data, &wanted, token, err))
        return false;
    text_addf(out, "%s\n", token);
    return true;
}

/* Works beside a server that runs. */
static int change_tokens(const config *c)
{
    const char *what = c->operands[0], *name = c->operands[1];
    error err = {0};
    text out;
    bool ok;

    text_init(&out);
    text_add(&out, "");
    if (strcmp(what, "list") == 0)
        ok = tokens_add_list(c->data, &out, &err);
    else if (strcmp(what, "create") == 0 && name != NULL)
        ok = create_token(c, &out, &err);
    else if (strcmp(what, "revoke") == 0 && name != NULL)
        ok = tokens_revoke(c->data, name, &err);
    else
        ok = error_set(&err, ERR_VALUE,
                       "say what: tensord token create NAME [SCOPES], list or revoke NAME");
    fputs(out.bytes, stdout);
    text_clear(&out);
    return ok ? EXIT_SUCCESS : fail(&err);
}

/* ---- Logging in ------------------------------------------------------------------------ */

static const char *url_file(const config *c)
{
    return arena_format(c->arena, "%s/url", c->data);
}

bool maintain_note_url(const config *c, const char *url, error *err)
{
    const char *path = url_file(c);
    FILE *file = fopen(path, "we");
    const bool ok = file != NULL && fprintf(file, "%s\n", url) > 0;

    return (file != NULL && fclose(file) == 0 && ok) ||
           error_set(err, ERR_VALUE, "%s: %s", path, strerror(errno));
}

/* Prints a link for the server that runs. */
static int print_link(const config *c)
{
    char url[256] = "";
    FILE *file = fopen(url_file(c), "re");
    error err = {0};
    text link;

    if (file == NULL || fscanf(file, "%255s", url) != 1 || strncmp(url, "http", 4) != 0)
        error_set(&err, ERR_VALUE, "%s: no server for browsers was started here; see --data",
                  c->data);
    else if (!storage_is_in_use(c->data))
        error_set(&err, ERR_VALUE,
                  "%s: no server runs here, so no link would lead to one; start it: tensord serve",
                  c->data);
    if (file != NULL)
        fclose(file);
    text_init(&link);
    if (!error_is_set(&err) && auth_add_link(c->data, url, &link, &err))
        printf("%s\n", link.bytes);
    text_clear(&link);
    return error_is_set(&err) ? fail(&err) : EXIT_SUCCESS;
}

int maintain(const config *c)
{
    error err = {0};
    storage *s;
    int code;

    umask(077);
    log_set_level(LOG_WARN);
    if (c->command == COMMAND_RESTORE)
        return restore(c);
    if (access(c->data, F_OK) != 0) {
        error_set(&err, ERR_VALUE, "%s: %s", c->data, strerror(errno));
        return fail(&err);
    }
    if (c->command == COMMAND_TOKEN)
        return change_tokens(c);
    if (c->command == COMMAND_LOGIN)
        return print_link(c);
    s = maintain_open(c, &err);
    if (s == NULL)
        return fail(&err);
    code = do_with(s, c);
    storage_close(s);
    return code;
}
