/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "tests/fuzz/targets.h"
#include "tests/lib/evaluate.h"
#include "tests/lib/storing.h"

/* A data directory as it was made: its files, by their paths, and what is in them. */
typedef struct image {
    char *path;
    int count;
    char *names[8];
    uint8_t *bytes[8];
    size_t sizes[8];
} image;

static image made;

static void take_file(const char *name)
{
    char path[512];
    struct stat found;
    int fd;

    snprintf(path, sizeof path, "%s/%s", made.path, name);
    fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &found) != 0 || made.count == 8)
        exit(1);
    made.names[made.count] = strdup(name);
    made.sizes[made.count] = (size_t)found.st_size;
    made.bytes[made.count] = malloc(made.sizes[made.count] + 1);
    if (read(fd, made.bytes[made.count], made.sizes[made.count]) != found.st_size)
        exit(1);
    made.count++;
    close(fd);
}

/* Tells the name of the file of each variable that has one. */
static void take_array(storage *s, const char *name)
{
    snapshot *now = storage_snapshot(s);
    char file[ENTRY_FILE];

    entry_file(snapshot_find(now, name), file);
    if (*file != '\0')
        take_file(file);
    snapshot_unref(now);
}

static void make_image(void)
{
    error err = {0};
    storage *s;

    log_set_level(LOG_ERROR + 1);
    made.path = scratch_new();
    s = open_or_fail(made.path);
    put_vector(s, "small", 10, 0.5, &err);
    put_vector(s, "large", 20000, 1.0, &err);
    put_vector(s, "larger", 40000, 2.0, &err);
    delete_name(s, "larger", &err);
    storage_close(s);
    take_file("index.db");
    take_file("VERSION");
    s = open_or_fail(made.path);
    take_array(s, "large");
    storage_close(s);
}

/* ---- One input: changes to the files ---------------------------------------------------------
 */

static void write_file(int i, const uint8_t *bytes, size_t n)
{
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s/%s", made.path, made.names[i]);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        exit(1);
    close(fd);
}

/* The files as they were made, but for the changes: each says a file, a place (from the
 * beginning, or in a page of the index) and a byte; or a new length. */
static void write_changed(supply *s)
{
    uint8_t *changed[8];
    size_t sizes[8];

    for (int i = 0; i < made.count; i++) {
        changed[i] = malloc(made.sizes[i] + 1);
        memcpy(changed[i], made.bytes[i], made.sizes[i]);
        sizes[i] = made.sizes[i];
    }
    while (!supply_ended(s)) {
        const unsigned kind = supply_byte(s), i = kind % (unsigned)made.count;
        const size_t at = (size_t)supply_byte(s) << 16 | supply_byte(s) << 8 | supply_byte(s);

        if (kind >= 240)
            sizes[i] = at % (made.sizes[i] + 1);
        else
            changed[i][at % (made.sizes[i] + 1)] = (uint8_t)supply_byte(s);
    }
    for (int i = 0; i < made.count; i++) {
        write_file(i, changed[i], sizes[i]);
        free(changed[i]);
    }
}

static void tell(void *context, const char *name, const error *why)
{
    (void)context, (void)name, (void)why;
}

/* Everything that is found is read; an array that comes whole is what was put, or the index says
 * so of other bytes. */
static void read_all(storage *s)
{
    const entry *found[16];
    snapshot *now = storage_snapshot(s);
    const size_t n = snapshot_list(now, ENTRY_VARIABLE, "", "", found, 16);
    storage_findings findings;
    error err = {0};

    for (size_t i = 0; i < n; i++) {
        tensor t;

        error_clear(&err);
        if (!entry_tensor(s, found[i], &t, &err))
            continue;
        target_check(tensor_size(&t) >= 0, "a tensor has a size");
        tensor_unref(&t);
    }
    snapshot_unref(now);
    error_clear(&err);
    storage_check(s, tell, NULL, &findings, &err);
}

void target_storage(const uint8_t *bytes, size_t n)
{
    supply s = {bytes, bytes + n};
    storage_options options;
    error err = {0};
    storage *opened;

    if (made.path == NULL)
        make_image();
    write_changed(&s);
    options = storage_options_default(made.path);
    options.free_bytes_min = 0;
    opened = storage_open(&options, &err);
    if (opened == NULL)
        return;
    read_all(opened);
    error_clear(&err);
    put_vector(opened, "new", 3, 0.0, &err);
    storage_close(opened);
}
