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

/* The date up to its seconds as text; each thread remembers the last one that it was asked for,
 * since every line of the log has one. */
static const char *date_text(time_t whole)
{
    static _Thread_local time_t last;
    static _Thread_local char seconds[32];
    struct tm date;

    if (seconds[0] == '\0' || whole != last) {
        gmtime_r(&whole, &date);
        strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &date);
        last = whole;
    }
    return seconds;
}

void clock_add_date_of(text *t, int64_t date_us)
{
    const int ms = (int)(date_us % 1000000 / 1000);

    text_add(t, date_text((time_t)(date_us / 1000000)));
    text_add_bytes(t,
                   (char[]){'.', (char)('0' + ms / 100), (char)('0' + ms / 10 % 10),
                            (char)('0' + ms % 10), 'Z'},
                   5);
}

void clock_add_date(text *t)
{
    clock_add_date_of(t, clock_date_us());
}
