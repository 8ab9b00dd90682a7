/* data_parts -- what the files of data.h share. */
#pragma once

#include "server/wire/data.h"
#include "server/wire/plain.h"

enum { ELEMENT_BYTES = 8 }; /* of the widest element or part */

/* An element whose float64 reading is not enough. */
typedef struct data_patch {
    int64_t element;
    double f64;
    float f32;
} data_patch;

/* ---- data.c ---------------------------------------------------------------------- */

/* Ends the innermost list. */
bool data_close_list(data *d, error *err);

/* Each sets the error of an element that cannot be, with its place: the one being
 * read, whose text is given; or one that was collected and does not fit type t. */
bool data_bad_element(data *d, error_kind kind, const char *text, size_t n, const char *what,
                      error *err);
bool data_misfit(data *d, int64_t element, int fit, dtype t, error *err);

/* ---- data_add.c ------------------------------------------------------------------ */

/* Each adds the element that the text is: a number of correct grammar, true or
 * false, one of the words for what is no number. */
bool data_add_number(data *d, const char *text, const char *end, bool whole, error *err);
bool data_add_bool(data *d, bool value, const char *text, size_t n, error *err);
bool data_add_special(data *d, double value, const char *text, size_t n, error *err);

/* Makes float64 of the integers collected so far. */
void data_to_float(data *d);

/* ---- data_run.c ------------------------------------------------------------------ */

/* Whether data_run may be tried at p in a piece of text: plain numbers may follow, and there is
 * room around them to look at. */
static inline bool data_takes_run(const data *d, const char *text, const char *p, const char *safe)
{
    return p - text >= PLAIN_BEFORE && safe - p > PLAIN_AFTER && d->state == DATA_ITEM &&
           d->level > 0 && d->level == d->rank;
}

/* Reads numbers and the commas between them, as long as they are plain, and the
 * bracket that ends them; stops before whatever is not (p itself, perhaps), and
 * near safe, which holds a comma or bracket and is the last. NULL and an error as
 * data_feed. */
const char *data_run(data *d, const char *p, const char *safe, error *err);
