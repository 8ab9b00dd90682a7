/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as JSON. Sub-graphs are written inside the node that has them; how deep they
 * can stand is bounded where graphs are built. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/base/name.h"
#include "engine/base/number.h"
#include "server/wire/graph_json.h"
#include "server/wire/writer.h"

typedef struct printer {
    arena *arena;
    json_writer json;
    table used; /* names that stand for something already */
} printer;

/* A graph being written: the name of every node. */
typedef struct scope {
    const graph *graph;
    const struct scope *outer;
    const char **names; /* by node id; NULL: stands in place */
} scope;

/* ---- Names --------------------------------------------------------------------------- */

static const char *fresh(printer *p, const node *n)
{
    const bool fits = n->name != NULL && name_scan(n->name, strlen(n->name)) == strlen(n->name) &&
                      strlen(n->name) <= NAME_BYTES - 8;
    const char *wanted = fits ? n->name : arena_format(p->arena, "v%d", n->id), *name = wanted;

    for (int i = 1; table_get(&p->used, name) != NULL; i++)
        name = arena_format(p->arena, "%s_%d", wanted, i);
    table_put(&p->used, name, p);
    return name;
}

/* The scope and the value that an input of a sub-graph stands for. */
static value origin(const scope **s, value v)
{
    while ((*s)->outer != NULL && v.node->op == &op_input) {
        const graph *g = (*s)->graph;
        int i = 0;

        while (g->inputs[i].node != v.node)
            i++;
        if (i < graph_param_count(g))
            break;
        v = g->captured[i];
        *s = (*s)->outer;
    }
    return v;
}

static const char *reference(printer *p, const scope *s, value v)
{
    const char *name;

    v = origin(&s, v);
    name = s->names[v.node->id];
    return v.index == 0 ? name : arena_format(p->arena, "%s:%d", name, v.index);
}

/* ---- Constants ------------------------------------------------------------------------- */

/* Adds what a writer says. */
static void add_written(text *t, wire_writer *w)
{
    size_t n;

    do {
        n = wire_writer_read(w, text_reserve(t, 4096), 4096);
        t->length += n;
    } while (n > 0);
    text_add(t, "");
    wire_writer_free(w);
}

/* The numbers of a weak scalar; in what kind it is weak. */
static void add_weak(printer *p, const tensor *x)
{
    static const char *const kinds[] = {"bool", "int", "int", "float", "complex"};
    wire_writer *w = wire_writer_new(WIRE_JSON);
    text number, object;
    const char *data;

    text_init(&number);
    text_init(&object);
    wire_writer_tensor(w, NULL, x);
    add_written(&number, w);
    data = strstr(number.bytes, "\"data\":") + 7;
    text_addf(&object, "{\"weak\":\"%s\",\"value\":%.*s}", kinds[dtype_info_of(x->dtype)->class],
              (int)strlen(data) - 1, data);
    json_raw(&p->json, NULL, object.bytes);
    text_clear(&object);
    text_clear(&number);
}

static void add_constant(printer *p, const tensor *x)
{
    wire_writer *w;
    text object;

    if (x->weak) {
        add_weak(p, x);
        return;
    }
    w = wire_writer_new(WIRE_JSON);
    text_init(&object);
    wire_writer_tensor(w, NULL, x);
    add_written(&object, w);
    json_raw(&p->json, NULL, object.bytes);
    text_clear(&object);
}

/* ---- Attributes --------------------------------------------------------------------------- */

static void add_reference(printer *p, const scope *s, const char *key, const attr *a)
{
    json_begin(&p->json, key, '{');
    json_string(&p->json, "ref", reference(p, s, (value){a->node, a->output}));
    json_end(&p->json, '}');
}

static void add_float(printer *p, const char *key, double x)
{
    char room[NUMBER_TEXT_MAX + 1];

    *number_print_f64(room, x) = '\0';
    json_raw(&p->json, key, room);
}

static void add_ints(printer *p, const scope *s, const attr *a, int from, int n, const char *key)
{
    json_begin(&p->json, key, '[');
    for (int i = from; i < from + n; i++) {
        if (a->dynamic != NULL && a->dynamic[i].kind == ATTR_DYNAMIC)
            add_reference(p, s, NULL, &a->dynamic[i]);
        else
            json_int(&p->json, NULL, a->ints[i]);
    }
    json_end(&p->json, ']');
}

/* Two lists of axes, kept one behind the other. */
static void add_pair(printer *p, const scope *s, const attr *a, const char *key)
{
    json_begin(&p->json, key, '[');
    add_ints(p, s, a, 0, a->n / 2, NULL);
    add_ints(p, s, a, a->n / 2, a->n / 2, NULL);
    json_end(&p->json, ']');
}

/* Shapes, kept as rank and lengths one behind the other. */
static void add_shapes(printer *p, const attr *a, const char *key)
{
    json_begin(&p->json, key, '[');
    for (int at = 0; at < a->n;) {
        const int end = at + 1 + (int)a->ints[at];

        json_begin(&p->json, NULL, '[');
        for (at++; at < end; at++) {
            if (a->ints[at] == LENGTH_UNKNOWN)
                json_raw(&p->json, NULL, "null");
            else
                json_int(&p->json, NULL, a->ints[at]);
        }
        json_end(&p->json, ']');
    }
    json_end(&p->json, ']');
}

static void add_key(printer *p, const char *key, const attr *a)
{
    text t;

    text_init(&t);
    op_key_write(a, NULL, &t);
    json_string(&p->json, key, t.bytes);
    text_clear(&t);
}

static void add_graph(printer *p, const graph *g, const scope *outer, const char *key);

static void add_attr(printer *p, const scope *s, const op_param *param, const attr *a)
{
    const char *key = param->name;

    switch (a->kind) {
    case ATTR_NONE:
        json_raw(&p->json, key, "null");
        break;
    case ATTR_BOOL:
        json_bool(&p->json, key, a->truth);
        break;
    case ATTR_INT:
        json_int(&p->json, key, a->integer);
        break;
    case ATTR_FLOAT:
        add_float(p, key, a->real);
        break;
    case ATTR_TEXT:
        json_string(&p->json, key, a->text);
        break;
    case ATTR_DTYPE:
        json_string(&p->json, key, dtype_name(a->dtype));
        break;
    case ATTR_INTS:
        if (param->kind == PARAM_PAIR)
            add_pair(p, s, a, key);
        else if (param->kind == PARAM_SHAPES)
            add_shapes(p, a, key);
        else
            add_ints(p, s, a, 0, a->n, key);
        break;
    case ATTR_INDEX:
        add_key(p, key, a);
        break;
    case ATTR_GRAPH:
        add_graph(p, a->graph, s, key);
        break;
    case ATTR_DYNAMIC:
        add_reference(p, s, key, a);
        break;
    case ATTR_LIST: /* no parameter keeps one */
        break;
    }
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* The inputs that the row itself has, without what sub-graphs took. */
static int own_inputs(const node *n)
{
    int count = graph_own_inputs(n);

    while (count > 0 && n->inputs[count - 1].node == NULL)
        count--;
    return count;
}

static void add_argument(printer *p, const scope *s, value v)
{
    const scope *at = s;
    value from;

    if (v.node == NULL) {
        json_raw(&p->json, NULL, "null");
        return;
    }
    from = origin(&at, v);
    if (at->names[from.node->id] != NULL)
        json_string(&p->json, NULL, reference(p, s, v));
    else
        add_constant(p, value_constant(from));
}

static void add_node(printer *p, const scope *s, const node *n)
{
    json_begin(&p->json, s->names[n->id], '{');
    json_string(&p->json, "op", n->op->name);
    json_begin(&p->json, "args", '[');
    if (n->op == &op_constant)
        add_constant(p, n->constant);
    else
        for (int i = 0; i < own_inputs(n); i++)
            add_argument(p, s, n->inputs[i]);
    json_end(&p->json, ']');
    if (n->op->attr_count > 0) {
        json_begin(&p->json, "attrs", '{');
        for (int i = 0; i < n->op->attr_count; i++)
            add_attr(p, s, op_attr_param(n->op, i), &n->attrs[i]);
        json_end(&p->json, '}');
    }
    json_end(&p->json, '}');
}

/* ---- Graphs -----------------------------------------------------------------------------------
 */

static bool is_output(const graph *g, const node *n)
{
    for (int i = 0; i < g->output_count; i++)
        if (g->outputs[i].node == n)
            return true;
    return false;
}

/* Weak scalars stand where they are used, unless they are results. */
static bool stands_in_place(const graph *g, const node *n)
{
    return n->op == &op_constant && n->constant->weak && !is_output(g, n);
}

static void name_nodes(printer *p, scope *s)
{
    const graph *g = s->graph;

    s->names = arena_array(p->arena, (size_t)g->count + 1, sizeof *s->names);
    for (int i = 0; i < g->input_count && s->outer == NULL; i++) {
        s->names[g->inputs[i].node->id] = g->inputs[i].node->name;
        table_put(&p->used, g->inputs[i].node->name, p);
    }
    for (int i = 0; s->outer != NULL && i < graph_param_count(g); i++)
        s->names[g->inputs[i].node->id] = fresh(p, g->inputs[i].node);
    for (int i = 0; i < g->count; i++)
        if (g->nodes[i]->op != &op_input && !stands_in_place(g, g->nodes[i]))
            s->names[i] = fresh(p, g->nodes[i]);
}

static void add_params(printer *p, const scope *s)
{
    const int count = graph_param_count(s->graph);

    if (count == 0)
        return;
    json_begin(&p->json, "params", '[');
    for (int i = 0; i < count; i++)
        json_string(&p->json, NULL, s->names[s->graph->inputs[i].node->id]);
    json_end(&p->json, ']');
}

static void add_inputs(printer *p, const graph *g)
{
    json_begin(&p->json, "inputs", '{');
    for (int i = 0; i < g->input_count; i++) {
        const type *t = value_type(g->inputs[i]);
        text lengths;

        json_begin(&p->json, g->inputs[i].node->name, '{');
        json_string(&p->json, "dtype", dtype_name(t->dtype));
        text_init(&lengths);
        declaration_write_lengths(g->inputs[i].node->declared, &t->shape, &lengths);
        json_raw(&p->json, "shape", lengths.bytes);
        text_clear(&lengths);
        json_end(&p->json, '}');
    }
    json_end(&p->json, '}');
}

static void add_graph(printer *p, const graph *g, const scope *outer, const char *key)
{
    scope s = {.graph = g, .outer = outer};

    name_nodes(p, &s);
    json_begin(&p->json, key, '{');
    if (outer == NULL)
        add_inputs(p, g);
    else
        add_params(p, &s);
    json_begin(&p->json, "nodes", '{');
    for (int i = 0; i < g->count; i++)
        if (g->nodes[i]->op != &op_input && s.names[i] != NULL)
            add_node(p, &s, g->nodes[i]);
    json_end(&p->json, '}');
    json_begin(&p->json, "outputs", '[');
    for (int i = 0; i < g->output_count; i++)
        json_string(&p->json, NULL, reference(p, &s, g->outputs[i]));
    json_end(&p->json, ']');
    json_end(&p->json, '}');
}

void graph_json_write(const graph *g, text *t)
{
    printer p = {.arena = arena_new(), .json = json_to(t, false)};

    table_init(&p.used, p.arena);
    add_graph(&p, g, NULL, NULL);
    arena_free(p.arena);
}
