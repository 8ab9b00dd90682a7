/* SPDX-License-Identifier: Apache-2.0 */
/* generation -- arrays that are like an older one but for a part.
 *
 * The new array is written once, from its first byte to its last, as any other: runs of the
 * old one, taken chunk by chunk where they lie in the same place (shared with it, if it is
 * chunked), and runs of what is new. */
#include <stdlib.h>
#include <string.h>

#include "storage/incoming.h"

typedef struct generation {
    incoming *in;
    content *old;
    tensor elements; /* of the old one, dense */
    buffer *blob;    /* its checksums and map; NULL: it has no file of ours */
    int fd;          /* of its file; -1: none */
} generation;

static void release(generation *g)
{
    const storage *s = g->old->storage;

    if (g->fd >= 0)
        s->vfs->close(s->vfs, g->fd);
    tensor_unref(&g->elements);
    buffer_unref(g->blob);
}

/* Opens e's old value and a new one of a shape. */
static bool start(generation *g, txn *x, const entry *e, const shape *shape, error *err)
{
    content *c = e->content;
    error why = {0};
    tensor found;

    *g = (generation){.old = c, .fd = -1};
    if (!entry_tensor(x->storage, e, &found, err))
        return false;
    tensor_dense(&found, NULL, &g->elements, &why);
    tensor_unref(&found);
    if (c->in_file && !error_is_set(&why)) {
        g->blob = content_bytes(c, &why);
        g->fd = array_open(c, &why);
    }
    if (error_is_set(&why)) {
        release(g);
        return entry_damaged(e, &why, err);
    }
    g->in = incoming_after(x->storage, x->durability, c, shape, err);
    if (g->in == NULL)
        release(g);
    return g->in != NULL;
}

/* Whether the variable may get another generation. */
static bool may_change(const entry *e, error *err)
{
    const attachment *a = entry_attachment(e);

    return a == NULL || !a->read_only ||
           error_set(err, ERR_VALUE,
                     "%s is attached to be read; attach it with mode c to change a copy", e->name);
}

static bool finish(generation *g, txn *x, const char *name, bool ok, error *err)
{
    if (ok && buffer_is_lost(g->elements.buf))
        ok = error_set(err, ERR_INTEGRITY, "variable %s: its file could not be read", name);
    release(g);
    if (ok && incoming_finish(g->in, err))
        return txn_put_incoming_take(x, name, g->in, err);
    incoming_free(g->in);
    return false;
}

/* ---- Runs of the old one ----------------------------------------------------------------- */

/* Through memory, what is damaged being refused: a new checksum would hide it. */
static bool keep_bytes(generation *g, int64_t from, int64_t n, error *err)
{
    return n == 0 ||
           (content_verify(g->old, g->elements.buf, from, n, err) &&
            incoming_write(g->in, (const char *)tensor_bytes(&g->elements) + from, (size_t)n, err));
}

/* How many of n bytes from a chunk's begin on are whole chunks of both arrays. */
static int64_t whole_chunks(const generation *g, int64_t from, int64_t n)
{
    const bool to_the_end = from + n == g->old->nbytes && incoming_nbytes(g->in) == g->old->nbytes;

    return to_the_end ? n : n / CHUNK_BYTES * CHUNK_BYTES;
}

/* The next n bytes are those of the old one from `from` on. */
static bool keep(generation *g, int64_t from, int64_t n, error *err)
{
    const int64_t to_chunk = (CHUNK_BYTES - from % CHUNK_BYTES) % CHUNK_BYTES;
    const int64_t head = to_chunk < n ? to_chunk : n;
    const int64_t whole = whole_chunks(g, from + head, n - head);

    if (from != incoming_written(g->in) || g->fd < 0 || !incoming_has_file(g->in) || whole == 0)
        return keep_bytes(g, from, n, err);
    return keep_bytes(g, from, head, err) &&
           incoming_copy_chunks(g->in, g->old, g->fd, g->blob, whole, err) &&
           keep_bytes(g, from + head + whole, n - head - whole, err);
}

/* ---- Patches -------------------------------------------------------------------------------- */

/* Turns axes along which part goes backwards, so that its elements come in the order of their
 * places. New axes go to where they don't matter. */
static void turn(tensor *part, tensor *value)
{
    for (int i = 0; i < part->shape.rank; i++) {
        const int64_t last = part->shape.length[i] - 1;

        if (part->strides[i] >= 0)
            continue;
        part->offset += last * part->strides[i];
        value->offset += last * value->strides[i];
        part->strides[i] = -part->strides[i];
        value->strides[i] = -value->strides[i];
    }
}

/* The innermost axes along which part is dense are one run; returns how many there are. */
static int dense_axes(const tensor *part, int64_t *run)
{
    int axes = 0;

    *run = 1;
    for (int i = part->shape.rank - 1; i >= 0; i--, axes++) {
        if (part->shape.length[i] != 1 && part->strides[i] != *run)
            break;
        *run *= part->shape.length[i];
    }
    return axes;
}

static bool next(int64_t *index, const shape *s, int axes)
{
    for (int i = axes - 1; i >= 0; i--) {
        if (++index[i] < s->length[i])
            return true;
        index[i] = 0;
    }
    return false;
}

/* The part of t at index along its first axes. */
static tensor inner(const tensor *t, const int64_t *index, int axes)
{
    tensor result = *t;

    for (int i = 0; i < axes; i++)
        result.offset += index[i] * t->strides[i];
    result.shape.rank -= axes;
    memmove(result.shape.length, t->shape.length + axes,
            (size_t)result.shape.rank * sizeof *t->shape.length);
    memmove(result.strides, t->strides + axes, (size_t)result.shape.rank * sizeof *t->strides);
    return result;
}

static bool write_patched(generation *g, const tensor *part, const tensor *value, error *err)
{
    const int64_t size = (int64_t)dtype_size(part->dtype);
    int64_t index[RANK_MAX] = {0}, run;
    const int outer = part->shape.rank - dense_axes(part, &run);
    bool ok = true;

    while (ok && tensor_size(part) > 0) {
        const tensor place = inner(part, index, outer), new = inner(value, index, outer);
        const int64_t at = incoming_written(g->in);

        ok = keep(g, at, place.offset * size - at, err) && incoming_write_tensor(g->in, &new, err);
        if (!next(index, &part->shape, outer))
            break;
    }
    return ok && keep(g, incoming_written(g->in), g->old->nbytes - incoming_written(g->in), err);
}

bool txn_patch(txn *x, const entry *e, const tensor *part, const tensor *value, error *err)
{
    tensor to = *part, from = *value;
    generation g;
    shape shape;

    entry_shape(e, &shape);
    if (!may_change(e, err))
        return false;
    if (!start(&g, x, e, &shape, err))
        return false;
    turn(&to, &from);
    return finish(&g, x, e->name, write_patched(&g, &to, &from, err), err);
}

/* ---- Appends --------------------------------------------------------------------------------- */

/* Old and new runs take turns, as often as there are places along the axes before. */
static bool write_longer(generation *g, const shape *old, const tensor *more, int axis, error *err)
{
    int64_t index[RANK_MAX] = {0}, run = (int64_t)dtype_size(more->dtype), at = 0;

    for (int i = axis; i < old->rank; i++)
        run *= old->length[i];
    if (g->old->nbytes == 0)
        return incoming_write_tensor(g->in, more, err);
    do {
        const tensor new = inner(more, index, axis);

        if (!keep(g, at, run, err) || !incoming_write_tensor(g->in, &new, err))
            return false;
        at += run;
    } while (next(index, old, axis));
    return true;
}

bool txn_append(txn *x, const entry *e, const tensor *more, int axis, error *err)
{
    generation g;
    shape old, new;

    if (!may_change(e, err))
        return false;
    entry_shape(e, &old);
    new = old;
    new.length[axis] += more->shape.length[axis];
    if (!start(&g, x, e, &new, err))
        return false;
    return finish(&g, x, e->name, write_longer(&g, &old, more, axis, err), err);
}
