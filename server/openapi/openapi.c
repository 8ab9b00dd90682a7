/* SPDX-License-Identifier: Apache-2.0 */
#include "server/openapi/openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/json.h"
#include "server/routes/routes.h"
#include "server/version.h"

/* Errors that any route can give; routes that need the token add UNAUTHORIZED, and
 * those that a worker runs the queue's. */
static const error_kind usual_errors[] = {ERR_TRANSPORT, ERR_MEMBER,   ERR_HOST,    ERR_ORIGIN,
                                          ERR_ACCEPT,    ERR_TIMEOUT,  ERR_HEADERS, ERR_CONNECTIONS,
                                          ERR_STOPPING,  ERR_INTERNAL, ERR_NONE};
static const error_kind token_errors[] = {ERR_UNAUTHORIZED, ERR_AUTH_THROTTLED, ERR_RATE,
                                          ERR_FORBIDDEN, ERR_NONE};
static const error_kind body_errors[] = {ERR_BODY_SIZE, ERR_MEDIA_TYPE, ERR_TRANSFER_ENCODING,
                                         ERR_EXPECTATION, ERR_NONE};
static const error_kind change_errors[] = {ERR_KEY_REUSED, ERR_KEY_BUSY, ERR_KEY_QUOTA, ERR_MARK,
                                           ERR_NONE};
static const error_kind worker_errors[] = {ERR_QUEUE, ERR_QUEUE_TIME, ERR_MEMORY_BUSY,
                                           ERR_TIME,  ERR_CANCELLED,  ERR_NONE};

static void add_reference(json_writer *w, const char *key, const char *kind, const char *name)
{
    char target[96];

    snprintf(target, sizeof target, "#/components/%s/%s", kind, name);
    json_begin(w, key, '{');
    json_string(w, "$ref", target);
    json_end(w, '}');
}

/* ---- Bodies --------------------------------------------------------------------------- */

/* The media types of a list, the JSON one with a schema if there is one. */
static void add_content(json_writer *w, const char *list, const char *schema)
{
    json_begin(w, "content", '{');
    for (const char *at = list; *at != '\0';) {
        size_t n = strcspn(at, " ");
        char media[64];

        snprintf(media, sizeof media, "%.*s", (int)n, at);
        json_begin(w, media, '{');
        if (schema != NULL && strcmp(media, "application/json") == 0)
            add_reference(w, "schema", "schemas", schema);
        json_end(w, '}');
        at += n;
        at += *at == ' ';
    }
    json_end(w, '}');
}

static void add_request_body(json_writer *w, const route *row)
{
    if (row->takes == NULL)
        return;
    json_begin(w, "requestBody", '{');
    json_bool(w, "required", true);
    add_content(w, row->takes, row->takes_schema);
    json_end(w, '}');
}

/* ---- Answers ---------------------------------------------------------------------------- */

static bool lists(const error_kind *errors, error_kind kind)
{
    for (; *errors != ERR_NONE; errors++)
        if (*errors == kind)
            return true;
    return false;
}

static bool can_give(const route *row, error_kind kind)
{
    return lists(usual_errors, kind) || lists(row->errors, kind) ||
           ((row->traits & ROUTE_PUBLIC) == 0 && lists(token_errors, kind)) ||
           ((row->traits & ROUTE_WORKER) != 0 && lists(worker_errors, kind)) ||
           (route_is_kept(row) && lists(change_errors, kind)) ||
           (kind == ERR_PRECONDITION && route_reads(row, "If-Match")) ||
           (row->takes != NULL && lists(body_errors, kind));
}

/* The codes of a status that the row can give, as text; how many. */
static int codes_of(const route *row, int status, text *codes)
{
    int count = 0;

    for (int kind = ERR_NONE + 1; kind < ERR_KINDS; kind++) {
        const error_info *info = error_info_of((error_kind)kind);

        if (info->status != status || !can_give(row, (error_kind)kind))
            continue;
        text_addf(codes, "%s`%s`", count++ == 0 ? "" : ", ", info->code);
    }
    return count;
}

static void add_problem_answer(json_writer *w, const route *row, int status)
{
    char key[8];
    text codes;

    text_init(&codes);
    if (codes_of(row, status, &codes) > 0) {
        snprintf(key, sizeof key, "%d", status);
        json_begin(w, key, '{');
        json_string(w, "description", codes.bytes);
        json_begin(w, "content", '{');
        json_begin(w, "application/problem+json", '{');
        add_reference(w, "schema", "schemas", "Problem");
        json_end(w, '}');
        json_end(w, '}');
        json_end(w, '}');
    }
    text_clear(&codes);
}

/* What a status says that is no error, and of what media types it is; NULL: of the row's. */
static const struct success {
    int status;
    const char *doc, *gives, *schema;
} successes[] = {
    {200, "Success.", NULL, NULL},
    {201, "Success: the name is new. Location says where it is.", NULL, NULL},
    {202, "The job that is to answer, or has not yet; Location says where it is.",
     "application/json", "Job"},
    {204, "Success; there is nothing to say.", "", NULL},
    {206, "The range of bytes that was asked for.", "application/x-npy application/octet-stream",
     NULL},
    {304, "What is known by If-None-Match is as it was.", "", NULL},
};

static void add_success(json_writer *w, const route *row, int status)
{
    const struct success *s = successes;
    char key[8];

    while (s->status != status)
        s++;
    snprintf(key, sizeof key, "%d", status);
    json_begin(w, key, '{');
    json_string(w, "description", s->doc);
    if (s->gives == NULL)
        add_content(w, row->gives, row->gives_schema);
    else if (s->gives[0] != '\0')
        add_content(w, s->gives, s->schema);
    json_end(w, '}');
}

static void add_answers(json_writer *w, const route *row)
{
    json_begin(w, "responses", '{');
    add_success(w, row, row->status == 0 ? 200 : row->status);
    for (const int *status = row->also; *status != 0; status++)
        add_success(w, row, *status);
    for (int status = 400; status < 600; status++)
        add_problem_answer(w, row, status);
    json_end(w, '}');
}

/* ---- Operations --------------------------------------------------------------------------- */

static void add_parameter(json_writer *w, const char *name, size_t n, bool in_path)
{
    const route_param *param = route_param_of(name, n);

    json_begin(w, NULL, '{');
    json_string(w, "name", param == NULL ? "?" : param->name);
    json_string(w, "in", in_path ? "path" : "query");
    if (in_path)
        json_bool(w, "required", true);
    if (param != NULL) {
        json_string(w, "description", param->doc);
        json_raw(w, "schema", param->schema);
    }
    json_end(w, '}');
}

static void add_headers(json_writer *w, const route *row)
{
    size_t n;
    const route_header *all = route_headers(&n);

    for (size_t i = 0; i < n; i++) {
        if (!route_reads(row, all[i].name))
            continue;
        json_begin(w, NULL, '{');
        json_string(w, "name", all[i].name);
        json_string(w, "in", "header");
        json_string(w, "description", all[i].doc);
        json_raw(w, "schema", "{\"type\":\"string\"}");
        json_end(w, '}');
    }
}

static void add_parameters(json_writer *w, const route *row)
{
    json_begin(w, "parameters", '[');
    for (const char *at = strchr(row->pattern, '{'); at != NULL; at = strchr(at, '{')) {
        at++;
        add_parameter(w, at, strcspn(at, "}"), true);
    }
    for (const char *at = row->query; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, " ");

        add_parameter(w, at, n, false);
        at += n;
        at += *at == ' ';
    }
    add_headers(w, row);
    json_end(w, ']');
}

/* get_v1_variables_name: what client generators call the operation. */
static void add_operation_id(json_writer *w, const route *row)
{
    text id;

    text_init(&id);
    for (const char *p = row->method; *p != '\0'; p++)
        text_add_char(&id, (char)tolower((unsigned char)*p));
    for (const char *p = row->pattern; *p != '\0'; p++) {
        if (isalnum((unsigned char)*p))
            text_add_char(&id, *p);
        else if (id.length > 0 && id.bytes[id.length - 1] != '_')
            text_add_char(&id, '_');
    }
    while (id.length > 0 && id.bytes[id.length - 1] == '_')
        id.bytes[--id.length] = '\0';
    json_string(w, "operationId", id.bytes);
    text_clear(&id);
}

/* The scopes of tokens, of which one is needed; none on open routes. */
static void add_scopes(json_writer *w, const route *row)
{
    text scopes;

    text_init(&scopes);
    auth_add_scopes(route_scopes(row), &scopes);
    json_string(w, "x-scopes", scopes.length > 0 ? scopes.bytes : "");
    text_clear(&scopes);
}

static void add_operation(json_writer *w, const route *row)
{
    char method[8] = "";

    for (size_t i = 0; row->method[i] != '\0' && i < sizeof method - 1; i++)
        method[i] = (char)tolower((unsigned char)row->method[i]);
    json_begin(w, method, '{');
    add_operation_id(w, row);
    json_string(w, "summary", row->summary);
    if ((row->traits & ROUTE_PUBLIC) != 0)
        json_raw(w, "security", "[]");
    add_scopes(w, row);
    add_parameters(w, row);
    add_request_body(w, row);
    add_answers(w, row);
    json_end(w, '}');
}

/* Rows of one path stand together under the first of them. */
static bool is_first_of_path(const route *rows, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(rows[k].pattern, rows[i].pattern) == 0)
            return false;
    return true;
}

static void add_paths(json_writer *w)
{
    size_t n;
    const route *rows = routes_table(&n);

    json_begin(w, "paths", '{');
    for (size_t i = 0; i < n; i++) {
        if ((rows[i].traits & ROUTE_PAGE) != 0 || !is_first_of_path(rows, i))
            continue;
        json_begin(w, rows[i].pattern, '{');
        for (size_t k = i; k < n; k++)
            if (strcmp(rows[k].pattern, rows[i].pattern) == 0)
                add_operation(w, &rows[k]);
        json_end(w, '}');
    }
    json_end(w, '}');
}

/* ---- Components ----------------------------------------------------------------------------- */

static void add_member(json_writer *w, const char *name, const char *type, const char *doc)
{
    json_begin(w, name, '{');
    json_string(w, "type", type);
    json_string(w, "description", doc);
    json_end(w, '}');
}

static void add_codes(json_writer *w)
{
    json_begin(w, "code", '{');
    json_string(w, "type", "string");
    json_string(w, "description", "The stable word for this kind of error.");
    json_begin(w, "enum", '[');
    for (int kind = ERR_NONE + 1; kind < ERR_KINDS; kind++)
        json_string(w, NULL, error_info_of((error_kind)kind)->code);
    json_end(w, ']');
    json_end(w, '}');
}

static void add_problem_schema(json_writer *w)
{
    json_begin(w, "Problem", '{');
    json_string(w, "type", "object");
    json_string(w, "description", "An error, as in RFC 9457.");
    json_raw(w, "required",
             "[\"type\",\"title\",\"status\",\"detail\",\"code\",\"request_id\",\"retryable\"]");
    json_begin(w, "properties", '{');
    add_member(w, "type", "string", "Where the kind of error is explained: /problems/<code>.");
    add_member(w, "title", "string", "What is true of every error of this kind.");
    add_member(w, "status", "integer", "The HTTP status.");
    add_member(w, "detail", "string", "One sentence for a person, with the values.");
    add_codes(w);
    add_member(w, "request_id", "string", "As in the header X-Request-Id.");
    add_member(w, "retryable", "boolean", "Whether the same request may succeed later.");
    add_member(w, "line", "integer", "In the program's text, from 1.");
    add_member(w, "column", "integer", "In the program's text, from 1.");
    add_member(w, "caret", "string", "The faulty line, and a caret below it.");
    add_member(w, "pointer", "string", "JSON pointer into the body.");
    add_member(w, "node", "string", "The graph node it concerns.");
    add_member(w, "suggestion", "string", "The nearest known name.");
    add_member(w, "limit", "integer", "The limit that was met.");
    add_member(w, "asked", "integer", "What was asked for.");
    json_end(w, '}');
    json_end(w, '}');
}

static void add_components(json_writer *w)
{
    json_begin(w, "components", '{');
    json_begin(w, "securitySchemes", '{');
    json_raw(w, "token", "{\"type\":\"http\",\"scheme\":\"bearer\"}");
    json_end(w, '}');
    json_begin(w, "schemas", '{');
    add_problem_schema(w);
#define SCHEMA(name, json) json_raw(w, #name, json);
#include "server/openapi/schemas.def"
#undef SCHEMA
    json_end(w, '}');
    json_end(w, '}');
}

void openapi_add(text *to)
{
    json_writer w = json_to(to, true);

    json_begin(&w, NULL, '{');
    json_string(&w, "openapi", "3.1.0");
    json_begin(&w, "info", '{');
    json_string(&w, "title", "tensord");
    json_string(&w, "version", TENSORD_VERSION);
    json_string(&w, "summary", "A tensor computer behind HTTP.");
    json_raw(&w, "license", "{\"name\":\"Apache 2.0\",\"identifier\":\"Apache-2.0\"}");
    json_end(&w, '}');
    json_raw(&w, "servers", "[{\"url\":\"http://127.0.0.1:8750\"}]");
    json_raw(&w, "security", "[{\"token\":[]}]");
    add_paths(&w);
    add_components(&w);
    json_end(&w, '}');
    text_add_char(to, '\n');
}
