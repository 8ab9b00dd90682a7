/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/numbers.h"

#include <string.h>

#include "server/wire/element.h"

enum {
    ITEM_BYTES = 2 * RANK_MAX + 2 * ELEMENT_TEXT_MAX + 8, /* an element and all around it */
    BATCH_BYTES = 4096,
    BATCH = BATCH_BYTES / 16 /* elements, of any type */
};

_Static_assert((int)ITEM_BYTES <= (int)NUMBERS_ROOM_MIN, "an item must fit");

void numbers_init(numbers *s, const tensor *t, bool csv)
{
    memset(s, 0, sizeof *s);
    cursor_init(&s->cursor, t);
    s->part = dtype_real(t->dtype);
    s->complex = dtype_is_complex(t->dtype);
    s->csv = csv;
    s->print = element_printer_of(s->part, csv);
    s->between = csv && t->shape.rank == 1 ? '\n' : ',';
}

/* Counts n elements of the last axis; closed becomes the number of lists that end with
 * them. */
static void step(numbers *s, int64_t n)
{
    const shape *shape = &s->cursor.tensor->shape;
    int axis = shape->rank - 1;

    s->closed = 0;
    for (; axis >= 0 && (s->index[axis] += n) == shape->length[axis]; axis--, n = 1) {
        s->index[axis] = 0;
        s->closed++;
    }
}

static char *write_times(char *to, char c, int n)
{
    for (int i = 0; i < n; i++)
        *to++ = c;
    return to;
}

/* What stands before an element. */
static char *write_between(const numbers *s, char *to)
{
    if (!s->begun)
        return s->csv ? to : write_times(to, '[', s->cursor.tensor->shape.rank);
    if (s->csv) {
        *to++ = s->closed > 0 || s->cursor.tensor->shape.rank == 1 ? '\n' : ',';
        return to;
    }
    to = write_times(to, ']', s->closed);
    *to++ = ',';
    return write_times(to, '[', s->closed);
}

static char *write_pair(const numbers *s, const char *element, char *to)
{
    *to++ = '[';
    to = s->print(element, to);
    *to++ = ',';
    to = s->print(element + dtype_size(s->part), to);
    *to++ = ']';
    return to;
}

/* A complex number as 1.0+2.0j. */
static char *write_sum(const numbers *s, const char *element, char *to)
{
    char *imaginary;

    to = s->print(element, to);
    imaginary = to + 1;
    to = s->print(element + dtype_size(s->part), imaginary);
    if (*imaginary == '-') {
        memmove(imaginary - 1, imaginary, (size_t)(to - imaginary));
        to--;
    } else
        imaginary[-1] = '+';
    *to++ = 'j';
    return to;
}

/* Writes n elements of one line, commas between them. */
static char *write_line(const numbers *s, const char *element, int64_t n, char *to)
{
    const size_t size = dtype_size(s->cursor.tensor->dtype);

    for (int64_t i = 0; i < n; i++, element += size) {
        if (i > 0)
            *to++ = s->between;
        to = !s->complex ? s->print(element, to)
             : s->csv    ? write_sum(s, element, to)
                         : write_pair(s, element, to);
    }
    return to;
}

/* How many elements are left of the line that the next one is in. */
static int64_t line_left(const numbers *s)
{
    const int last = s->cursor.tensor->shape.rank - 1;

    return last < 0 ? 1 : s->cursor.tensor->shape.length[last] - s->index[last];
}

/* Writes the next n elements. */
static char *write_batch(numbers *s, int64_t n, char *to)
{
    const size_t size = dtype_size(s->cursor.tensor->dtype);
    char scratch[BATCH_BYTES];
    const char *element = cursor_next(&s->cursor, n, scratch);

    while (n > 0) {
        const int64_t left = line_left(s), now = n < left ? n : left;

        to = write_between(s, to);
        to = write_line(s, element, now, to);
        s->begun = true;
        step(s, now);
        element += now * (int64_t)size;
        n -= now;
    }
    return to;
}

/* What stands behind the last element. */
static char *write_end(numbers *s, char *to)
{
    s->ended = true;
    if (!s->begun && !s->csv) {
        *to++ = '[';
        *to++ = ']';
    } else if (!s->csv)
        to = write_times(to, ']', s->cursor.tensor->shape.rank);
    else if (s->begun)
        *to++ = '\n';
    return to;
}

size_t numbers_write(numbers *s, char *to, size_t room)
{
    char *p = to, *end = to + room;

    while (s->cursor.left > 0 && end - p >= ITEM_BYTES) {
        int64_t n = (end - p) / ITEM_BYTES;

        n = n < BATCH ? n : BATCH;
        p = write_batch(s, n < s->cursor.left ? n : s->cursor.left, p);
    }
    if (s->cursor.left == 0 && !s->ended && end - p >= ITEM_BYTES)
        p = write_end(s, p);
    return (size_t)(p - to);
}
