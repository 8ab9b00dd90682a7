/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/json.h"

json_writer json_to(text *to, bool pretty)
{
    return (json_writer){.to = to, .first = true, .pretty = pretty};
}

static void new_line(json_writer *w)
{
    if (w->pretty && (w->depth > 0 || w->to->length > 0))
        text_addf(w->to, "\n%*s", 2 * w->depth, "");
}

/* Comma, line break and key: all that stands before a value. */
static void start_value(json_writer *w, const char *key)
{
    if (!w->first)
        text_add_char(w->to, ',');
    if (w->depth > 0)
        new_line(w);
    w->first = false;
    if (key == NULL)
        return;
    text_add_json(w->to, key);
    text_add(w->to, w->pretty ? ": " : ":");
}

void json_begin(json_writer *w, const char *key, char bracket)
{
    start_value(w, key);
    text_add_char(w->to, bracket);
    w->first = true;
    w->depth++;
}

void json_end(json_writer *w, char bracket)
{
    w->depth--;
    if (!w->first)
        new_line(w);
    text_add_char(w->to, bracket);
    w->first = false;
}

void json_string(json_writer *w, const char *key, const char *value)
{
    if (value == NULL) {
        json_raw(w, key, "null");
        return;
    }
    start_value(w, key);
    text_add_json(w->to, value);
}

void json_int(json_writer *w, const char *key, int64_t value)
{
    start_value(w, key);
    text_add_int(w->to, value);
}

void json_bool(json_writer *w, const char *key, bool value)
{
    json_raw(w, key, value ? "true" : "false");
}

void json_milli(json_writer *w, const char *key, double value)
{
    start_value(w, key);
    text_add_milli(w->to, value);
}

void json_raw(json_writer *w, const char *key, const char *json)
{
    start_value(w, key);
    text_add(w->to, json);
}
