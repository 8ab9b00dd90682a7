/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <zlib.h>

#include "server/http/private.h"

enum { INPUT_BYTES = 16384, GZIP_WINDOW = 15 + 16, QUICK = 1, USUAL = 6 };

typedef struct gzip {
    z_stream z;
    http_source plain;
    bool ended, failed; /* plain has ended; all is lost */
    char input[INPUT_BYTES];
} gzip;

/* Gets more input when there is none. */
static bool refill(gzip *g)
{
    ssize_t n;

    if (g->z.avail_in > 0 || g->ended)
        return true;
    n = g->plain.fill(g->plain.state, g->input, sizeof g->input);
    g->failed = n < 0;
    g->ended = n == 0;
    g->z.next_in = (unsigned char *)g->input;
    g->z.avail_in = n > 0 ? (unsigned)n : 0;
    return !g->failed;
}

static ssize_t gzip_fill(void *state, char *to, size_t room)
{
    gzip *g = state;
    int result = Z_OK;

    if (room > INPUT_BYTES)
        room = INPUT_BYTES;
    g->z.next_out = (unsigned char *)to;
    g->z.avail_out = (unsigned)room;
    while (g->z.avail_out > 0 && result == Z_OK) {
        if (g->failed || !refill(g))
            return -1;
        result = deflate(&g->z, g->ended ? Z_FINISH : Z_NO_FLUSH);
    }
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return -1;
    return (ssize_t)(room - g->z.avail_out);
}

static void gzip_close(void *state)
{
    gzip *g = state;

    deflateEnd(&g->z);
    if (g->plain.close != NULL)
        g->plain.close(g->plain.state);
    free(g);
}

http_source gzip_source(http_source plain, bool quick)
{
    gzip *g = calloc(1, sizeof *g);

    if (g == NULL || deflateInit2(&g->z, quick ? QUICK : USUAL, Z_DEFLATED, GZIP_WINDOW, 8,
                                  Z_DEFAULT_STRATEGY) != Z_OK) {
        free(g);
        return plain;
    }
    g->plain = plain;
    return (http_source){.state = g, .fill = gzip_fill, .close = gzip_close};
}

void gzip_text(text *t)
{
    z_stream z = {0};
    text packed;

    if (deflateInit2(&z, USUAL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    text_init(&packed);
    z.next_in = (unsigned char *)t->bytes;
    z.avail_in = (unsigned)t->length;
    z.avail_out = (unsigned)deflateBound(&z, t->length);
    z.next_out = (unsigned char *)text_reserve(&packed, z.avail_out);
    deflate(&z, Z_FINISH);
    packed.length = z.total_out;
    deflateEnd(&z);
    text_clear(t);
    *t = packed;
}
