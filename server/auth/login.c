/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/login.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "server/auth/token.h"

enum { CODE_US = 600000000 };

static bool path_of(const char *data, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/login", data) < PATH_MAX;
}

bool login_code_new(const char *data, char code[SHA256_DIGITS + 1], error *err)
{
    char path[PATH_MAX], hex[SHA256_DIGITS + 1], line[128];
    uint8_t digest[SHA256_BYTES];

    if (!path_of(data, path))
        return error_set(err, ERR_VALUE, "%s: the path is too long", data);
    random_hex(code, SHA256_BYTES);
    sha256(code, SHA256_DIGITS, digest);
    sha256_hex(digest, hex);
    snprintf(line, sizeof line, "%s %" PRId64 "\n", hex, clock_date_us() + CODE_US);
    return token_write_file(path, line, err);
}

bool login_code_use(const char *data, const uint8_t digest[SHA256_BYTES])
{
    char path[PATH_MAX], hex[SHA256_DIGITS + 1] = "";
    uint8_t expected[SHA256_BYTES];
    int64_t ends_us = 0;
    FILE *file = path_of(data, path) ? fopen(path, "re") : NULL;
    bool known;

    if (file == NULL)
        return false;
    known = fscanf(file, "%64s %" SCNd64, hex, &ends_us) == 2 && sha256_read(hex, expected) &&
            digest_equal(digest, expected);
    fclose(file);
    return known && unlink(path) == 0 && clock_date_us() < ends_us;
}
