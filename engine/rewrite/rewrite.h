/* rewrite -- graphs made into others that give the same results with less work.
 *
 * A graph is rewritten by copying it node by node, so a node's inputs are rewritten
 * before the node itself. What happens to a node has phases, in this order:
 *   - merge: one that is equal to another is that other one;
 *   - lower: it becomes what it means where that is another operation: rules of this phase
 *     fire, masks in indices become the indices of their true elements, branches of a
 *     choice give the type that the choice has;
 *   - simplify, stabilise: rules of rules.def are applied, and views that arrange elements
 *     as they were are left out;
 *   - lower, again: a definition is put in place of the operation that it defines. Rules see
 *     the operation first, and later what it gave;
 *   - fold: it becomes a constant if all its inputs are;
 *   - order: a chain of matrix products is multiplied in the cheapest order;
 *   - choose: a choice that is made already becomes the branch.
 * What planning decides behind it, fusion and what is written in place, is told by
 * engine_outline.
 * Rules that are EXACT keep every bit; CLOSE ones may change rounding and are left
 * out when the caller is strict.
 *
 * Reading order: rewrite.h, private.h, rewrite.c, merge.c, rules.def, rules.h, rules.c,
 * apply.c, shapes.c, order.c. */
#pragma once

#include "engine/base/text.h"
#include "engine/graph/graph.h"

/* Computes one node of constants: inputs and outputs are tensors, outputs to be
 * released by the caller. The executor lies above this module and is handed in. */
typedef bool fold_fn(const node *n, tensor *outputs, error *err);

/* Something that rewriting did: what, by which rule if it was one, to a value of the new
 * graph that then was replaced (merged ones were never made). */
typedef struct rewrite_event {
    const char *phase;             /* "merge", "lower", "simplify" .., as above */
    const char *rule, *rule_gives; /* of rules.def; or NULL */
    value before, after;           /* before: no node if it was merged */
} rewrite_event;

typedef void rewrite_log(void *context, const rewrite_event *event);

typedef struct rewrite_options {
    fold_fn *fold;    /* NULL: constants are not folded */
    bool strict;      /* no rule that may change rounding */
    bool only_lower;  /* no optimisation at all: what must be done to run */
    bool again;       /* g came from a rewrite: what it put in place is stable already */
    int fired;        /* counts what was done */
    rewrite_log *log; /* is told of it, in order; NULL: nobody */
    void *log_context;
} rewrite_options;

/* Adds to key all that decides what g computes and how it is rewritten: every node, the types of
 * inputs, the elements of constants, the outputs. Graphs of equal keys are equal. False if g is
 * none that may be known by a key: one with functions, random draws, operations that live with a
 * request, attributes that are computed, or many constant elements. */
bool rewrite_graph_key(const graph *g, text *key);

/* The rewritten graph, in a, with the same inputs and outputs in the same order. NULL
 * and an error if a definition or a folded constant fails; the new graph must be
 * released like any other. */
graph *rewrite_graph(const graph *g, rewrite_options *options, arena *a, error *err);
