/* text -- a string that grows while it is written.
 *
 * text_init / text_clear own the bytes on the heap; text_take hands them over.
 * The bytes always end in a NUL that does not count. Growing cannot fail: what
 * is written is bounded by its writers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/arena.h"

typedef struct text {
    char *bytes; /* never NULL after the first write; "" before */
    size_t length, room;
} text;

/* An empty text. */
void text_init(text *t);

/* Frees the bytes; t is empty again. */
void text_clear(text *t);

/* The bytes (malloc'ed, NUL-terminated), the caller's from now on; t is empty. */
char *text_take(text *t);

/* A copy of the text in an arena. */
char *text_copy(const text *t, arena *a);

/* Room for n more bytes at the end; returns where they begin. Follow with
 * t->length += what was written. */
char *text_reserve(text *t, size_t n);

void text_add(text *t, const char *string);
void text_add_bytes(text *t, const char *bytes, size_t n);
void text_add_char(text *t, char c);
void text_add_int(text *t, int64_t value);
/* With three digits behind the point. */
void text_add_milli(text *t, double value);
void text_addf(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds string as a JSON string, quotes and escapes included; bytes that are no UTF-8
 * become replacement characters. */
void text_add_json(text *t, const char *string);

/* The number of single-character edits between two words, at most bound + 1.
 * For "did you mean". */
int text_distance(const char *a, const char *b, int bound);
