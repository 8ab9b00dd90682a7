/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/text.h"

const shape shape_scalar = {0};

bool shape_is_known(const shape *s)
{
    for (int i = 0; i < s->rank; i++)
        if (s->length[i] < 0)
            return false;
    return true;
}

int64_t shape_size(const shape *s)
{
    int64_t size = 1;

    for (int i = 0; i < s->rank; i++)
        size *= s->length[i];
    return size;
}

bool shape_check(const shape *s, const char *who, error *err)
{
    int64_t product = 1;

    if (s->rank > RANK_MAX)
        return error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, s->rank,
                               "%s: a tensor has at most %d axes, not %d", who, RANK_MAX, s->rank);
    for (int i = 0; i < s->rank; i++) {
        const int64_t n = s->length[i];

        if (n < 0 && n != LENGTH_UNKNOWN)
            return error_set(err, ERR_SHAPE_INVALID, "%s: axis %d cannot have the length %" PRId64,
                             who, i, n);
        if (n > LENGTH_MAX)
            return error_set_limit(err, ERR_SHAPE_INVALID, LENGTH_MAX, n,
                                   "%s: axis %d is longer than the limit: %" PRId64, who, i, n);
        if (n > 0 && (__builtin_mul_overflow(product, n, &product) || product > LENGTH_MAX)) {
            char text[SHAPE_TEXT_MAX];

            return error_set_limit(err, ERR_SHAPE_INVALID, LENGTH_MAX, INT64_MAX,
                                   "%s: the shape %s has more elements than the limit", who,
                                   shape_print(s, text));
        }
    }
    return true;
}

bool shape_equal(const shape *a, const shape *b)
{
    return a->rank == b->rank &&
           memcmp(a->length, b->length, (size_t)a->rank * sizeof *a->length) == 0;
}

/* What two lengths broadcast to; false if they do not. */
static bool length_broadcast(int64_t a, int64_t b, int64_t *result)
{
    const bool a_decides = b == 1 || (b == LENGTH_UNKNOWN && a > 1) || a == b || a == 0;
    const bool b_decides = a == 1 || (a == LENGTH_UNKNOWN && b > 1) || b == 0;

    if (a == 0 && b > 1)
        return false;
    if (b == 0 && a > 1)
        return false;
    if (a == LENGTH_UNKNOWN && b == 1) /* stays unknown */
        *result = LENGTH_UNKNOWN;
    else if (a_decides)
        *result = a == 1 ? b : a;
    else if (b_decides)
        *result = b;
    else
        return false;
    return true;
}

bool shape_broadcast(shape *result, const shape *b, int *axis)
{
    const shape a = *result;
    const int rank = a.rank > b->rank ? a.rank : b->rank;

    result->rank = rank;
    for (int i = 1; i <= rank; i++) {
        const int64_t la = i <= a.rank ? a.length[a.rank - i] : 1;
        const int64_t lb = i <= b->rank ? b->length[b->rank - i] : 1;

        *axis = i;
        if (!length_broadcast(la, lb, &result->length[rank - i]))
            return false;
    }
    return true;
}

bool shape_axis(int64_t axis, int rank, const char *who, int *result, error *err)
{
    if (axis < -rank || axis >= rank)
        return error_set(err, ERR_AXIS,
                         "%s: axis %" PRId64 " is out of range for a tensor with %d ax%s", who,
                         axis, rank, rank == 1 ? "is" : "es");
    *result = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

void shape_strides(const shape *s, int64_t strides[RANK_MAX])
{
    int64_t step = 1;

    for (int i = s->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= s->length[i] > 0 ? s->length[i] : 1;
    }
}

const char *shape_text(const shape *s, arena *a)
{
    text t;
    const char *result;

    text_init(&t);
    text_add_char(&t, '[');
    for (int i = 0; i < s->rank; i++) {
        text_add(&t, i > 0 ? ", " : "");
        if (s->length[i] < 0)
            text_add_char(&t, '?');
        else
            text_addf(&t, "%" PRId64, s->length[i]);
    }
    text_add_char(&t, ']');
    result = text_copy(&t, a);
    text_clear(&t);
    return result;
}

const char *shape_print(const shape *s, char to[SHAPE_TEXT_MAX])
{
    size_t n = 0;

    to[n++] = '[';
    for (int i = 0; i < s->rank && n < SHAPE_TEXT_MAX - 30; i++) {
        const char *comma = i > 0 ? ", " : "";

        if (s->length[i] < 0)
            n += (size_t)snprintf(to + n, SHAPE_TEXT_MAX - n, "%s?", comma);
        else
            n += (size_t)snprintf(to + n, SHAPE_TEXT_MAX - n, "%s%" PRId64, comma, s->length[i]);
    }
    snprintf(to + n, SHAPE_TEXT_MAX - n, n < SHAPE_TEXT_MAX - 30 ? "]" : ", ...]");
    return to;
}
