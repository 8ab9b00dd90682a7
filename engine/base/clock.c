/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/clock.h"

#include <time.h>

int64_t clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_date_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void clock_add_date_of(text *t, int64_t date_us)
{
    const time_t whole = (time_t)(date_us / 1000000);
    struct tm date;
    char seconds[32];

    gmtime_r(&whole, &date);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &date);
    text_addf(t, "%s.%03dZ", seconds, (int)(date_us % 1000000 / 1000));
}

void clock_add_date(text *t)
{
    clock_add_date_of(t, clock_date_us());
}
