/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/data.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/wire/data_parts.h"
#include "server/wire/element.h"

void data_init(data *d, budget *b)
{
    memset(d, 0, sizeof *d);
    grow_init(&d->bytes, b);
    grow_init(&d->patches, b);
}

void data_clear(data *d)
{
    grow_clear(&d->bytes);
    grow_clear(&d->patches);
}

void data_begin(data *d, const dtype *known, int depth_max)
{
    d->state = DATA_ITEM;
    d->kind = known != NULL ? KIND_DIRECT : KIND_INTEGER;
    d->part = known != NULL ? dtype_real(*known) : DT_F64;
    d->depth_max = depth_max < RANK_MAX ? depth_max : RANK_MAX;
    d->level = 0;
    d->rank = -1;
    d->count[0] = 0;
    d->has_bool = d->has_number = d->has_big = d->has_negative = false;
    d->elements = 0;
    d->bytes.size = 0;
    d->patches.size = 0;
    d->in_token = d->in_string = false;
    d->path[0] = '\0';
}

/* ---- Faults ----------------------------------------------------------------------- */

/* Adds one step to the pointer in d->path and to the indices, which are longer. What there is no
 * room for is left out. */
static void add_step(data *d, char index[DATA_PATH_MAX], int64_t at)
{
    const size_t n = strlen(d->path), m = strlen(index);

    if (m >= DATA_PATH_MAX - 24)
        return;
    snprintf(d->path + n, DATA_PATH_MAX - n, "/%" PRId64, at);
    snprintf(index + m, DATA_PATH_MAX - m, "[%" PRId64 "]", at);
}

/* Writes where the current item is, as a pointer to d->path and as indices to
 * index. */
static void note_position(data *d, int level, char index[DATA_PATH_MAX])
{
    d->path[0] = index[0] = '\0';
    for (int i = 1; i <= level; i++)
        add_step(d, index, d->count[i] > 0 ? d->count[i] - 1 : 0);
}

static const char *syntax_fault(size_t offset, const char *at, const char *text, const char *what,
                                error *err)
{
    const unsigned char c = (unsigned char)*at;
    const size_t where = offset + (size_t)(at - text);

    if (c > 0x20 && c < 0x7f)
        error_set(err, ERR_JSON, "expected %s at byte %zu, found '%c'", what, where, c);
    else
        error_set(err, ERR_JSON, "expected %s at byte %zu, found byte 0x%02x", what, where, c);
    return NULL;
}

static bool ragged(data *d, int level, const char *what, error *err)
{
    char index[DATA_PATH_MAX];

    note_position(d, level, index);
    return error_set(err, ERR_SHAPE, "the lists are ragged at %s: %s", index[0] ? index : "the top",
                     what);
}

bool data_misfit(data *d, int64_t element, int fit, dtype t, error *err)
{
    char index[DATA_PATH_MAX] = "";
    int64_t rest = element, size = 1;

    d->path[0] = '\0';
    for (int i = 1; i <= d->rank; i++)
        size *= d->length[i] > 0 ? d->length[i] : 1;
    for (int i = 1; i <= d->rank; i++) {
        size /= d->length[i] > 0 ? d->length[i] : 1;
        add_step(d, index, rest / size);
        rest %= size;
    }
    return error_set(err, fit == FIT_RANGE ? ERR_OVERFLOW : ERR_VALUE, "the number%s%s %s %s",
                     index[0] ? " at " : "", index, element_misfit(fit), dtype_name(t));
}

bool data_bad_element(data *d, error_kind kind, const char *text, size_t n, const char *what,
                      error *err)
{
    char index[DATA_PATH_MAX], shown[40];
    size_t length = n < sizeof shown ? n : sizeof shown - 1;

    for (size_t i = 0; i < length; i++)
        shown[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    shown[length] = '\0';
    note_position(d, d->level, index);
    return error_set(err, kind, "%s%s%s%s %s", shown, length < n ? "..." : "",
                     index[0] ? " at " : "", index, what);
}

/* Counts an item about to begin at the current level. */
static void count_item(data *d)
{
    d->count[d->level]++;
}

/* Checks that an element may stand at this depth. */
static bool check_rank(data *d, error *err)
{
    if (d->rank < 0) {
        d->rank = d->level;
        return true;
    }
    return d->level == d->rank ||
           ragged(d, d->level, "a number stands where others have a list", err);
}

/* ---- Tokens ------------------------------------------------------------------------ */

/* Bytes that end a bare token; is_space(c) for some of them. */
static const bool enders[256] = {
    [' '] = true, ['\n'] = true, ['\r'] = true, ['\t'] = true, [','] = true, [']'] = true,
    ['['] = true, ['}'] = true,  ['{'] = true,  [':'] = true,  ['"'] = true};

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool ends_token(char c)
{
    return enders[(unsigned char)c];
}

static const struct {
    const char *word;
    double value;
    bool boolean, quoted; /* only as a bare word; also as a string */
} words[] = {
    {"true", 1, true, false},
    {"false", 0, true, false},
    {"NaN", NAN, false, true},
    {"Infinity", INFINITY, false, true},
    {"-Infinity", -INFINITY, false, true},
};

static bool add_word(data *d, const char *text, size_t n, bool quoted, error *err)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) != n || memcmp(words[i].word, text, n) != 0 ||
            (quoted && !words[i].quoted))
            continue;
        return words[i].boolean ? data_add_bool(d, words[i].value != 0, text, n, err)
                                : data_add_special(d, words[i].value, text, n, err);
    }
    if (quoted)
        return data_bad_element(d, ERR_VALUE, text, n,
                                "is a string; tensor data has numbers, booleans, \"NaN\", "
                                "\"Infinity\" and \"-Infinity\"",
                                err);
    if (n == 4 && memcmp(text, "null", 4) == 0)
        return data_bad_element(d, ERR_VALUE, text, n, "is not a number; write \"NaN\" for it",
                                err);
    return data_bad_element(d, ERR_JSON, text, n, "is not a JSON value", err);
}

/* Adds the element of a whole bare token. */
static bool add_token(data *d, const char *text, size_t n, error *err)
{
    bool whole;

    if (n > DATA_TOKEN_MAX)
        return error_set_limit(err, ERR_JSON_LIMIT, DATA_TOKEN_MAX, (int64_t)n,
                               "a number has at most %d characters", DATA_TOKEN_MAX);
    if (!check_rank(d, err))
        return false;
    if (element_scan(text, text + n, &whole) == text + n)
        return data_add_number(d, text, text + n, whole, err);
    return add_word(d, text, n, false, err);
}

static void end_item(data *d)
{
    d->state = d->level == 0 ? DATA_DONE : DATA_COMMA_OR_CLOSE;
}

/* Keeps [text, end), a part of a token that goes on in the next piece. */
static bool keep_token(data *d, const char *text, const char *end, error *err)
{
    const size_t n = (size_t)(end - text), room = DATA_TOKEN_MAX - d->token_length;

    if (n > room)
        return error_set_limit(err, ERR_JSON_LIMIT, DATA_TOKEN_MAX, (int64_t)(d->token_length + n),
                               "a number has at most %d characters", DATA_TOKEN_MAX);
    memcpy(d->token + d->token_length, text, n);
    d->token_length += n;
    return true;
}

/* Goes on with a bare token; returns where it ends, or NULL. */
static const char *feed_bare(data *d, const char *text, const char *end, error *err)
{
    const char *p = text;

    while (p < end && !ends_token(*p))
        p++;
    if (!keep_token(d, text, p, err))
        return NULL;
    if (p == end)
        return p;
    d->in_token = false;
    if (!add_token(d, d->token, d->token_length, err))
        return NULL;
    end_item(d);
    return p;
}

/* Goes on with a string, which only a few words may be. */
static const char *feed_string(data *d, const char *text, const char *end, error *err)
{
    const char *p = text;

    while (p < end && *p != '"' && d->token_length < sizeof "-Infinity" + 30)
        d->token[d->token_length++] = *p++;
    if (p == end)
        return p;
    d->in_string = false;
    if (!check_rank(d, err) || !add_word(d, d->token, d->token_length, true, err))
        return NULL;
    end_item(d);
    return p + 1;
}

/* ---- Brackets ----------------------------------------------------------------------- */

static bool open_list(data *d, error *err)
{
    count_item(d);
    if (d->rank >= 0 && d->level >= d->rank)
        return ragged(d, d->level,
                      d->rank == 0 ? "a list follows a number"
                                   : "a list stands where others have a number",
                      err);
    if (d->level == d->depth_max)
        return error_set_limit(err, ERR_JSON_DEPTH, d->depth_max, d->level + 1,
                               "the lists are nested more than %d deep", d->depth_max);
    d->level++;
    d->count[d->level] = 0;
    if (d->elements == 0 && d->rank < 0)
        d->length[d->level] = -1;
    d->state = DATA_ITEM_OR_CLOSE;
    return true;
}

bool data_close_list(data *d, error *err)
{
    const int level = d->level;
    const int64_t n = d->count[level];
    char what[96];

    if (d->rank < 0)
        d->rank = level; /* [] has no elements, but ends at their depth */
    if (d->length[level] < 0 && level <= d->rank)
        d->length[level] = n;
    if (d->length[level] != n) {
        snprintf(what, sizeof what, "this list has %" PRId64 " items, the first one %" PRId64, n,
                 d->length[level]);
        return ragged(d, level - 1, what, err);
    }
    d->level--;
    end_item(d);
    return true;
}

/* ---- Feeding ------------------------------------------------------------------------ */

/* Begins an item at p. */
static const char *begin_item(data *d, const char *p, const char *end, error *err)
{
    const char *token = p;

    if (*p == '[')
        return open_list(d, err) ? p + 1 : NULL;
    count_item(d);
    if (*p == '{') {
        data_bad_element(d, ERR_VALUE, "an object", 9, "stands where a number is expected", err);
        return NULL;
    }
    d->token_length = 0;
    if (*p == '"') {
        d->in_string = true;
        return feed_string(d, p + 1, end, err);
    }
    while (p < end && !ends_token(*p))
        p++;
    if (p == end) {
        d->in_token = true;
        return keep_token(d, token, end, err) ? end : NULL;
    }
    if (!add_token(d, token, (size_t)(p - token), err))
        return NULL;
    end_item(d);
    return p;
}

/* Passes one byte of punctuation or begins an item. */
static const char *step(data *d, const char *p, const char *end, const char *text, size_t offset,
                        error *err)
{
    if (is_space(*p))
        return p + 1;
    if (d->state == DATA_COMMA_OR_CLOSE && *p == ',') {
        d->state = DATA_ITEM;
        return p + 1;
    }
    if (*p == ']' && d->state != DATA_ITEM)
        return data_close_list(d, err) ? p + 1 : NULL;
    if (d->state == DATA_COMMA_OR_CLOSE)
        return syntax_fault(offset, p, text, "a comma or ]", err);
    if (*p != '"' && *p != '[' && *p != '{' && ends_token(*p))
        return syntax_fault(offset, p, text, "a number or a list", err);
    return begin_item(d, p, end, err);
}

/* The last comma or bracket of the text: before it no number goes on in the next
 * piece. */
static const char *last_delimiter(const char *text, const char *end)
{
    while (end > text && end[-1] != ',' && end[-1] != ']')
        end--;
    return end > text ? end - 1 : text;
}

const char *data_feed(data *d, const char *text, const char *end, size_t offset, error *err)
{
    const char *p = text, *safe = last_delimiter(text, end);

    while (p != NULL && p < end && d->state != DATA_DONE) {
        if (d->in_token)
            p = feed_bare(d, p, end, err);
        else if (d->in_string)
            p = feed_string(d, p, end, err);
        else {
            const char *behind = data_takes_run(d, text, p, safe) ? data_run(d, p, safe, err) : p;

            p = behind != p ? behind : step(d, p, end, text, offset, err);
        }
    }
    return p;
}

bool data_end(data *d, size_t offset, error *err)
{
    if (d->in_token) {
        d->in_token = false;
        if (!add_token(d, d->token, d->token_length, err))
            return false;
        end_item(d);
    }
    return d->state == DATA_DONE ||
           error_set(err, ERR_JSON, "the body ends inside tensor data, at byte %zu", offset);
}
