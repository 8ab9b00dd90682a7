/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/gate.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const methods[] = {"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"};

/* Headers that mean something once. */
static const char *const single[] = {"Host",           "Content-Length",   "Transfer-Encoding",
                                     "Content-Type",   "Content-Encoding", "Authorization",
                                     "Origin",         "Expect",           "Range",
                                     "Sec-Fetch-Site", "X-Tensord",        "Tensor-Dtype",
                                     "Tensor-Shape",   "Idempotency-Key"};

static const char *find(const http_pairs *pairs, const char *name)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (http_same_name(pairs->items[i].name, name))
            return pairs->items[i].value;
    return NULL;
}

static size_t count(const http_pairs *pairs, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < pairs->count; i++)
        n += http_same_name(pairs->items[i].name, name);
    return n;
}

static bool check_start(const gate_input *in, error *err)
{
    bool known = false;

    if (strcmp(in->version, "HTTP/1.1") != 0 && strcmp(in->version, "HTTP/1.0") != 0)
        return error_set(err, ERR_TRANSPORT, "The version must be HTTP/1.1 or HTTP/1.0.");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        known |= strcmp(in->method, methods[i]) == 0;
    return known ||
           error_set(err, ERR_METHOD,
                     "The method is not one of GET, HEAD, PUT, POST, PATCH, DELETE and OPTIONS.");
}

static bool is_token(const char *name)
{
    for (const char *p = name; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p) && strchr("!#$%&'*+-.^_`|~", *p) == NULL)
            return false;
    return *name != '\0';
}

static bool is_clean(const char *value)
{
    for (const char *p = value; *p != '\0'; p++)
        if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f)
            return false;
    return true;
}

static bool check_fields(const gate_input *in, error *err)
{
    if ((int64_t)in->headers->count > in->headers_max)
        return error_set_limit(err, ERR_HEADERS, in->headers_max, (int64_t)in->headers->count,
                               "The request has more than %d headers.", (int)in->headers_max);
    if (in->has_nul)
        return error_set(err, ERR_TRANSPORT, "A header has a NUL byte.");
    for (size_t i = 0; i < in->headers->count; i++) {
        if (!is_token(in->headers->items[i].name))
            return error_set(err, ERR_TRANSPORT, "The name of header %zu is not a token.", i + 1);
        if (!is_clean(in->headers->items[i].value))
            return error_set(err, ERR_TRANSPORT, "The value of header %zu has a control byte.",
                             i + 1);
    }
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (count(in->headers, single[i]) > 1)
            return error_set(err, ERR_TRANSPORT, "The header %s is given more than once.",
                             single[i]);
    return true;
}

static bool check_host(const gate_input *in, error *err)
{
    const char *host = find(in->headers, "Host");

    if (host == NULL || *host == '\0')
        return error_set(err, ERR_TRANSPORT, "The header Host is missing.");
    return strpbrk(host, " \t,/@") == NULL ||
           error_set(err, ERR_TRANSPORT, "The header Host is not a host and a port.");
}

/* Reads decimal digits and nothing else; -1 if there is anything else. */
static int64_t read_length(const char *text)
{
    int64_t n = 0;

    if (*text == '\0')
        return -1;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, *p - '0', &n))
            return -1;
    }
    return n;
}

static bool check_body(const gate_input *in, int64_t *body_length, error *err)
{
    const char *length = find(in->headers, "Content-Length");
    const char *encoding = find(in->headers, "Transfer-Encoding");

    *body_length = 0;
    if (length != NULL && encoding != NULL)
        return error_set(err, ERR_TRANSPORT,
                         "Content-Length and Transfer-Encoding may not be given together.");
    if (encoding != NULL && strcasecmp(encoding, "chunked") != 0)
        return error_set(err, ERR_TRANSFER_ENCODING, "The only transfer encoding is chunked.");
    if (encoding != NULL && strcmp(in->version, "HTTP/1.0") == 0)
        return error_set(err, ERR_TRANSPORT, "HTTP/1.0 has no transfer encodings.");
    if (encoding != NULL)
        *body_length = -1;
    if (length != NULL)
        *body_length = read_length(length);
    return length == NULL || *body_length >= 0 ||
           error_set(err, ERR_TRANSPORT, "Content-Length is not a number of bytes.");
}

bool gate_check(const gate_input *in, int64_t *body_length, error *err)
{
    const char *expect = find(in->headers, "Expect");

    if (!check_start(in, err) || !check_fields(in, err) || !check_host(in, err) ||
        !check_body(in, body_length, err))
        return false;
    return expect == NULL || strcasecmp(expect, "100-continue") == 0 ||
           error_set(err, ERR_EXPECTATION, "The only expectation is 100-continue.");
}
