/* prepared -- graphs that were rewritten and planned, kept for the next evaluation of an equal
 * one (private to engine).
 *
 * A graph is known by its key (rewrite_graph_key) and the way it is rewritten; keys are compared
 * whole, so what is found is exactly what would be made. Kept are graphs of one stage without
 * random draws; they own all that they refer to. The second evaluation of a graph makes it, since
 * most that come once do not come again; those least recently used go first.
 *
 * Threads: all functions may be called from any thread; a prepared graph is only read. */
#pragma once

#include "engine/engine.h"
#include "engine/plan/plan.h"

/* The prepared graph for g, held for the caller until prepared_release; NULL if there is none:
 * g is then rewritten and planned as if this module were not there. */
prepared *prepared_find(const graph *g, const engine_options *options);
/* The same, but made if it is not there yet; NULL if g cannot be kept. */
prepared *prepared_get(const graph *g, const engine_options *options);
/* Notes that p was used once more. */
void prepared_count_use(prepared *p);
void prepared_release(prepared *p);

/* Borrowed while it is held. */
const graph *prepared_graph(const prepared *p);
const plan *prepared_plan(const prepared *p);
