/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/nearest.h"

#include "engine/base/text.h"

nearest nearest_to(const char *meant, int edits)
{
    return (nearest){.meant = meant, .least = edits + 1};
}

void nearest_offer(nearest *n, const char *word)
{
    const int distance = text_distance(n->meant, word, n->least);

    if (distance < n->least) {
        n->least = distance;
        n->word = word;
    }
}

void nearest_offer_keys(nearest *n, const table *t)
{
    for (size_t i = 0; i < t->count; i++)
        nearest_offer(n, t->entries[i].key);
}
