/* element -- one number between its text, plain C values and an element's bytes.
 *
 * Elements here are of real types; a complex element is two of its dtype_real.
 * Reading rounds floats to nearest, once; integers and booleans take only what
 * they hold exactly. */
#pragma once

#include <stdint.h>

#include "engine/tensor/dtype.h"

enum { ELEMENT_TEXT_MAX = 32 }; /* bytes that any printed element fits in */

typedef enum element_fit {
    FITS,
    FIT_RANGE,    /* beyond the type's range */
    FIT_FRACTION, /* not whole, and the type is an integer or bool */
    FIT_INEXACT   /* whole, but so large that a float may have rounded it */
} element_fit;

/* What is wrong, to be followed by the type's name: "is out of the range of". */
const char *element_misfit(element_fit fit);

/* Each writes the value as an element of type t at to, which need not be aligned.
 * A float that would become infinite is FIT_RANGE; infinities and NaN given as
 * such fit float types only. Nothing is written unless it fits. */
element_fit element_from_i64(dtype t, int64_t value, void *to);
element_fit element_from_u64(dtype t, uint64_t value, void *to);
element_fit element_from_f64(dtype t, double value, void *to);

/* The end of the number that [text, end) begins with by JSON's grammar, NULL if
 * it begins with none; *whole says whether it has neither point nor exponent. */
const char *element_scan(const char *text, const char *end, bool *whole);

/* The same for the number, of JSON's grammar, that [text, end) is. */
element_fit element_read(dtype t, const char *text, const char *end, void *to);

/* Writes an element as a JSON number (true, false, or one of the strings "NaN", "Infinity",
 * "-Infinity"), at most ELEMENT_TEXT_MAX bytes; returns the end. */
typedef char *element_printer(const void *element, char *to);

/* The printer of a type's elements; plain: for CSV, with nan, inf and -inf. */
element_printer *element_printer_of(dtype t, bool plain);
