/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/slice.h"

#include <inttypes.h>
#include <string.h>

/* ---- Reading ----------------------------------------------------------------------- */

typedef struct parser {
    const char *text, *at;
    error *err;
} parser;

static void skip_space(parser *p)
{
    p->at += strspn(p->at, " ");
}

static bool passes(parser *p, const char *word)
{
    const size_t n = strlen(word);

    skip_space(p);
    if (strncmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

static bool expected(parser *p, const char *what)
{
    return error_set(p->err, ERR_INDEX, "slice: expected %s at character %td of '%.80s'", what,
                     p->at - p->text + 1, p->text);
}

/* An integer, if one comes next (*has). */
static bool parse_integer(parser *p, int64_t *value, bool *has)
{
    const bool negative = passes(p, "-");

    *has = *p->at >= '0' && *p->at <= '9';
    if (!*has)
        return !negative || expected(p, "a number");
    for (*value = 0; *p->at >= '0' && *p->at <= '9'; p->at++) {
        const int digit = *p->at - '0';

        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, negative ? -digit : digit, value))
            return error_set(p->err, ERR_INDEX, "slice: a number of '%.80s' is out of range",
                             p->text);
    }
    return true;
}

/* What follows the first colon of a range. */
static bool parse_range(parser *p, slice_item *item)
{
    bool has_step = false;

    item->kind = SLICE_RANGE;
    item->step = 1;
    if (!parse_integer(p, &item->stop, &item->has_stop))
        return false;
    if (passes(p, ":") && !parse_integer(p, &item->step, &has_step))
        return false;
    if (item->step == 0)
        return error_set(p->err, ERR_INDEX, "slice: a step cannot be 0, in '%.80s'", p->text);
    return true;
}

static bool parse_item(parser *p, slice_item *item)
{
    *item = (slice_item){.kind = SLICE_INDEX};
    if (passes(p, "...")) {
        item->kind = SLICE_ELLIPSIS;
        return true;
    }
    if (passes(p, "None") || passes(p, "newaxis")) {
        item->kind = SLICE_NEW_AXIS;
        return true;
    }
    if (!parse_integer(p, &item->start, &item->has_start))
        return false;
    if (passes(p, ":"))
        return parse_range(p, item);
    return item->has_start || expected(p, "an integer, a range, '...' or None");
}

/* Whether what stood in brackets is a list of indices, which would mean something else. */
static bool is_list(const slice *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->items[i].kind != SLICE_INDEX)
            return false;
    return s->count > 0;
}

bool slice_parse(const char *text, slice *result, error *err)
{
    parser p = {.text = text, .at = text, .err = err};
    const bool bracket = passes(&p, "[");
    const char *close = bracket ? "]" : "";
    bool ellipsis = false;

    result->count = 0;
    skip_space(&p);
    while (*p.at != *close) {
        slice_item *item = &result->items[result->count];

        if (result->count == SLICE_ITEMS_MAX)
            return error_set_limit(err, ERR_INDEX, SLICE_ITEMS_MAX, SLICE_ITEMS_MAX + 1,
                                   "slice: at most %d indices", SLICE_ITEMS_MAX);
        if (!parse_item(&p, item))
            return false;
        if (item->kind == SLICE_ELLIPSIS && ellipsis)
            return error_set(err, ERR_INDEX, "slice: '...' can stand once only, in '%.80s'", text);
        ellipsis = ellipsis || item->kind == SLICE_ELLIPSIS;
        result->count++;
        skip_space(&p);
        if (*p.at != *close && !passes(&p, ","))
            return expected(&p, "a comma");
        skip_space(&p);
    }
    p.at += bracket;
    skip_space(&p);
    if (*p.at != '\0')
        return expected(&p, "nothing more");
    return !bracket || !is_list(result) ||
           error_set(err, ERR_INDEX,
                     "slice: a list of indices is not taken here, in '%.80s'; write 0,1 for one "
                     "element, 0:2 for a range, or use x[[0, 1]] in an evaluation",
                     text);
}

/* ---- Applying ----------------------------------------------------------------------- */

static bool add_axis(tensor *t, int64_t length, int64_t stride, error *err)
{
    if (t->shape.rank == RANK_MAX)
        return error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, RANK_MAX + 1,
                               "slice: a tensor has at most %d axes", RANK_MAX);
    t->shape.length[t->shape.rank] = length;
    t->strides[t->shape.rank++] = stride;
    return true;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The first element of a range on an axis of n elements, and how many it has. */
static void resolve_range(const slice_item *r, int64_t n, int64_t *first, int64_t *count)
{
    const bool forward = r->step > 0;
    const int64_t low = forward ? 0 : -1, high = forward ? n : n - 1;
    int64_t start = forward ? low : high, stop = forward ? high : low;

    if (r->has_start)
        start = clamp(r->start < 0 ? r->start + n : r->start, low, high);
    if (r->has_stop)
        stop = clamp(r->stop < 0 ? r->stop + n : r->stop, low, high);
    *first = start;
    *count = 0;
    if (forward && stop > start)
        *count = 1 + (stop - start - 1) / r->step;
    else if (!forward && start > stop)
        *count = 1 + (int64_t)((uint64_t)(start - stop - 1) / -(uint64_t)r->step);
}

static bool apply_range(const slice_item *r, const tensor *t, int axis, tensor *result, error *err)
{
    int64_t first, count;

    resolve_range(r, t->shape.length[axis], &first, &count);
    if (count > 0)
        result->offset += first * t->strides[axis];
    return add_axis(result, count, count > 1 ? t->strides[axis] * r->step : t->strides[axis], err);
}

static bool apply_index(int64_t index, const tensor *t, int axis, tensor *result, error *err)
{
    const int64_t n = t->shape.length[axis];

    if (index < -n || index >= n)
        return error_set(err, ERR_INDEX,
                         "slice: index %" PRId64 " is out of range for axis %d of length %" PRId64,
                         index, axis, n);
    result->offset += (index < 0 ? index + n : index) * t->strides[axis];
    return true;
}

/* How many axes the items take, the ellipsis aside. */
static int axes_taken(const slice *s)
{
    int axes = 0;

    for (int i = 0; i < s->count; i++)
        axes += s->items[i].kind == SLICE_INDEX || s->items[i].kind == SLICE_RANGE;
    return axes;
}

/* Takes n axes of t as they are, from *axis on. */
static bool keep_axes(const tensor *t, int n, int *axis, tensor *result, error *err)
{
    for (int i = 0; i < n; i++, (*axis)++)
        if (!add_axis(result, t->shape.length[*axis], t->strides[*axis], err))
            return false;
    return true;
}

static bool apply_item(const slice_item *item, const tensor *t, int spare, int *axis,
                       tensor *result, error *err)
{
    switch (item->kind) {
    case SLICE_INDEX:
        return apply_index(item->start, t, (*axis)++, result, err);
    case SLICE_RANGE:
        return apply_range(item, t, (*axis)++, result, err);
    case SLICE_ELLIPSIS:
        return keep_axes(t, spare, axis, result, err);
    default:
        return add_axis(result, 1, 0, err);
    }
}

bool slice_apply(const slice *s, const tensor *t, tensor *result, error *err)
{
    const int spare = t->shape.rank - axes_taken(s);
    tensor view = *t;
    int axis = 0;

    if (spare < 0)
        return error_set(err, ERR_INDEX, "slice: %d indices are too many for a tensor with %d ax%s",
                         axes_taken(s), t->shape.rank, t->shape.rank == 1 ? "is" : "es");
    view.weak = false;
    view.shape.rank = 0;
    for (int i = 0; i < s->count; i++)
        if (!apply_item(&s->items[i], t, spare, &axis, &view, err))
            return false;
    if (!keep_axes(t, t->shape.rank - axis, &axis, &view, err))
        return false;
    *result = view;
    return true;
}
