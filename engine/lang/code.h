/* code -- a program as a flat list of instructions for a stack machine.
 *
 * The parser writes it in one pass. Jumps are relative, so that a piece of code
 * may be moved as a whole. Every instruction knows the byte of the text that it
 * came from, for error messages. */
#pragma once

#include "engine/lang/lang.h"
#include "engine/lang/lexer.h"

typedef enum code_kind {
    CODE_BOOL,      /* pushes n */
    CODE_INT,       /* pushes integer */
    CODE_FLOAT,     /* pushes real */
    CODE_IMAGINARY, /* pushes real as the imaginary part */
    CODE_TEXT,      /* pushes text */
    CODE_NONE,      /* pushes None */
    CODE_ELLIPSIS,
    CODE_LOAD, /* pushes the value of name text; use says what for */
    CODE_LIST, /* makes n values one list */
    CODE_TUPLE,
    CODE_SLICE,   /* makes three values one slice */
    CODE_UNARY,   /* symbol */
    CODE_BINARY,  /* symbol */
    CODE_COMPARE, /* n + 1 operands, symbols[0 .. n) */
    CODE_IS,      /* a is b; n: 1 for is not */
    CODE_NOT,
    CODE_AND_TEST, /* skips n instructions if the value on top decides */
    CODE_AND,
    CODE_OR_TEST,
    CODE_OR,
    CODE_SELECT,    /* pops a condition; n instructions that end in a jump over
                       others follow: runs the first, or the others, or both */
    CODE_JUMP,      /* over n instructions */
    CODE_ATTRIBUTE, /* of the value on top: .text; use says what for */
    CODE_CALL,      /* n positional values, then the values of keywords */
    CODE_INDEX,     /* n index values, the value below them */
    CODE_FUNCTION,  /* makes a function of the next n instructions, skips them */
    CODE_RETURN,
    /* Statements. */
    CODE_STORE,  /* pops into name text */
    CODE_UNPACK, /* replaces a sequence by its n items, the first on top */
    CODE_COPY,   /* pushes the value on top once more */
    CODE_POP,
    CODE_INDEX_KEPT,   /* as CODE_INDEX, but keeps all operands */
    CODE_AUGMENT,      /* symbol, in place: keeps the type of the left */
    CODE_SET_INDEX,    /* x, n index values, value: pushes x with the value set */
    CODE_SET_INDEX_OF, /* value, x, n index values: pushes the same, value below it */
    CODE_DELETE,
    CODE_RESULT /* pops the value of an expression statement */
} code_kind;

/* What a name or attribute is wanted for; decides where it is looked up. */
typedef enum code_use {
    USE_VALUE,
    USE_CALL,  /* to be called: tensors do not hide operations */
    USE_PREFIX /* before a point */
} code_use;

typedef struct instruction {
    code_kind kind;
    uint8_t use;    /* code_use */
    uint8_t symbol; /* token_kind */
    int n;
    unsigned offset; /* of the text */
    union {
        const char *text;
        const char *const *keywords;          /* CODE_CALL: ends with NULL; or NULL */
        const token_kind *symbols;            /* CODE_COMPARE */
        const struct code_function *function; /* CODE_FUNCTION */
        uint64_t integer;
        double real;
    };
} instruction;

enum { PARAMETERS_MAX = 64 }; /* of a function */

typedef struct code_function {
    const char *name;    /* "lambda" for those */
    int count, defaults; /* parameters; the last of them with defaults */
    const char *const *parameters;
} code_function;

typedef struct code {
    arena *arena;
    const char *text; /* the program */
    instruction *list;
    size_t count, room;
} code;

/* Appends an instruction and returns it, valid until the next. */
instruction *code_add(code *c, code_kind kind, long offset);

/* Writes the code of a program of the NumPy dialect into c, whose arena and text
 * are set. A body, of a function, may end in a return. ERR_SYNTAX with the
 * place in the text otherwise. */
bool code_parse(code *c, size_t length, bool is_body, error *err);

/* The code of a body that a row has as its text, which lives as long as the process and so does
 * the code: each is parsed once. NULL and ERR_SYNTAX if it cannot be. Thread-safe. */
const code *code_of_row(const char *text, error *err);
