/* digits -- float64 from decimal digits and to the fewest that read back.
 *
 * Both ways multiply with a power of ten of 128 bits, from one table that is computed when
 * the process starts.
 *
 * Sources. Reading: D. Lemire, "Number Parsing at a Gigabyte per Second" (2021; the method
 * of M. Eisel). Printing: R. Giulietti, "The Schubfach way to render doubles" (2020). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The float64 nearest to digits * 10^exponent, ties to even, infinity if it is too large.
 * False, rarely, if 128 bits cannot tell; then read the text another way. */
bool digits_to_f64(uint64_t digits, int exponent, double *value);

/* Digits of a positive, finite value: digits * 10^exponent reads back to it, with as few
 * digits as do, the nearest to it of those, and perhaps zeros behind them; 17 at most. */
uint64_t digits_of_f64(double value, int *exponent);
