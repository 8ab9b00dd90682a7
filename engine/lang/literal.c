/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lang/literal.h"

#include <string.h>

#include "engine/base/name.h"
#include "engine/base/number.h"

#include <utf8proc.h>

static bool fail_at(const lexer *x, long offset, error *err, const char *what)
{
    error_set(err, ERR_SYNTAX, "%s", what);
    return error_at_text(err, x->text, offset);
}

/* ---- Integers --------------------------------------------------------------- */

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Reads digits of a base, single underscores between them. */
static bool read_integer(lexer *x, int base, error *err)
{
    token *t = &x->token;
    bool overflow = false;

    t->kind = TOKEN_INT;
    for (; digit_value(*x->at) < base || (*x->at == '_' && digit_value(x->at[1]) < base); x->at++)
        if (*x->at != '_')
            overflow =
                overflow || __builtin_mul_overflow(t->integer, (uint64_t)base, &t->integer) ||
                __builtin_add_overflow(t->integer, (uint64_t)digit_value(*x->at), &t->integer);
    if (!overflow)
        return true;
    error_set(err, ERR_OVERFLOW, "the integer %.30s%s fits neither int64 nor uint64",
              arena_copy(x->arena, x->text + t->offset, (size_t)(x->at - x->text - t->offset)),
              x->at - x->text - t->offset > 30 ? ".." : "");
    return error_at_text(err, x->text, t->offset);
}

/* The base that the prefix 0x, 0o or 0b announces; 10 without one. */
static int prefix_base(const char *at)
{
    if (at[0] != '0')
        return 10;
    switch (at[1] | 0x20) {
    case 'x':
        return 16;
    case 'o':
        return 8;
    case 'b':
        return 2;
    default:
        return 10;
    }
}

/* ---- Floats ----------------------------------------------------------------- */

static const char *skip_digits(const char *at)
{
    while (digit_value(*at) < 10 || (*at == '_' && digit_value(at[1]) < 10))
        at++;
    return at;
}

/* The end of the decimal number at the lexer's place; says whether it has a
 * point or an exponent. */
static const char *scan_decimal(const lexer *x, bool *is_float)
{
    const char *at = skip_digits(x->at), *exponent;

    *is_float = false;
    if (*at == '.' && (!x->point_is_operator || digit_value(at[1]) < 10)) {
        *is_float = true;
        at = skip_digits(at + 1);
    }
    if (*at == 'e' || *at == 'E') {
        exponent = at + 1 + (at[1] == '+' || at[1] == '-');
        if (digit_value(*exponent) < 10) {
            *is_float = true;
            at = skip_digits(exponent);
        }
    }
    return at;
}

/* The decimal number in [from, to) as JSON would write it: no underscores,
 * digits on both sides of a point. Returns the end. */
static char *write_plain(char *out, const char *from, const char *to)
{
    for (const char *p = from; p < to; p++) {
        if (*p == '_' || *p == '+')
            continue;
        if (*p == '.' && p == from)
            *out++ = '0';
        *out++ = *p;
        if (*p == '.' && (p + 1 == to || digit_value(p[1]) >= 10))
            *out++ = '0';
    }
    return out;
}

static double read_real(lexer *x, const char *end)
{
    const size_t n = (size_t)(end - x->at);
    char room[64], *plain = n < sizeof room - 4 ? room : arena_alloc(x->arena, n + 4);
    char *plain_end = write_plain(plain, x->at, end);
    double value = 0;

    number_read_f64(plain, plain_end, &value);
    x->at = end;
    return value;
}

bool literal_read_number(lexer *x, error *err)
{
    const int base = prefix_base(x->at);
    token *t = &x->token;
    bool is_float;
    const char *end = scan_decimal(x, &is_float);

    if (base != 10) {
        x->at += 2;
        x->at += *x->at == '_';
        if (digit_value(*x->at) >= base)
            return fail_at(x, t->offset, err,
                           "there are no digits behind the prefix of this number");
        if (!read_integer(x, base, err))
            return false;
    } else if (is_float || ((*end | 0x20) == 'j' && !x->point_is_operator)) {
        t->kind = TOKEN_FLOAT;
        t->real = read_real(x, end);
        if ((*x->at | 0x20) == 'j' && !x->point_is_operator) {
            t->kind = TOKEN_IMAGINARY;
            x->at++;
        }
    } else {
        if (x->at[0] == '0' && end > x->at + strspn(x->at, "0_"))
            return fail_at(x, t->offset, err, "an integer does not begin with 0; octal is 0o17");
        if (!read_integer(x, 10, err))
            return false;
    }
    if (name_scan(x->at, (size_t)(x->end - x->at)) > 0 || digit_value(*x->at) < 10)
        return fail_at(x, t->offset, err, "this is not a number, and a name cannot begin so");
    return true;
}

/* ---- Strings ---------------------------------------------------------------- */

/* Reads n hexadecimal digits; -1 if there are fewer. */
static int32_t read_hex(const lexer *x, int n)
{
    int32_t code = 0;

    for (int i = 0; i < n; i++) {
        if (x->at + i >= x->end || digit_value(x->at[i]) >= 16)
            return -1;
        code = code * 16 + digit_value(x->at[i]);
    }
    return code;
}

/* Reads the escape behind a backslash into out; returns its end, NULL if bad. */
static char *read_escape(lexer *x, char *out)
{
    static const char plain[] = "\\\\''\"\"n\nt\tr\rb\bf\fa\av\v";
    const char c = *x->at++;
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    int32_t code;

    if (c == '\n')
        return out;
    for (size_t i = 0; i < sizeof plain - 1; i += 2) {
        if (plain[i] == c) {
            *out = plain[i + 1];
            return out + 1;
        }
    }
    if (digits == 0)
        return NULL;
    code = read_hex(x, digits);
    if (code <= 0 || !utf8proc_codepoint_valid(code))
        return NULL;
    x->at += digits;
    return out + utf8proc_encode_char(code, (utf8proc_uint8_t *)out);
}

/* Whether a string of these quotes ends at this place. */
static bool at_quotes(const char *at, char quote, int quotes)
{
    return *at == quote && (quotes == 1 || (at[1] == quote && at[2] == quote));
}

/* Where the string that begins at the lexer's place ends: at its quotes, or at
 * the end of the line or of the text if they are missing. */
static const char *find_stop(const lexer *x, char quote, int quotes)
{
    const char *at = x->at;

    while (at < x->end && !at_quotes(at, quote, quotes) && (quotes == 3 || *at != '\n'))
        at += *at == '\\' && at + 1 < x->end ? 2 : 1;
    return at;
}

bool literal_read_text(lexer *x, error *err)
{
    const char quote = *x->at;
    const int quotes = x->at[1] == quote && x->at[2] == quote ? 3 : 1;
    token *t = &x->token;
    const char *stop;
    char *to, *bytes;

    x->at += quotes;
    stop = find_stop(x, quote, quotes);
    if (stop >= x->end || !at_quotes(stop, quote, quotes))
        return fail_at(x, t->offset, err, "this string does not end");
    bytes = to = arena_alloc(x->arena, (size_t)(stop - x->at) + 1);
    while (x->at < stop) {
        if (*x->at != '\\') {
            *to++ = *x->at++;
            continue;
        }
        x->at++;
        to = read_escape(x, to);
        if (to == NULL)
            return fail_at(x, x->at - x->text - 1, err,
                           "this escape is not known; write \\\\ for a "
                           "backslash");
    }
    x->at = stop + quotes;
    t->kind = TOKEN_TEXT;
    t->text = bytes;
    t->length = (size_t)(to - bytes);
    return true;
}
