/* SPDX-License-Identifier: Apache-2.0 */
/* Which values an evaluation is asked for. */
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
        e->named[e->named_count++] = (wanted){.name = names->items[i], .output = want(e, v)};
    }
    return true;
}

static void set_results(evaluation *e, int count, bool is_list)
{
    e->results = arena_array(e->request->arena, (size_t)count + 1, sizeof *e->results);
    e->result_count = count;
    e->result_is_list = is_list;
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
    e->named = arena_array(e->request->arena, (size_t)count + e->asked.outputs.count + 1,
                           sizeof *e->named);
    set_results(e, count, is_list);
    for (int i = 0; i < count; i++) {
        e->results[i] = want(e, values[i]);
        if (e->stored_name != NULL && names[i] != NULL)
            e->named[e->named_count++] = (wanted){.name = names[i], .output = e->results[i]};
    }
    return true;
}

/* What a run fetches: the result, and outputs by their names. */
static bool select_fetches(evaluation *e, error *err)
{
    const wire_names *names = &e->asked.fetches;
    const int count = (int)names->count;

    e->named = arena_array(e->request->arena, names->count + 1, sizeof *e->named);
    if (!select_named(e, names, "fetches", err))
        return false;
    set_results(e, count, count > 1);
    for (int i = 0; i < count; i++)
        e->results[i] = e->named[i].output;
    return true;
}

/* A file of several tensors has each once, under its name. */
static void drop_named_results(evaluation *e)
{
    if (e->stored_name != NULL && e->format == WIRE_NPZ && e->named_count > 0)
        set_results(e, 0, false);
}

static void select_printed(evaluation *e)
{
    const lang_program *p = &e->source.program;

    e->printed = arena_array(e->request->arena, (size_t)p->printed_count + 1, sizeof *e->printed);
    for (int i = 0; i < p->printed_count; i++)
        e->printed[i] = p->printed[i].style == LANG_LITERAL ? -1 : want(e, p->printed[i].value);
}

/* ---- What the format can say --------------------------------------------------------------------
 */

static bool check_one(const evaluation *e, error *err)
{
    const int only = e->result_count == 1  ? e->results[0]
                     : e->named_count == 1 ? e->named[0].output
                                           : -1;

    if (e->result_count > 1 || only < 0)
        return error_set(
            err, ERR_ACCEPT, "%s holds one tensor, and the evaluation gives %d; npz holds several.",
            wire_format_name(e->format), e->result_count > 1 ? e->result_count : e->named_count);
    return wire_writer_takes(e->format, &value_type(e->graph->outputs[only])->shape, err);
}

static bool check_names(const evaluation *e, error *err)
{
    table names;

    table_init(&names, e->request->arena);
    for (int i = 0; i < e->named_count; i++)
        if (table_put(&names, e->named[i].name, e->named) != NULL)
            return error_set(err, ERR_REQUEST, "The output '%s' is asked for twice.",
                             e->named[i].name);
    return e->result_count == 0 || e->format != WIRE_NPZ || table_get(&names, "result") == NULL ||
           error_set(err, ERR_REQUEST,
                     "An npz file cannot have the output 'result' beside the result.");
}

static bool check_format(const evaluation *e, error *err)
{
    if (!check_names(e, err))
        return false;
    if (e->format != WIRE_JSON && e->asked.dry_run)
        return error_set(err, ERR_ACCEPT, "A dry run is answered in JSON only.");
    if (e->format == WIRE_NPZ && e->result_count + e->named_count == 0)
        return error_set(err, ERR_ACCEPT, "The evaluation gives no tensor to put into the file.");
    return e->format == WIRE_JSON || e->format == WIRE_NPZ || check_one(e, err);
}

bool evaluation_select(evaluation *e, error *err)
{
    if (!(e->asked.fetches.count > 0 ? select_fetches(e, err) : select_results(e, err)) ||
        !select_named(e, &e->asked.outputs, "outputs", err))
        return false;
    drop_named_results(e);
    e->answered_count = e->graph->output_count;
    select_printed(e);
    return evaluation_select_stored(e, err) && check_format(e, err);
}
