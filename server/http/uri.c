/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/uri.h"

#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The bytes of the UTF-8 character at text; 0 if it is none. */
static size_t character_bytes(const unsigned char *text, size_t n)
{
    static const struct {
        unsigned char from, to, second_from, second_to;
        size_t bytes;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };

    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        size_t bytes = forms[k].bytes;

        if (text[0] < forms[k].from || text[0] > forms[k].to)
            continue;
        if (bytes > n ||
            (bytes > 1 && (text[1] < forms[k].second_from || text[1] > forms[k].second_to)))
            return 0;
        for (size_t i = 2; i < bytes; i++)
            if ((text[i] & 0xc0) != 0x80)
                return 0;
        return bytes;
    }
    return 0;
}

static bool is_utf8(const char *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        size_t bytes = character_bytes((const unsigned char *)text + at, n - at);

        if (bytes == 0)
            return false;
        at += bytes;
    }
    return true;
}

/* Whether a decoded byte may stand in that part. Programs in a query have lines. */
static bool byte_allowed(unsigned char c, uri_part part)
{
    if (c == 0x7f || (c < 0x20 && (part == URI_PATH || strchr("\t\n\r", c) == NULL || c == '\0')))
        return false;
    return part == URI_QUERY || (c != '/' && c != '\\');
}

const char *uri_decode(arena *a, const char *text, size_t n, uri_part part, error *err)
{
    char *result = arena_alloc(a, n + 1);
    size_t length = 0;

    for (size_t i = 0; i < n; i++) {
        char c = text[i];

        if (c == '%') {
            if (n - i < 3 || hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0) {
                error_set(err, ERR_TRANSPORT, "A %% in the address needs two hexadecimal digits.");
                return NULL;
            }
            c = (char)(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]));
            i += 2;
        } else if (c == '+' && part == URI_QUERY) {
            c = ' ';
        }
        if (!byte_allowed((unsigned char)c, part)) {
            error_set(err, ERR_TRANSPORT, "The address has a byte (0x%02x) that is not allowed.",
                      (unsigned char)c);
            return NULL;
        }
        result[length++] = c;
    }
    if (!is_utf8(result, length)) {
        error_set(err, ERR_TRANSPORT, "The address is not UTF-8.");
        return NULL;
    }
    return result;
}

/* Bytes that a target may hold as sent: visible ASCII without those that RFC 3986
 * allows nowhere; brackets, braces and | are common in queries. */
static bool target_byte_allowed(char c)
{
    return c > 0x20 && c < 0x7f && strchr("\"#<>\\^`", c) == NULL;
}

static bool check_target(const char *target, error *err)
{
    if (*target != '/')
        return error_set(err, ERR_TRANSPORT, "The address must begin with a slash.");
    for (const char *p = target; *p != '\0'; p++)
        if (!target_byte_allowed(*p))
            return error_set(err, ERR_TRANSPORT,
                             "The address has a byte (0x%02x) that must be percent-encoded.",
                             (unsigned char)*p);
    return true;
}

static bool is_dots(const char *segment)
{
    return strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0;
}

static bool parse_path(arena *a, const char *path, uri *result, error *err)
{
    result->segments = arena_array(a, URI_SEGMENTS_MAX, sizeof *result->segments);
    for (const char *at = path; *at == '/';) {
        size_t n = strcspn(at + 1, "/");
        const char *segment = uri_decode(a, at + 1, n, URI_PATH, err);

        if (segment == NULL)
            return false;
        if (is_dots(segment))
            return error_set(err, ERR_TRANSPORT, "The address has a dot segment.");
        if (result->segment_count == URI_SEGMENTS_MAX)
            return error_set(err, ERR_TRANSPORT, "The address has more than %d segments.",
                             URI_SEGMENTS_MAX);
        result->segments[result->segment_count++] = segment;
        at += 1 + n;
    }
    return true;
}

static bool parse_pair(arena *a, const char *text, size_t n, uri *result, error *err)
{
    const char *equals = memchr(text, '=', n);
    size_t name_length = equals != NULL ? (size_t)(equals - text) : n;
    const char *name = uri_decode(a, text, name_length, URI_QUERY, err), *value = "";

    if (name == NULL)
        return false;
    if (equals != NULL)
        value = uri_decode(a, equals + 1, n - name_length - 1, URI_QUERY, err);
    if (value == NULL)
        return false;
    for (size_t i = 0; i < result->query.count; i++)
        if (strcmp(result->query.items[i].name, name) == 0)
            return error_set(err, ERR_REQUEST, "The query gives '%s' twice.", name);
    if (result->query.count == URI_QUERY_MAX)
        return error_set(err, ERR_TRANSPORT, "The query has more than %d parameters.",
                         URI_QUERY_MAX);
    http_pairs_add(&result->query, a, name, value);
    return true;
}

static bool parse_query(arena *a, const char *query, uri *result, error *err)
{
    for (const char *at = query; *at != '\0';) {
        size_t n = strcspn(at, "&");

        if (n > 0 && !parse_pair(a, at, n, result, err))
            return false;
        at += n;
        at += *at == '&';
    }
    return true;
}

bool uri_parse(arena *a, const char *target, uri *result, error *err)
{
    size_t n = strcspn(target, "?");

    *result = (uri){.path = arena_copy(a, target, n)};
    if (!check_target(target, err) || !parse_path(a, result->path, result, err))
        return false;
    return target[n] == '\0' || parse_query(a, target + n + 1, result, err);
}
