/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/base64.h"

#define NO 255 /* no character of the alphabet */

/* The six bits of each character, from '+' to 'z'. */
static const unsigned char sextets['z' - '+' + 1] = {
    62, NO, NO, NO, 63, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, NO, NO, NO, NO, NO,
    NO, NO, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
    18, 19, 20, 21, 22, 23, 24, 25, NO, NO, NO, NO, NO, NO, 26, 27, 28, 29, 30, 31,
    32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51,
};

static unsigned sextet(char c)
{
    return c >= '+' && c <= 'z' ? sextets[c - '+'] : NO;
}

void base64_begin(base64 *b, grow *g)
{
    *b = (base64){.bytes = g};
}

static bool fault(size_t offset, const char *what, error *err)
{
    return error_set(err, ERR_JSON, "base64: %s at byte %zu", what, offset);
}

static void put(base64 *b, uint32_t bits)
{
    char *to = b->bytes->bytes + b->bytes->size;

    to[0] = (char)(bits >> 16);
    to[1] = (char)(bits >> 8);
    to[2] = (char)bits;
    b->bytes->size += 3;
}

/* Whole groups of four characters, as long as there are. */
static const char *feed_groups(base64 *b, const char *p, const char *end, error *err)
{
    while (end - p >= 4) {
        const unsigned a = sextet(p[0]), c = sextet(p[1]), d = sextet(p[2]), e = sextet(p[3]);

        if ((a | c | d | e) & 0x80)
            return p;
        if (!grow_reserve(b->bytes, 3, err))
            return NULL;
        put(b, (uint32_t)(a << 18 | c << 12 | d << 6 | e));
        p += 4;
    }
    return p;
}

/* Ends the last group, which has one or two bytes. */
static bool end_group(base64 *b, size_t offset, error *err)
{
    const int unused = b->characters == 2 ? 4 : 2;

    if (b->bits & ((1u << unused) - 1))
        return fault(offset, "bits behind the last byte", err);
    if (!grow_reserve(b->bytes, 3, err))
        return false;
    put(b, b->bits << (b->characters == 2 ? 12 : 6));
    b->bytes->size -= b->characters == 2 ? 2 : 1;
    return true;
}

static bool take_padding(base64 *b, size_t offset, error *err)
{
    if (b->characters < 2 || b->characters + b->padding == 4)
        return fault(offset, "unexpected =", err);
    b->padding++;
    return b->characters + b->padding < 4 || end_group(b, offset, err);
}

static bool take_character(base64 *b, char c, size_t offset, error *err)
{
    const unsigned bits = sextet(c);

    if (c == '=')
        return take_padding(b, offset, err);
    if (bits == NO)
        return fault(offset, "a character that is not of its alphabet", err);
    if (b->padding > 0)
        return fault(offset, "more characters behind =", err);
    b->bits = b->bits << 6 | bits;
    if (++b->characters < 4)
        return true;
    if (!grow_reserve(b->bytes, 3, err))
        return false;
    put(b, b->bits);
    b->characters = 0;
    b->bits = 0;
    return true;
}

const char *base64_feed(base64 *b, const char *text, const char *end, size_t offset, error *err)
{
    const char *p = text;

    while (p < end) {
        if (b->characters == 0 && b->padding == 0 && !b->escaped)
            p = feed_groups(b, p, end, err);
        if (p == NULL || p == end)
            return p;
        if (*p == '"' && !b->escaped) {
            b->done = b->characters == 0 || b->characters + b->padding == 4;
            if (!b->done)
                fault(offset + (size_t)(p - text), "the string ends inside a group of four", err);
            return b->done ? p + 1 : NULL;
        }
        if (*p == '\\' && !b->escaped)
            b->escaped = true;
        else if (b->escaped && *p != '/') {
            fault(offset + (size_t)(p - text), "an escape", err);
            return NULL;
        } else {
            b->escaped = false;
            if (!take_character(b, *p, offset + (size_t)(p - text), err))
                return NULL;
        }
        p++;
    }
    return p;
}
