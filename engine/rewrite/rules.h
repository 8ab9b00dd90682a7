/* rules -- the rows of rules.def, read once and matched against nodes. */
#pragma once

#include "engine/graph/graph.h"

typedef enum rule_kind {
    RULE_EXACT,
    RULE_WHOLE,
    RULE_REAL,
    RULE_INT_UINT,
    RULE_UINT_INT
} rule_kind;

typedef struct rule {
    rule_kind kind;
    const char *pattern, *replacement;
    const op_def *op; /* of the pattern's root */
    value from, to;   /* roots of graphs whose inputs are x, y and z */
} rule;

enum { RULE_VARIABLES = 3 }; /* x, y, z */

/* Reads the rows; called once at start, after lang_init. A row that cannot be read stops
 * the process with a message. */
void rules_init(void);

/* All rules; *count tells how many. */
const rule *rules_all(int *count);

/* Whether the rule's pattern matches op applied to inputs; sets what x, y, z stand for. */
bool rule_matches(const rule *r, const op_def *op, const value *inputs, int count,
                  const attr *attrs, value variables[RULE_VARIABLES]);

/* Whether the rule is for a result of this type from these variables. */
bool rule_takes(const rule *r, dtype result, const value variables[RULE_VARIABLES]);

/* Whether the rule says what an operation means, rather than how to do it with less. */
bool rule_is_meaning(const rule *r);
