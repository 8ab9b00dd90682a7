/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char magic[6] = "\x93NUMPY";

/* ---- The prefix ------------------------------------------------------------- */

static size_t read_little(const unsigned char *bytes, int n)
{
    size_t value = 0;

    for (int i = n - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

bool npy_header_length(const void *bytes, size_t n, size_t *length, error *err)
{
    const unsigned char *b = bytes;
    const int version = n > 6 ? b[6] : 0, width = version == 1 ? 2 : 4;

    if (n < sizeof magic || memcmp(b, magic, sizeof magic) != 0)
        return error_set(err, ERR_NPY, "npy: the bytes do not begin with the word \\x93NUMPY");
    if (n < (size_t)(8 + width))
        return error_set(err, ERR_NPY, "npy: the file ends in its header, after %zu bytes", n);
    if (version < 1 || version > 3 || b[7] != 0)
        return error_set(err, ERR_NPY, "npy: versions 1.0, 2.0 and 3.0 are read, not %d.%d",
                         version, b[7]);
    *length = (size_t)(8 + width) + read_little(b + 8, width);
    if (*length > NPY_HEADER_MAX)
        return error_set_limit(err, ERR_NPY, NPY_HEADER_MAX, (int64_t)*length,
                               "npy: a header has at most %d bytes, this one %zu", NPY_HEADER_MAX,
                               *length);
    return true;
}

/* ---- The dictionary ---------------------------------------------------------- */

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

typedef struct header_parser {
    const char *start, *at, *end;
    const dtype *hint;
    npy_header *result;
    error *err;
} header_parser;

static bool expected(header_parser *p, const char *what)
{
    return error_set(p->err, ERR_NPY, "npy: expected %s at byte %td of the header", what,
                     p->at - p->start);
}

static void skip_space(header_parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

/* Whether c comes next, which is then passed over. */
static bool passes(header_parser *p, char c)
{
    skip_space(p);
    if (p->at >= p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool passes_word(header_parser *p, const char *word)
{
    const size_t n = strlen(word);

    skip_space(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

/* A quoted string without escapes. */
static bool parse_string(header_parser *p, const char **text, size_t *length)
{
    char quote;

    skip_space(p);
    if (p->at >= p->end || (*p->at != '\'' && *p->at != '"'))
        return expected(p, "a quoted string");
    quote = *p->at++;
    *text = p->at;
    while (p->at < p->end && *p->at != quote && *p->at != '\\' && *p->at != '\n')
        p->at++;
    *length = (size_t)(p->at - *text);
    return passes(p, quote) || expected(p, "the end of a string");
}

/* The element type that a typestring such as <f8 or >i4 names. */
static bool find_dtype(header_parser *p, const char *text, size_t n)
{
    const bool ordered = n > 1 && (text[0] == '<' || text[0] == '>' || text[0] == '=');
    char name[16];
    error ignored = {0};

    p->result->swapped = ordered && text[0] == '>';
    if (n == 3 && (ordered || text[0] == '|') && text[1] == 'V' && text[2] == '2') {
        p->result->dtype = DT_BF16;
        if (p->hint != NULL && *p->hint == DT_BF16)
            return true;
        return error_set(p->err, ERR_NPY,
                         "npy: '%.3s' is any two bytes; say that it is bfloat16 (Tensor-Dtype)",
                         text);
    }
    if ((ordered || (n > 1 && text[0] == '|')) && n < sizeof name) {
        memcpy(name, text, n);
        name[0] = '<';
        if (dtype_parse(name, n, &p->result->dtype, &ignored))
            return true;
    }
    return error_set(p->err, ERR_NPY, "npy: arrays of type '%.*s' are not read%s",
                     (int)(n < 40 ? n : 40), text,
                     n > 1 && text[1] == 'O' ? ", since objects would run code" : "");
}

static bool parse_descr(header_parser *p)
{
    const char *text;
    size_t n;

    skip_space(p);
    if (p->at < p->end && *p->at == '[')
        return error_set(p->err, ERR_NPY,
                         "npy: structured arrays are not read; send each field as an array");
    return parse_string(p, &text, &n) && find_dtype(p, text, n);
}

static bool parse_order(header_parser *p)
{
    p->result->fortran = passes_word(p, "True");
    return p->result->fortran || passes_word(p, "False") || expected(p, "True or False");
}

static bool parse_length(header_parser *p, int64_t *length)
{
    const char *first;

    skip_space(p);
    first = p->at;
    for (*length = 0; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (*length <= LENGTH_MAX) /* far beyond it, and no overflow */
            *length = *length * 10 + (*p->at - '0');
    if (p->at == first)
        return expected(p, "a length");
    if (p->at < p->end && *p->at == 'L') /* Python 2 wrote long integers so */
        p->at++;
    return true;
}

static bool parse_shape(header_parser *p)
{
    shape *s = &p->result->shape;
    bool comma = true;

    s->rank = 0;
    if (!passes(p, '('))
        return expected(p, "a tuple of lengths");
    while (!passes(p, ')')) {
        if (!comma)
            return expected(p, "a comma");
        if (s->rank == RANK_MAX)
            return error_set_limit(p->err, ERR_SHAPE_INVALID, RANK_MAX, RANK_MAX + 1,
                                   "npy: a tensor has at most %d axes", RANK_MAX);
        if (!parse_length(p, &s->length[s->rank++]))
            return false;
        comma = passes(p, ',');
    }
    if (s->rank == 1 && !comma)
        return expected(p, "a comma: (3) is no tuple");
    return shape_check(s, "npy", p->err);
}

/* One member; its bit is added to *has. */
static bool parse_member(header_parser *p, int *has)
{
    static const struct {
        const char *key;
        bool (*parse)(header_parser *p);
    } members[] = {{"descr", parse_descr}, {"fortran_order", parse_order}, {"shape", parse_shape}};
    const char *key;
    size_t n;

    if (!parse_string(p, &key, &n))
        return false;
    for (int i = 0; i < 3; i++) {
        if (strlen(members[i].key) != n || memcmp(members[i].key, key, n) != 0)
            continue;
        if (*has & 1 << i)
            return error_set(p->err, ERR_NPY, "npy: the header has '%s' twice", members[i].key);
        *has |= 1 << i;
        return passes(p, ':') ? members[i].parse(p) : expected(p, "a colon");
    }
    return error_set(p->err, ERR_NPY, "npy: a header has no member '%.*s'", (int)(n < 40 ? n : 40),
                     key);
}

static bool parse_dictionary(header_parser *p)
{
    int has = 0;
    bool comma = true;

    if (!passes(p, '{'))
        return expected(p, "a dictionary");
    while (!passes(p, '}')) {
        if (!comma)
            return expected(p, "a comma");
        if (!parse_member(p, &has))
            return false;
        comma = passes(p, ',');
    }
    skip_space(p);
    if (p->at != p->end)
        return expected(p, "nothing after the dictionary");
    if (has != HAS_ALL)
        return error_set(p->err, ERR_NPY, "npy: the header lacks '%s'",
                         !(has & HAS_DESCR)   ? "descr"
                         : !(has & HAS_ORDER) ? "fortran_order"
                                              : "shape");
    return true;
}

bool npy_header_parse(const void *bytes, size_t length, const dtype *hint, npy_header *result,
                      error *err)
{
    const char *b = bytes;
    size_t all;

    if (!npy_header_length(bytes, length, &all, err))
        return false;
    if (all > length)
        return error_set(err, ERR_NPY, "npy: the header has %zu bytes, the file only %zu", all,
                         length);

    header_parser p = {.start = b + (b[6] == 1 ? 10 : 12),
                       .end = b + all,
                       .hint = hint,
                       .result = result,
                       .err = err};

    p.at = p.start;
    result->length = all;
    return parse_dictionary(&p);
}

/* ---- Writing ------------------------------------------------------------------ */

size_t npy_header_write(char to[NPY_HEADER_ROOM], dtype t, const shape *s, size_t align)
{
    size_t n = 10, whole;

    n += (size_t)snprintf(to + n, NPY_HEADER_ROOM - n,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (",
                          dtype_info_of(t)->typestr);
    for (int i = 0; i < s->rank; i++)
        n += (size_t)snprintf(to + n, NPY_HEADER_ROOM - n, "%s%" PRId64, i > 0 ? ", " : "",
                              s->length[i]);
    n += (size_t)snprintf(to + n, NPY_HEADER_ROOM - n, "%s), }", s->rank == 1 ? "," : "");
    whole = (n + 1 + align - 1) / align * align;
    memset(to + n, ' ', whole - n);
    to[whole - 1] = '\n';
    memcpy(to, magic, sizeof magic);
    to[6] = 1;
    to[7] = 0;
    to[8] = (char)((whole - 10) & 0xff);
    to[9] = (char)((whole - 10) >> 8);
    return whole;
}

void npy_swap_bytes(void *bytes, int64_t n, dtype t)
{
    const size_t size = dtype_size(dtype_real(t));
    const int64_t count = n * (int64_t)(dtype_size(t) / size);

    if (size == 2) {
        for (uint16_t *p = bytes, *end = p + count; p < end; p++)
            *p = __builtin_bswap16(*p);
    } else if (size == 4) {
        for (uint32_t *p = bytes, *end = p + count; p < end; p++)
            *p = __builtin_bswap32(*p);
    } else if (size == 8) {
        for (uint64_t *p = bytes, *end = p + count; p < end; p++)
            *p = __builtin_bswap64(*p);
    }
}
