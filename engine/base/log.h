/* log -- what happened, one JSON object a line, to standard error.
 *
 *     {"time":"2026-01-31T23:59:59.123Z","level":"info","message":"request", ...}
 *
 * Control bytes are escaped, so nothing a client sends can begin a line of its
 * own. Never log bodies, query strings, tokens or values of tensors. Lines of several
 * threads do not mix. Between log_start and log_stop a thread of the log's own writes
 * them, many with one call and some 20 ms late; a warning or an error is written at once,
 * with all that wait. */
#pragma once

#include <stdbool.h>

#include "engine/base/json.h"

typedef enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR } log_level;

/* A line being written: add members to json between begin and end. */
typedef struct log_line {
    log_level level;
    text text;
    json_writer json;
} log_line;

/* Sets the least level that is written (LOG_INFO at first). */
void log_set_level(log_level least);

/* The level that a word names; LOG_INFO if it names none. */
log_level log_level_of(const char *word);

/* Starts the thread that writes lines, and ends it when all are written. */
void log_start(void);
void log_stop(void);

/* Starts a line with time, level, request_id (unless NULL) and message. False,
 * and nothing to end, if the level is not written. */
bool log_begin(log_line *line, log_level level, const char *request_id, const char *message);

/* Writes the line and releases it. */
void log_end(log_line *line);

/* A whole line with a formatted message and no other member. */
void log_message(log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
