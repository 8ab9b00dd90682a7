/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/source.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/nearest.h"

/* ---- Building ------------------------------------------------------------------------- */

static bool build_program(source *s, const source_options *o, error *err)
{
    static const lang_dialect dialects[] = {
        [WIRE_NUMPY] = LANG_NUMPY, [WIRE_SMALL] = LANG_TENSOR_STATEMENTS};
    const lang_options options = {
        .dialect = dialects[s->says->dialect], .budget = o->budget, .keep_calls = o->keep_calls};
    const char *text = s->says->program;
    lang_scope scope;

    declared_init(&s->declared, s->graph->arena, o->scope, o->mode);
    if (!declared_read(&s->declared, s->says->declared, err))
        return false;
    scope = declared_scope(&s->declared);
    if (!lang_build(s->graph, text, strlen(text), &options, &scope, &s->program, err))
        return err->line > 0 ? error_at_pointer(err, "/program") : false;
    table_init(&s->assigned, s->graph->arena);
    for (int i = 0; i < s->program.assigned_count; i++)
        table_put(&s->assigned, s->program.assigned[i].name, &s->program.assigned[i]);
    return true;
}

bool source_build(source *s, graph *g, const wire_request *says, const source_options *options,
                  error *err)
{
    *s = (source){.says = says, .graph = g};
    if (options->has_seed)
        graph_seed(g, options->seed);
    return says->program != NULL
               ? build_program(s, options, err)
               : graph_json_read(g, says->graph, options->scope, options->mode, &s->json, err);
}

/* ---- Names ------------------------------------------------------------------------------ */

/* The item that "q:1" names of a tuple or list. */
static bool find_part(source *s, const lang_name *n, int part, value *result, error *err)
{
    const lang_value *v = &n->value;
    const bool many = v->kind == LANG_TUPLE || v->kind == LANG_LIST;
    const int count = many ? v->sequence->count : 1;

    if (part >= count)
        return error_set(err, ERR_INDEX, "'%s:%d': '%s' has %d part%s", n->name, part, n->name,
                         count, count == 1 ? "" : "s");
    return lang_tensor(s->graph, many ? &v->sequence->items[part] : v, n->name, result, err);
}

static bool find_in_program(source *s, const char *reference, value *result, error *err)
{
    const char *colon = strchr(reference, ':');
    const char *name = colon == NULL
                           ? reference
                           : arena_copy(s->graph->arena, reference, (size_t)(colon - reference));
    const lang_name *assigned = table_get(&s->assigned, name);
    const lang_scope scope = declared_scope(&s->declared);

    *result = (value){0};
    if (assigned != NULL && colon != NULL)
        return find_part(s, assigned, atoi(colon + 1), result, err);
    if (assigned != NULL)
        return lang_tensor(s->graph, &assigned->value, name, result, err);
    return colon != NULL || scope.resolve(scope.context, s->graph, name, result, err);
}

const char *source_nearest(const source *s, const char *name)
{
    const lang_scope scope = declared_scope((declared *)&s->declared);
    nearest n = nearest_to(name, NEAREST_EDITS);

    if (s->says->program == NULL)
        return graph_json_nearest(&s->json, name);
    nearest_offer_keys(&n, &s->assigned);
    return n.word != NULL ? n.word : scope.nearest(scope.context, name);
}

bool source_find(source *s, const char *reference, value *result, error *err)
{
    const bool program = s->says->program != NULL;
    const char *near;

    if (!(program ? find_in_program(s, reference, result, err)
                  : graph_json_find(&s->json, reference, result, err)))
        return false;
    if (result->node != NULL)
        return true;
    near = source_nearest(s, reference);
    error_set(err, ERR_UNKNOWN_NAME, "The %s has no '%s'%s%s.", program ? "program" : "graph",
              reference, near ? "; did you mean " : "", near ? near : "");
    return error_suggest(err, near);
}

bool source_assigns(const source *s, const char *name)
{
    return s->says->program != NULL ? table_get(&s->assigned, name) != NULL
                                    : graph_json_has(&s->json, name);
}

bool source_declares(const source *s, const char *name)
{
    const declared *d = s->says->program != NULL ? &s->declared : &s->json.declared;

    return table_get(&d->types, name) != NULL;
}

/* ---- Results ------------------------------------------------------------------------------ */

/* A program of which outputs are listed. */
static bool listed_results(source *s, const value **values, error *err)
{
    const wire_names *names = &s->says->results;
    value *list = arena_array(s->graph->arena, names->count + 1, sizeof *list);

    for (size_t i = 0; i < names->count; i++)
        if (!source_find(s, names->items[i], &list[i], err))
            return error_at_pointer(err, "/outputs/%zu", i);
    *values = list;
    return true;
}

bool source_results(source *s, int *count, const value **values, const char *const **names,
                    bool *is_list, error *err)
{
    const bool listed = s->says->results.count > 0;

    if (s->says->program == NULL) {
        *count = s->json.output_count;
        *values = s->json.outputs;
        *names = s->json.output_names;
        *is_list = *count > 1;
        return true;
    }
    *is_list = listed ? s->says->results.count > 1 : s->program.is_tuple;
    *count = listed ? (int)s->says->results.count : s->program.result_count;
    *names = listed ? s->says->results.items
                    : arena_array(s->graph->arena, (size_t)*count + 1, sizeof **names);
    *values = s->program.results;
    return !listed || listed_results(s, values, err);
}
