/* auth -- who may ask, and from where.
 *
 * Three questions, asked on every request:
 *   - Host: is the server addressed by a name that is its own? Otherwise a page
 *     elsewhere could reach it by pointing its own name here.
 *   - Origin: if a browser says which page asks, is it one of ours?
 *   - Token: does the bearer hold the local token? Not asked on open routes, nor
 *     with auth none, which the server allows on loopback only.
 *
 * The local token is 256 random bits in hexadecimal, in DATA/token, made at the
 * first start and readable by the owner alone. DATA/curl holds the same for curl.
 * In memory there is only its SHA-256, compared in constant time.
 *
 * Threads: once opened, read by any. */
#pragma once

#include <stdbool.h>

#include "engine/base/error.h"

typedef struct auth auth;

typedef struct auth_options {
    const char *data;        /* directory of token and curl */
    bool token;              /* false: anyone may ask */
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

/* Whether an Authorization header (or NULL) carries a token we know;
 * ERR_UNAUTHORIZED otherwise. */
bool auth_check_token(const auth *a, const char *authorization, error *err);

/* Whether an address as in --listen is on this machine only. */
bool auth_is_loopback(const char *address);
