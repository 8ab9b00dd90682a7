/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/http/gate.h"
#include "tests/fuzz/targets.h"

/* The next piece of text up to a byte; NULL at the end. */
static char *cut(char **rest, char at)
{
    char *piece = *rest, *end;

    if (piece == NULL)
        return NULL;
    end = strchr(piece, at);
    *rest = end == NULL ? NULL : end + 1;
    if (end != NULL)
        *end = '\0';
    return piece;
}

/* How often a header is there, in any case. */
static int count(const http_pairs *pairs, const char *name)
{
    int n = 0;

    for (size_t i = 0; i < pairs->count; i++)
        n += strcasecmp(pairs->items[i].name, name) == 0;
    return n;
}

void target_gate(const uint8_t *bytes, size_t n)
{
    arena *a = arena_new();
    char *rest = arena_copy(a, (const char *)bytes, n);
    const char *method = cut(&rest, ' '), *version = cut(&rest, '\n');
    http_pairs headers = {0};
    int64_t length = -2;
    error err = {0};

    for (char *line; (line = cut(&rest, '\n')) != NULL;) {
        const char *name = cut(&line, ':');

        http_pairs_add(&headers, a, name, line == NULL ? "" : line + strspn(line, " "));
    }
    const gate_input in = {.method = method,
                           .version = version == NULL ? "" : version,
                           .headers = &headers,
                           .headers_max = 20};

    if (gate_check(&in, &length, &err))
        target_check(length >= -1 && count(&headers, "Host") == 1 &&
                         count(&headers, "Content-Length") + count(&headers, "Transfer-Encoding") <=
                             1,
                     "what passes says once where it ends");
    arena_free(a);
}
