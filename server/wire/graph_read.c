/* SPDX-License-Identifier: Apache-2.0 */
/* Every node of a graph object, however deep it stands, as one flat list, and what
 * each of them needs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/name.h"
#include "engine/base/nearest.h"
#include "server/wire/graph_private.h"
#include "server/wire/request.h"

enum { OUTPUT_DIGITS = 6 }; /* of the number behind a reference's colon */

bool reading_fault_at(const item *x, const wire_value *v, error *err)
{
    if (err->node[0] == '\0' && x != NULL)
        snprintf(err->node, sizeof err->node, "%s", x->name);
    return wire_fault_at(v, err);
}

/* ---- References ---------------------------------------------------------------------- */

/* Splits "q:1" into a name in normal form and a number, 0 if it has none. */
static bool split(arena *a, const char *text, const char **name, int *output, error *err)
{
    const char *colon = strchr(text, ':');
    const size_t n = colon != NULL ? (size_t)(colon - text) : strlen(text);

    *output = 0;
    *name = name_normalise(a, text, n, err);
    if (*name == NULL || colon == NULL)
        return *name != NULL;
    if (colon[1] == '\0' || strlen(colon + 1) > OUTPUT_DIGITS ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return error_set(err, ERR_NAME, "'%.60s': a number must follow the colon", text);
    *output = atoi(colon + 1);
    return true;
}

static int find_item(const reading *r, int at, const char *name)
{
    for (; at >= 0; at = r->frames[at]->outer) {
        const int *found = table_get(&r->frames[at]->names, name);

        if (found != NULL)
            return *found;
    }
    return -1;
}

/* The nearest name as seen from a frame. */
static const char *nearest_name(const reading *r, int at, const char *name)
{
    nearest n = nearest_to(name, NEAREST_EDITS);

    for (; at > 0; at = r->frames[at]->outer)
        nearest_offer_keys(&n, &r->frames[at]->names);
    return n.word != NULL ? n.word : graph_json_nearest(r->json, name);
}

static bool locate_outside(reading *r, int at, const char *text, const char *name, place *p,
                           error *err)
{
    p->item = -1;
    if (!reading_external(r->json, name, &p->outside, err))
        return false;
    if (p->outside.node == NULL) {
        error_set(err, ERR_UNKNOWN_NAME, "the name '%.60s' is not known", text);
        return error_did_you_mean(err, nearest_name(r, at, name));
    }
    return p->output == 0 || error_set(err, ERR_ARGUMENT,
                                       "'%.60s': '%s' is one tensor, whose only "
                                       "output is 0",
                                       text, name);
}

bool reading_locate(reading *r, int at, const wire_value *v, place *result, error *err)
{
    const char *text = wire_string(v, NULL), *name;

    if (!split(r->arena, text, &name, &result->output, err))
        return reading_fault_at(NULL, v, err);
    result->item = find_item(r, at, name);
    return result->item >= 0 || locate_outside(r, at, text, name, result, err) ||
           reading_fault_at(NULL, v, err);
}

const wire_value *reading_reference(const wire_value *v, bool in_attrs)
{
    const wire_value *ref = wire_count(v) == 1 ? wire_member(v, "ref") : NULL;

    if (wire_type_of(v) == WIRE_STRING)
        return in_attrs ? NULL : v;
    return ref != NULL && wire_type_of(ref) == WIRE_STRING ? ref : NULL;
}

bool reading_external(graph_json *j, const char *name, value *result, error *err)
{
    const lang_scope scope = declared_scope(&j->declared);

    return scope.resolve(scope.context, j->graph, name, result, err);
}

/* ---- The lists ------------------------------------------------------------------------- */

void reading_add_edge(reading *r, int from, int to, int output)
{
    item *x = &r->items[from];

    r->edges =
        arena_grow(r->arena, r->edges, (size_t)r->edge_count, &r->edge_room, sizeof *r->edges);
    r->edges[r->edge_count++] = (edge){.to = to, .output = output};
    *(x->last_edge > 0 ? &r->edges[x->last_edge - 1].next : &x->first_edge) = r->edge_count;
    x->last_edge = r->edge_count;
}

int reading_add_item(reading *r, const wire_value *object, const char *name, bool named, int at)
{
    r->items =
        arena_grow(r->arena, r->items, (size_t)r->item_count, &r->item_room, sizeof *r->items);
    r->items[r->item_count] = (item){.object = object, .name = name, .named = named, .frame = at};
    return r->item_count++;
}

bool reading_name_item(reading *r, int at, const char *name, int number, const wire_value *v,
                       error *err)
{
    int *kept = arena_alloc(r->arena, sizeof *kept);

    *kept = number;
    return table_put(&r->frames[at]->names, name, kept) == NULL ||
           wire_fault(v, err, ERR_REQUEST, "the name '%s' is given twice", name);
}

static bool add_named(reading *r, int at, const wire_value *node, error *err)
{
    const char *key = wire_key(node);
    const char *name = name_normalise(r->arena, key, strlen(key), err);

    if (name == NULL)
        return reading_fault_at(NULL, node, err);
    if (r->frames[at]->outer < 0 && table_get(&r->json->declared.types, name) != NULL)
        return wire_fault(node, err, ERR_REQUEST, "'%s' is the name of an input and of a node",
                          name);
    return reading_name_item(r, at, name, reading_add_item(r, node, name, true, at), node, err);
}

frame *reading_new_frame(reading *r, const wire_value *object, int outer)
{
    frame *f = arena_alloc(r->arena, sizeof *f);

    r->frames =
        arena_grow(r->arena, r->frames, (size_t)r->frame_count, &r->frame_room, sizeof *r->frames);
    r->frames[r->frame_count++] = f;
    *f = (frame){.reading = r,
                 .number = r->frame_count - 1,
                 .object = object,
                 .outer = outer,
                 .first = r->item_count};
    table_init(&f->names, r->arena);
    return f;
}

int reading_add_frame(reading *r, const wire_value *object, int outer, error *err)
{
    static const char *const members[] = {"nodes", "outputs", "inputs", "params"};
    const wire_value *nodes = wire_member(object, "nodes");
    const int at = r->frame_count;
    frame *f;

    if (!wire_expect(object, WIRE_OBJECT, err) ||
        !wire_known_members(object, members, 4, outer < 0 ? "a graph" : "a sub-graph", err) ||
        (nodes != NULL && !wire_expect(nodes, WIRE_OBJECT, err)))
        return -1;
    f = reading_new_frame(r, object, outer);
    for (const wire_value *n = wire_first(nodes); n != NULL; n = wire_next(n))
        if (!add_named(r, at, n, err))
            return -1;
    f->count = r->item_count - f->first;
    return at;
}

/* ---- One node ---------------------------------------------------------------------------- */

static bool find_defined(reading *r, item *x, const char *name, error *err)
{
    const lang_scope scope = declared_scope(&r->json->declared);

    return x->op != NULL || scope.find_op(scope.context, name, &x->op, err);
}

static bool find_op(reading *r, int at, error *err)
{
    static const char *const members[] = {"op", "args", "attrs"};
    item *x = &r->items[at];
    const wire_value *op = wire_member(x->object, "op");
    const char *name;
    size_t n;

    if (!wire_expect(x->object, WIRE_OBJECT, err) ||
        !wire_known_members(x->object, members, 3, "a node", err))
        return false;
    if (op == NULL)
        return wire_fault(x->object, err, ERR_REQUEST, "a node needs 'op', the operation's name");
    if (!wire_expect(op, WIRE_STRING, err))
        return false;
    name = wire_string(op, &n);
    x->op =
        strcmp(name, op_constant.name) == 0 && wire_first(wire_member(x->object, "attrs")) == NULL
            ? &op_constant
            : op_find(name, n);
    if (!find_defined(r, x, name, err))
        return reading_fault_at(x, op, err);
    if (x->op != NULL)
        return true;
    error_set(err, ERR_UNKNOWN_OP, "there is no operation '%.60s'", name);
    error_did_you_mean(err, op_nearest(name, n));
    return reading_fault_at(x, op, err);
}

bool reading_argument(reading *r, int at, const wire_value *v, argument *result, error *err)
{
    const wire_value *ref = reading_reference(v, false);
    const int within = r->items[at].frame;

    *result = (argument){.written = v, .place = {.item = -1}};
    result->missing = wire_type_of(v) == WIRE_NULL;
    if (wire_type_of(v) == WIRE_TENSOR)
        result->constant = wire_tensor(v);
    else if (ref != NULL) {
        if (!reading_locate(r, within, ref, &result->place, err))
            return false;
    } else if (wire_member(v, "op") != NULL)
        result->place.item = reading_add_item(r, v, r->items[at].name, false, within);
    else if (!result->missing)
        return wire_fault(v, err, ERR_REQUEST,
                          "an argument is a reference (a string, or {\"ref\": ..}), a number, a "
                          "list, a tensor object, a node or null, not %s",
                          wire_type_name(wire_type_of(v)));
    if (result->place.item >= 0)
        reading_add_edge(r, at, result->place.item, result->place.output);
    return true;
}

static bool read_arguments(reading *r, int at, error *err)
{
    const wire_value *args = wire_member(r->items[at].object, "args");
    argument *list;
    int n = 0;

    if (args == NULL)
        return true;
    if (!wire_expect(args, WIRE_LIST, err))
        return false;
    list = arena_array(r->arena, wire_count(args) + 1, sizeof *list);
    for (const wire_value *v = wire_first(args); v != NULL; v = wire_next(v))
        if (!reading_argument(r, at, v, &list[n++], err))
            return false;
    r->items[at].arguments = list;
    r->items[at].argument_count = n;
    return true;
}

static bool read_item(reading *r, int at, error *err)
{
    const wire_value *object = r->items[at].object;

    if (r->items[at].kind == ITEM_PARAMETER)
        return true;
    if (find_op(r, at, err) &&
        (r->items[at].op->body != NULL
             ? reading_call_arguments(r, at, err)
             : read_arguments(r, at, err) && reading_attr_references(r, at, err) &&
                   reading_functions(r, at, err)))
        return true;
    return reading_fault_at(&r->items[at], object, err);
}

/* ---- Outputs ------------------------------------------------------------------------------ */

bool reading_outputs(reading *r, int at, const char ***names, error *err)
{
    frame *f = r->frames[at];
    const wire_value *outputs = wire_member(f->object, "outputs");
    const size_t n = outputs != NULL ? wire_count(outputs) : 0;

    f->outputs = arena_array(r->arena, n + 1, sizeof *f->outputs);
    if (names != NULL)
        *names = arena_array(r->arena, n + 1, sizeof **names);
    if (outputs != NULL && !wire_expect(outputs, WIRE_LIST, err))
        return false;
    for (const wire_value *v = wire_first(outputs); v != NULL; v = wire_next(v)) {
        const wire_value *ref = reading_reference(v, false);

        if (ref == NULL)
            return wire_fault(v, err, ERR_REQUEST,
                              "an output is the name of a node or input, "
                              "not %s",
                              wire_type_name(wire_type_of(v)));
        if (!reading_locate(r, at, ref, &f->outputs[f->output_count], err))
            return false;
        if (names != NULL)
            (*names)[f->output_count] = wire_string(ref, NULL);
        f->output_count++;
    }
    return true;
}

/* The values of the outputs, which were found before anything was built. */
static bool set_outputs(reading *r, error *err)
{
    graph_json *j = r->json;
    const frame *f = r->frames[0];

    j->output_count = f->output_count;
    j->outputs = arena_array(r->arena, (size_t)f->output_count + 1, sizeof *j->outputs);
    for (int i = 0; i < f->output_count; i++)
        if (!reading_value(r, &f->outputs[i], f->graph, &j->outputs[i], err))
            return reading_fault_at(NULL, wire_member(f->object, "outputs"), err);
    return true;
}

/* ---- The whole ------------------------------------------------------------------------------ */

/* Puts an item next in the order of every frame that it is built in, or just counts it. */
static void place_item(reading *r, int at, bool count)
{
    const also own = {r->items[at].frame, r->items[at].also};

    for (const also *a = &own; a != NULL; a = a->next) {
        frame *f = r->frames[a->frame];

        if (!count)
            f->order[f->order_count] = at;
        f->order_count++;
    }
}

/* Gives every frame its items in an order in which they can be built. */
static bool order_all(reading *r, error *err)
{
    const int *order = reading_sort(r, err);

    if (order == NULL)
        return false;
    for (int i = 0; i < r->item_count; i++)
        place_item(r, i, true);
    for (int i = 0; i < r->frame_count; i++) {
        frame *f = r->frames[i];

        f->order = arena_array(r->arena, (size_t)f->order_count + 1, sizeof *f->order);
        f->order_count = 0;
    }
    for (int i = 0; i < r->item_count; i++)
        place_item(r, order[i], false);
    return true;
}

bool reading_build_frame(reading *r, const frame *f, error *err)
{
    for (int i = 0; i < f->order_count; i++) {
        item *x = &r->items[f->order[i]];

        x->frame = f->number;
        if (!reading_build(r, f->order[i], err))
            return reading_fault_at(x, x->object, err);
    }
    return true;
}

bool graph_json_read(graph *g, const wire_value *object, const lang_scope *scope,
                     declared_mode mode, graph_json *result, error *err)
{
    reading *r = arena_alloc(g->arena, sizeof *r);

    *r = (reading){.json = result, .arena = g->arena};
    *result = (graph_json){.graph = g, .reading = r};
    declared_init(&result->declared, g->arena, scope, mode);
    if (!declared_read(&result->declared, wire_member(object, "inputs"), err) ||
        reading_add_frame(r, object, -1, err) < 0)
        return false;
    r->frames[0]->graph = g;
    for (int i = 0; i < r->item_count; i++)
        if (!read_item(r, i, err))
            return false;
    return reading_outputs(r, 0, &result->output_names, err) && reading_dataflow(r, err) &&
           order_all(r, err) && reading_build_frame(r, r->frames[0], err) && set_outputs(r, err);
}

/* ---- Asking afterwards ------------------------------------------------------------------ */

bool graph_json_find(graph_json *j, const char *reference, value *result, error *err)
{
    reading *r = j->reading;
    place p = {.item = -1};
    const char *name;

    *result = (value){0};
    if (!split(r->arena, reference, &name, &p.output, err))
        return false;
    p.item = find_item(r, 0, name);
    if (p.item >= 0)
        return reading_value(r, &p, r->frames[0]->graph, result, err);
    return reading_external(j, name, result, err) &&
           (p.output == 0 || result->node == NULL ||
            error_set(err, ERR_ARGUMENT, "'%.60s': its only output is 0", reference));
}

bool graph_json_has(const graph_json *j, const char *name)
{
    return find_item(j->reading, 0, name) >= 0;
}

const char *graph_json_nearest(const graph_json *j, const char *name)
{
    const lang_scope scope = declared_scope((declared *)&j->declared);
    nearest n = nearest_to(name, NEAREST_EDITS);

    nearest_offer_keys(&n, &j->reading->frames[0]->names);
    return n.word != NULL ? n.word : scope.nearest(scope.context, name);
}
