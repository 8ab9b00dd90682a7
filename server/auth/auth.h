/* auth -- who may ask, and from where.
 *
 * Three questions, asked on every request:
 *   - Host: is the server addressed by a name that is its own? Otherwise a page
 *     elsewhere could reach it by pointing its own name here.
 *   - Origin: if a browser says which page asks, is it one of ours, or of a list?
 *   - Caller: does the bearer hold the local token, which is for everything, or another
 *     one (tokens.h), which is for its scopes and names? Or does a browser send the cookie that
 *     it was given for one (sessions.h)? Not asked on open routes, nor with auth none, which
 *     the server allows on loopback only.
 *
 * The local token is 256 random bits in hexadecimal, in DATA/token, made at the
 * first start and readable by the owner alone. DATA/curl holds the same for curl.
 * In memory there is only its SHA-256, compared in constant time.
 *
 * Threads: once opened, asked by any.
 *
 * Reading order: auth.h, private.h, auth.c, origin.c, tokens.h, sessions.h, login.h, throttle.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/text.h"

typedef struct auth auth;

/* What a caller may do: bits. */
enum {
#define SCOPE(id, word, doc) SCOPE_BIT_##id,
#include "server/auth/scopes.def"
#undef SCOPE
    SCOPE_BITS
};
enum {
#define SCOPE(id, word, doc) SCOPE_##id = 1 << SCOPE_BIT_##id,
#include "server/auth/scopes.def"
#undef SCOPE
    SCOPE_ALL = (1 << SCOPE_BITS) - 1
};

enum { PREFIXES_BYTES = 255 };

/* Who asks. */
typedef struct caller {
    char id[17]; /* of the token; "" for the local one */
    unsigned scopes;
    char prefixes[PREFIXES_BYTES + 1]; /* of the names it sees, with commas between; "": all */
} caller;

/* Adds the words of scopes, with commas between. */
void auth_add_scopes(unsigned scopes, text *to);

typedef struct auth_options {
    const char *data;          /* directory of token and curl */
    bool token;                /* false: anyone may ask */
    bool any_host;             /* by a socket of the file system, where no page can go */
    bool tells_path;           /* whoever is refused is told where the curl file is */
    bool tls;                  /* the server speaks it: its own pages are https */
    const char *allow_hosts;   /* comma-separated names, with or without a port */
    const char *allow_origins; /* comma-separated origins of pages elsewhere */
    int64_t session_us;        /* that a browser stays logged in */
    int64_t failures_a_minute; /* wrong tokens from one address */
    int64_t requests_a_second, requests_burst; /* of one token, but for the local one */
} auth_options;

/* Reads the token or makes it. NULL, with err saying which file failed and why,
 * if that cannot be done, or which origin is none. */
auth *auth_open(const auth_options *options, error *err);
void auth_close(auth *a);

/* Says which port the server listens on; before any request is checked. */
void auth_set_port(auth *a, int port);

/* Reads the local token and the others again. A new local token ends the sessions of the old. */
void auth_reload(auth *a);

/* ---- From where ---------------------------------------------------------------- */

/* Whether a Host header is one of ours; ERR_HOST otherwise. */
bool auth_check_host(const auth *a, const char *host, error *err);

/* Whether the page that a browser asks for has the same origin, or one of the list, and is
 * *foreign then; ERR_ORIGIN otherwise. host is the Host header, known to be ours; origin and
 * fetch_site are the headers Origin and Sec-Fetch-Site, or NULL. */
bool auth_check_origin(const auth *a, const char *host, const char *origin, const char *fetch_site,
                       bool *foreign, error *err);

/* Whether an address as in --listen is on this machine only. */
bool auth_is_loopback(const char *address);

/* ---- Who ----------------------------------------------------------------------- */

/* What a request says of that. */
typedef struct credentials {
    const char *authorization, *cookie; /* headers, or NULL */
    bool foreign;                       /* a page elsewhere asks: cookies do not count */
    bool safe;                          /* the method changes nothing */
    bool marked;                        /* it has the header X-Tensord */
    const uint8_t *address;             /* of the peer, 16 bytes; NULL: it has none */
} credentials;

/* Whether it carries a token that we know, or the cookie of a session, and whose it is.
 * ERR_UNAUTHORIZED; ERR_AUTH_THROTTLED in its place for an address that failed too often;
 * ERR_RATE if the token asks too often; ERR_MARK. *wait_us: after which it may be tried again, 0
 * if that is of no use. */
bool auth_check_caller(auth *a, const credentials *c, caller *who, int64_t *wait_us, error *err);

/* Whose token has an id now; "" is the local one. ERR_UNAUTHORIZED if there is none any more. */
bool auth_find_caller(auth *a, const char *id, caller *who, error *err);

/* Whether the caller has one of the scopes; ERR_FORBIDDEN otherwise. */
bool auth_check_scope(const caller *who, unsigned scopes, error *err);

/* Whether the caller sees and cancels the jobs of all; otherwise only those that it asked for. */
bool auth_sees_all_jobs(const caller *who);

/* ---- Browsers -------------------------------------------------------------------- */

/* Makes a session for who sends a one-time code or a token as bearer, and adds the value of
 * Set-Cookie. tls: the browser speaks it, if only with a proxy. ERR_UNAUTHORIZED,
 * ERR_AUTH_THROTTLED. */
bool auth_login(auth *a, const credentials *c, bool tls, text *set_cookie, int64_t *wait_us,
                error *err);

/* Ends the session of a Cookie header (NULL: none), and adds the Set-Cookie that forgets it. */
void auth_logout(auth *a, const char *cookies, text *set_cookie);

/* Adds a link to url that lets a browser in once, in the place of any made before; another
 * process than the server may do so. ERR_VALUE if the file of its code cannot be written. */
bool auth_add_link(const char *data, const char *url, text *to, error *err);
