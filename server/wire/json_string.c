/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/json_string.h"

#include <string.h>

void json_string_init(json_string *s)
{
    memset(s, 0, sizeof *s);
    text_init(&s->text);
}

void json_string_clear(json_string *s)
{
    text_clear(&s->text);
}

void json_string_begin(json_string *s)
{
    text t = s->text;

    t.length = 0;
    *s = (json_string){.text = t};
}

/* ---- Escapes ------------------------------------------------------------------- */

static void add_code(json_string *s, uint32_t c)
{
    char *to = text_reserve(&s->text, 4);
    size_t n = 0;

    if (c < 0x80)
        to[n++] = (char)c;
    else if (c < 0x800)
        to[n++] = (char)(0xc0 | c >> 6);
    else if (c < 0x10000) {
        to[n++] = (char)(0xe0 | c >> 12);
        to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
    } else {
        to[n++] = (char)(0xf0 | c >> 18);
        to[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
    }
    if (c >= 0x80)
        to[n++] = (char)(0x80 | (c & 0x3f));
    s->text.length += n;
}

/* Takes the code of a whole \uXXXX; returns what is wrong with it, or NULL. */
static const char *end_code(json_string *s)
{
    const uint32_t c = s->code;

    if (s->high != 0) {
        if (c < 0xdc00 || c > 0xdfff)
            return "half a surrogate pair";
        add_code(s, 0x10000 + ((s->high - 0xd800) << 10) + (c - 0xdc00));
        s->high = 0;
    } else if (c >= 0xd800 && c <= 0xdbff)
        s->high = c;
    else if (c >= 0xdc00 && c <= 0xdfff)
        return "half a surrogate pair";
    else if (c == 0)
        return "the character U+0000";
    else
        add_code(s, c);
    return NULL;
}

static const char *take_hex(json_string *s, char c)
{
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;

    if (digit < 0)
        return "a faulty \\u escape";
    s->code = s->code << 4 | (uint32_t)digit;
    return --s->hex == 0 ? end_code(s) : NULL;
}

static const char *take_escape(json_string *s, char c)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter = c != '\0' ? strchr(letters, c) : NULL;

    s->escaped = false;
    if (c == 'u') {
        s->hex = 4;
        s->code = 0;
        return NULL;
    }
    if (s->high != 0)
        return "half a surrogate pair";
    if (letter == NULL)
        return "an unknown escape";
    text_add_char(&s->text, meanings[letter - letters]);
    return NULL;
}

/* ---- UTF-8 ----------------------------------------------------------------------- */

static const char *take_lead(json_string *s, unsigned char c)
{
    if (c < 0xc2 || c > 0xf4)
        return "bytes that are not UTF-8";
    s->more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    s->low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    s->top = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    text_add_char(&s->text, (char)c);
    return NULL;
}

static const char *take_continuation(json_string *s, unsigned char c)
{
    if (c < s->low || c > s->top)
        return "bytes that are not UTF-8";
    s->more--;
    s->low = 0x80;
    s->top = 0xbf;
    text_add_char(&s->text, (char)c);
    return NULL;
}

/* ---- Feeding ----------------------------------------------------------------------- */

static bool is_plain(char c)
{
    return (unsigned char)c >= 0x20 && (unsigned char)c < 0x80 && c != '"' && c != '\\';
}

/* Takes one byte that is not plain or follows such; returns what is wrong. */
static const char *take(json_string *s, char c)
{
    if (s->more > 0)
        return take_continuation(s, (unsigned char)c);
    if (s->hex > 0)
        return take_hex(s, c);
    if (s->escaped)
        return take_escape(s, c);
    if (c == '\\') {
        s->escaped = true;
        return NULL;
    }
    if (s->high != 0)
        return "half a surrogate pair";
    if (c == '"') {
        s->done = true;
        return NULL;
    }
    if ((unsigned char)c < 0x20)
        return "a control character";
    if (is_plain(c)) {
        text_add_char(&s->text, c);
        return NULL;
    }
    return take_lead(s, (unsigned char)c);
}

const char *json_string_feed(json_string *s, const char *text, const char *end, size_t offset,
                             error *err)
{
    const char *p = text;

    while (p < end && !s->done) {
        const char *run = p, *fault;

        if (s->more == 0 && s->hex == 0 && !s->escaped && s->high == 0)
            while (p < end && is_plain(*p))
                p++;
        text_add_bytes(&s->text, run, (size_t)(p - run));
        if (p == end)
            break;
        fault = take(s, *p);
        if (fault != NULL) {
            error_set(err, ERR_JSON, "a string has %s at byte %zu", fault,
                      offset + (size_t)(p - text));
            return NULL;
        }
        p++;
    }
    return p;
}
