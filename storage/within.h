/* within -- the names that begin with one of a few prefixes.
 *
 * What a snapshot is limited to (snapshot_within). The prefixes are sorted, and none begins with
 * another, so that a name is in at most one of them. Names of the server's own are in every set:
 * no caller can say one. */
#pragma once

#include "storage/names.h"

typedef struct within within;

/* The set of prefixes with commas between, to be freed. */
within *within_new(const char *prefixes);
void within_free(within *w);

/* Whether it has a name. NULL has all. */
bool within_has(const within *w, const char *name);

/* The first entry after a name (or at it, if inclusive) that is in the set; NULL at the end. */
entry *within_after(const within *w, const names *n, const char *name, bool inclusive);

/* How many entries of a kind are in the set and begin with prefix. */
int64_t within_count(const within *w, const names *n, const char *prefix, entry_kind kind);

/* Adds the prefixes as a sentence has them: exp_, lab_. */
void within_add(const within *w, text *to);
