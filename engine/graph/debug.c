/* SPDX-License-Identifier: Apache-2.0 */
/* Theano's debugprint. */
#include <stdlib.h>
#include <string.h>

#include "engine/graph/view_private.h"

enum { DEPTH_MAX = 100 }; /* deeper trees go on at the margin */

/* A line to come. */
typedef struct line {
    value value;
    int depth;
    bool last; /* of the inputs of its apply */
} line;

typedef struct printer {
    arena *arena;
    text *out;
    const view_plan *plan;
    int *ids, id_count; /* by node id, from 1 */
    bool *printed;      /* whether the node's inputs were */
    line *stack;
    size_t height, room;
    value *later; /* trees that go on at the margin */
    size_t later_count, later_room;
    const node **inner; /* nodes with graphs of their own */
    size_t inner_count, inner_room;
    bool closed[DEPTH_MAX + 1]; /* no more lines come at this depth */
} printer;

/* ---- One line ----------------------------------------------------------------------------- */

/* Letters count: A .. Z, BA, BB .. */
static void add_id(int number, text *t)
{
    char letters[8];
    int n = 0;

    do
        letters[n++] = (char)('A' + number % 26);
    while ((number /= 26) > 0);
    while (n > 0)
        text_add_char(t, letters[--n]);
}

static int id_of(printer *p, const node *n)
{
    if (p->ids[n->id] == 0)
        p->ids[n->id] = ++p->id_count;
    return p->ids[n->id] - 1;
}

static void add_what(printer *p, value v)
{
    if (v.node->constant != NULL) {
        text_add(p->out, "TensorConstant{");
        view_add_constant(v.node->constant, p->out);
        text_add_char(p->out, '}');
    } else if (v.node->op == &op_input) {
        text_add(p->out, v.node->name);
    } else {
        view_add_display(v.node, p->out);
        if (v.node->output_count > 1)
            text_addf(p->out, ".%d", v.index);
    }
}

static void add_run(printer *p, const node *n)
{
    const view_run run = view_run_of(p->plan, n);

    if (run.fused > 0)
        text_addf(p->out, " fused %d", run.fused);
    if (run.over.node == NULL)
        return;
    text_add(p->out, " in place of [id ");
    add_id(id_of(p, run.over.node), p->out);
    text_add_char(p->out, ']');
}

static void add_line(printer *p, const line *l)
{
    value v = l->value;
    const char *name = v.node == NULL ? NULL : view_name(v, p->arena);

    for (int i = 1; i < l->depth; i++)
        text_add(p->out, p->closed[i] ? "  " : " |");
    text_add(p->out, l->depth > 0 ? " |" : "");
    if (v.node == NULL) {
        text_add(p->out, "None\n");
        return;
    }
    add_what(p, v);
    text_add(p->out, " [id ");
    add_id(id_of(p, v.node), p->out);
    text_add(p->out, "] <");
    view_add_type(v, p->out);
    text_add_char(p->out, '>');
    if (view_is_apply(v.node))
        text_addf(p->out, " '%s'", name != NULL ? name : "");
    add_run(p, v.node);
}

/* ---- Trees ---------------------------------------------------------------------------------- */

static void push(printer *p, value v, int depth, bool last)
{
    p->stack = arena_grow(p->arena, p->stack, p->height, &p->room, sizeof *p->stack);
    p->stack[p->height++] = (line){v, depth, last};
}

static void push_inputs(printer *p, const node *n, int depth)
{
    value dynamic[VIEW_DYNAMIC];
    const int count = view_dynamic_inputs(n, dynamic, VIEW_DYNAMIC);
    bool last = true;

    for (int i = count - 1; i >= 0; i--, last = false)
        push(p, dynamic[i], depth, last);
    for (int i = n->input_count - 1; i >= 0; i--, last = false)
        push(p, n->inputs[i], depth, last);
}

/* What follows a line: nothing, a mark, or the inputs. */
static void open_node(printer *p, const line *l)
{
    node *n = l->value.node;

    if (!view_is_apply(n))
        return;
    if (p->printed[n->id]) {
        text_add(p->out, " ···");
        return;
    }
    if (l->depth == DEPTH_MAX) {
        text_add(p->out, " ↓");
        p->later = arena_grow(p->arena, p->later, p->later_count, &p->later_room, sizeof *p->later);
        p->later[p->later_count++] = l->value;
        return;
    }
    p->printed[n->id] = true;
    push_inputs(p, n, l->depth + 1);
    if (n->op->body == NULL && !view_has_functions(n))
        return;
    p->inner = arena_grow(p->arena, p->inner, p->inner_count, &p->inner_room, sizeof *p->inner);
    p->inner[p->inner_count++] = n;
}

static void print_tree(printer *p, value root)
{
    push(p, root, 0, true);
    while (p->height > 0) {
        const line l = p->stack[--p->height];

        p->closed[l.depth] = l.last;
        add_line(p, &l);
        if (l.value.node == NULL)
            continue;
        open_node(p, &l);
        text_add_char(p->out, '\n');
    }
}

/* ---- Graphs -----------------------------------------------------------------------------------
 */

static void print_graph(const graph *g, const view_plan *plan, text *t);

/* Adds lines, each further to the right. */
static void add_indented(const char *lines, text *t)
{
    while (*lines != '\0') {
        const size_t n = strcspn(lines, "\n");

        text_addf(t, "%s%.*s\n", n > 0 ? "  " : "", (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
}

static void print_one_inner(printer *p, const node *n, const graph *inner, const char *what)
{
    text body;

    text_add_char(p->out, '\n');
    view_add_display(n, p->out);
    text_add(p->out, " [id ");
    add_id(id_of(p, n), p->out);
    text_addf(p->out, "] %s:\n", what);
    text_init(&body);
    text_add(&body, "");
    print_graph(inner, p->plan, &body);
    add_indented(body.bytes, p->out);
    text_clear(&body);
}

/* The graphs inside of nodes, each under the id of its node. */
static void print_inner(printer *p)
{
    for (size_t i = 0; i < p->inner_count; i++) {
        const node *n = p->inner[i];

        if (n->op->body != NULL)
            print_one_inner(p, n, n->definition, "is");
        for (int k = 0; k < n->op->attr_count; k++)
            if (n->attrs[k].kind == ATTR_GRAPH)
                print_one_inner(p, n, n->attrs[k].graph, op_attr_param(n->op, k)->name);
    }
}

/* Calls itself for graphs inside of nodes. */
static void print_graph(const graph *g, const view_plan *plan, text *t)
{
    printer *p = calloc(1, sizeof *p);
    arena *a = arena_new();

    if (p == NULL)
        abort();
    *p = (printer){.arena = a, .out = t, .plan = plan};
    p->ids = arena_array(a, (size_t)g->count + 1, sizeof *p->ids);
    p->printed = arena_array(a, (size_t)g->count + 1, sizeof *p->printed);
    for (int i = 0; i < g->output_count; i++)
        print_tree(p, g->outputs[i]);
    for (size_t i = 0; i < p->later_count; i++)
        if (!p->printed[p->later[i].node->id])
            print_tree(p, p->later[i]);
    print_inner(p);
    arena_free(a);
    free(p);
}

void view_debug(const graph *g, const view_plan *plan, text *t)
{
    text_add(t, "");
    print_graph(g, plan, t);
}
