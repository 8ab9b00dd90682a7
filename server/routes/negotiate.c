/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/routes/routes.h"

/* How well a media range fits a media type: 0 not at all, 1 by any type, 2 by the
 * same kind, 3 exactly. */
static int fit(const char *range, size_t n, const char *media)
{
    size_t kind = strcspn(media, "/") + 1;

    if (n == 3 && strncmp(range, "*/*", 3) == 0)
        return 1;
    if (n == kind + 1 && range[kind] == '*' && strncasecmp(range, media, kind) == 0)
        return 2;
    return n == strlen(media) && strncasecmp(range, media, n) == 0 ? 3 : 0;
}

/* The q of one element of an Accept header, 1 if it has none. */
static double quality(const char *element, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++) {
        if (element[i] != ';')
            continue;
        i += 1 + strspn(element + i + 1, " \t");
        if (i + 1 < n && (element[i] == 'q' || element[i] == 'Q') && element[i + 1] == '=')
            return strtod(element + i + 2, NULL);
        i--;
    }
    return 1;
}

/* How much an Accept header likes a media type: the q of its closest range. */
static double liking(const char *accept, const char *media)
{
    double q = 0;
    int closest = 0;

    for (const char *at = accept; *at != '\0';) {
        size_t n, length;
        int close;

        at += strspn(at, " \t,");
        n = strcspn(at, ",");
        length = strcspn(at, " \t;,");
        close = fit(at, length, media);
        if (close > closest) {
            closest = close;
            q = quality(at, n);
        }
        at += n;
    }
    return q;
}

const char *route_negotiate(arena *a, const char *accept, const char *offered)
{
    const char *best = NULL;
    double most = 0;

    for (const char *at = offered; *at != '\0';) {
        size_t n = strcspn(at, " ");
        const char *media = arena_copy(a, at, n);
        double q = accept == NULL || *accept == '\0' ? 1 : liking(accept, media);

        if (q > most) {
            most = q;
            best = media;
        }
        at += n;
        at += *at == ' ';
    }
    return best;
}
