/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/error.h"

#include <stdio.h>
#include <string.h>

static const error_info infos[ERR_KINDS] = {
    [ERR_NONE] = {200, "none", false, "Nothing went wrong."},
#define ERROR(id, status, code, retryable, title) [ERR_##id] = {status, code, retryable, title},
#include "engine/base/errors.def"
#undef ERROR
};

static void set_detail(error *err, error_kind kind, const char *format, va_list args)
{
    error_clear(err);
    err->kind = kind;
    vsnprintf(err->detail, sizeof err->detail, format, args);
}

bool error_set(error *err, error_kind kind, const char *format, ...)
{
    va_list args;

    if (error_is_set(err))
        return false;
    va_start(args, format);
    set_detail(err, kind, format, args);
    va_end(args);
    return false;
}

bool error_set_limit(error *err, error_kind kind, int64_t limit, int64_t asked, const char *format,
                     ...)
{
    va_list args;

    if (error_is_set(err))
        return false;
    va_start(args, format);
    set_detail(err, kind, format, args);
    va_end(args);
    err->has_limit = true;
    err->limit = limit;
    err->asked = asked;
    return false;
}

bool error_is_set(const error *err)
{
    return err->kind != ERR_NONE;
}

void error_clear(error *err)
{
    memset(err, 0, sizeof *err);
}

bool error_at_pointer(error *err, const char *format, ...)
{
    va_list args;

    if (err->pointer[0] != '\0')
        return false;
    va_start(args, format);
    vsnprintf(err->pointer, sizeof err->pointer, format, args);
    va_end(args);
    return false;
}

/* Whether byte begins a character of UTF-8. */
static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Writes the line from start to end, at most 120 bytes of it around column
 * byte at, and below it a caret. */
static void draw_caret(error *err, const char *start, const char *end, const char *at)
{
    const char *from = at - start > 60 ? at - 60 : start;
    const char *to = end - from > 120 ? from + 120 : end;
    int indent = 0;

    while (from < at && !begins_character(*from))
        from++;
    while (to > from && to < end && !begins_character(*to))
        to--;
    for (const char *p = from; p < at; p++)
        indent += begins_character(*p);
    snprintf(err->caret, sizeof err->caret, "%.*s\n%*s^", (int)(to - from), from, indent, "");
}

bool error_at_text(error *err, const char *text, long offset)
{
    const char *start = text, *end, *at = text + offset;
    int line = 1, column = 1;

    if (err->line != 0)
        return false;
    for (const char *p = text; p < at; p++) {
        if (*p == '\n') {
            line++;
            start = p + 1;
        }
    }
    for (const char *p = start; p < at; p++)
        column += begins_character(*p);
    end = start + strcspn(start, "\n");
    err->line = line;
    err->column = column;
    draw_caret(err, start, end, at);
    return false;
}

bool error_suggest(error *err, const char *name)
{
    if (name != NULL && err->suggestion[0] == '\0')
        snprintf(err->suggestion, sizeof err->suggestion, "%s", name);
    return false;
}

bool error_did_you_mean(error *err, const char *name)
{
    const size_t n = strlen(err->detail);

    if (name != NULL && err->suggestion[0] == '\0')
        snprintf(err->detail + n, sizeof err->detail - n, "; did you mean %s", name);
    return error_suggest(err, name);
}

const error_info *error_info_of(error_kind kind)
{
    return &infos[kind];
}
