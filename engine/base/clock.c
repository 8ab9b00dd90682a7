/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/clock.h"

#include <time.h>

int64_t clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void clock_add_date(text *t)
{
    struct timespec now;
    struct tm date;
    char seconds[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &date);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &date);
    text_addf(t, "%s.%03dZ", seconds, (int)(now.tv_nsec / 1000000));
}
