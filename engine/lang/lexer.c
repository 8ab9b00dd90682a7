/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lang/lexer.h"

#include <string.h>

#include "engine/base/name.h"
#include "engine/base/number.h"
#include "engine/base/text.h"
#include "engine/lang/literal.h"

/* What a row of tokens.def says. */
typedef struct token_row {
    const char *text, *op, *advice;
    int precedence;
    enum { ROW_NONE, ROW_BINARY, ROW_COMPARE, ROW_MARK, ROW_WORD } kind;
} token_row;

static const token_row rows[TOKEN_KINDS] = {
#define BINARY(id, text, precedence, op, latex)                                                    \
    [TOKEN_##id] = {text, op, NULL, precedence, ROW_BINARY},
#define COMPARE(id, text, op, latex) [TOKEN_##id] = {text, op, NULL, 0, ROW_COMPARE},
#define MARK(id, text)               [TOKEN_##id] = {text, NULL, NULL, 0, ROW_MARK},
#define WORD(id, text)               [TOKEN_##id] = {text, NULL, NULL, 0, ROW_WORD},
#define REFUSED(id, text, advice)    [TOKEN_##id] = {text, NULL, advice, 0, ROW_WORD},
#include "engine/lang/tokens.def"
#undef BINARY
#undef COMPARE
#undef MARK
#undef WORD
#undef REFUSED
};

const char *token_op(token_kind kind)
{
    return rows[kind].op;
}

int token_precedence(token_kind kind)
{
    return rows[kind].precedence;
}

const char *token_advice(token_kind kind)
{
    return rows[kind].advice;
}

bool token_is_comparison(token_kind kind)
{
    return rows[kind].kind == ROW_COMPARE;
}

const char *token_text(const lexer *x, const token *t)
{
    const long n = t->end - t->offset;

    switch (t->kind) {
    case TOKEN_END:
        return "the end of the program";
    case TOKEN_NEWLINE:
        return "the end of the line";
    case TOKEN_INDENT:
        return "an indented line";
    case TOKEN_DEDENT:
        return "the end of the block";
    default:
        return arena_format(x->arena, "'%.*s'", (int)(n < 40 ? n : 40), x->text + t->offset);
    }
}

/* ---- Between the tokens ----------------------------------------------------- */

static bool fail(const lexer *x, const char *at, error *err, const char *what)
{
    error_set(err, ERR_SYNTAX, "%s", what);
    return error_at_text(err, x->text, at - x->text);
}

static void skip_comment(lexer *x)
{
    while (x->at < x->end && *x->at != '\n')
        x->at++;
}

/* Skips blanks, comments, continued lines and, inside brackets, line ends. */
static void skip_blanks(lexer *x)
{
    while (x->at < x->end) {
        if (*x->at == ' ' || *x->at == '\t' || *x->at == '\r' || *x->at == '\f')
            x->at++;
        else if (*x->at == '#')
            skip_comment(x);
        else if (*x->at == '\n' && x->brackets > 0)
            x->at++;
        else if (*x->at == '\\' && x->at[1] == '\n')
            x->at += 2;
        else if (*x->at == '\\' && x->at[1] == '\r' && x->at[2] == '\n')
            x->at += 3;
        else
            break;
    }
}

/* Skips to the first line that says something; returns the column where it does. */
static int skip_empty_lines(lexer *x)
{
    int column = 0;

    for (; x->at < x->end; x->at++) {
        if (*x->at == ' ')
            column++;
        else if (*x->at == '\t')
            column = (column / 8 + 1) * 8;
        else if (*x->at == '#')
            skip_comment(x), x->at--;
        else if (*x->at == '\n')
            column = 0;
        else if (*x->at != '\r' && *x->at != '\f')
            break;
    }
    return x->at < x->end ? column : x->indents[0];
}

/* Compares the indentation of a new line with the open blocks': gives an indent,
 * or notes how many blocks end. */
static bool read_indentation(lexer *x, bool *is_indent, error *err)
{
    const int column = skip_empty_lines(x);

    x->line_start = false;
    *is_indent = column > x->indents[x->indent_count - 1];
    if (*is_indent) {
        if (x->indent_count == LEXER_INDENTS)
            return fail(x, x->at, err, "blocks are nested too deeply");
        x->indents[x->indent_count++] = column;
        return true;
    }
    while (x->indent_count > 1 && column < x->indents[x->indent_count - 1]) {
        x->indent_count--;
        x->dedents++;
    }
    if (column != x->indents[x->indent_count - 1])
        return fail(x, x->at, err,
                    "this line is indented less than its block and more than the "
                    "one around it");
    return true;
}

/* ---- Words and marks -------------------------------------------------------- */

/* The row with the given text, among words or among the others. */
static token_kind find_row(const char *text, size_t length, bool word)
{
    for (int i = TOKEN_TEXT + 1; i < TOKEN_KINDS; i++)
        if ((rows[i].kind == ROW_WORD) == word && rows[i].text[0] == *text &&
            strlen(rows[i].text) == length && memcmp(rows[i].text, text, length) == 0)
            return (token_kind)i;
    return TOKEN_END;
}

static bool read_word(lexer *x, size_t length, error *err)
{
    token *t = &x->token;
    bool ascii = true;

    t->kind = find_row(x->at, length, true);
    x->at += length;
    if (t->kind != TOKEN_END)
        return true;
    for (size_t i = 0; i < length; i++)
        ascii = ascii && (unsigned char)x->text[t->offset + (long)i] < 0x80;
    if (!ascii || length > NAME_BYTES) {
        t->text = name_normalise(x->arena, x->text + t->offset, length, err);
        if (t->text == NULL)
            return error_at_text(err, x->text, t->offset);
    } else {
        t->text = arena_copy(x->arena, x->text + t->offset, length);
    }
    if (*x->at == '"' || *x->at == '\'')
        return fail(x, x->at, err, "strings have no prefix here");
    t->kind = TOKEN_NAME;
    t->length = strlen(t->text);
    return true;
}

static bool read_mark(lexer *x, error *err)
{
    const size_t left = (size_t)(x->end - x->at);
    token *t = &x->token;

    for (size_t n = left < 3 ? left : 3; n > 0; n--) {
        t->kind = find_row(x->at, n, false);
        if (t->kind == TOKEN_END)
            continue;
        x->at += n;
        t->augmented = rows[t->kind].kind == ROW_BINARY && *x->at == '=' && x->at < x->end;
        x->at += t->augmented;
        return true;
    }
    if (*x->at == '\0')
        return fail(x, x->at, err, "a program cannot contain a NUL byte");
    return fail(x, x->at, err,
                *x->at == '!' ? "'!' is not known here; use not or logical_not(x)"
                              : "this character means nothing here");
}

static void count_bracket(lexer *x)
{
    switch (x->token.kind) {
    case TOKEN_LEFT_PAREN:
    case TOKEN_LEFT_BRACKET:
    case TOKEN_LEFT_BRACE:
        x->brackets++;
        break;
    case TOKEN_RIGHT_PAREN:
    case TOKEN_RIGHT_BRACKET:
    case TOKEN_RIGHT_BRACE:
        x->brackets -= x->brackets > 0;
        break;
    default:
        break;
    }
}

/* ---- One token -------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_token(lexer *x, error *err)
{
    const size_t word = name_scan(x->at, (size_t)(x->end - x->at));
    bool ok;

    if (word > 0)
        return read_word(x, word, err);
    if (is_digit(*x->at) || (*x->at == '.' && is_digit(x->at[1]) && !x->point_is_operator))
        return literal_read_number(x, err);
    if (*x->at == '"' || *x->at == '\'')
        return literal_read_text(x, err);
    ok = read_mark(x, err);
    count_bracket(x);
    return ok;
}

static bool give(lexer *x, token_kind kind)
{
    x->token.kind = kind;
    x->token.end = x->token.offset;
    return true;
}

bool lexer_next(lexer *x, error *err)
{
    bool is_indent = false, ok;

    x->token = (token){.kind = TOKEN_END, .offset = x->at - x->text};
    if (x->line_start && x->brackets == 0 && !x->point_is_operator &&
        !read_indentation(x, &is_indent, err))
        return false;
    skip_blanks(x);
    x->token.offset = x->at - x->text;
    if (is_indent)
        return give(x, TOKEN_INDENT);
    if (x->dedents > 0) {
        x->dedents--;
        return give(x, TOKEN_DEDENT);
    }
    if (x->at >= x->end) {
        x->line_start = !x->line_start && x->indent_count > 1; /* to end the open blocks */
        return give(x, x->line_start ? TOKEN_NEWLINE : TOKEN_END);
    }
    if (*x->at == '\n') {
        x->at++;
        x->line_start = true;
        return give(x, TOKEN_NEWLINE);
    }
    ok = read_token(x, err);
    x->token.end = x->at - x->text;
    return ok;
}

lexer_place lexer_mark(const lexer *x)
{
    return (lexer_place){x->at, x->brackets, x->line_start, x->token};
}

void lexer_return(lexer *x, const lexer_place *place)
{
    x->at = place->at;
    x->brackets = place->brackets;
    x->line_start = place->line_start;
    x->token = place->token;
}

bool lexer_init(lexer *x, arena *a, const char *text, size_t length, bool point_is_operator,
                error *err)
{
    *x = (lexer){.text = text,
                 .at = text,
                 .end = text + length,
                 .arena = a,
                 .point_is_operator = point_is_operator,
                 .indent_count = 1};
    x->indents[0] = skip_empty_lines(x);
    return lexer_next(x, err);
}
