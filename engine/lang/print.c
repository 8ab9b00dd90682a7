/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as programs: one statement a node. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "engine/base/name.h"
#include "engine/lang/constant.h"
#include "engine/lang/literal_write.h"

typedef struct printer {
    arena *arena;
    text *out;
    table used;                            /* names that stand for something already */
    int statements, functions, parameters; /* printed so far */
} printer;

/* A graph being printed: the name of every output of every node. */
typedef struct scope {
    const graph *graph;
    const struct scope *outer;
    const char ***names; /* [node id][output] */
    int indent;
} scope;

/* ---- Names ------------------------------------------------------------------ */

static bool is_name(const char *name)
{
    const size_t n = strlen(name);

    return n > 0 && n <= NAME_BYTES && name_scan(name, n) == n && !name_is_keyword(name, n);
}

/* A name like wanted that nothing has yet. */
static const char *fresh(printer *p, const char *wanted)
{
    const char *name = wanted;

    for (int i = 1; table_get(&p->used, name) != NULL || name_is_taken(name); i++)
        name = arena_format(p->arena, "%s_%d", wanted, i);
    table_put(&p->used, name, p);
    return name;
}

static const char *fresh_for(printer *p, const node *n, int output)
{
    if (n->output_count != 1) /* a node has one name, not one for each output */
        return fresh(p, arena_format(p->arena, "v%d_%d", p->statements, output));
    if (n->name != NULL && is_name(n->name))
        return fresh(p, n->name);
    return fresh(p, arena_format(p->arena, "v%d", p->statements));
}

static const char *name_of(const scope *s, value v)
{
    for (; s != NULL; s = s->outer)
        if (v.node->graph == s->graph)
            return s->names[v.node->id][v.index];
    return "None";
}

static void set_name(printer *p, scope *s, const node *n, int output, const char *name)
{
    const char ***row = &s->names[n->id];

    if (*row == NULL)
        *row = arena_array(p->arena, (size_t)n->output_count + 1, sizeof **row);
    (*row)[output] = name;
}

static void begin_line(const printer *p, const scope *s)
{
    for (int i = 0; i < s->indent; i++)
        text_add(p->out, "    ");
}

/* ---- Attributes
 * ----------------------------------------------------------------------------------- */

static void print_ints(printer *p, const scope *s, const attr *a)
{
    text_add_char(p->out, '(');
    for (int i = 0; i < a->n; i++) {
        text_add(p->out, i > 0 ? ", " : "");
        if (a->dynamic != NULL && a->dynamic[i].kind == ATTR_DYNAMIC)
            text_add(p->out, name_of(s, (value){a->dynamic[i].node, a->dynamic[i].output}));
        else
            text_addf(p->out, "%lld", (long long)a->ints[i]);
    }
    text_add(p->out, a->n == 1 ? ",)" : ")");
}

/* A pair of lists of axes, kept one behind the other. */
static void print_pair(printer *p, const attr *a)
{
    for (int side = 0; side < 2; side++) {
        text_add(p->out, side == 0 ? "([" : "], [");
        for (int i = 0; i < a->n / 2; i++)
            text_addf(p->out, "%s%lld", i > 0 ? ", " : "",
                      (long long)a->ints[side * (a->n / 2) + i]);
    }
    text_add(p->out, "])");
}

/* Shapes, kept as rank and lengths one behind the other. */
static void print_shapes(printer *p, const attr *a)
{
    text_add_char(p->out, '[');
    for (int at = 0; at < a->n;) {
        const int rank = (int)a->ints[at++];

        text_add(p->out, at > 1 ? ", (" : "(");
        for (int i = 0; i < rank; i++, at++) {
            if (a->ints[at] == LENGTH_UNKNOWN)
                text_add(p->out, "None, ");
            else
                text_addf(p->out, "%lld, ", (long long)a->ints[at]);
        }
        text_add_char(p->out, ')');
    }
    text_add_char(p->out, ']');
}

static void print_attr(printer *p, const scope *s, const op_param *param, const attr *a)
{
    switch (a->kind) {
    case ATTR_NONE:
    case ATTR_GRAPH: /* printed as a function before */
        text_add(p->out, "None");
        break;
    case ATTR_BOOL:
        text_add(p->out, a->truth ? "True" : "False");
        break;
    case ATTR_INT:
        text_addf(p->out, "%lld", (long long)a->integer);
        break;
    case ATTR_FLOAT:
        literal_write_float(a->real, p->out);
        break;
    case ATTR_TEXT:
        text_add_json(p->out, a->text);
        break;
    case ATTR_DTYPE:
        text_addf(p->out, "\"%s\"", dtype_name(a->dtype));
        break;
    case ATTR_INTS:
        if (param->kind == PARAM_PAIR)
            print_pair(p, a);
        else if (param->kind == PARAM_SHAPES)
            print_shapes(p, a);
        else
            print_ints(p, s, a);
        break;
    case ATTR_LIST:
        text_add_char(p->out, '(');
        for (int i = 0; i < a->n; i++) {
            print_attr(p, s, param, &a->items[i]);
            text_add(p->out, ", ");
        }
        text_add_char(p->out, ')');
        break;
    case ATTR_INDEX:
        text_add_char(p->out, '"');
        op_key_write(a, NULL, p->out);
        text_add_char(p->out, '"');
        break;
    case ATTR_DYNAMIC:
        text_add(p->out, name_of(s, (value){a->node, a->output}));
        break;
    }
}

/* ---- Calls
 * -------------------------------------------------------------------------------------------- */

static void print_list(printer *p, const scope *s, const node *n, int from, int to)
{
    text_add_char(p->out, '[');
    for (int i = from; i < to; i++)
        text_addf(p->out, "%s%s", i > from ? ", " : "", name_of(s, n->inputs[i]));
    text_add_char(p->out, ']');
}

/* The argument of one parameter: by position while none was left out. */
static void print_argument(printer *p, const scope *s, const node *n, const op_param *param,
                           const char *const *functions, bool *keywords, bool *first)
{
    const bool is_input = param->kind == PARAM_TENSOR || param->kind == PARAM_TENSORS;
    const int count = graph_own_inputs(n);
    const bool missing = param->kind == PARAM_TENSOR
                             ? param->position >= count || n->inputs[param->position].node == NULL
                         : param->kind == PARAM_TENSORS
                             ? param->position >= count
                             : op_attr_is_default(param, &n->attrs[param->position]);

    if (missing && (param->has_default || param->kind == PARAM_TENSORS) &&
        !(param->kind == PARAM_TENSORS && *first)) {
        *keywords = true;
        return;
    }
    *keywords = *keywords || !is_input;
    text_add(p->out, *first ? "" : ", ");
    *first = false;
    if (*keywords)
        text_addf(p->out, "%s=", param->name);
    if (param->kind == PARAM_TENSORS)
        print_list(p, s, n, param->position, count);
    else if (is_input)
        text_add(p->out, name_of(s, n->inputs[param->position]));
    else if (functions[param->position] != NULL)
        text_add(p->out, functions[param->position]);
    else
        print_attr(p, s, param, &n->attrs[param->position]);
}

static void print_call(printer *p, const scope *s, const node *n, const char *const *functions)
{
    bool keywords = false, first = true;

    text_addf(p->out, "%s(", n->op->name);
    for (int i = 0; i < n->op->param_count; i++)
        print_argument(p, s, n, &n->op->params[i], functions, &keywords, &first);
    text_add(p->out, ")\n");
}

/* ---- Statements
 * ----------------------------------------------------------------------------------------- */

static void print_function(printer *p, const graph *g, const scope *outer, const char *name);

/* The names of a key's tensors: x[i, 1:3]. */
static void print_key(printer *p, const scope *s, const node *n, const attr *key)
{
    const char **names = arena_array(p->arena, (size_t)n->input_count + 1, sizeof *names);

    for (int i = 0; i < n->input_count; i++)
        names[i] = name_of(s, n->inputs[i]);
    text_add_char(p->out, '[');
    op_key_write(key, names, p->out);
    text_add_char(p->out, ']');
}

/* y = x, then y[..] = v. */
static void print_setitem(printer *p, const scope *s, const node *n, const attr *key)
{
    const char *name = s->names[n->id][0];

    text_addf(p->out, "%s = %s\n", name, name_of(s, n->inputs[0]));
    begin_line(p, s);
    text_add(p->out, name);
    print_key(p, s, n, key);
    text_addf(p->out, " = %s\n", name_of(s, n->inputs[n->input_count - 1]));
}

/* The sub-graphs of a node as functions, printed before it. */
static const char *const *print_functions(printer *p, const scope *s, const node *n)
{
    const char **names = arena_array(p->arena, (size_t)n->op->attr_count + 1, sizeof *names);

    for (int i = 0; i < n->op->attr_count; i++) {
        if (n->attrs[i].kind != ATTR_GRAPH)
            continue;
        names[i] = fresh(p, arena_format(p->arena, "f%d", ++p->functions));
        begin_line(p, s);
        print_function(p, n->attrs[i].graph, s, names[i]);
    }
    return names;
}

static const attr *key_of(const node *n)
{
    for (int i = 0; i < n->op->attr_count; i++)
        if (n->attrs[i].kind == ATTR_INDEX && n->attrs[i].n > 0)
            return &n->attrs[i];
    return NULL;
}

static bool has_role(const node *n, op_role role)
{
    error ignored = {0};

    return call_role_op(role, &ignored) == n->op;
}

static void print_node(printer *p, scope *s, const node *n)
{
    const char *const *functions = print_functions(p, s, n);
    const attr *key = key_of(n);

    p->statements++;
    for (int i = 0; i < n->output_count; i++)
        set_name(p, s, n, i, fresh_for(p, n, i));
    begin_line(p, s);
    if (key != NULL && has_role(n, ROLE_SETITEM)) {
        print_setitem(p, s, n, key);
        return;
    }
    for (int i = 0; i < n->output_count; i++)
        text_addf(p->out, "%s%s", i > 0 ? ", " : "", s->names[n->id][i]);
    text_add(p->out, n->output_count == 1 && n->op->outputs < 0 ? ", = " : " = ");
    if (key != NULL && has_role(n, ROLE_GETITEM)) {
        text_add(p->out, name_of(s, n->inputs[0]));
        print_key(p, s, n, key);
        text_add_char(p->out, '\n');
        return;
    }
    print_call(p, s, n, functions);
}

/* A weak scalar stands where it is used; other constants get a name. */
static void print_constant(printer *p, scope *s, const node *n)
{
    text literal;

    if (n->constant->weak && n->constant->shape.rank == 0) {
        text_init(&literal);
        literal_write_scalar(n->constant, p->arena, &literal);
        set_name(p, s, n, 0, text_copy(&literal, p->arena));
        text_clear(&literal);
        return;
    }
    p->statements++;
    set_name(p, s, n, 0, fresh_for(p, n, 0));
    begin_line(p, s);
    text_addf(p->out, "%s = ", s->names[n->id][0]);
    literal_write_array(n->constant, p->arena, p->out);
    text_add_char(p->out, '\n');
}

/* A parameter has its name already; what was captured is called as outside. */
static void print_input(printer *p, scope *s, const node *n)
{
    if (s->names[n->id] != NULL)
        return;
    for (int i = 0; i < s->graph->input_count; i++) {
        const value outer = s->graph->captured[i];

        if (s->graph->inputs[i].node == n && outer.node != NULL) {
            set_name(p, s, n, 0, name_of(s->outer, outer));
            return;
        }
    }
    set_name(p, s, n, 0, n->name);
}

static void print_outputs(printer *p, const scope *s, bool returns)
{
    const graph *g = s->graph;

    if (g->output_count == 0 && !returns)
        return;
    begin_line(p, s);
    text_add(p->out, returns ? "return " : "");
    for (int i = 0; i < g->output_count; i++)
        text_addf(p->out, "%s%s", i > 0 ? ", " : "", name_of(s, g->outputs[i]));
    text_add_char(p->out, '\n');
}

static void print_nodes(printer *p, scope *s, bool returns)
{
    for (int i = 0; i < s->graph->count; i++) {
        const node *n = s->graph->nodes[i];

        if (n->op == &op_input)
            print_input(p, s, n);
        else if (n->op == &op_constant)
            print_constant(p, s, n);
        else
            print_node(p, s, n);
    }
    print_outputs(p, s, returns);
}

static scope scope_of(printer *p, const graph *g, const scope *outer, int indent)
{
    return (scope){.graph = g,
                   .outer = outer,
                   .indent = indent,
                   .names = arena_array(p->arena, (size_t)g->count + 1, sizeof(const char **))};
}

static void print_function(printer *p, const graph *g, const scope *outer, const char *name)
{
    scope s = scope_of(p, g, outer, outer->indent + 1);

    text_addf(p->out, "def %s(", name);
    for (int i = 0; i < graph_param_count(g); i++) {
        const node *n = g->inputs[i].node;

        set_name(p, &s, n, 0, fresh(p, arena_format(p->arena, "p%d", ++p->parameters)));
        text_addf(p->out, "%s%s", i > 0 ? ", " : "", s.names[n->id][0]);
    }
    text_add(p->out, "):\n");
    print_nodes(p, &s, true);
}

void lang_print(const graph *g, text *t)
{
    printer p = {.arena = arena_new(), .out = t};
    scope s;

    table_init(&p.used, p.arena);
    for (int i = 0; i < g->input_count; i++)
        table_put(&p.used, g->inputs[i].node->name, &p);
    s = scope_of(&p, g, NULL, 0);
    print_nodes(&p, &s, false);
    arena_free(p.arena);
}
