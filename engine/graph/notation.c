/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include "engine/base/table.h"
#include "engine/graph/view_private.h"

static const struct row {
    const char *op;
    notation says;
} rows[] = {
#define BINARY(id, text, precedence, op, latex)                                                    \
    {op, {precedence, text, latex, precedence == 8, NULL}},
#define COMPARE(id, text, op, latex) {op, {0, text, latex, false, NULL}},
#include "engine/ops/operators.def"
#undef BINARY
#undef COMPARE
#define WRITTEN(op, precedence, plain, latex) {op, {precedence, plain, latex, false, NULL}},
#define SCALAR(op, name)
#include "engine/graph/notation.def"
#undef WRITTEN
#undef SCALAR
};

static const char *const scalars[][2] = {
#define WRITTEN(op, precedence, plain, latex)
#define SCALAR(op, name) {op, name},
#include "engine/graph/notation.def"
#undef WRITTEN
#undef SCALAR
};

static table by_name;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The notation of an operation, made if it is new. */
static notation *entry(const char *op)
{
    notation *n = table_get(&by_name, op);

    if (n == NULL) {
        n = arena_alloc(by_name.arena, sizeof *n);
        n->precedence = PRECEDENCE_ATOM;
        table_put(&by_name, op, n);
    }
    return n;
}

/* An operator as a form, unless it is one. */
static const char *form_of(const char *written)
{
    if (written == NULL || strpbrk(written, "$#") != NULL)
        return written;
    return arena_format(by_name.arena, "$0 %s $1", written);
}

static void fill(void)
{
    table_init(&by_name, arena_new());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        notation *n = entry(rows[i].op);

        *n = rows[i].says;
        n->plain = form_of(n->plain);
        n->latex = form_of(n->latex);
    }
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        entry(scalars[i][0])->scalar = scalars[i][1];
}

const notation *notation_of(const op_def *op)
{
    static const notation nothing = {.precedence = PRECEDENCE_ATOM};
    const notation *n;

    pthread_once(&once, fill);
    n = op->body != NULL ? NULL : table_get(&by_name, op->name);
    return n != NULL ? n : &nothing;
}
