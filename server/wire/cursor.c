/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/cursor.h"

#include <string.h>

void cursor_init(cursor *c, const tensor *t)
{
    *c = (cursor){.tensor = t, .contiguous = tensor_is_contiguous(t), .left = tensor_size(t)};
}

/* The elements of the last axis that lie behind the next one, itself included. */
static int64_t run_length(const cursor *c)
{
    const int last = c->tensor->shape.rank - 1;

    return last < 0 ? 1 : c->tensor->shape.length[last] - c->index[last];
}

/* Moves on by n elements, at most to the end of the last axis. */
static void move(cursor *c, int64_t n)
{
    const tensor *t = c->tensor;
    int axis = t->shape.rank - 1;

    if (axis < 0)
        return;
    c->index[axis] += n;
    c->at += n * t->strides[axis];
    while (axis > 0 && c->index[axis] == t->shape.length[axis]) {
        c->at -= c->index[axis] * t->strides[axis];
        c->index[axis--] = 0;
        c->index[axis]++;
        c->at += t->strides[axis];
    }
}

static void copy_run(char *to, const char *from, int64_t n, int64_t step, size_t size)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * size, from + i * step, size);
}

void cursor_copy(cursor *c, int64_t n, void *to)
{
    const tensor *t = c->tensor;
    const size_t size = dtype_size(t->dtype);
    const char *first = tensor_bytes(t);
    char *out = to;

    c->left -= n;
    if (c->contiguous) {
        memcpy(out, first + c->at * (int64_t)size, (size_t)n * size);
        c->at += n;
        return;
    }
    while (n > 0) {
        const int64_t run = run_length(c) < n ? run_length(c) : n;
        const int64_t step = t->shape.rank > 0 ? t->strides[t->shape.rank - 1] : 0;

        copy_run(out, first + c->at * (int64_t)size, run, step * (int64_t)size, size);
        out += (size_t)run * size;
        n -= run;
        move(c, run);
    }
}

const void *cursor_next(cursor *c, int64_t n, void *scratch)
{
    const char *here;

    if (!c->contiguous) {
        cursor_copy(c, n, scratch);
        return scratch;
    }
    here = (const char *)tensor_bytes(c->tensor) + c->at * (int64_t)dtype_size(c->tensor->dtype);
    c->at += n;
    c->left -= n;
    return here;
}
