/* web -- pages for people, and the one script that logs browsers in.
 *
 * A page is written into a text: web_begin, then content, then web_end. Whatever
 * is not a constant of ours goes in with web_add, which escapes it. Pages obey a
 * strict content security policy: nothing inline, nothing from elsewhere. */
#pragma once

#include "engine/base/text.h"

/* The policy that pages are sent with. */
extern const char web_policy[];

/* The style sheet at /style.css. */
extern const char web_style[];

/* The script at /page.js. */
extern const char web_script[];

/* Starts and ends a page; the title is escaped. */
void web_begin(text *page, const char *title);
void web_end(text *page);

/* Adds text as it should be read, with &, <, > and quotes escaped. */
void web_add(text *page, const char *string);

/* Adds an element around escaped text: web_element(page, "code", "x < y"). */
void web_element(text *page, const char *element, const char *string);
