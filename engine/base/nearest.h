/* nearest -- the known word that an unknown one was probably meant to be.
 *
 * Words are offered one by one; the first of the nearest is kept, by Levenshtein's
 * distance (text_distance). Nothing is copied: all words outlive their nearest. */
#pragma once

#include "engine/base/table.h"

enum { NEAREST_EDITS = 2 }; /* as many are taken for a slip */

typedef struct nearest {
    const char *meant; /* the word looked for */
    const char *word;  /* the nearest so far; NULL if none was near */
    int least;         /* a word must be nearer than this */
} nearest;

/* Nothing found yet; words of at most `edits` edits will be near. */
nearest nearest_to(const char *meant, int edits);

void nearest_offer(nearest *n, const char *word);

/* Offers all keys of a table. */
void nearest_offer_keys(nearest *n, const table *t);
