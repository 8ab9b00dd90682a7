/* SPDX-License-Identifier: Apache-2.0 */
/* A stored graph as it was put, and as text and pictures. */
#include <string.h>

#include "server/routes/handlers.h"
#include "server/routes/library.h"
#include "server/routes/stored.h"

bool graph_get(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    snapshot *n = name != NULL ? storage_snapshot(s->storage) : NULL;
    const entry *e = n != NULL ? stored_find(n, ENTRY_GRAPH, name, err) : NULL;
    buffer *b = e ? entry_text(s->storage, e, err) : NULL;
    text body;

    if (b) {
        text_init(&body);
        text_add(&body, buffer_bytes(b));
        buffer_unref(b);
        text_add_char(&body, '\n');
        answer_text(r, 200, "application/json", &body);
        stored_answer_etag(s, r, e, "graph");
    }
    snapshot_unref(n);
    return b != NULL;
}
