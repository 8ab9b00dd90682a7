/* names -- an immutable ordered map from names to entries.
 *
 * A treap whose nodes are shared by counting references: changing a map copies
 * the nodes on the path to the change, about 1.4 log2 n of them, and shares the
 * rest with the map it came from. A node's priority is the seeded hash of its
 * name, so the shape of the tree depends on nothing that a client can choose.
 *
 * The functions that change a map take over the caller's reference to it and
 * return another. A node with no other holder is changed where it is, so that
 * building a map from nothing copies nothing.
 *
 * The empty map is NULL. Threads: any number may read one and count references. */
#pragma once

#include "storage/storage.h"

typedef struct names names;

names *names_ref(names *n);
void names_unref(names *n);

/* The entry of a name, NULL if there is none. */
entry *names_find(const names *n, const char *name);

/* The first entry after a name (or at it, if inclusive); NULL at the end. */
entry *names_after(const names *n, const char *name, bool inclusive);

/* How many entries of a kind have names that begin with prefix. Takes time for each. */
int64_t names_count(const names *n, const char *prefix, entry_kind kind);

/* The map with e, whose reference it takes over, in place of what had the name. */
names *names_put_take(names *n, entry *e);

/* The map without the name, which must be in it. */
names *names_remove_take(names *n, const char *name);
