/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"

static const char *const level_names[] = {"debug", "info", "warn", "error"};

/* How long a line waits for others, and how many bytes wait at most. */
enum { GATHER_US = 20000, WAITING_MAX = 1 << 18 };

static _Atomic int least_level = LOG_INFO;

/* Lines that wait to be written. Who writes holds `writing`, so that lines keep their order. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t writer;
static text waiting = {.bytes = (char *)""}; /* guarded by lock, as are */
static bool has_writer, is_stopping;

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
    line->level = level;
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

/* Writes all that waits. */
static void flush(void)
{
    text taken;

    pthread_mutex_lock(&writing);
    pthread_mutex_lock(&lock);
    taken = waiting;
    text_init(&waiting);
    pthread_mutex_unlock(&lock);
    write_out(taken.bytes, taken.length);
    text_clear(&taken);
    pthread_mutex_unlock(&writing);
}

/* Puts the line to those that wait; whether they are to be written at once. */
static bool add_waiting(const log_line *line)
{
    bool now;

    pthread_mutex_lock(&lock);
    if (waiting.length == 0)
        pthread_cond_signal(&changed);
    text_add_bytes(&waiting, line->text.bytes, line->text.length);
    now = !has_writer || line->level >= LOG_WARN || waiting.length > WAITING_MAX;
    pthread_mutex_unlock(&lock);
    return now;
}

void log_end(log_line *line)
{
    json_end(&line->json, '}');
    text_add_char(&line->text, '\n');
    if (add_waiting(line))
        flush();
    text_clear(&line->text);
}

/* ---- The thread that writes ----------------------------------------------------------- */

/* Sleeps until a line waits; false once there will be no more. */
static bool wait_for_line(void)
{
    bool more;

    pthread_mutex_lock(&lock);
    while (waiting.length == 0 && !is_stopping)
        pthread_cond_wait(&changed, &lock);
    more = !is_stopping;
    pthread_mutex_unlock(&lock);
    return more;
}

static void *write_lines(void *nothing)
{
    while (wait_for_line()) {
        usleep(GATHER_US);
        flush();
    }
    return nothing;
}

void log_start(void)
{
    has_writer = pthread_create(&writer, NULL, write_lines, NULL) == 0;
}

void log_stop(void)
{
    if (!has_writer)
        return;
    pthread_mutex_lock(&lock);
    is_stopping = true;
    has_writer = false;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(writer, NULL);
    flush();
    is_stopping = false;
}

/* ---- Whole lines ------------------------------------------------------------------------ */

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
