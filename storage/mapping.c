/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/mapping.h"

#include <stdlib.h>
#include <string.h>

#include "engine/tensor/npy.h"
#include "engine/tensor/resident.h"
#include "storage/guard.h"
#include "storage/slots.h"

/* A process has 65,530 mappings in all; a chunked array may need one for each chunk. */
enum { MAPS_MAX = 60000 };

static _Atomic int64_t maps; /* of this process, by these functions */

/* ---- Mapping ------------------------------------------------------------------- */

typedef struct mapping {
    vfs *vfs;
    uint8_t *bytes; /* of the file, header included */
    size_t size;
    resident pages;
    int64_t pieces;
    slots *slots; /* of a chunked array, whose slots the mapping uses; NULL: of none */
    uint32_t *map;
    int64_t chunks;
} mapping;

static mapping *mapping_new(content *c, size_t size, int64_t pieces)
{
    mapping *m = calloc(1, sizeof *m);

    if (m == NULL)
        abort();
    *m = (mapping){.vfs = c->storage->vfs, .size = size, .pieces = pieces};
    atomic_fetch_add(&maps, pieces);
    return m;
}

static void mapping_free(mapping *m)
{
    atomic_fetch_sub(&maps, m->pieces);
    if (m->bytes != NULL)
        m->vfs->unmap(m->vfs, m->bytes, m->size);
    if (m->slots != NULL) {
        slots_leave(m->slots, m->map, m->chunks);
        slots_unref(m->slots);
        free(m->map);
    }
    free(m);
}

static void mapping_release(void *owner)
{
    mapping *m = owner;

    resident_remove(&m->pages);
    guard_remove(m->bytes);
    mapping_free(m);
}

/* A buffer over the elements in a mapping, which it takes over. NULL and ERR_MEMORY_BUSY if
 * there are too many. */
static buffer *wrap_mapping(mapping *m, size_t offset, size_t size, error *err)
{
    buffer *b = buffer_new_foreign(m->bytes + offset, size, mapping_release, m);

    resident_add(&m->pages, m->bytes, m->size);
    if (guard_add(m->bytes, m->size, buffer_loss(b)))
        return b;
    buffer_unref(b);
    error_set(err, ERR_MEMORY_BUSY, "as many files are mapped as can be");
    return NULL;
}

static buffer *map_plain(content *c, int fd, error *err)
{
    mapping *m = mapping_new(c, (size_t)(NPY_ALIGN_PAGE + c->nbytes), 1);

    m->bytes = m->vfs->map(m->vfs, fd, m->size);
    if (m->bytes != NULL)
        return wrap_mapping(m, NPY_ALIGN_PAGE, (size_t)c->nbytes, err);
    mapping_free(m);
    error_set(err, ERR_MEMORY_BUSY, "the array's file cannot be mapped now");
    return NULL;
}

/* ---- Slots side by side -------------------------------------------------------- */

/* Chunks from a place on that lie side by side in the file too. */
typedef struct run {
    int64_t offset;  /* in the file */
    size_t at, size; /* in the array */
} run;

/* The run that begins with a chunk; returns how many it has. */
static int64_t run_from(const content *c, int64_t chunk, run *r)
{
    const int64_t chunks = content_chunks(c), at = chunk * CHUNK_BYTES;
    int64_t n = 1;

    while (chunk + n < chunks && c->map[chunk + n] == c->map[chunk] + (uint32_t)n)
        n++;
    *r = (run){.offset = (int64_t)c->map[chunk] * SLOT_BYTES, .at = (size_t)at};
    r->size = (size_t)((chunk + n == chunks ? c->nbytes : at + n * CHUNK_BYTES) - at);
    return n;
}

static int64_t count_runs(const content *c)
{
    int64_t count = 0;
    run r;

    for (int64_t chunk = 0; chunk < content_chunks(c); count++)
        chunk += run_from(c, chunk, &r);
    return count;
}

static bool map_runs(mapping *m, const content *c, int fd)
{
    run r;

    m->bytes = m->vfs->reserve(m->vfs, m->size);
    if (m->bytes == NULL)
        return false;
    for (int64_t chunk = 0; chunk < m->chunks;) {
        chunk += run_from(c, chunk, &r);
        if (m->vfs->map_over(m->vfs, fd, m->bytes + r.at, r.size, r.offset) != 0)
            return false;
    }
    return true;
}

static buffer *map_slots(content *c, int fd, int64_t runs, error *err)
{
    mapping *m = mapping_new(c, (size_t)c->nbytes, runs);

    m->chunks = content_chunks(c);
    m->map = malloc((size_t)m->chunks * sizeof *m->map);
    if (m->map == NULL)
        abort();
    memcpy(m->map, c->map, (size_t)m->chunks * sizeof *m->map);
    m->slots = slots_ref(c->slots);
    slots_use(m->slots, m->map, m->chunks);
    if (map_runs(m, c, fd))
        return wrap_mapping(m, 0, m->size, err);
    mapping_free(m);
    error_set(err, ERR_MEMORY_BUSY, "the array's chunks cannot be mapped now");
    return NULL;
}

/* Into memory, if there are more maps than the system allows. */
static buffer *read_slots(content *c, int fd, error *err)
{
    vfs *v = c->storage->vfs;
    buffer *b = buffer_new(NULL, (size_t)c->nbytes, err);
    bool ok = b != NULL;
    run r;

    for (int64_t chunk = 0; ok && chunk < content_chunks(c);) {
        chunk += run_from(c, chunk, &r);
        ok = vfs_read_all(v, fd, (char *)buffer_bytes(b) + r.at, r.size, r.offset) ||
             error_set(err, ERR_INTEGRITY, "the array's chunks cannot be read");
    }
    if (ok)
        return b;
    buffer_unref(b);
    return NULL;
}

static buffer *open_slots(content *c, int fd, error *err)
{
    const int64_t runs = count_runs(c);

    if (runs == 0)
        return buffer_new(NULL, 0, err);
    return maps + runs > MAPS_MAX ? read_slots(c, fd, err) : map_slots(c, fd, runs, err);
}

buffer *mapping_of_file(content *c, error *err)
{
    vfs *v = c->storage->vfs;
    int fd = array_open(c, err);
    buffer *b;

    if (fd < 0)
        return NULL;
    b = (c->slots != NULL ? open_slots(c, fd, err) : map_plain(c, fd, err));
    v->close(v, fd);
    return b;
}

/* ---- Files that are not ours --------------------------------------------------- */

buffer *mapping_of_place(content *c, error *err)
{
    vfs *v = c->storage->vfs;
    mapping *m = mapping_new(c, (size_t)(c->place->said.offset + c->nbytes), 1);
    int fd = place_open(c->storage, c->place, err);

    if (fd >= 0) {
        m->bytes = m->size == 0 ? NULL : v->map(v, fd, m->size);
        v->close(v, fd);
    }
    if (m->bytes != NULL)
        return wrap_mapping(m, 0, m->size, err);
    mapping_free(m);
    if (fd >= 0 && c->nbytes == 0)
        return buffer_new(NULL, 0, err);
    error_set(err, ERR_MEMORY_BUSY, "the attached file cannot be mapped now");
    return NULL;
}
