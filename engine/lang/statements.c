/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lang/parser.h"

#include <string.h>

static bool parse_block(parser *p, error *err);

static instruction *emit(parser *p, code_kind kind, long offset)
{
    return code_add(p->code, kind, offset);
}

/* ---- Targets of assignments ------------------------------------------------- */

static bool parse_targets(parser *p, token_kind close, error *err);

/* x[..] = v: v lies on top of the stack and stays there below the new x. */
static bool parse_index_target(parser *p, const token *name, error *err)
{
    const long offset = p->x.token.offset;
    int count;

    emit(p, CODE_LOAD, name->offset)->text = name->text;
    if (!lexer_next(&p->x, err) || !parse_index(p, &count, err))
        return false;
    if (parser_at(p, TOKEN_LEFT_BRACKET))
        return parser_fail(p, err, "assign with one index: %s[i, j] = v", name->text);
    emit(p, CODE_SET_INDEX_OF, offset)->n = count;
    emit(p, CODE_STORE, name->offset)->text = name->text;
    emit(p, CODE_POP, offset);
    return true;
}

static bool parse_name_target(parser *p, error *err)
{
    const token name = p->x.token;

    if (!lexer_next(&p->x, err))
        return false;
    if (parser_at(p, TOKEN_LEFT_BRACKET))
        return parse_index_target(p, &name, err);
    if (parser_at(p, TOKEN_DOT))
        return parser_fail(p, err, "attributes cannot be assigned; build a new value instead");
    if (parser_at(p, TOKEN_LEFT_PAREN))
        return parser_fail(p, err, "a call cannot be assigned to");
    emit(p, CODE_STORE, name.offset)->text = name.text;
    return true;
}

/* One target, whose value lies on top of the stack and is taken from it. */
static bool parse_target(parser *p, error *err)
{
    const token_kind kind = p->x.token.kind;
    bool ok;

    if (kind == TOKEN_NAME)
        return parse_name_target(p, err);
    if (kind == TOKEN_MULTIPLY)
        return parser_fail(p, err, "starred targets are not part of the language; use x[1:]");
    if (kind != TOKEN_LEFT_PAREN && kind != TOKEN_LEFT_BRACKET)
        return parser_fail(p, err, "this cannot be assigned to");
    if (!parser_enter(p, err) || !lexer_next(&p->x, err))
        return false;
    ok = parse_targets(p, kind == TOKEN_LEFT_PAREN ? TOKEN_RIGHT_PAREN : TOKEN_RIGHT_BRACKET, err);
    parser_leave(p);
    return ok;
}

/* Targets separated by commas up to close, which is taken if it is a bracket. */
static bool parse_targets(parser *p, token_kind close, error *err)
{
    const long offset = p->x.token.offset;
    const size_t at = p->code->count;
    bool comma = close == TOKEN_RIGHT_BRACKET;
    int count = 0;

    emit(p, CODE_UNPACK, offset);
    while (!parser_at(p, close)) {
        if (!parse_target(p, err))
            return false;
        count++;
        if (parser_at(p, close))
            break;
        if (!parser_at(p, TOKEN_COMMA))
            return parser_fail(p, err, "this cannot be assigned to");
        comma = true;
        if (!lexer_next(&p->x, err))
            return false;
    }
    p->code->list[at].n = comma || count == 0 ? count : -1; /* -1: as it is */
    return close == TOKEN_ASSIGN || lexer_next(&p->x, err);
}

/* a = b = value, read up to its end; p->targets says where each target begins. */
static bool parse_assigned(parser *p, int count, error *err)
{
    const lexer_place end = lexer_mark(&p->x);

    for (int i = 0; i < count; i++) {
        lexer_return(&p->x, &p->targets[i]);
        if (i + 1 < count)
            emit(p, CODE_COPY, p->x.token.offset);
        if (!parse_targets(p, TOKEN_ASSIGN, err))
            return false;
    }
    lexer_return(&p->x, &end);
    return true;
}

/* x += v and x[..] += v; the target began at start. */
static bool parse_augmented(parser *p, const lexer_place *start, error *err)
{
    const lexer_place at_operator = lexer_mark(&p->x);
    const token symbol = p->x.token, name = start->token;
    int count = 0;
    bool indexed;

    lexer_return(&p->x, start);
    if (name.kind != TOKEN_NAME || !lexer_next(&p->x, err))
        return parser_fail(p, err, "this cannot be assigned to");
    emit(p, CODE_LOAD, name.offset)->text = name.text;
    indexed = parser_at(p, TOKEN_LEFT_BRACKET);
    if (indexed) {
        if (!lexer_next(&p->x, err) || !parse_index(p, &count, err))
            return false;
        emit(p, CODE_INDEX_KEPT, name.offset)->n = count;
    }
    if (p->x.token.offset != symbol.offset)
        return parser_fail(p, err, "this cannot be assigned to");
    lexer_return(&p->x, &at_operator);
    if (!lexer_next(&p->x, err) || !parse_expressions(p, err))
        return false;
    emit(p, CODE_AUGMENT, symbol.offset)->symbol = (uint8_t)symbol.kind;
    if (indexed)
        emit(p, CODE_SET_INDEX, symbol.offset)->n = count;
    emit(p, CODE_STORE, name.offset)->text = name.text;
    return true;
}

/* ---- Simple statements ------------------------------------------------------ */

/* An expression statement, an assignment, or an augmented one. */
static bool parse_assignment(parser *p, error *err)
{
    lexer_place start = lexer_mark(&p->x);
    const size_t first = p->code->count;
    int count = 0;

    if (!parse_expressions(p, err))
        return false;
    if (p->x.token.augmented) {
        p->code->count = first;
        return parse_augmented(p, &start, err);
    }
    while (parser_at(p, TOKEN_ASSIGN)) {
        p->targets =
            arena_grow(p->x.arena, p->targets, (size_t)count, &p->targets_room, sizeof *p->targets);
        p->targets[count++] = start;
        p->code->count = first;
        if (!lexer_next(&p->x, err))
            return false;
        start = lexer_mark(&p->x);
        if (!parse_expressions(p, err))
            return false;
    }
    if (parser_at(p, TOKEN_COLON))
        return parser_fail(p, err, "annotations are not part of the language");
    if (count == 0)
        emit(p, CODE_RESULT, start.token.offset);
    return parse_assigned(p, count, err);
}

static bool parse_delete(parser *p, error *err)
{
    bool found;

    do {
        if (!lexer_next(&p->x, err)) /* over del, or the comma */
            return false;
        if (p->x.token.kind != TOKEN_NAME)
            return parser_fail(p, err, "expected a name to delete, found %s",
                               token_text(&p->x, &p->x.token));
        emit(p, CODE_DELETE, p->x.token.offset)->text = p->x.token.text;
        if (!lexer_next(&p->x, err))
            return false;
        found = parser_at(p, TOKEN_COMMA);
    } while (found);
    return true;
}

static bool parse_return(parser *p, error *err)
{
    const long offset = p->x.token.offset;

    if (!p->in_function)
        return parser_fail(p, err, "'return' stands outside of a function");
    if (!lexer_next(&p->x, err))
        return false;
    if (parser_at(p, TOKEN_NEWLINE) || parser_at(p, TOKEN_SEMICOLON) || parser_at(p, TOKEN_END))
        emit(p, CODE_NONE, offset);
    else if (!parse_expressions(p, err))
        return false;
    emit(p, CODE_RETURN, offset);
    return true;
}

/* Keywords that begin a statement but are refused there with other advice than
 * within expressions. */
static bool parse_refused(parser *p, error *err)
{
    if (parser_at(p, TOKEN_IF) || parser_at(p, TOKEN_ELSE))
        return parser_fail(p, err,
                           "if statements are not part of the language; use a if p else b, "
                           "cond(p, lambda: a, lambda: b) or where(p, a, b)");
    return parser_unexpected(p, err);
}

static bool parse_simple(parser *p, error *err)
{
    switch (p->x.token.kind) {
    case TOKEN_DEL:
        return parse_delete(p, err);
    case TOKEN_RETURN:
        return parse_return(p, err);
    case TOKEN_PASS:
        return lexer_next(&p->x, err);
    case TOKEN_IF:
    case TOKEN_ELSE:
        return parse_refused(p, err);
    default:
        return parse_assignment(p, err);
    }
}

/* Simple statements separated by semicolons, up to the end of the line. */
static bool parse_line(parser *p, error *err)
{
    while (!parser_at(p, TOKEN_NEWLINE) && !parser_at(p, TOKEN_END)) {
        if (!parse_simple(p, err))
            return false;
        if (parser_at(p, TOKEN_NEWLINE) || parser_at(p, TOKEN_END))
            break;
        if (!parser_at(p, TOKEN_SEMICOLON)) {
            if (token_advice(p->x.token.kind) != NULL || p->x.token.kind == TOKEN_INDENT)
                return parser_unexpected(p, err);
            return parser_fail(p, err, "expected the end of the statement, found %s",
                               token_text(&p->x, &p->x.token));
        }
        if (!lexer_next(&p->x, err))
            return false;
    }
    return parser_at(p, TOKEN_END) || lexer_next(&p->x, err);
}

/* ---- Functions -------------------------------------------------------------- */

/* The body of a def, on its line or as a block below it. */
static bool parse_body(parser *p, error *err)
{
    bool found;

    if (!parser_skip(p, TOKEN_NEWLINE, &found, err))
        return false;
    if (!found)
        return parse_line(p, err);
    if (!parser_at(p, TOKEN_INDENT))
        return parser_fail(p, err, "expected an indented block, found %s",
                           token_text(&p->x, &p->x.token));
    return lexer_next(&p->x, err) && parse_block(p, err);
}

/* def name(parameters): the parameters' defaults, then the function's code. */
static code_function *parse_head(parser *p, token *name, error *err)
{
    code_function *f;
    bool found;

    if (!lexer_next(&p->x, err))
        return NULL;
    *name = p->x.token;
    if (!parser_expect(p, TOKEN_NAME, "the name of the function", err) ||
        !parser_expect(p, TOKEN_LEFT_PAREN, "'('", err))
        return NULL;
    f = parse_parameters(p, TOKEN_RIGHT_PAREN, err);
    if (f == NULL || !parser_expect(p, TOKEN_RIGHT_PAREN, "')'", err) ||
        !parser_skip(p, TOKEN_ARROW, &found, err))
        return NULL;
    if (found) {
        parser_fail(p, err, "annotations are not part of the language");
        return NULL;
    }
    if (!parser_expect(p, TOKEN_COLON, "':'", err))
        return NULL;
    f->name = name->text;
    return f;
}

static bool parse_def(parser *p, error *err)
{
    const bool outer = p->in_function;
    token name;
    code_function *f;
    size_t at;

    if (!parser_enter(p, err))
        return false;
    f = parse_head(p, &name, err);
    if (f == NULL)
        return false;
    at = p->code->count;
    emit(p, CODE_FUNCTION, name.offset)->function = f;
    p->in_function = true;
    if (!parse_body(p, err))
        return false;
    p->in_function = outer;
    if (p->code->list[p->code->count - 1].kind != CODE_RETURN) {
        error_set(err, ERR_SYNTAX, "the body of '%s' must end in a return", name.text);
        return error_at_text(err, p->x.text, name.offset);
    }
    p->code->list[at].n = (int)(p->code->count - at - 1);
    emit(p, CODE_STORE, name.offset)->text = name.text;
    parser_leave(p);
    return true;
}

/* Statements up to the end of their block. */
static bool parse_block(parser *p, error *err)
{
    while (!parser_at(p, TOKEN_DEDENT) && !parser_at(p, TOKEN_END)) {
        if (!(parser_at(p, TOKEN_DEF) ? parse_def(p, err) : parse_line(p, err)))
            return false;
    }
    return parser_at(p, TOKEN_END) || lexer_next(&p->x, err);
}

/* ---- Programs --------------------------------------------------------------- */

instruction *code_add(code *c, code_kind kind, long offset)
{
    c->list = arena_grow(c->arena, c->list, c->count, &c->room, sizeof *c->list);
    c->list[c->count] = (instruction){.kind = kind, .offset = (unsigned)offset};
    return &c->list[c->count++];
}

bool code_parse(code *c, size_t length, bool is_body, error *err)
{
    parser p = {.code = c, .in_function = is_body};

    if (!lexer_init(&p.x, c->arena, c->text, length, false, err))
        return false;
    while (!parser_at(&p, TOKEN_END)) {
        if (parser_at(&p, TOKEN_DEDENT))
            return parser_unexpected(&p, err);
        if (!(parser_at(&p, TOKEN_DEF) ? parse_def(&p, err) : parse_line(&p, err)))
            return false;
    }
    return true;
}
