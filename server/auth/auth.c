/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/auth/login.h"
#include "server/auth/private.h"
#include "server/auth/token.h"

/* ---- Life ---------------------------------------------------------------------- */

/* Reads the local token, or makes it. */
static bool load_local(auth *a, error *err)
{
    char token[TOKEN_DIGITS + 1];

    if (!token_load(a->data, token, err))
        return false;
    pthread_mutex_lock(&a->lock);
    sha256(token, TOKEN_DIGITS, a->digest);
    pthread_mutex_unlock(&a->lock);
    explicit_bzero(token, sizeof token);
    return true;
}

static auth *auth_new(const auth_options *o)
{
    auth *a = calloc(1, sizeof *a);

    if (a == NULL)
        abort();
    a->token = o->token;
    a->tls = o->tls;
    a->any_host = o->any_host;
    a->session_us = o->session_us;
    a->allow_hosts = strdup(o->allow_hosts);
    a->allow_origins = strdup(o->allow_origins);
    a->data = strdup(o->data);
    if (asprintf(&a->tokens_path, "%s/tokens", o->data) < 0)
        abort();
    snprintf(a->curl_path, sizeof a->curl_path, "%s/curl", o->tells_path ? o->data : "DATA");
    a->failures = throttle_new(o->failures_a_minute, o->failures_a_minute);
    a->requests = throttle_new(60 * o->requests_a_second, o->requests_burst);
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

auth *auth_open(const auth_options *options, error *err)
{
    auth *a = auth_new(options);

    if (check_origins(options->allow_origins, err) && load_local(a, err))
        return a;
    auth_close(a);
    return NULL;
}

void auth_close(auth *a)
{
    if (a == NULL)
        return;
    tokens_clear(&a->tokens);
    throttle_free(a->failures);
    throttle_free(a->requests);
    pthread_mutex_destroy(&a->lock);
    free(a->tokens_path);
    free(a->data);
    free(a->allow_origins);
    free(a->allow_hosts);
    free(a);
}

void auth_set_port(auth *a, int port)
{
    a->port = port;
}

/* ---- Tokens ---------------------------------------------------------------------- */

/* Reads the tokens again if their file has changed. A file that cannot be read lets nobody in.
 * The lock is held. */
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

void auth_reload(auth *a)
{
    error err = {0};

    pthread_mutex_lock(&a->lock);
    a->seen_inode = 0;
    look_again(a);
    pthread_mutex_unlock(&a->lock);
    if (!load_local(a, &err))
        log_message(LOG_ERROR, "the local token stays as it was: %s", err.detail);
}

static const caller local_caller = {.scopes = SCOPE_ALL};

/* Whose token has a digest. The lock is held. */
static bool find_holder(auth *a, const uint8_t digest[SHA256_BYTES], caller *who)
{
    const token_row *row;

    if (digest_equal(digest, a->digest)) {
        *who = local_caller;
        return true;
    }
    look_again(a);
    row = tokens_find(&a->tokens, digest);
    if (row != NULL)
        *who = row->caller;
    return row != NULL;
}

bool auth_find_caller(auth *a, const char *id, caller *who, error *err)
{
    const token_row *row = NULL;

    *who = local_caller;
    if (id[0] == '\0')
        return true;
    pthread_mutex_lock(&a->lock);
    look_again(a);
    row = tokens_find_id(&a->tokens, id);
    *who = row != NULL ? row->caller : (caller){0};
    pthread_mutex_unlock(&a->lock);
    return row != NULL || error_set(err, ERR_UNAUTHORIZED,
                                    "The token that asked for this was revoked or has expired.");
}

/* ---- Who asks ----------------------------------------------------------------------- */

enum { REMEMBERED_BYTES = 128 };

/* The token that was right last on this thread, and its digest: most come from the same client. */
typedef struct remembered {
    char token[REMEMBERED_BYTES];
    uint8_t digest[SHA256_BYTES];
} remembered;

static _Thread_local remembered last;

/* Whether bearer is the last token, in a time that tells nothing of where they differ. */
static bool is_last(const char *bearer, size_t n)
{
    unsigned differ = 0;

    if (n >= REMEMBERED_BYTES || n == 0 || n != strlen(last.token))
        return false;
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned)(bearer[i] ^ last.token[i]);
    return differ == 0;
}

static void digest_of(const char *bearer, uint8_t digest[SHA256_BYTES])
{
    const size_t n = strlen(bearer);

    if (is_last(bearer, n))
        memcpy(digest, last.digest, SHA256_BYTES);
    else
        sha256(bearer, n, digest);
}

static void remember(const char *bearer, const uint8_t digest[SHA256_BYTES])
{
    const size_t n = strlen(bearer);

    if (n >= REMEMBERED_BYTES)
        return;
    memcpy(last.token, bearer, n + 1);
    memcpy(last.digest, digest, SHA256_BYTES);
}

/* The secret in our cookie; NULL and *n 0 if there is none. */
static const char *find_cookie(const auth *a, const char *cookies, size_t *n)
{
    char name[32];
    const size_t length = (size_t)snprintf(name, sizeof name, "tensord-%d=", a->port);

    for (const char *at = cookies; at != NULL && *at != '\0';) {
        const size_t end = strcspn(at, ";");

        if (strncmp(at, name, length) == 0) {
            *n = end - length;
            return at + length;
        }
        at += end + strspn(at + end, "; ");
    }
    *n = 0;
    return NULL;
}

static bool find_session(auth *a, const char *secret, size_t n, caller *who)
{
    const session *found;
    bool known;

    pthread_mutex_lock(&a->lock);
    found = sessions_find(&a->sessions, secret, n);
    known = found != NULL && find_holder(a, found->token, who);
    pthread_mutex_unlock(&a->lock);
    return known;
}

/* What identifies a network that an address is of: of IPv6, whose holders have 2^64 each, the
 * first half. */
static size_t network_bytes(const uint8_t address[16])
{
    static const uint8_t none[8];

    return memcmp(address, none, sizeof none) == 0 ? 16 : 8;
}

/* Notes that an address failed to say who it is. True if it may be told so; ERR_AUTH_THROTTLED
 * once it has failed too often. Whoever knows a token is let in all the same. */
static bool may_fail(auth *a, const credentials *c, int64_t *wait_us, error *err)
{
    *wait_us = c->address == NULL
                   ? 0
                   : throttle_take(a->failures, c->address, network_bytes(c->address), clock_us());
    return *wait_us == 0 || error_set(err, ERR_AUTH_THROTTLED,
                                      "This address has sent too many wrong tokens; a right one "
                                      "is taken at any time.");
}

static bool refuse_token(auth *a, const credentials *c, int64_t *wait_us, error *err)
{
    return may_fail(a, c, wait_us, err) &&
           error_set(err, ERR_UNAUTHORIZED,
                     "The token is not one of this server; the local one is in the file token of "
                     "the data directory, and curl -K %s sends it.",
                     a->curl_path);
}

/* A request by cookie that changes something says so by a header, which a form or a link cannot
 * send and a page elsewhere may not. */
static bool check_mark(const credentials *c, error *err)
{
    return c->safe || c->marked ||
           error_set(err, ERR_MARK,
                     "A request with a cookie that is not GET needs the header X-Tensord: 1.");
}

static bool check_rate(auth *a, const caller *who, int64_t *wait_us, error *err)
{
    if (who->id[0] != '\0')
        *wait_us = throttle_take(a->requests, who->id, strlen(who->id), clock_us());
    return *wait_us == 0 ||
           error_set(err, ERR_RATE, "Token %s asks more often than token_requests_per_second_max.",
                     who->id);
}

bool auth_check_caller(auth *a, const credentials *c, caller *who, int64_t *wait_us, error *err)
{
    const char *bearer =
        c->authorization == NULL ? NULL : behind_scheme(c->authorization, "Bearer ");
    size_t n = 0;
    const char *cookie = c->foreign || bearer != NULL ? NULL : find_cookie(a, c->cookie, &n);
    uint8_t digest[SHA256_BYTES];
    bool known;

    *wait_us = 0;
    *who = local_caller;
    if (!a->token)
        return true;
    if (bearer == NULL && cookie != NULL)
        return find_session(a, cookie, n, who)
                   ? check_mark(c, err) && check_rate(a, who, wait_us, err)
                   : error_set(err, ERR_UNAUTHORIZED, "You are logged in no longer.");
    if (bearer == NULL)
        return error_set(err, ERR_UNAUTHORIZED,
                         "Send the header Authorization: Bearer TOKEN, or use curl -K %s, which "
                         "holds it; a browser logs in by the link of tensord login.",
                         a->curl_path);
    digest_of(bearer, digest);
    pthread_mutex_lock(&a->lock);
    known = find_holder(a, digest, who);
    pthread_mutex_unlock(&a->lock);
    if (known)
        remember(bearer, digest);
    return known ? check_rate(a, who, wait_us, err) : refuse_token(a, c, wait_us, err);
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

bool auth_sees_all_jobs(const caller *who)
{
    return (who->scopes & SCOPE_ADMIN) != 0 && who->prefixes[0] == '\0';
}

/* ---- Logging in --------------------------------------------------------------------- */

/* Adds our cookie with its secret, for so many seconds. */
static void add_cookie(const auth *a, const char *secret, int64_t seconds, bool tls, text *to)
{
    text_addf(to, "tensord-%d=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s", a->port,
              secret, (long long)seconds, tls || a->tls ? "; Secure" : "");
}

bool auth_login(auth *a, const credentials *c, bool tls, text *set_cookie, int64_t *wait_us,
                error *err)
{
    const char *bearer =
        c->authorization == NULL ? NULL : behind_scheme(c->authorization, "Bearer ");
    char secret[SHA256_DIGITS + 1];
    uint8_t digest[SHA256_BYTES];
    caller who;
    bool known;

    *wait_us = 0;
    if (bearer == NULL)
        return error_set(err, ERR_UNAUTHORIZED,
                         "Send the code of the link, or a token, as Authorization: Bearer CODE.");
    digest_of(bearer, digest);
    pthread_mutex_lock(&a->lock);
    if (login_code_use(a->data, digest))
        memcpy(digest, a->digest, sizeof digest);
    known = find_holder(a, digest, &who);
    if (known)
        sessions_begin(&a->sessions, digest, clock_us() + a->session_us, secret);
    pthread_mutex_unlock(&a->lock);
    if (!known)
        return may_fail(a, c, wait_us, err) &&
               error_set(err, ERR_UNAUTHORIZED,
                         "The link was used or is too old; tensord login prints another.");
    add_cookie(a, secret, a->session_us / 1000000, tls, set_cookie);
    explicit_bzero(secret, sizeof secret);
    return true;
}

void auth_logout(auth *a, const char *cookies, text *set_cookie)
{
    size_t n;
    const char *secret = find_cookie(a, cookies, &n);
    session *found;

    pthread_mutex_lock(&a->lock);
    found = secret == NULL ? NULL : sessions_find(&a->sessions, secret, n);
    if (found != NULL)
        *found = (session){0};
    pthread_mutex_unlock(&a->lock);
    add_cookie(a, "", 0, false, set_cookie);
}

bool auth_add_link(const char *data, const char *url, text *to, error *err)
{
    char code[SHA256_DIGITS + 1];

    if (!login_code_new(data, code, err))
        return false;
    text_addf(to, "%s/#token=%s", url, code);
    explicit_bzero(code, sizeof code);
    return true;
}
