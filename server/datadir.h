/* datadir -- the data directory, held by one process.
 *
 * The lock is an flock on DATA/LOCK, so it goes with the process however that
 * ends. */
#pragma once

#include <stdbool.h>

#include "engine/base/error.h"

typedef enum datadir_result {
    DATADIR_HELD, /* ours from now on */
    DATADIR_BUSY, /* another process has it */
    DATADIR_FAILED
} datadir_result;

/* Makes the directory (mode 0700, with its parents) unless it exists, and holds
 * its lock until the process ends. err says why it is BUSY or FAILED. */
datadir_result datadir_hold(const char *path, error *err);
