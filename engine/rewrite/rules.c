/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rewrite/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/lang/lang.h"
#include "engine/rewrite/private.h"

static rule rules[] = {
#define RULE(kind_, from, to) {.kind = RULE_##kind_, .pattern = from, .replacement = to},
#include "engine/rewrite/rules.def"
#undef RULE
};
enum { RULES = sizeof rules / sizeof *rules };

static const char *const variable_names[RULE_VARIABLES] = {"x", "y", "z"};

const rule *rules_all(int *count)
{
    *count = RULES;
    return rules;
}

/* ---- Reading -------------------------------------------------------------------------- */

/* Builds one side, in g, with inputs of a type. */
static bool read_side(graph *g, const char *text, dtype t, value *root, error *err)
{
    const type of = {.dtype = t, .shape = {.rank = 1, .length = {2}}};
    lang_value values[RULE_VARIABLES];

    for (int i = 0; i < RULE_VARIABLES; i++)
        values[i] = lang_of_value(graph_input(g, variable_names[i], &of, err));
    return lang_function_build(g, text, variable_names, values, RULE_VARIABLES, root, 1, err);
}

/* Reads a rule with variables of a type. Its graphs then live as long as the process. */
static bool read_with(rule *r, dtype t, error *err)
{
    arena *a = arena_new();
    graph *from = graph_new(a, NULL), *to = graph_new(a, NULL);

    if (read_side(from, r->pattern, t, &r->from, err) &&
        read_side(to, r->replacement, t, &r->to, err)) {
        r->op = r->from.node->op;
        return true;
    }
    graph_release(from);
    graph_release(to);
    arena_free(a);
    return false;
}

static void read_rule(rule *r)
{
    static const dtype types[] = {DT_I64, DT_F64, DT_BOOL};
    error err = {0};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        error_clear(&err);
        if (read_with(r, types[i], &err))
            return;
    }
    fprintf(stderr, "tensord: the rule \"%s\" cannot be read: %s\n", r->pattern, err.detail);
    abort();
}

void rules_init(void)
{
    for (int i = 0; i < RULES; i++)
        if (rules[i].op == NULL)
            read_rule(&rules[i]);
}

/* ---- Matching ---------------------------------------------------------------------------- */

bool rule_is_meaning(const rule *r)
{
    return r->kind == RULE_INT_UINT || r->kind == RULE_UINT_INT;
}

static bool are_of(const value variables[RULE_VARIABLES], dtype x, dtype y)
{
    const type *a = value_type(variables[0]), *b = value_type(variables[1]);

    return a->dtype == x && b->dtype == y && !a->weak && !b->weak;
}

bool rule_takes(const rule *r, dtype result, const value variables[RULE_VARIABLES])
{
    switch (r->kind) {
    case RULE_EXACT:
        return true;
    case RULE_WHOLE:
        return result == DT_BOOL || dtype_is_integer(result);
    case RULE_REAL:
        return !dtype_is_complex(result);
    case RULE_INT_UINT:
        return are_of(variables, DT_I64, DT_U64);
    case RULE_UINT_INT:
        return are_of(variables, DT_U64, DT_I64);
    }
    return false;
}

/* The number that a constant of one element is; false if it has more, or is not real. */
static bool number_of(const tensor *t, double *number)
{
    char element[LANES * 16] = {0};
    const void *in[] = {element};
    double _Complex result[LANES];

    if (tensor_size(t) != 1)
        return false;
    memcpy(element, tensor_bytes(t), dtype_size(t->dtype));
    kernel_cast(t->dtype, DT_C128)(LANES, result, in);
    *number = __real__ result[0];
    return __imag__ result[0] == 0;
}

/* Compared bit for bit: zero has a sign. */
static bool same_number(const tensor *pattern, const tensor *t)
{
    double a, b;

    return number_of(pattern, &a) && number_of(t, &b) && memcmp(&a, &b, sizeof a) == 0;
}

static bool same_attrs(const op_def *op, const attr *a, const attr *b)
{
    bool same = true;
    text x, y;

    text_init(&x);
    text_init(&y);
    same = merge_key(op, NULL, 0, a, &x) && merge_key(op, NULL, 0, b, &y) && x.length == y.length &&
           memcmp(x.bytes, y.bytes, x.length) == 0;
    text_clear(&x);
    text_clear(&y);
    return same;
}

static bool matches(value pattern, value v, value *variables);

static bool inputs_match(const node *pattern, const value *inputs, int count, bool turned,
                         value *variables)
{
    for (int i = 0; i < count; i++)
        if (!matches(pattern->inputs[turned ? count - 1 - i : i], inputs[i], variables))
            return false;
    return true;
}

static bool call_matches(const node *pattern, const op_def *op, const value *inputs, int count,
                         const attr *attrs, value *variables)
{
    value before[RULE_VARIABLES];

    if (pattern->op != op || pattern->input_count != count ||
        (op->attr_count > 0 && !same_attrs(op, pattern->attrs, attrs)))
        return false;
    memcpy(before, variables, sizeof before);
    if (inputs_match(pattern, inputs, count, false, variables))
        return true;
    memcpy(variables, before, sizeof before);
    return (op->traits & OP_COMMUTES) != 0 && count == 2 &&
           inputs_match(pattern, inputs, count, true, variables);
}

/* Recursion is as deep as the pattern, which is ours. */
static bool matches(value pattern, value v, value *variables)
{
    const node *p = pattern.node;

    if (v.node == NULL)
        return false;
    if (p->op == &op_input) {
        for (int i = 0; i < RULE_VARIABLES; i++) {
            if (strcmp(variable_names[i], p->name) != 0)
                continue;
            if (variables[i].node == NULL)
                variables[i] = v;
            return value_equal(variables[i], v);
        }
        return false;
    }
    if (p->op == &op_constant)
        return value_constant(v) != NULL && same_number(p->constant, value_constant(v));
    return pattern.index == v.index && call_matches(p, v.node->op, v.node->inputs,
                                                    v.node->input_count, v.node->attrs, variables);
}

bool rule_matches(const rule *r, const op_def *op, const value *inputs, int count,
                  const attr *attrs, value variables[RULE_VARIABLES])
{
    memset(variables, 0, RULE_VARIABLES * sizeof *variables);
    return call_matches(r->from.node, op, inputs, count, attrs, variables);
}
