/* large -- memory for large buffers, kept for the next one.
 *
 * A fresh page costs more than the arithmetic on it: an 80 MB result of one addition
 * takes twice as long in new memory. So large blocks are mapped in huge pages where the
 * system has them, and a few that were freed stay mapped for whoever asks next.
 *
 * Thread-safe. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { LARGE_BYTES = 1 << 20 }; /* blocks from here on come from this module */

/* size bytes (at least LARGE_BYTES), not cleared, aligned to a huge page; NULL if the
 * system has no more. */
void *large_alloc(size_t size);

/* Gives back a block of large_alloc with the size that was asked for. */
void large_free(void *block, size_t size);

/* Bytes of freed blocks that are kept now. */
int64_t large_kept(void);
/* Unmaps them all; or, called every few seconds, if nobody came for any since the last call. */
void large_drop(void);
void large_drop_idle(void);
