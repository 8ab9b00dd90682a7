/* private -- what the files of the rewrite module share. */
#pragma once

#include "engine/base/table.h"
#include "engine/base/text.h"
#include "engine/rewrite/rewrite.h"

typedef struct rewriter {
    graph *to;
    rewrite_options *options;
    table merged; /* what a node is, as bytes -> the values it gives */
    int depth;    /* of replacements being built */
} rewriter;

/* The bytes that two nodes share if and only if they compute the same: operation,
 * inputs, attributes. False if the node must not be merged with any. */
bool merge_key(const op_def *op, const value *inputs, int count, const attr *attrs, text *key);

/* Applies op with all that a rewrite does; sets outputs. */
bool rewrite_apply(rewriter *r, const op_def *op, const value *inputs, int count, const attr *attrs,
                   value *outputs, error *err);
