/* known -- whether shapes are known before anything runs (private to engine). */
#pragma once

#include "engine/graph/graph.h"

/* Whether none of the node's attributes is computed, and whether its results' lengths are known. */
bool known_attrs(const node *n);
bool known_types(const node *n);

/* Whether all that the node's functions do is known. */
bool known_functions(const node *n);

/* Whether that is so for every node of the graph, and of its functions. */
bool known_graph(const graph *g);
