/* SPDX-License-Identifier: Apache-2.0 */
/* Which values an evaluation is asked for. */
#include <stdlib.h>
#include <string.h>

#include "server/routes/evaluation.h"

static int want(evaluation *e, value v)
{
    graph_add_output(e->graph, v);
    return e->graph->output_count - 1;
}

/* ---- Names --------------------------------------------------------------------------------- */

/* The item that "q:1" names of a tuple or list. */
static bool find_part(evaluation *e, const lang_name *n, int part, value *result, error *err)
{
    const lang_value *v = &n->value;
    const bool many = v->kind == LANG_TUPLE || v->kind == LANG_LIST;
    const int count = many ? v->sequence->count : 1;

    if (part >= count)
        return error_set(err, ERR_INDEX, "'%s:%d': '%s' has %d part%s", n->name, part, n->name,
                         count, count == 1 ? "" : "s");
    return lang_tensor(e->graph, many ? &v->sequence->items[part] : v, n->name, result, err);
}

static bool find_in_program(evaluation *e, const char *reference, value *result, error *err)
{
    const char *colon = strchr(reference, ':');
    const char *name = colon == NULL
                           ? reference
                           : arena_copy(e->request->arena, reference, (size_t)(colon - reference));
    const lang_name *assigned = table_get(&e->assigned, name);
    const lang_scope scope = bindings_scope(&e->bindings);

    *result = (value){0};
    if (assigned != NULL && colon != NULL)
        return find_part(e, assigned, atoi(colon + 1), result, err);
    if (assigned != NULL)
        return lang_tensor(e->graph, &assigned->value, name, result, err);
    return colon != NULL || scope.resolve(scope.context, e->graph, name, result, err);
}

static const char *nearest_name(const evaluation *e, const char *name)
{
    const lang_scope scope = bindings_scope((bindings *)&e->bindings);
    const char *best = NULL;
    int least = 3;

    if (e->asked.graph != NULL)
        return graph_json_nearest(&e->json, name);
    for (size_t i = 0; i < e->assigned.count; i++) {
        const int distance = text_distance(name, e->assigned.entries[i].key, least);

        if (distance < least) {
            least = distance;
            best = e->assigned.entries[i].key;
        }
    }
    return best != NULL ? best : scope.nearest(scope.context, name);
}

bool evaluation_find(evaluation *e, const char *reference, value *result, error *err)
{
    const char *near;

    if (!(e->asked.program != NULL ? find_in_program(e, reference, result, err)
                                   : graph_json_find(&e->json, reference, result, err)))
        return false;
    if (result->node != NULL)
        return true;
    near = nearest_name(e, reference);
    error_set(err, ERR_UNKNOWN_NAME, "The %s has no '%s'%s%s.",
              e->asked.program != NULL ? "program" : "graph", reference,
              near ? "; did you mean " : "", near ? near : "");
    return error_suggest(err, near);
}

/* ---- What is wanted ----------------------------------------------------------------------------
 */

static void select_results(evaluation *e)
{
    const bool program = e->asked.program != NULL;
    const int count = program ? e->program.result_count : e->json.output_count;
    const value *values = program ? e->program.results : e->json.outputs;

    e->results = arena_array(e->request->arena, (size_t)count + 1, sizeof *e->results);
    e->result_is_list = program ? e->program.is_tuple : count > 1;
    for (int i = 0; i < count; i++)
        e->results[i] = want(e, values[i]);
    e->result_count = count;
}

static bool select_outputs(evaluation *e, error *err)
{
    const wire_names *names = &e->asked.outputs;
    value v;

    e->named = arena_array(e->request->arena, names->count + 1, sizeof *e->named);
    for (size_t i = 0; i < names->count; i++) {
        if (!evaluation_find(e, names->items[i], &v, err))
            return error_at_pointer(err, "/outputs/%zu", i);
        e->named[e->named_count++] = (wanted){.name = names->items[i], .output = want(e, v)};
    }
    return true;
}

static void select_printed(evaluation *e)
{
    const lang_program *p = &e->program;

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
    select_results(e);
    if (!select_outputs(e, err))
        return false;
    e->answered_count = e->graph->output_count;
    select_printed(e);
    return evaluation_select_stored(e, err) && check_format(e, err);
}
