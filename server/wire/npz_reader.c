/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/npz_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/base/table.h"
#include "server/wire/array_reader.h"
#include "server/wire/json_reader.h"

enum {
    LOCAL_BYTES = 30, /* of a member's header without name and extra field */
    END_BYTES = 22,   /* of the end record */
    END64_BYTES = 76, /* of the end record of a 64-bit file and what leads to it */
    INFLATE_BYTES = 65536,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1, /* bits of the flags */
    SIZES_FOLLOW = 8
};

#define LOCAL_MAGIC   0x04034b50u
#define CENTRAL_MAGIC 0x02014b50u
#define END_MAGIC     0x06054b50u
#define FOLLOW_MAGIC  0x08074b50u
#define UNKNOWN       UINT64_MAX

typedef enum npz_state {
    AT_MAGIC,  /* of a member, the directory or the end */
    IN_HEADER, /* the fixed part */
    IN_NAME,   /* name and extra field */
    IN_DATA,
    IN_TRAILER, /* checksum and sizes behind the data */
    IN_DIRECTORY
} npz_state;

/* The member being read. */
typedef struct npz_member {
    unsigned flags, method;
    uint32_t crc, crc_found;
    uint64_t packed, size;    /* bytes in the file, and unpacked; or UNKNOWN */
    uint64_t packed_got, got; /* so far */
    size_t name_bytes, extra_bytes;
    const char *name;
    bool is_json, inflates_on;
    array_reader array;
    tensor *tensor;
} npz_member;

struct npz_reader {
    held *held;
    budget *budget;
    wire_document document;
    dtype hint;
    bool has_hint;
    npz_state state;
    text head; /* bytes of a header being collected */
    npz_member member;
    z_stream inflate;
    bool has_inflate;
    char *unpacked;
    json_reader *json;
    wire_value *envelope;
    bool has_envelope;
    npz_array *arrays;
    size_t count, room, members;
    table names;
    uint64_t directory;            /* bytes since the directory began, the end record included */
    unsigned char last[END_BYTES]; /* the last bytes of the file so far */
};

npz_reader *npz_reader_new(held *h, budget *b, wire_document document, const dtype *hint)
{
    npz_reader *z = calloc(1, sizeof *z);

    if (z == NULL)
        abort();
    z->held = h;
    z->budget = b;
    z->document = document;
    z->has_hint = hint != NULL;
    z->hint = hint != NULL ? *hint : DT_F64;
    text_init(&z->head);
    table_init(&z->names, h->arena);
    return z;
}

void npz_reader_free(npz_reader *z)
{
    if (z == NULL)
        return;
    text_clear(&z->head);
    array_reader_clear(&z->member.array);
    json_reader_free(z->json);
    if (z->has_inflate)
        inflateEnd(&z->inflate);
    free(z->unpacked);
    free(z);
}

const npz_array *npz_reader_arrays(const npz_reader *z, size_t *count)
{
    *count = z->count;
    return z->arrays;
}

wire_value *npz_reader_envelope(const npz_reader *z)
{
    return z->envelope;
}

/* ---- The parts of a header ---------------------------------------------------------- */

static uint64_t little(const char *at, int bytes)
{
    uint64_t value = 0;

    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | (unsigned char)at[i];
    return value;
}

/* Collects bytes until z->head has want; whether it has. */
static bool collect(npz_reader *z, const char **p, const char *end, size_t want)
{
    const size_t missing = want > z->head.length ? want - z->head.length : 0;
    const size_t n = (size_t)(end - *p) < missing ? (size_t)(end - *p) : missing;

    text_add_bytes(&z->head, *p, n);
    *p += n;
    return z->head.length >= want;
}

static bool take_magic(npz_reader *z, error *err)
{
    const uint32_t magic = (uint32_t)little(z->head.bytes, 4);

    if (magic == LOCAL_MAGIC)
        z->state = IN_HEADER;
    else if (magic == CENTRAL_MAGIC || magic == END_MAGIC) {
        z->state = IN_DIRECTORY;
        memcpy(z->last + END_BYTES - 4, z->head.bytes, 4);
        z->directory = 4;
    } else
        return error_set(err, ERR_NPY, "npz: %s",
                         z->members == 0 ? "the bytes are no zip file"
                                         : "a member is followed by no other");
    return true;
}

static bool take_header(npz_reader *z, error *err)
{
    const char *h = z->head.bytes;
    npz_member *m = &z->member;

    *m = (npz_member){.flags = (unsigned)little(h + 6, 2),
                      .method = (unsigned)little(h + 8, 2),
                      .crc = (uint32_t)little(h + 14, 4),
                      .packed = little(h + 18, 4),
                      .size = little(h + 22, 4),
                      .name_bytes = little(h + 26, 2),
                      .extra_bytes = little(h + 28, 2)};
    if (++z->members > NPZ_MEMBERS_MAX)
        return error_set_limit(err, ERR_NPY, NPZ_MEMBERS_MAX, NPZ_MEMBERS_MAX + 1,
                               "npz: a file has at most %d members", NPZ_MEMBERS_MAX);
    if (m->flags & ENCRYPTED)
        return error_set(err, ERR_NPY, "npz: member %zu is encrypted", z->members);
    if (m->method != STORED && m->method != DEFLATED)
        return error_set(err, ERR_NPY, "npz: member %zu is packed by method %u; 0 and 8 are read",
                         z->members, m->method);
    z->state = IN_NAME;
    return true;
}

/* Takes the 64-bit sizes of the extra field, where the header says that they are
 * there. */
static bool take_extra(npz_member *m, const char *extra, error *err)
{
    const char *p = extra, *end = extra + m->extra_bytes;

    while (end - p >= 4) {
        const uint64_t id = little(p, 2), n = little(p + 2, 2);

        p += 4;
        if (n > (uint64_t)(end - p))
            break;
        if (id == 1 && n >= 16) {
            m->size = m->size == UINT32_MAX ? little(p, 8) : m->size;
            m->packed = m->packed == UINT32_MAX ? little(p + 8, 8) : m->packed;
        }
        p += n;
    }
    if (m->size == UINT32_MAX || m->packed == UINT32_MAX)
        return error_set(err, ERR_NPY, "npz: '%s' has no size", m->name);
    if (m->size > INT64_MAX || m->packed > INT64_MAX)
        return error_set(err, ERR_NPY, "npz: '%.60s' says a size that no file has", m->name);
    if (m->flags & SIZES_FOLLOW)
        m->size = m->packed = UNKNOWN;
    return true;
}

/* ---- A member begins ------------------------------------------------------------------ */

static bool begin_inflate(npz_reader *z, error *err)
{
    if (z->unpacked == NULL)
        z->unpacked = malloc(INFLATE_BYTES);
    if (z->has_inflate)
        inflateEnd(&z->inflate);
    memset(&z->inflate, 0, sizeof z->inflate);
    z->has_inflate = z->unpacked != NULL && inflateInit2(&z->inflate, -MAX_WBITS) == Z_OK;
    return z->has_inflate ||
           error_set(err, ERR_MEMORY_BUSY, "the machine has no room to inflate a member now");
}

static bool begin_json(npz_reader *z, error *err)
{
    if (z->document != WIRE_EVAL_BODY && z->document != WIRE_RUN_BODY)
        return error_set(err, ERR_NPY, "npz: this route takes no request.json");
    if (z->member.size == UNKNOWN && z->member.method == STORED)
        return error_set(err, ERR_NPY, "npz: the size of request.json must stand before it");
    z->json = json_reader_new(z->held, z->budget, z->document);
    z->member.is_json = z->has_envelope = true;
    return true;
}

static bool begin_array(npz_reader *z, size_t n, error *err)
{
    npz_member *m = &z->member;

    if (n < 5 || memcmp(m->name + n - 4, ".npy", 4) != 0)
        return error_set(err, ERR_NPY, "npz: member '%.60s' is no .npy file", m->name);
    m->name = arena_copy(z->held->arena, m->name, n - 4);
    m->tensor = held_add(z->held);
    array_reader_init(&m->array, m->tensor, z->budget, z->has_hint ? &z->hint : NULL,
                      m->size == UNKNOWN ? -1 : (int64_t)(m->size & INT64_MAX));
    return true;
}

/* Takes name and extra field, which are collected. */
static bool begin_member(npz_reader *z, error *err)
{
    npz_member *m = &z->member;
    const char *name = z->head.bytes + LOCAL_BYTES;

    if (memchr(name, '\0', m->name_bytes) != NULL)
        return error_set(err, ERR_NPY, "npz: the name of member %zu has a zero byte", z->members);
    m->name = arena_copy(z->held->arena, name, m->name_bytes);
    if (table_put(&z->names, m->name, z) != NULL)
        return error_set(err, ERR_NPY, "npz: the member '%.60s' is there twice", m->name);
    if (!take_extra(m, name + m->name_bytes, err) ||
        (m->method == DEFLATED && !begin_inflate(z, err)))
        return false;
    m->inflates_on = m->method == DEFLATED;
    z->state = IN_DATA;
    return strcmp(m->name, "request.json") == 0 ? begin_json(z, err)
                                                : begin_array(z, m->name_bytes, err);
}

/* ---- Its bytes ---------------------------------------------------------------------------- */

/* Passes unpacked bytes on. */
static bool deliver(npz_reader *z, const char *bytes, size_t n, error *err)
{
    npz_member *m = &z->member;

    if (n == 0)
        return true;
    m->crc_found = (uint32_t)crc32_z(m->crc_found, (const unsigned char *)bytes, n);
    m->got += n;
    if (m->got > m->size)
        return error_set(err, ERR_NPY, "npz: '%.60s' is larger than its header says", m->name);
    return m->is_json ? json_reader_feed(z->json, bytes, n, err)
                      : array_reader_feed(&m->array, bytes, n, err);
}

/* How many of the member's bytes in the file are still to come, if that is known;
 * for a stored one, its array may say. */
static uint64_t packed_left(const npz_member *m)
{
    const array_reader *a = &m->array;

    if (m->packed != UNKNOWN)
        return m->packed - m->packed_got;
    if (m->method == DEFLATED)
        return m->inflates_on ? UNKNOWN : 0;
    if (a->has_header)
        return a->size - a->got;
    return a->head.length < NPY_PREFIX ? NPY_PREFIX - a->head.length : 1;
}

static bool feed_deflated(npz_reader *z, const char **p, size_t n, error *err)
{
    z_stream *s = &z->inflate;
    int result = Z_OK;

    s->next_in = (unsigned char *)(uintptr_t)*p;
    s->avail_in = (unsigned)(n < (1u << 30) ? n : 1u << 30);
    while (result == Z_OK && (s->avail_in > 0 || s->avail_out == 0)) {
        s->next_out = (unsigned char *)z->unpacked;
        s->avail_out = INFLATE_BYTES;
        result = inflate(s, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return error_set(err, ERR_NPY, "npz: '%.60s' is damaged: %s", z->member.name,
                             s->msg != NULL ? s->msg : "it cannot be inflated");
        if (!deliver(z, z->unpacked, INFLATE_BYTES - s->avail_out, err))
            return false;
    }
    z->member.packed_got += (uint64_t)((const char *)s->next_in - *p);
    z->member.inflates_on = result != Z_STREAM_END;
    *p = (const char *)s->next_in;
    return true;
}

static bool feed_stored(npz_reader *z, const char **p, size_t n, error *err)
{
    const char *bytes = *p;

    z->member.packed_got += n;
    *p += n;
    return deliver(z, bytes, n, err);
}

/* Ends the member; *err if its checksum or its content is not right. */
static bool end_member(npz_reader *z, error *err)
{
    npz_member *m = &z->member;

    if (m->size != UNKNOWN && m->got != m->size)
        return error_set(err, ERR_NPY,
                         "npz: '%.60s' has %" PRIu64 " bytes, its header says %" PRIu64, m->name,
                         m->got, m->size);
    if (m->crc_found != m->crc)
        return error_set(err, ERR_NPY, "npz: the checksum of '%.60s' is wrong", m->name);
    z->state = AT_MAGIC;
    if (m->is_json) {
        z->envelope = json_reader_end(z->json, err);
        return z->envelope != NULL;
    }
    if (!array_reader_end(&m->array, err))
        return false;
    array_reader_clear(&m->array);
    z->arrays = arena_grow(z->held->arena, z->arrays, z->count, &z->room, sizeof *z->arrays);
    z->arrays[z->count++] = (npz_array){.name = m->name, .tensor = m->tensor};
    return true;
}

static bool feed_member(npz_reader *z, const char **p, const char *end, error *err)
{
    npz_member *m = &z->member;
    const uint64_t left = packed_left(m);
    const size_t n = (uint64_t)(end - *p) < left ? (size_t)(end - *p) : (size_t)left;

    if (n > 0) {
        const bool packed = m->method == DEFLATED && m->inflates_on;

        if (m->method == DEFLATED && !packed)
            return error_set(err, ERR_NPY, "npz: '%.60s' has bytes behind its end", m->name);
        if (!(packed ? feed_deflated(z, p, n, err) : feed_stored(z, p, n, err)))
            return false;
    }
    if (packed_left(m) > 0)
        return true;
    if (m->flags & SIZES_FOLLOW) {
        z->state = IN_TRAILER;
        return true;
    }
    if (m->method == DEFLATED && m->inflates_on)
        return error_set(err, ERR_NPY, "npz: '%.60s' is cut short", m->name);
    return end_member(z, err);
}

/* ---- Behind it --------------------------------------------------------------------------------
 */

/* Takes the checksum and sizes behind the data: sizes of 4 bytes or, in a zip64
 * file, 8; which, the next word tells, so that four bytes more are collected. */
static bool feed_trailer(npz_reader *z, const char **p, const char *end, bool *ended, error *err)
{
    static const size_t lengths[] = {16, 24};

    for (int i = 0; i < 2; i++) {
        if (!collect(z, p, end, lengths[i] + 4))
            return true;

        const uint32_t next = (uint32_t)little(z->head.bytes + lengths[i], 4);

        if (next != LOCAL_MAGIC && next != CENTRAL_MAGIC)
            continue;
        if (little(z->head.bytes, 4) != FOLLOW_MAGIC)
            break;
        z->member.crc = (uint32_t)little(z->head.bytes + 4, 4);
        z->head.length = 0;
        *ended = true;
        if (!end_member(z, err))
            return false;
        text_add_bytes(&z->head, (const char *)&next, 4);
        return true;
    }
    return error_set(err, ERR_NPY, "npz: the sizes behind '%.60s' cannot be read", z->member.name);
}

/* Keeps the last bytes, where the end record must be. */
static void pass_directory(npz_reader *z, const char *p, size_t n)
{
    z->directory += n;
    if (n >= END_BYTES) {
        memcpy(z->last, p + n - END_BYTES, END_BYTES);
        return;
    }
    memmove(z->last, z->last + n, END_BYTES - n);
    memcpy(z->last + END_BYTES - n, p, n);
}

/* ---- The file -----------------------------------------------------------------------------------
 */

/* Passes one part of the file, or as much of it as there is. */
static bool advance(npz_reader *z, const char **p, const char *end, error *err)
{
    bool ended = false;
    bool ok = true;

    switch (z->state) {
    case AT_MAGIC:
        return !collect(z, p, end, 4) || take_magic(z, err);
    case IN_HEADER:
        return !collect(z, p, end, LOCAL_BYTES) || take_header(z, err);
    case IN_NAME:
        if (!collect(z, p, end, LOCAL_BYTES + z->member.name_bytes + z->member.extra_bytes))
            return true;
        ok = begin_member(z, err);
        z->head.length = 0;
        return ok && (packed_left(&z->member) > 0 || feed_member(z, p, *p, err));
    case IN_DATA:
        return feed_member(z, p, end, err);
    case IN_TRAILER:
        return feed_trailer(z, p, end, &ended, err);
    default:
        pass_directory(z, *p, (size_t)(end - *p));
        *p = end;
        return true;
    }
}

bool npz_reader_feed(npz_reader *z, const char *bytes, size_t n, error *err)
{
    const char *p = bytes, *end = bytes + n;

    while (p < end)
        if (!advance(z, &p, end, err))
            return false;
    return true;
}

/* Whether the file ends where its end record says: nothing may hide behind a first end, where other
 * readers of zip files would look. Before it there may be the record and locator of a 64-bit file.
 */
static bool ends_once(const npz_reader *z)
{
    const char *last = (const char *)z->last;
    const uint64_t said = little(last + 12, 4);

    return z->state == IN_DIRECTORY && little(last, 4) == END_MAGIC && little(last + 20, 2) == 0 &&
           (z->directory == said + END_BYTES || z->directory == said + END64_BYTES + END_BYTES);
}

bool npz_reader_end(npz_reader *z, error *err)
{
    const char *last = (const char *)z->last;

    if (!ends_once(z))
        return error_set(err, ERR_NPY, "npz: the file is cut short, or something follows its end");
    if (little(last + 10, 2) != z->members)
        return error_set(err, ERR_NPY,
                         "npz: the file's directory has %" PRIu64 " members, the file %zu",
                         little(last + 10, 2), z->members);
    return true;
}
