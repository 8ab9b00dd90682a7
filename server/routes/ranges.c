/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/ranges.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tensor/npy.h"
#include "engine/tensor/resident.h"

/* A run of bytes: of the .npy header, then of the elements. */
typedef struct span {
    tensor tensor; /* dense; holds a reference */
    char header[NPY_HEADER_ROOM];
    int64_t header_bytes;
    int64_t at, end; /* of the whole */
} span;

static ssize_t fill(void *state, char *to, size_t room)
{
    span *s = state;
    const bool in_header = s->at < s->header_bytes;
    const int64_t stop = in_header && s->header_bytes < s->end ? s->header_bytes : s->end;
    const int64_t n = stop - s->at < (int64_t)room ? stop - s->at : (int64_t)room;
    const char *from = in_header ? s->header + s->at
                                 : (const char *)tensor_bytes(&s->tensor) + s->at - s->header_bytes;

    resident_check(); /* it may be of a mapped file */
    memcpy(to, from, (size_t)n);
    s->at += n;
    return buffer_is_lost(s->tensor.buf) ? -1 : n;
}

static void close_span(void *state)
{
    span *s = state;

    tensor_unref(&s->tensor);
    free(s);
}

static bool read_number(const char **at, int64_t *number)
{
    char *end;

    if (**at < '0' || **at > '9')
        return false;
    *number = strtoll(*at, &end, 10);
    *at = end;
    return true;
}

/* Reads bytes=a-b, a- or -n as the bytes from, to (not included) of size. False if it is
 * not one range. */
static bool read_range(const char *text, int64_t size, int64_t *from, int64_t *to)
{
    int64_t last = INT64_MAX - 1, n;

    if (strncmp(text, "bytes=", 6) != 0)
        return false;
    text += 6;
    if (*text == '-') {
        text++;
        if (!read_number(&text, &n) || *text != '\0')
            return false;
        *from = n < size ? size - n : 0;
        *to = n == 0 ? *from : size;
        return true;
    }
    if (!read_number(&text, from) || *text++ != '-')
        return false;
    if (*text != '\0' && (!read_number(&text, &last) || *text != '\0' || last < *from))
        return false;
    *to = last >= size ? size : last + 1;
    return true;
}

static void answer_span(http_request *r, wire_format format, span *s, int64_t size)
{
    char lengths[WIRE_SHAPE_MAX];

    answer_stream(r, 206, wire_media_type(format), s->end - s->at,
                  (http_source){.state = s, .fill = fill, .close = close_span});
    answer_header(
        r, "Content-Range",
        arena_format(r->arena, "bytes %" PRId64 "-%" PRId64 "/%" PRId64, s->at, s->end - 1, size));
    answer_header(r, "Tensor-Dtype", dtype_name(s->tensor.dtype));
    answer_header(r, "Tensor-Shape", wire_shape_header(&s->tensor.shape, lengths));
}

bool ranges_answer(http_request *r, wire_format format, const tensor *t, bool may, bool *done,
                   error *err)
{
    const char *asked = http_header(r, "Range");
    int64_t size = tensor_nbytes(t), from, to;
    span *s;

    if ((format != WIRE_RAW && format != WIRE_NPY) || !tensor_is_contiguous(t))
        return true;
    answer_header(r, "Accept-Ranges", "bytes");
    if (asked == NULL || !may || strcmp(r->method, "GET") != 0)
        return true;
    s = calloc(1, sizeof *s);
    if (s == NULL)
        abort();
    if (format == WIRE_NPY)
        s->header_bytes = (int64_t)npy_header_write(s->header, t->dtype, &t->shape, NPY_ALIGN);
    size += s->header_bytes;
    if (!read_range(asked, size, &from, &to) || from >= to) {
        free(s);
        return !read_range(asked, size, &from, &to) ||
               error_set_limit(err, ERR_RANGE, size, from,
                               "The range begins behind the end: there are %" PRId64 " bytes.",
                               size);
    }
    s->at = from;
    s->end = to;
    s->tensor = *t;
    tensor_ref(t);
    answer_span(r, format, s, size);
    *done = true;
    return true;
}
