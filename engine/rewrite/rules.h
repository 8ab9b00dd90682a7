/* rules -- the rows of rules.def, read once and matched against nodes. */
#pragma once

#include "engine/base/table.h"
#include "engine/graph/graph.h"

typedef enum rule_phase { RULE_LOWER, RULE_SIMPLIFY, RULE_STABILISE } rule_phase;

typedef enum rule_kind {
    RULE_EXACT,
    RULE_WHOLE,
    RULE_REAL,
    RULE_CLOSE,
    RULE_CLOSE_REAL,
    RULE_KEEP,
    RULE_INT_UINT,
    RULE_UINT_INT
} rule_kind;

enum { RULE_VARIABLES = 3 }; /* x, y, z */
enum { RULE_ATTRS = 4 };     /* axis, keepdims, dtype, shape */

extern const char *const rule_attr_names[RULE_ATTRS];

typedef struct rule {
    rule_phase phase;
    rule_kind kind;
    const char *pattern, *replacement;
    const op_def *op; /* of the pattern's root */
    value from, to;   /* roots of graphs whose inputs are x, y and z */
    bool binds[RULE_ATTRS];
    bool has_attrs; /* binds any */
} rule;

/* What the variables of a pattern stand for; no node and NULL for those it has not. */
typedef struct rule_match {
    value variables[RULE_VARIABLES];
    const attr *attrs[RULE_ATTRS];
    int ranks[RULE_ATTRS]; /* of the tensors whose axes they name */
} rule_match;

/* Reads the rows; called once at start, after lang_init. A row that cannot be read stops
 * the process with a message. */
void rules_init(void);

/* All rules; *count tells how many. */
const rule *rules_all(int *count);

/* The name of a phase, as rewrite_event has it. */
const char *rule_phase_name(rule_phase phase);

/* Whether the rule's pattern matches n, whose inputs may have come from definitions: origins
 * has the node of each such value, by rule_origin_key. */
bool rule_matches(const rule *r, const node *n, const table *origins, rule_match *match);

enum { ORIGIN_KEY = 2 };

/* The bytes, sizeof key of them, under which a value's origin is found. */
void rule_origin_key(value v, uintptr_t key[ORIGIN_KEY]);

/* The replacement for what a match's attributes are, as the only output of a new graph in a,
 * whose inputs are x, y and z of the match's types. NULL if these attributes do not fit; to
 * be released. */
graph *rule_instance(const rule *r, const rule_match *match, arena *a);

/* Whether the rule is for a result of this type from these variables. */
bool rule_takes(const rule *r, const type *result, const rule_match *match);

/* Whether a pattern names a number that t, a bare number, is or may be rounded to. */
bool rules_name_number(const tensor *t);

/* Whether the rule may change rounding. */
bool rule_is_close(const rule *r);
