/* storage -- named tensors and graphs that survive anything.
 *
 * One process owns a data directory. All names live in memory as a *snapshot*:
 * an immutable map from names to entries, shared by counting references and
 * replaced by one pointer at every commit. Whoever holds a snapshot sees the
 * world as it was, for as long as he likes, and waits for nobody.
 *
 * What is durable is an index (a small database, one connection, written by one
 * thread) and array files. Values of up to 64 KiB are blobs in the index; larger
 * ones are immutable plain .npy files with random names that are never used
 * again, in DATA/arrays/xx/, whose elements begin at byte 4096: NumPy opens and
 * maps them as they are. A file is written once, before any index row names it,
 * and removed after no row and no snapshot does; nothing is changed in place. Of
 * an array that is declared chunked that holds for each MiB (slots.h).
 *
 * Changes are made by a *transaction*: puts and deletes of any number of names
 * and the conditions they rest on. Commit blocks until the change is as durable
 * as was asked, and makes all of it visible at once or none of it. Transactions
 * that wait at the same moment share one sync of the disk. The order is always:
 * array data, array directory, index, new snapshot, answer. So after any crash
 * the index is that of some commit, at least the last one answered, every array
 * it names is whole, and files it doesn't name are swept away at the next start.
 *
 * Threads that read a mapped file which cannot be read are guarded (guard.h).
 *
 * Errors: ERR_DISK, ERR_QUOTA, ERR_VARIABLE_QUOTA and ERR_MEMORY_BUSY leave the
 * state as it was. When a sync or the index fails the outcome is unknown
 * (ERR_STORAGE), and from then on every change is refused with ERR_READ_ONLY:
 * a failed sync must not be tried again, since the system forgets what it could
 * not write. Reading goes on.
 *
 * Threads: all functions may be called by any thread. A transaction or an
 * incoming array belongs to one thread at a time.
 *
 * Reading order: storage.h, private.h, names.h, within.h, content.c, entry.c,
 * mapping.h, slots.h, incoming.c, generation.c, place.c, txn.c, commit.h, writer.c, index.h,
 * datadir.h, open.c, sweep.c, care.c, ballast.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/base/vfs.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/tensor.h"

typedef struct storage storage;
typedef struct snapshot snapshot;
typedef struct txn txn;
typedef struct incoming incoming;

/* ---- Opening ----------------------------------------------------------------- */

typedef struct storage_options {
    const char *path;         /* of the data directory */
    int64_t names_max;        /* variables and graphs */
    int64_t bytes_max;        /* of all stored values; replaced ones count until they are gone */
    int64_t inline_bytes_max; /* a larger value gets a file when the form is FORM_AUTO */
    int64_t free_bytes_min;   /* what is left free on the disk: the smaller of this and 5 % */
    int64_t cache_bytes_max;  /* of inline values kept in memory */
    int64_t wal_bytes_max;    /* of the index's log before it is worked in */
    int64_t history;          /* older versions of each variable that are kept */
    const char *attach_roots; /* directories below which files may be attached, with commas */
    vfs *vfs;                 /* the system, or what a test puts in its place */
    /* Called by the writer thread before it commits to the index; for tests that
     * stop, kill or lie at this point. NULL: nothing. */
    void (*before_commit)(void *context);
    void *context; /* of before_commit */
} storage_options;

/* The defaults, for the data directory at path. */
storage_options storage_options_default(const char *path);

/* Opens the data directory, making it if there is none, and holds its lock until
 * storage_close. NULL and
 *   ERR_CONFLICT   another process has it open;
 *   ERR_INTEGRITY  the index is damaged or missing: nothing was touched;
 *   ERR_VALUE      the path cannot be used, or a newer version made it;
 *   ERR_STORAGE    the disk failed.
 * Takes about a second per million names. */
storage *storage_open(const storage_options *options, error *err);

/* Whether a process has the data at path open now. */
bool storage_is_in_use(const char *path);

/* Commits what waits, ends the writer thread and releases the directory. All
 * snapshots, transactions and incoming arrays must be gone; tensors may live on.
 * NULL is allowed. */
void storage_close(storage *s);

/* What /v1/info and /metrics tell. */
typedef struct storage_figures {
    int64_t commit; /* the last one */
    int64_t variables, graphs;
    int64_t bytes, bytes_max; /* of stored values */
    int64_t cached_bytes;     /* of inline values in memory */
    int64_t commits, syncs;   /* transactions, and commits to the index that carried them */
    int64_t damaged;          /* values found damaged or unreadable since the start */
    int64_t strays;           /* files swept at start */
    bool writable;            /* false after a failed sync */
} storage_figures;

void storage_figures_get(storage *s, storage_figures *result);

/* ---- Care ------------------------------------------------------------------------ */

/* What storage_check found. */
typedef struct storage_findings {
    int64_t names, bytes, damaged;
} storage_findings;

/* Reads everything and compares it with its checksums. Tells each thing that is damaged, by its
 * name, why. False and ERR_INTEGRITY if the index itself is damaged. Others may go on using s. */
bool storage_check(storage *s, void (*tell)(void *context, const char *name, const error *why),
                   void *context, storage_findings *findings, error *err);

/* Writes a copy of all that is committed to a directory that does not exist yet: a data directory
 * of its own, whose arrays are hard links where that is possible. Others may go on using s.
 * ERR_VALUE if the directory cannot be made, ERR_DISK, ERR_STORAGE; what was written stays then,
 * without VERSION. */
bool storage_backup(storage *s, const char *path, error *err);

/* Writes the index anew without gaps. */
bool storage_compact(storage *s, error *err);

/* ---- Snapshots --------------------------------------------------------------- */

/* The present snapshot, with one reference that the caller owns. It has every
 * commit that was answered before the call. */
snapshot *storage_snapshot(storage *s);

/* A snapshot in which only those names are that begin with one of the prefixes (commas between),
 * with a reference that the caller owns; n keeps its own. Others are as if they did not exist,
 * and a transaction that rests on it can change none. */
snapshot *snapshot_within(const snapshot *n, const char *prefixes);

/* Whether what rests on the snapshot may change a name. ERR_FORBIDDEN, which tells the prefixes. */
bool snapshot_allows(const snapshot *n, const char *name, error *err);

/* Adds, and gives up, a reference. NULL is allowed in unref. */
snapshot *snapshot_ref(snapshot *n);
void snapshot_unref(snapshot *n);

/* The number of the last commit that the snapshot has. */
int64_t snapshot_commit(const snapshot *n);

/* What is hidden is the server's own (jobs, kept answers): its names begin with a dot, which
 * no caller's name does, and it does not count as a name. */
typedef enum entry_kind { ENTRY_VARIABLE, ENTRY_GRAPH, ENTRY_HIDDEN, ENTRY_KINDS } entry_kind;

/* Where a value is: as a blob in the index; as a .npy file that is mapped; or in chunks of a MiB,
 * of which a change writes only those that it touches, in a file that is no .npy. AUTO, only for
 * asking, leaves it to the size, and chooses no chunks. */
typedef enum storage_form {
    FORM_AUTO,
    FORM_INLINE,
    FORM_MEMMAP,
    FORM_CHUNKED,
    STORAGE_FORMS
} storage_form;

typedef struct content content;

/* A name and what it stands for, immutable. Valid while the caller holds the
 * snapshot in which it was found. */
typedef struct entry {
    _Atomic int references; /* of snapshots; not for callers */
    entry_kind kind;
    int64_t version;    /* 1 for a new name, one more for each new value */
    int64_t commit;     /* the one that wrote it: no two states of a name share it */
    int64_t created_us; /* microseconds since 1970 */
    int64_t modified_us;
    content *content;    /* the value; private */
    content *attributes; /* private; NULL: none */
    char name[];
} entry;

/* The entry of a name, NULL if there is none. Variables and graphs share names. */
const entry *snapshot_find(const snapshot *n, const char *name);

/* A version of a variable: the present one, or an older one that is kept (storage_options).
 * NULL if there is none. The older ones go with the variable. */
const entry *snapshot_find_version(const snapshot *n, const char *name, int64_t version);

/* Finds up to room older versions of a variable before a version, the newest first; returns how
 * many. */
size_t snapshot_versions(const snapshot *n, const char *name, int64_t before, const entry **found,
                         size_t room);

/* How many names of one kind there are, or begin with prefix; the latter takes time for each. */
int64_t snapshot_count(const snapshot *n, entry_kind kind);
int64_t snapshot_count_prefix(const snapshot *n, entry_kind kind, const char *prefix);

/* Finds up to room entries of a kind whose names begin with prefix and come
 * after after (both may be ""), in the order of their bytes; returns how many. A
 * page ends; the name of its last entry is the cursor of the next one. */
size_t snapshot_list(const snapshot *n, entry_kind kind, const char *prefix, const char *after,
                     const entry **found, size_t room);

/* ---- Values ------------------------------------------------------------------ */

dtype entry_dtype(const entry *e);
void entry_shape(const entry *e, shape *result);
/* In elements, as entry_tensor has them. */
void entry_strides(const entry *e, int64_t strides[RANK_MAX]);
/* Bytes of the elements, or of the text of a graph. */
int64_t entry_nbytes(const entry *e);
/* FORM_INLINE, FORM_MEMMAP or FORM_CHUNKED. */
storage_form entry_form(const entry *e);
/* Whether a restart forgets it (DURABILITY_MEMORY). */
bool entry_is_volatile(const entry *e);

enum { ENTRY_FILE = 64, ENTRY_ETAG = 32 };
/* The .npy file relative to the data directory; "" if the value is in none of ours. */
void entry_file(const entry *e, char to[ENTRY_FILE]);

/* The variable's value: over a read-only mapping of its file, or over memory
 * shared with others. Unref it when done; it does not need the snapshot any
 * more. ERR_INTEGRITY if the value is damaged (only this one is affected); the
 * checksums of an array of up to 64 MiB are checked at its first use, those of
 * larger ones by entry_verify. If the file cannot be read later (somebody made it shorter),
 * zeros are read and buffer_is_lost tells: to be asked after use. */
bool entry_tensor(storage *s, const entry *e, tensor *result, error *err);

/* Checks the checksums of the chunks that hold n bytes of the elements from the
 * byte from on, unless that was done before. ERR_INTEGRITY if one is wrong. */
bool entry_verify(storage *s, const entry *e, int64_t from, int64_t n, error *err);

/* Says that the file of an entry could not be read while its elements were in use, and has the log
 * and the figures tell it. False and ERR_INTEGRITY. */
bool entry_lost(const entry *e, error *err);

/* An open descriptor of the .npy file, for sending it without mapping; *offset
 * is where the elements begin. The caller closes it. -1 and ERR_INTEGRITY, or
 * ERR_VALUE for a value that has none. */
int entry_open(storage *s, const entry *e, int64_t *offset, error *err);

/* A graph's or hidden text as it was put, with a NUL behind it; unref when done. */
buffer *entry_text(storage *s, const entry *e, error *err);

/* The JSON object of attributes, "{}" if none, with a NUL; unref when done. */
buffer *entry_attributes(storage *s, const entry *e, error *err);

/* The opaque part of the entity tag of what commit wrote (without quotes): it
 * names the data directory too, so that a directory made anew repeats none. */
void storage_etag(storage *s, int64_t commit, char to[ENTRY_ETAG]);

/* The commit that an entity tag names; -1 if it is none of this directory. Bytes
 * behind the commit, such as a format, must begin with a dot and are ignored. */
int64_t storage_etag_commit(storage *s, const char *etag, size_t length);

/* ---- Arrays that arrive in pieces ---------------------------------------------- */

typedef enum durability {
    DURABILITY_DISK,    /* survives power loss once answered */
    DURABILITY_PROCESS, /* survives the end of the process; a power loss may take the last
                           moments, never leaves half a commit. Array files are synced all the
                           same; what is saved is the sync of the index. */
    DURABILITY_MEMORY   /* forgotten at restart, along with what the name had before. The
                           value is in memory, never in a file. */
} durability;

/* An array of known type and shape whose bytes come piece by piece, straight
 * into its file. Room on the disk and in the quota is taken now: ERR_DISK,
 * ERR_QUOTA, ERR_MEMORY_BUSY, ERR_SHAPE_INVALID, ERR_READ_ONLY. */
incoming *incoming_new(storage *s, durability d, storage_form form, dtype t, const shape *shape,
                       error *err);

/* The next n bytes, little-endian in C order. ERR_SIZE if that is more than the
 * shape has, ERR_DISK. */
bool incoming_write(incoming *in, const void *bytes, size_t n, error *err);

/* Ends the array and syncs its file. ERR_SIZE if bytes are missing; ERR_STORAGE
 * if the sync failed. */
bool incoming_finish(incoming *in, error *err);

/* Gives the array up, file and all. NULL is allowed. */
void incoming_free(incoming *in);

/* ---- Transactions -------------------------------------------------------------- */

enum {
    ATTRIBUTES_BYTES_MAX = 64 << 10,
    TEXT_BYTES_MAX = 8 << 20,
    EXPECT_ABSENT = 0, /* the name must not exist */
    EXPECT_PRESENT = -1
};

/* An empty transaction that reads from snapshot base (NULL: the present one). */
txn *txn_new(storage *s, snapshot *base, durability d);

/* Gives up what was not committed. NULL is allowed. */
void txn_free(txn *x);

/* What it waits for. */
durability txn_durability(const txn *x);

/* The snapshot that it reads from, valid as long as x. */
snapshot *txn_base(const txn *x);

/* The entry of a name in the base (NULL: none), valid as long as x. Commit fails
 * with ERR_CONFLICT if anybody has changed, made or removed the name meanwhile:
 * a transaction that reads only this way is serializable. */
const entry *txn_read(txn *x, const char *name);

/* Commit fails with the error failing (ERR_PRECONDITION, ERR_CONFLICT) unless
 * the name's entry is then that of commit, or EXPECT_ABSENT or EXPECT_PRESENT
 * holds. */
void txn_expect(txn *x, const char *name, int64_t commit, error_kind failing);

/* Stores a tensor under a name. The elements are copied now, to the file if it
 * gets one. Names are given as name_normalise left them. Errors as for incoming_*. A
 * later put or delete of the same name takes this one's place. */
bool txn_put_tensor(txn *x, const char *name, const tensor *t, storage_form form, error *err);

/* An array in a file that is not ours, read where it lies and never written. */
typedef struct attachment {
    const char *path; /* absolute, below one of the roots, links nowhere on the way */
    bool read_only;   /* the variable is not changed; otherwise a change makes it ours */
    bool fortran;     /* the first axis runs fastest */
    int64_t offset;   /* of the elements, in bytes; a multiple of their size */
} attachment;

/* Makes the elements of a file the value of a name. The file is remembered as it is now: once
 * it is changed by anybody, the variable is ERR_INTEGRITY. ERR_FORBIDDEN (not below a root, or
 * a link), ERR_NOT_FOUND, ERR_SIZE (the file is too short), ERR_VALUE (also for bools other than 0
 * and 1, which are looked for). */
bool txn_attach(txn *x, const char *name, const attachment *a, dtype t, const shape *shape,
                error *err);

/* Reads the header of a .npy file that is to be attached; hint as for npy_header_parse.
 * ERR_NPY if it is none, or an error of txn_attach. */
bool attachment_header(storage *s, const char *path, const dtype *hint, npy_header *result,
                       error *err);

/* Where an attached value lies, NULL for one of ours; valid as long as e. */
const attachment *entry_attachment(const entry *e);

/* Stores a new generation of e, the variable of that name in x's base: a copy in which the
 * elements that part names are those of value. part is a view of a dense
 * tensor of e's shape and type, whose buffer is not looked at; value has part's shape and
 * type, and any strides. Chunks that are not touched are shared with e if it is chunked, or
 * copied by the system, sharing blocks where the file system can; the others are checked
 * before. Readers keep what they have. Errors as for incoming_*, ERR_INTEGRITY. */
bool txn_patch(txn *x, const entry *e, const tensor *part, const tensor *value, error *err);

/* Likewise, with more elements behind those that are there along an axis: more has the type of
 * e, and its lengths along the other axes. */
bool txn_append(txn *x, const entry *e, const tensor *more, int axis, error *err);

/* Stores a finished incoming array; it is gone, even if this fails. */
bool txn_put_incoming_take(txn *x, const char *name, incoming *in, error *err);

/* Stores a graph, as the length bytes of text. ERR_BODY_SIZE above TEXT_BYTES_MAX. */
bool txn_put_graph(txn *x, const char *name, const char *text, size_t length, error *err);

/* Stores a text under a hidden name. Errors as for txn_put_graph. */
bool txn_put_text(txn *x, const char *name, const char *text, size_t length, error *err);

/* Sets a name's attributes, the text of a JSON object that the caller checked;
 * they stay when the value is replaced. Commit fails with ERR_NOT_FOUND if there
 * is no such name. ERR_BODY_SIZE above ATTRIBUTES_BYTES_MAX. */
bool txn_put_attributes(txn *x, const char *name, const char *text, size_t length, error *err);

/* Removes a name. Commit fails with ERR_NOT_FOUND if there is none. */
void txn_delete(txn *x, const char *name);

typedef struct commit_name {
    const char *name;
    bool created; /* it did not exist before */
    bool deleted;
    bool hidden;
    int64_t version; /* now, or the last one of a deleted name */
} commit_name;

typedef struct commit_result {
    int64_t commit; /* of a transaction that changes nothing: the present one */
    size_t count;
    const commit_name *names; /* in the order of the first calls; valid as long as the txn */
} commit_result;

/* Stores under a hidden name a text that tells what the commit did, and is as durable as that:
 * make adds it to `to` once commit and versions are certain, and before they are written (what
 * is hidden has no version yet). The
 * writer thread calls it, perhaps more than once, while the owner of x waits in txn_commit. */
typedef void txn_receipt(void *context, const commit_result *done, text *to);
void txn_put_receipt(txn *x, const char *name, txn_receipt *make, void *context);

/* Commits, once, and blocks until that is as durable as asked. False and nothing
 * changed: ERR_FORBIDDEN (snapshot_allows), the error of an expectation, ERR_NOT_FOUND,
 * ERR_NAME_KIND (a variable would replace a graph or the other way round), ERR_VARIABLE_QUOTA,
 * ERR_DISK, ERR_READ_ONLY. False and ERR_STORAGE: the outcome is unknown. */
bool txn_commit(txn *x, commit_result *result, error *err);
