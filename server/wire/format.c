/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *media_type;
} formats[WIRE_FORMATS] = {
    [WIRE_JSON] = {"json", "application/json"}, [WIRE_NPY] = {"npy", "application/x-npy"},
    [WIRE_NPZ] = {"npz", "application/x-npz"},  [WIRE_RAW] = {"raw", "application/octet-stream"},
    [WIRE_CSV] = {"csv", "text/csv"},
};

enum { LIST_MAX = 160 }; /* bytes of a list of formats, for messages */

const char *wire_media_type(wire_format format)
{
    return formats[format].media_type;
}

const char *wire_format_name(wire_format format)
{
    return formats[format].name;
}

/* Lists the available formats by the words of ?format= or by media type. */
static const char *list(unsigned available, bool by_name, char to[LIST_MAX])
{
    size_t n = 0;

    to[0] = '\0';
    for (int i = 0; i < WIRE_FORMATS; i++)
        if (available & WIRE_BIT(i))
            n += (size_t)snprintf(to + n, LIST_MAX - n, "%s%s", n > 0 ? ", " : "",
                                  by_name ? formats[i].name : formats[i].media_type);
    return to;
}

static wire_format first_of(unsigned available)
{
    return (wire_format)__builtin_ctz(available);
}

/* ---- Accept ----------------------------------------------------------------------- */

/* A part of the header up to a comma or semicolon, without spaces around it. */
typedef struct part {
    const char *text;
    size_t length;
} part;

static part next_part(const char **at)
{
    part p;

    *at += strspn(*at, " \t");
    p.text = *at;
    p.length = strcspn(*at, ",;");
    *at += p.length;
    while (p.length > 0 && (p.text[p.length - 1] == ' ' || p.text[p.length - 1] == '\t'))
        p.length--;
    return p;
}

static bool part_is(part p, const char *word)
{
    return strlen(word) == p.length && strncasecmp(p.text, word, p.length) == 0;
}

/* The weight that a parameter gives, in thousandths; 1000 if it is another one. */
static int weight_of(part p)
{
    double q;

    if (p.length < 3 || (p.text[0] != 'q' && p.text[0] != 'Q') || p.text[1] != '=')
        return 1000;
    q = strtod(p.text + 2, NULL);
    return q <= 0 ? 0 : q >= 1 ? 1000 : (int)(q * 1000);
}

/* How well a media range names a type: 3 in full, 2 by its first half, 1 as
 * anything, 0 not at all. */
static int match(part range, const char *media_type)
{
    const size_t half = strcspn(media_type, "/") + 1;

    if (part_is(range, media_type))
        return 3;
    if (range.length == half + 1 && strncasecmp(range.text, media_type, half) == 0 &&
        range.text[half] == '*')
        return 2;
    return part_is(range, "*/*") ? 1 : 0;
}

/* The weight that Accept gives a type: that of the range that names it best. */
static int accept_weight(const char *accept, const char *media_type)
{
    int best = 0, weight = 0;

    while (*accept != '\0') {
        const part range = next_part(&accept);
        const int how = match(range, media_type);
        int q = 1000;

        while (*accept == ';') {
            int w;

            accept++;
            w = weight_of(next_part(&accept));
            q = w < q ? w : q;
        }
        if (how > best) {
            best = how;
            weight = q;
        }
        if (*accept == ',')
            accept++;
    }
    return weight;
}

static bool choose_by_accept(const char *accept, unsigned available, wire_format *result,
                             error *err)
{
    char shown[LIST_MAX];
    int best = 0;

    for (int i = 0; i < WIRE_FORMATS; i++) {
        const int weight =
            available & WIRE_BIT(i) ? accept_weight(accept, formats[i].media_type) : 0;

        if (weight > best) {
            best = weight;
            *result = (wire_format)i;
        }
    }
    return best > 0 || error_set(err, ERR_ACCEPT, "Accept: %.80s takes none of %s", accept,
                                 list(available, false, shown));
}

bool wire_format_choose(const char *accept, const char *parameter, unsigned available,
                        wire_format *result, error *err)
{
    char shown[LIST_MAX];

    if (parameter != NULL) {
        for (int i = 0; i < WIRE_FORMATS; i++) {
            if (strcmp(parameter, formats[i].name) == 0 && available & WIRE_BIT(i)) {
                *result = (wire_format)i;
                return true;
            }
        }
        return error_set(err, ERR_ACCEPT, "format=%.40s: there is %s", parameter,
                         list(available, true, shown));
    }
    if (accept != NULL && accept[strspn(accept, " \t")] != '\0')
        return choose_by_accept(accept, available, result, err);
    *result = first_of(available);
    return true;
}

/* ---- Content-Type ------------------------------------------------------------------- */

/* Whether the parameters of a media type are ones that change nothing. */
static bool are_harmless(const char *at)
{
    while (*at == ';') {
        part p;

        at++;
        p = next_part(&at);
        if (p.length > 8 && strncasecmp(p.text, "charset=", 8) == 0 &&
            !part_is(p, "charset=utf-8") && !part_is(p, "charset=\"utf-8\""))
            return false;
    }
    return true;
}

bool wire_format_of_content(const char *content_type, unsigned available, wire_format *result,
                            error *err)
{
    const char *at = content_type;
    char shown[LIST_MAX];
    part type;

    if (content_type == NULL) {
        *result = first_of(available);
        return true;
    }
    type = next_part(&at);
    for (int i = 0; i < WIRE_FORMATS; i++) {
        if (!(available & WIRE_BIT(i)) || !part_is(type, formats[i].media_type))
            continue;
        *result = (wire_format)i;
        return are_harmless(at) ||
               error_set(err, ERR_MEDIA_TYPE, "Content-Type: %.80s: text must be in UTF-8",
                         content_type);
    }
    return error_set(err, ERR_MEDIA_TYPE, "Content-Type: %.80s: this route reads %s", content_type,
                     list(available, false, shown));
}

/* ---- Tensor-Dtype, Tensor-Shape ------------------------------------------------------- */

static bool bad_shape(const char *text, error *err)
{
    return error_set(err, ERR_SHAPE_INVALID,
                     "Tensor-Shape: expected lengths such as 2,3, not '%.60s'", text);
}

/* One length; *at moves behind it. */
static bool parse_length(const char **at, int64_t *length)
{
    const char *first = *at;

    for (*length = 0; **at >= '0' && **at <= '9'; (*at)++)
        if (*length <= LENGTH_MAX)
            *length = *length * 10 + (**at - '0');
    return *at > first;
}

static bool parse_shape(const char *text, shape *s, error *err)
{
    const char *at = text + strspn(text, " ");
    const char close = *at == '[' ? ']' : *at == '(' ? ')' : '\0';

    s->rank = 0;
    at += close != '\0';
    at += strspn(at, " ");
    while (*at != close) {
        if (s->rank == RANK_MAX || !parse_length(&at, &s->length[s->rank++]))
            return bad_shape(text, err);
        at += strspn(at, " ");
        if (*at == ',')
            at++;
        else if (*at != close)
            return bad_shape(text, err);
        at += strspn(at, " ");
    }
    at += close != '\0';
    return at[strspn(at, " ")] == '\0' ? shape_check(s, "Tensor-Shape", err) : bad_shape(text, err);
}

bool wire_hints_parse(const char *dtype_text, const char *shape_text, wire_hints *result,
                      error *err)
{
    *result = (wire_hints){.has_dtype = dtype_text != NULL, .has_shape = shape_text != NULL};
    return (dtype_text == NULL ||
            dtype_parse(dtype_text, strlen(dtype_text), &result->dtype, err)) &&
           (shape_text == NULL || parse_shape(shape_text, &result->shape, err));
}

const char *wire_shape_header(const shape *s, char to[WIRE_SHAPE_MAX])
{
    size_t n = 0;

    strcpy(to, "()"); /* a header is not empty */
    for (int i = 0; i < s->rank; i++)
        n += (size_t)snprintf(to + n, WIRE_SHAPE_MAX - n, "%s%" PRId64, i > 0 ? "," : "",
                              s->length[i]);
    return to;
}
