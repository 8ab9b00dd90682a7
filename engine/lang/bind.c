/* SPDX-License-Identifier: Apache-2.0 */
/* Binds the arguments of a call to the parameters of an operation's row. */
#include <string.h>

#include "engine/lang/tracer.h"

/* What each parameter was given: count values, contiguous; NULL if nothing. */
typedef struct slot {
    const lang_value *values;
    int count;
} slot;

/* ---- Sorting the arguments to the parameters -------------------------------- */

/* Whether a call must give the parameter. A list of tensors that is not the first
 * may be left out: it is empty then. */
static bool is_needed(const op_def *op, int i)
{
    return !op->params[i].has_default && (i == 0 || op->params[i].kind != PARAM_TENSORS);
}

static bool fail_count(const op_def *op, int given, error *err)
{
    int least = 0;

    for (int i = 0; i < op->param_count; i++)
        least += is_needed(op, i);
    if (least < op->param_count)
        return error_set(err, ERR_ARGUMENT, "%s takes %d to %d arguments, got %d", op->name, least,
                         op->param_count, given);
    return error_set(err, ERR_ARGUMENT, "%s takes %d argument%s, got %d", op->name, least,
                     least == 1 ? "" : "s", given);
}

/* How many parameters behind the i-th could still be given by position. */
static int open_positions(const op_def *op, const arguments *args, int i)
{
    int count = op->param_count - i - 1;

    for (int k = 0; k < args->keyword_count; k++) {
        const op_param *p = op_param_find(op, args->keywords[k], strlen(args->keywords[k]));

        count -= p != NULL && p - op->params > i;
    }
    return count;
}

/* How many of the arguments from `at` on the i-th parameter takes. A list of tensors
 * may also be given as several: when the first is no list, or when there are more
 * than the parameters that follow could take. */
static int taken_positions(const op_def *op, const arguments *args, int i, int at)
{
    const lang_kind first = args->values[at].kind;
    const int left = args->count - at;

    if (op->params[i].kind != PARAM_TENSORS)
        return 1;
    if ((first == LANG_LIST || first == LANG_TUPLE) && left - 1 <= open_positions(op, args, i))
        return 1;
    return left;
}

static bool sort_positional(const op_def *op, const arguments *args, slot *slots, error *err)
{
    int at = 0;

    for (int i = 0; i < op->param_count && at < args->count; i++) {
        slots[i].values = &args->values[at];
        slots[i].count = taken_positions(op, args, i, at);
        at += slots[i].count;
    }
    return at == args->count || fail_count(op, args->count + args->keyword_count, err);
}

static bool fail_keyword(const op_def *op, const char *name, error *err)
{
    error_set(err, ERR_UNKNOWN_ATTR, "%s has no parameter '%s'", op->name, name);
    return error_did_you_mean(err, op_param_nearest(op, name));
}

static bool sort_keywords(const op_def *op, const arguments *args, slot *slots, error *err)
{
    for (int i = 0; i < args->keyword_count; i++) {
        const char *name = args->keywords[i];
        const op_param *p = op_param_find(op, name, strlen(name));
        slot *s;

        if (p == NULL)
            return fail_keyword(op, name, err);
        s = &slots[p - op->params];
        if (s->values != NULL)
            return error_set(err, ERR_ARGUMENT, "%s got '%s' twice", op->name, name);
        *s = (slot){&args->values[args->count + i], 1};
    }
    return true;
}

static bool check_given(const op_def *op, const arguments *args, const slot *slots, error *err)
{
    for (int i = 0; i < op->param_count; i++) {
        if (slots[i].values != NULL || !is_needed(op, i))
            continue;
        if (args->keyword_count == 0)
            return fail_count(op, args->count, err);
        return error_set(err, ERR_ARGUMENT, "%s misses its argument '%s'", op->name,
                         op->params[i].name);
    }
    return true;
}

/* ---- Inputs ----------------------------------------------------------------- */

static bool add_input(bound_call *call, value v)
{
    call->inputs[call->count++] = v;
    return true;
}

static const char *who_of(tracer *tr, const op_def *op, const op_param *p)
{
    return arena_format(tr->arena, "%s: %s", op->name, p->name);
}

static bool bind_tensor(tracer *tr, const op_def *op, const op_param *p, const slot *s,
                        bound_call *call, error *err)
{
    const bool missing = s->values == NULL || (s->values->kind == LANG_NONE && p->has_default);
    value v = {0};

    if (missing)
        return add_input(call, v);
    if (s->values->kind == LANG_TENSOR)
        v = s->values->tensor;
    else if (!convert_tensor(tr, s->values, who_of(tr, op, p), &v, err))
        return false;
    return add_input(call, v);
}

/* The tensors of a list: a sequence, the rest of the arguments, or the parts of one
 * tensor along its first axis. */
static bool list_items(tracer *tr, const slot *s, const lang_value **items, int *n, error *err)
{
    lang_value parts;

    *items = s->values;
    *n = s->count;
    if (s->count != 1)
        return true;
    if (!index_unpack(tr, s->values, -1, &parts, err))
        return false;
    *items = parts.sequence->items;
    *n = parts.sequence->count;
    return true;
}

static bool bind_tensors(tracer *tr, const op_def *op, const op_param *p, const slot *s,
                         bound_call *call, error *err)
{
    const char *who = who_of(tr, op, p);
    const lang_value *items;
    value *inputs;
    int n;

    if (s->values == NULL)
        return true;
    if (!list_items(tr, s, &items, &n, err) || !tracer_charge(tr, n, err))
        return false;
    inputs = arena_array(tr->arena, (size_t)(n + OP_PARAMS), sizeof *inputs);
    memcpy(inputs, call->inputs, (size_t)call->count * sizeof *inputs);
    call->inputs = inputs;
    for (int i = 0; i < n; i++) {
        value v;

        if (!convert_tensor(tr, &items[i], who, &v, err))
            return false;
        add_input(call, v);
    }
    return true;
}

/* ---- Attributes ------------------------------------------------------------- */

static bool bind_graph(tracer *tr, const op_def *op, const op_param *p, const lang_value *v,
                       bound_call *call, attr *result, error *err)
{
    bool is_tuple = false;

    if (v->kind == LANG_ATTR)
        *result = *v->attr;
    if (v->kind == LANG_ATTR)
        return true;
    if (v->kind != LANG_FUNCTION && v->kind != LANG_NATIVE && v->kind != LANG_OP)
        return error_set(err, ERR_ARGUMENT,
                         "%s: %s must be a function without parameters, such as "
                         "lambda: x, not %s",
                         op->name, p->name, convert_describe(v));
    result->kind = ATTR_GRAPH;
    result->graph = call_traced(tr, v, &is_tuple, err);
    call->is_tuple = call->is_tuple || is_tuple;
    return result->graph != NULL;
}

static bool capture_dynamic(tracer *tr, attr *a, error *err)
{
    value v = {a->node, a->output};

    v = graph_capture(tr->graph, v, err);
    a->node = v.node;
    a->output = v.index;
    return v.node != NULL;
}

/* Computed numbers among the attributes, as values of the graph being built. */
static bool capture_all(tracer *tr, attr *a, error *err)
{
    attr *items;

    if (a->kind == ATTR_DYNAMIC)
        return capture_dynamic(tr, a, err);
    if (a->kind != ATTR_INTS || a->dynamic == NULL)
        return true;
    items = arena_array(tr->arena, (size_t)a->n, sizeof *items);
    for (int i = 0; i < a->n; i++) {
        items[i] = a->dynamic[i];
        if (items[i].kind == ATTR_DYNAMIC && !capture_dynamic(tr, &items[i], err))
            return false;
    }
    a->dynamic = items;
    return true;
}

static bool bind_attr(tracer *tr, const op_def *op, const op_param *p, const slot *s,
                      bound_call *call, error *err)
{
    attr *a = &call->attrs[p->position];

    if (s->values == NULL) {
        *a = p->value;
        return true;
    }
    if (p->kind == PARAM_GRAPH)
        return bind_graph(tr, op, p, s->values, call, a, err);
    if (p->kind == PARAM_INDEX && s->values->kind == LANG_TEXT)
        return lang_index_parse(tr->arena, s->values->text, strlen(s->values->text),
                                call->count - 1, a, err);
    if (!convert_attr(tr, s->values, a, err))
        return error_set(err, ERR_ARGUMENT, "%s: %s cannot be %s", op->name, p->name,
                         convert_describe(s->values));
    return op_attr_convert(op, p, a, tr->arena, err) && capture_all(tr, a, err);
}

static bool bind_param(tracer *tr, const op_def *op, const op_param *p, const slot *s,
                       bound_call *call, error *err)
{
    switch (p->kind) {
    case PARAM_TENSOR:
        return bind_tensor(tr, op, p, s, call, err);
    case PARAM_TENSORS:
        return bind_tensors(tr, op, p, s, call, err);
    default:
        return bind_attr(tr, op, p, s, call, err);
    }
}

bool bind_call(tracer *tr, const op_def *op, const arguments *args, bound_call *call, error *err)
{
    slot slots[OP_PARAMS] = {{0}};

    call->inputs = arena_array(tr->arena, OP_PARAMS, sizeof *call->inputs);
    if (!sort_positional(op, args, slots, err) || !sort_keywords(op, args, slots, err) ||
        !check_given(op, args, slots, err))
        return false;
    for (int i = 0; i < op->param_count; i++)
        if (!bind_param(tr, op, &op->params[i], &slots[i], call, err))
            return false;
    return true;
}
