/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/routes/handlers.h"

bool health_live(services *s, http_request *r, error *err)
{
    (void)s, (void)err;
    answer_bytes(r, 200, "text/plain; charset=utf-8", "ok\n", 3);
    return true;
}

bool health_ready(services *s, http_request *r, error *err)
{
    static const char ready[] = "{\"ready\":true}\n";

    if (!s->ready)
        return error_set(err, ERR_STARTING, "The server is starting.");
    answer_bytes(r, 200, "application/json", ready, strlen(ready));
    return true;
}
