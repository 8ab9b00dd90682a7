/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/writer.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "engine/tensor/npy.h"
#include "server/wire/cursor.h"
#include "server/wire/npz_writer.h"
#include "server/wire/numbers.h"

enum { STAGE_BYTES = 4096 }; /* a piece that is smaller is cut from one of this size */

typedef enum part_kind { TEXT, ELEMENTS, NUMBERS } part_kind;

typedef struct part {
    part_kind kind;
    text text;
    tensor tensor;
} part;

struct wire_writer {
    wire_format format;
    part *parts;
    size_t count, room;
    npz_writer npz;
    bool complete; /* nothing is added any more */
    size_t now;    /* the part being sent */
    bool begun;
    size_t text_at;
    cursor cursor;
    numbers numbers;
    size_t stage_at, stage_end;
    char stage[STAGE_BYTES];
};

/* ---- Life cycle ------------------------------------------------------------------ */

wire_writer *wire_writer_new(wire_format format)
{
    wire_writer *w = malloc(sizeof *w);

    if (w == NULL)
        abort();
    memset(w, 0, offsetof(wire_writer, stage));
    w->format = format;
    npz_writer_init(&w->npz);
    return w;
}

void wire_writer_free(wire_writer *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->count; i++) {
        text_clear(&w->parts[i].text);
        if (w->parts[i].kind != TEXT)
            tensor_unref(&w->parts[i].tensor);
    }
    free(w->parts);
    npz_writer_clear(&w->npz);
    free(w);
}

/* ---- What it says ---------------------------------------------------------------- */

bool wire_writer_takes(wire_format format, const shape *s, error *err)
{
    char shown[SHAPE_TEXT_MAX];

    return format != WIRE_CSV || s->rank <= 2 ||
           error_set(err, ERR_ACCEPT, "csv has one or two axes, the result has the shape %s",
                     shape_print(s, shown));
}

static part *add_part(wire_writer *w, part_kind kind)
{
    if (w->count == w->room) {
        w->room = w->room == 0 ? 4 : 2 * w->room;
        w->parts = realloc(w->parts, w->room * sizeof *w->parts);
        if (w->parts == NULL)
            abort();
    }
    w->parts[w->count].kind = kind;
    text_init(&w->parts[w->count].text);
    return &w->parts[w->count++];
}

/* The last part, if it is text, else a new one. */
static text *text_part(wire_writer *w)
{
    if (w->count > 0 && w->parts[w->count - 1].kind == TEXT)
        return &w->parts[w->count - 1].text;
    return &add_part(w, TEXT)->text;
}

void wire_writer_text_bytes(wire_writer *w, const char *bytes, size_t n)
{
    text_add_bytes(text_part(w), bytes, n);
}

void wire_writer_text(wire_writer *w, const char *text)
{
    wire_writer_text_bytes(w, text, strlen(text));
}

static void add_tensor_part(wire_writer *w, part_kind kind, const tensor *t)
{
    part *p = add_part(w, kind);

    p->tensor = *t;
    tensor_ref(t);
}

static void add_tensor_object(wire_writer *w, const tensor *t)
{
    text *head = text_part(w);

    text_add(head, "{\"dtype\":\"");
    text_add(head, dtype_name(t->dtype));
    text_add(head, "\",\"shape\":[");
    for (int i = 0; i < t->shape.rank; i++) {
        text_add(head, i > 0 ? "," : "");
        text_add_int(head, t->shape.length[i]);
    }
    text_add(head, "],\"data\":");
    add_tensor_part(w, NUMBERS, t);
    text_add(text_part(w), "}");
}

static void add_npy(wire_writer *w, const tensor *t)
{
    text *head = text_part(w);

    head->length +=
        npy_header_write(text_reserve(head, NPY_HEADER_ROOM), t->dtype, &t->shape, NPY_ALIGN);
    add_tensor_part(w, ELEMENTS, t);
}

void wire_writer_tensor(wire_writer *w, const char *name, const tensor *t)
{
    if (w->format == WIRE_JSON)
        add_tensor_object(w, t);
    else if (w->format == WIRE_CSV)
        add_tensor_part(w, NUMBERS, t);
    else if (w->format == WIRE_RAW)
        add_tensor_part(w, ELEMENTS, t);
    else {
        if (w->format == WIRE_NPZ)
            npz_writer_member(&w->npz, name, t, text_part(w));
        add_npy(w, t);
    }
}

static void complete(wire_writer *w)
{
    if (w->format == WIRE_NPZ && !w->complete)
        npz_writer_end(&w->npz, text_part(w));
    w->complete = true;
}

/* ---- Sending --------------------------------------------------------------------- */

bool wire_writer_is_sound(const wire_writer *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->parts[i].kind != TEXT && buffer_is_lost(w->parts[i].tensor.buf))
            return false;
    return true;
}

int64_t wire_writer_length(wire_writer *w)
{
    int64_t length = 0;

    complete(w);
    for (size_t i = 0; i < w->count; i++) {
        if (w->parts[i].kind == NUMBERS)
            return -1;
        length += w->parts[i].kind == TEXT ? (int64_t)w->parts[i].text.length
                                           : tensor_nbytes(&w->parts[i].tensor);
    }
    return length;
}

static void begin_part(wire_writer *w, const part *p)
{
    w->begun = true;
    w->text_at = 0;
    if (p->kind == ELEMENTS)
        cursor_init(&w->cursor, &p->tensor);
    else if (p->kind == NUMBERS)
        numbers_init(&w->numbers, &p->tensor, w->format == WIRE_CSV);
}

static size_t write_text(wire_writer *w, const part *p, char *to, size_t room)
{
    const size_t left = p->text.length - w->text_at, n = left < room ? left : room;

    if (n > 0)
        memcpy(to, p->text.bytes + w->text_at, n);
    w->text_at += n;
    return n;
}

static size_t write_elements(wire_writer *w, char *to, size_t room)
{
    const size_t size = dtype_size(w->cursor.tensor->dtype), fit = room / size;
    const size_t n = (size_t)w->cursor.left < fit ? (size_t)w->cursor.left : fit;

    cursor_copy(&w->cursor, (int64_t)n, to);
    return n * size;
}

/* Writes as much of the parts as fits into room bytes, at least STAGE_BYTES;
 * returns how much, 0 at the end. */
static size_t produce(wire_writer *w, char *to, size_t room)
{
    while (w->now < w->count) {
        const part *p = &w->parts[w->now];
        size_t n;

        if (!w->begun)
            begin_part(w, p);
        n = p->kind == TEXT       ? write_text(w, p, to, room)
            : p->kind == ELEMENTS ? write_elements(w, to, room)
                                  : numbers_write(&w->numbers, to, room);
        if (n > 0)
            return n;
        w->begun = false;
        w->now++;
    }
    return 0;
}

/* Writes staged bytes, at most n. */
static size_t drain(wire_writer *w, char *to, size_t n)
{
    const size_t left = w->stage_end - w->stage_at, taken = left < n ? left : n;

    memcpy(to, w->stage + w->stage_at, taken);
    w->stage_at += taken;
    return taken;
}

size_t wire_writer_read(wire_writer *w, void *to, size_t n)
{
    char *out = to;
    size_t done = 0;

    complete(w);
    while (done < n) {
        size_t written = drain(w, out + done, n - done);

        if (written == 0 && n - done >= STAGE_BYTES) {
            written = produce(w, out + done, n - done);
            if (written == 0)
                break;
        } else if (written == 0) {
            w->stage_at = 0;
            w->stage_end = produce(w, w->stage, STAGE_BYTES);
            if (w->stage_end == 0)
                break;
        }
        done += written;
    }
    return done;
}
