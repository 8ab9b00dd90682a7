/* datadir -- the data directory: its lock, its version, its folders.
 *
 *     LOCK        held with flock as long as the directory is open, so that the
 *                 lock goes with the process however that ends
 *     VERSION     "tensord data format 3", written last when a directory is made, and
 *                 before the index is taken to a newer format
 *     index.db    and index.db-wal: the index. Never opened here: closing a
 *                 descriptor of it would drop the locks of who has it open
 *     arrays/xx/  the array files, by the first two digits of their names
 *     quarantine/ files that were swept away in suspicious numbers, for a day */
#pragma once

#include "storage/private.h"

/* Makes the directory, with its parents, unless it exists, and holds its lock.
 * ERR_CONFLICT if another process has it, ERR_VALUE if the path cannot be used. */
bool datadir_open(storage *s, error *err);

/* The format that VERSION names, 0 if there is no VERSION. ERR_VALUE if that is
 * newer than ours, ERR_INTEGRITY if there is none although there are arrays. */
bool datadir_read_version(storage *s, int64_t *format, error *err);

/* Makes the folders that are missing, and VERSION if format is not ours; all synced. */
bool datadir_complete(storage *s, int64_t format, error *err);
