/* dialect_tensor -- the small tensor language: definitions, + - . * and reports.
 *
 * It has statements only, so its programs run while they are read, on the same
 * machine and operations as the other dialect. grammar.md has its rules. */
#pragma once

#include "engine/lang/machine.h"

/* Runs the program into m: names, printed lines and the result. */
bool dialect_tensor_run(machine *m, const char *text, size_t length, error *err);
