/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/library.h"

#include <stdio.h>
#include <string.h>

#include "engine/graph/define.h"
#include "server/routes/stored.h"

void library_init(library *l, services *s, arena *a, txn *x, bool note_reads, budget *b)
{
    *l = (library){.services = s, .arena = a, .txn = x, .note_reads = note_reads, .budget = b};
    table_init(&l->ops, a);
}

void library_clear(library *l)
{
    for (size_t i = 0; i < l->graph_count; i++)
        graph_release(l->graphs[i]);
    for (size_t i = 0; i < l->reader_count; i++)
        wire_reader_free(l->readers[i]);
    l->graph_count = l->reader_count = 0;
}

bool library_blame(const char *name, error *err)
{
    char detail[sizeof err->detail];

    err->pointer[0] = err->caret[0] = '\0';
    err->line = err->column = 0;
    if (err->kind == ERR_CYCLE)
        return false;
    snprintf(detail, sizeof detail, "in the stored graph '%.40s': %.400s", name, err->detail);
    memcpy(err->detail, detail, sizeof detail);
    return false;
}

/* ---- Reading ------------------------------------------------------------------------ */

bool library_read(library *l, const char *text, size_t n, wire_request *says, error *err)
{
    const wire_reader_options options = {
        .format = WIRE_JSON, .document = WIRE_GRAPH_BODY, .length = (int64_t)n};
    wire_reader *r = wire_reader_new(l->arena, l->budget, &options, err);

    if (r == NULL)
        return false;
    l->readers =
        arena_grow(l->arena, l->readers, l->reader_count, &l->reader_room, sizeof *l->readers);
    l->readers[l->reader_count++] = r;
    return wire_reader_feed(r, text, n, err) && wire_reader_end(r, err) &&
           wire_read_graph(wire_reader_root(r), l->arena, says, err);
}

static const entry *find_entry(library *l, const char *name)
{
    const entry *e = snapshot_find(txn_base(l->txn), name);

    return l->note_reads && e != NULL ? txn_read(l->txn, name) : e;
}

static bool load_entry(library *l, const entry *e, wire_request *says, error *err)
{
    buffer *text = entry_text(l->services->storage, e, err);
    bool ok;

    if (text == NULL)
        return false;
    ok = library_read(l, buffer_bytes(text), (size_t)entry_nbytes(e), says, err);
    buffer_unref(text);
    return ok;
}

bool library_load(library *l, const char *name, wire_request *says, error *err)
{
    const entry *e = find_entry(l, name);

    if (e == NULL || e->kind != ENTRY_GRAPH)
        return stored_find(txn_base(l->txn), ENTRY_GRAPH, name, err) != NULL;
    return load_entry(l, e, says, err);
}

/* ---- Names of a graph that stands by itself --------------------------------------------- */

/* The scope of one graph: stored variables are inputs of their types. */
typedef struct own_scope {
    library *library;
    table values; /* what was asked for */
} own_scope;

static bool resolve(void *context, graph *g, const char *name, value *result, error *err)
{
    own_scope *s = context;
    const entry *e = snapshot_find(txn_base(s->library->txn), name);
    value *known = table_get(&s->values, name);
    type t = {.dtype = DT_F64};

    *result = known != NULL ? *known : (value){0};
    if (known != NULL || e == NULL || e->kind != ENTRY_VARIABLE)
        return true;
    t.dtype = entry_dtype(e);
    entry_shape(e, &t.shape);
    *result = graph_input(g, name, &t, err);
    known = arena_alloc(s->library->arena, sizeof *known);
    *known = *result;
    table_put(&s->values, name, known);
    return result->node != NULL;
}

static const char *nearest(void *context, const char *name)
{
    const library *l = ((own_scope *)context)->library;

    return stored_nearest(txn_base(l->txn), ENTRY_VARIABLE, name, l->arena);
}

static bool find_op(void *context, const char *name, const op_def **result, error *err)
{
    return library_find(((own_scope *)context)->library, name, result, err);
}

static const lang_scope *own_scope_new(library *l)
{
    own_scope *own = arena_alloc(l->arena, sizeof *own);
    lang_scope *scope = arena_alloc(l->arena, sizeof *scope);

    own->library = l;
    table_init(&own->values, l->arena);
    *scope = (lang_scope){own, resolve, nearest, find_op, resolve};
    return scope;
}

/* ---- Building ----------------------------------------------------------------------------- */

static int input_index(const graph *g, const char *name)
{
    for (int i = 0; i < g->input_count; i++)
        if (strcmp(g->inputs[i].node->name, name) == 0)
            return i;
    return -1;
}

/* Inputs that are declared and not used are inputs all the same. */
static bool add_unused(source *s, error *err)
{
    const bool program = s->says->program != NULL;
    declared *d = program ? &s->declared : &s->json.declared;
    const lang_scope scope = declared_scope(d);
    value v;

    for (size_t i = 0; i < d->types.count; i++)
        if (!(program ? scope.resolve(scope.context, s->graph, d->types.entries[i].key, &v, err)
                      : graph_json_find(&s->json, d->types.entries[i].key, &v, err)))
            return false;
    return true;
}

/* Puts the input of a name next in the order, unless it is there; false if there is none. */
static bool put_next(const graph *g, const char *name, int *order, int *count, bool *placed)
{
    const int at = input_index(g, name);

    if (at >= 0 && !placed[at])
        order[(*count)++] = at;
    if (at >= 0)
        placed[at] = true;
    return at >= 0;
}

/* What was asked for, then a graph's inputs as it declares them, then all others as they
 * appear. */
static bool set_order(library_graph *b, error *err)
{
    const graph *g = b->graph;
    const table *declared = &b->source.json.declared.types;
    bool *placed = arena_array(g->arena, (size_t)g->input_count + 1, sizeof *placed);
    int count = 0;

    b->order = arena_array(g->arena, (size_t)g->input_count + 1, sizeof *b->order);
    for (size_t i = 0; i < b->says.params.count; i++) {
        if (put_next(g, b->says.params.items[i], b->order, &count, placed))
            continue;
        error_set(err, ERR_UNKNOWN_NAME, "'params' has '%s', which is no input of the graph",
                  b->says.params.items[i]);
        return error_at_pointer(err, b->says.graph != NULL ? "/graph/params/%zu" : "/params/%zu",
                                i);
    }
    for (size_t i = 0; b->says.graph != NULL && i < declared->count; i++)
        put_next(g, declared->entries[i].key, b->order, &count, placed);
    for (int i = 0; i < g->input_count; i++)
        put_next(g, g->inputs[i].node->name, b->order, &count, placed);
    return true;
}

static bool add_results(library_graph *b, error *err)
{
    const char *const *names;
    const value *values;
    bool is_list;
    int count;

    if (!source_results(&b->source, &count, &values, &names, &is_list, err))
        return false;
    for (int i = 0; i < count; i++)
        graph_add_output(b->graph, values[i]);
    return true;
}

static bool build(library *l, library_graph *b, error *err)
{
    const int64_t nodes = l->services->config->graph_nodes_max;
    const source_options options = {
        .scope = own_scope_new(l), .mode = DECLARED_ONLY, .budget = l->budget, .keep_calls = true};

    b->graph = graph_new(l->arena, NULL);
    b->graph->node_limit = nodes < INT32_MAX ? (int)nodes : INT32_MAX;
    l->graphs = arena_grow(l->arena, l->graphs, l->graph_count, &l->graph_room, sizeof *l->graphs);
    l->graphs[l->graph_count++] = b->graph;
    if (!source_build(&b->source, b->graph, &b->says, &options, err) || !add_results(b, err) ||
        !add_unused(&b->source, err) || !set_order(b, err))
        return false;
    return declaration_spread(b->graph, err);
}

/* Notes that a graph is being built, unless it is already. */
static bool enter(library *l, const char *name, error *err)
{
    text path;
    int from = 0;

    while (from < l->depth && strcmp(l->active[from], name) != 0)
        from++;
    if (from == l->depth && l->depth < LIBRARY_DEPTH) {
        l->active[l->depth++] = name;
        return true;
    }
    if (from == l->depth)
        return error_set_limit(err, ERR_GRAPH_SIZE, LIBRARY_DEPTH, l->depth + 1,
                               "stored graphs call each other more than %d levels deep",
                               LIBRARY_DEPTH);
    text_init(&path);
    for (; from < l->depth; from++)
        text_addf(&path, "%s -> ", l->active[from]);
    error_set(err, ERR_CYCLE, "stored graphs call each other in a circle: %s%s", path.bytes, name);
    text_clear(&path);
    return false;
}

bool library_build(library *l, const char *name, library_graph *result, error *err)
{
    bool ok;

    if (!enter(l, name, err))
        return false;
    ok = build(l, result, err);
    l->depth--;
    return ok;
}

/* ---- Operations ------------------------------------------------------------------------------ */

static bool make_op(library *l, const entry *e, const op_def **result, error *err)
{
    library_graph *b = arena_alloc(l->arena, sizeof *b);

    if (!load_entry(l, e, &b->says, err) || !library_build(l, e->name, b, err))
        return false;
    if (b->graph->output_count == 0 || b->graph->output_count > OP_OUTPUTS)
        return error_set(err, ERR_ARGUMENT, "it has %d outputs; a graph that is called has 1 to %d",
                         b->graph->output_count, OP_OUTPUTS);
    *result = define_op(l->arena, e->name, b->graph, b->order);
    return true;
}

bool library_find(library *l, const char *name, const op_def **result, error *err)
{
    const entry *e;

    *result = table_get(&l->ops, name);
    if (*result != NULL)
        return true;
    e = snapshot_find(txn_base(l->txn), name);
    if (e == NULL || e->kind != ENTRY_GRAPH)
        return true;
    if (!make_op(l, find_entry(l, name), result, err))
        return library_blame(name, err);
    table_put(&l->ops, name, (void *)*result);
    return true;
}
