/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/index.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/crc32c.h"
#include "engine/base/log.h"
#include "storage/schema.h"

enum {
    PAGE_BYTES = 8192,
    HEAP_BYTES_MAX = 256 << 20,
    VALUE_BYTES_MAX = 16 << 20, /* the greatest blob */
    SQL_BYTES_MAX = 10000,
    SQL_DEPTH_MAX = 20,
    SQL_VARIABLES_MAX = 64
};

typedef enum statement_id {
#define SETTING(sql)
#define STATEMENT(id, sql) SQL_##id,
#include "storage/statements.def"
#undef SETTING
#undef STATEMENT
    STATEMENTS
} statement_id;

static const char *const statement_text[STATEMENTS] = {
#define SETTING(sql)
#define STATEMENT(id, sql) [SQL_##id] = sql,
#include "storage/statements.def"
#undef SETTING
#undef STATEMENT
};

static const char *const setting_text[] = {
#define SETTING(sql) sql,
#define STATEMENT(id, sql)
#include "storage/statements.def"
#undef SETTING
#undef STATEMENT
};

struct name_index {
    sqlite3 *db;
    sqlite3_vfs *seam; /* registered; NULL if nobody wants to know */
    sqlite3_stmt *statements[STATEMENTS];
    int64_t log_bytes, format;
    bool unsynced; /* commits don't sync at present */
};

/* ---- Errors -------------------------------------------------------------------------- */

static error_kind kind_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return ERR_DISK;
    case SQLITE_NOMEM:
        return ERR_MEMORY_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ERR_INTEGRITY;
    default:
        return ERR_STORAGE;
    }
}

static bool failed(name_index *ix, int code, error *err)
{
    if (ix->db != NULL)
        code = sqlite3_extended_errcode(ix->db);
    return error_set(err, kind_of(code), "the index: %s",
                     ix->db != NULL ? sqlite3_errmsg(ix->db) : sqlite3_errstr(code));
}

/* What SQLite has to say beside its results. */
static void hear(void *context, int code, const char *message)
{
    (void)context;
    if ((code & 0xff) != SQLITE_NOTICE && (code & 0xff) != SQLITE_SCHEMA) /* it is prepared anew */
        log_message(LOG_WARN, "index: %s (%d)", message, code);
}

static void configure_library(void)
{
    sqlite3_config(SQLITE_CONFIG_LOG, hear, NULL);
    sqlite3_initialize();
    sqlite3_hard_heap_limit64(HEAP_BYTES_MAX);
}

/* ---- The seam: SQLite's calls, announced to our vfs ------------------------------------ */

/* What stands behind SQLite's own file object of a file opened through the seam. */
typedef struct seam_file {
    sqlite3_io_methods methods; /* SQLite's own with some replaced */
    const sqlite3_io_methods *original;
    vfs *vfs;
    const char *name;
} seam_file;

static seam_file *seam_file_of(sqlite3_file *file)
{
    return (seam_file *)((char *)file + sqlite3_vfs_find("unix")->szOsFile);
}

/* SQLITE_OK, or the code for what foreign wants to happen: as SQLite has it, only
 * a write finds the disk full. */
static int announce(seam_file *f, vfs_foreign what, int code)
{
    int failure;

    what.file = f->name;
    failure = f->vfs->foreign(f->vfs, &what);
    if (failure == 0)
        return SQLITE_OK;
    return failure == ENOSPC && what.kind == VFS_WRITE ? SQLITE_FULL : code;
}

static int seam_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 offset)
{
    seam_file *f = seam_file_of(file);
    const vfs_foreign what = {.kind = VFS_WRITE, .bytes = bytes, .n = n, .offset = offset};
    int code = announce(f, what, SQLITE_IOERR_WRITE);

    return code != SQLITE_OK ? code : f->original->xWrite(file, bytes, n, offset);
}

static int seam_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    seam_file *f = seam_file_of(file);
    int code = announce(f, (vfs_foreign){.kind = VFS_TRUNCATE, .n = size}, SQLITE_IOERR_TRUNCATE);

    return code != SQLITE_OK ? code : f->original->xTruncate(file, size);
}

static int seam_sync(sqlite3_file *file, int flags)
{
    seam_file *f = seam_file_of(file);
    int code = announce(f, (vfs_foreign){.kind = VFS_SYNC}, SQLITE_IOERR_FSYNC);

    return code != SQLITE_OK ? code : f->original->xSync(file, flags);
}

/* The vfs that a copy of SQLite's table is for: its name says it. */
static vfs *seam_vfs(const sqlite3_vfs *self)
{
    return (vfs *)(uintptr_t)strtoull(strchr(self->zName, ' ') + 1, NULL, 16);
}

static const char *file_name(int flags)
{
    return flags & SQLITE_OPEN_WAL            ? "index.db-wal"
           : flags & SQLITE_OPEN_MAIN_JOURNAL ? "index.db-journal"
                                              : "index.db";
}

static int seam_delete(sqlite3_vfs *self, const char *path, int sync)
{
    const char *slash = strrchr(path, '/');
    const vfs_foreign what = {
        .kind = VFS_REMOVE, .file = slash == NULL ? path : slash + 1, .n = sync};

    if (seam_vfs(self)->foreign(seam_vfs(self), &what) != 0)
        return SQLITE_IOERR_DELETE;
    return sqlite3_vfs_find("unix")->xDelete(self, path, sync);
}

static int seam_open(sqlite3_vfs *self, const char *path, sqlite3_file *file, int flags,
                     int *result)
{
    seam_file *f = seam_file_of(file);
    int code = sqlite3_vfs_find("unix")->xOpen(self, path, file, flags, result);

    if (code != SQLITE_OK || file->pMethods == NULL)
        return code;
    f->original = file->pMethods;
    f->methods = *file->pMethods;
    f->methods.xWrite = seam_write;
    f->methods.xTruncate = seam_truncate;
    f->methods.xSync = seam_sync;
    f->vfs = seam_vfs(self);
    f->name = file_name(flags);
    file->pMethods = &f->methods;
    return SQLITE_OK;
}

/* Makes SQLite announce its calls to v, if v wants to know. The unix functions
 * take their state from a copy of their own table as well, so a copy with one
 * function replaced and a name of its own, which tells whom to call, is enough. */
static bool place_seam(name_index *ix, vfs *v)
{
    sqlite3_vfs *own;

    if (v->foreign == NULL)
        return true;
    own = malloc(sizeof *own);
    if (own == NULL)
        return false;
    *own = *sqlite3_vfs_find("unix");
    own->szOsFile += (int)sizeof(seam_file);
    own->xOpen = seam_open;
    own->xDelete = seam_delete;
    own->zName = sqlite3_mprintf("seam %llx", (unsigned long long)(uintptr_t)v);
    own->pNext = NULL;
    ix->seam = own;
    return sqlite3_vfs_register(own, 0) == SQLITE_OK;
}

static void remove_seam(name_index *ix)
{
    if (ix->seam == NULL)
        return;
    sqlite3_vfs_unregister(ix->seam);
    sqlite3_free((void *)(uintptr_t)ix->seam->zName);
    free(ix->seam);
}

/* ---- Statements ------------------------------------------------------------------------ */

/* The statement, prepared and without values; NULL on failure. */
static sqlite3_stmt *statement(name_index *ix, statement_id id, error *err)
{
    if (ix->statements[id] == NULL) {
        int code = sqlite3_prepare_v3(ix->db, statement_text[id], -1, SQLITE_PREPARE_PERSISTENT,
                                      &ix->statements[id], NULL);

        if (code != SQLITE_OK) {
            failed(ix, code, err);
            return NULL;
        }
    }
    return ix->statements[id];
}

/* Runs a statement that gives no rows, or whose rows don't matter. */
static bool finish(name_index *ix, sqlite3_stmt *s, error *err)
{
    int code;
    bool ok;

    do
        code = sqlite3_step(s);
    while (code == SQLITE_ROW);
    ok = code == SQLITE_DONE || failed(ix, code, err);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return ok;
}

static bool run(name_index *ix, statement_id id, error *err)
{
    sqlite3_stmt *s = statement(ix, id, err);

    return s != NULL && finish(ix, s, err);
}

static bool run_with_id(name_index *ix, statement_id id, int64_t value, error *err)
{
    sqlite3_stmt *s = statement(ix, id, err);

    if (s == NULL)
        return false;
    sqlite3_bind_int64(s, 1, value);
    return finish(ix, s, err);
}

/* The first column of a statement's first row; fallback if it has no row. */
static bool ask(name_index *ix, sqlite3_stmt *s, int64_t fallback, int64_t *value, error *err)
{
    int code = sqlite3_step(s);

    *value = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : fallback;
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        failed(ix, code, err);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return !error_is_set(err);
}

/* ---- Life cycle -------------------------------------------------------------------------- */

static void limit(sqlite3 *db)
{
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, SQL_DEPTH_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, SQL_VARIABLES_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 1);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    /* Closing must never write: the file may just have been found damaged. */
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

static int remember_log(void *context, sqlite3 *db, const char *name, int pages)
{
    name_index *ix = context;

    (void)db;
    (void)name;
    ix->log_bytes = (int64_t)pages * PAGE_BYTES;
    return SQLITE_OK;
}

/* Takes the tables from the present format to ours, all or nothing. */
static bool raise_format(name_index *ix, error *err)
{
    int code = SQLITE_OK;

    if (!run(ix, SQL_BEGIN, err))
        return false;
    for (int format = (int)ix->format + 1; code == SQLITE_OK && format <= SCHEMA_FORMAT; format++)
        code = sqlite3_exec(ix->db, schema_text(format), NULL, NULL, NULL);
    if (code == SQLITE_OK && run(ix, SQL_COMMIT, err)) {
        ix->format = SCHEMA_FORMAT;
        return true;
    }
    failed(ix, code, err);
    index_rollback(ix);
    return false;
}

bool index_upgrade(name_index *ix, error *err)
{
    return ix->format == SCHEMA_FORMAT || raise_format(ix, err);
}

/* Sees to it that there are tables, of a format that is known. */
static bool check_format(name_index *ix, bool create, error *err)
{
    sqlite3_stmt *query = statement(ix, SQL_FORMAT, err);

    if (query == NULL || !ask(ix, query, 0, &ix->format, err))
        return false;
    if (ix->format == 0 && create)
        return raise_format(ix, err);
    if (ix->format == 0)
        return error_set(err, ERR_INTEGRITY, "the index has no tables");
    if (ix->format > SCHEMA_FORMAT)
        return error_set(err, ERR_VALUE,
                         "the index has format %d; this version knows formats up to %d",
                         (int)ix->format, SCHEMA_FORMAT);
    return true;
}

static bool open_database(name_index *ix, const char *path, vfs *v, bool create, error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    int code;

    if (!place_seam(ix, v))
        return error_set(err, ERR_MEMORY_BUSY, "no memory to open the index");
    code = sqlite3_open_v2(path, &ix->db, flags | (create ? SQLITE_OPEN_CREATE : 0),
                           ix->seam == NULL ? "unix" : ix->seam->zName);
    if (code == SQLITE_CANTOPEN && !create)
        return error_set(err, ERR_INTEGRITY, "the index %s is missing or cannot be opened", path);
    if (code != SQLITE_OK)
        return failed(ix, code, err);
    sqlite3_extended_result_codes(ix->db, 1);
    limit(ix->db);
    for (size_t i = 0; i < sizeof setting_text / sizeof *setting_text; i++) {
        code = sqlite3_exec(ix->db, setting_text[i], NULL, NULL, NULL);
        if (code != SQLITE_OK)
            return failed(ix, code, err);
    }
    sqlite3_wal_hook(ix->db, remember_log, ix); /* after the settings, one of which removes it */
    return check_format(ix, create, err);
}

name_index *index_open(const char *path, vfs *v, bool create, error *err)
{
    static pthread_once_t configured = PTHREAD_ONCE_INIT;
    name_index *ix = calloc(1, sizeof *ix);

    pthread_once(&configured, configure_library);
    if (ix == NULL)
        abort();
    if (open_database(ix, path, v, create, err))
        return ix;
    index_close(ix);
    return NULL;
}

void index_close(name_index *ix)
{
    if (ix == NULL)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(ix->statements[i]);
    sqlite3_close(ix->db);
    remove_seam(ix);
    free(ix);
}

bool index_bytes(name_index *ix, int64_t *bytes, error *err)
{
    sqlite3_stmt *query = statement(ix, SQL_PAGES, err);

    if (query == NULL || !ask(ix, query, 0, bytes, err))
        return false;
    *bytes *= PAGE_BYTES;
    return true;
}

bool index_check(name_index *ix, bool full, error *err)
{
    sqlite3_stmt *check = statement(ix, full ? SQL_CHECK_FULL : SQL_CHECK_QUICK, err);
    int code;

    if (check == NULL)
        return false;
    code = sqlite3_step(check);
    if (code != SQLITE_ROW)
        failed(ix, code, err);
    else if (strcmp((const char *)sqlite3_column_text(check, 0), "ok") != 0)
        error_set(err, ERR_INTEGRITY, "the index is damaged: %s", sqlite3_column_text(check, 0));
    sqlite3_reset(check);
    return !error_is_set(err);
}

bool index_compact(name_index *ix, error *err)
{
    return run(ix, SQL_VACUUM, err) && index_checkpoint(ix, true, err);
}

bool index_copy(name_index *ix, const char *path, error *err)
{
    sqlite3_stmt *s = statement(ix, SQL_COPY, err);

    if (s == NULL)
        return false;
    sqlite3_bind_text(s, 1, path, -1, SQLITE_STATIC);
    return finish(ix, s, err);
}

/* ---- Reading ----------------------------------------------------------------------------- */

static const char *column_text(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);

    return text == NULL ? "" : text;
}

/* Reads [2, 3]. */
static bool read_shape(const char *text, shape *s, error *err)
{
    char *end = (char *)(uintptr_t)text;

    s->rank = 0;
    do {
        char *at = end + 1;
        long long length = strtoll(at, &end, 10);

        if (end == at)
            break;
        if (s->rank == RANK_MAX)
            return error_set(err, ERR_INTEGRITY, "the index has a shape of too many axes");
        s->length[s->rank++] = length;
    } while (*end == ',');
    if (*text != '[' || end[*end == ']' ? 1 : 0] != '\0')
        return s->rank == 0 && strcmp(text, "[]") == 0
                   ? true
                   : error_set(err, ERR_INTEGRITY, "the index has a shape that is none: %s", text);
    return true;
}

static uint32_t checksum_text(uint32_t crc, const char *text)
{
    return text == NULL ? crc32c(crc, "", 1) : crc32c(crc, text, strlen(text) + 1);
}

/* Of all that a row says: SQLite has no checksums, and a row whose shape or name is another by a
 * bit would be believed. */
static uint32_t row_checksum(const name_row *row)
{
    const int64_t numbers[] = {row->version,          row->commit,  row->created_us,
                               row->modified_us,      row->content, row->attributes,
                               row->attributes_bytes, row->chunked, row->shape.rank,
                               row->file != NULL};
    uint32_t crc = crc32c(0, numbers, sizeof numbers);

    crc = crc32c(crc, row->shape.length, (size_t)row->shape.rank * sizeof *row->shape.length);
    crc = row->file == NULL ? crc : crc32c(crc, row->file, FILE_ID_BYTES);
    crc = checksum_text(checksum_text(crc, row->name), row->kind);
    return checksum_text(checksum_text(crc, row->dtype), row->place);
}

static bool read_row(sqlite3_stmt *s, name_row *row, error *err)
{
    *row = (name_row){
        .name = column_text(s, 0),
        .kind = column_text(s, 1),
        .version = sqlite3_column_int64(s, 2),
        .commit = sqlite3_column_int64(s, 3),
        .created_us = sqlite3_column_int64(s, 4),
        .modified_us = sqlite3_column_int64(s, 5),
        .dtype = column_text(s, 6),
        .file = sqlite3_column_blob(s, 8),
        .content = sqlite3_column_int64(s, 9),
        .attributes = sqlite3_column_int64(s, 10),
        .attributes_bytes = sqlite3_column_int64(s, 11),
        .place = (const char *)sqlite3_column_text(s, 12),
        .chunked = sqlite3_column_int(s, 13) != 0,
    };
    if (row->file != NULL && sqlite3_column_bytes(s, 8) != FILE_ID_BYTES)
        return error_set(err, ERR_INTEGRITY, "the index has a file name that is none");
    if (!read_shape(column_text(s, 7), &row->shape, err))
        return false;
    return sqlite3_column_type(s, 14) == SQLITE_NULL ||
           row_checksum(row) == (uint32_t)sqlite3_column_int64(s, 14) ||
           error_set(err, ERR_INTEGRITY, "the index has a damaged row: %s", row->name);
}

bool index_each_name(name_index *ix, bool (*each)(void *context, const name_row *row, error *err),
                     void *context, error *err)
{
    sqlite3_stmt *s = statement(ix, SQL_ALL_NAMES, err);
    bool ok = s != NULL;
    int code = SQLITE_DONE;

    while (ok && (code = sqlite3_step(s)) == SQLITE_ROW) {
        name_row row;

        ok = read_row(s, &row, err) && each(context, &row, err);
    }
    if (ok && code != SQLITE_DONE)
        ok = failed(ix, code, err);
    sqlite3_reset(s);
    return ok;
}

/* The blob in the statement's row, if it has the checksum that stands beside it. */
static buffer *copy_blob(sqlite3_stmt *s, int64_t id, error *err)
{
    const void *bytes = sqlite3_column_blob(s, 1);
    size_t n = (size_t)sqlite3_column_bytes(s, 1);
    buffer *result;

    if (crc32c(0, bytes, n) != (uint32_t)sqlite3_column_int64(s, 0)) {
        error_set(err, ERR_INTEGRITY, "blob %lld of the index is damaged", (long long)id);
        return NULL;
    }
    result = buffer_new(NULL, n + 1, err);
    if (result != NULL) {
        if (n > 0)
            memcpy(buffer_bytes(result), bytes, n);
        ((char *)buffer_bytes(result))[n] = '\0';
    }
    return result;
}

buffer *index_read_blob(name_index *ix, int64_t id, error *err)
{
    sqlite3_stmt *s = statement(ix, SQL_GET_BLOB, err);
    buffer *result = NULL;
    int code;

    if (s == NULL)
        return NULL;
    sqlite3_bind_int64(s, 1, id);
    code = sqlite3_step(s);
    if (code == SQLITE_ROW)
        result = copy_blob(s, id, err);
    else if (code == SQLITE_DONE)
        error_set(err, ERR_INTEGRITY, "blob %lld is missing from the index", (long long)id);
    else
        error_set(err, ERR_INTEGRITY, "blob %lld of the index cannot be read: %s", (long long)id,
                  sqlite3_errmsg(ix->db));
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return result;
}

bool index_last_blob(name_index *ix, int64_t *id, error *err)
{
    sqlite3_stmt *s = statement(ix, SQL_LAST_BLOB, err);

    return s != NULL && ask(ix, s, 0, id, err);
}

bool index_get_meta(name_index *ix, const char *key, int64_t fallback, int64_t *value, error *err)
{
    sqlite3_stmt *s = statement(ix, SQL_GET_META, err);

    if (s == NULL)
        return false;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    return ask(ix, s, fallback, value, err);
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* This pragma works when it is prepared, so a kept statement would do nothing. */
static bool set_synced(name_index *ix, bool synced, error *err)
{
    const char *pragma = statement_text[synced ? SQL_SYNC_FULL : SQL_SYNC_NORMAL];
    int code = SQLITE_OK;

    if (synced == ix->unsynced)
        code = sqlite3_exec(ix->db, pragma, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return failed(ix, code, err);
    ix->unsynced = !synced;
    return true;
}

bool index_begin(name_index *ix, bool synced, error *err)
{
    return set_synced(ix, synced, err) && run(ix, SQL_BEGIN, err);
}

bool index_commit(name_index *ix, error *err)
{
    return run(ix, SQL_COMMIT, err);
}

void index_rollback(name_index *ix)
{
    error ignored = {0};

    if (!sqlite3_get_autocommit(ix->db))
        run(ix, SQL_ROLLBACK, &ignored);
}

static void bind_text(sqlite3_stmt *s, int parameter, const char *text)
{
    sqlite3_bind_text(s, parameter, text, -1, SQLITE_STATIC);
}

static void bind_shape(sqlite3_stmt *s, int parameter, const shape *value)
{
    text t;

    text_init(&t);
    text_add_char(&t, '[');
    for (int i = 0; i < value->rank; i++)
        text_addf(&t, "%s%lld", i == 0 ? "" : ", ", (long long)value->length[i]);
    text_add_char(&t, ']');
    sqlite3_bind_text(s, parameter, t.bytes, (int)t.length, SQLITE_TRANSIENT);
    text_clear(&t);
}

bool index_put_name(name_index *ix, const name_row *row, error *err)
{
    sqlite3_stmt *s = statement(ix, SQL_PUT_NAME, err);

    if (s == NULL)
        return false;
    bind_text(s, 1, row->name);
    bind_text(s, 2, row->kind);
    sqlite3_bind_int64(s, 3, row->version);
    sqlite3_bind_int64(s, 4, row->commit);
    sqlite3_bind_int64(s, 5, row->created_us);
    sqlite3_bind_int64(s, 6, row->modified_us);
    bind_text(s, 7, row->dtype);
    bind_shape(s, 8, &row->shape);
    if (row->file != NULL)
        sqlite3_bind_blob(s, 9, row->file, FILE_ID_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(s, 10, row->content);
    if (row->attributes != 0) {
        sqlite3_bind_int64(s, 11, row->attributes);
        sqlite3_bind_int64(s, 12, row->attributes_bytes);
    }
    if (row->place != NULL)
        bind_text(s, 13, row->place);
    sqlite3_bind_int(s, 14, row->chunked);
    sqlite3_bind_int64(s, 15, row_checksum(row));
    return finish(ix, s, err);
}

bool index_delete_name(name_index *ix, const char *name, error *err)
{
    sqlite3_stmt *s = statement(ix, SQL_DELETE_NAME, err);

    if (s == NULL)
        return false;
    bind_text(s, 1, name);
    return finish(ix, s, err);
}

bool index_put_blob(name_index *ix, int64_t id, const void *bytes, size_t n, error *err)
{
    sqlite3_stmt *s = statement(ix, SQL_PUT_BLOB, err);

    if (s == NULL)
        return false;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_int64(s, 2, crc32c(0, bytes, n));
    sqlite3_bind_blob64(s, 3, n == 0 ? "" : bytes, n, SQLITE_STATIC);
    return finish(ix, s, err);
}

bool index_doom_blob(name_index *ix, int64_t id, error *err)
{
    return run_with_id(ix, SQL_DOOM_BLOB, id, err);
}

bool index_purge_blob(name_index *ix, int64_t id, error *err)
{
    return run_with_id(ix, SQL_PURGE_BLOB, id, err) && run_with_id(ix, SQL_PURGE_GARBAGE, id, err);
}

bool index_purge_all(name_index *ix, error *err)
{
    return run(ix, SQL_PURGE_ALL_BLOBS, err) && run(ix, SQL_PURGE_ALL_GARBAGE, err);
}

bool index_set_meta(name_index *ix, const char *key, int64_t value, error *err)
{
    sqlite3_stmt *s = statement(ix, SQL_SET_META, err);

    if (s == NULL)
        return false;
    bind_text(s, 1, key);
    sqlite3_bind_int64(s, 2, value);
    return finish(ix, s, err);
}

/* ---- The log ------------------------------------------------------------------------------- */

int64_t index_log_bytes(const name_index *ix)
{
    return ix->log_bytes;
}

bool index_checkpoint(name_index *ix, bool last, error *err)
{
    int mode = last ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART;
    int code = sqlite3_wal_checkpoint_v2(ix->db, NULL, mode, NULL, NULL);

    if (code != SQLITE_OK && (code & 0xff) != SQLITE_FULL)
        return failed(ix, code, err);
    ix->log_bytes = code == SQLITE_OK ? 0 : ix->log_bytes;
    return true;
}
