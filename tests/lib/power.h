/* power -- what a power cut may leave of a directory, without cutting any.
 *
 * A vfs writes down everything that is done to a directory, the index's library included. Later
 * that is gone through again, and at any point in between it is worked out what a disk may hold
 * that was promised only what was synced: of each file, what was there at its last sync, and of
 * what was written since any part, in any order, down to half a sector's worth; of each
 * directory, the names at its last sync, and of what was done since any beginning.
 *
 * Threads: the vfs may be used by any number; the rest by one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/vfs.h"

typedef struct power power;

/* A record of what is done to the directory at path (which must be empty) through its vfs. */
power *power_new(const char *path);
void power_free(power *p);
vfs *power_vfs(power *p);

/* Puts a number of the test's own into the record. */
void power_mark(power *p, int64_t mark);

/* How many things were done. */
int64_t power_events(const power *p);

/* Goes on to just after the n-th event, which must not be before where it is; tell hears of the
 * marks on the way. */
void power_go(power *p, int64_t n, void (*tell)(void *context, int64_t mark), void *context);

/* Writes what the disk may hold now into the empty directory at path; another on each call, as
 * random() decides. */
void power_cut(const power *p, const char *path);
