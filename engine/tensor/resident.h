/* resident -- how much of mapped files is in the process's memory.
 *
 * What is read of a mapping stays with the process until it is unmapped, and an array may be
 * larger than all memory that the server is meant to take. So whoever reads for long asks, every
 * millisecond or so, whether too much has gathered; then all mappings give their pages back. The
 * system keeps these cached as long as it has room, and who reads on finds them there.
 *
 * Mappings may take what the tensors leave of the server's memory, or a few MiB at least.
 *
 * Thread-safe. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* A mapping that is known here; kept by whoever made it. */
typedef struct resident {
    void *bytes; /* of a whole page */
    size_t size;
    struct resident *before, *next;
} resident;

/* Makes size bytes at bytes, read-only and of a file, known; no longer, before they are
 * unmapped. */
void resident_add(resident *r, void *bytes, size_t size);
void resident_remove(resident *r);

/* Gives pages back if there are too many. Cheap: to be asked often. */
static inline void resident_check(void);

/* ---- Private --------------------------------------------------------------------------- */

extern _Atomic int64_t resident_mapped; /* bytes in all */
void resident_look(void);

static inline void resident_check(void)
{
    if (atomic_load_explicit(&resident_mapped, memory_order_relaxed) > 0)
        resident_look();
}
