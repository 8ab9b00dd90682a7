/* dialect_tensor -- the small tensor language: definitions, + - . * and reports.
 *
 * It has statements only, so its programs run while they are read, on the same
 * tracer and operations as the other dialect. grammar.md has its rules. */
#pragma once

#include "engine/lang/tracer.h"

/* Runs the program into tr: names, printed lines and the result. */
bool dialect_tensor_run(tracer *tr, const char *text, size_t length, error *err);
