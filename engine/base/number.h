/* number -- numbers from text and to text, exactly.
 *
 * Reading rounds once, to the nearest value of the type asked for; printing
 * gives the shortest text that reads back to the same bits. Behind it stand the
 * C++ library's from_chars and to_chars, which no locale touches, and for float64
 * to text digits.h, which is faster. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { NUMBER_TEXT_MAX = 32 }; /* bytes that any printed number fits in */

/* Each reads the number that [text, end) begins with and returns the byte
 * behind it, or NULL if there is none. A float too large becomes infinite, one
 * too small zero, both with the text's sign; an integer out of range gives NULL
 * with *out_of_range set. A leading plus is not taken; text must begin with a
 * digit or a minus and a digit. */
const char *number_read_f64(const char *text, const char *end, double *value);
const char *number_read_f32(const char *text, const char *end, float *value);
const char *number_read_i64(const char *text, const char *end, int64_t *value, bool *out_of_range);
const char *number_read_u64(const char *text, const char *end, uint64_t *value, bool *out_of_range);

/* Each writes at most NUMBER_TEXT_MAX bytes, without a NUL, and returns the end.
 * Finite floats always carry a point or an exponent (1.0, -0.0, 1e+300), so
 * that they read back as floats; others come as nan, inf, -inf. */
char *number_print_f64(char *to, double value); /* number_print.c */
char *number_print_f32(char *to, float value);
char *number_print_i64(char *to, int64_t value);
char *number_print_u64(char *to, uint64_t value);

/* The same as number_print_f64, for numbers that have no fraction: all their digits. */
char *number_print_whole(char *to, double value);

#ifdef __cplusplus
}
#endif
