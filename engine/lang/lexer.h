/* lexer -- program text as tokens.
 *
 * Both dialects read their tokens here, one at a time and without memory for
 * them; within a line a parser may return to a place that it marked.
 * Inside brackets line ends do not count; outside, indentation comes as tokens.
 *
 * The text must have a NUL behind its end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

typedef enum token_kind {
    TOKEN_END,
    TOKEN_NEWLINE,
    TOKEN_INDENT,
    TOKEN_DEDENT,
    TOKEN_NAME,
    TOKEN_INT,
    TOKEN_FLOAT,
    TOKEN_IMAGINARY,
    TOKEN_TEXT,
#define BINARY(id, text, precedence, op, latex) TOKEN_##id,
#define COMPARE(id, text, op, latex)            TOKEN_##id,
#define MARK(id, text)                          TOKEN_##id,
#define WORD(id, text)                          TOKEN_##id,
#define REFUSED(id, text, advice)               TOKEN_##id,
#include "engine/lang/tokens.def"
#undef BINARY
#undef COMPARE
#undef MARK
#undef WORD
#undef REFUSED
    TOKEN_KINDS
} token_kind;

typedef struct token {
    token_kind kind;
    long offset, end; /* bytes of the text */
    bool augmented;   /* a binary operator followed by = */
    uint64_t integer; /* TOKEN_INT */
    double real;      /* TOKEN_FLOAT, TOKEN_IMAGINARY */
    const char *text; /* TOKEN_NAME in normal form, TOKEN_TEXT; in the arena */
    size_t length;    /* of text */
} token;

enum { LEXER_INDENTS = 100 };

typedef struct lexer {
    const char *text, *at, *end;
    arena *arena;
    bool point_is_operator; /* dialect tensor: x.y is an operation */
    int brackets;           /* open ones */
    bool line_start;
    int indents[LEXER_INDENTS]; /* columns of the open blocks */
    int indent_count, dedents;  /* dedents: tokens still to give */
    token token;                /* the current one */
} lexer;

/* Starts at the first token of text; false and ERR_SYNTAX if it is none. */
bool lexer_init(lexer *x, arena *a, const char *text, size_t length, bool point_is_operator,
                error *err);

/* A token within a line, to return to while the line is still being read. */
typedef struct lexer_place {
    const char *at;
    int brackets;
    bool line_start;
    token token;
} lexer_place;

lexer_place lexer_mark(const lexer *x);
void lexer_return(lexer *x, const lexer_place *place);

/* Goes on to the next token. Behind the end there is always another end. */
bool lexer_next(lexer *x, error *err);

/* A token as messages name it: in quotes, or "the end of the line". In a. */
const char *token_text(const lexer *x, const token *t);

/* The row of an operator or keyword; NULL or 0 where a row has no such thing. */
const char *token_op(token_kind kind);
int token_precedence(token_kind kind);
const char *token_advice(token_kind kind);
bool token_is_comparison(token_kind kind);
