/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/crc32c.h"
#include "engine/base/log.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/resident.h"
#include "storage/mapping.h"
#include "storage/slots.h"

/* ---- Life ---------------------------------------------------------------------- */

entry *entry_new(const char *name, entry_kind kind)
{
    size_t n = strlen(name) + 1;
    entry *e = calloc(1, sizeof *e + n);

    if (e == NULL)
        abort();
    e->references = 1;
    e->kind = kind;
    memcpy(e->name, name, n);
    return e;
}

entry *entry_ref(entry *e)
{
    atomic_fetch_add_explicit(&e->references, 1, memory_order_relaxed);
    return e;
}

void entry_unref(entry *e)
{
    if (e == NULL || atomic_fetch_sub(&e->references, 1) > 1)
        return;
    content_unref(e->content);
    content_unref(e->attributes);
    free(e);
}

/* ---- About it ------------------------------------------------------------------ */

const char *entry_kind_name(entry_kind kind)
{
    static const char *const names[ENTRY_KINDS] = {
        [ENTRY_VARIABLE] = "variable",
        [ENTRY_GRAPH] = "graph",
        [ENTRY_HIDDEN] = "hidden",
    };

    return names[kind];
}

bool name_is_hidden(const char *name)
{
    return name[0] == '.';
}

dtype entry_dtype(const entry *e)
{
    return e->content->dtype;
}

void entry_shape(const entry *e, shape *result)
{
    content_shape(e->content, result);
}

void entry_strides(const entry *e, int64_t strides[RANK_MAX])
{
    const place *p = e->content->place;
    int64_t stride = 1;
    shape s;

    entry_shape(e, &s);
    shape_strides(&s, strides);
    for (int i = 0; p != NULL && p->said.fortran && i < s.rank; i++) {
        strides[i] = stride;
        stride *= s.length[i];
    }
}

int64_t entry_nbytes(const entry *e)
{
    return e->content->nbytes;
}

storage_form entry_form(const entry *e)
{
    const content *c = e->content;

    return c->slots != NULL                 ? FORM_CHUNKED
           : c->in_file || c->place != NULL ? FORM_MEMMAP
                                            : FORM_INLINE;
}

const attachment *entry_attachment(const entry *e)
{
    return e->content->place == NULL ? NULL : &e->content->place->said;
}

bool entry_is_volatile(const entry *e)
{
    return e->content->is_volatile;
}

void entry_file(const entry *e, char to[ENTRY_FILE])
{
    char name[ARRAY_NAME];

    to[0] = '\0';
    if (entry_form(e) != FORM_MEMMAP || e->content->place != NULL)
        return;
    array_name(e->content->file, false, name);
    snprintf(to, ENTRY_FILE, "arrays/%s", name);
}

void storage_etag(storage *s, int64_t commit, char to[ENTRY_ETAG])
{
    snprintf(to, ENTRY_ETAG, "%08" PRIx32 "-%" PRId64, s->id, commit);
}

int64_t storage_etag_commit(storage *s, const char *etag, size_t length)
{
    char own[ENTRY_ETAG];
    size_t end = 9;
    int64_t commit = 0;

    storage_etag(s, 0, own);
    if (length <= end || memcmp(etag, own, end) != 0)
        return -1;
    for (; end < length && etag[end] >= '0' && etag[end] <= '9'; end++)
        if (__builtin_mul_overflow(commit, 10, &commit) ||
            __builtin_add_overflow(commit, etag[end] - '0', &commit))
            return -1;
    return end > 9 && (end == length || etag[end] == '.') ? commit : -1;
}

/* ---- Checksums ----------------------------------------------------------------- */

static bool chunk_is_verified(content *c, int64_t chunk)
{
    bool verified;

    pthread_mutex_lock(&c->storage->cache_lock);
    if (c->verified == NULL)
        c->verified = calloc((size_t)(c->nbytes / CHUNK_BYTES + 1), 1);
    verified = c->verified != NULL && c->verified[chunk] != 0;
    pthread_mutex_unlock(&c->storage->cache_lock);
    return verified;
}

static void set_verified(content *c, int64_t chunk)
{
    pthread_mutex_lock(&c->storage->cache_lock);
    if (c->verified != NULL)
        c->verified[chunk] = 1;
    pthread_mutex_unlock(&c->storage->cache_lock);
}

static bool verify_chunk(content *c, const uint8_t *elements, const buffer *checksums,
                         int64_t chunk, error *err)
{
    const int64_t from = chunk * CHUNK_BYTES, left = c->nbytes - from;
    const size_t n = (size_t)(left < CHUNK_BYTES ? left : CHUNK_BYTES);

    if (chunk_is_verified(c, chunk))
        return true;
    if (crc32c(0, elements + from, n) != content_number(checksums, chunk)) {
        c->damaged = true;
        return error_set(err, ERR_INTEGRITY,
                         "bytes %" PRId64 " to %" PRId64 " of the array are damaged", from,
                         from + (int64_t)n - 1);
    }
    set_verified(c, chunk);
    return true;
}

static bool verify(content *c, const uint8_t *elements, int64_t from, int64_t n, error *err)
{
    buffer *checksums = content_bytes(c, err);
    bool ok = checksums != NULL;

    for (int64_t chunk = from / CHUNK_BYTES; ok && chunk * CHUNK_BYTES < from + n; chunk++) {
        ok = verify_chunk(c, elements, checksums, chunk, err);
        resident_check();
    }
    buffer_unref(checksums);
    return ok;
}

bool content_verify(content *c, const buffer *elements, int64_t from, int64_t n, error *err)
{
    return !c->in_file || verify(c, buffer_bytes(elements), from, n, err);
}

/* ---- Values -------------------------------------------------------------------- */

void entry_note_damage(const entry *e, const char *why)
{
    content *c = e->content;

    if (atomic_exchange(&c->told, true))
        return;
    atomic_fetch_add(&c->storage->damaged, 1);
    log_message(LOG_ERROR, "damaged: %s %s: %s", entry_kind_name(e->kind), e->name, why);
}

bool entry_lost(const entry *e, error *err)
{
    const error why = {.kind = ERR_INTEGRITY, .detail = "its file could not be read"};

    return entry_damaged(e, &why, err);
}

bool entry_damaged(const entry *e, const error *why, error *err)
{
    if (why->kind == ERR_INTEGRITY)
        entry_note_damage(e, why->detail);
    return error_set(err, why->kind, "%s %s: %s", entry_kind_name(e->kind), e->name, why->detail);
}

buffer *content_elements(content *c, error *err)
{
    buffer *bytes;

    if (c->damaged) {
        error_set(err, ERR_INTEGRITY, "the array was found damaged before");
        return NULL;
    }
    if (!c->in_file)
        return c->place != NULL ? mapping_of_place(c, err) : content_bytes(c, err);
    bytes = mapping_of_file(c, err);
    if (bytes != NULL && c->nbytes <= VERIFY_BYTES_MAX &&
        !verify(c, buffer_bytes(bytes), 0, c->nbytes, err)) {
        buffer_unref(bytes);
        return NULL;
    }
    return bytes;
}

bool entry_tensor(storage *s, const entry *e, tensor *result, error *err)
{
    error why = {0};
    buffer *bytes = content_elements(e->content, &why);
    shape shape;

    (void)s;
    if (bytes == NULL)
        return entry_damaged(e, &why, err);
    entry_shape(e, &shape);
    tensor_wrap_take(result, bytes, e->content->dtype, &shape);
    if (e->content->place != NULL) {
        result->offset = e->content->place->said.offset / (int64_t)dtype_size(result->dtype);
        entry_strides(e, result->strides);
    }
    return true;
}

bool entry_verify(storage *s, const entry *e, int64_t from, int64_t n, error *err)
{
    error why = {0};
    buffer *bytes;
    bool ok;

    (void)s;
    if (!e->content->in_file)
        return true;
    if (from < 0 || n < 0 || n > e->content->nbytes - from)
        return error_set(err, ERR_VALUE, "%s has no %" PRId64 " bytes from %" PRId64 " on", e->name,
                         n, from);
    bytes = mapping_of_file(e->content, &why);
    ok = bytes != NULL && verify(e->content, buffer_bytes(bytes), from, n, &why);
    buffer_unref(bytes);
    return ok || entry_damaged(e, &why, err);
}

int entry_open(storage *s, const entry *e, int64_t *offset, error *err)
{
    error why = {0};
    int fd;

    (void)s;
    if (!e->content->in_file || e->content->slots != NULL) {
        error_set(err, ERR_VALUE, "%s is not in a .npy file", e->name);
        return -1;
    }
    *offset = NPY_ALIGN_PAGE;
    fd = array_open(e->content, &why);
    if (fd < 0)
        entry_damaged(e, &why, err);
    return fd;
}

buffer *entry_text(storage *s, const entry *e, error *err)
{
    error why = {0};
    buffer *bytes = content_bytes(e->content, &why);

    (void)s;
    if (bytes == NULL)
        entry_damaged(e, &why, err);
    return bytes;
}

buffer *entry_attributes(storage *s, const entry *e, error *err)
{
    error why = {0};
    buffer *bytes;

    (void)s;
    if (e->attributes == NULL) {
        bytes = buffer_new(NULL, sizeof "{}", err);
        if (bytes != NULL)
            memcpy(buffer_bytes(bytes), "{}", sizeof "{}");
        return bytes;
    }
    bytes = content_bytes(e->attributes, &why);
    if (bytes == NULL)
        entry_damaged(e, &why, err);
    return bytes;
}
