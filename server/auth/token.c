/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/token.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/secret.h"

static bool failed(const char *path, error *err)
{
    return error_set(err, ERR_VALUE, "%s: %s", path, strerror(errno));
}

/* Reads at most room bytes; -1 if there is no such file or it cannot be read. */
static ssize_t read_file(const char *path, char *to, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = read(fd, to, room);
    close(fd);
    return n;
}

/* Gives what root writes to the owner of the directory, as whom the server runs. */
static bool give_to_owner(int fd, const char *path)
{
    const char *slash = strrchr(path, '/');
    char directory[PATH_MAX];
    struct stat found;

    if (geteuid() != 0 || slash == NULL)
        return true;
    snprintf(directory, sizeof directory, "%.*s/", (int)(slash - path), path);
    return stat(directory, &found) == 0 && fchown(fd, found.st_uid, found.st_gid) == 0;
}

/* Writes a file of mode 0600 under another name and moves it into place, so
 * that nobody ever reads half of it. */
bool token_write_file(const char *path, const char *bytes, error *err)
{
    char partial[PATH_MAX];
    size_t n = strlen(bytes);
    bool ok;
    int fd;

    if (snprintf(partial, sizeof partial, "%s.new", path) >= (int)sizeof partial)
        return error_set(err, ERR_VALUE, "%s: the path is too long", path);
    fd = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return failed(partial, err);
    ok = give_to_owner(fd, path) && fchmod(fd, 0600) == 0 && write(fd, bytes, n) == (ssize_t)n &&
         fsync(fd) == 0;
    ok = close(fd) == 0 && ok && rename(partial, path) == 0;
    return ok || failed(path, err);
}

static bool is_token(const char *text, ssize_t n)
{
    return n >= TOKEN_DIGITS && strspn(text, "0123456789abcdef") == TOKEN_DIGITS &&
           (text[TOKEN_DIGITS] == '\0' || text[TOKEN_DIGITS] == '\n');
}

static bool read_or_make(const char *path, char token[TOKEN_DIGITS + 1], error *err)
{
    char text[TOKEN_DIGITS + 8] = "";
    ssize_t n = read_file(path, text, sizeof text - 1);

    if (n < 0 && errno != ENOENT)
        return failed(path, err);
    if (n >= 0 && !is_token(text, n))
        return error_set(err, ERR_VALUE,
                         "%s does not hold a token of %d hexadecimal digits; remove it to get a "
                         "new one",
                         path, TOKEN_DIGITS);
    if (n < 0) {
        random_hex(text, TOKEN_DIGITS / 2);
        strcat(text, "\n");
        if (!token_write_file(path, text, err))
            return false;
    }
    memcpy(token, text, TOKEN_DIGITS);
    token[TOKEN_DIGITS] = '\0';
    return true;
}

bool token_load(const char *data, char token[TOKEN_DIGITS + 1], error *err)
{
    char token_path[PATH_MAX], curl_path[PATH_MAX], curl[128], known[128] = "";

    if (snprintf(token_path, sizeof token_path, "%s/token", data) >= PATH_MAX ||
        snprintf(curl_path, sizeof curl_path, "%s/curl", data) >= PATH_MAX)
        return error_set(err, ERR_VALUE, "%s: the path is too long", data);
    if (!read_or_make(token_path, token, err))
        return false;
    snprintf(curl, sizeof curl, "header = \"Authorization: Bearer %s\"\n", token);
    if (read_file(curl_path, known, sizeof known - 1) > 0 && strcmp(known, curl) == 0)
        return true;
    return token_write_file(curl_path, curl, err);
}
