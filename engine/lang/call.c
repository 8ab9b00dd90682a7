/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/lang/scalar.h"
#include "engine/lang/tracer.h"

/* ---- Functions of the program ----------------------------------------------- */

static int find_parameter(const code_function *head, const char *name)
{
    for (int i = 0; i < head->count; i++)
        if (strcmp(head->parameters[i], name) == 0)
            return i;
    return -1;
}

static bool fail_count(const code_function *head, int given, error *err)
{
    const int least = head->count - head->defaults;

    if (head->defaults > 0)
        return error_set(err, ERR_ARGUMENT, "%s takes %d to %d arguments, got %d", head->name,
                         least, head->count, given);
    return error_set(err, ERR_ARGUMENT, "%s takes %d argument%s, got %d", head->name, head->count,
                     head->count == 1 ? "" : "s", given);
}

/* Sorts the arguments to the parameters; one without a value stays NULL. */
static bool sort_arguments(const code_function *head, const arguments *args,
                           const lang_value *slots[PARAMETERS_MAX], error *err)
{
    if (args->count > head->count)
        return fail_count(head, args->count + args->keyword_count, err);
    for (int i = 0; i < args->count; i++)
        slots[i] = &args->values[i];
    for (int i = 0; i < args->keyword_count; i++) {
        const char *name = args->keywords[i];
        const int at = find_parameter(head, name);

        if (at < 0)
            return error_set(err, ERR_ARGUMENT, "%s has no parameter '%s'", head->name, name);
        if (slots[at] != NULL)
            return error_set(err, ERR_ARGUMENT, "%s got '%s' twice", head->name, name);
        slots[at] = &args->values[args->count + i];
    }
    return true;
}

static bool bind_parameters(tracer *tr, const lang_function *f, const arguments *args,
                            environment *names, error *err)
{
    const code_function *head = f->head;
    const int first_default = head->count - head->defaults;
    const lang_value *slots[PARAMETERS_MAX] = {NULL};

    if (!sort_arguments(head, args, slots, err))
        return false;
    for (int i = 0; i < head->count; i++) {
        binding *b = arena_alloc(tr->arena, sizeof *b);

        if (slots[i] == NULL && i < first_default)
            return fail_count(head, args->count + args->keyword_count, err);
        b->value = slots[i] != NULL ? *slots[i] : f->defaults[i - first_default];
        table_put(&names->names, head->parameters[i], b);
    }
    return true;
}

bool call_inline(tracer *tr, lang_function *f, const arguments *args, lang_value *result,
                 error *err)
{
    environment *names = arena_alloc(tr->arena, sizeof *names), *caller = tr->local;
    bool ok;

    if (f->active)
        return error_set(err, ERR_VALUE,
                         "%s calls itself; recursion is not part of the language: use while_loop, "
                         "fori_loop or scan",
                         f->head->name);
    table_init(&names->names, tr->arena);
    names->outer = f->outer;
    if (!tracer_charge(tr, CALL_STEPS, err) || !bind_parameters(tr, f, args, names, err) ||
        !tracer_enter(tr, err))
        return false;
    f->active = true;
    tr->local = names;
    ok = tracer_run(tr, f->body, f->length, err);
    tr->local = caller;
    f->active = false;
    tracer_leave(tr);
    if (!ok)
        return false;
    tr->returned = false;
    *result = tracer_pop(tr);
    return true;
}

static bool call_function(tracer *tr, lang_function *f, const arguments *args, lang_value *result,
                          error *err)
{
    return call_kept(tr, f, args, result) || call_inline(tr, f, args, result, err);
}

/* ---- Sub-graphs ------------------------------------------------------------- */

/* Makes the value, or the items of a tuple, the outputs of the sub-graph that is
 * being built. */
static bool add_outputs(tracer *tr, const lang_value *v, bool *is_tuple, error *err)
{
    const int n = v->kind == LANG_TUPLE ? v->sequence->count : 1;
    const lang_value *items = v->kind == LANG_TUPLE ? v->sequence->items : v;

    *is_tuple = v->kind == LANG_TUPLE;
    if (n > OP_OUTPUTS)
        return error_set(err, ERR_ARGUMENT, "a branch gives at most %d values, not %d", OP_OUTPUTS,
                         n);
    for (int i = 0; i < n; i++) {
        value out;

        if (!convert_tensor(tr, &items[i], "the result of a branch", &out, err) ||
            !graph_capture_output(tr->graph, out, err))
            return false;
    }
    return true;
}

graph *call_traced(tracer *tr, const lang_value *function, bool *is_tuple, error *err)
{
    graph *outer = tr->graph, *inner = graph_new(tr->arena, outer);
    const arguments none = {0};
    lang_value v;

    tr->graph = inner;
    if (!tracer_enter(tr, err) || !call_value(tr, function, &none, &v, err) ||
        !add_outputs(tr, &v, is_tuple, err))
        return NULL;
    tracer_leave(tr);
    tr->graph = outer;
    return inner;
}

graph *call_traced_code(tracer *tr, size_t start, int n, bool *is_tuple, error *err)
{
    graph *outer = tr->graph, *inner = graph_new(tr->arena, outer);
    lang_value v;

    tr->graph = inner;
    if (!tracer_enter(tr, err) || !tracer_run(tr, start, n, err))
        return NULL;
    v = tracer_pop(tr);
    if (!add_outputs(tr, &v, is_tuple, err))
        return NULL;
    tracer_leave(tr);
    tr->graph = outer;
    return inner;
}

/* ---- Operations ------------------------------------------------------------- */

bool call_op(tracer *tr, const op_def *op, const arguments *args, lang_value *result, error *err)
{
    value outputs[OP_OUTPUTS];
    lang_value items[OP_OUTPUTS];
    bound_call call = {0};
    const node *n;

    if ((op->traits & OP_FORM) != 0)
        return error_set(err, ERR_ARGUMENT,
                         "%s is an operation of graph JSON; programs have cond and while_loop",
                         op->name);
    if (!(op->body == NULL ? bind_call(tr, op, args, &call, err)
                           : bind_defined(tr, op, args, &call, err)))
        return false;
    n = graph_apply(tr->graph, op, call.inputs, call.count, call.attrs, outputs, err);
    if (n == NULL)
        return false;
    for (int i = 0; i < n->output_count; i++)
        items[i] = lang_of_value(outputs[i]);
    *result = items[0];
    if (n->output_count != 1 || op->outputs < 0 || call.is_tuple)
        *result = tracer_sequence(tr, LANG_TUPLE, items, n->output_count);
    return true;
}

/* Methods that take several integers where their function takes a tuple. */
static const char *const gathering[] = {"reshape", "transpose", "permute_dims"};

static bool gathers(const op_def *op)
{
    for (size_t i = 0; i < sizeof gathering / sizeof *gathering; i++)
        if (op_find(gathering[i], strlen(gathering[i])) == op)
            return true;
    return false;
}

static bool call_method(tracer *tr, const lang_method *method, const arguments *args,
                        lang_value *result, error *err)
{
    const int n = args->count + args->keyword_count;
    lang_value *values = arena_array(tr->arena, (size_t)n + 1, sizeof *values);
    arguments all = *args;

    values[0] = method->self;
    if (n > 0)
        memcpy(values + 1, args->values, (size_t)n * sizeof *values);
    all.values = values;
    all.count++;
    if (args->count > 1 && gathers(method->op)) {
        values[1] = tracer_sequence(tr, LANG_TUPLE, args->values, args->count);
        memmove(values + 2, values + 1 + args->count, (size_t)args->keyword_count * sizeof *values);
        all.count = 2;
    }
    return call_op(tr, method->op, &all, result, err);
}

bool call_value(tracer *tr, const lang_value *callee, const arguments *args, lang_value *result,
                error *err)
{
    switch (callee->kind) {
    case LANG_FUNCTION:
        return call_function(tr, (lang_function *)callee->function, args, result, err);
    case LANG_NATIVE:
        return call_native(tr, callee->native, args, result, err);
    case LANG_OP:
        return call_op(tr, callee->op, args, result, err);
    case LANG_METHOD:
        return call_method(tr, callee->method, args, result, err);
    case LANG_BUILTIN:
        return callee->builtin->run(tr, args, result, err);
    case LANG_DTYPE:
        return builtin_convert(tr, callee, args, result, err);
    default:
        return error_set(err, ERR_ARGUMENT, "%s cannot be called", convert_describe(callee));
    }
}

/* ---- Operations that the language uses
 * ----------------------------------------------------------- */

static const char *const roles[ROLES] = {
    [ROLE_ASTYPE] = "astype",
    [ROLE_STACK] = "stack",
    [ROLE_GETITEM] = "getitem",
    [ROLE_SETITEM] = "setitem",
    [ROLE_COND] = "cond",
    [ROLE_WHERE] = "where",
    [ROLE_LOGICAL_AND] = "logical_and",
    [ROLE_LOGICAL_OR] = "logical_or",
    [ROLE_LOGICAL_NOT] = "logical_not",
    [ROLE_NEGATIVE] = "negative",
    [ROLE_POSITIVE] = "positive",
    [ROLE_INVERT] = "invert",
    [ROLE_TRANSPOSE] = "transpose",
    [ROLE_SWAPAXES] = "swapaxes",
    [ROLE_SHAPE] = "shape",
    [ROLE_SIZE] = "size",
    [ROLE_RESHAPE] = "reshape",
    [ROLE_TENSORDOT] = "tensordot",
    [ROLE_RAND] = "rand",
    [ROLE_ZEROS] = "zeros",
    [ROLE_ONES] = "ones",
    [ROLE_ZEROS_LIKE] = "zeros_like",
    [ROLE_EYE] = "eye",
};

const char *call_role_name(op_role role)
{
    return roles[role];
}

const op_def *call_role_op(op_role role, error *err)
{
    const op_def *op = op_find(roles[role], strlen(roles[role]));

    if (op == NULL)
        error_set(err, ERR_UNKNOWN_OP, "there is no operation '%s'", roles[role]);
    return op;
}

bool call_role(tracer *tr, op_role role, const lang_value *values, int count, lang_value *result,
               error *err)
{
    const op_def *op = call_role_op(role, err);
    const arguments args = {.count = count, .values = values};

    return op != NULL && call_op(tr, op, &args, result, err);
}
