/* literal -- numbers and strings of programs, read for the lexer.
 *
 * Each reads what the lexer stands at into its current token and moves behind
 * it; false and ERR_SYNTAX, or ERR_OVERFLOW for an integer beyond uint64. */
#pragma once

#include "engine/lang/lexer.h"

/* Python's numbers: 1_000, 0xff, 0o7, 0b1, 1., .5, 1e-3, 2j. */
bool literal_read_number(lexer *x, error *err);

/* Python's strings, with escapes; three quotes may span lines. */
bool literal_read_text(lexer *x, error *err);
