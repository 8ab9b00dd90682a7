/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/routes/handlers.h"
#include "server/web/web.h"

static bool answer_page(http_request *r, text *page)
{
    web_end(page);
    answer_text(r, 200, "text/html; charset=utf-8", page);
    answer_header(r, "Content-Security-Policy", web_policy);
    answer_header(r, "Cache-Control", "no-cache");
    answer_header(r, "Cross-Origin-Opener-Policy", "same-origin");
    answer_header(r, "Link", "</openapi.json>; rel=\"service-desc\"");
    return true;
}

bool page_style(services *s, http_request *r, error *err)
{
    (void)s, (void)err;
    answer_bytes(r, 200, "text/css; charset=utf-8", web_style, strlen(web_style));
    answer_header(r, "Cache-Control", "no-cache");
    return true;
}

bool page_script(services *s, http_request *r, error *err)
{
    (void)s, (void)err;
    answer_bytes(r, 200, "text/javascript; charset=utf-8", web_script, strlen(web_script));
    answer_header(r, "Cache-Control", "no-cache");
    return true;
}

/* ---- Home ---------------------------------------------------------------------------- */

static void add_first_request(text *page, const services *s)
{
    text curl;

    text_init(&curl);
    text_addf(&curl, "curl -K %s/curl http://127.0.0.1:%d/v1/info", s->config->data,
              http_port(s->http));
    web_element(page, "pre", curl.bytes);
    text_clear(&curl);
}

bool page_home(services *s, http_request *r, error *err)
{
    text page;

    (void)err;
    text_init(&page);
    web_begin(&page, "A tensor computer behind HTTP");
    text_add(&page,
             "<p>This is <b>tensord</b>. Programs and graphs of tensors come in over HTTP, the "
             "results NumPy would give go out, and named arrays stay on disk. Any language that "
             "can send a request can compute with it.</p>\n<h2>A first request</h2>\n"
             "<p>The token of this server is in its data directory, ready for curl:</p>\n");
    add_first_request(&page, s);
    text_add(&page, "<h2>This browser</h2>\n<p id=\"login\"></p>\n"
                    "<p><button id=\"logout\" hidden>Log out</button></p>\n"
                    "<script src=\"/page.js\" defer></script>\n<h2>From here</h2>\n<ul>\n"
                    "<li><a href=\"/docs\">The reference</a>: every route, limit and error</li>\n"
                    "<li><a href=\"/openapi.json\">openapi.json</a>, the same for programs</li>\n"
                    "<li><a href=\"/readyz\">Whether it is ready</a></li>\n</ul>\n");
    return answer_page(r, &page);
}

/* ---- Reference ------------------------------------------------------------------------- */

static void begin_table(text *page, const char *title, const char *head)
{
    web_element(page, "h2", title);
    text_addf(page, "\n<div class=\"scroll\"><table>\n<tr>%s</tr>\n", head);
}

static void end_table(text *page)
{
    text_add(page, "</table></div>\n");
}

static void add_routes(text *page)
{
    size_t n;
    const route *rows = routes_table(&n);

    begin_table(page, "Routes", "<th>Method<th>Path<th>What it does");
    for (size_t i = 0; i < n; i++) {
        if ((rows[i].traits & ROUTE_PAGE) != 0)
            continue;
        text_add(page, "<tr><td>");
        web_element(page, "code", rows[i].method);
        text_add(page, "<td>");
        web_element(page, "code", rows[i].pattern);
        text_add(page, "<td>");
        web_add(page, rows[i].summary);
        text_add(page, "</tr>\n");
    }
    end_table(page);
}

static void add_limits(text *page, const config *c)
{
    begin_table(page, "Limits", "<th>Name<th>Value<th>What it bounds");
    for (int i = 0; i < CONFIG_SETTINGS; i++) {
        const config_row *row = config_row_of(i);

        if (row->error == ERR_NONE)
            continue;
        text_add(page, "<tr><td>");
        web_element(page, "code", row->name);
        text_add(page, "<td>");
        config_add_value(c, row, page);
        text_add(page, "<td>");
        web_add(page, row->doc);
        text_add(page, "</tr>\n");
    }
    end_table(page);
}

static void add_errors(text *page)
{
    begin_table(page, "Errors", "<th>Status<th>Code<th>Meaning");
    for (int kind = ERR_NONE + 1; kind < ERR_KINDS; kind++) {
        const error_info *info = error_info_of((error_kind)kind);

        text_addf(page, "<tr><td>%d<td><a href=\"/problems/%s\">", info->status, info->code);
        web_element(page, "code", info->code);
        text_add(page, "</a><td>");
        web_add(page, info->title);
        text_add(page, "</tr>\n");
    }
    end_table(page);
}

bool page_docs(services *s, http_request *r, error *err)
{
    text page;

    (void)err;
    text_init(&page);
    web_begin(&page, "Reference");
    text_add(&page, "<p class=\"quiet\">This page is made from the tables the server itself runs "
                    "on. For programs it is at <a href=\"/openapi.json\">openapi.json</a>.</p>\n");
    add_routes(&page);
    add_limits(&page, s->config);
    add_errors(&page);
    return answer_page(r, &page);
}

/* ---- Problems ---------------------------------------------------------------------------- */

static error_kind kind_of_code(const char *code)
{
    for (int kind = ERR_NONE + 1; kind < ERR_KINDS; kind++)
        if (strcmp(error_info_of((error_kind)kind)->code, code) == 0)
            return (error_kind)kind;
    return ERR_NONE;
}

/* The limits that a request of this kind of error has met. */
static void add_limits_of(text *page, const config *c, error_kind kind)
{
    for (int i = 0; i < CONFIG_SETTINGS; i++) {
        const config_row *row = config_row_of(i);

        if (row->error != kind)
            continue;
        text_add(page, "<p>Limit ");
        web_element(page, "code", row->name);
        text_add(page, ", here ");
        config_add_value(c, row, page);
        text_add(page, ": ");
        web_add(page, row->doc);
        text_add(page, "</p>\n");
    }
}

bool page_problem(services *s, http_request *r, error *err)
{
    const char *code = route_capture(r, "code");
    error_kind kind = kind_of_code(code);
    const error_info *info = error_info_of(kind);
    text page;

    if (kind == ERR_NONE)
        return error_set(err, ERR_NOT_FOUND, "There is no kind of error called '%s'.", code);
    text_init(&page);
    web_begin(&page, info->code);
    web_element(&page, "p", info->title);
    text_addf(&page, "<p>HTTP status %d. ", info->status);
    text_add(&page, info->retryable ? "It has to do with the load or the state of the server: the "
                                      "same request may succeed later.</p>\n"
                                    : "The same request will not succeed later; it has to be "
                                      "changed first.</p>\n");
    add_limits_of(&page, s->config, kind);
    text_add(&page, "<p>The members <code>detail</code>, and where they apply <code>line</code>, "
                    "<code>column</code>, <code>pointer</code>, <code>limit</code>, "
                    "<code>asked</code> and <code>suggestion</code> of the answer say more.</p>\n"
                    "<p><a href=\"/docs\">All errors</a></p>\n");
    return answer_page(r, &page);
}
