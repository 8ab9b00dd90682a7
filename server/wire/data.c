/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/data.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/number.h"
#include "server/wire/element.h"

enum { ELEMENT_BYTES = 8 }; /* of the widest element or part */

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

/* Writes where the current item is, as a pointer to d->path and as indices to
 * index. */
static void note_position(data *d, int level, char index[DATA_PATH_MAX])
{
    size_t n = 0, m = 0;

    d->path[0] = index[0] = '\0';
    for (int i = 1; i <= level && n < DATA_PATH_MAX - 24; i++) {
        const int64_t at = d->count[i] > 0 ? d->count[i] - 1 : 0;

        n += (size_t)snprintf(d->path + n, DATA_PATH_MAX - n, "/%" PRId64, at);
        m += (size_t)snprintf(index + m, DATA_PATH_MAX - m, "[%" PRId64 "]", at);
    }
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
    size_t n = 0, m = 0;
    int64_t rest = element, size = 1;

    for (int i = 1; i <= d->rank; i++)
        size *= d->length[i] > 0 ? d->length[i] : 1;
    for (int i = 1; i <= d->rank && n < DATA_PATH_MAX - 24; i++) {
        size /= d->length[i] > 0 ? d->length[i] : 1;
        n += (size_t)snprintf(d->path + n, DATA_PATH_MAX - n, "/%" PRId64, rest / size);
        m += (size_t)snprintf(index + m, DATA_PATH_MAX - m, "[%" PRId64 "]", rest / size);
        rest %= size;
    }
    return error_set(err, fit == FIT_RANGE ? ERR_OVERFLOW : ERR_VALUE, "the number%s%s %s %s",
                     index[0] ? " at " : "", index, element_misfit(fit), dtype_name(t));
}

/* A number or word of the text that cannot be an element. */
static bool bad_element(data *d, error_kind kind, const char *text, size_t n, const char *what,
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

/* ---- Elements ------------------------------------------------------------------------ */

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

void data_to_float(data *d)
{
    char *p = d->bytes.bytes;

    for (int64_t i = 0; i < d->elements; i++, p += sizeof(int64_t)) {
        int64_t value;
        double x;

        memcpy(&value, p, sizeof value);
        x = d->has_big ? (double)(uint64_t)value : (double)value;
        memcpy(p, &x, sizeof x);
    }
    for (size_t at = 0; at < d->patches.size; at += sizeof(data_patch)) {
        data_patch patch;

        memcpy(&patch, d->patches.bytes + at, sizeof patch);
        memcpy(d->bytes.bytes + patch.element * 8, &patch.f64, sizeof patch.f64);
    }
    d->kind = KIND_FLOAT;
}

static bool add_patch(data *d, double f64, float f32, error *err)
{
    const data_patch patch = {d->elements, f64, f32};

    if (!grow_reserve(&d->patches, sizeof patch, err))
        return false;
    memcpy(d->patches.bytes + d->patches.size, &patch, sizeof patch);
    d->patches.size += sizeof patch;
    return true;
}

static void put(data *d, const void *element, size_t size)
{
    memcpy(d->bytes.bytes + d->bytes.size, element, size);
    d->bytes.size += size;
    d->elements++;
}

/* Adds a float of unknown type; text is its token, NULL for one of the words. */
static bool add_float(data *d, double value, const char *text, const char *end, error *err)
{
    uint64_t bits;
    float direct;

    if (d->kind == KIND_INTEGER)
        data_to_float(d);
    memcpy(&bits, &value, sizeof bits);
    if (text != NULL &&
        ((bits & 0x1fffffff) == 0x10000000 || (fabs(value) < 0x1p-126 && value != 0))) {
        number_read_f32(text, end, &direct);
        if (direct != (float)value && !add_patch(d, value, direct, err))
            return false;
    }
    put(d, &value, sizeof value);
    return true;
}

/* Adds an integer that neither int64 nor uint64 need hold. */
static bool add_big(data *d, const char *text, const char *end, error *err)
{
    uint64_t value;
    double x;
    bool out;
    const bool fits = number_read_u64(text, end, &value, &out) == end;

    if (fits && d->kind == KIND_INTEGER && !d->has_negative) {
        d->has_big = true;
        put(d, &value, sizeof value);
        return true;
    }
    number_read_f64(text, end, &x);
    if (isinf(x))
        return bad_element(d, ERR_OVERFLOW, text, (size_t)(end - text), "is too large for a number",
                           err);
    return add_float(d, x, text, end, err);
}

static bool add_integer(data *d, int64_t value, const char *text, const char *end, error *err)
{
    if (d->kind == KIND_FLOAT) {
        double x;

        number_read_f64(text, end, &x);
        return add_float(d, x, text, end, err);
    }
    if (value < 0 && d->has_big) {
        data_to_float(d);
        return add_float(d, (double)value, text, end, err);
    }
    if (value == 0 && *text == '-' && !add_patch(d, -0.0, -0.0f, err))
        return false;
    d->has_negative = d->has_negative || value < 0;
    put(d, &value, sizeof value);
    return true;
}

/* Adds an element of the known type. */
static bool add_direct(data *d, const char *text, const char *end, error *err)
{
    char element[ELEMENT_BYTES];
    const element_fit fit = element_read(d->part, text, end, element);
    char what[96];

    if (fit == FITS) {
        put(d, element, dtype_size(d->part));
        return true;
    }
    snprintf(what, sizeof what, "%s %s", element_misfit(fit), dtype_name(d->part));
    return bad_element(d, fit == FIT_RANGE ? ERR_OVERFLOW : ERR_VALUE, text, (size_t)(end - text),
                       what, err);
}

/* Adds the number, of correct grammar, that [text, end) is. */
static bool add_number(data *d, const char *text, const char *end, bool whole, error *err)
{
    int64_t i;
    double x;
    bool out;

    if (!grow_reserve(&d->bytes, ELEMENT_BYTES, err))
        return false;
    d->has_number = true;
    if (d->kind == KIND_DIRECT)
        return add_direct(d, text, end, err);
    if (whole && number_read_i64(text, end, &i, &out) == end)
        return add_integer(d, i, text, end, err);
    if (whole)
        return add_big(d, text, end, err);
    number_read_f64(text, end, &x);
    if (isinf(x))
        return bad_element(d, ERR_OVERFLOW, text, (size_t)(end - text), "is too large for float64",
                           err);
    return add_float(d, x, text, end, err);
}

static bool add_bool(data *d, bool value, const char *text, size_t n, error *err)
{
    char element[ELEMENT_BYTES];
    static const char digits[] = "01";
    const int64_t number = value;

    if (!grow_reserve(&d->bytes, ELEMENT_BYTES, err))
        return false;
    d->has_bool = true;
    if (d->kind != KIND_DIRECT)
        return add_integer(d, number, digits + value, digits + value + 1, err);
    if (element_from_i64(d->part, number, element) != FITS)
        return bad_element(d, ERR_VALUE, text, n, "does not fit the element type", err);
    put(d, element, dtype_size(d->part));
    return true;
}

static bool add_special(data *d, double value, const char *text, size_t n, error *err)
{
    char element[ELEMENT_BYTES];

    if (!grow_reserve(&d->bytes, ELEMENT_BYTES, err))
        return false;
    d->has_number = true;
    if (d->kind != KIND_DIRECT)
        return add_float(d, value, NULL, NULL, err);
    if (element_from_f64(d->part, value, element) != FITS)
        return bad_element(d, ERR_VALUE, text, n, "is a float, which integers cannot hold", err);
    put(d, element, dtype_size(d->part));
    return true;
}

/* ---- Tokens ------------------------------------------------------------------------ */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool ends_token(char c)
{
    return c == ',' || c == ']' || is_space(c) || c == '}' || c == '[' || c == '{' || c == ':' ||
           c == '"';
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
        return words[i].boolean ? add_bool(d, words[i].value != 0, text, n, err)
                                : add_special(d, words[i].value, text, n, err);
    }
    if (quoted)
        return bad_element(d, ERR_VALUE, text, n,
                           "is a string; tensor data has numbers, booleans, \"NaN\", "
                           "\"Infinity\" and \"-Infinity\"",
                           err);
    if (n == 4 && memcmp(text, "null", 4) == 0)
        return bad_element(d, ERR_VALUE, text, n, "is not a number; write \"NaN\" for it", err);
    return bad_element(d, ERR_JSON, text, n, "is not a JSON value", err);
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
        return add_number(d, text, text + n, whole, err);
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

static bool close_list(data *d, error *err)
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

/* Reads a run of plain numbers and commas inside a list as fast as possible, and
 * stops at the first byte that is anything else, or where a number may go on in
 * the next piece. The state is DATA_ITEM or DATA_COMMA_OR_CLOSE before and after;
 * elements are float64, known or found to be. */
static const char *run_of_floats(data *d, const char *p, const char *end, error *err)
{
    while (p < end) {
        const char *first = p, *digits, *behind;
        double value;

        if (!grow_reserve(&d->bytes, sizeof value, err))
            return NULL;
        digits = p + (*p == '-');
        for (behind = digits; behind < end && is_digit(*behind); behind++)
            continue;
        if (behind == digits || (*digits == '0' && behind > digits + 1) || behind + 1 >= end ||
            (*behind == '.' && !is_digit(behind[1])))
            return p;
        behind = number_read_f64(first, end, &value);
        if (behind == NULL || behind >= end || (*behind != ',' && *behind != ']') ||
            behind - first > DATA_TOKEN_MAX || isinf(value))
            return p;
        d->count[d->level]++;
        if (d->kind == KIND_DIRECT)
            put(d, &value, sizeof value);
        else if (!add_float(d, value, first, behind, err))
            return NULL;
        d->state = DATA_COMMA_OR_CLOSE;
        if (*behind == ']')
            return behind;
        p = behind + 1;
        d->state = DATA_ITEM;
        while (p < end && is_space(*p))
            p++;
    }
    return p;
}

static bool takes_run(const data *d)
{
    return d->level > 0 && d->level == d->rank && d->state == DATA_ITEM &&
           (d->kind == KIND_FLOAT || (d->kind == KIND_DIRECT && d->part == DT_F64));
}

/* Begins an item at p. */
static const char *begin_item(data *d, const char *p, const char *end, error *err)
{
    const char *token = p;

    if (*p == '[')
        return open_list(d, err) ? p + 1 : NULL;
    count_item(d);
    if (*p == '{') {
        bad_element(d, ERR_VALUE, "an object", 9, "stands where a number is expected", err);
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
        return close_list(d, err) ? p + 1 : NULL;
    if (d->state == DATA_COMMA_OR_CLOSE)
        return syntax_fault(offset, p, text, "a comma or ]", err);
    if (*p != '"' && *p != '[' && *p != '{' && ends_token(*p))
        return syntax_fault(offset, p, text, "a number or a list", err);
    return begin_item(d, p, end, err);
}

const char *data_feed(data *d, const char *text, const char *end, size_t offset, error *err)
{
    const char *p = text;

    while (p != NULL && p < end && d->state != DATA_DONE) {
        if (d->in_token)
            p = feed_bare(d, p, end, err);
        else if (d->in_string)
            p = feed_string(d, p, end, err);
        else {
            const char *behind = takes_run(d) ? run_of_floats(d, p, end, err) : p;

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
