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

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "server/auth/tokens.h"

enum { EXIT_DAMAGED = 1, EXIT_IN_USE = 3 };

/* The directories of --attach-root, each also by the path that no link is in. */
static const char *find_roots(const config *c)
{
    text roots;
    const char *found;

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

static bool create_token(const config *c, text *out, error *err)
{
    const char *scopes = c->operands[2] == NULL ? "read,eval,write" : c->operands[2];
    const int64_t days = c->operands[3] == NULL ? 0 : strtoll(c->operands[3], NULL, 10);
    char token[SHA256_DIGITS + 1];

    if (days < 0 || days > 36500 || (c->operands[3] != NULL && days == 0))
        return error_set(err, ERR_VALUE, "a token lasts 1 to 36500 days, not '%s'", c->operands[3]);
    if (!tokens_create(c->data, c->operands[1], scopes, days, token, err))
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
                       "say what: tensord token create NAME [SCOPES [DAYS]], list or revoke NAME");
    fputs(out.bytes, stdout);
    text_clear(&out);
    return ok ? EXIT_SUCCESS : fail(&err);
}

int maintain(const config *c)
{
    error err = {0};
    storage *s;
    int code;

    umask(077);
    log_set_level(LOG_WARN);
    if (c->command == COMMAND_TOKEN)
        return change_tokens(c);
    if (c->command == COMMAND_RESTORE)
        return restore(c);
    if (access(c->data, F_OK) != 0) {
        error_set(&err, ERR_VALUE, "%s: %s", c->data, strerror(errno));
        return fail(&err);
    }
    s = maintain_open(c, &err);
    if (s == NULL)
        return fail(&err);
    code = do_with(s, c);
    storage_close(s);
    return code;
}
