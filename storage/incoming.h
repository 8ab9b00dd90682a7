/* incoming -- what the rest of storage needs of arrays that arrive in pieces. */
#pragma once

#include "storage/private.h"

/* The content of a finished array, which is gone, even if this fails. */
content *incoming_content_take(incoming *in, error *err);

/* An array of a shape that is to take the place of old, in the same form (a value in memory stays
 * there as long as it is small); if that is chunked, in the same file. Errors as for incoming_new.
 */
incoming *incoming_after(storage *s, durability d, content *old, const shape *shape, error *err);

/* Takes whole chunks, n bytes (the last one of an array may be shorter), from the same place of
 * old, which has the blob and, if it is not chunked, the open file; their checksums are not looked
 * at. The array has a file and is at the end of a chunk. */
bool incoming_copy_chunks(incoming *in, const content *old, int fd, const buffer *blob, int64_t n,
                          error *err);

/* How many bytes it has in all, and how many came so far; whether the array has a file. */
int64_t incoming_nbytes(const incoming *in);
int64_t incoming_written(const incoming *in);
bool incoming_has_file(const incoming *in);

/* Writes all elements of a tensor of the array's type and shape. */
bool incoming_write_tensor(incoming *in, const tensor *t, error *err);
