/* literal_write -- constants as program text.
 *
 * What is written here reads back to the same bits; only NaN's payload is lost. */
#pragma once

#include "engine/lang/tracer.h"

/* A float: 1.0, -0.0, 1e+300, np.inf, np.nan. */
void literal_write_float(double x, text *t);

/* A scalar as a bare number. */
void literal_write_scalar(const tensor *x, arena *a, text *t);

/* An array with its element type: array([1, 2], dtype="int8"). */
void literal_write_array(const tensor *x, arena *a, text *t);
