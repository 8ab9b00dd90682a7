/* faulty_vfs -- a disk for tests: it keeps a record of what is done and fails when told.
 *
 * Every call counts, also those of the index's library. The record has one line
 * a call: what was done to which file, such as "sync arrays/3f/3f..." or "sync
 * index.db-wal"; names of arrays are shortened to arrays/ID. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/text.h"
#include "engine/base/vfs.h"

enum { FAULTY_FILES = 1024 };

typedef struct faulty_vfs {
    vfs vfs; /* give a pointer to this to storage */
    vfs *real;
    pthread_mutex_t lock;
    bool recording;
    text record;
    int64_t calls;             /* so far */
    int64_t fail_at;           /* the call that fails; 0: none */
    int failure;               /* its errno */
    bool sticky;               /* all later ones fail as well */
    bool halve;                /* writes do only half of what they are asked, without error */
    char *names[FAULTY_FILES]; /* of open descriptors */
} faulty_vfs;

/* A disk that does not fail yet and does not record. */
void faulty_init(faulty_vfs *f);
void faulty_clear(faulty_vfs *f);

/* From now on, the n-th call from here fails with this errno. */
void faulty_fail(faulty_vfs *f, int64_t n, int failure, bool sticky);

/* From now on no call fails. */
void faulty_heal(faulty_vfs *f);

/* Calls that counted so far. */
int64_t faulty_calls(faulty_vfs *f);

/* Starts a new record. */
void faulty_record(faulty_vfs *f);

/* Adds a line of the test's own to the record. */
void faulty_note(faulty_vfs *f, const char *line);

/* A copy of the record, to be freed. */
char *faulty_recorded(faulty_vfs *f);
