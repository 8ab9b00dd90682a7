/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/cors.h"

void cors_allow(http_request *r, const char *origin)
{
    answer_header(r, "Access-Control-Allow-Origin", origin);
    answer_header(r, "Access-Control-Expose-Headers",
                  "Accept-Ranges, Content-Range, ETag, Idempotent-Replayed, Link, Location, "
                  "Preference-Applied, Retry-After, Server-Timing, Tensor-Dtype, Tensor-Shape, "
                  "Tensord-Commit, Tensord-Durability, Tensord-Snapshot, X-Request-Id");
}

void cors_preflight(http_request *r, const char *methods)
{
    answer_header(r, "Access-Control-Allow-Methods", methods);
    answer_header(r, "Access-Control-Allow-Headers",
                  "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, "
                  "If-Range, Last-Event-ID, Prefer, Range, Tensor-Dtype, Tensor-Shape, "
                  "traceparent");
    answer_header(r, "Access-Control-Max-Age", "600");
    if (http_header(r, "Access-Control-Request-Private-Network") != NULL)
        answer_header(r, "Access-Control-Allow-Private-Network", "true");
}

bool cors_options(services *s, http_request *r, error *err)
{
    (void)s, (void)err;
    answer_empty(r, 204);
    return true;
}
