/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/routes.h"

#include <string.h>

#include "server/routes/handlers.h"

/* clang-format off */
#define JSON "application/json"
#define TENSORS JSON " application/x-npy application/x-npz application/octet-stream"

/* What reading a body of tensors, and computing, can meet. */
#define BODY_ERRORS ERR_JSON, ERR_JSON_DEPTH, ERR_JSON_LIMIT, ERR_JSON_COMPLEX, ERR_REQUEST, \
        ERR_NPY, ERR_LENGTH_REQUIRED, ERR_DTYPE_NAME, ERR_SHAPE_INVALID, ERR_SIZE, ERR_VALUE, \
        ERR_OVERFLOW, ERR_PLAN_MEMORY, ERR_MEMORY_BUSY
#define EVALUATION_ERRORS BODY_ERRORS, ERR_SYNTAX, ERR_UNKNOWN_NAME, ERR_UNKNOWN_OP, \
        ERR_UNKNOWN_ATTR, ERR_ARGUMENT, ERR_SHAPE, ERR_DTYPE, ERR_INDEX, ERR_AXIS, ERR_LINALG, \
        ERR_CYCLE, ERR_GRAPH_SIZE, ERR_RESULT_SIZE, ERR_WORK, ERR_LOOP, ERR_OUT_OF_RANGE, \
        ERR_NOT_IMPLEMENTED

/* What building a graph can meet. */
#define GRAPH_ERRORS BODY_ERRORS, ERR_SYNTAX, ERR_UNKNOWN_NAME, ERR_UNKNOWN_OP, \
        ERR_UNKNOWN_ATTR, ERR_ARGUMENT, ERR_SHAPE, ERR_DTYPE, ERR_INDEX, ERR_AXIS, ERR_LINALG, \
        ERR_CYCLE, ERR_GRAPH_SIZE, ERR_WORK, ERR_LOOP, ERR_NOT_IMPLEMENTED

#define CONDITIONS "If-Match If-None-Match"

#define WRITE_ERRORS ERR_NAME, ERR_NAME_KIND, ERR_CONFLICT, ERR_DISK, ERR_QUOTA, \
        ERR_VARIABLE_QUOTA, ERR_READ_ONLY, ERR_STORAGE

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
        .method = "GET", .pattern = "/metrics", .handle = about_metrics,
        .gives = "text/plain",
        .summary = "All figures of the server, in the text format of Prometheus.",
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
        .method = "GET", .pattern = "/v1/ops", .handle = ops_list,
        .gives = JSON, .gives_schema = "Operations", .query = "q",
        .summary = "Every operation: how it is called, what it takes, an example.",
    },
    {
        .method = "GET", .pattern = "/v1/ops/{op}", .handle = ops_one,
        .gives = JSON, .gives_schema = "Operation",
        .errors = {ERR_NOT_FOUND},
        .summary = "One operation, by its name or an alias.",
    },
    {
        .method = "GET", .pattern = "/openapi.json", .handle = about_api,
        .traits = ROUTE_PUBLIC, .gives = JSON " application/vnd.oai.openapi+json",
        .summary = "This document.",
    },
    /* ---- Browsers ---- */
    {
        .method = "POST", .pattern = "/v1/login", .handle = login_handle,
        .traits = ROUTE_PUBLIC, .status = 204,
        .errors = {ERR_UNAUTHORIZED, ERR_AUTH_THROTTLED},
        .summary = "Swaps the code of a link of `tensord login`, or a token, sent as bearer, for a "
                   "cookie.",
    },
    {
        .method = "POST", .pattern = "/v1/logout", .handle = logout_handle,
        .scopes = SCOPE_ALL, .status = 204,
        .summary = "Ends the session of the cookie.",
    },
    /* ---- Computing ---- */
    {
        .method = "POST", .pattern = "/v1/eval", .open = eval_open, .handle = eval_handle,
        .scopes = SCOPE_EVAL,
        .traits = ROUTE_WORKER | ROUTE_DEFERS | ROUTE_TRIED, .takes = TENSORS, .takes_schema = "EvalRequest",
        .gives = TENSORS " text/csv", .gives_schema = "EvalAnswer", .query = "program format",
        .errors = {EVALUATION_ERRORS, WRITE_ERRORS, ERR_INTEGRITY, ERR_JOB_QUOTA},
        .also = {202}, .check = eval_check,
        .summary = "Evaluates a program or a graph.",
    },
    /* ---- Variables ---- */
    {
        .method = "GET", .pattern = "/v1/variables", .handle = variables_list,
        .traits = ROUTE_WORKER, .gives = JSON " application/x-npz", .gives_schema = "Variables",
        .query = "prefix limit cursor names format",
        .errors = {ERR_REQUEST, ERR_NAME, ERR_NOT_FOUND, ERR_INTEGRITY},
        .summary = "Names and metadata of variables, page by page, in the order of their names; "
                   "with names=a,b these variables themselves.",
    },
    {
        .method = "PUT", .pattern = "/v1/variables", .open = bulk_open, .handle = variables_put,
        .traits = ROUTE_WORKER, .takes = "application/x-npz " JSON, .takes_schema = "Tensors",
        .gives = JSON, .gives_schema = "StoredNames", .query = "durability",
        .errors = {BODY_ERRORS, WRITE_ERRORS},
        .summary = "Stores several tensors under their names, by one commit.",
    },
    {
        .method = "GET", .pattern = "/v1/variables/{name}", .handle = variable_get,
        .traits = ROUTE_WORKER, .gives = TENSORS " text/csv", .gives_schema = "TensorObject",
        .query = "slice format version",
        .errors = {ERR_NAME, ERR_NOT_FOUND, ERR_INDEX, ERR_VALUE, ERR_SHAPE_INVALID, ERR_RANGE,
                   ERR_INTEGRITY},
        .headers = CONDITIONS " Range If-Range", .also = {206, 304},
        .summary = "The tensor of a name, or the part of it that a slice names.",
    },
    {
        .method = "PUT", .pattern = "/v1/variables/{name}", .open = variable_put_open,
        .handle = variable_put, .traits = ROUTE_WORKER, .takes = TENSORS, .takes_schema = "Tensor",
        .gives = JSON, .gives_schema = "Variable", .query = "storage durability",
        .errors = {BODY_ERRORS, WRITE_ERRORS},
        .headers = CONDITIONS, .also = {201},
        .summary = "Stores a tensor under a name; 201 if the name is new.",
    },
    {
        .method = "PATCH", .pattern = "/v1/variables/{name}", .open = variable_open,
        .handle = variable_patch, .traits = ROUTE_WORKER, .takes = TENSORS,
        .takes_schema = "Tensor", .gives = JSON, .gives_schema = "Variable",
        .query = "slice durability",
        .errors = {BODY_ERRORS, WRITE_ERRORS, ERR_NOT_FOUND, ERR_INDEX, ERR_SHAPE, ERR_DTYPE,
                   ERR_INTEGRITY},
        .headers = CONDITIONS,
        .summary = "Writes the body, broadcast, into the part of a variable that a slice names.",
    },
    {
        .method = "POST", .pattern = "/v1/variables/{name}/append", .open = variable_open,
        .handle = variable_append, .traits = ROUTE_WORKER, .takes = TENSORS,
        .takes_schema = "Tensor", .gives = JSON, .gives_schema = "Variable",
        .query = "axis durability",
        .errors = {BODY_ERRORS, WRITE_ERRORS, ERR_NOT_FOUND, ERR_AXIS, ERR_SHAPE, ERR_DTYPE,
                   ERR_INTEGRITY},
        .headers = CONDITIONS,
        .summary = "Makes a variable longer along an axis, by the elements of the body.",
    },
    {
        .method = "POST", .pattern = "/v1/variables/{name}/attach", .open = attach_open,
        .scopes = SCOPE_ADMIN,
        .handle = variable_attach, .traits = ROUTE_WORKER, .takes = JSON,
        .takes_schema = "Attachment", .gives = JSON, .gives_schema = "Variable",
        .query = "durability",
        .errors = {ERR_JSON, ERR_JSON_DEPTH, ERR_JSON_LIMIT, ERR_REQUEST, ERR_FORBIDDEN,
                   ERR_NOT_FOUND, ERR_NPY, ERR_SIZE, ERR_VALUE, ERR_DTYPE, ERR_DTYPE_NAME,
                   ERR_SHAPE_INVALID, WRITE_ERRORS},
        .headers = CONDITIONS, .also = {201},
        .summary = "Makes an existing .npy or raw file, read where it lies, the value of a name.",
    },
    {
        .method = "DELETE", .pattern = "/v1/variables/{name}", .handle = variable_delete,
        .traits = ROUTE_WORKER, .query = "durability", .status = 204,
        .errors = {ERR_NOT_FOUND, ERR_REQUEST, WRITE_ERRORS},
        .headers = CONDITIONS,
        .summary = "Removes a name.",
    },
    {
        .method = "GET", .pattern = "/v1/variables/{name}/meta", .handle = variable_meta,
        .gives = JSON, .gives_schema = "Variable",
        .errors = {ERR_NAME, ERR_NOT_FOUND, ERR_INTEGRITY},
        .summary = "What is known of a variable besides its elements.",
    },
    {
        .method = "GET", .pattern = "/v1/variables/{name}/versions", .handle = variable_versions,
        .gives = JSON, .gives_schema = "Versions", .query = "limit cursor",
        .errors = {ERR_NAME, ERR_NOT_FOUND, ERR_REQUEST},
        .summary = "The versions of a variable that are kept, the newest first.",
    },
    {
        .method = "GET", .pattern = "/v1/variables/{name}/preview", .handle = variable_preview,
        .traits = ROUTE_WORKER, .gives = JSON " image/png", .gives_schema = "Preview",
        .query = "kind max slice",
        .errors = {ERR_NAME, ERR_NOT_FOUND, ERR_REQUEST, ERR_INDEX, ERR_SHAPE, ERR_SHAPE_INVALID,
                   ERR_INTEGRITY, ERR_PLAN_MEMORY},
        .summary = "What a variable looks like, in a bounded answer: its first elements, or all of "
                   "them gathered in cells.",
    },
    {
        .method = "GET", .pattern = "/v1/variables/{name}/attributes", .handle = attributes_get,
        .gives = JSON, .gives_schema = "Attributes",
        .errors = {ERR_NAME, ERR_NOT_FOUND, ERR_INTEGRITY},
        .summary = "The attributes of a variable.",
    },
    {
        .method = "PUT", .pattern = "/v1/variables/{name}/attributes", .open = attributes_open,
        .handle = attributes_put, .traits = ROUTE_WORKER, .takes = JSON,
        .takes_schema = "Attributes", .query = "durability", .status = 204,
        .errors = {ERR_JSON, ERR_JSON_DEPTH, ERR_JSON_LIMIT, ERR_REQUEST, ERR_NOT_FOUND,
                   WRITE_ERRORS},
        .headers = CONDITIONS,
        .summary = "Sets the attributes of a variable: any JSON object of up to 64 KiB.",
    },
    /* ---- Graphs ---- */
    {
        .method = "GET", .pattern = "/v1/graphs", .handle = graphs_list,
        .gives = JSON, .gives_schema = "Graphs", .query = "prefix limit cursor",
        .errors = {ERR_REQUEST},
        .summary = "Names and metadata of stored graphs, page by page, in the order of their names.",
    },
    {
        .method = "GET", .pattern = "/v1/graphs/{name}", .handle = graph_get,
        .traits = ROUTE_WORKER,
        .gives = JSON " text/plain text/vnd.graphviz image/svg+xml",
        .gives_schema = "StoredGraph", .query = "view optimized expand style strict",
        .errors = {GRAPH_ERRORS, ERR_NAME, ERR_NOT_FOUND, ERR_INTEGRITY, ERR_TIME, ERR_RESULT_SIZE},
        .headers = "If-None-Match", .also = {304},
        .summary = "A stored graph: as it was put, or as text or a picture of it.",
    },
    {
        .method = "PUT", .pattern = "/v1/graphs/{name}", .open = graph_open, .handle = graph_put,
        .traits = ROUTE_WORKER, .takes = JSON, .takes_schema = "StoredGraph",
        .gives = JSON, .gives_schema = "GraphMeta", .query = "durability",
        .errors = {GRAPH_ERRORS, WRITE_ERRORS},
        .headers = CONDITIONS, .also = {201},
        .summary = "Stores a graph or program under a name, once its types are right; 201 if the name is new.",
    },
    {
        .method = "DELETE", .pattern = "/v1/graphs/{name}", .handle = graph_delete,
        .traits = ROUTE_WORKER, .query = "durability", .status = 204,
        .errors = {ERR_NOT_FOUND, ERR_REQUEST, WRITE_ERRORS},
        .headers = CONDITIONS,
        .summary = "Removes a stored graph.",
    },
    {
        .method = "POST", .pattern = "/v1/graphs/{name}/run", .open = run_open,
        .scopes = SCOPE_EVAL,
        .handle = run_handle, .traits = ROUTE_WORKER | ROUTE_DEFERS, .takes = TENSORS,
        .takes_schema = "RunRequest", .gives = TENSORS " text/csv", .gives_schema = "EvalAnswer",
        .query = "format",
        .errors = {EVALUATION_ERRORS, WRITE_ERRORS, ERR_NOT_FOUND, ERR_INTEGRITY, ERR_JOB_QUOTA},
        .also = {202}, .check = run_check,
        .summary = "Evaluates a stored graph, or any part of it, and updates variables with the results.",
    },
    {
        .method = "POST", .pattern = "/v1/graphs/{name}/grad", .open = grad_open,
        .handle = grad_handle, .traits = ROUTE_WORKER, .takes = JSON, .takes_schema = "GradRequest",
        .gives = JSON, .gives_schema = "GradAnswer", .query = "durability",
        .errors = {GRAPH_ERRORS, WRITE_ERRORS, ERR_NOT_FOUND, ERR_INTEGRITY},
        .headers = CONDITIONS,
        .summary = "A graph that computes gradients of a stored graph; stored too, if a name is given.",
    },
    /* ---- Notebooks ---- */
    {
        .method = "GET", .pattern = "/v1/notebooks", .handle = notebooks_list,
        .gives = JSON, .gives_schema = "Notebooks", .query = "prefix limit cursor",
        .errors = {ERR_REQUEST},
        .summary = "Names and metadata of notebooks, page by page, in the order of their names.",
    },
    {
        .method = "GET", .pattern = "/v1/notebooks/{name}", .handle = notebook_get,
        .traits = ROUTE_WORKER, .gives = JSON, .gives_schema = "Notebook",
        .errors = {ERR_NAME, ERR_NOT_FOUND, ERR_INTEGRITY},
        .headers = CONDITIONS, .also = {304},
        .summary = "A notebook, as it was put.",
    },
    {
        .method = "PUT", .pattern = "/v1/notebooks/{name}", .open = notebook_open,
        .handle = notebook_put, .traits = ROUTE_WORKER, .takes = JSON, .takes_schema = "Notebook",
        .gives = JSON, .gives_schema = "NotebookMeta", .query = "durability",
        .errors = {ERR_JSON, ERR_JSON_DEPTH, ERR_JSON_LIMIT, ERR_REQUEST, ERR_MEMBER,
                   ERR_NOTEBOOK_SIZE, WRITE_ERRORS},
        .headers = CONDITIONS, .also = {201},
        .summary = "Stores a notebook, checked and never run; 201 if the name is new.",
    },
    {
        .method = "DELETE", .pattern = "/v1/notebooks/{name}", .handle = notebook_delete,
        .traits = ROUTE_WORKER, .query = "durability", .status = 204,
        .errors = {ERR_NOT_FOUND, ERR_REQUEST, WRITE_ERRORS},
        .headers = CONDITIONS,
        .summary = "Removes a notebook.",
    },
    /* ---- Jobs ---- */
    {
        .method = "GET", .pattern = "/v1/jobs", .scopes = SCOPE_READ | SCOPE_EVAL,
        .handle = jobs_list_all,
        .gives = JSON, .gives_schema = "Jobs", .query = "limit cursor",
        .errors = {ERR_REQUEST},
        .summary = "The jobs there are, page by page, the newest first.",
    },
    {
        .method = "GET", .pattern = "/v1/jobs/{id}", .scopes = SCOPE_READ | SCOPE_EVAL,
        .handle = job_get,
        .gives = JSON, .gives_schema = "Job",
        .errors = {ERR_NOT_FOUND},
        .summary = "How far a job is.",
    },
    {
        .method = "DELETE", .pattern = "/v1/jobs/{id}", .handle = job_delete, .status = 204,
        .scopes = SCOPE_EVAL,
        .errors = {ERR_NOT_FOUND, ERR_DISK, ERR_READ_ONLY, ERR_STORAGE},
        .summary = "Cancels a job; removes one that has ended, with its result.",
    },
    {
        .method = "GET", .pattern = "/v1/jobs/{id}/result", .scopes = SCOPE_READ | SCOPE_EVAL,
        .handle = job_result,
        .traits = ROUTE_WORKER, .gives = TENSORS " text/csv", .gives_schema = "EvalAnswer",
        .query = "format",
        .errors = {ERR_NOT_FOUND, ERR_GONE, ERR_REQUEST, ERR_INTEGRITY},
        .also = {202},
        .summary = "What the request itself would have answered, be it an error; 202 and the job "
                   "until there is one.",
    },
    {
        .method = "GET", .pattern = "/v1/jobs/{id}/events", .scopes = SCOPE_READ | SCOPE_EVAL,
        .handle = job_events,
        .gives = "text/event-stream",
        .errors = {ERR_NOT_FOUND},
        .headers = "Last-Event-ID", .also = {204},
        .summary = "The job's states and progress as server-sent events, until it ends.",
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
    {
        .method = "GET", .pattern = "/page.js", .handle = page_script,
        .traits = ROUTE_PUBLIC | ROUTE_PAGE, .gives = "text/javascript",
        .summary = "What the first page does: it logs in and out.",
    },
};
/* clang-format on */

static const route_param params[] = {
#define PARAM(name, schema, doc) {#name, schema, doc},
#include "server/routes/params.def"
#undef PARAM
};

static const route_header headers[] = {
#define HEADER(name, doc) {name, doc},
#include "server/routes/headers.def"
#undef HEADER
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

const route_header *route_headers(size_t *n)
{
    *n = sizeof headers / sizeof *headers;
    return headers;
}

/* Whether a list of words, a space between, has this one. */
static bool lists(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = list; at != NULL && (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

bool route_is_kept(const route *row)
{
    return strcmp(row->method, "GET") != 0 && (row->traits & ROUTE_PUBLIC) == 0;
}

bool route_reads(const route *row, const char *header)
{
    if (strcmp(header, "Idempotency-Key") == 0 || strcmp(header, "X-Tensord") == 0)
        return route_is_kept(row);
    if (strcmp(header, "Prefer") == 0)
        return (row->traits & ROUTE_DEFERS) != 0;
    if (strncmp(header, "Tensor-", 7) == 0)
        return lists(row->takes, "application/octet-stream");
    return lists(row->headers, header);
}
