/* index -- the durable list of names, in a database of its own.
 *
 * A thin layer over SQLite that speaks of names and blobs; nothing else in the
 * program sees SQLite. It holds one connection for as long as the data directory
 * is open, with a write-ahead log and exclusive locking, since one connection has
 * none of the troubles that several have. It decides nothing: order, numbers and
 * what is garbage are the writer's business.
 *
 * Errors: ERR_DISK (full; the transaction can be rolled back), ERR_MEMORY_BUSY
 * (likewise), ERR_INTEGRITY (damaged), ERR_STORAGE (the disk failed).
 *
 * Threads: one at a time; the storage's index_lock sees to it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/vfs.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/shape.h"

enum { FILE_ID_BYTES = 16 };

typedef struct name_index name_index;

/* A row of the table of names. */
typedef struct name_row {
    const char *name, *kind, *dtype;
    int64_t version, commit, created_us, modified_us;
    shape shape;
    const uint8_t *file;         /* FILE_ID_BYTES; NULL: inline */
    bool chunked;                /* the file is one of slots */
    int64_t content, attributes; /* blobs; 0: none */
    int64_t attributes_bytes;
    const char *place; /* of an array that is not ours; NULL: ours */
} name_row;

/* ---- Life cycle ---------------------------------------------------------------- */

/* Opens the index in the file at path, which must exist unless create. A new one
 * gets its tables. ERR_VALUE if a newer version of the program made it. */
name_index *index_open(const char *path, vfs *v, bool create, error *err);

/* Takes the tables of an older format to the present one; nothing if they have it. To be called
 * once the index was found sound, and before it is read. */
bool index_upgrade(name_index *ix, error *err);

/* Closes it without another write. NULL is allowed. */
void index_close(name_index *ix);

/* Its size, without the log. */
bool index_bytes(name_index *ix, int64_t *bytes, error *err);

/* Checks that the file is sound, in full or quickly. ERR_INTEGRITY if not. */
bool index_check(name_index *ix, bool full, error *err);

/* Writes the index anew without gaps; outside of begin and commit. */
bool index_compact(name_index *ix, error *err);

/* Writes a copy of the index to a file that does not exist. */
bool index_copy(name_index *ix, const char *path, error *err);

/* ---- Reading --------------------------------------------------------------------- */

/* Calls each for every row in the order of the names until it returns false. */
bool index_each_name(name_index *ix, bool (*each)(void *context, const name_row *row, error *err),
                     void *context, error *err);

/* The bytes of a blob, with a NUL behind them that the size does not count. */
buffer *index_read_blob(name_index *ix, int64_t id, error *err);

/* The greatest id of a blob. */
bool index_last_blob(name_index *ix, int64_t *id, error *err);

/* A number of the table meta; fallback if it is not there. */
bool index_get_meta(name_index *ix, const char *key, int64_t fallback, int64_t *value, error *err);

/* ---- Writing, between begin and commit or rollback ---------------------------------- */

/* synced: commit returns after the disk has it; otherwise after the system has. */
bool index_begin(name_index *ix, bool synced, error *err);
bool index_commit(name_index *ix, error *err);
void index_rollback(name_index *ix);

bool index_put_name(name_index *ix, const name_row *row, error *err);
bool index_delete_name(name_index *ix, const char *name, error *err);
bool index_put_blob(name_index *ix, int64_t id, const void *bytes, size_t n, error *err);
/* Notes that no name has the blob any more. */
bool index_doom_blob(name_index *ix, int64_t id, error *err);
/* Removes a blob, and the note. */
bool index_purge_blob(name_index *ix, int64_t id, error *err);
/* Removes all blobs that were noted. */
bool index_purge_all(name_index *ix, error *err);
bool index_set_meta(name_index *ix, const char *key, int64_t value, error *err);

/* ---- The log ------------------------------------------------------------------------ */

/* Bytes of the write-ahead log that the last commit left. */
int64_t index_log_bytes(const name_index *ix);

/* Works the log into the file and syncs that; the log is written from its beginning
 * then, or made empty if last. A full disk is no error. */
bool index_checkpoint(name_index *ix, bool last, error *err);
