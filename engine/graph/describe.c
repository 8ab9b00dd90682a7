/* SPDX-License-Identifier: Apache-2.0 */
/* Names, types and attributes as views write them. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "engine/graph/declaration.h"
#include "engine/graph/view_private.h"

/* ---- Which nodes -------------------------------------------------------------------------- */

bool view_is_apply(const node *n)
{
    return n->op != &op_input && n->op != &op_constant;
}

bool *view_shown(const graph *g, arena *a)
{
    bool *shown = arena_array(a, (size_t)g->count + 1, sizeof *shown);

    for (int i = 0; i < g->output_count; i++)
        shown[g->outputs[i].node->id] = true;
    for (int i = g->count - 1; i >= 0; i--) {
        const node *n = g->nodes[i];
        value dynamic[VIEW_DYNAMIC];
        const int count = view_dynamic_inputs(n, dynamic, VIEW_DYNAMIC);

        shown[i] = shown[i] || n->op == &op_input || (n->name != NULL && view_is_apply(n));
        for (int k = 0; shown[i] && k < n->input_count; k++)
            if (n->inputs[k].node != NULL)
                shown[n->inputs[k].node->id] = true;
        for (int k = 0; shown[i] && k < count; k++)
            shown[dynamic[k].node->id] = true;
    }
    return shown;
}

int view_own_inputs(const node *n)
{
    int count = graph_own_inputs(n);

    while (count > 0 && n->inputs[count - 1].node == NULL)
        count--;
    return count;
}

int view_dynamic_inputs(const node *n, value *to, int room)
{
    int count = 0;

    for (int i = 0; i < n->op->attr_count; i++) {
        const attr *a = &n->attrs[i];

        if (a->kind == ATTR_DYNAMIC && count < room)
            to[count++] = (value){a->node, a->output};
        for (int k = 0; a->kind == ATTR_INTS && a->dynamic != NULL && k < a->n; k++)
            if (a->dynamic[k].kind == ATTR_DYNAMIC && count < room)
                to[count++] = (value){a->dynamic[k].node, a->dynamic[k].output};
    }
    return count;
}

const view_runs *view_runs_of(const view_plan *plan, const graph *g)
{
    return plan == NULL ? NULL : table_get_bytes(&plan->graphs, (const char *)&g, sizeof g);
}

view_run view_run_of(const view_plan *plan, const node *n)
{
    const view_runs *of = view_runs_of(plan, n->graph);

    return of == NULL ? (view_run){0} : of->runs[n->id];
}

/* ---- Names and types ------------------------------------------------------------------------ */

const char *view_name(value v, arena *a)
{
    if (v.node->name == NULL || v.node->output_count == 1)
        return v.node->name;
    return arena_format(a, "%s:%d", v.node->name, v.index);
}

void view_add_type(value v, text *t)
{
    const type *of = value_type(v);
    const char *word = declaration_axes_word(&of->shape);

    text_addf(t, "TensorType(%s, ", dtype_name(of->dtype));
    if (word != NULL) {
        text_addf(t, "%s)", word);
        return;
    }
    text_add_char(t, '(');
    for (int i = 0; i < of->shape.rank; i++)
        text_addf(t, "%s%s", i > 0 ? ", " : "", of->shape.length[i] == 1 ? "True" : "False");
    text_add(t, of->shape.rank == 1 ? ",))" : "))");
}

void view_add_label(value v, text *t)
{
    const type *of = value_type(v);
    const declaration *d = declaration_of(v);

    text_addf(t, "%s [", dtype_name(of->dtype));
    for (int i = 0; i < of->shape.rank; i++) {
        text_add(t, i > 0 ? ", " : "");
        if (of->shape.length[i] != LENGTH_UNKNOWN)
            text_addf(t, "%" PRId64, of->shape.length[i]);
        else
            text_add(t, d != NULL && d->symbols[i] != NULL ? d->symbols[i] : "?");
    }
    text_add_char(t, ']');
}

/* ---- Attributes ------------------------------------------------------------------------------ */

/* Text in which $ and # of forms mean nothing. */
static void add_plain(const char *from, text *t)
{
    text_add_char(t, '"');
    for (; *from != '\0'; from++)
        text_add_char(t, strchr("$#\"\1", *from) != NULL ? '_' : *from);
    text_add_char(t, '"');
}

static void add_ints(const attr *a, int *next, text *t)
{
    text_add_char(t, '(');
    for (int i = 0; i < a->n; i++) {
        text_add(t, i > 0 ? ", " : "");
        if (a->dynamic != NULL && a->dynamic[i].kind == ATTR_DYNAMIC)
            text_addf(t, "#%d", (*next)++);
        else
            text_addf(t, "%" PRId64, a->ints[i]);
    }
    text_add(t, a->n == 1 ? ",)" : ")");
}

/* A key with its tensors as they stand in forms, where nothing around them binds. */
static void add_key(const attr *a, text *t)
{
    const size_t start = t->length;

    op_key_write(a, NULL, t);
    for (size_t i = start; i < t->length; i++)
        if (t->bytes[i] == '$')
            t->bytes[i] = '#';
}

static void add_attr(const attr *a, int *next, text *t)
{
    switch (a->kind) {
    case ATTR_NONE:
    case ATTR_LIST: /* no parameter keeps one */
        text_add(t, "None");
        break;
    case ATTR_BOOL:
        text_add(t, a->truth ? "True" : "False");
        break;
    case ATTR_INT:
        text_addf(t, "%" PRId64, a->integer);
        break;
    case ATTR_FLOAT:
        view_add_real(a->real, false, false, t);
        break;
    case ATTR_TEXT:
        add_plain(a->text, t);
        break;
    case ATTR_DTYPE:
        text_add(t, dtype_name(a->dtype));
        break;
    case ATTR_INTS:
        add_ints(a, next, t);
        break;
    case ATTR_INDEX:
        add_key(a, t);
        break;
    case ATTR_GRAPH:
        text_add(t, "lambda: ...");
        break;
    case ATTR_DYNAMIC:
        text_addf(t, "#%d", (*next)++);
        break;
    }
}

bool view_has_attrs(const node *n)
{
    for (int i = 0; i < n->op->attr_count; i++)
        if (!op_attr_is_default(op_attr_param(n->op, i), &n->attrs[i]))
            return true;
    return false;
}

bool view_has_functions(const node *n)
{
    for (int i = 0; i < n->op->attr_count; i++)
        if (n->attrs[i].kind == ATTR_GRAPH)
            return true;
    return false;
}

void view_add_attrs(const node *n, bool functions, text *t)
{
    int next = n->input_count;
    bool first = true;

    for (int i = 0; i < n->op->attr_count; i++) {
        const op_param *p = op_attr_param(n->op, i);

        if (op_attr_is_default(p, &n->attrs[i]))
            continue;
        text_add(t, first ? "" : ", ");
        first = false;
        if (p->kind != PARAM_INDEX)
            text_addf(t, "%s=", p->name);
        if (functions && n->attrs[i].kind == ATTR_GRAPH)
            text_addf(t, "%c%d", VIEW_FUNCTION, i);
        else
            add_attr(&n->attrs[i], &next, t);
    }
}

void view_add_display(const node *n, text *t)
{
    const char *scalar = notation_of(n->op)->scalar;
    bool capital = true;

    if (n->op->pattern != NULL) {
        text_addf(t, "Elemwise{%s,no_inplace}", scalar != NULL ? scalar : n->op->name);
        return;
    }
    if (n->op->body != NULL) {
        text_addf(t, "OpFromGraph{%s}", n->op->name);
        return;
    }
    for (const char *at = n->op->name; *at != '\0'; at++) {
        if (*at != '_')
            text_add_char(t, (char)(capital ? toupper((unsigned char)*at) : *at));
        capital = *at == '_' || *at == '.';
    }
    if (!view_has_attrs(n))
        return;
    text_add_char(t, '{');
    view_add_attrs(n, false, t);
    text_add_char(t, '}');
}

/* ---- Attributes in JSON
 * --------------------------------------------------------------------------- */

static void add_ints_json(const attr *a, int *next, text *t)
{
    text_add_char(t, '[');
    for (int i = 0; i < a->n; i++) {
        text_add(t, i > 0 ? ", " : "");
        if (a->dynamic != NULL && a->dynamic[i].kind == ATTR_DYNAMIC)
            text_addf(t, "{\"input\": %d}", (*next)++);
        else
            text_addf(t, "%" PRId64, a->ints[i]);
    }
    text_add_char(t, ']');
}

/* Two lists of axes, kept one behind the other. */
static void add_pair_json(const attr *a, int *next, text *t)
{
    attr half = *a;

    half.n = a->n / 2;
    text_add_char(t, '[');
    add_ints_json(&half, next, t);
    text_add(t, ", ");
    half.ints += half.n;
    add_ints_json(&half, next, t);
    text_add_char(t, ']');
}

/* Those whose JSON is not their plain text. */
static bool add_other_json(const attr *a, bool is_pair, int *next,
                           void (*add_graph)(const graph *g, text *t), text *t)
{
    text key;

    switch (a->kind) {
    case ATTR_NONE:
        text_add(t, "null");
        return true;
    case ATTR_BOOL:
        text_add(t, a->truth ? "true" : "false");
        return true;
    case ATTR_FLOAT:
        view_add_real(a->real, false, true, t);
        return true;
    case ATTR_TEXT:
        text_add_json(t, a->text);
        return true;
    case ATTR_DTYPE:
        text_add_json(t, dtype_name(a->dtype));
        return true;
    case ATTR_INTS:
        if (is_pair)
            add_pair_json(a, next, t);
        else
            add_ints_json(a, next, t);
        return true;
    case ATTR_INDEX:
        text_init(&key);
        op_key_write(a, NULL, &key);
        text_add_json(t, key.length > 0 ? key.bytes : "");
        text_clear(&key);
        return true;
    case ATTR_GRAPH:
        add_graph(a->graph, t);
        return true;
    case ATTR_DYNAMIC:
        text_addf(t, "{\"input\": %d}", (*next)++);
        return true;
    default:
        return false;
    }
}

void view_add_attrs_json(const node *n, void (*add_graph)(const graph *g, text *t), text *t)
{
    int next = n->input_count;

    text_add_char(t, '{');
    for (int i = 0; i < n->op->attr_count; i++) {
        text_add(t, i > 0 ? ", " : "");
        text_add_json(t, op_attr_param(n->op, i)->name);
        text_add(t, ": ");
        if (!add_other_json(&n->attrs[i], op_attr_param(n->op, i)->kind == PARAM_PAIR, &next,
                            add_graph, t))
            add_attr(&n->attrs[i], &next, t);
    }
    text_add_char(t, '}');
}
