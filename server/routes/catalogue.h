/* catalogue -- what there is to say about each operation, for people and programs.
 *
 * Everything follows from the rows of the registry. Which element types a tensor may
 * have is found out by asking: the call of the row's example is typed anew with each
 * element type in its place. That is done once, when somebody first asks. */
#pragma once

#include "engine/base/json.h"
#include "engine/ops/op.h"

/* A set of element types: bit 1 << dtype. */
typedef unsigned dtype_set;

typedef struct catalogue_entry {
    const op_def *op;
    dtype_set takes[OP_INPUTS]; /* of each tensor input; of a list's items for all beyond */
    dtype_set makes;            /* that the attribute dtype takes; 0 if it has none */
    bool differentiable;
} catalogue_entry;

/* All operations, in the order of their families; *count tells how many. */
const catalogue_entry *catalogue_all(size_t *count);

/* The entry of a name or alias; NULL if there is none. */
const catalogue_entry *catalogue_find(const char *name);

/* The types it is about: those of its first tensor, or those that it can make. */
dtype_set catalogue_dtypes(const catalogue_entry *e);

/* Adds how it is called: sum(x, axis=None, keepdims=False). */
void catalogue_add_signature(const op_def *op, text *to);

/* Adds the default of a parameter in the language's form. */
void catalogue_add_default(const op_param *p, text *to);
