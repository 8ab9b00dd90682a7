/* SPDX-License-Identifier: Apache-2.0 */
/* The limit for small requests: libmicrohttpd alone, set up as server/http does, that takes any
 * body and gives one answer. Usage: bare FILE THREADS. The file has lines "Name: value", an empty
 * line, and the body. Prints "listening on PORT" and serves until standard input ends. */
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_BYTES = 32 * 1024, CONNECTIONS = 256 };

static char *text;
static size_t length, headers_length;

static struct MHD_Response *answer(void)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(
        length - headers_length, text + headers_length, MHD_RESPMEM_PERSISTENT);

    for (char *at = text; at < text + headers_length && *at != '\0'; at += strlen(at) + 1) {
        char name[256];

        if (sscanf(at, "%255[^:]", name) == 1 && at[strlen(name)] == ':')
            MHD_add_response_header(r, name, at + strlen(name) + 2);
    }
    return r;
}

static enum MHD_Result serve(void *state, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *bytes, size_t *n,
                             void **seen)
{
    static char headers_are_in;
    struct MHD_Response *r;
    enum MHD_Result result;

    (void)state, (void)url, (void)method, (void)version, (void)bytes;
    if (*seen == NULL || *n > 0) {
        *seen = &headers_are_in;
        *n = 0;
        return MHD_YES;
    }
    r = answer();
    result = MHD_queue_response(connection, MHD_HTTP_OK, r);
    MHD_destroy_response(r);
    return result;
}

/* Reads the answer from a file; its header lines end in NULs afterwards. */
static void read_answer(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *gap;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        exit(1);
    length = (size_t)ftell(file);
    text = calloc(1, length + 1);
    rewind(file);
    if (text == NULL || fread(text, 1, length, file) != length)
        exit(1);
    gap = strstr(text, "\n\n");
    if (gap == NULL)
        exit(1);
    fclose(file);
    headers_length = (size_t)(gap + 2 - text);
    for (size_t i = 0; i < headers_length; i++)
        if (text[i] == '\n')
            text[i] = '\0';
}

int main(int argc, char **argv)
{
    struct MHD_Daemon *daemon;

    if (argc < 3)
        return 1;
    read_answer(argv[1]);
    daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, serve, NULL,
                              MHD_OPTION_THREAD_POOL_SIZE, (unsigned)atoi(argv[2]),
                              MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
                              MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_BYTES, MHD_OPTION_END);
    if (daemon == NULL)
        return 1;
    printf("listening on %d\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    MHD_stop_daemon(daemon);
    return 0;
}
