/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "engine/base/number.h"

/* A text that is large grows by less. */
enum { ROOM_MIN = 128, ROOM_LARGE = 1 << 16 };

void text_init(text *t)
{
    *t = (text){.bytes = (char *)""};
}

void text_clear(text *t)
{
    if (t->room > 0)
        free(t->bytes);
    text_init(t);
}

char *text_take(text *t)
{
    char *bytes;

    text_reserve(t, 0);
    bytes = t->bytes;
    text_init(t);
    return bytes;
}

char *text_copy(const text *t, arena *a)
{
    return arena_copy(a, t->bytes, t->length);
}

char *text_reserve(text *t, size_t n)
{
    size_t need = t->length + n + 1;

    if (need > t->room) {
        size_t room = need < ROOM_MIN ? ROOM_MIN : need < ROOM_LARGE ? 2 * need : need + need / 2;
        char *bytes = realloc(t->room > 0 ? t->bytes : NULL, room);

        if (bytes == NULL)
            abort();
        if (t->room == 0)
            bytes[0] = '\0';
        t->bytes = bytes;
        t->room = room;
    }
    return t->bytes + t->length;
}

void text_add_bytes(text *t, const char *bytes, size_t n)
{
    char *end = text_reserve(t, n);

    memcpy(end, bytes, n);
    t->length += n;
    t->bytes[t->length] = '\0';
}

void text_add(text *t, const char *string)
{
    text_add_bytes(t, string, strlen(string));
}

void text_add_char(text *t, char c)
{
    text_add_bytes(t, &c, 1);
}

void text_addf(text *t, const char *format, ...)
{
    enum { GUESS = 63 }; /* bytes: most are shorter, and are printed once */
    va_list args;
    char *end = text_reserve(t, GUESS);
    int n;

    va_start(args, format);
    n = vsnprintf(end, GUESS + 1, format, args);
    va_end(args);
    if (n > GUESS) {
        end = text_reserve(t, (size_t)n);
        va_start(args, format);
        vsnprintf(end, (size_t)n + 1, format, args);
        va_end(args);
    }
    t->length += (size_t)n;
}

void text_add_int(text *t, int64_t value)
{
    char *end = text_reserve(t, NUMBER_TEXT_MAX);

    t->length = (size_t)(number_print_i64(end, value) - t->bytes);
    t->bytes[t->length] = '\0';
}

void text_add_milli(text *t, double value)
{
    const double thousandths = fabs(value) * 1000 + 0.5;
    int64_t whole;

    if (!(thousandths < 1e15)) { /* and not finite ones */
        text_addf(t, "%.3f", value);
        return;
    }
    whole = (int64_t)thousandths;
    if (value < 0 && whole > 0)
        text_add_char(t, '-');
    text_add_int(t, whole / 1000);
    text_add_bytes(t,
                   (char[]){'.', (char)('0' + whole / 100 % 10), (char)('0' + whole / 10 % 10),
                            (char)('0' + whole % 10)},
                   4);
}

/* One character of ASCII in a JSON string. */
static void add_json_ascii(text *t, char c)
{
    static const char escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (const char *e = escapes; *e != '\0'; e += 2) {
        if (*e == c) {
            text_addf(t, "\\%c", e[1]);
            return;
        }
    }
    if ((unsigned char)c < 0x20 || c == 0x7f)
        text_addf(t, "\\u%04x", (unsigned char)c);
    else
        text_add_char(t, c);
}

/* Whether a character stands in a JSON string as it is. */
static const bool plain_characters[256] = {
    [' ' ... '!'] = true, ['#' ... '['] = true, [']' ... '~'] = true};

/* How many characters from p on stand in a JSON string as they are. */
static size_t count_plain(const utf8proc_uint8_t *p)
{
    size_t n = 0;

    while (plain_characters[p[n]])
        n++;
    return n;
}

void text_add_json(text *t, const char *string)
{
    const utf8proc_uint8_t *p = (const utf8proc_uint8_t *)string;

    text_add_char(t, '"');
    for (;;) {
        const size_t plain = count_plain(p);
        utf8proc_int32_t c;
        utf8proc_ssize_t n;

        memcpy(text_reserve(t, plain + 1), p, plain); /* and the last quote */
        t->length += plain;
        p += plain;
        if (*p == '\0')
            break;
        n = utf8proc_iterate(p, -1, &c);

        if (n == 1)
            add_json_ascii(t, (char)*p);
        else if (n > 1)
            text_add_bytes(t, (const char *)p, (size_t)n);
        else
            text_add(t, "\xef\xbf\xbd"); /* the replacement character */
        p += n > 0 ? n : 1;
    }
    text_add_char(t, '"');
}

int text_distance(const char *a, const char *b, int bound)
{
    enum { LONGEST = 64 };
    int row[LONGEST + 1];
    size_t n = strlen(a), m = strlen(b);

    if (n > LONGEST || m > LONGEST)
        return bound + 1;
    for (size_t j = 0; j <= m; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];

        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            int least = row[j] < row[j - 1] ? row[j] : row[j - 1];

            diagonal = row[j];
            row[j] = least + 1 < change ? least + 1 : change;
        }
    }
    return row[m] <= bound ? row[m] : bound + 1;
}
