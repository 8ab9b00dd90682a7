/* manual -- the text of --help, the manual page and the shell's completions, from the rows of the
 * settings and the commands. */
#pragma once

#include "engine/base/text.h"

/* Adds the text of --help. */
void manual_add_help(text *to);

/* Adds the page tensord(1), in roff's macros man(7). */
void manual_add(text *to);

/* Adds a script for bash that completes commands, flags and their values. */
void completion_add(text *to);
