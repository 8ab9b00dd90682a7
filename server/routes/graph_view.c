/* SPDX-License-Identifier: Apache-2.0 */
/* A stored graph as it was put, and as text and pictures. */
#include <string.h>

#include "engine/base/json.h"
#include "engine/engine.h"
#include "engine/graph/declaration.h"
#include "engine/graph/define.h"
#include "engine/graph/view.h"
#include "server/routes/graphviz.h"
#include "server/routes/handlers.h"
#include "server/routes/library.h"
#include "server/routes/stored.h"

enum { REPORT_DEPTH = 3 }; /* of operations, in what is said of a rewrite */

/* ---- What is asked ---------------------------------------------------------------------- */

/* A way to show a graph. */
typedef struct view_kind {
    const char *name, *media; /* media: how Accept asks for it, where that says enough */
    const char *answered;
    void (*write)(const graph *g, text *t);
    void (*write_structure)(const graph *g, text *t);                   /* style=structure */
    void (*write_plan)(const graph *g, const view_plan *plan, text *t); /* in place of write */
} view_kind;

static void write_json(const graph *g, text *t)
{
    text_add(t, "{\"graph\":");
    graph_json_write(g, t);
    text_add(t, "}\n");
}

static void write_apply(const graph *g, text *t)
{
    view_apply(g, t);
    text_add_char(t, '\n');
}

static const view_kind kinds[] = {
    {"json", "application/json", "application/json", write_json, NULL, NULL},
    {"apply", NULL, "application/json", write_apply, NULL, NULL},
    {"debug", "text/plain", "text/plain; charset=utf-8", NULL, NULL, view_debug},
    {"pretty", NULL, "text/plain; charset=utf-8", view_pretty, NULL, NULL},
    {"latex", NULL, "text/plain; charset=utf-8", view_latex, NULL, NULL},
    {"dot", "text/vnd.graphviz", "text/vnd.graphviz; charset=utf-8", NULL, view_structure,
     view_dot},
    {"svg", "image/svg+xml", "image/svg+xml", NULL, view_structure, view_dot},
    {"rewrites", NULL, "application/json", NULL, NULL, NULL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };
static const view_kind *const as_stored = &kinds[0], *const svg = &kinds[KINDS - 2],
                              *const rewrites = &kinds[KINDS - 1];

typedef struct view {
    const view_kind *kind;
    bool optimized, expand, structure, strict;
    library library;
    library_graph stored;
    graph *graph; /* that is shown */
    arena *arena;
} view;

static bool read_kind(const http_request *r, const view_kind **kind, error *err)
{
    const char *word = http_query(r, "view");

    for (int i = 0; i < KINDS; i++) {
        const char *is = word != NULL ? kinds[i].name : kinds[i].media;

        if (is != NULL && strcmp(is, word != NULL ? word : route_media(r)) == 0) {
            *kind = &kinds[i];
            return true;
        }
    }
    return error_set(
        err, ERR_REQUEST,
        "view is json, apply, debug, pretty, latex, dot, svg or rewrites, not '%.40s'.", word);
}

static bool read_flag(const http_request *r, const char *name, bool *flag, error *err)
{
    const char *word = http_query(r, name);

    *flag = word != NULL && (strcmp(word, "true") == 0 || strcmp(word, "1") == 0);
    return word == NULL || *flag || strcmp(word, "false") == 0 || strcmp(word, "0") == 0 ||
           error_set(err, ERR_REQUEST, "%s is true or false, not '%.40s'.", name, word);
}

static bool read_view(const http_request *r, view *v, error *err)
{
    const char *style = http_query(r, "style");

    v->structure = style != NULL && strcmp(style, "structure") == 0;
    if (style != NULL && !v->structure && strcmp(style, "compact") != 0)
        return error_set(err, ERR_REQUEST, "style is compact or structure, not '%.40s'.", style);
    return read_kind(r, &v->kind, err) && read_flag(r, "optimized", &v->optimized, err) &&
           read_flag(r, "expand", &v->expand, err) && read_flag(r, "strict", &v->strict, err);
}

/* ---- The graph that is shown ---------------------------------------------------------------- */

/* Puts a graph in the place of the one that is shown. */
static bool replace(view *v, graph *g)
{
    graph_release(v->graph);
    v->graph = g;
    return g != NULL;
}

/* Without what no output needs. */
static bool cut(view *v, error *err)
{
    graph *part = graph_new(v->arena, NULL);
    bool *needed = arena_array(v->arena, (size_t)v->graph->input_count + 1, sizeof *needed);
    const bool ok = graph_extract(v->graph, NULL, 0, part, needed, err);

    return replace(v, part) && ok;
}

static bool prepare(view *v, rewrite_log *log, void *context, error *err)
{
    if (v->expand && !replace(v, define_inline(v->graph, v->arena, err)))
        return false;
    return !(v->optimized || v->kind == rewrites) ||
           (cut(v, err) &&
            replace(v, engine_optimized(v->graph, v->strict, log, context, v->arena, err)) &&
            cut(v, err));
}

/* ---- view=rewrites ----------------------------------------------------------------------------
 */

static void add_value(json_writer *w, const char *key, value v)
{
    text formula;

    text_init(&formula);
    view_value(v, REPORT_DEPTH, &formula);
    json_string(w, key, formula.bytes);
    text_clear(&formula);
}

static void add_event(void *context, const rewrite_event *e)
{
    json_writer *w = context;

    json_begin(w, NULL, '{');
    json_string(w, "phase", e->phase);
    if (e->rule != NULL) {
        text rule;

        text_init(&rule);
        text_addf(&rule, "%s -> %s", e->rule, e->rule_gives);
        json_string(w, "rule", rule.bytes);
        text_clear(&rule);
    }
    if (e->before.node != NULL)
        add_value(w, "before", e->before);
    add_value(w, "after", e->after);
    json_end(w, '}');
}

/* What is computed in one pass over memory, and what comes out last. */
static void add_pass(json_writer *w, const view_pass *p)
{
    json_begin(w, NULL, '{');
    json_string(w, "phase", "fuse");
    json_begin(w, "operations", '[');
    for (int i = 0; i < p->count; i++)
        json_string(w, NULL, p->nodes[i]->op->name);
    json_end(w, ']');
    add_value(w, "after", (value){(node *)p->nodes[p->count - 1], 0});
    json_end(w, '}');
}

static void add_in_place(json_writer *w, const node *n, value over)
{
    json_begin(w, NULL, '{');
    json_string(w, "phase", "in-place");
    add_value(w, "before", over);
    add_value(w, "after", (value){(node *)n, 0});
    json_end(w, '}');
}

/* The phases of planning: graph by graph, functions after what has them. */
static void add_plan(json_writer *w, const view_plan *plan)
{
    for (size_t i = 0; i < plan->graphs.count; i++) {
        const view_runs *r = plan->graphs.entries[i].value;

        for (int k = 0; k < r->pass_count; k++)
            add_pass(w, &r->passes[k]);
        for (int k = 0; k < r->graph->count; k++)
            if (r->runs[k].over.node != NULL)
                add_in_place(w, r->graph->nodes[k], r->runs[k].over);
    }
}

static bool write_rewrites(view *v, text *t, error *err)
{
    json_writer w = json_to(t, false);
    const view_plan *plan;
    bool ok;

    json_begin(&w, NULL, '{');
    json_begin(&w, "rewrites", '[');
    ok = prepare(v, add_event, &w, err);
    plan = ok ? engine_outline(v->graph, v->arena) : NULL;
    if (ok)
        add_plan(&w, plan);
    json_end(&w, ']');
    if (ok && plan->assumed != NULL)
        json_string(&w, "assumed", plan->assumed);
    json_end(&w, '}');
    text_add_char(t, '\n');
    return ok;
}

/* ---- Answers
 * --------------------------------------------------------------------------------------- */

static void write_graph(const view *v, text *t)
{
    error ignored = {0}; /* names that cannot be were refused when the graph was built */

    declaration_spread(v->graph, &ignored);
    if (v->structure && v->kind->write_structure != NULL)
        v->kind->write_structure(v->graph, t);
    else if (v->kind->write_plan != NULL)
        v->kind->write_plan(v->graph, v->optimized ? engine_outline(v->graph, v->arena) : NULL, t);
    else
        v->kind->write(v->graph, t);
}

static bool write_view(const http_request *r, view *v, text *t, error *err)
{
    text picture;
    bool ok = true;

    if (v->kind == rewrites)
        return write_rewrites(v, t, err);
    if (!prepare(v, NULL, NULL, err))
        return false;
    write_graph(v, t);
    if (v->kind == svg) {
        text_init(&picture);
        ok = graphviz_svg(t, r->deadline_us, &picture, err);
        text_clear(t);
        *t = picture;
    }
    return ok;
}

/* Builds the stored graph, and a copy of it to be shown: the library keeps its own. */
static bool build(view *v, const entry *e, error *err)
{
    const graph *from;
    graph_map *map;

    if (!library_load(&v->library, e->name, &v->stored.says, err) ||
        !library_build(&v->library, e->name, &v->stored, err))
        return library_blame(e->name, err);
    from = v->stored.graph;
    v->graph = graph_new(v->arena, NULL);
    v->graph->node_limit = from->node_limit;
    map = graph_map_new(from, v->graph);
    if (!graph_map_all(map, err))
        return false;
    for (int i = 0; i < from->output_count; i++)
        graph_add_output(v->graph, graph_map_get(map, from->outputs[i]));
    return true;
}

static bool answer_view(http_request *r, view *v, const entry *e, error *err)
{
    text t;

    text_init(&t);
    text_add(&t, "");
    if (!build(v, e, err) || !write_view(r, v, &t, err)) {
        text_clear(&t);
        return false;
    }
    answer_text(r, 200, v->kind->answered, &t);
    return true;
}

static bool answer_stored(services *s, http_request *r, const entry *e, error *err)
{
    return stored_answer_kept(r, entry_text(s->storage, e, err));
}

/* Only the text as it was put is the same as long as the graph is: what it means depends
 * on variables and other graphs. */
static bool answer_entry(services *s, http_request *r, view *v, const entry *e, error *err)
{
    if (v->kind != as_stored || v->optimized || v->expand)
        return answer_view(r, v, e, err);
    if (stored_is_known(s, r, e, "graph")) {
        answer_empty(r, 304);
        stored_answer_etag(s, r, e, "graph");
        return true;
    }
    if (!answer_stored(s, r, e, err))
        return false;
    stored_answer_etag(s, r, e, "graph");
    answer_header(r, "Cache-Control", "private, no-cache");
    return true;
}

bool graph_get(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    view *v = arena_alloc(r->arena, sizeof *v);
    const entry *e;
    budget budget;
    txn *x;
    bool ok;

    if (name == NULL || !read_view(r, v, err))
        return false;
    budget_init(&budget, s->config->plan_bytes_max);
    x = stored_txn(s, r, DURABILITY_DISK);
    v->arena = r->arena;
    library_init(&v->library, s, r->arena, x, false, &budget);
    e = stored_find(txn_base(x), ENTRY_GRAPH, name, err);
    ok = e != NULL && answer_entry(s, r, v, e, err);
    if (ok)
        stored_answer_number(r, "Tensord-Snapshot", snapshot_commit(txn_base(x)));
    if (v->graph != NULL)
        graph_release(v->graph);
    library_clear(&v->library);
    txn_free(x);
    return ok;
}
