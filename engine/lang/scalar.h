/* scalar -- arithmetic on numbers that are known while the graph is built.
 *
 * The rules are Python's: integers are exact (what fits neither int64 nor uint64
 * is ERR_OVERFLOW), / gives a float, bools count as integers. What Python cannot
 * do or what an operation computes in its own way (division by zero, powers of
 * floats) is left to the operation. */
#pragma once

#include "engine/lang/lang.h"
#include "engine/lang/lexer.h"

lang_value scalar_bool(bool truth);
lang_value scalar_int(int64_t i);
lang_value scalar_unsigned(uint64_t u);
lang_value scalar_float(double x);
lang_value scalar_complex(double re, double im);

/* What became of an operator. */
typedef enum scalar_outcome {
    SCALAR_FAILED, /* an error is set */
    SCALAR_LEFT,   /* the operation must do it */
    SCALAR_EXACT,  /* the result is the number */
    SCALAR_ROUNDED /* the number is known, the value is the operation's */
} scalar_outcome;

/* Numbers joined by a binary operator or a comparison. */
scalar_outcome scalar_binary(token_kind symbol, const lang_value *a, const lang_value *b,
                             lang_value *result, error *err);
scalar_outcome scalar_compare(token_kind symbol, const lang_value *a, const lang_value *b,
                              lang_value *result);
scalar_outcome scalar_unary(token_kind symbol, const lang_value *a, lang_value *result, error *err);

/* Whether a number counts as true. */
bool scalar_truth(const lang_value *a);

/* The number as an int64; false, without an error, if it is no integer or too
 * large. Bools count. */
bool scalar_as_int64(const lang_value *a, int64_t *result);

/* The number as a double; of a complex one the real part. */
double scalar_as_double(const lang_value *a);
