/* clock -- how long, and when.
 *
 * Durations and deadlines are microseconds of a clock that never jumps. */
#pragma once

#include <stdint.h>

#include "engine/base/text.h"

/* Microseconds since some fixed moment, never going back. */
int64_t clock_us(void);

/* Adds the present time of day as 2026-01-31T23:59:59.123Z. */
void clock_add_date(text *t);
