/* SPDX-License-Identifier: Apache-2.0 */
/* Index keys as text: 1:3, ..., None, $1. They stand in graph JSON and in the
 * query of an address, so they are read without a program around them. */
#include <inttypes.h>
#include <string.h>

#include "engine/base/number.h"
#include "engine/lang/lang.h"

typedef struct reader {
    const char *text, *at, *end;
    int operands; /* how many tensors $1, $2 .. may name */
} reader;

static void skip_blanks(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static bool take_word(reader *r, const char *word)
{
    const size_t n = strlen(word);

    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

static bool fail(const reader *r, const char *what, error *err)
{
    return error_set(err, ERR_INDEX, "%s at character %d of the index \"%.80s\"", what,
                     (int)(r->at - r->text) + 1, r->text);
}

static bool at_number(const reader *r)
{
    return r->at < r->end && (*r->at == '-' || (*r->at >= '0' && *r->at <= '9'));
}

/* An integer, if there is one. */
static bool take_integer(reader *r, bool *has, int64_t *value, error *err)
{
    bool range = false;
    const char *next;

    skip_blanks(r);
    *has = at_number(r);
    if (!*has)
        return true;
    next = number_read_i64(r->at, r->end, value, &range);
    if (next == NULL)
        return fail(r, range ? "an integer beyond int64" : "no integer", err);
    r->at = next;
    skip_blanks(r);
    return true;
}

/* What is left of a slice, behind its start. */
static bool read_slice(reader *r, index_item *item, error *err)
{
    item->kind = INDEX_SLICE;
    if (!take_integer(r, &item->has_stop, &item->stop, err))
        return false;
    return !take_word(r, ":") || take_integer(r, &item->has_step, &item->step, err);
}

static bool read_operand(reader *r, index_item *item, error *err)
{
    int64_t number = 0;
    bool has;

    item->kind = INDEX_TENSOR;
    if (!take_integer(r, &has, &number, err))
        return false;
    if (!has || number < 1 || number > r->operands)
        return fail(r, "$ must be followed by the number of an argument", err);
    item->operand = (int)number;
    return true;
}

static bool read_item(reader *r, index_item *item, error *err)
{
    skip_blanks(r);
    if (take_word(r, "...")) {
        item->kind = INDEX_ELLIPSIS;
        return true;
    }
    if (take_word(r, "None") || take_word(r, "newaxis")) {
        item->kind = INDEX_NEWAXIS;
        return true;
    }
    if (take_word(r, "$"))
        return read_operand(r, item, err);
    if (!take_integer(r, &item->has_start, &item->start, err))
        return false;
    if (take_word(r, ":"))
        return read_slice(r, item, err);
    item->kind = INDEX_INTEGER;
    return item->has_start || fail(r, "expected an integer, a slice, ..., None or $1", err);
}

bool lang_index_parse(arena *a, const char *text, size_t length, int operands, attr *result,
                      error *err)
{
    const char *copy = arena_copy(a, text, length);
    reader r = {copy, copy, copy + length, operands};
    index_item *items = NULL;
    size_t room = 0;
    int n = 0;

    for (bool more = true; more;) {
        if (n == 2 * RANK_MAX)
            return fail(&r, "too many items", err);
        items = arena_grow(a, items, (size_t)n, &room, sizeof *items);
        items[n] = (index_item){0};
        if (!read_item(&r, &items[n++], err))
            return false;
        skip_blanks(&r);
        more = take_word(&r, ",");
        skip_blanks(&r);
        more = more && r.at < r.end; /* a comma may end the key */
    }
    if (r.at < r.end)
        return fail(&r, "expected a comma", err);
    *result = (attr){.kind = ATTR_INDEX, .n = n, .index = items};
    return true;
}
