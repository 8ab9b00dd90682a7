/* private -- what the files of the rewrite module share. */
#pragma once

#include "engine/base/table.h"
#include "engine/base/text.h"
#include "engine/rewrite/rewrite.h"
#include "engine/rewrite/rules.h"

typedef struct rewriter {
    graph *to;
    rewrite_options *options;
    table merged;  /* what a node is, as bytes -> the values it gives */
    table origins; /* a value, as bytes -> the node whose definition gave it */
    int depth;     /* of replacements being built */
    int texts;     /* of definitions of the registry being put in place */
} rewriter;

enum { REPLACEMENT_DEPTH = 3 }; /* of replacements in replacements */

/* ---- Merging (merge.c) ------------------------------------------------------------- */

/* The bytes that two nodes share if and only if they compute the same: operation,
 * inputs, attributes. False if the node must not be merged with any. */
bool merge_key(const op_def *op, const value *inputs, int count, const attr *attrs, text *key);

/* Adds the bytes of one attribute. False if it holds a sub-graph, which is never compared. */
bool merge_attr(text *key, const attr *a);

/* ---- Copying (rewrite.c) ------------------------------------------------------------- */

/* Counts and reports what was done, unless it is within a replacement. */
void rewrite_report(const rewriter *r, const char *phase, const rule *by, value before,
                    value after);

/* Applies op with all that a rewrite does; sets outputs. */
bool rewrite_apply(rewriter *r, const op_def *op, const value *inputs, int count, const attr *attrs,
                   value *outputs, error *err);

/* Copies a node whose inputs are mapped, with all that a rewrite does, and maps it. */
bool rewrite_node(rewriter *r, graph_map *map, const node *n, error *err);

/* ---- Replacing a node that was just applied ---------------------------------------------- */

/* By what the first rule that fits gives (apply.c). */
void rewrite_by_rules(rewriter *r, const node *n, value *outputs);

/* Views that do nothing, casts of casts (shapes.c). */
void rewrite_shapes(rewriter *r, const node *n, value *outputs);

/* ---- Chains of matrix products (order.c) ---------------------------------------------------- */

typedef struct chains {
    int *length;    /* by node id: operands of the product, 0 if it is none */
    bool *absorbed; /* whether it is part of the product that uses it */
} chains;

/* Finds the chains of a graph; false if there is none. */
bool order_find(const graph *g, chains *c, arena *a);

/* Multiplies the chain that ends in n, which was copied already, in the cheapest order. */
bool order_chain(rewriter *r, const chains *c, graph_map *map, const node *n, error *err);
