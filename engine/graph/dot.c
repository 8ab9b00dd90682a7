/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs in Graphviz's language: a compact picture, and Theano's. */
#include <string.h>

#include "engine/graph/view_private.h"

enum { LABEL_BYTES = 60 };

typedef struct drawer {
    arena *arena;
    text *out;
    text clusters; /* which nodes stand together: told behind the nodes */
    const view_plan *plan;
} drawer;

/* A graph that is drawn. */
typedef struct scope {
    const graph *graph;
    const char *prefix; /* of its nodes' names */
    const struct scope *outer;
    bool *shown;     /* by node id */
    value *captured; /* by node id, of inputs: what they stand for outside, or no node */
} scope;

/* ---- Labels ------------------------------------------------------------------------------ */

/* Adds a string in quotes, cut if it is long. Graphviz knows the escapes \" and \\ . */
static void add_quoted(text *to, const char *words)
{
    size_t n = 0;

    text_add_char(to, '"');
    for (; words[n] != '\0'; n++) {
        if (n >= LABEL_BYTES && ((unsigned char)words[n] & 0xc0) != 0x80)
            break;
        if (words[n] == '"' || words[n] == '\\')
            text_add_char(to, '\\');
        text_add_char(to, words[n] == '\n' ? ' ' : words[n]);
    }
    text_add(to, words[n] != '\0' ? "…" : "");
    text_add_char(to, '"');
}

/* Adds [label="..", ..]; words is emptied. */
static void add_attributes(drawer *d, text *words, const char *rest)
{
    text_add(d->out, " [label=");
    add_quoted(d->out, words->length > 0 ? words->bytes : "");
    text_addf(d->out, "%s%s];\n", *rest != '\0' ? ", " : "", rest);
    words->length = 0;
}

static void begin(drawer *d, const char *settings)
{
    text_addf(d->out,
              "digraph graph_ {\n  %s\n"
              "  node [fontname=\"Helvetica\", fontsize=11, style=filled];\n"
              "  edge [fontname=\"Helvetica\", fontsize=9];\n",
              settings);
}

static void add_value_label(value v, arena *a, text *words)
{
    const char *name = view_name(v, a);

    if (v.node->constant != NULL && name == NULL)
        view_add_constant(v.node->constant, words);
    else if (name != NULL)
        text_add(words, name);
}

/* ---- Compact ------------------------------------------------------------------------------ */

static scope scope_of(drawer *d, const graph *g, const char *prefix, const scope *outer)
{
    scope s = {.graph = g, .prefix = prefix, .outer = outer};

    s.shown = view_shown(g, d->arena);
    s.captured = arena_array(d->arena, (size_t)g->count + 1, sizeof *s.captured);
    for (int i = 0; outer != NULL && i < g->input_count; i++)
        s.captured[g->inputs[i].node->id] = g->captured[i];
    return s;
}

/* The name of a node that is drawn: of what was captured, the one it stands for. */
static const char *name_of(drawer *d, const scope *s, const node *n)
{
    while (s->captured[n->id].node != NULL) {
        n = s->captured[n->id].node;
        s = s->outer;
    }
    return arena_format(d->arena, "%sn%d", s->prefix, n->id);
}

static void draw_node(drawer *d, const scope *s, const node *n, text *words)
{
    text_addf(d->out, "  %s", name_of(d, s, n));
    if (n->constant != NULL || n->op == &op_input) {
        add_value_label((value){(node *)n, 0}, d->arena, words);
        add_attributes(d, words,
                       n->constant != NULL ? "shape=box, fillcolor=\"#e0e0e0\", class=\"const\""
                                           : "shape=box, fillcolor=\"#c8e6c9\", class=\"input\"");
        return;
    }
    text_add(words, n->op->name);
    if (view_has_attrs(n)) {
        text_add_char(words, ' ');
        view_add_attrs(n, false, words);
    }
    add_attributes(d, words, "shape=ellipse, fillcolor=\"#ffffff\", class=\"apply\"");
}

static void draw_edge(drawer *d, const scope *s, value from, const char *to, const char *says,
                      const char *rest, text *words)
{
    if (from.node == NULL)
        return;
    if (from.node->output_count > 1)
        text_addf(words, ":%d ", from.index);
    text_add(words, says);
    view_add_label(from, words);
    text_addf(d->out, "  %s -> %s", name_of(d, s, from.node), to);
    add_attributes(d, words, rest);
}

/* What its functions captured goes to where they use it. */
static void draw_inputs(drawer *d, const scope *s, const node *n, text *words)
{
    value dynamic[VIEW_DYNAMIC];
    const int own = graph_own_inputs(n),
              count = own + view_dynamic_inputs(n, dynamic, VIEW_DYNAMIC);
    const char *to = name_of(d, s, n);

    for (int i = 0; i < count; i++)
        draw_edge(d, s, i < own ? n->inputs[i] : dynamic[i - own], to,
                  count > 1 ? arena_format(d->arena, "%d: ", i) : "", "", words);
}

/* The value that is lost when n is computed. */
static void draw_over(drawer *d, const scope *s, const node *n, text *words)
{
    const value over = view_run_of(d->plan, n).over;

    if (over.node != NULL)
        draw_edge(d, s, over, name_of(d, s, n), "in place of ",
                  "style=dashed, constraint=false, class=\"in-place\"", words);
}

static bool is_drawn(const scope *s, const node *n)
{
    return s->shown[n->id] && s->captured[n->id].node == NULL;
}

/* The nodes of each pass stand together in a dashed box. */
static void group_passes(drawer *d, const scope *s)
{
    const view_runs *r = view_runs_of(d->plan, s->graph);

    for (int i = 0; r != NULL && i < r->pass_count; i++) {
        text_addf(&d->clusters,
                  "  subgraph cluster_pass%d { label=\"fused %d\"; style=\"dashed,rounded\"; "
                  "class=\"fused\";",
                  r->first_pass + i, r->first_pass + i);
        for (int k = 0; k < r->passes[i].count; k++)
            text_addf(&d->clusters, " %s;", name_of(d, s, r->passes[i].nodes[k]));
        text_add(&d->clusters, " }\n");
    }
}

/* The others, of a function: in the box that is open. */
static void group_others(drawer *d, const scope *s)
{
    for (int i = 0; i < s->graph->count; i++) {
        const node *n = s->graph->nodes[i];

        if (is_drawn(s, n) && view_run_of(d->plan, n).fused == 0)
            text_addf(&d->clusters, " %s;", name_of(d, s, n));
    }
    text_add_char(&d->clusters, '\n');
}

static void draw_graph(drawer *d, const scope *s, text *words);

/* The function in attribute k of n: a box, whose results go to n. */
static void draw_function(drawer *d, const scope *outer, const node *n, int k, text *words)
{
    const char *owner = name_of(d, outer, n), *what = op_attr_param(n->op, k)->name;
    const graph *g = n->attrs[k].graph;
    const scope s = scope_of(d, g, arena_format(d->arena, "%s_%d", owner, k), outer);

    text_addf(&d->clusters,
              "  subgraph cluster_%s { label=\"%s\"; style=rounded; class=\"function\";\n",
              s.prefix, what);
    draw_graph(d, &s, words);
    for (int i = 0; i < g->output_count; i++)
        draw_edge(d, &s, g->outputs[i], owner,
                  g->output_count > 1 ? arena_format(d->arena, "%s %d: ", what, i)
                                      : arena_format(d->arena, "%s: ", what),
                  "style=dotted", words);
    text_add(&d->clusters, "  }\n");
}

/* Calls itself for functions, whose nesting is bounded. */
static void draw_graph(drawer *d, const scope *s, text *words)
{
    const graph *g = s->graph;

    for (int i = 0; i < g->count; i++) {
        if (!is_drawn(s, g->nodes[i]))
            continue;
        draw_node(d, s, g->nodes[i], words);
        draw_inputs(d, s, g->nodes[i], words);
        draw_over(d, s, g->nodes[i], words);
    }
    group_passes(d, s);
    if (s->outer != NULL)
        group_others(d, s);
    for (int i = 0; i < g->count; i++)
        for (int k = 0; is_drawn(s, g->nodes[i]) && k < g->nodes[i]->op->attr_count; k++)
            if (g->nodes[i]->attrs[k].kind == ATTR_GRAPH)
                draw_function(d, s, g->nodes[i], k, words);
}

static void draw_outputs(drawer *d, const scope *s, text *words)
{
    const graph *g = s->graph;

    for (int i = 0; i < g->output_count; i++) {
        const char *name = view_name(g->outputs[i], d->arena);

        text_addf(d->out, "  o%d", i);
        text_add(words, name != NULL ? name : arena_format(d->arena, "output %d", i));
        add_attributes(d, words, "shape=box, fillcolor=\"#bbdefb\", class=\"output\"");
        draw_edge(d, s, g->outputs[i], arena_format(d->arena, "o%d", i), "", "", words);
    }
}

void view_dot(const graph *g, const view_plan *plan, text *t)
{
    drawer d = {.arena = arena_new(), .out = t, .plan = plan};
    const scope s = scope_of(&d, g, "", NULL);
    text words;

    text_init(&words);
    text_init(&d.clusters);
    text_add(&d.clusters, "");
    begin(&d, "rankdir=TB;");
    draw_graph(&d, &s, &words);
    draw_outputs(&d, &s, &words);
    text_add(t, d.clusters.bytes);
    text_add(t, "}\n");
    text_clear(&d.clusters);
    text_clear(&words);
    arena_free(d.arena);
}

/* ---- Theano's structure ------------------------------------------------------------------------
 */

static void draw_arrow(drawer *d, const char *from, const char *to, const char *what)
{
    text_addf(d->out, "  %s -> %s [label=\"%s\"];\n", from, to, what);
}

/* A type is drawn once for each variable, as in Theano's pictures. */
static void draw_variable(drawer *d, value v, text *words)
{
    const char *id = arena_format(d->arena, "v%d_%d", v.node->id, v.index);
    const char *type = arena_format(d->arena, "t%d_%d", v.node->id, v.index);

    text_addf(d->out, "  %s", id);
    add_value_label(v, d->arena, words);
    if (words->length == 0)
        text_add(words, "Variable");
    add_attributes(d, words, "shape=box, fillcolor=\"#ef9a9a\", color=\"red\", class=\"var\"");
    text_addf(d->out, "  %s", type);
    view_add_type(v, words);
    add_attributes(d, words, "shape=box, fillcolor=\"#ce93d8\", color=\"purple\", class=\"type\"");
    draw_arrow(d, id, type, "type");
    if (view_is_apply(v.node))
        draw_arrow(d, id, arena_format(d->arena, "a%d", v.node->id), "owner");
}

static void draw_input_arrows(drawer *d, const node *n)
{
    value dynamic[VIEW_DYNAMIC];
    const int own = n->input_count, count = own + view_dynamic_inputs(n, dynamic, VIEW_DYNAMIC);

    for (int i = 0; i < count; i++) {
        const value v = i < own ? n->inputs[i] : dynamic[i - own];

        if (v.node != NULL)
            draw_arrow(d, arena_format(d->arena, "a%d", n->id),
                       arena_format(d->arena, "v%d_%d", v.node->id, v.index),
                       arena_format(d->arena, "inputs[%d]", i));
    }
}

static void draw_apply(drawer *d, const node *n, text *words)
{
    const char *id = arena_format(d->arena, "a%d", n->id);
    const char *op = arena_format(d->arena, "p%d", n->id);

    text_addf(d->out, "  %s", id);
    text_add(words, "Apply");
    add_attributes(d, words, "shape=box, fillcolor=\"#90caf9\", color=\"blue\", class=\"apply\"");
    text_addf(d->out, "  %s", op);
    view_add_display(n, words);
    add_attributes(d, words, "shape=circle, fillcolor=\"#a5d6a7\", color=\"green\", class=\"op\"");
    draw_arrow(d, id, op, "op");
    draw_input_arrows(d, n);
    for (int i = 0; i < n->output_count; i++)
        draw_arrow(d, id, arena_format(d->arena, "v%d_%d", n->id, i),
                   arena_format(d->arena, "outputs[%d]", i));
}

void view_structure(const graph *g, text *t)
{
    drawer d = {.arena = arena_new(), .out = t};
    const bool *shown = view_shown(g, d.arena);
    text words;

    text_init(&words);
    begin(&d, "rankdir=BT;");
    for (int i = 0; i < g->count; i++) {
        if (!shown[i])
            continue;
        for (int k = 0; k < g->nodes[i]->output_count; k++)
            draw_variable(&d, (value){g->nodes[i], k}, &words);
        if (view_is_apply(g->nodes[i]))
            draw_apply(&d, g->nodes[i], &words);
    }
    text_add(t, "}\n");
    text_clear(&words);
    arena_free(d.arena);
}
