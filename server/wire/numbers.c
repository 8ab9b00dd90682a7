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
}

/* Counts an element; closed becomes the number of lists that end with it. */
static void step(numbers *s)
{
    const shape *shape = &s->cursor.tensor->shape;
    int axis = shape->rank - 1;

    s->closed = 0;
    for (; axis >= 0 && ++s->index[axis] == shape->length[axis]; axis--) {
        s->index[axis] = 0;
        s->closed++;
    }
}

static char *write_times(char *to, char c, int n)
{
    memset(to, c, (size_t)n);
    return to + n;
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
    to = element_print(s->part, element, to);
    *to++ = ',';
    to = element_print(s->part, element + dtype_size(s->part), to);
    *to++ = ']';
    return to;
}

static char *write_plain(const numbers *s, const char *element, char *to)
{
    char *imaginary;

    to = element_print_plain(s->part, element, to);
    if (!s->complex)
        return to;
    imaginary = to + 1;
    to = element_print_plain(s->part, element + dtype_size(s->part), imaginary);
    if (*imaginary == '-') {
        memmove(imaginary - 1, imaginary, (size_t)(to - imaginary));
        to--;
    } else
        imaginary[-1] = '+';
    *to++ = 'j';
    return to;
}

/* Writes the next n elements. */
static char *write_batch(numbers *s, int64_t n, char *to)
{
    const size_t size = dtype_size(s->cursor.tensor->dtype);
    char scratch[BATCH_BYTES];
    const char *element = cursor_next(&s->cursor, n, scratch);

    for (int64_t i = 0; i < n; i++, element += size) {
        to = write_between(s, to);
        s->begun = true;
        to = s->csv       ? write_plain(s, element, to)
             : s->complex ? write_pair(s, element, to)
                          : element_print(s->part, element, to);
        step(s);
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
