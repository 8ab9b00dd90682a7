/* decimal -- floats as NumPy writes them.
 *
 * A number has the fewest digits that tell it from its neighbours in its own
 * type. Within an array all numbers share one form: with a point or an exponent,
 * at most 8 digits behind the point, columns aligned. */
#pragma once

#include "engine/base/text.h"
#include "engine/tensor/dtype.h"

/* A float by itself: 1.5, 1e-05, nan; whole is what stands behind a whole number
 * without exponent: ".0", or "" for the parts of a complex number. x is a value of
 * type. */
void decimal_scalar(double x, dtype type, const char *whole, text *t);

/* How the floats of one array are written. */
typedef struct decimal_form {
    dtype type;
    bool plus; /* a sign stands before positive numbers too */
    bool exponent;
    int precision; /* digits behind the point, with an exponent */
    int exponent_digits;
    int left, right; /* characters before and behind the point */
} decimal_form;

/* The form for n floats that lie step apart. */
void decimal_form_find(decimal_form *f, const double *x, int64_t n, int64_t step, dtype type,
                       bool plus);

/* A float in a form. */
void decimal_in_form(const decimal_form *f, double x, text *t);
