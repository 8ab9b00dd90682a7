/* sentences -- programs made of bytes: a table of operations on what stands before.
 *
 * Each few bytes choose an operation and which earlier values it takes, so that what a fuzzer
 * changes is the graph and not its text. */
#pragma once

#include "engine/base/text.h"
#include "tests/fuzz/targets.h"

/* Adds the program that the bytes say; large: its tensors have many elements. */
void sentences_add(supply *s, bool large, text *program);
