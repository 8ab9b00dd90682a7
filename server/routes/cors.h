/* cors -- pages of other origins that may use the server (private to routes).
 *
 * Which ones may is auth's business (--allow-origin, letter for letter). They send a token; a
 * cookie of theirs is not looked at, and Access-Control-Allow-Credentials is never said. */
#pragma once

#include "server/routes/routes.h"

/* Lets the page read the answer, and those of its headers that are ours. */
void cors_allow(http_request *r, const char *origin);

/* Tells the page which methods it may use, with commas between, and which headers; and the browser
 * of a page from the internet, if it asks, that the server is meant to be reached here. */
void cors_preflight(http_request *r, const char *methods);

/* Answers OPTIONS. */
route_handle cors_options;
