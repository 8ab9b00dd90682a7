/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/graphviz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"

enum { PIECE = 64 << 10, LOOK_MS = 50 };

/* A file in memory that holds the text, to be read from its start; -1 if there is none. */
static int file_of(const text *dot)
{
    const int file = memfd_create("graph", MFD_CLOEXEC);
    size_t done = 0;

    while (file >= 0 && done < dot->length) {
        const ssize_t n = write(file, dot->bytes + done, dot->length - done);

        if (n < 0 && errno != EINTR) {
            close(file);
            return -1;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    if (file >= 0)
        lseek(file, 0, SEEK_SET);
    return file;
}

/* Starts the program between two files; 0, or why not. */
static int start(int in, int out, pid_t *child)
{
    /* Fewer rounds than it would take by itself: the pictures are hardly worse, and ready in a
     * tenth of the time. */
    char *const arguments[] = {"dot",          "-Tsvg",         "-Gnslimit=1",
                               "-Gnslimit1=1", "-Gmclimit=0.3", NULL};
    char *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    int failure;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    failure = posix_spawnp(child, "dot", &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

static bool read_all(int from, int64_t deadline_us, text *svg, error *err)
{
    for (;;) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        ssize_t n;

        if (clock_us() > deadline_us)
            return error_set(err, ERR_TIME,
                             "Graphviz took too long to lay the graph out; ask for view=dot and "
                             "lay it out where there is more time.");
        if (poll(&ready, 1, LOOK_MS) <= 0)
            continue;
        n = read(from, text_reserve(svg, PIECE), PIECE);
        if (n == 0)
            return true;
        svg->length += n > 0 ? (size_t)n : 0;
        if (svg->length > GRAPHVIZ_BYTES_MAX)
            return error_set_limit(err, ERR_RESULT_SIZE, GRAPHVIZ_BYTES_MAX, (int64_t)svg->length,
                                   "The picture is larger than the limit.");
    }
}

/* Waits for the program, which is killed if what it said is not wanted. */
static bool finish(pid_t child, bool wanted, error *err)
{
    int status = 0;

    if (!wanted)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return wanted && ((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                      error_set(err, ERR_INTERNAL,
                                "Graphviz could not lay the graph out, perhaps for want of "
                                "memory; ask for view=dot."));
}

static bool run(int in, int64_t deadline_us, text *svg, error *err)
{
    const struct rlimit memory = {GRAPHVIZ_MEMORY_MAX, GRAPHVIZ_MEMORY_MAX};
    int ends[2], failure;
    pid_t child;
    bool ok;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(err, ERR_INTERNAL, "No pipe could be made for Graphviz.");
    failure = start(in, ends[1], &child);
    close(ends[1]);
    if (failure != 0) {
        close(ends[0]);
        return error_set(err, ERR_NOT_IMPLEMENTED,
                         "Pictures are laid out by Graphviz, which is not there: install the "
                         "package graphviz, or ask for view=dot.");
    }
    prlimit(child, RLIMIT_AS, &memory, NULL);
    ok = read_all(ends[0], deadline_us, svg, err);
    close(ends[0]);
    text_add(svg, "");
    return finish(child, ok, err);
}

bool graphviz_svg(const text *dot, int64_t deadline_us, text *svg, error *err)
{
    const int64_t latest = clock_us() + GRAPHVIZ_US_MAX;
    const int in = file_of(dot);
    bool ok;

    if (in < 0)
        return error_set(err, ERR_INTERNAL, "No file could be made for Graphviz.");
    ok = run(in, deadline_us < latest ? deadline_us : latest, svg, err);
    close(in);
    return ok;
}
