/* auth -- who may ask, and from where.
 *
 * Three questions, asked on every request:
 *   - Host: is the server addressed by a name that is its own? Otherwise a page
 *     elsewhere could reach it by pointing its own name here.
 *   - Origin: if a browser says which page asks, is it one of ours?
 *   - Token: does the bearer hold the local token, which is for everything, or another
 *     one (tokens.h), which is for its scopes? Not asked on open routes, nor with auth
 *     none, which the server allows on loopback only.
 *
 * The local token is 256 random bits in hexadecimal, in DATA/token, made at the
 * first start and readable by the owner alone. DATA/curl holds the same for curl.
 * In memory there is only its SHA-256, compared in constant time.
 *
 * Threads: once opened, asked by any. */
#pragma once

#include <stdbool.h>

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

/* Who asks. */
typedef struct caller {
    char id[17]; /* of the token; "" for the local one */
    unsigned scopes;
} caller;

/* Adds the words of scopes, with commas between. */
void auth_add_scopes(unsigned scopes, text *to);

typedef struct auth_options {
    const char *data;        /* directory of token and curl */
    bool token;              /* false: anyone may ask */
    bool any_host;           /* by a socket of the file system, where no page can go */
    bool tls;                /* the server speaks it: its own pages are https */
    const char *allow_hosts; /* comma-separated names, with or without a port */
} auth_options;

/* Reads the token or makes it. NULL, with err saying which file failed and why,
 * if that cannot be done. */
auth *auth_open(const auth_options *options, error *err);
void auth_close(auth *a);

/* Says which port the server listens on; before any request is checked. */
void auth_set_port(auth *a, int port);

/* Whether a Host header is one of ours; ERR_HOST otherwise. */
bool auth_check_host(const auth *a, const char *host, error *err);

/* Whether the page that a browser asks for has the same origin; ERR_ORIGIN
 * otherwise. host is the Host header, known to be ours; origin and fetch_site are
 * the headers Origin and Sec-Fetch-Site, or NULL. */
bool auth_check_origin(const auth *a, const char *host, const char *origin, const char *fetch_site,
                       error *err);

/* Whether an Authorization header (or NULL) carries a token we know, and whose it is;
 * ERR_UNAUTHORIZED otherwise. */
bool auth_check_token(auth *a, const char *authorization, caller *who, error *err);

/* Whether the caller has one of the scopes; ERR_FORBIDDEN otherwise. */
bool auth_check_scope(const caller *who, unsigned scopes, error *err);

/* Whether an address as in --listen is on this machine only. */
bool auth_is_loopback(const char *address);
