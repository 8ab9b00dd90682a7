/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/incoming.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/crc32c.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/resident.h"

/* An array is written a chunk at a time: pieces are gathered until they are one,
 * larger pieces go to the file from where they are. */
struct incoming {
    content *content;
    int fd;          /* of the file; -1: in memory, or finished */
    buffer *bytes;   /* the elements, or the checksums of those in the file */
    int64_t written; /* bytes of elements taken so far, staged ones included */
    uint8_t *stage;  /* CHUNK_BYTES; NULL before it is needed */
    bool finished;
};

static bool wants_file(const storage *s, durability d, storage_form form, int64_t nbytes)
{
    if (d == DURABILITY_MEMORY)
        return false;
    return form == FORM_MEMMAP || (form == FORM_AUTO && nbytes > s->options.inline_bytes_max);
}

static bool check_blob(const content *c, error *err)
{
    if (content_blob_bytes(c) <= BLOB_BYTES_MAX || c->is_volatile)
        return true;
    return error_set_limit(err, ERR_RESULT_SIZE, BLOB_BYTES_MAX, c->nbytes,
                           "an array of %" PRId64 " bytes cannot be stored in this form",
                           c->nbytes);
}

static bool open_target(incoming *in, storage *s, bool in_file, error *err)
{
    content *c = in->content;

    /* What the file takes besides its elements: a page and some of the index. */
    if (!c->is_volatile && !disk_has_room(s, c->nbytes + 2 * NPY_ALIGN_PAGE, err))
        return false;
    if (in_file && (in->fd = array_create(c, err)) < 0)
        return false;
    in->bytes =
        check_blob(c, err) ? buffer_new(NULL, (size_t)content_blob_bytes(c) + 1, err) : NULL;
    return in->bytes != NULL;
}

incoming *incoming_new(storage *s, durability d, storage_form form, dtype t, const shape *shape,
                       error *err)
{
    content *c = storage_can_write(s, err) ? content_new(s, t, shape, err) : NULL;
    incoming *in;

    if (c == NULL)
        return NULL;
    in = calloc(1, sizeof *in);
    if (in == NULL)
        abort();
    in->content = c;
    in->fd = -1;
    c->is_volatile = d == DURABILITY_MEMORY;
    if (open_target(in, s, wants_file(s, d, form, c->nbytes), err))
        return in;
    incoming_free(in);
    return NULL;
}

void incoming_free(incoming *in)
{
    vfs *v;

    if (in == NULL)
        return;
    v = in->content->storage->vfs;
    if (in->fd >= 0)
        v->close(v, in->fd);
    free(in->stage);
    buffer_unref(in->bytes);
    content_unref(in->content);
    free(in);
}

/* Writes the chunk of n bytes that begins with element byte at. */
static bool write_chunk(incoming *in, const void *bytes, size_t n, int64_t at, error *err)
{
    vfs *v = in->content->storage->vfs;
    uint32_t crc = crc32c(0, bytes, n);
    uint8_t *checksum = (uint8_t *)buffer_bytes(in->bytes) + 4 * (at / CHUNK_BYTES);

    resident_check(); /* what is written may be read from a mapped file */
    for (int i = 0; i < 4; i++)
        checksum[i] = (uint8_t)(crc >> 8 * i);
    return vfs_write_all(v, in->fd, bytes, n, NPY_ALIGN_PAGE + at) ||
           disk_failed("writing an array file", err);
}

static bool stage(incoming *in, const uint8_t *bytes, size_t n, error *err)
{
    const size_t staged = (size_t)(in->written % CHUNK_BYTES);

    if (in->stage == NULL && (in->stage = malloc(CHUNK_BYTES)) == NULL)
        return error_set(err, ERR_MEMORY_BUSY, "no memory for an array that arrives");
    memcpy(in->stage + staged, bytes, n);
    in->written += (int64_t)n;
    return staged + n < CHUNK_BYTES ||
           write_chunk(in, in->stage, CHUNK_BYTES, in->written - CHUNK_BYTES, err);
}

static bool write_to_file(incoming *in, const uint8_t *bytes, size_t n, error *err)
{
    while (n > 0) {
        const size_t staged = (size_t)(in->written % CHUNK_BYTES);
        const size_t step = n < CHUNK_BYTES - staged ? n : CHUNK_BYTES - staged;

        if (step == CHUNK_BYTES) {
            if (!write_chunk(in, bytes, step, in->written, err))
                return false;
            in->written += CHUNK_BYTES;
        } else if (!stage(in, bytes, step, err)) {
            return false;
        }
        bytes += step;
        n -= step;
    }
    return true;
}

bool incoming_write(incoming *in, const void *bytes, size_t n, error *err)
{
    const content *c = in->content;

    if (n > (size_t)(c->nbytes - in->written))
        return error_set_limit(err, ERR_SIZE, c->nbytes, in->written + (int64_t)n,
                               "the shape has %" PRId64 " bytes; at least %" PRId64 " came",
                               c->nbytes, in->written + (int64_t)n);
    if (c->in_file)
        return write_to_file(in, bytes, n, err);
    if (n > 0)
        memcpy((uint8_t *)buffer_bytes(in->bytes) + in->written, bytes, n);
    in->written += (int64_t)n;
    return true;
}

bool incoming_copy_chunks(incoming *in, int fd, const buffer *checksums, int64_t n, error *err)
{
    vfs *v = in->content->storage->vfs;
    const int64_t first = in->written / CHUNK_BYTES, count = n / CHUNK_BYTES;

    if (!vfs_copy_all(v, fd, in->fd, (size_t)n, NPY_ALIGN_PAGE + in->written))
        return disk_failed("copying an array file", err);
    memcpy((uint8_t *)buffer_bytes(in->bytes) + 4 * first,
           (const uint8_t *)buffer_bytes(checksums) + 4 * first, 4 * (size_t)count);
    in->written += n;
    return true;
}

int64_t incoming_written(const incoming *in)
{
    return in->written;
}

bool incoming_has_file(const incoming *in)
{
    return in->content->in_file;
}

/* The last chunk, then the header, then the sync. */
static bool finish_file(incoming *in, error *err)
{
    content *c = in->content;
    vfs *v = c->storage->vfs;
    const size_t staged = (size_t)(c->nbytes % CHUNK_BYTES);
    char header[NPY_HEADER_ROOM];
    shape shape;

    if (staged > 0 && !write_chunk(in, in->stage, staged, c->nbytes - (int64_t)staged, err))
        return false;
    content_shape(c, &shape);
    if (!vfs_write_all(v, in->fd, header,
                       npy_header_write(header, c->dtype, &shape, NPY_ALIGN_PAGE), 0))
        return disk_failed("writing an array file", err);
    if (v->sync_data(v, in->fd) != 0) {
        error_set(err, ERR_STORAGE, "syncing an array file failed");
        storage_fail(c->storage, err);
        return false;
    }
    v->close(v, in->fd);
    in->fd = -1;
    return true;
}

bool incoming_finish(incoming *in, error *err)
{
    content *c = in->content;

    if (in->written != c->nbytes)
        return error_set_limit(err, ERR_SIZE, c->nbytes, in->written,
                               "the shape has %" PRId64 " bytes; %" PRId64 " came", c->nbytes,
                               in->written);
    if (in->fd >= 0 && !finish_file(in, err))
        return false;
    ((uint8_t *)buffer_bytes(in->bytes))[content_blob_bytes(c)] = 0;
    in->finished = true;
    return true;
}

content *incoming_content_take(incoming *in, error *err)
{
    content *c = NULL;

    if (in->finished) {
        c = content_ref(in->content);
        content_cache_take(c, buffer_ref(in->bytes));
    } else {
        error_set(err, ERR_INTERNAL, "an array was stored before it was finished");
    }
    incoming_free(in);
    return c;
}

/* ---- From a tensor -------------------------------------------------------------- */

/* The innermost axes of t, from axis on, have at most this many bytes in all, so
 * that a strided tensor is made dense piece by piece. */
enum { PIECE_BYTES = 64 << 10 };

static int first_whole_axis(const tensor *t)
{
    int64_t bytes = (int64_t)dtype_size(t->dtype);
    int axis = t->shape.rank;

    while (axis > 0 && bytes * t->shape.length[axis - 1] <= PIECE_BYTES)
        bytes *= t->shape.length[--axis];
    return axis;
}

/* The part of t at index along its first axes, count long along the last of them,
 * whole along the rest. */
static tensor part_of(const tensor *t, int axes, const int64_t index[], int64_t count)
{
    tensor part = *t;

    for (int i = 0; i < axes; i++)
        part.offset += index[i] * t->strides[i];
    part.shape.rank = t->shape.rank - axes + 1;
    part.shape.length[0] = count;
    part.strides[0] = t->strides[axes - 1];
    for (int i = axes; i < t->shape.rank; i++) {
        part.shape.length[i - axes + 1] = t->shape.length[i];
        part.strides[i - axes + 1] = t->strides[i];
    }
    return part;
}

/* Steps index, which counts in steps along its last axis; false after the end. */
static bool next_index(const tensor *t, int axes, int64_t index[], int64_t step)
{
    for (int i = axes - 1; i >= 0; i--) {
        index[i] += i == axes - 1 ? step : 1;
        if (index[i] < t->shape.length[i])
            return true;
        index[i] = 0;
    }
    return false;
}

static bool write_strided(incoming *in, const tensor *t, void *piece, error *err)
{
    const int axes = first_whole_axis(t);
    int64_t index[RANK_MAX] = {0}, inner = (int64_t)dtype_size(t->dtype), step;

    for (int i = axes; i < t->shape.rank; i++)
        inner *= t->shape.length[i];
    if (axes == 0) {
        tensor_copy_dense(t, piece);
        return incoming_write(in, piece, (size_t)inner, err);
    }
    step = PIECE_BYTES / inner;
    do {
        const int64_t left = t->shape.length[axes - 1] - index[axes - 1];
        const tensor part = part_of(t, axes, index, left < step ? left : step);

        tensor_copy_dense(&part, piece);
        if (!incoming_write(in, piece, (size_t)tensor_nbytes(&part), err))
            return false;
    } while (next_index(t, axes, index, step));
    return true;
}

bool incoming_write_tensor(incoming *in, const tensor *t, error *err)
{
    void *piece;
    bool ok;

    if (tensor_nbytes(t) == 0)
        return true;
    if (tensor_is_contiguous(t))
        return incoming_write(in, tensor_bytes(t), (size_t)tensor_nbytes(t), err);
    piece = malloc(PIECE_BYTES);
    if (piece == NULL)
        abort();
    ok = write_strided(in, t, piece, err);
    free(piece);
    return ok;
}
