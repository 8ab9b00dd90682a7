/* incoming -- what the rest of storage needs of arrays that arrive in pieces. */
#pragma once

#include "storage/private.h"

/* The content of a finished array, which is gone, even if this fails. */
content *incoming_content_take(incoming *in, error *err);

/* Takes whole chunks, n bytes, from the same place of another array's file, with their
 * checksums, which are not looked at. The array has a file and is at the end of a chunk. */
bool incoming_copy_chunks(incoming *in, int fd, const buffer *checksums, int64_t n, error *err);

/* How many bytes came so far; whether the array has a file. */
int64_t incoming_written(const incoming *in);
bool incoming_has_file(const incoming *in);

/* Writes all elements of a tensor of the array's type and shape. */
bool incoming_write_tensor(incoming *in, const tensor *t, error *err);
