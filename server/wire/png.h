/* png -- small pictures as PNG files: grey or colours, eight bits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/text.h"

/* Adds a picture of height rows of width pixels with 1 (grey), 3 (RGB) or 4 (RGBA) channels,
 * which lie densely. False if there is no memory for it. */
bool png_add(text *to, const uint8_t *pixels, uint32_t width, uint32_t height, int channels);
