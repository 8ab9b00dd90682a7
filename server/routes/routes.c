/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/routes.h"

#include <string.h>

#include "server/routes/handlers.h"

#define JSON "application/json"

/* clang-format off */
static const route table[] = {
    /* ---- Health ---- */
    {
        .method = "GET", .pattern = "/healthz", .handle = health_live,
        .traits = ROUTE_PUBLIC, .gives = "text/plain",
        .summary = "Whether the process is alive.",
    },
    {
        .method = "GET", .pattern = "/readyz", .handle = health_ready,
        .traits = ROUTE_PUBLIC, .gives = JSON, .gives_schema = "Ready",
        .errors = {ERR_STARTING, ERR_STOPPING},
        .summary = "Whether requests are served.",
    },
    /* ---- The server describes itself ---- */
    {
        .method = "GET", .pattern = "/v1/info", .handle = about_info,
        .gives = JSON, .gives_schema = "Info",
        .summary = "The server's version, machine, load and counters.",
    },
    {
        .method = "GET", .pattern = "/v1/limits", .handle = about_limits,
        .gives = JSON, .gives_schema = "Limits",
        .summary = "Every limit, with its value and the error that tells it was met.",
    },
    {
        .method = "GET", .pattern = "/v1/dtypes", .handle = about_dtypes,
        .gives = JSON, .gives_schema = "Dtypes",
        .summary = "Every element type, and the type that two of them have together.",
    },
    {
        .method = "GET", .pattern = "/openapi.json", .handle = about_api,
        .traits = ROUTE_PUBLIC, .gives = JSON " application/vnd.oai.openapi+json",
        .summary = "This document.",
    },
    /* ---- For people ---- */
    {
        .method = "GET", .pattern = "/", .handle = page_home,
        .traits = ROUTE_PUBLIC | ROUTE_PAGE, .gives = "text/html",
        .summary = "What this server is.",
    },
    {
        .method = "GET", .pattern = "/docs", .handle = page_docs,
        .traits = ROUTE_PUBLIC | ROUTE_PAGE, .gives = "text/html",
        .summary = "Every route, limit and error.",
    },
    {
        .method = "GET", .pattern = "/problems/{code}", .handle = page_problem,
        .traits = ROUTE_PUBLIC, .gives = "text/html",
        .errors = {ERR_NOT_FOUND},
        .summary = "What a kind of error means.",
    },
    {
        .method = "GET", .pattern = "/style.css", .handle = page_style,
        .traits = ROUTE_PUBLIC | ROUTE_PAGE, .gives = "text/css",
        .summary = "How the pages look.",
    },
};
/* clang-format on */

static const route_param params[] = {
#define PARAM(name, schema, doc) {#name, schema, doc},
#include "server/routes/params.def"
#undef PARAM
};

const route *routes_table(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}

const route_param *route_param_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        if (strlen(params[i].name) == length && strncmp(params[i].name, name, length) == 0)
            return &params[i];
    return NULL;
}
