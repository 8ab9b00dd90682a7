/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rewrite/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/lang/lang.h"
#include "engine/rewrite/private.h"

static rule rules[] = {
#define RULE(phase_, kind_, from, to)                                                              \
    {.phase = RULE_##phase_, .kind = RULE_##kind_, .pattern = from, .replacement = to},
#include "engine/rewrite/rules.def"
#undef RULE
};
enum { RULES = sizeof rules / sizeof *rules };

static const char *const variable_names[RULE_VARIABLES] = {"x", "y", "z"};
const char *const rule_attr_names[RULE_ATTRS] = {"axis", "keepdims", "dtype", "shape"};
enum { NAMES = RULE_VARIABLES + RULE_ATTRS };

const char *rule_phase_name(rule_phase phase)
{
    static const char *const names[] = {"lower", "simplify", "stabilise"};

    return names[phase];
}

const rule *rules_all(int *count)
{
    *count = RULES;
    return rules;
}

/* ---- Reading -------------------------------------------------------------------------- */

/* Builds one side, in g, with inputs of given types and arguments. */
static bool build_side(graph *g, const char *text, const type types[RULE_VARIABLES],
                       const attr *const attrs[RULE_ATTRS], value *root, error *err)
{
    const char *names[NAMES];
    lang_value values[NAMES];
    int n = 0;

    for (int i = 0; i < RULE_VARIABLES; i++) {
        names[n] = variable_names[i];
        values[n++] = lang_of_value(graph_input(g, variable_names[i], &types[i], err));
    }
    for (int i = 0; i < RULE_ATTRS; i++) {
        if (attrs[i] == NULL)
            continue;
        names[n] = rule_attr_names[i];
        values[n++] = lang_of_attr(g->arena, attrs[i]);
    }
    return lang_function_build(g, text, names, values, n, root, 1, err);
}

/* Reads one side as an example of it: what its variables and arguments are is left open. */
static bool read_side(graph *g, const char *text, dtype t, value *root, error *err)
{
    static const int64_t lengths[] = {2};
    const attr examples[RULE_ATTRS] = {{.kind = ATTR_INT},
                                       {.kind = ATTR_BOOL},
                                       {.kind = ATTR_DTYPE, .dtype = t},
                                       {.kind = ATTR_INTS, .n = 1, .ints = lengths}};
    const type of = {.dtype = t, .shape = {.rank = 1, .length = {2}}};
    const type types[RULE_VARIABLES] = {of, of, of};
    const attr *attrs[RULE_ATTRS];

    for (int i = 0; i < RULE_ATTRS; i++)
        attrs[i] = &examples[i];
    return build_side(g, text, types, attrs, root, err);
}

/* Whether the pattern says name=name. */
static bool binds(const char *pattern, const char *name)
{
    char word[32];

    snprintf(word, sizeof word, "%s=%s", name, name);
    return strstr(pattern, word) != NULL;
}

/* Reads a rule with variables of a type. Its graphs then live as long as the process. */
static bool read_with(rule *r, dtype t, error *err)
{
    arena *a = arena_new();
    graph *from = graph_new(a, NULL), *to = graph_new(a, NULL);

    if (read_side(from, r->pattern, t, &r->from, err) &&
        read_side(to, r->replacement, t, &r->to, err)) {
        r->op = r->from.node->op;
        for (int i = 0; i < RULE_ATTRS; i++) {
            r->binds[i] = binds(r->pattern, rule_attr_names[i]);
            r->has_attrs = r->has_attrs || r->binds[i];
        }
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

graph *rule_instance(const rule *r, const rule_match *match, arena *a)
{
    graph *g = graph_new(a, NULL);
    type types[RULE_VARIABLES] = {{0}};
    error ignored = {0};
    value root;

    for (int i = 0; i < RULE_VARIABLES; i++)
        if (match->variables[i].node != NULL)
            types[i] = *value_type(match->variables[i]);
    if (build_side(g, r->replacement, types, match->attrs, &root, &ignored)) {
        graph_add_output(g, root);
        return g;
    }
    graph_release(g);
    return NULL;
}

/* ---- What rules are for -------------------------------------------------------------------- */

bool rule_is_close(const rule *r)
{
    return r->kind == RULE_CLOSE || r->kind == RULE_CLOSE_REAL;
}

static bool are_of(const value variables[RULE_VARIABLES], dtype x, dtype y)
{
    const type *a = value_type(variables[0]), *b = value_type(variables[1]);

    return a->dtype == x && b->dtype == y && !a->weak && !b->weak;
}

static bool is_inexact(dtype t)
{
    return dtype_is_float(t) || dtype_is_complex(t);
}

/* Whether all is known that a rule may depend on: one tensor alone may have any lengths. */
static bool shapes_known(const rule_match *match)
{
    bool known = true;
    int tensors = 0;

    for (int i = 0; i < RULE_VARIABLES; i++) {
        const value v = match->variables[i];

        tensors += v.node != NULL && value_type(v)->shape.rank > 0;
        known = known && (v.node == NULL || shape_is_known(&value_type(v)->shape));
    }
    return known || tensors == 1;
}

/* Rules that are close are so for numbers that round: integers may wrap on the way. */
static bool variables_round(const rule_match *match)
{
    for (int i = 0; i < RULE_VARIABLES; i++)
        if (match->variables[i].node != NULL && !is_inexact(value_type(match->variables[i])->dtype))
            return false;
    return true;
}

bool rule_takes(const rule *r, const type *result, const rule_match *match)
{
    const dtype t = result->dtype;

    if ((r->has_attrs || rule_is_close(r)) && !shapes_known(match))
        return false;
    switch (r->kind) {
    case RULE_EXACT:
    case RULE_KEEP:
        return true;
    case RULE_WHOLE:
        return t == DT_BOOL || dtype_is_integer(t);
    case RULE_REAL:
        return !dtype_is_complex(t);
    case RULE_CLOSE:
        return is_inexact(t) && variables_round(match);
    case RULE_CLOSE_REAL:
        return dtype_is_float(t) && variables_round(match) &&
               !dtype_is_complex(value_type(match->variables[0])->dtype);
    case RULE_INT_UINT:
        return are_of(match->variables, DT_I64, DT_U64);
    case RULE_UINT_INT:
        return are_of(match->variables, DT_U64, DT_I64);
    }
    return false;
}

/* ---- Matching ---------------------------------------------------------------------------- */

/* A match in the making. */
typedef struct matcher {
    const rule *rule;
    const table *origins;
    rule_match *match;
} matcher;

void rule_origin_key(value v, uintptr_t key[ORIGIN_KEY])
{
    key[0] = (uintptr_t)v.node;
    key[1] = (uintptr_t)v.index;
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

/* ---- The numbers of patterns ----------------------------------------------------------------- */

enum { NUMBERS_MAX = 32 };

static double numbers[NUMBERS_MAX];
static int number_count;

static void add_number(double x)
{
    for (int i = 0; i < number_count; i++)
        if (numbers[i] == x)
            return;
    if (number_count == NUMBERS_MAX)
        abort(); /* the rules name more than there is room for */
    numbers[number_count++] = x;
}

/* Notes the numbers that a rule's pattern names. */
static void add_numbers(const rule *r)
{
    const graph *g = r->from.node->graph;
    double x;

    for (int i = 0; i < g->count; i++)
        if (g->nodes[i]->constant != NULL && number_of(g->nodes[i]->constant, &x))
            add_number(x);
}

bool rules_name_number(const tensor *t)
{
    double x;

    if (!number_of(t, &x))
        return false;
    for (int i = 0; i < number_count; i++) /* to the precision of the narrowest type */
        if (fabs(numbers[i] - x) <= 0.01 * fabs(numbers[i]) + 1e-4)
            return true;
    return false;
}

static bool same_attr(const attr *a, const attr *b)
{
    bool same;
    text x, y;

    text_init(&x);
    text_init(&y);
    same = merge_attr(&x, a) && merge_attr(&y, b) && x.length == y.length &&
           memcmp(x.bytes, y.bytes, x.length) == 0;
    text_clear(&x);
    text_clear(&y);
    return same;
}

static bool is_computed(const attr *a)
{
    return a->kind == ATTR_DYNAMIC || (a->kind == ATTR_INTS && a->dynamic != NULL);
}

/* The axes of a tensor of a rank that an argument names, a bit for each. */
static uint64_t axes_bits(const attr *a, int rank)
{
    const int64_t *list = a->kind == ATTR_INTS ? a->ints : &a->integer;
    const int n = a->kind == ATTR_INTS ? a->n : a->kind == ATTR_INT;
    uint64_t bits = 0;

    for (int i = 0; i < (a->kind == ATTR_NONE ? rank : n); i++) {
        const int64_t axis = a->kind == ATTR_NONE ? i : list[i];

        bits |= (uint64_t)1 << (axis < 0 ? axis + rank : axis);
    }
    return bits;
}

/* The rank of the tensor whose axes a node's argument names: of those it takes and gives, the
 * one with more axes. */
static int axes_rank(const node *n)
{
    const int given = n->types[0].shape.rank;
    const int taken =
        n->input_count > 0 && n->inputs[0].node != NULL ? value_type(n->inputs[0])->shape.rank : 0;

    return given > taken ? given : taken;
}

/* Whether an argument of n is what the variable stands for; of axes, as it is written or as
 * what it means. */
static bool is_bound(const matcher *m, int variable, const node *n, int i)
{
    const attr *bound = m->match->attrs[variable], *a = &n->attrs[i];
    const int rank = axes_rank(n);

    return bound == NULL || same_attr(bound, a) ||
           (op_attr_param(n->op, i)->kind == PARAM_AXES && rank == m->match->ranks[variable] &&
            axes_bits(bound, rank) == axes_bits(a, rank));
}

/* The variable that an argument of this name is in the rule's pattern, or -1. */
static int bound_by(const rule *r, const char *name)
{
    for (int i = 0; r->has_attrs && i < RULE_ATTRS; i++)
        if (r->binds[i] && strcmp(rule_attr_names[i], name) == 0)
            return i;
    return -1;
}

static bool attrs_match(const matcher *m, const node *pattern, const node *n)
{
    for (int i = 0; i < n->op->attr_count; i++) {
        const int variable = bound_by(m->rule, op_attr_param(n->op, i)->name);

        if (variable < 0 ? !same_attr(&pattern->attrs[i], &n->attrs[i])
                         : is_computed(&n->attrs[i]) || !is_bound(m, variable, n, i))
            return false;
        if (variable >= 0 && m->match->attrs[variable] == NULL) {
            m->match->attrs[variable] = &n->attrs[i];
            m->match->ranks[variable] = axes_rank(n);
        }
    }
    return true;
}

static bool matches(const matcher *m, value pattern, value v);

static bool inputs_match(const matcher *m, const node *pattern, const node *n, bool turned)
{
    const int count = n->input_count;

    for (int i = 0; i < count; i++)
        if (!matches(m, pattern->inputs[turned ? count - 1 - i : i], n->inputs[i]))
            return false;
    return true;
}

static bool call_matches(const matcher *m, const node *pattern, const node *n)
{
    const rule_match before = *m->match;

    if (pattern->op != n->op || pattern->input_count != n->input_count ||
        !attrs_match(m, pattern, n))
        return false;
    if (inputs_match(m, pattern, n, false))
        return true;
    if ((n->op->traits & OP_COMMUTES) == 0 || n->input_count != 2)
        return false;
    *m->match = before;
    return attrs_match(m, pattern, n) && inputs_match(m, pattern, n, true);
}

static bool variable_matches(const matcher *m, const char *name, value v)
{
    for (int i = 0; i < RULE_VARIABLES; i++) {
        value *bound = &m->match->variables[i];

        if (strcmp(variable_names[i], name) != 0)
            continue;
        if (bound->node == NULL)
            *bound = v;
        return value_equal(*bound, v);
    }
    return false;
}

/* The node that the pattern asks for: the value's own, or the one whose definition gave it. */
static const node *node_for(const matcher *m, const node *pattern, value v)
{
    uintptr_t key[ORIGIN_KEY];

    if (pattern->op->lower == NULL)
        return v.node;
    rule_origin_key(v, key);
    return table_get_bytes(m->origins, (const char *)key, sizeof key);
}

/* Recursion is as deep as the pattern, which is ours. */
static bool matches(const matcher *m, value pattern, value v)
{
    const node *p = pattern.node, *n;

    if (v.node == NULL)
        return false;
    if (p->op == &op_input)
        return variable_matches(m, p->name, v);
    if (p->op == &op_constant)
        return value_constant(v) != NULL && same_number(p->constant, value_constant(v));
    n = node_for(m, p, v);
    return n != NULL && (n != v.node || pattern.index == v.index) && call_matches(m, p, n);
}

bool rule_matches(const rule *r, const node *n, const table *origins, rule_match *match)
{
    const matcher m = {r, origins, match};

    memset(match, 0, sizeof *match);
    return call_matches(&m, r->from.node, n);
}

/* ---- At start ----------------------------------------------------------------------------------
 */

void rules_init(void)
{
    for (int i = 0; i < RULES; i++) {
        if (rules[i].op == NULL)
            read_rule(&rules[i]);
        add_numbers(&rules[i]);
    }
}
