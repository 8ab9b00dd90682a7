/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/catalogue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/lang/lang.h"

static catalogue_entry *entries;
static size_t entry_count;

/* ---- The call of an example ---------------------------------------------------------------- */

/* A call whose types can be changed: of the example, or with square matrices if that
 * has none. */
typedef struct sample {
    int count;
    type *types; /* rank -1: the tensor is left out */
    const attr *attrs;
} sample;

static const node *find_call(const graph *g, const op_def *op)
{
    for (int i = 0; i < g->count; i++)
        if (g->nodes[i]->op == op && !op_takes_functions(op))
            return g->nodes[i];
    return NULL;
}

static bool is_known(const attr *a)
{
    return a->kind != ATTR_DYNAMIC && a->kind != ATTR_GRAPH &&
           (a->kind != ATTR_INTS || a->dynamic == NULL);
}

static bool sample_call(const node *n, arena *a, sample *s)
{
    for (int i = 0; i < n->op->attr_count; i++)
        if (!is_known(&n->attrs[i]))
            return false;
    s->count = n->input_count;
    s->attrs = n->attrs;
    s->types = arena_array(a, (size_t)n->input_count + 1, sizeof *s->types);
    for (int i = 0; i < n->input_count; i++) {
        if (n->inputs[i].node == NULL)
            s->types[i].shape.rank = -1;
        else
            s->types[i] = *value_type(n->inputs[i]);
    }
    return true;
}

static void sample_squares(const op_def *op, arena *a, sample *s)
{
    attr *attrs = arena_array(a, (size_t)op->attr_count + 1, sizeof *attrs);

    s->count = op->input_count < 0 ? 2 : op->input_count;
    s->types = arena_array(a, (size_t)s->count + 1, sizeof *s->types);
    for (int i = 0; i < s->count; i++)
        s->types[i] = (type){.dtype = DT_F64, .shape = {.rank = 2, .length = {2, 2}}};
    for (int i = 0; i < op->attr_count; i++)
        attrs[i] = op_attr_param(op, i)->value;
    s->attrs = attrs;
}

/* ---- Asking -----------------------------------------------------------------------------------
 */

static bool can_apply(const op_def *op, const sample *s, const type *types, const attr *attrs)
{
    arena *a = arena_new();
    graph *g = graph_new(a, NULL);
    value *inputs = arena_array(a, (size_t)s->count + 1, sizeof *inputs), outputs[OP_OUTPUTS];
    error err = {0};
    bool ok;

    for (int i = 0; i < s->count; i++)
        if (types[i].shape.rank >= 0)
            inputs[i] = graph_input(g, "x", &types[i], &err);
    ok = graph_apply(g, op, inputs, s->count, attrs, outputs, &err) != NULL;
    graph_release(g);
    arena_free(a);
    return ok;
}

/* Whether the call works with type t in place of input i together with the inputs that
 * have the same type; where inputs have parts of their own to play, also alone. */
static bool takes(const op_def *op, const sample *s, int i, dtype t)
{
    arena *a = arena_new();
    type *alone = arena_array(a, (size_t)s->count, sizeof *alone);
    type *together = arena_array(a, (size_t)s->count, sizeof *together);
    bool ok;

    for (int k = 0; k < s->count; k++) {
        const bool same = s->types[k].dtype == s->types[i].dtype;

        alone[k] = together[k] = s->types[k];
        if (k == i)
            alone[k].dtype = t;
        if (same)
            together[k].dtype = t;
        alone[k].weak = together[k].weak = false;
    }
    ok = can_apply(op, s, together, s->attrs) ||
         (op->pattern == NULL && can_apply(op, s, alone, s->attrs));
    arena_free(a);
    return ok;
}

static bool makes(const op_def *op, const sample *s, int at, dtype t)
{
    arena *a = arena_new();
    attr *attrs = arena_array(a, (size_t)op->attr_count, sizeof *attrs);
    bool ok;

    memcpy(attrs, s->attrs, (size_t)op->attr_count * sizeof *attrs);
    attrs[at] = (attr){.kind = ATTR_DTYPE, .dtype = t};
    ok = can_apply(op, s, s->types, attrs);
    arena_free(a);
    return ok;
}

static void ask(catalogue_entry *e, const sample *s)
{
    for (int i = 0; i < s->count && i < OP_INPUTS; i++)
        for (int t = 0; t < DT_COUNT; t++)
            if (s->types[i].shape.rank >= 0 && takes(e->op, s, i, (dtype)t))
                e->takes[i] |= 1u << t;
    for (int i = 0; i < e->op->attr_count; i++)
        for (int t = 0; op_attr_param(e->op, i)->kind == PARAM_DTYPE && t < DT_COUNT; t++)
            if (makes(e->op, s, i, (dtype)t))
                e->makes |= 1u << t;
    for (int i = s->count; i < OP_INPUTS && s->count > 0; i++)
        e->takes[i] = e->takes[s->count - 1];
}

static bool is_differentiable(const op_def *op)
{
    bool any = (op->lower != NULL && op->input_count != 0) || op_takes_functions(op);

    for (int i = 0; i < OP_INPUTS; i++)
        any = any || op->grad[i] != NULL || op->attr_grad[i] != NULL;
    return any && !op->no_grad;
}

static void fill(catalogue_entry *e, const op_def *op)
{
    const lang_options options = {0};
    arena *a = arena_new();
    graph *g = graph_new(a, NULL);
    lang_program program;
    const node *call = NULL;
    sample s = {0};
    error err = {0};

    e->op = op;
    e->differentiable = is_differentiable(op);
    if (op->example != NULL &&
        lang_build(g, op->example, strlen(op->example), &options, NULL, &program, &err))
        call = find_call(g, op);
    if (op->control == CONTROL_COND)
        e->takes[0] = 1u << DT_BOOL;
    else if (!op_takes_functions(op)) {
        if (call == NULL || !sample_call(call, a, &s))
            sample_squares(op, a, &s);
        ask(e, &s);
    }
    graph_release(g);
    arena_free(a);
}

static void fill_all(void)
{
    const op_def *const *ops = ops_all(&entry_count);

    entries = calloc(entry_count, sizeof *entries);
    if (entries == NULL)
        abort();
    for (size_t i = 0; i < entry_count; i++)
        fill(&entries[i], ops[i]);
}

/* ---- The entries
 * --------------------------------------------------------------------------------- */

const catalogue_entry *catalogue_all(size_t *count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fill_all);
    *count = entry_count;
    return entries;
}

const catalogue_entry *catalogue_find(const char *name)
{
    const op_def *op = op_find(name, strlen(name));
    size_t count;
    const catalogue_entry *all = catalogue_all(&count);

    for (size_t i = 0; i < count; i++)
        if (all[i].op == op)
            return &all[i];
    return NULL;
}

dtype_set catalogue_dtypes(const catalogue_entry *e)
{
    return e->op->input_count != 0 ? e->takes[0] : e->makes;
}

/* ---- How it is called
 * ----------------------------------------------------------------------------- */

void catalogue_add_default(const op_param *p, text *to)
{
    const attr *a = &p->value;

    if (a->kind == ATTR_BOOL)
        text_add(to, a->truth ? "True" : "False");
    else if (a->kind == ATTR_INT)
        text_addf(to, "%lld", (long long)a->integer);
    else if (a->kind == ATTR_TEXT)
        text_addf(to, "\"%s\"", a->text);
    else if (a->kind == ATTR_DTYPE)
        text_add(to, dtype_name(a->dtype));
    else
        text_add(to, "None");
}

void catalogue_add_signature(const op_def *op, text *to)
{
    text_addf(to, "%s(", op->name);
    for (int i = 0; i < op->param_count; i++) {
        const op_param *p = &op->params[i];

        if (op_is_captured(op, p))
            continue;
        text_addf(to, "%s%s%s", i > 0 ? ", " : "", p->kind == PARAM_TENSORS ? "*" : "", p->name);
        if (p->has_default) {
            text_add(to, "=");
            catalogue_add_default(p, to);
        }
    }
    text_add(to, ")");
}
