/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs in Graphviz's language: a compact picture, and Theano's. */
#include <string.h>

#include "engine/graph/view_private.h"

enum { LABEL_BYTES = 60 };

typedef struct drawer {
    const graph *graph;
    arena *arena;
    text *out;
    bool *shown;
} drawer;

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

/* ---- Compact ------------------------------------------------------------------------------- */

static void draw_node(drawer *d, const node *n, text *words)
{
    text_addf(d->out, "  n%d", n->id);
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
        view_add_attrs(n, words);
    }
    add_attributes(d, words, "shape=ellipse, fillcolor=\"#ffffff\", class=\"apply\"");
}

static void draw_edge(drawer *d, value from, const char *to, int position, bool numbered,
                      text *words)
{
    if (from.node == NULL)
        return;
    if (from.node->output_count > 1)
        text_addf(words, ":%d ", from.index);
    if (numbered)
        text_addf(words, "%d: ", position);
    view_add_label(from, words);
    text_addf(d->out, "  n%d -> %s", from.node->id, to);
    add_attributes(d, words, "");
}

static void draw_inputs(drawer *d, const node *n, text *words)
{
    value dynamic[VIEW_DYNAMIC];
    const int count = view_dynamic_inputs(n, dynamic, VIEW_DYNAMIC);
    const char *to = arena_format(d->arena, "n%d", n->id);
    const bool numbered = n->input_count + count > 1;

    for (int i = 0; i < n->input_count; i++)
        draw_edge(d, n->inputs[i], to, i, numbered, words);
    for (int i = 0; i < count; i++)
        draw_edge(d, dynamic[i], to, n->input_count + i, numbered, words);
}

static void draw_outputs(drawer *d, text *words)
{
    const graph *g = d->graph;

    for (int i = 0; i < g->output_count; i++) {
        const char *name = view_name(g->outputs[i], d->arena);

        text_addf(d->out, "  o%d", i);
        text_add(words, name != NULL ? name : arena_format(d->arena, "output %d", i));
        add_attributes(d, words, "shape=box, fillcolor=\"#bbdefb\", class=\"output\"");
        draw_edge(d, g->outputs[i], arena_format(d->arena, "o%d", i), 0, false, words);
    }
}

void view_dot(const graph *g, text *t)
{
    drawer d = {.graph = g, .arena = arena_new(), .out = t};
    text words;

    text_init(&words);
    d.shown = view_shown(g, d.arena);
    begin(&d, "rankdir=TB;");
    for (int i = 0; i < g->count; i++) {
        if (!d.shown[i])
            continue;
        draw_node(&d, g->nodes[i], &words);
        draw_inputs(&d, g->nodes[i], &words);
    }
    draw_outputs(&d, &words);
    text_add(t, "}\n");
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
    drawer d = {.graph = g, .arena = arena_new(), .out = t};
    text words;

    text_init(&words);
    d.shown = view_shown(g, d.arena);
    begin(&d, "rankdir=BT;");
    for (int i = 0; i < g->count; i++) {
        if (!d.shown[i])
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
