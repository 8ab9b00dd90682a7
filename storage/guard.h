/* guard -- what happens when a mapped file cannot be read (private to storage).
 *
 * A file that another process makes shorter, or a disk that fails, shows as the signal SIGBUS
 * in whoever reads the mapping. The guard knows all mappings: it puts zeros in the place of
 * the page and notes the loss where it was told to; the reader goes on and is asked for the
 * note afterwards. A SIGBUS anywhere else ends the process, as it would without a guard. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Guards size bytes at bytes, which begin with a page; lost is set when some cannot be read.
 * False if there are too many mappings already. */
bool guard_add(void *bytes, size_t size, _Atomic bool *lost);

/* Guards them no longer; before they are unmapped. */
void guard_remove(void *bytes);
