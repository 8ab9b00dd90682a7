/* SPDX-License-Identifier: Apache-2.0 */
/* Browsers log in: the code of a link, or a token, is swapped for a cookie. */
#include <string.h>

#include "server/routes/handlers.h"

static void answer_cookie(http_request *r, const text *set_cookie)
{
    answer_empty(r, 204);
    answer_header(r, "Set-Cookie", set_cookie->bytes);
}

/* Whether the browser speaks TLS, be it with a proxy. */
static bool is_tls(const http_request *r)
{
    const char *origin = http_header(r, "Origin");

    return origin != NULL && strncmp(origin, "https://", 8) == 0;
}

bool login_handle(services *s, http_request *r, error *err)
{
    const credentials said = route_credentials(r);
    text set_cookie;
    int64_t wait_us = 0;
    bool ok;

    if (said.foreign)
        return error_set(err, ERR_ORIGIN, "Pages of another origin send a token, not a cookie.");
    text_init(&set_cookie);
    ok = auth_login(s->auth, &said, is_tls(r), &set_cookie, &wait_us, err);
    route_retry_after(r, wait_us);
    if (ok)
        answer_cookie(r, &set_cookie);
    text_clear(&set_cookie);
    return ok;
}

bool logout_handle(services *s, http_request *r, error *err)
{
    text set_cookie;

    (void)err;
    text_init(&set_cookie);
    auth_logout(s->auth, http_header(r, "Cookie"), &set_cookie);
    answer_cookie(r, &set_cookie);
    text_clear(&set_cookie);
    return true;
}
