/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a request gives in the place of those that the text computes: givens, and
 * feeds that name nodes. */
#include <string.h>

#include "server/routes/evaluation.h"

/* What replaces a value has its element type and as many axes. */
static bool add(evaluation *e, const char *name, value from, value to, error *err)
{
    const type *t = value_type(from);
    declaration kept = {.has_dtype = true, .has_shape = true, .dtype = t->dtype};
    table lengths;

    table_init(&lengths, e->arena);
    kept.shape.rank = t->shape.rank;
    for (int i = 0; i < t->shape.rank; i++)
        kept.shape.length[i] = LENGTH_UNKNOWN;
    if (!declaration_take(e->graph, &kept, name, &lengths, &to, err))
        return false;
    e->replacements[e->replacement_count++] = (replacement){from, to};
    return true;
}

/* ---- Feeds ------------------------------------------------------------------------------- */

/* A feed that the text did not ask for: it is a node's, or that of an input which nobody
 * uses, or a mistake. */
static bool find_feed(evaluation *e, const wire_input *feed, error *err)
{
    value from, to;

    if (source_assigns(&e->source, feed->name))
        return source_find(&e->source, feed->name, &from, err) &&
               bindings_add(&e->bindings, e->graph, feed->name, feed->tensor, &to, err) &&
               add(e, feed->name, from, to, err);
    if (source_declares(&e->source, feed->name))
        return source_find(&e->source, feed->name, &from, err);
    error_set(err, ERR_UNKNOWN_NAME, "the graph has neither an input nor a node '%s'", feed->name);
    return error_suggest(err, source_nearest(&e->source, feed->name));
}

static bool find_feeds(evaluation *e, error *err)
{
    const wire_inputs *feeds = &e->asked.feeds;

    for (size_t i = 0; i < feeds->count; i++)
        if (table_get(&e->bindings.given, feeds->items[i].name) == NULL &&
            !find_feed(e, &feeds->items[i], err))
            return wire_fault_at(feeds->items[i].value, err);
    return true;
}

/* ---- Givens ------------------------------------------------------------------------------ */

/* What is given: a tensor, or the name of another value. */
static bool find_given(evaluation *e, const wire_value *v, value *result, error *err)
{
    const wire_value *ref = wire_type_of(v) == WIRE_STRING ? v : wire_member(v, "ref");

    if (wire_type_of(v) == WIRE_TENSOR)
        return bindings_add(&e->bindings, e->graph, wire_key(v), wire_tensor(v), result, err);
    if (ref == NULL || wire_type_of(ref) != WIRE_STRING)
        return wire_fault(v, err, ERR_REQUEST,
                          "what is given is a tensor, or the name of a value in a string, not %s",
                          wire_type_name(wire_type_of(v)));
    return source_find(&e->source, wire_string(ref, NULL), result, err);
}

bool evaluation_find_givens(evaluation *e, error *err)
{
    const wire_value *givens = e->asked.givens;
    const size_t count = e->asked.feeds.count + (givens != NULL ? wire_count(givens) : 0);
    value from, to;

    e->replacements = arena_array(e->arena, count + 1, sizeof *e->replacements);
    if (e->stored_name != NULL && !find_feeds(e, err))
        return false;
    for (const wire_value *v = givens != NULL ? wire_first(givens) : NULL; v != NULL;
         v = wire_next(v)) {
        if (!source_find(&e->source, wire_key(v), &from, err) || !find_given(e, v, &to, err) ||
            !add(e, wire_key(v), from, to, err))
            return wire_fault_at(v, err);
    }
    return true;
}

/* ---- The part that is run -------------------------------------------------------------------- */

/* Whether every input has what it is run with. */
static bool all_bound(const evaluation *e)
{
    return e->bindings.count == (size_t)e->graph->input_count;
}

bool evaluation_replace(evaluation *e, error *err)
{
    const graph *whole = e->graph;
    bool *needed = NULL;

    if (e->replacement_count > 0 || !all_bound(e)) {
        needed = arena_array(e->arena, (size_t)whole->input_count + 1, sizeof *needed);
        e->whole = e->graph;
        e->graph = graph_new(e->arena, NULL);
        if (!graph_extract(whole, e->replacements, (int)e->replacement_count, e->graph, needed,
                           err))
            return e->stored_name != NULL && library_blame(e->stored_name, err);
    }
    e->tensors = bindings_tensors(&e->bindings, whole, needed, err);
    return e->tensors != NULL;
}
