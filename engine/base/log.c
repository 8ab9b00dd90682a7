/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"

static const char *const level_names[] = {"debug", "info", "warn", "error"};

static _Atomic int least_level = LOG_INFO;

void log_set_level(log_level least)
{
    least_level = (int)least;
}

log_level log_level_of(const char *word)
{
    for (int level = LOG_DEBUG; level <= LOG_ERROR; level++)
        if (strcmp(word, level_names[level]) == 0)
            return (log_level)level;
    return LOG_INFO;
}

bool log_begin(log_line *line, log_level level, const char *request_id, const char *message)
{
    text date;

    if ((int)level < least_level)
        return false;
    text_init(&date);
    clock_add_date(&date);
    text_init(&line->text);
    line->json = json_to(&line->text, false);
    json_begin(&line->json, NULL, '{');
    json_string(&line->json, "time", date.bytes);
    json_string(&line->json, "level", level_names[level]);
    if (request_id != NULL)
        json_string(&line->json, "request_id", request_id);
    json_string(&line->json, "message", message);
    text_clear(&date);
    return true;
}

/* Writes all bytes; what the system refuses is lost, there is nobody to tell. */
static void write_out(const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDERR_FILENO, bytes, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return;
        bytes += done;
        n -= (size_t)done;
    }
}

void log_end(log_line *line)
{
    json_end(&line->json, '}');
    text_add_char(&line->text, '\n');
    write_out(line->text.bytes, line->text.length);
    text_clear(&line->text);
}

void log_message(log_level level, const char *format, ...)
{
    char message[1024];
    log_line line;
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (log_begin(&line, level, NULL, message))
        log_end(&line);
}
