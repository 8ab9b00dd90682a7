/* error -- what went wrong, said once, for a program and for a person.
 *
 * A function that can fail takes an error as its last argument and returns
 * false or NULL when it fails, having set it. The first error wins: setting an
 * error that is set changes nothing, so a caller may add nothing and just
 * return. The kinds of error are the rows of errors.def.
 *
 * Lifetimes: an error is a plain value, it owns nothing and needs no release. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum error_kind {
    ERR_NONE,
#define ERROR(id, status, code, retryable, title) ERR_##id,
#include "engine/base/errors.def"
#undef ERROR
    ERR_KINDS
} error_kind;

/* A row of errors.def. */
typedef struct error_info {
    int status;       /* of the HTTP answer */
    const char *code; /* the stable word */
    bool retryable;
    const char *title;
} error_info;

typedef struct error {
    error_kind kind; /* ERR_NONE: nothing went wrong */
    char detail[512];
    int line, column;     /* in program text, from 1; 0 if it does not apply */
    char caret[256];      /* the faulty line and a caret below it, or "" */
    char pointer[256];    /* JSON pointer into the body, or "" */
    char suggestion[136]; /* the nearest known name, or "" */
    char node[136];       /* the graph node it concerns, or "" */
    bool has_limit;       /* whether limit and asked say something */
    int64_t limit, asked;
} error;

/* Sets err to kind with a formatted detail, one sentence for a person that
 * names the operation, the argument and the values, unless err is set already.
 * Returns false, so that "return error_set(...)" is the whole failure path. */
bool error_set(error *err, error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set, with the limit that was met and what was asked for. */
bool error_set_limit(error *err, error_kind kind, int64_t limit, int64_t asked, const char *format,
                     ...) __attribute__((format(printf, 5, 6)));

/* Whether err is set. */
bool error_is_set(const error *err);

/* Makes err an error that is not set. */
void error_clear(error *err);

/* Says where in the JSON body the fault is, unless that is said already.
 * Returns false. */
bool error_at_pointer(error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says where in a program the fault is, unless that is said already: text is
 * the whole program, offset a byte in it. Fills line, column (in characters)
 * and caret. Returns false. */
bool error_at_text(error *err, const char *text, long offset);

/* Offers name as what was probably meant, if nothing was offered before.
 * NULL is allowed and offers nothing. Returns false. */
bool error_suggest(error *err, const char *name);

/* error_suggest, and says so: the detail goes on "; did you mean NAME". Returns false. */
bool error_did_you_mean(error *err, const char *name);

/* The row of a kind of error, valid for ever. */
const error_info *error_info_of(error_kind kind);
