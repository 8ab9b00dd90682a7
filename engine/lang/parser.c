/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lang/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Tokens ----------------------------------------------------------------- */

bool parser_fail(parser *p, error *err, const char *format, ...)
{
    char message[300];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    error_set(err, ERR_SYNTAX, "%s", message);
    return error_at_text(err, p->x.text, p->x.token.offset);
}

bool parser_unexpected(parser *p, error *err)
{
    const char *found = token_text(&p->x, &p->x.token);
    const char *advice = token_advice(p->x.token.kind);

    if (advice != NULL)
        return parser_fail(p, err, "%s is not part of the language; %s", found, advice);
    if (p->x.token.kind == TOKEN_INDENT)
        return parser_fail(p, err, "this line is indented but begins no block");
    return parser_fail(p, err, "%s cannot stand here", found);
}

bool parser_at(const parser *p, token_kind kind)
{
    return p->x.token.kind == kind && !p->x.token.augmented;
}

bool parser_skip(parser *p, token_kind kind, bool *found, error *err)
{
    *found = parser_at(p, kind);
    return !*found || lexer_next(&p->x, err);
}

bool parser_expect(parser *p, token_kind kind, const char *what, error *err)
{
    if (parser_at(p, kind))
        return lexer_next(&p->x, err);
    if (token_advice(p->x.token.kind) != NULL)
        return parser_unexpected(p, err);
    return parser_fail(p, err, "expected %s, found %s", what, token_text(&p->x, &p->x.token));
}

bool parser_enter(parser *p, error *err)
{
    if (p->depth >= NESTING_MAX)
        return parser_fail(p, err, "nested more than %d levels deep", NESTING_MAX);
    p->depth++;
    return true;
}

void parser_leave(parser *p)
{
    p->depth--;
}

static instruction *emit(parser *p, code_kind kind, long offset)
{
    return code_add(p->code, kind, offset);
}

/* ---- Atoms ------------------------------------------------------------------ */

static bool parse_number(parser *p, error *err)
{
    const token *t = &p->x.token;
    instruction *i;

    if (t->kind == TOKEN_INT) {
        i = emit(p, CODE_INT, t->offset);
        i->integer = t->integer;
    } else {
        i = emit(p, t->kind == TOKEN_FLOAT ? CODE_FLOAT : CODE_IMAGINARY, t->offset);
        i->real = t->real;
    }
    return lexer_next(&p->x, err);
}

/* A string, and those that follow it directly. */
static bool parse_text(parser *p, error *err)
{
    const long offset = p->x.token.offset;
    text all;

    text_init(&all);
    while (p->x.token.kind == TOKEN_TEXT) {
        text_add_bytes(&all, p->x.token.text, p->x.token.length);
        if (!lexer_next(&p->x, err)) {
            text_clear(&all);
            return false;
        }
    }
    emit(p, CODE_TEXT, offset)->text = text_copy(&all, p->x.arena);
    text_clear(&all);
    return true;
}

static bool parse_name(parser *p, error *err)
{
    const token t = p->x.token;
    instruction *i = emit(p, CODE_LOAD, t.offset);

    i->text = t.text;
    if (!lexer_next(&p->x, err))
        return false;
    i->use = parser_at(p, TOKEN_LEFT_PAREN) ? USE_CALL
             : parser_at(p, TOKEN_DOT)      ? USE_PREFIX
                                            : USE_VALUE;
    return true;
}

/* None, True, False and ... */
static bool parse_constant(parser *p, error *err)
{
    const token *t = &p->x.token;

    switch (t->kind) {
    case TOKEN_NONE:
        emit(p, CODE_NONE, t->offset);
        break;
    case TOKEN_DOTS:
        emit(p, CODE_ELLIPSIS, t->offset);
        break;
    default:
        emit(p, CODE_BOOL, t->offset)->n = t->kind == TOKEN_TRUE;
    }
    return lexer_next(&p->x, err);
}

/* Expressions separated by commas up to a closing token, which is taken; their
 * number, and whether a comma was there. */
static bool parse_items(parser *p, token_kind close, int *count, bool *comma, error *err)
{
    const char *mark = close == TOKEN_RIGHT_PAREN ? "')'" : "']'";

    *count = 0;
    *comma = false;
    while (!parser_at(p, close)) {
        if (!parse_expression(p, err))
            return false;
        ++*count;
        if (parser_at(p, close))
            break;
        if (p->x.token.kind == TOKEN_FOR)
            return parser_fail(p, err,
                               "comprehensions are not part of the language; use "
                               "map(lambda x: .., xs)");
        if (!parser_expect(p, TOKEN_COMMA, close == TOKEN_RIGHT_PAREN ? "',' or ')'" : "',' or ']'",
                           err))
            return false;
        *comma = true;
    }
    return parser_expect(p, close, mark, err);
}

static bool parse_bracketed(parser *p, error *err)
{
    const token open = p->x.token;
    const bool is_list = open.kind == TOKEN_LEFT_BRACKET;
    int count;
    bool comma;

    if (!parser_enter(p, err) || !lexer_next(&p->x, err) ||
        !parse_items(p, is_list ? TOKEN_RIGHT_BRACKET : TOKEN_RIGHT_PAREN, &count, &comma, err))
        return false;
    parser_leave(p);
    if (is_list)
        emit(p, CODE_LIST, open.offset)->n = count;
    else if (comma || count == 0)
        emit(p, CODE_TUPLE, open.offset)->n = count;
    return true;
}

static bool parse_atom(parser *p, error *err)
{
    switch (p->x.token.kind) {
    case TOKEN_INT:
    case TOKEN_FLOAT:
    case TOKEN_IMAGINARY:
        return parse_number(p, err);
    case TOKEN_TEXT:
        return parse_text(p, err);
    case TOKEN_NAME:
        return parse_name(p, err);
    case TOKEN_NONE:
    case TOKEN_TRUE:
    case TOKEN_FALSE:
    case TOKEN_DOTS:
        return parse_constant(p, err);
    case TOKEN_LEFT_PAREN:
    case TOKEN_LEFT_BRACKET:
        return parse_bracketed(p, err);
    case TOKEN_LEFT_BRACE:
        return parser_fail(p, err,
                           "dictionaries and sets are not part of the language; use tuples");
    default:
        return parser_unexpected(p, err);
    }
}

/* ---- Calls, indices, attributes --------------------------------------------- */

/* One argument; the name of a keyword is added to names. */
static bool parse_argument(parser *p, const char ***names, size_t *room, int *keywords, error *err)
{
    const lexer_place before = lexer_mark(&p->x);

    if (parser_at(p, TOKEN_MULTIPLY) || parser_at(p, TOKEN_POWER))
        return parser_fail(p, err, "arguments cannot be unpacked with %s here; write them out",
                           token_text(&p->x, &p->x.token));
    if (p->x.token.kind == TOKEN_NAME) {
        if (!lexer_next(&p->x, err))
            return false;
        if (parser_at(p, TOKEN_ASSIGN)) {
            *names = arena_grow(p->x.arena, *names, (size_t)*keywords, room, sizeof **names);
            (*names)[(*keywords)++] = before.token.text;
            return lexer_next(&p->x, err) && parse_expression(p, err);
        }
        lexer_return(&p->x, &before);
    }
    if (*keywords > 0)
        return parser_fail(p, err, "positional arguments come before keywords");
    return parse_expression(p, err);
}

/* Where a call is said to stand: at the name of what is called, if it has one. */
static long call_offset(const parser *p)
{
    const instruction *callee = &p->code->list[p->code->count - 1];

    if (callee->kind == CODE_LOAD || callee->kind == CODE_ATTRIBUTE)
        return (long)callee->offset;
    return p->x.token.offset;
}

static bool parse_call(parser *p, error *err)
{
    const long offset = call_offset(p);
    const char **names = NULL;
    size_t room = 0;
    int count = 0, keywords = 0;
    instruction *i;

    if (!parser_enter(p, err) || !lexer_next(&p->x, err))
        return false;
    for (; !parser_at(p, TOKEN_RIGHT_PAREN); count++) {
        if (!parse_argument(p, &names, &room, &keywords, err))
            return false;
        if (parser_at(p, TOKEN_RIGHT_PAREN))
            continue;
        if (p->x.token.kind == TOKEN_FOR)
            return parser_fail(p, err,
                               "comprehensions are not part of the language; use "
                               "map(lambda x: .., xs)");
        if (!parser_expect(p, TOKEN_COMMA, "',' or ')'", err))
            return false;
    }
    parser_leave(p);
    if (keywords > 0) {
        names = arena_grow(p->x.arena, names, (size_t)keywords, &room, sizeof *names);
        names[keywords] = NULL;
    }
    i = emit(p, CODE_CALL, offset);
    i->n = count - keywords;
    i->keywords = names;
    return lexer_next(&p->x, err);
}

/* One item of an index: an expression or a slice. */
static bool parse_index_item(parser *p, error *err)
{
    const long offset = p->x.token.offset;
    bool found;
    int parts = 0;

    if (!parser_at(p, TOKEN_COLON) && !parse_expression(p, err))
        return false;
    if (!parser_at(p, TOKEN_COLON))
        return true;
    if (p->x.token.offset == offset)
        emit(p, CODE_NONE, offset);
    for (parts = 1; parts < 3; parts++) {
        if (!parser_skip(p, TOKEN_COLON, &found, err))
            return false;
        if (!found || parser_at(p, TOKEN_COMMA) || parser_at(p, TOKEN_RIGHT_BRACKET) ||
            parser_at(p, TOKEN_COLON))
            emit(p, CODE_NONE, offset);
        else if (!parse_expression(p, err))
            return false;
    }
    emit(p, CODE_SLICE, offset);
    return true;
}

bool parse_index(parser *p, int *count, error *err)
{
    *count = 0;
    if (parser_at(p, TOKEN_RIGHT_BRACKET))
        return parser_fail(p, err, "an index cannot be empty");
    while (!parser_at(p, TOKEN_RIGHT_BRACKET)) {
        if (!parse_index_item(p, err))
            return false;
        ++*count;
        if (parser_at(p, TOKEN_RIGHT_BRACKET))
            break;
        if (!parser_expect(p, TOKEN_COMMA, "',' or ']'", err))
            return false;
    }
    return parser_expect(p, TOKEN_RIGHT_BRACKET, "']'", err);
}

static bool parse_subscript(parser *p, error *err)
{
    const long offset = p->x.token.offset;
    int count;

    if (!parser_enter(p, err) || !lexer_next(&p->x, err) || !parse_index(p, &count, err))
        return false;
    parser_leave(p);
    emit(p, CODE_INDEX, offset)->n = count;
    return true;
}

static bool parse_attribute(parser *p, error *err)
{
    instruction *i;
    token name;

    if (!lexer_next(&p->x, err))
        return false;
    name = p->x.token;
    if (name.kind != TOKEN_NAME)
        return parser_fail(p, err, "expected a name behind '.', found %s",
                           token_text(&p->x, &name));
    if (!lexer_next(&p->x, err))
        return false;
    i = emit(p, CODE_ATTRIBUTE, name.offset);
    i->text = name.text;
    i->use = parser_at(p, TOKEN_LEFT_PAREN) ? USE_CALL : USE_VALUE;
    return true;
}

static bool parse_primary(parser *p, error *err)
{
    if (!parse_atom(p, err))
        return false;
    for (;;) {
        bool ok;

        if (parser_at(p, TOKEN_LEFT_PAREN))
            ok = parse_call(p, err);
        else if (parser_at(p, TOKEN_LEFT_BRACKET))
            ok = parse_subscript(p, err);
        else if (parser_at(p, TOKEN_DOT))
            ok = parse_attribute(p, err);
        else
            return true;
        if (!ok)
            return false;
    }
}

/* ---- Operators -------------------------------------------------------------- */

static bool is_sign(token_kind kind)
{
    return kind == TOKEN_SUBTRACT || kind == TOKEN_ADD || kind == TOKEN_INVERT;
}

/* A sign and its operand, or a power; x ** -y and -x ** y are -(x ** (-y)). */
static bool parse_unary(parser *p, error *err)
{
    const token t = p->x.token;
    const bool sign = is_sign(t.kind) && !t.augmented;

    if (!parser_enter(p, err))
        return false;
    if (sign) {
        if (!lexer_next(&p->x, err) || !parse_unary(p, err))
            return false;
        emit(p, CODE_UNARY, t.offset)->symbol = (uint8_t)t.kind;
    } else if (!parse_primary(p, err)) {
        return false;
    }
    if (!sign && parser_at(p, TOKEN_POWER)) {
        const long offset = p->x.token.offset;

        if (!lexer_next(&p->x, err) || !parse_unary(p, err))
            return false;
        emit(p, CODE_BINARY, offset)->symbol = TOKEN_POWER;
    }
    parser_leave(p);
    return true;
}

/* Operands joined by operators of at least this precedence, left to right. */
static bool parse_binary(parser *p, int least, error *err)
{
    if (!parse_unary(p, err))
        return false;
    while (token_precedence(p->x.token.kind) >= least && !p->x.token.augmented) {
        const token t = p->x.token;

        if (!lexer_next(&p->x, err) || !parse_binary(p, token_precedence(t.kind) + 1, err))
            return false;
        emit(p, CODE_BINARY, t.offset)->symbol = (uint8_t)t.kind;
    }
    return true;
}

/* a is b, a is not b; the current token is the is. */
static bool parse_is(parser *p, error *err)
{
    const long offset = p->x.token.offset;
    bool negated;

    if (!lexer_next(&p->x, err) || !parser_skip(p, TOKEN_NOT, &negated, err) ||
        !parse_binary(p, 1, err))
        return false;
    emit(p, CODE_IS, offset)->n = negated;
    return true;
}

/* Comparisons chain: a < b < c. */
static bool parse_comparison(parser *p, error *err)
{
    token_kind *symbols = NULL;
    long offset = 0;
    size_t room = 0;
    int n = 0;
    instruction *i;

    if (!parse_binary(p, 1, err))
        return false;
    if (parser_at(p, TOKEN_IS))
        return parse_is(p, err);
    while (token_is_comparison(p->x.token.kind)) {
        symbols = arena_grow(p->x.arena, symbols, (size_t)n, &room, sizeof *symbols);
        symbols[n++] = p->x.token.kind;
        offset = n == 1 ? p->x.token.offset : offset;
        if (!lexer_next(&p->x, err) || !parse_binary(p, 1, err))
            return false;
    }
    if (n == 0)
        return true;
    i = emit(p, CODE_COMPARE, offset);
    i->n = n;
    i->symbols = symbols;
    return true;
}

static bool parse_not(parser *p, error *err)
{
    const long offset = p->x.token.offset;

    if (!parser_at(p, TOKEN_NOT))
        return parse_comparison(p, err);
    if (!parser_enter(p, err) || !lexer_next(&p->x, err) || !parse_not(p, err))
        return false;
    parser_leave(p);
    emit(p, CODE_NOT, offset);
    return true;
}

/* Operands joined by and, or by or, whose code is test, operand, join. */
static bool parse_logical(parser *p, token_kind word, error *err)
{
    const bool is_and = word == TOKEN_AND;

    if (!(is_and ? parse_not(p, err) : parse_logical(p, TOKEN_AND, err)))
        return false;
    while (parser_at(p, word)) {
        const long offset = p->x.token.offset;
        const size_t test = p->code->count;

        emit(p, is_and ? CODE_AND_TEST : CODE_OR_TEST, offset);
        if (!lexer_next(&p->x, err) ||
            !(is_and ? parse_not(p, err) : parse_logical(p, TOKEN_AND, err)))
            return false;
        emit(p, is_and ? CODE_AND : CODE_OR, offset);
        p->code->list[test].n = (int)(p->code->count - test - 1);
    }
    return true;
}

/* ---- Conditional expressions and lambda ------------------------------------- */

/* Moves the first n of the instructions in [start, count) behind the others. */
static void rotate(code *c, size_t start, size_t n)
{
    const size_t rest = c->count - start - n;
    instruction *copy = arena_array(c->arena, n, sizeof *copy);

    memcpy(copy, c->list + start, n * sizeof *copy);
    memmove(c->list + start, c->list + start + n, rest * sizeof *copy);
    memcpy(c->list + start + rest, copy, n * sizeof *copy);
}

/* The rest of a if p else b, whose a lies from start: writes p, select, a, jump,
 * b. */
static bool parse_conditional(parser *p, size_t start, error *err)
{
    const long offset = p->x.token.offset;
    const size_t n = p->code->count - start;
    size_t select, jump;

    if (!parser_enter(p, err) || !lexer_next(&p->x, err) || !parse_logical(p, TOKEN_OR, err))
        return false;
    if (!parser_expect(p, TOKEN_ELSE, "'else' of the conditional expression", err))
        return false;
    emit(p, CODE_SELECT, offset);
    rotate(p->code, start, n);
    select = p->code->count - n - 1;
    jump = p->code->count;
    emit(p, CODE_JUMP, offset);
    if (!parse_expression(p, err))
        return false;
    p->code->list[select].n = (int)(jump - select);
    p->code->list[jump].n = (int)(p->code->count - jump - 1);
    parser_leave(p);
    return true;
}

/* A parameter: a name, and its default after those that have none. */
static bool parse_parameter(parser *p, code_function *f, const char ***names, size_t *room,
                            error *err)
{
    bool found;

    if (p->x.token.kind != TOKEN_NAME)
        return parser_fail(p, err,
                           "expected the name of a parameter, found %s; only plain "
                           "parameters and defaults exist",
                           token_text(&p->x, &p->x.token));
    for (int i = 0; i < f->count; i++)
        if (strcmp((*names)[i], p->x.token.text) == 0)
            return parser_fail(p, err, "the parameter '%s' is there twice", p->x.token.text);
    if (f->count == PARAMETERS_MAX)
        return parser_fail(p, err, "a function has at most %d parameters", PARAMETERS_MAX);
    *names = arena_grow(p->x.arena, *names, (size_t)f->count, room, sizeof **names);
    (*names)[f->count++] = p->x.token.text;
    if (!lexer_next(&p->x, err) || !parser_skip(p, TOKEN_ASSIGN, &found, err))
        return false;
    if (!found && f->defaults > 0)
        return parser_fail(p, err, "parameters with defaults come last");
    f->defaults += found;
    return !found || parse_expression(p, err);
}

code_function *parse_parameters(parser *p, token_kind end, error *err)
{
    code_function *f = arena_alloc(p->x.arena, sizeof *f);
    const char **names = NULL;
    size_t room = 0;

    while (!parser_at(p, end)) {
        if (!parse_parameter(p, f, &names, &room, err))
            return NULL;
        if (parser_at(p, end))
            break;
        if (!parser_expect(p, TOKEN_COMMA, "',' between parameters", err))
            return NULL;
    }
    f->parameters = names;
    return f;
}

static bool parse_lambda(parser *p, error *err)
{
    const long offset = p->x.token.offset;
    code_function *f;
    instruction *i;
    size_t at;

    if (!parser_enter(p, err) || !lexer_next(&p->x, err))
        return false;
    f = parse_parameters(p, TOKEN_COLON, err);
    if (f == NULL || !lexer_next(&p->x, err))
        return false;
    f->name = "lambda";
    at = p->code->count;
    i = emit(p, CODE_FUNCTION, offset);
    i->function = f;
    if (!parse_expression(p, err))
        return false;
    emit(p, CODE_RETURN, offset);
    p->code->list[at].n = (int)(p->code->count - at - 1);
    parser_leave(p);
    return true;
}

bool parse_expression(parser *p, error *err)
{
    const size_t start = p->code->count;

    if (parser_at(p, TOKEN_LAMBDA))
        return parse_lambda(p, err);
    if (!parse_logical(p, TOKEN_OR, err))
        return false;
    if (parser_at(p, TOKEN_WALRUS))
        return parser_fail(p, err, "':=' is not part of the language; assign in a line of its own");
    if (p->x.token.kind == TOKEN_IN)
        return parser_unexpected(p, err);
    return !parser_at(p, TOKEN_IF) || parse_conditional(p, start, err);
}

/* Whether a tuple without parentheses may end before this token. */
static bool ends_expressions(token_kind kind)
{
    return kind == TOKEN_END || kind == TOKEN_NEWLINE || kind == TOKEN_SEMICOLON ||
           kind == TOKEN_ASSIGN || kind == TOKEN_DEDENT;
}

bool parse_expressions(parser *p, error *err)
{
    const long offset = p->x.token.offset;
    int count = 1;
    bool found;

    if (!parse_expression(p, err))
        return false;
    if (!parser_at(p, TOKEN_COMMA))
        return true;
    while (parser_at(p, TOKEN_COMMA)) {
        if (!parser_skip(p, TOKEN_COMMA, &found, err))
            return false;
        if (ends_expressions(p->x.token.kind))
            break;
        if (!parse_expression(p, err))
            return false;
        count++;
    }
    emit(p, CODE_TUPLE, offset)->n = count;
    return true;
}
