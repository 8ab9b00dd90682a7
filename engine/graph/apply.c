/* SPDX-License-Identifier: Apache-2.0 */
/* Theano's structure as JSON. */
#include <string.h>

#include "engine/base/json.h"
#include "engine/graph/declaration.h"
#include "engine/graph/view_private.h"

/* A use of a variable: by an input of an apply, or as an output of the graph. */
typedef struct use {
    int apply; /* -1: the graph's outputs */
    int position;
    int next; /* 1 + the next use of the same variable */
} use;

typedef struct writer {
    const graph *graph;
    arena *arena;
    json_writer json;
    bool *shown;
    int *variables, *applies; /* by node id: the id of the first output, of the apply */
    int variable_count;
    int *first, *last; /* by variable: 1 + a use */
    use *uses;
    int use_count;
    size_t use_room;
} writer;

static int variable_of(const writer *w, value v)
{
    return w->variables[v.node->id] + v.index;
}

/* ---- Numbering ------------------------------------------------------------------------- */

static void number(writer *w)
{
    const graph *g = w->graph;
    const size_t n = (size_t)g->count + 1;
    int applies = 0;

    w->variables = arena_array(w->arena, n, sizeof *w->variables);
    w->applies = arena_array(w->arena, n, sizeof *w->applies);
    for (int i = 0; i < g->count; i++) {
        w->variables[i] = w->variable_count;
        w->applies[i] = applies;
        w->variable_count += w->shown[i] ? g->nodes[i]->output_count : 0;
        applies += w->shown[i] && view_is_apply(g->nodes[i]);
    }
}

static void add_use(writer *w, value v, int apply, int position)
{
    const int variable = v.node != NULL ? variable_of(w, v) : -1;

    if (variable < 0)
        return;
    w->uses = arena_grow(w->arena, w->uses, (size_t)w->use_count, &w->use_room, sizeof *w->uses);
    w->uses[w->use_count++] = (use){apply, position, 0};
    if (w->first[variable] == 0)
        w->first[variable] = w->use_count;
    else
        w->uses[w->last[variable] - 1].next = w->use_count;
    w->last[variable] = w->use_count;
}

static void find_uses(writer *w)
{
    const graph *g = w->graph;
    const size_t n = (size_t)w->variable_count + 1;
    value dynamic[VIEW_DYNAMIC];

    w->first = arena_array(w->arena, n, sizeof *w->first);
    w->last = arena_array(w->arena, n, sizeof *w->last);
    for (int i = 0; i < g->count; i++) {
        const node *m = g->nodes[i];
        const int count = view_dynamic_inputs(m, dynamic, VIEW_DYNAMIC);

        for (int k = 0; w->shown[i] && k < m->input_count; k++)
            add_use(w, m->inputs[k], w->applies[i], k);
        for (int k = 0; w->shown[i] && k < count; k++)
            add_use(w, dynamic[k], w->applies[i], m->input_count + k);
    }
    for (int i = 0; i < g->output_count; i++)
        add_use(w, g->outputs[i], -1, i);
}

/* ---- Variables ----------------------------------------------------------------------------- */

static void add_type(writer *w, value v)
{
    const type *t = value_type(v);
    text lengths;

    text_init(&lengths);
    declaration_write_lengths(declaration_of(v), &t->shape, &lengths);
    json_begin(&w->json, "type", '{');
    json_string(&w->json, "dtype", dtype_name(t->dtype));
    json_raw(&w->json, "shape", lengths.bytes);
    json_begin(&w->json, "broadcastable", '[');
    for (int i = 0; i < t->shape.rank; i++)
        json_bool(&w->json, NULL, t->shape.length[i] == 1);
    json_end(&w->json, ']');
    json_end(&w->json, '}');
    text_clear(&lengths);
}

static void add_constant(writer *w, const tensor *x)
{
    text value;

    text_init(&value);
    view_add_constant_json(x, &value);
    json_raw(&w->json, "constant", value.bytes);
    text_clear(&value);
}

static void add_clients(writer *w, int variable)
{
    json_begin(&w->json, "clients", '[');
    for (int i = w->first[variable]; i > 0; i = w->uses[i - 1].next) {
        const use *u = &w->uses[i - 1];

        json_begin(&w->json, NULL, '[');
        if (u->apply < 0)
            json_string(&w->json, NULL, "output");
        else
            json_int(&w->json, NULL, u->apply);
        json_int(&w->json, NULL, u->position);
        json_end(&w->json, ']');
    }
    json_end(&w->json, ']');
}

static void add_variable(writer *w, value v)
{
    json_begin(&w->json, NULL, '{');
    json_int(&w->json, "id", variable_of(w, v));
    json_string(&w->json, "name", view_name(v, w->arena));
    add_type(w, v);
    if (view_is_apply(v.node))
        json_int(&w->json, "owner", w->applies[v.node->id]);
    else
        json_raw(&w->json, "owner", "null");
    json_int(&w->json, "index", v.index);
    if (v.node->constant != NULL)
        add_constant(w, v.node->constant);
    add_clients(w, variable_of(w, v));
    json_end(&w->json, '}');
}

/* ---- Applies --------------------------------------------------------------------------------- */

static void add_inputs(writer *w, const node *n)
{
    value dynamic[VIEW_DYNAMIC];
    const int count = view_dynamic_inputs(n, dynamic, VIEW_DYNAMIC);

    json_begin(&w->json, "inputs", '[');
    for (int i = 0; i < n->input_count; i++) {
        if (n->inputs[i].node == NULL)
            json_raw(&w->json, NULL, "null");
        else
            json_int(&w->json, NULL, variable_of(w, n->inputs[i]));
    }
    for (int i = 0; i < count; i++)
        json_int(&w->json, NULL, variable_of(w, dynamic[i]));
    json_end(&w->json, ']');
}

static void add_apply(writer *w, node *n)
{
    text words;

    text_init(&words);
    json_begin(&w->json, NULL, '{');
    json_int(&w->json, "id", w->applies[n->id]);
    json_string(&w->json, "op", n->op->name);
    view_add_display(n, &words);
    json_string(&w->json, "display", words.bytes);
    words.length = 0;
    view_add_attrs_json(n, view_apply, &words);
    json_raw(&w->json, "attrs", words.bytes);
    add_inputs(w, n);
    json_begin(&w->json, "outputs", '[');
    for (int i = 0; i < n->output_count; i++)
        json_int(&w->json, NULL, variable_of(w, (value){n, i}));
    json_end(&w->json, ']');
    json_end(&w->json, '}');
    text_clear(&words);
}

/* ---- The whole ---------------------------------------------------------------------------------
 */

static void add_all(writer *w)
{
    const graph *g = w->graph;

    json_begin(&w->json, NULL, '{');
    json_begin(&w->json, "variables", '[');
    for (int i = 0; i < g->count; i++)
        for (int k = 0; w->shown[i] && k < g->nodes[i]->output_count; k++)
            add_variable(w, (value){g->nodes[i], k});
    json_end(&w->json, ']');
    json_begin(&w->json, "applies", '[');
    for (int i = 0; i < g->count; i++)
        if (w->shown[i] && view_is_apply(g->nodes[i]))
            add_apply(w, g->nodes[i]);
    json_end(&w->json, ']');
    json_begin(&w->json, "outputs", '[');
    for (int i = 0; i < g->output_count; i++)
        json_int(&w->json, NULL, variable_of(w, g->outputs[i]));
    json_end(&w->json, ']');
    json_end(&w->json, '}');
}

/* Calls itself for sub-graphs. */
void view_apply(const graph *g, text *t)
{
    writer w = {.graph = g, .arena = arena_new(), .json = json_to(t, false)};

    w.shown = view_shown(g, w.arena);
    number(&w);
    find_uses(&w);
    add_all(&w);
    arena_free(w.arena);
}
