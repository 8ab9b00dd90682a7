/* loops -- the order and the cutting of a tile program's loops. */
#pragma once

#include "engine/plan/plan.h"

/* Sets the program's loops, tile size and leaves' steps for a space whose axes are
 * folded or kept. layouts are those of the leaves, each broadcasting to the space. */
void loops_arrange(tile_program *p, const shape *space, const layout *const *layouts,
                   const bool folded[RANK_MAX], arena *a);

/* The product of some of the lengths of axes. */
int64_t loops_product(const int64_t *length, int from, int to);
