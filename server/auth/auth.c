/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/auth.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "engine/base/log.h"
#include "engine/base/secret.h"
#include "server/auth/token.h"
#include "server/auth/tokens.h"

struct auth {
    bool token, tls, any_host;
    uint8_t digest[SHA256_BYTES]; /* of the local token */
    char *allow_hosts;
    char curl_path[256]; /* shown in the 401: curl -K this */
    int port;
    char *data, *tokens_path;
    pthread_mutex_t lock; /* over all below */
    token_list tokens;
    struct timespec seen; /* when their file was changed */
    ino_t seen_inode;
};

auth *auth_open(const auth_options *options, error *err)
{
    char token[TOKEN_DIGITS + 1];
    auth *a = calloc(1, sizeof *a);

    if (a == NULL)
        abort();
    a->token = options->token;
    a->tls = options->tls;
    a->any_host = options->any_host;
    a->allow_hosts = strdup(options->allow_hosts);
    a->data = strdup(options->data);
    if (asprintf(&a->tokens_path, "%s/tokens", options->data) < 0)
        abort();
    pthread_mutex_init(&a->lock, NULL);
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
    tokens_clear(&a->tokens);
    pthread_mutex_destroy(&a->lock);
    free(a->tokens_path);
    free(a->data);
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
    /* Of what a proxy speaks TLS for, only the names that were allowed are https. */
    bool ours = (!a->tls && plain != NULL && strcasecmp(plain, host) == 0) ||
                (tls != NULL && strcasecmp(tls, host) == 0 &&
                 (a->tls || (read_authority(host, &said) && is_allowed(a, &said))));

    if (origin != NULL && !ours)
        return error_set(err, ERR_ORIGIN, "Pages of another origin may not use this server.");
    if (origin == NULL && fetch_site != NULL && strcmp(fetch_site, "same-origin") != 0 &&
        strcmp(fetch_site, "none") != 0)
        return error_set(err, ERR_ORIGIN, "Pages of another site may not use this server.");
    return true;
}

/* ---- Token ------------------------------------------------------------------ */

/* Reads the tokens again if their file has changed. A file that cannot be read lets nobody in. */
static void look_again(auth *a)
{
    struct stat found = {0};
    error err = {0};

    stat(a->tokens_path, &found);
    if (found.st_mtim.tv_sec == a->seen.tv_sec && found.st_mtim.tv_nsec == a->seen.tv_nsec &&
        found.st_ino == a->seen_inode)
        return;
    a->seen = found.st_mtim;
    a->seen_inode = found.st_ino;
    tokens_clear(&a->tokens);
    if (!tokens_read(a->data, &a->tokens, &err))
        log_message(LOG_ERROR, "%s", err.detail);
}

/* Whose token has a digest. */
static bool find_caller(auth *a, const uint8_t digest[SHA256_BYTES], caller *who)
{
    const token_row *row;

    if (digest_equal(digest, a->digest)) {
        *who = (caller){.scopes = SCOPE_ALL};
        return true;
    }
    pthread_mutex_lock(&a->lock);
    look_again(a);
    row = tokens_find(&a->tokens, digest);
    if (row != NULL)
        *who = row->caller;
    pthread_mutex_unlock(&a->lock);
    return row != NULL;
}

bool auth_check_token(auth *a, const char *authorization, caller *who, error *err)
{
    const char *bearer = authorization == NULL ? NULL : behind_scheme(authorization, "Bearer ");
    uint8_t digest[SHA256_BYTES];

    *who = (caller){.scopes = SCOPE_ALL};
    if (!a->token)
        return true;
    if (bearer == NULL)
        return error_set(err, ERR_UNAUTHORIZED,
                         "Send the header Authorization: Bearer TOKEN, or use curl -K %s, which "
                         "holds it.",
                         a->curl_path);
    sha256(bearer, strlen(bearer), digest);
    return find_caller(a, digest, who) ||
           error_set(err, ERR_UNAUTHORIZED,
                     "The token is not one of this server; the local one is in the file token of "
                     "the data directory, and curl -K %s sends it.",
                     a->curl_path);
}

bool auth_check_scope(const caller *who, unsigned scopes, error *err)
{
    text needed, has;

    if ((who->scopes & scopes) != 0)
        return true;
    text_init(&needed);
    text_init(&has);
    auth_add_scopes(scopes, &needed);
    auth_add_scopes(who->scopes, &has);
    error_set(err, ERR_FORBIDDEN, "This needs a token with the scope %s; token %s has %s.",
              needed.bytes, who->id, has.bytes);
    text_clear(&needed);
    text_clear(&has);
    return false;
}
