/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/auth.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/secret.h"
#include "server/auth/token.h"

struct auth {
    bool token;
    uint8_t digest[SHA256_BYTES]; /* of the local token */
    char *allow_hosts;
    char curl_path[256]; /* shown in the 401: curl -K this */
    int port;
};

auth *auth_open(const auth_options *options, error *err)
{
    char token[TOKEN_DIGITS + 1];
    auth *a = calloc(1, sizeof *a);

    if (a == NULL)
        abort();
    a->token = options->token;
    a->allow_hosts = strdup(options->allow_hosts);
    snprintf(a->curl_path, sizeof a->curl_path, "%s/curl", options->data);
    if (!token_load(options->data, token, err)) {
        auth_close(a);
        return NULL;
    }
    sha256(token, TOKEN_DIGITS, a->digest);
    explicit_bzero(token, sizeof token);
    return a;
}

void auth_close(auth *a)
{
    if (a == NULL)
        return;
    free(a->allow_hosts);
    free(a);
}

void auth_set_port(auth *a, int port)
{
    a->port = port;
}

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

    if (read_authority(host, &said) &&
        ((auth_is_loopback(said.name) && said.port == a->port) || is_allowed(a, &said)))
        return true;
    return error_set(err, ERR_HOST,
                     "The Host header is not a name of this server; use 127.0.0.1:%d, or start the "
                     "server with --allow-host for other names.",
                     a->port);
}

/* ---- Origin ----------------------------------------------------------------- */

/* What stands behind scheme in text; NULL if it does not begin so. */
static const char *behind_scheme(const char *text, const char *scheme)
{
    size_t n = strlen(scheme);

    return strncasecmp(text, scheme, n) == 0 ? text + n : NULL;
}

bool auth_check_origin(const auth *a, const char *host, const char *origin, const char *fetch_site,
                       error *err)
{
    const char *plain = origin == NULL ? NULL : behind_scheme(origin, "http://");
    const char *tls = origin == NULL ? NULL : behind_scheme(origin, "https://");
    authority said;
    bool ours = (plain != NULL && strcasecmp(plain, host) == 0) ||
                (tls != NULL && strcasecmp(tls, host) == 0 && read_authority(host, &said) &&
                 is_allowed(a, &said));

    if (origin != NULL && !ours)
        return error_set(err, ERR_ORIGIN, "Pages of another origin may not use this server.");
    if (origin == NULL && fetch_site != NULL && strcmp(fetch_site, "same-origin") != 0 &&
        strcmp(fetch_site, "none") != 0)
        return error_set(err, ERR_ORIGIN, "Pages of another site may not use this server.");
    return true;
}

/* ---- Token ------------------------------------------------------------------ */

bool auth_check_token(const auth *a, const char *authorization, error *err)
{
    const char *bearer = authorization == NULL ? NULL : behind_scheme(authorization, "Bearer ");
    uint8_t digest[SHA256_BYTES];

    if (!a->token)
        return true;
    if (bearer == NULL)
        return error_set(err, ERR_UNAUTHORIZED,
                         "Send the header Authorization: Bearer TOKEN, or use curl -K %s, which "
                         "holds it.",
                         a->curl_path);
    sha256(bearer, strlen(bearer), digest);
    if (!digest_equal(digest, a->digest))
        return error_set(err, ERR_UNAUTHORIZED,
                         "The token is not the one of this server; it is in the file token of the "
                         "data directory, and curl -K %s sends it.",
                         a->curl_path);
    return true;
}
