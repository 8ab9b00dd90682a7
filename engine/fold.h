/* fold -- the value of a node whose inputs are constants (private to engine).
 *
 * The same bits as a run gives: an elementwise operation on single elements by its kernel
 * alone, since to plan it costs a hundred times more; any other by a plan of its own. */
#pragma once

#include "engine/graph/graph.h"

/* Sets outputs, each with one reference for the caller. False if the operation fails, or meets
 * what must be reported when it runs. */
bool fold_node(const node *n, tensor *outputs, error *err);
