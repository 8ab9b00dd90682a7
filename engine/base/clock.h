/* clock -- how long, and when.
 *
 * Durations and deadlines are microseconds of a clock that never jumps. */
#pragma once

#include <stdint.h>

#include "engine/base/text.h"

/* Microseconds since some fixed moment, never going back. */
int64_t clock_us(void);

/* Microseconds since 1970 by the calendar's clock, which may be set back. */
int64_t clock_date_us(void);

/* Adds such a time as 2026-01-31T23:59:59.123Z. */
void clock_add_date_of(text *t, int64_t date_us);

/* Adds the present time of day as 2026-01-31T23:59:59.123Z. */
void clock_add_date(text *t);
