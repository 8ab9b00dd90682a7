/* SPDX-License-Identifier: Apache-2.0 */
/* Which name the server is addressed by, and which page asks. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/auth/private.h"

/* ---- Host ------------------------------------------------------------------- */

/* A host and a port, as in a Host header. */
typedef struct authority {
    char name[256]; /* without brackets */
    int port;       /* 80 if it is not said */
    bool port_said;
} authority;

/* Reads the port behind the name; text is "" or begins with a colon. */
static bool read_port(const char *text, authority *to)
{
    char *end;
    long port;

    to->port = 80;
    to->port_said = *text == ':';
    if (*text == '\0')
        return true;
    if (*text != ':' || text[1] < '0' || text[1] > '9')
        return false;
    port = strtol(text + 1, &end, 10);
    to->port = (int)port;
    return *end == '\0' && port > 0 && port < 65536;
}

static bool read_authority(const char *text, authority *to)
{
    bool bracket = *text == '[';
    size_t n;

    text += bracket;
    n = strcspn(text, bracket ? "]" : ":");
    if (n == 0 || n >= sizeof to->name || (bracket && text[n] != ']'))
        return false;
    memcpy(to->name, text, n);
    to->name[n] = '\0';
    return read_port(text + n + bracket, to);
}

bool auth_is_loopback(const char *address)
{
    struct in6_addr six;
    struct in_addr four;

    if (inet_pton(AF_INET, address, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, address, &six) == 1)
        return IN6_IS_ADDR_LOOPBACK(&six);
    return strcasecmp(address, "localhost") == 0;
}

/* Whether host is what an entry of --allow-host means: with a port exactly
 * that, without one any port. */
static bool entry_allows(const char *entry, size_t n, const authority *host)
{
    char text[300];
    authority allowed;

    if (n == 0 || n >= sizeof text)
        return false;
    memcpy(text, entry, n);
    text[n] = '\0';
    return read_authority(text, &allowed) && strcasecmp(allowed.name, host->name) == 0 &&
           (!allowed.port_said || allowed.port == host->port);
}

static bool is_allowed(const auth *a, const authority *host)
{
    for (const char *at = a->allow_hosts; *at != '\0';) {
        size_t n = strcspn(at, ",");

        if (entry_allows(at, n, host))
            return true;
        at += n;
        at += *at == ',';
    }
    return false;
}

bool auth_check_host(const auth *a, const char *host, error *err)
{
    authority said;

    if (a->any_host ||
        (read_authority(host, &said) &&
         ((auth_is_loopback(said.name) && said.port == a->port) || is_allowed(a, &said))))
        return true;
    return error_set(err, ERR_HOST,
                     "The Host header is not a name of this server; use 127.0.0.1:%d, or start the "
                     "server with --allow-host for other names.",
                     a->port);
}

/* ---- Origin ----------------------------------------------------------------- */

const char *behind_scheme(const char *text, const char *scheme)
{
    size_t n = strlen(scheme);

    return strncasecmp(text, scheme, n) == 0 ? text + n : NULL;
}

/* Whether the server's own pages, as they are asked for by host, have this origin. */
static bool is_own(const auth *a, const char *host, const char *origin)
{
    const char *plain = behind_scheme(origin, "http://"), *tls = behind_scheme(origin, "https://");
    authority said;

    if (plain != NULL)
        return !a->tls && strcasecmp(plain, host) == 0;
    /* Of what a proxy speaks TLS for, only the names that were allowed are https. */
    return tls != NULL && strcasecmp(tls, host) == 0 &&
           (a->tls || (read_authority(host, &said) && is_allowed(a, &said)));
}

/* Whether it is one of --allow-origin, letter for letter. */
static bool is_listed(const auth *a, const char *origin)
{
    const size_t length = strlen(origin);

    for (const char *at = a->allow_origins; *at != '\0';) {
        const size_t n = strcspn(at, ",");

        if (n == length && memcmp(at, origin, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

bool auth_check_origin(const auth *a, const char *host, const char *origin, const char *fetch_site,
                       bool *foreign, error *err)
{
    *foreign = origin != NULL && !is_own(a, host, origin);
    if (*foreign && !is_listed(a, origin))
        return error_set(err, ERR_ORIGIN,
                         "Pages of another origin may not use this server, but for those that it "
                         "was started with --allow-origin for.");
    if (origin == NULL && fetch_site != NULL && strcmp(fetch_site, "same-origin") != 0 &&
        strcmp(fetch_site, "none") != 0)
        return error_set(err, ERR_ORIGIN, "Pages of another site may not use this server.");
    return true;
}

/* Whether n bytes are an origin as browsers write it: a scheme, a host in lower case, and the
 * port if it is not the usual one. */
static bool is_origin(const char *text, size_t n)
{
    const size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                          : strncmp(text, "http://", 7) == 0 ? 7
                                                             : n;

    return scheme < n &&
           strspn(text + scheme, "abcdefghijklmnopqrstuvwxyz0123456789-.:[]") >= n - scheme;
}

bool check_origins(const char *list, error *err)
{
    for (const char *at = list; *at != '\0';) {
        const size_t n = strcspn(at, ",");

        if (!is_origin(at, n))
            return error_set(err, ERR_VALUE,
                             "allow-origin: '%.*s' is no origin like https://app.example:8443, in "
                             "lower case and without a path",
                             (int)n, at);
        at += n + (at[n] == ',');
    }
    return true;
}
