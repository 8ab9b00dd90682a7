/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/within.h"

#include <stdlib.h>
#include <string.h>

#include "storage/private.h"

struct within {
    char *words; /* all prefixes, each with a NUL */
    size_t count;
    const char *prefixes[];
};

static bool begins(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Leaves out those that begin with another; sorted, the shorter one comes before. */
static void drop_covered(within *w)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->count; i++)
        if (kept == 0 || !begins(w->prefixes[i], w->prefixes[kept - 1]))
            w->prefixes[kept++] = w->prefixes[i];
    w->count = kept;
}

within *within_new(const char *prefixes)
{
    size_t room = 1;
    within *w;

    for (const char *p = prefixes; *p != '\0'; p++)
        room += *p == ',';
    w = calloc(1, sizeof *w + room * sizeof *w->prefixes);
    if (w == NULL || (w->words = strdup(prefixes)) == NULL)
        abort();
    for (char *rest = w->words, *word; (word = strsep(&rest, ",")) != NULL;)
        if (*word != '\0')
            w->prefixes[w->count++] = word;
    qsort(w->prefixes, w->count, sizeof *w->prefixes, compare);
    drop_covered(w);
    return w;
}

void within_free(within *w)
{
    if (w != NULL)
        free(w->words);
    free(w);
}

bool within_has(const within *w, const char *name)
{
    if (w == NULL || name_is_hidden(name))
        return true;
    for (size_t i = 0; i < w->count; i++)
        if (begins(name, w->prefixes[i]))
            return true;
    return false;
}

/* The first prefix that comes after a name which none has; NULL if none does. */
static const char *next_prefix(const within *w, const char *name)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->prefixes[i], name) > 0)
            return w->prefixes[i];
    return NULL;
}

entry *within_after(const within *w, const names *n, const char *name, bool inclusive)
{
    entry *e = names_after(n, name, inclusive);

    while (e != NULL && !within_has(w, e->name)) {
        const char *next = next_prefix(w, e->name);

        e = next == NULL ? NULL : names_after(n, next, true);
    }
    return e;
}

int64_t within_count(const within *w, const names *n, const char *prefix, entry_kind kind)
{
    int64_t count = 0;

    for (size_t i = 0; i < w->count; i++) {
        const char *own = w->prefixes[i];

        if (begins(prefix, own))
            return names_count(n, prefix, kind);
        if (begins(own, prefix))
            count += names_count(n, own, kind);
    }
    return count;
}

void within_add(const within *w, text *to)
{
    for (size_t i = 0; i < w->count; i++)
        text_addf(to, "%s%s", i == 0 ? "" : ", ", w->prefixes[i]);
}
