/* SPDX-License-Identifier: Apache-2.0 */
/* The code of the rows' own texts: parsed once, then only read, until the process ends. */
#include <pthread.h>
#include <string.h>

#include "engine/base/table.h"
#include "engine/lang/code.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over what is below */
static arena *kept;
static table codes; /* by text */

/* Parses a text and keeps its code. The lock is held. */
static const code *parse(const char *text, error *err)
{
    code *c = arena_alloc(kept, sizeof *c);

    *c = (code){.arena = kept, .text = text};
    if (!code_parse(c, strlen(text), true, err))
        return NULL;
    table_put(&codes, text, c);
    return c;
}

const code *code_of_row(const char *text, error *err)
{
    const code *c;

    pthread_mutex_lock(&lock);
    if (kept == NULL) {
        kept = arena_new();
        table_init(&codes, kept);
    }
    c = table_get(&codes, text);
    if (c == NULL)
        c = parse(text, err);
    pthread_mutex_unlock(&lock);
    return c;
}
