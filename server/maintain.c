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
        return storage_backup(s, c->operand, &err) ? EXIT_SUCCESS : fail(&err);
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

    if (access(c->operand, R_OK) != 0) {
        error_set(&err, ERR_VALUE, "%s: %s", c->operand, strerror(errno));
        return fail(&err);
    }
    from.data = c->operand;
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
    s = maintain_open(c, &err);
    if (s == NULL)
        return fail(&err);
    code = do_with(s, c);
    storage_close(s);
    return code;
}
