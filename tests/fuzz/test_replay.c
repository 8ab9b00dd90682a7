/* SPDX-License-Identifier: Apache-2.0 */
/* Every input of tests/fuzz/corpus given to its target, with the compiler of the build: what a
 * fuzzer found once stays found. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/targets.h"

static const struct {
    const char *name;
    void (*run)(const uint8_t *bytes, size_t n);
} targets[] = {
#define TARGET(name, doc) {#name, target_##name},
#include "tests/fuzz/targets.def"
#undef TARGET
};

/* Runs one file; it ends the program if it fails, so its name is said before. */
static void replay(const char *folder, const char *name, void (*run)(const uint8_t *, size_t))
{
    static uint8_t bytes[1 << 16];
    char path[512];
    FILE *file;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (file == NULL)
        exit(1);
    n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint8_t *copy = malloc(n); /* so that reading beyond it is noticed */

    memcpy(copy, bytes, n);
    printf("%s\n", path);
    fflush(stdout);
    run(copy, n);
    free(copy);
}

static long replay_folder(const char *name, void (*run)(const uint8_t *, size_t))
{
    char folder[256];
    struct dirent *e;
    long count = 0;
    DIR *d;

    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", name);
    d = opendir(folder);
    while (d != NULL && (e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        replay(folder, e->d_name, run);
        count++;
    }
    if (d != NULL)
        closedir(d);
    return count;
}

int main(void)
{
    long count = 0, failed = 0;

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        const long n = replay_folder(targets[i].name, targets[i].run);

        if (n == 0) {
            printf("there are no inputs for %s\n", targets[i].name);
            failed++;
        }
        count += n;
    }
    printf("%ld passed, %ld failed\n", count, failed);
    fflush(stdout);
    _Exit(failed > 0); /* the server of one target still runs */
}
