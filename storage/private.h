/* private -- what the files of storage share.
 *
 * Locks: index_lock may be held while lock or cache_lock is taken; neither of
 * those two is held while another lock is taken. */
#pragma once

#include <pthread.h>

#include "engine/base/arena.h"
#include "engine/base/table.h"
#include "storage/index.h"
#include "storage/names.h"
#include "storage/storage.h"
#include "storage/within.h"

enum {
    ARRAY_DIRECTORIES = 256,    /* arrays/00 to arrays/ff */
    ARRAY_NAME = 42,            /* room for xx/ID.slots, ID being 32 hexadecimal digits */
    CHUNK_BYTES = 1 << 20,      /* of elements, with a checksum of their own */
    BLOB_BYTES_MAX = 15 << 20,  /* of one blob in the index */
    VERIFY_BYTES_MAX = 64 << 20 /* of an array that is verified whole at its first use */
};

/* ---- Arrays that are not ours ------------------------------------------------------- */

/* Where one lies, and what its file was like when it was attached. */
typedef struct place {
    attachment said;
    int64_t bytes, modified_ns; /* of the file */
    uint64_t inode, device;
    char path[];
} place;

/* As text for the index, and back; NULL if the text is none. */
void place_add(const place *p, text *to);
place *place_read(const char *text);

/* The file of an attached content, which is what it was. -1 and ERR_INTEGRITY. */
int place_open(storage *s, const place *p, error *err);

/* ---- Contents ------------------------------------------------------------------ */

/* The file of chunked arrays (slots.h). */
typedef struct slots slots;

/* A value, immutable: the elements of an array, the text of a graph, attributes.
 *
 * It is counted by entries, transactions and incoming arrays. It starts *doomed*,
 * and commit redeems it; a commit that takes it from its name dooms it again.
 * When the last holder of a doomed one lets go, it is garbage: the writer thread
 * removes its file and its blob. */
struct content {
    _Atomic int references;
    _Atomic bool doomed, damaged;
    _Atomic bool told;        /* that it is damaged, to the log */
    _Atomic bool is_volatile; /* never in the index */
    bool in_file;             /* of ours: a .npy, or slots */
    dtype dtype;
    int rank;
    int64_t nbytes;
    int64_t id; /* of its blob; 0: not in the index. Written by the writer thread only */
    uint8_t file[FILE_ID_BYTES];
    place *place;  /* of an array that is not ours; NULL: it is */
    slots *slots;  /* of a chunked array, with a reference; NULL: it is none */
    uint32_t *map; /* of a chunked array, the slot of each chunk; NULL: it was lost */
    storage *storage;

    /* Guarded by cache_lock. */
    buffer *bytes;          /* the blob, if it is in memory, and a NUL: the elements; or of a file
                               its checksums, and behind them the map of a chunked array */
    bool was_used;          /* since the cache last looked */
    bool linked;            /* in the list of what may be forgotten */
    content *newer, *older; /* in that list; older also links garbage */
    uint8_t *verified;      /* of each chunk, whether its checksum was right; NULL: none yet */

    int64_t length[]; /* of each axis */
};

/* A doomed content without bytes. NULL and ERR_QUOTA, ERR_SHAPE_INVALID. */
content *content_new(storage *s, dtype t, const shape *shape, error *err);
/* The same of a checked shape whose nbytes the caller has added to s->bytes. */
content *content_alloc(storage *s, dtype t, const shape *shape);
content *content_ref(content *c);
void content_unref(content *c);

/* The blob in memory, read from the index if need be; the caller unrefs it. */
buffer *content_bytes(content *c, error *err);

/* Gives the content its blob, whose reference it takes over, and keeps it in
 * memory as long as the cache has room (a volatile one: always). */
void content_cache_take(content *c, buffer *bytes);

/* The content, text, of n bytes with their NUL: a graph's, attributes or hidden. */
content *content_of_text(storage *s, const char *text, size_t n, error *err);
/* The same of a receipt, which the quota does not bind. */
content *content_of_receipt(storage *s, const char *text, size_t n, error *err);

/* Frees a content that nobody holds; what the index and the disk have of it stays. */
void content_free(content *c);

/* The i-th of the numbers that the blob of a content in a file is: first the checksum of each
 * chunk; then, of a chunked array, its slot. */
uint32_t content_number(const buffer *blob, int64_t i);
void content_set_number(buffer *blob, int64_t i, uint32_t number);

/* How many chunks the elements are. */
int64_t content_chunks(const content *c);

/* Whether n more bytes are within the quota. ERR_QUOTA. */
bool content_check_quota(storage *s, int64_t n, error *err);

/* Bytes that count for the quota, beside the slots of chunked arrays. */
int64_t content_own_bytes(const content *c);

/* Bytes of the blob that belongs to the content. */
int64_t content_blob_bytes(const content *c);

void content_shape(const content *c, shape *result);

/* The elements of c, over a mapping of its file or memory; not verified if they are more than
 * VERIFY_BYTES_MAX. content_verify checks the chunks that hold n bytes from from on. */
buffer *content_elements(content *c, error *err);
bool content_verify(content *c, const buffer *elements, int64_t from, int64_t n, error *err);

/* ---- Entries ------------------------------------------------------------------- */

/* An entry of kind for name; the rest is the caller's to fill in. */
entry *entry_new(const char *name, entry_kind kind);
entry *entry_ref(entry *e);
void entry_unref(entry *e);

/* variable, graph, hidden. */
const char *entry_kind_name(entry_kind kind);

/* Tells the log once, and counts, that the value of an entry is damaged. */
void entry_note_damage(const entry *e, const char *why);

/* Says of which entry an error tells, and notes that it is damaged if that is the error; returns
 * false. */
bool entry_damaged(const entry *e, const error *why, error *err);

/* The hidden name of an older version; to be freed. */
char *version_name(const char *name, int64_t version);

/* Whether a name is the server's own. */
bool name_is_hidden(const char *name);

/* ---- Array files --------------------------------------------------------------- */

/* Writes the path below arrays/, of a .npy file or one of slots. */
void array_name(const uint8_t file[FILE_ID_BYTES], bool slots, char to[ARRAY_NAME]);

/* A new file for c's elements with all its blocks, open for writing: a .npy file, or one of slots,
 * all of which are taken. -1 and ERR_DISK, ERR_QUOTA, ERR_STORAGE. */
int array_create(content *c, error *err);
int array_create_slots(content *c, error *err);

/* The file of c for reading, of the right kind and size. -1 and ERR_INTEGRITY. */
int array_open(content *c, error *err);

/* The file of c's slots, for writing. -1 and ERR_INTEGRITY, ERR_MEMORY_BUSY. */
int array_open_slots(content *c, error *err);

/* What nobody uses of the file of c's slots is to be emptied. */
void array_doubt_slots(content *c);

/* Syncs arrays/xx for each xx whose bit is set. ERR_STORAGE. */
bool array_sync_directories(storage *s, const uint64_t directories[ARRAY_DIRECTORIES / 64],
                            error *err);

/* Whether the disk has room for n more bytes above the floor; ERR_DISK. */
bool disk_has_room(storage *s, int64_t n, error *err);

/* Turns errno of a failed call into an error: ERR_DISK if the disk is full,
 * otherwise ERR_STORAGE. Returns false. */
bool disk_failed(const char *what, error *err);

/* ---- Transactions ---------------------------------------------------------------- */

/* What a transaction does to one name. */
typedef struct change {
    const char *name;
    entry_kind kind;
    bool removes;
    content *content;    /* the new value; NULL: the old one stays */
    content *attributes; /* likewise */
    txn_receipt *make;   /* makes content while the change is applied; NULL: it is there */
    void *context;       /* of make */
} change;

typedef struct expectation {
    const char *name;
    int64_t commit;
    error_kind failing;
} expectation;

struct txn {
    storage *storage;
    snapshot *base;
    durability durability;
    arena *arena;
    table by_name; /* of changes */
    change **changes;
    size_t change_count, change_room;
    expectation *expectations;
    size_t expectation_count, expectation_room;

    /* The writer's. */
    txn *next;
    bool done; /* guarded by the storage's lock */
    pthread_cond_t woken;
    commit_name *names; /* one for each change */
    int64_t commit;
    error failure;
};

/* The content that attaches a file. NULL and an error of txn_attach. */
content *place_content(txn *x, const attachment *a, dtype t, const shape *shape, error *err);

/* ---- The storage ------------------------------------------------------------------ */

struct snapshot {
    _Atomic int references;
    int64_t commit;
    int64_t count[ENTRY_KINDS]; /* of all names */
    names *names;
    within *within; /* what it is limited to, owned; NULL: nothing */
};

/* The state of the table meta. */
enum { STATE_CLOSED, STATE_OPEN, STATE_LOOSE };

struct storage {
    storage_options options;
    vfs *vfs;
    int lock_file, directory, arrays; /* descriptors; -1: not open */
    uint32_t id;                      /* of the data directory */
    _Atomic bool failed;
    _Atomic int64_t bytes; /* of all contents that are stored or being stored */
    _Atomic int64_t commits, syncs;
    _Atomic int64_t damaged; /* values found so since the start */
    int64_t strays;
    _Atomic int backups; /* that are made; no file is removed meanwhile */

    pthread_mutex_t index_lock;
    name_index *index;

    pthread_mutex_t lock;
    pthread_cond_t work; /* for the writer thread */
    snapshot *current;
    txn *first_waiting, **last_waiting;
    content *garbage;   /* linked by older */
    _Atomic bool woken; /* there are slots to be emptied */
    bool closing;

    pthread_mutex_t cache_lock;
    content *newest, *oldest;
    int64_t cached;

    slots *slot_files, *left; /* of chunked arrays; those to be emptied. slots.c has the lock */

    pthread_t writer;
    bool has_writer;
    int64_t last_blob; /* the writer's */
    bool has_ballast;  /* the writer's */
    bool loose;        /* meta says that commits may be unsynced; the writer's */
};

/* Adds a content that nobody holds to the garbage and wakes the writer. */
void storage_add_garbage(storage *s, content *c);

/* Lets the writer look for slots that are to be emptied. */
void storage_wake(storage *s);

/* Frees contents that are linked as garbage; not their files. */
void garbage_free(content *garbage);

/* From now on nothing is written: a sync or the index failed. */
void storage_fail(storage *s, const error *err);

/* False and ERR_READ_ONLY after storage_fail. */
bool storage_can_write(const storage *s, error *err);

/* The writer thread: commits what waits until the storage is closing. */
void *writer_main(void *s);

/* Removes array files that no entry of n names. ERR_STORAGE. */
bool sweep(storage *s, const snapshot *n, error *err);
