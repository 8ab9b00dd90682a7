/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/answer.h"

#include <string.h>

#include "engine/base/clock.h"
#include "engine/tensor/resident.h"

enum { SHORT_BYTES = 64 << 10, PIECE_BYTES = 16 << 10 };

wire_format answer_format(const http_request *r)
{
    for (int f = 0; f < WIRE_FORMATS; f++)
        if (route_media(r) != NULL && strcmp(route_media(r), wire_media_type((wire_format)f)) == 0)
            return (wire_format)f;
    return WIRE_JSON;
}

static ssize_t fill(void *state, char *to, size_t room)
{
    const ssize_t n = (ssize_t)wire_writer_read(state, to, room);

    resident_check(); /* it may be of a mapped file */
    return wire_writer_is_sound(state) ? n : -1;
}

static void close_writer(void *state)
{
    wire_writer_free(state);
}

static void answer_now(http_request *r, int status, wire_format format, wire_writer *w)
{
    const int64_t start = clock_us();
    text body;
    size_t n;

    text_init(&body);
    do {
        n = wire_writer_read(w, text_reserve(&body, PIECE_BYTES), PIECE_BYTES);
        body.length += n;
    } while (n > 0);
    wire_writer_free(w);
    http_spent(r, PHASE_ENCODE, clock_us() - start);
    answer_text(r, status, wire_media_type(format), &body);
}

void answer_written_take(http_request *r, int status, wire_format format, wire_writer *w,
                         int64_t bytes)
{
    if (bytes <= SHORT_BYTES)
        answer_now(r, status, format, w);
    else
        answer_stream(r, status, wire_media_type(format), wire_writer_length(w),
                      (http_source){.state = w, .fill = fill, .close = close_writer});
}

bool answer_tensor(http_request *r, wire_format format, const char *name, const tensor *t,
                   error *err)
{
    char lengths[WIRE_SHAPE_MAX];
    wire_writer *w;

    if (!wire_writer_takes(format, &t->shape, err))
        return false;
    w = wire_writer_new(format);
    wire_writer_tensor(w, name, t);
    if (format == WIRE_JSON)
        wire_writer_text(w, "\n");
    answer_written_take(r, 200, format, w, tensor_nbytes(t));
    answer_header(r, "Tensor-Dtype", dtype_name(t->dtype));
    answer_header(r, "Tensor-Shape", wire_shape_header(&t->shape, lengths));
    return true;
}
