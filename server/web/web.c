/* SPDX-License-Identifier: Apache-2.0 */
#include "server/web/web.h"

#include <string.h>

const char web_policy[] = "default-src 'none'; style-src 'self'; script-src 'self'; "
                          "connect-src 'self'; img-src 'self' data:; "
                          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const char icon[] =
    "<link rel=\"icon\" href=\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' "
    "viewBox='0 0 16 16'%3E%3Cg fill='%232f6f8f'%3E%3Cpath d='M1 1h6v6H1zM9 9h6v6H9z'/%3E"
    "%3Cpath opacity='.45' d='M9 1h6v6H9zM1 9h6v6H1z'/%3E%3C/g%3E%3C/svg%3E\">\n";

void web_add(text *page, const char *string)
{
    static const char *const escapes[256] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};

    for (const char *p = string; *p != '\0'; p++) {
        const char *escape = escapes[(unsigned char)*p];

        if (escape != NULL)
            text_add(page, escape);
        else
            text_add_char(page, *p);
    }
}

void web_element(text *page, const char *element, const char *string)
{
    text_addf(page, "<%s>", element);
    web_add(page, string);
    text_addf(page, "</%.*s>", (int)strcspn(element, " "), element);
}

void web_begin(text *page, const char *title)
{
    text_add(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n");
    web_element(page, "title", title);
    text_add(page, "\n<link rel=\"stylesheet\" href=\"/style.css\">\n");
    text_add(page, icon);
    text_add(page, "</head>\n<body>\n<header><a class=\"home\" href=\"/\">tensord</a>\n"
                   "<nav><a href=\"/docs\">Reference</a> <a href=\"/openapi.json\">OpenAPI</a>"
                   "</nav></header>\n<main>\n");
    web_element(page, "h1", title);
    text_add_char(page, '\n');
}

void web_end(text *page)
{
    text_add(page, "</main>\n</body>\n</html>\n");
}
