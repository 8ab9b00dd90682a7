/* npz_reader -- several tensors from a .npz file, as it arrives.
 *
 * A .npz is a zip file whose members are .npy files. It is read from the front, by
 * the members' own headers, since the directory comes last; that directory is
 * passed over, but the end record must be there and count as many members, so that
 * a file cut short is noticed. Members are stored or deflated; each checksum is
 * verified. What a deflated member may become is fixed before it is inflated: its
 * .npy header says how many bytes the array has, and not one more is taken.
 *
 * A member request.json is the request's envelope and goes to a JSON reader. */
#pragma once

#include "engine/base/error.h"
#include "server/wire/held.h"
#include "server/wire/reader.h"
#include "server/wire/value.h"

enum { NPZ_MEMBERS_MAX = 10000 };

typedef struct npz_reader npz_reader;

/* A member's tensor; its name is without ".npy". */
typedef struct npz_array {
    const char *name;
    const tensor *tensor;
} npz_array;

/* Tensors are added to h and paid from b; hint is the type of members that are any
 * two bytes, or NULL. To be freed with npz_reader_free. */
npz_reader *npz_reader_new(held *h, budget *b, wire_document document, const dtype *hint);
void npz_reader_free(npz_reader *z);

bool npz_reader_feed(npz_reader *z, const char *bytes, size_t n, error *err);
bool npz_reader_end(npz_reader *z, error *err);

/* What came, in the order of the file; the envelope is NULL if there was none. */
const npz_array *npz_reader_arrays(const npz_reader *z, size_t *count);
wire_value *npz_reader_envelope(const npz_reader *z);
