/* mapping -- the elements of files as buffers (private to storage). */
#pragma once

#include "storage/private.h"

/* The elements of c, which has a file of ours, over a read-only mapping of it: of a chunked array
 * over its slots, side by side. The page behind the last element is readable to its end, as a
 * buffer must be. NULL and ERR_INTEGRITY, ERR_MEMORY_BUSY. */
buffer *mapping_of_file(content *c, error *err);

/* The whole of an attached file up to the last element, so that its bytes begin with a page. */
buffer *mapping_of_place(content *c, error *err);
