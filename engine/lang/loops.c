/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow in programs: while_loop, scan, fori_loop, map and case, whose functions
 * become the sub-graphs of operations. */
#include <string.h>

#include "engine/lang/scalar.h"
#include "engine/lang/tracer.h"

enum { TRIES = 4 }; /* a loop's variables may find their types this often */

/* Values that go into a function as one argument: one of them, or a tuple. */
typedef struct group {
    bool is_tuple;
    int count;
    value *values;
} group;

static bool read_group(tracer *tr, const lang_value *v, const char *who, group *result, error *err)
{
    const bool is_tuple = v->kind == LANG_TUPLE;

    result->is_tuple = is_tuple;
    result->count = is_tuple ? v->sequence->count : 1;
    result->values = arena_array(tr->arena, (size_t)result->count + 1, sizeof *result->values);
    if (result->count > OP_OUTPUTS / 2)
        return error_set(err, ERR_ARGUMENT, "%s takes at most %d values", who, OP_OUTPUTS / 2);
    for (int i = 0; i < result->count; i++)
        if (!convert_tensor(tr, is_tuple ? &v->sequence->items[i] : v, who, &result->values[i],
                            err))
            return false;
    return true;
}

/* The group as an argument, or as what a loop gives. */
static lang_value show_group(tracer *tr, const value *values, int count, bool is_tuple)
{
    lang_value items[OP_OUTPUTS];

    for (int i = 0; i < count; i++)
        items[i] = lang_of_value(values[i]);
    return is_tuple ? tracer_sequence(tr, LANG_TUPLE, items, count) : items[0];
}

/* The operands that a printed call names in a list, each a value of its own; false,
 * without an error, if the call has no such list. */
static bool read_operands(tracer *tr, const arguments *args, const char *who, group *result,
                          error *err)
{
    for (int i = 0; i < args->keyword_count; i++) {
        lang_value list = args->values[args->count + i];

        if (strcmp(args->keywords[i], "operands") != 0 || list.kind != LANG_LIST)
            continue;
        list.kind = LANG_TUPLE;
        return read_group(tr, &list, who, result, err);
    }
    return false;
}

/* The arguments with the list of operands under another name. */
static arguments renamed(tracer *tr, const arguments *args, const char *name)
{
    const char **keywords =
        arena_array(tr->arena, (size_t)args->keyword_count + 1, sizeof *keywords);
    arguments result = *args;

    for (int i = 0; i < args->keyword_count; i++)
        keywords[i] = strcmp(args->keywords[i], "operands") == 0 ? name : args->keywords[i];
    result.keywords = keywords;
    return result;
}

/* ---- Tracing with parameters ------------------------------------------------------- */

/* A function that is traced as a sub-graph. */
typedef struct tracing {
    graph *outer, *inner;
} tracing;

static bool trace_begin(tracer *tr, tracing *t, error *err)
{
    t->outer = tr->graph;
    t->inner = graph_new(tr->arena, tr->graph);
    tr->graph = t->inner;
    return tracer_enter(tr, err);
}

static graph *trace_end(tracer *tr, const tracing *t)
{
    tracer_leave(tr);
    tr->graph = t->outer;
    return t->inner;
}

/* Where a function's parameters get their names: from what the program calls its parameters,
 * or by what they are for. */
typedef struct naming {
    const lang_value *f;
    int first;  /* parameter of f */
    bool whole; /* it stands for all values of the group; else each has its own */
    const char *otherwise;
} naming;

static const char *name_of(const naming *n, int i)
{
    const int at = n->first + (n->whole ? 0 : i);
    const bool is_known = n->f->kind == LANG_FUNCTION && at < n->f->function->head->count;

    return is_known ? n->f->function->head->parameters[at] : n->otherwise;
}

/* Parameters of the sub-graph that is traced, as a group like another. */
static bool add_params(tracer *tr, const group *like, const type *types, const naming *names,
                       group *result, error *err)
{
    *result = *like;
    result->values = arena_array(tr->arena, (size_t)like->count + 1, sizeof *result->values);
    for (int i = 0; i < like->count; i++) {
        result->values[i] = graph_input(tr->graph, name_of(names, i), &types[i], err);
        if (result->values[i].node == NULL)
            return false;
    }
    return true;
}

/* Adds what a function gave to its graph's outputs: one value, or those of a tuple. */
static bool add_results(tracer *tr, const lang_value *v, const char *who, group *result, error *err)
{
    if (!read_group(tr, v, who, result, err))
        return false;
    for (int i = 0; i < result->count; i++)
        if (!graph_capture_output(tr->graph, result->values[i], err))
            return false;
    return true;
}

/* ---- Types of variables ---------------------------------------------------------------- */

static bool cast(tracer *tr, value *v, dtype t, error *err)
{
    const lang_value args[] = {lang_of_value(*v), {.kind = LANG_DTYPE, .dtype = t}};
    lang_value result;

    if (!call_role(tr, ROLE_ASTYPE, args, 2, &result, err))
        return false;
    *v = result.tensor;
    return true;
}

/* Where the body gives variable i another type than it had, the variable begins with
 * what both promote to; *changed says whether any did. */
static bool settle_types(tracer *tr, group *variables, const graph *body, bool *changed, error *err)
{
    *changed = false;
    for (int i = 0; i < variables->count && i < body->output_count; i++) {
        const type *before = value_type(variables->values[i]);
        const type *after = value_type(body->outputs[i]);
        dtype joined;

        if (before->weak && !after->weak)
            joined = dtype_join_weak(after->dtype, dtype_info_of(before->dtype)->class);
        else
            joined = dtype_promote(before->dtype, after->dtype);
        if (joined == before->dtype)
            continue;
        *changed = true;
        if (!cast(tr, &variables->values[i], joined, err))
            return false;
    }
    return true;
}

/* ---- while_loop ---------------------------------------------------------------------------- */

/* One function of a while loop: each variable is an argument. */
static graph *trace_while(tracer *tr, const lang_value *f, const group *variables,
                          const type *types, const char *who, error *err)
{
    const naming names = {.f = f, .otherwise = "v"};
    group params, results;
    lang_value items[OP_OUTPUTS], v;
    arguments args = {.values = items};
    tracing t;

    if (!trace_begin(tr, &t, err) || !add_params(tr, variables, types, &names, &params, err))
        return NULL;
    for (int i = 0; i < params.count; i++)
        items[i] = lang_of_value(params.values[i]);
    args.count = params.count;
    if (!call_value(tr, f, &args, &v, err) || !add_results(tr, &v, who, &results, err))
        return NULL;
    return trace_end(tr, &t);
}

/* Applies an operation with sub-graphs; what it gives lies in outputs. */
static node *apply(tracer *tr, const char *name, const value *inputs, int count, const attr *attrs,
                   value *outputs, error *err)
{
    return graph_apply(tr->graph, op_find(name, strlen(name)), inputs, count, attrs, outputs, err);
}

/* An attribute of an operation as an argument gives it; none leaves it as it is. */
static bool read_attr(tracer *tr, const op_def *op, int i, const lang_value *given, attr *result,
                      error *err)
{
    if (given == NULL || given->kind == LANG_NONE)
        return true;
    if (!convert_attr(tr, given, result, err))
        return error_set(err, ERR_ARGUMENT, "%s: %s cannot be %s", op->name,
                         op_attr_param(op, i)->name, convert_describe(given));
    return op_attr_convert(op, op_attr_param(op, i), result, tr->arena, err);
}

bool loop_while(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"cond_fn", "body_fn", "init", "limit", "shape_invariants"};
    const op_def *op = op_find("while_loop", 10);
    const lang_value *taken[5];
    attr attrs[4] = {{.kind = ATTR_GRAPH}, {.kind = ATTR_GRAPH}};
    type *types = arena_array(tr->arena, OP_OUTPUTS, sizeof *types);
    value outputs[OP_OUTPUTS];
    const arguments given = renamed(tr, args, "init");
    group variables;
    bool changed = true, listed;
    int count;

    listed = read_operands(tr, args, "while_loop", &variables, err);
    if (error_is_set(err) || !builtin_take("while_loop", &given, names, 5, 3, taken, err) ||
        (!listed && !read_group(tr, taken[2], "while_loop", &variables, err)) ||
        !read_attr(tr, op, 2, taken[3], &attrs[2], err) ||
        !read_attr(tr, op, 3, taken[4], &attrs[3], err))
        return false;
    for (int i = 0; changed && i < TRIES; i++) {
        if (!graph_param_types(op, variables.values, variables.count, attrs, 1, types, &count, err))
            return false;
        attrs[1].graph = trace_while(tr, taken[1], &variables, types, "while_loop", err);
        if (attrs[1].graph == NULL || !settle_types(tr, &variables, attrs[1].graph, &changed, err))
            return false;
    }
    attrs[0].graph = trace_while(tr, taken[0], &variables, types, "while_loop", err);
    if (attrs[0].graph == NULL ||
        apply(tr, "while_loop", variables.values, variables.count, attrs, outputs, err) == NULL)
        return false;
    *result = show_group(tr, outputs, variables.count,
                         listed ? variables.count != 1 : variables.is_tuple);
    return true;
}

/* ---- scan and what is made of it
 * ----------------------------------------------------------------- */

/* How a scan's function is called, and what it gives. */
typedef enum scan_form {
    FORM_SCAN, /* f(carry, x) gives (carry, y) */
    FORM_FORI, /* f(x, carry) gives carry */
    FORM_MAP,  /* f(x) gives y */
    FORM_FLAT  /* f(operands ..) gives carried values and then stacked ones, as printed */
} scan_form;

typedef struct scan_call {
    const char *who;
    scan_form form;
    const lang_value *f;
    group carry, walked;
    group stacked; /* what the function gave to be stacked */
    attr attrs[3];
} scan_call;

static bool is_empty_sequence(const lang_value *v)
{
    return v->kind == LANG_NONE ||
           ((v->kind == LANG_TUPLE || v->kind == LANG_LIST) && v->sequence->count == 0);
}

/* Whether the function gave as many carried values as it got: what is stacked comes behind them. */
static bool check_carried(const scan_call *c, int given, error *err)
{
    return given == c->carry.count ||
           error_set(err, ERR_ARGUMENT,
                     "%s: the function must give as many carried values as it gets, %d, not %d",
                     c->who, c->carry.count, given);
}

/* Adds what the function gave: carried values first, then what is to be stacked. */
static bool add_scan_results(tracer *tr, scan_call *c, const lang_value *v, error *err)
{
    group carried;
    lang_value pair;

    c->stacked = (group){.is_tuple = true};
    if (c->form == FORM_FLAT && !add_results(tr, v, c->who, &carried, err))
        return false;
    if (c->form == FORM_FLAT) {
        c->stacked.count = carried.count - c->carry.count;
        return c->stacked.count >= 0 || check_carried(c, carried.count, err);
    }
    if (c->form == FORM_FORI)
        return add_results(tr, v, c->who, &carried, err) && check_carried(c, carried.count, err);
    if (c->form == FORM_MAP)
        return add_results(tr, v, c->who, &c->stacked, err);
    if (v->kind != LANG_TUPLE || v->sequence->count != 2)
        return error_set(err, ERR_ARGUMENT, "%s: the function must give (carry, y), not %s", c->who,
                         convert_describe(v));
    pair = *v;
    return add_results(tr, &pair.sequence->items[0], c->who, &carried, err) &&
           check_carried(c, carried.count, err) &&
           (is_empty_sequence(&pair.sequence->items[1]) ||
            add_results(tr, &pair.sequence->items[1], c->who, &c->stacked, err));
}

/* The arguments that the function is called with. */
static arguments scan_arguments(tracer *tr, const scan_call *c, const group *carry, const group *x)
{
    const lang_value none = {.kind = LANG_NONE};
    lang_value *given = arena_array(tr->arena, OP_OUTPUTS + 2, sizeof *given);
    const int first = c->form == FORM_FORI ? 1 : 0;

    if (c->form == FORM_FLAT) {
        for (int i = 0; i < carry->count + x->count; i++)
            given[i] =
                lang_of_value(i < carry->count ? carry->values[i] : x->values[i - carry->count]);
        return (arguments){.count = carry->count + x->count, .values = given};
    }
    given[first] = show_group(tr, carry->values, carry->count, carry->is_tuple);
    given[1 - first] = x->count == 0 ? none : show_group(tr, x->values, x->count, x->is_tuple);
    if (c->form == FORM_MAP)
        return (arguments){.count = 1, .values = &given[1]};
    return (arguments){.count = 2, .values = given};
}

static graph *trace_scan(tracer *tr, scan_call *c, const type *types, error *err)
{
    const bool flat = c->form == FORM_FLAT, carry_first = c->form == FORM_SCAN || flat;
    const int second = flat ? c->carry.count : c->form == FORM_SCAN;
    const naming carries = {c->f, carry_first ? 0 : 1, !flat, "carry"};
    const naming elements = {c->f, second, !flat, "x"};
    arguments args;
    group carry, x;
    lang_value v;
    tracing t;

    if (!trace_begin(tr, &t, err) || !add_params(tr, &c->carry, types, &carries, &carry, err) ||
        !add_params(tr, &c->walked, types + c->carry.count, &elements, &x, err))
        return NULL;
    args = scan_arguments(tr, c, &carry, &x);
    if (!call_value(tr, c->f, &args, &v, err) || !add_scan_results(tr, c, &v, err))
        return NULL;
    return trace_end(tr, &t);
}

/* The operands: carried values, then what is walked along. */
static value *operands_of(tracer *tr, const scan_call *c, int *count)
{
    value *all;

    *count = c->carry.count + c->walked.count;
    all = arena_array(tr->arena, (size_t)*count + 1, sizeof *all);
    for (int i = 0; i < *count; i++)
        all[i] = i < c->carry.count ? c->carry.values[i] : c->walked.values[i - c->carry.count];
    return all;
}

/* Makes the scan; outputs hold carried values, then stacked ones. */
static bool make_scan(tracer *tr, scan_call *c, value outputs[OP_OUTPUTS], error *err)
{
    const op_def *op = op_find("scan", 4);
    type *types = arena_array(tr->arena, OP_OUTPUTS, sizeof *types);
    bool changed = true;
    value *operands;
    int count, params;

    c->attrs[0].kind = ATTR_GRAPH;
    c->attrs[1] = (attr){.kind = ATTR_INT, .integer = c->carry.count};
    for (int i = 0; changed && i < TRIES; i++) {
        operands = operands_of(tr, c, &count);
        if (!graph_param_types(op, operands, count, c->attrs, 0, types, &params, err))
            return false;
        c->attrs[0].graph = trace_scan(tr, c, types, err);
        if (c->attrs[0].graph == NULL ||
            !settle_types(tr, &c->carry, c->attrs[0].graph, &changed, err))
            return false;
    }
    operands = operands_of(tr, c, &count);
    return apply(tr, "scan", operands, count, c->attrs, outputs, err) != NULL;
}

/* Whether the call is one of the operation itself, as programs are printed. */
static bool is_printed(const arguments *args)
{
    for (int i = 0; i < args->keyword_count; i++)
        if (strcmp(args->keywords[i], "operands") == 0)
            return true;
    return false;
}

/* The argument length of scan. */
static bool read_length(tracer *tr, const lang_value *given, attr *length, error *err)
{
    return read_attr(tr, op_find("scan", 4), 2, given, length, err);
}

/* scan(f, operands=[..], carries=1, length=None): all values are arguments of f. */
static bool printed_scan(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"f", "operands", "carries", "length"};
    const lang_value *taken[4];
    scan_call c = {.who = "scan", .form = FORM_FLAT};
    value outputs[OP_OUTPUTS];
    int64_t carries = 1;
    int count;

    if (!builtin_take("scan", args, names, 4, 2, taken, err) ||
        !read_operands(tr, args, "scan", &c.carry, err))
        return error_set(err, ERR_ARGUMENT, "scan: operands must be a list");
    if (taken[2] != NULL && !scalar_as_int64(taken[2], &carries))
        return error_set(err, ERR_ARGUMENT, "scan: carries must be an integer");
    if (carries < 0 || carries > c.carry.count)
        return error_set(err, ERR_ARGUMENT, "scan: carries is out of range");
    c.f = taken[0];
    c.walked = (group){true, c.carry.count - (int)carries, c.carry.values + carries};
    c.carry.count = (int)carries;
    if (!read_length(tr, taken[3], &c.attrs[2], err) || !make_scan(tr, &c, outputs, err))
        return false;
    count = c.carry.count + c.stacked.count;
    *result = show_group(tr, outputs, count, count != 1);
    return true;
}

bool loop_scan(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"f", "carry", "xs", "length"};
    const lang_value *taken[4];
    scan_call c = {.who = "scan", .form = FORM_SCAN};
    value outputs[OP_OUTPUTS];
    lang_value parts[2];

    if (is_printed(args))
        return printed_scan(tr, args, result, err);
    if (!builtin_take("scan", args, names, 4, 2, taken, err))
        return false;
    c.f = taken[0];
    if (!read_group(tr, taken[1], "scan", &c.carry, err) ||
        (taken[2] != NULL && taken[2]->kind != LANG_NONE &&
         !read_group(tr, taken[2], "scan", &c.walked, err)))
        return false;
    if (!read_length(tr, taken[3], &c.attrs[2], err) || !make_scan(tr, &c, outputs, err))
        return false;
    parts[0] = show_group(tr, outputs, c.carry.count, c.carry.is_tuple);
    parts[1] = show_group(tr, outputs + c.carry.count, c.stacked.count, c.stacked.is_tuple);
    *result = tracer_sequence(tr, LANG_TUPLE, parts, 2);
    return true;
}

/* A fori_loop whose bounds are computed: a while loop with a counter as its first
 * variable. */
typedef struct counted {
    const lang_value *f, *upper;
    group all;     /* the counter, then what is carried */
    bool is_tuple; /* whether the function gets what is carried as a tuple */
} counted;

static graph *trace_counted(tracer *tr, const counted *c, const type *types, bool condition,
                            error *err)
{
    const lang_value one = scalar_int(1);
    lang_value given[2], next, v;
    const arguments args = {.count = 2, .values = given};
    const naming names = {.f = c->f, .otherwise = "v"};
    group params, results;
    tracing t;

    if (!trace_begin(tr, &t, err) || !add_params(tr, &c->all, types, &names, &params, err))
        return NULL;
    given[0] = lang_of_value(params.values[0]);
    if (condition) {
        if (!tracer_binary(tr, TOKEN_LESS, &given[0], c->upper, &v, err) ||
            !add_results(tr, &v, "fori_loop", &results, err))
            return NULL;
        return trace_end(tr, &t);
    }
    given[1] = show_group(tr, params.values + 1, params.count - 1, c->is_tuple);
    if (!tracer_binary(tr, TOKEN_ADD, &given[0], &one, &next, err) ||
        !add_results(tr, &next, "fori_loop", &results, err) ||
        !call_value(tr, c->f, &args, &v, err) || !add_results(tr, &v, "fori_loop", &results, err))
        return NULL;
    return trace_end(tr, &t);
}

static bool loop_counted(tracer *tr, const lang_value *const taken[4], lang_value *result,
                         error *err)
{
    const op_def *op = op_find("while_loop", 10);
    type *types = arena_array(tr->arena, OP_OUTPUTS, sizeof *types);
    attr attrs[4] = {{.kind = ATTR_GRAPH}, {.kind = ATTR_GRAPH}};
    counted c = {.f = taken[2], .upper = taken[1]};
    value outputs[OP_OUTPUTS];
    bool changed = true;
    group carry;
    int count;

    if (!read_group(tr, taken[3], "fori_loop", &carry, err))
        return false;
    c.is_tuple = carry.is_tuple;
    c.all = (group){.is_tuple = true, .count = carry.count + 1};
    c.all.values = arena_array(tr->arena, (size_t)c.all.count, sizeof *c.all.values);
    memcpy(c.all.values + 1, carry.values, (size_t)carry.count * sizeof *carry.values);
    if (!convert_tensor(tr, taken[0], "fori_loop", &c.all.values[0], err))
        return false;
    for (int i = 0; changed && i < TRIES; i++) {
        if (!graph_param_types(op, c.all.values, c.all.count, attrs, 1, types, &count, err))
            return false;
        attrs[1].graph = trace_counted(tr, &c, types, false, err);
        if (attrs[1].graph == NULL || !settle_types(tr, &c.all, attrs[1].graph, &changed, err))
            return false;
    }
    attrs[0].graph = trace_counted(tr, &c, types, true, err);
    if (attrs[0].graph == NULL ||
        apply(tr, "while_loop", c.all.values, c.all.count, attrs, outputs, err) == NULL)
        return false;
    *result = show_group(tr, outputs + 1, carry.count, carry.is_tuple);
    return true;
}

bool loop_fori(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"lower", "upper", "body_fn", "init"};
    scan_call c = {.who = "fori_loop", .form = FORM_FORI};
    const lang_value *taken[4];
    value outputs[OP_OUTPUTS];
    lang_value bounds[2], steps;
    const arguments range = {.count = 2, .values = bounds};

    if (!builtin_take("fori_loop", args, names, 4, 4, taken, err))
        return false;
    if (taken[0]->kind != LANG_NUMBER || taken[1]->kind != LANG_NUMBER)
        return loop_counted(tr, taken, result, err);
    bounds[0] = *taken[0];
    bounds[1] = *taken[1];
    c.f = taken[2];
    if (!call_op(tr, op_find("arange", 6), &range, &steps, err) ||
        !read_group(tr, &steps, "fori_loop", &c.walked, err) ||
        !read_group(tr, taken[3], "fori_loop", &c.carry, err) || !make_scan(tr, &c, outputs, err))
        return false;
    *result = show_group(tr, outputs, c.carry.count, c.carry.is_tuple);
    return true;
}

bool loop_map(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"f", "xs"};
    scan_call c = {.who = "map", .form = FORM_MAP, .carry = {.is_tuple = true}};
    const lang_value *taken[2];
    value outputs[OP_OUTPUTS];

    if (!builtin_take("map", args, names, 2, 2, taken, err))
        return false;
    c.f = taken[0];
    c.carry.values = arena_array(tr->arena, 1, sizeof(value));
    if (!read_group(tr, taken[1], "map", &c.walked, err) || !make_scan(tr, &c, outputs, err))
        return false;
    *result = show_group(tr, outputs, c.stacked.count, c.stacked.is_tuple);
    return true;
}

/* ---- case
 * ---------------------------------------------------------------------------------------- */

/* What is left of a case: its pairs from the i-th on, then the default. */
typedef struct case_call {
    const lang_value *pairs;
    int count;
    const lang_value *fallback;
} case_call;

static bool make_case(tracer *tr, const case_call *c, int i, lang_value *result, error *err);

static graph *trace_case(tracer *tr, const case_call *c, int i, const lang_value *f, group *results,
                         error *err)
{
    const arguments none = {0};
    lang_value v;
    tracing t;

    if (!trace_begin(tr, &t, err) ||
        !(f != NULL ? call_value(tr, f, &none, &v, err) : make_case(tr, c, i, &v, err)) ||
        !add_results(tr, &v, "case", results, err))
        return NULL;
    return trace_end(tr, &t);
}

/* One cond whose second function holds the rest. As deep as there are pairs, which the
 * limit on calls bounds. */
static bool make_case(tracer *tr, const case_call *c, int i, lang_value *result, error *err)
{
    const arguments none = {0};
    attr attrs[2] = {{.kind = ATTR_GRAPH}, {.kind = ATTR_GRAPH}};
    value outputs[OP_OUTPUTS], pred;
    group results, others;
    const lang_value *pair;

    if (i == c->count)
        return call_value(tr, c->fallback, &none, result, err);
    pair = &c->pairs[i];
    if ((pair->kind != LANG_TUPLE && pair->kind != LANG_LIST) || pair->sequence->count != 2)
        return error_set(err, ERR_ARGUMENT, "case takes pairs (predicate, function)");
    if (!convert_tensor(tr, &pair->sequence->items[0], "case", &pred, err))
        return false;
    attrs[0].graph = trace_case(tr, c, i, &pair->sequence->items[1], &results, err);
    attrs[1].graph = attrs[0].graph ? trace_case(tr, c, i + 1, NULL, &others, err) : NULL;
    if (attrs[1].graph == NULL || apply(tr, "cond", &pred, 1, attrs, outputs, err) == NULL)
        return false;
    *result = show_group(tr, outputs, results.count, results.is_tuple);
    return true;
}

bool loop_case(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"pred_fn_pairs", "default"};
    const lang_value *taken[2];
    case_call c;

    if (!builtin_take("case", args, names, 2, 2, taken, err))
        return false;
    if (taken[0]->kind != LANG_LIST && taken[0]->kind != LANG_TUPLE)
        return error_set(err, ERR_ARGUMENT, "case takes a list of pairs (predicate, function)");
    c = (case_call){taken[0]->sequence->items, taken[0]->sequence->count, taken[1]};
    return make_case(tr, &c, 0, result, err);
}
