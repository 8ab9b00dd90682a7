/* numbers -- the elements of a tensor as text, in pieces.
 *
 * JSON: nested lists, a scalar bare, complex numbers as pairs [re, im], a tensor
 * without elements as []. CSV: the last axis is a line, complex numbers are
 * written 1.0+2.0j. */
#pragma once

#include "server/wire/cursor.h"
#include "server/wire/element.h"

enum { NUMBERS_ROOM_MIN = 512 }; /* bytes that let any item be written */

typedef struct numbers {
    cursor cursor;
    dtype part;             /* the type, or that of a complex type's parts */
    element_printer *print; /* of parts */
    bool complex, csv;
    char between; /* two elements of a line */
    bool begun, ended;
    int64_t index[RANK_MAX]; /* of the next element */
    int closed;              /* lists that ended with the last element */
} numbers;

/* Starts at the first element of t, which must outlive the walk. */
void numbers_init(numbers *s, const tensor *t, bool csv);

/* Writes as much as fits into room bytes, at least NUMBERS_ROOM_MIN; returns how
 * much, 0 at the end. */
size_t numbers_write(numbers *s, char *to, size_t room);
