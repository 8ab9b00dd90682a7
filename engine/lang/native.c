/* SPDX-License-Identifier: Apache-2.0 */
/* Calls across the border of the language: functions that are no text, called by programs
 * and operations; operations called by those who have no program. */
#include <string.h>

#include "engine/lang/tracer.h"

lang_value lang_sequence_of(arena *a, lang_kind kind, const lang_value *items, int n)
{
    lang_sequence *s = arena_alloc(a, sizeof *s);

    s->count = n;
    s->items = arena_array(a, (size_t)n + 1, sizeof *s->items);
    if (n > 0)
        memcpy(s->items, items, (size_t)n * sizeof *items);
    return (lang_value){.kind = kind, .sequence = s};
}

/* ---- Tensors out of values --------------------------------------------------------- */

/* Adds the value's tensors, those of a tuple in a tuple too, to values, which has room
 * for OP_OUTPUTS. */
static bool add_tensors(tracer *tr, const lang_value *v, const char *who, value *values, int *count,
                        error *err)
{
    if (v->kind == LANG_NONE)
        return true;
    if (v->kind == LANG_TUPLE) {
        if (!tracer_enter(tr, err))
            return false;
        for (int i = 0; i < v->sequence->count; i++)
            if (!add_tensors(tr, &v->sequence->items[i], who, values, count, err))
                return false;
        tracer_leave(tr);
        return true;
    }
    if (*count == OP_OUTPUTS)
        return error_set(err, ERR_ARGUMENT, "%s: there are more than %d values", who, OP_OUTPUTS);
    return convert_tensor(tr, v, who, &values[(*count)++], err);
}

/* ---- Functions that are no text ------------------------------------------------------- */

bool call_native(tracer *tr, const lang_native *f, const arguments *args, lang_value *result,
                 error *err)
{
    value given[OP_OUTPUTS], outputs[OP_OUTPUTS];
    lang_value items[OP_OUTPUTS];
    int count = 0, n = 0;

    for (int i = 0; i < args->count; i++)
        if (!add_tensors(tr, &args->values[i], "a function", given, &count, err))
            return false;
    if (args->keyword_count > 0)
        return error_set(err, ERR_ARGUMENT, "a sub-graph has no parameter '%s'", args->keywords[0]);
    if (!tracer_enter(tr, err) || !f->build(f, tr->graph, given, count, outputs, &n, err))
        return false;
    tracer_leave(tr);
    for (int i = 0; i < n; i++)
        items[i] = lang_of_value(outputs[i]);
    *result = n == 1 ? items[0] : tracer_sequence(tr, LANG_TUPLE, items, n);
    return true;
}

/* ---- Operations called from elsewhere --------------------------------------------------- */

bool lang_call(graph *g, const op_def *op, const lang_argument *given, int count,
               value outputs[OP_OUTPUTS], int *output_count, error *err)
{
    const lang_options options = {0};
    const lang_builtin *builtin = builtin_find(op->name);
    const char **keywords = arena_array(g->arena, (size_t)count + 1, sizeof *keywords);
    lang_value *values = arena_array(g->arena, (size_t)count + 1, sizeof *values), result;
    const arguments args = {.keyword_count = count, .keywords = keywords, .values = values};
    tracer tr;

    tracer_init(&tr, g, &options);
    for (int i = 0; i < count; i++) {
        keywords[i] = given[i].name;
        values[i] = given[i].value;
    }
    *output_count = 0;
    return (builtin != NULL ? builtin->run(&tr, &args, &result, err)
                            : call_op(&tr, op, &args, &result, err)) &&
           add_tensors(&tr, &result, op->name, outputs, output_count, err);
}
