/* parser -- what expressions (parser.c) and statements (statements.c) share.
 *
 * A parser stands at a token and writes code for what it reads. Its functions
 * return false with an error set; each leaves the lexer behind what it read. */
#pragma once

#include "engine/lang/code.h"

enum { NESTING_MAX = 200 }; /* of brackets, prefix operators and functions */

typedef struct parser {
    lexer x;
    code *code;
    int depth; /* of nesting */
    bool in_function;
    lexer_place *targets; /* of the assignment that is being read */
    size_t targets_room;
} parser;

/* An expression without commas at its top; with them, a tuple. */
bool parse_expression(parser *p, error *err);
bool parse_expressions(parser *p, error *err);

/* The items of an index, behind its [, up to and with its ]; their number. */
bool parse_index(parser *p, int *count, error *err);

/* Parameters of a function up to (not with) the token at which they end: writes
 * the code of their defaults. NULL and an error otherwise. */
code_function *parse_parameters(parser *p, token_kind end, error *err);

/* Whether the current token is of a kind; takes it if so. */
bool parser_at(const parser *p, token_kind kind);
bool parser_skip(parser *p, token_kind kind, bool *found, error *err);
/* Takes a token that must be there; what says where: "behind x". */
bool parser_expect(parser *p, token_kind kind, const char *what, error *err);

/* Sets ERR_SYNTAX at the current token; says what was found if format ends so. */
bool parser_fail(parser *p, error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a token that nothing can begin or continue with. */
bool parser_unexpected(parser *p, error *err);

/* Counts one level of nesting; false and an error if it is one too many. */
bool parser_enter(parser *p, error *err);
void parser_leave(parser *p);
