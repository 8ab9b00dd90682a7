/* storing -- what tests of storage do all the time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "storage/storage.h"

/* The path of a new, empty directory below $TMPDIR or /tmp; scratch_remove removes it
 * with all that is in it and frees the path. */
char *scratch_new(void);
void scratch_remove(char *path);

/* How many files are below a directory of the data directory, such as "arrays". */
int scratch_files(const char *path, const char *directory);

/* Waits until there are n, for at most 10 s; whether that came about. */
bool scratch_files_become(const char *path, const char *directory, int n);

/* Opens with default options; fails the test if that fails. */
storage *open_or_fail(const char *path);

/* A vector of n float64: first, first + 1, ... */
tensor vector_of(int64_t n, double first);

/* Whether t is that vector. */
bool is_vector(const tensor *t, int64_t n, double first);

/* Stores such a vector in a transaction of its own; the number of its commit, or -1 and
 * the error. */
int64_t put_vector(storage *s, const char *name, int64_t n, double first, error *err);

/* Stores it chunked; a failure fails the test. */
void put_chunked(storage *s, const char *name, int64_t n, double first);

/* The n elements of a vector from `from` on become first, first + 1, ... */
bool patch_vector(storage *s, const char *name, int64_t from, int64_t n, double first, error *err);

/* The variable as it is at present, with a reference; a failure fails the test. */
tensor read_vector(storage *s, const char *name);

/* Removes a name in a transaction of its own. */
bool delete_name(storage *s, const char *name, error *err);

/* Whether name is such a vector at present; an error is false. */
bool has_vector(storage *s, const char *name, int64_t n, double first);

/* Whether there is such a name at present. */
bool has_name(storage *s, const char *name);

/* A storage of its own for each test, as cmocka's state. */
typedef struct place {
    char *path;
    storage *s;
} place;

int place_set_up(void **state);
int place_tear_down(void **state);
void place_reopen(place *p);

/* The number that a variable of the environment says, or the fallback. */
unsigned number_said(const char *variable, unsigned fallback);
