/* graphviz -- pictures laid out by the program dot (private to routes).
 *
 * The program is found by PATH and run without a shell, with an empty environment, its
 * text in a file in memory. It gets limited time and memory, and its answer a limited size. */
#pragma once

#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/text.h"

enum { GRAPHVIZ_BYTES_MAX = 32 << 20, GRAPHVIZ_MEMORY_MAX = 1 << 30, GRAPHVIZ_US_MAX = 10000000 };

/* Adds the picture of a text in Graphviz's language, as SVG. ERR_NOT_IMPLEMENTED, saying
 * what to install, if there is no such program; ERR_TIME if it takes until deadline_us or
 * longer than GRAPHVIZ_US_MAX, ERR_RESULT_SIZE, or ERR_INTERNAL if it fails. */
bool graphviz_svg(const text *dot, int64_t deadline_us, text *svg, error *err);
