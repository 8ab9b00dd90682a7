/* SPDX-License-Identifier: Apache-2.0 */
/* Index keys as text: 1:3, ..., None, $1. */
#include <inttypes.h>

#include "engine/ops/op.h"

static void write_slice(const index_item *item, text *t)
{
    if (item->has_start)
        text_addf(t, "%" PRId64, item->start);
    text_add_char(t, ':');
    if (item->has_stop)
        text_addf(t, "%" PRId64, item->stop);
    if (item->has_step)
        text_addf(t, ":%" PRId64, item->step);
}

static void write_item(const index_item *item, const char *const *names, text *t)
{
    switch (item->kind) {
    case INDEX_INTEGER:
        text_addf(t, "%" PRId64, item->start);
        break;
    case INDEX_SLICE:
        write_slice(item, t);
        break;
    case INDEX_ELLIPSIS:
        text_add(t, "...");
        break;
    case INDEX_NEWAXIS:
        text_add(t, "None");
        break;
    case INDEX_TENSOR:
        if (names != NULL)
            text_add(t, names[item->operand]);
        else
            text_addf(t, "$%d", item->operand);
        break;
    }
}

void op_key_write(const attr *key, const char *const *names, text *t)
{
    for (int i = 0; i < key->n; i++) {
        text_add(t, i > 0 ? ", " : "");
        write_item(&key->index[i], names, t);
    }
}
