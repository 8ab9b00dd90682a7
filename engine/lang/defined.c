/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of operations whose meaning is a graph. */
#include <string.h>

#include "engine/lang/tracer.h"

static bool fail_count(const op_def *op, int given, error *err)
{
    return error_set(err, ERR_ARGUMENT, "%s takes at most %d argument%s, got %d", op->name,
                     op->param_count, op->param_count == 1 ? "" : "s", given);
}

static bool fail_keyword(const op_def *op, const char *name, error *err)
{
    error_set(err, ERR_UNKNOWN_ATTR, "%s has no input '%s'", op->name, name);
    return error_did_you_mean(err, op_param_nearest(op, name));
}

/* Sorts the arguments to the parameters; one without a value stays NULL. */
static bool sort_arguments(const op_def *op, const arguments *args, const lang_value **slots,
                           error *err)
{
    if (args->count > op->param_count)
        return fail_count(op, args->count + args->keyword_count, err);
    for (int i = 0; i < args->count; i++)
        slots[i] = &args->values[i];
    for (int i = 0; i < args->keyword_count; i++) {
        const char *name = args->keywords[i];
        const op_param *p = op_param_find(op, name, strlen(name));

        if (p == NULL)
            return fail_keyword(op, name, err);
        if (slots[p - op->params] != NULL)
            return error_set(err, ERR_ARGUMENT, "%s got '%s' twice", op->name, name);
        slots[p - op->params] = &args->values[args->count + i];
    }
    return true;
}

/* What is stored under the name of an input. */
static bool take_stored(tracer *tr, const op_def *op, const op_param *p, value *result, error *err)
{
    const lang_scope *scope = tr->scope;

    *result = (value){0};
    if (scope != NULL && scope->resolve_stored != NULL &&
        !scope->resolve_stored(scope->context, tr->root, p->name, result, err))
        return false;
    return result->node != NULL ||
           error_set(
               err, ERR_ARGUMENT,
               "%s: its input '%s' is not given, and there is no stored variable of that name",
               op->name, p->name);
}

static bool take_given(tracer *tr, const op_def *op, const op_param *p, const lang_value *v,
                       value *result, error *err)
{
    *result = v->tensor;
    return v->kind == LANG_TENSOR ||
           convert_tensor(tr, v, arena_format(tr->arena, "%s: %s", op->name, p->name), result, err);
}

bool bind_defined(tracer *tr, const op_def *op, const arguments *args, bound_call *call, error *err)
{
    const size_t n = (size_t)op->param_count + 1;
    const lang_value **slots = arena_array(tr->arena, n, sizeof *slots);

    if (!tracer_charge(tr, op->body->count, err) || !sort_arguments(op, args, slots, err))
        return false;
    call->inputs = arena_array(tr->arena, n, sizeof *call->inputs);
    call->count = op->param_count;
    for (int i = 0; i < op->param_count; i++) {
        const op_param *p = &op->params[i];
        value *input = &call->inputs[p->position];

        if (!(slots[i] != NULL ? take_given(tr, op, p, slots[i], input, err)
                               : take_stored(tr, op, p, input, err)))
            return false;
    }
    return true;
}
