/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/incoming.h"
#include "storage/slots.h"

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
    bool ended;      /* the last chunk was copied with the others */
    bool finished;
};

/* FORM_INLINE is also what stays in memory. */
static storage_form choose_form(const storage *s, durability d, storage_form asked, int64_t nbytes)
{
    if (d == DURABILITY_MEMORY)
        return FORM_INLINE;
    if (asked != FORM_AUTO)
        return asked;
    return nbytes > s->options.inline_bytes_max ? FORM_MEMMAP : FORM_INLINE;
}

static bool check_blob(const content *c, error *err)
{
    if (content_blob_bytes(c) <= BLOB_BYTES_MAX || c->is_volatile)
        return true;
    return error_set_limit(err, ERR_RESULT_SIZE, BLOB_BYTES_MAX, c->nbytes,
                           "an array of %" PRId64 " bytes cannot be stored in this form",
                           c->nbytes);
}

/* A new file, or that of the chunked array that is changed. */
static int open_file(content *c, storage_form form, content *old, error *err)
{
    if (form == FORM_MEMMAP)
        return array_create(c, err);
    if (old == NULL || old->slots == NULL)
        return array_create_slots(c, err);
    slots_join(old->slots, c);
    return array_open_slots(c, err);
}

static bool open_target(incoming *in, storage *s, storage_form form, content *old, error *err)
{
    content *c = in->content;

    /* What the file takes besides its elements: a page and some of the index. Slots see to it
     * themselves. */
    if (form != FORM_CHUNKED && !c->is_volatile &&
        !disk_has_room(s, c->nbytes + 2 * NPY_ALIGN_PAGE, err))
        return false;
    if (form != FORM_INLINE && (in->fd = open_file(c, form, old, err)) < 0)
        return false;
    in->bytes =
        check_blob(c, err) ? buffer_new(NULL, (size_t)content_blob_bytes(c) + 1, err) : NULL;
    return in->bytes != NULL;
}

/* The slots of a chunked array count by themselves. */
static content *new_content(storage *s, storage_form form, dtype t, const shape *shape, error *err)
{
    if (!storage_can_write(s, err) || !shape_check(shape, "storage", err))
        return NULL;
    return form == FORM_CHUNKED ? content_alloc(s, t, shape) : content_new(s, t, shape, err);
}

static incoming *begin(storage *s, durability d, storage_form form, content *old, dtype t,
                       const shape *shape, error *err)
{
    content *c = new_content(s, form, t, shape, err);
    incoming *in;

    if (c == NULL)
        return NULL;
    in = calloc(1, sizeof *in);
    if (in == NULL)
        abort();
    in->content = c;
    in->fd = -1;
    c->is_volatile = d == DURABILITY_MEMORY;
    if (open_target(in, s, form, old, err))
        return in;
    incoming_free(in);
    return NULL;
}

/* Of a shape that is none new_content tells. */
static int64_t bytes_of(dtype t, const shape *shape)
{
    error ignored = {0};

    return shape_check(shape, "storage", &ignored) ? shape_size(shape) * (int64_t)dtype_size(t) : 0;
}

incoming *incoming_new(storage *s, durability d, storage_form form, dtype t, const shape *shape,
                       error *err)
{
    return begin(s, d, choose_form(s, d, form, bytes_of(t, shape)), NULL, t, shape, err);
}

incoming *incoming_after(storage *s, durability d, content *old, const shape *shape, error *err)
{
    const storage_form form = old->slots != NULL ? FORM_CHUNKED
                              : old->in_file     ? FORM_MEMMAP
                                                 : FORM_AUTO;

    return begin(s, d, choose_form(s, d, form, bytes_of(old->dtype, shape)), old, old->dtype, shape,
                 err);
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

/* Where a chunk lies in the file; one that is changed gets a slot of its own. */
static bool place_chunk(incoming *in, int64_t chunk, int64_t *offset, error *err)
{
    content *c = in->content;

    *offset = NPY_ALIGN_PAGE + chunk * CHUNK_BYTES;
    if (c->slots == NULL)
        return true;
    if (c->map[chunk] == SLOT_NONE && !slots_take(c, in->fd, chunk, 1, err))
        return false;
    *offset = (int64_t)c->map[chunk] * SLOT_BYTES;
    return true;
}

/* Writes the chunk of n bytes that begins with element byte at. */
static bool write_chunk(incoming *in, const void *bytes, size_t n, int64_t at, error *err)
{
    vfs *v = in->content->storage->vfs;
    int64_t offset;

    resident_check(); /* what is written may be read from a mapped file */
    content_set_number(in->bytes, at / CHUNK_BYTES, crc32c(0, bytes, n));
    return place_chunk(in, at / CHUNK_BYTES, &offset, err) &&
           (vfs_write_all(v, in->fd, bytes, n, offset) ||
            disk_failed("writing an array file", err));
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

static void share_slots(content *c, const content *old, int64_t first, int64_t n)
{
    memcpy(c->map + first, old->map + first, (size_t)n * sizeof *c->map);
    slots_use(c->slots, c->map + first, n);
}

bool incoming_copy_chunks(incoming *in, const content *old, int fd, const buffer *blob, int64_t n,
                          error *err)
{
    content *c = in->content;
    vfs *v = c->storage->vfs;
    const int64_t first = in->written / CHUNK_BYTES;
    const int64_t count = (n + CHUNK_BYTES - 1) / CHUNK_BYTES;

    if (c->slots != NULL)
        share_slots(c, old, first, count);
    else if (!vfs_copy_all(v, fd, in->fd, (size_t)n, NPY_ALIGN_PAGE + in->written))
        return disk_failed("copying an array file", err);
    for (int64_t i = first; i < first + count; i++)
        content_set_number(in->bytes, i, content_number(blob, i));
    in->written += n;
    in->ended = n % CHUNK_BYTES != 0;
    return true;
}

int64_t incoming_nbytes(const incoming *in)
{
    return in->content->nbytes;
}

int64_t incoming_written(const incoming *in)
{
    return in->written;
}

bool incoming_has_file(const incoming *in)
{
    return in->content->in_file;
}

/* What tells of the elements: the header of a .npy file, or the map, which goes to the index. */
static bool write_outline(incoming *in, error *err)
{
    content *c = in->content;
    vfs *v = c->storage->vfs;
    const int64_t chunks = content_chunks(c);
    char header[NPY_HEADER_ROOM];
    shape shape;

    for (int64_t i = 0; c->slots != NULL && i < chunks; i++)
        content_set_number(in->bytes, chunks + i, c->map[i]);
    if (c->slots != NULL)
        return true;
    content_shape(c, &shape);
    return vfs_write_all(v, in->fd, header,
                         npy_header_write(header, c->dtype, &shape, NPY_ALIGN_PAGE), 0) ||
           disk_failed("writing an array file", err);
}

/* The last chunk, then the header, then the sync. */
static bool finish_file(incoming *in, error *err)
{
    content *c = in->content;
    vfs *v = c->storage->vfs;
    const size_t staged = in->ended ? 0 : (size_t)(c->nbytes % CHUNK_BYTES);

    if ((staged > 0 && !write_chunk(in, in->stage, staged, c->nbytes - (int64_t)staged, err)) ||
        !write_outline(in, err))
        return false;
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
