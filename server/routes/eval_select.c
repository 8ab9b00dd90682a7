/* SPDX-License-Identifier: Apache-2.0 */
/* Which values an evaluation is asked for. */
#include <string.h>

#include "server/routes/evaluation.h"

static int want(evaluation *e, value v)
{
    graph_add_output(e->graph, v);
    return e->graph->output_count - 1;
}

/* ---- What is wanted ----------------------------------------------------------------------------
 */

/* Wants values under names, in the order of names. */
static bool select_named(evaluation *e, const wire_names *names, const char *member, error *err)
{
    value v;

    for (size_t i = 0; i < names->count; i++) {
        if (!source_find(&e->source, names->items[i], &v, err))
            return error_at_pointer(err, "/%s/%zu", member, i);
        e->gives.named[e->gives.named_count++] =
            (wanted){.name = names->items[i], .output = want(e, v)};
    }
    return true;
}

static void set_results(evaluation *e, int count, bool is_list)
{
    e->gives.results = arena_array(e->arena, (size_t)count + 1, sizeof *e->gives.results);
    e->gives.result_count = count;
    e->gives.result_is_list = is_list;
}

/* Whether the name of the i-th output is one before it, too: a graph may give a value twice. */
static bool is_listed(const char *const *names, int i)
{
    for (int k = 0; k < i; k++)
        if (names[k] != NULL && strcmp(names[k], names[i]) == 0)
            return true;
    return false;
}

/* What the text gives. Of a graph that is run, those that have names are outputs too. */
static bool select_results(evaluation *e, error *err)
{
    const char *const *names;
    const value *values;
    bool is_list;
    int count;

    if (!source_results(&e->source, &count, &values, &names, &is_list, err))
        return false;
    e->gives.named =
        arena_array(e->arena, (size_t)count + e->asked.outputs.count + 1, sizeof *e->gives.named);
    set_results(e, count, is_list);
    for (int i = 0; i < count; i++) {
        e->gives.results[i] = want(e, values[i]);
        if (e->stored_name != NULL && names[i] != NULL && !is_listed(names, i))
            e->gives.named[e->gives.named_count++] =
                (wanted){.name = names[i], .output = e->gives.results[i]};
    }
    return true;
}

/* What a run fetches: the result, and outputs by their names. */
static bool select_fetches(evaluation *e, error *err)
{
    const wire_names *names = &e->asked.fetches;
    const int count = (int)names->count;

    e->gives.named = arena_array(e->arena, names->count + 1, sizeof *e->gives.named);
    if (!select_named(e, names, "fetches", err))
        return false;
    set_results(e, count, count > 1);
    for (int i = 0; i < count; i++)
        e->gives.results[i] = e->gives.named[i].output;
    return true;
}

static void select_printed(evaluation *e)
{
    const lang_program *p = &e->source.program;

    e->printed = arena_array(e->arena, (size_t)p->printed_count + 1, sizeof *e->printed);
    for (int i = 0; i < p->printed_count; i++)
        e->printed[i] = p->printed[i].style == LANG_LITERAL ? -1 : want(e, p->printed[i].value);
}

/* What the answer will have, as far as it is known before it is computed. */
static void note_types(evaluation *e)
{
    outcome *o = &e->gives;

    o->named_alone = e->stored_name != NULL && o->named_count > 0;
    o->dry_run = e->asked.dry_run;
    o->tensor_count = e->graph->output_count;
    o->tensors = arena_array(e->arena, (size_t)o->tensor_count + 1, sizeof *o->tensors);
    for (int i = 0; i < o->tensor_count; i++) {
        const type *t = value_type(e->graph->outputs[i]);

        o->tensors[i] = (tensor){.dtype = t->dtype, .shape = t->shape};
    }
}

bool evaluation_select(evaluation *e, error *err)
{
    if (!(e->asked.fetches.count > 0 ? select_fetches(e, err) : select_results(e, err)) ||
        !select_named(e, &e->asked.outputs, "outputs", err))
        return false;
    note_types(e);
    select_printed(e);
    return evaluation_select_stored(e, err) && outcome_check(&e->gives, e->format, err);
}
