/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of one operation, from the texts of its row. */
#include "engine/grad/private.h"

/* What a text may name: the parameters, the results, the incoming gradients. */
typedef struct scope {
    const char **names;
    lang_value *values;
    int count;
} scope;

static scope scope_for(const node *n, arena *a)
{
    const size_t room = (size_t)(n->op->param_count + 2 * n->output_count + 1);

    return (scope){arena_array(a, room, sizeof(char *)), arena_array(a, room, sizeof(lang_value)),
                   0};
}

static void bind(scope *s, const char *name, lang_value v)
{
    s->names[s->count] = name;
    s->values[s->count++] = v;
}

static lang_value parameter(const node *n, const op_param *p, arena *a)
{
    const int at = p->position;

    if (p->kind == PARAM_TENSOR && at < n->input_count && n->inputs[at].node != NULL)
        return lang_of_known(n->inputs[at]);
    return lang_of_param(a, p, n->inputs, n->input_count, n->attrs);
}

/* Results and their gradients: r and g of the only one, else r0, g0, r1 .. */
static bool bind_results(const step *s, scope *to, error *err)
{
    const node *n = s->node;

    for (int i = 0; i < n->output_count; i++) {
        const char *const form = n->output_count == 1 ? "%c" : "%c%d";
        const value r = {(node *)n, i};
        value g = s->incoming[i];

        if (g.node == NULL && grad_takes(n->types[i].dtype) &&
            !fit_apply(s->graph, "zeros_like", &r, 1, NULL, &g, err))
            return false;
        bind(to, arena_format(s->graph->arena, form, 'r', i), lang_of_value(r));
        bind(to, arena_format(s->graph->arena, form, 'g', i),
             g.node != NULL ? lang_of_value(g) : (lang_value){.kind = LANG_NONE});
    }
    return true;
}

static bool any_complex(const node *n)
{
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i].node != NULL && dtype_is_complex(value_type(n->inputs[i])->dtype))
            return true;
    for (int i = 0; i < n->output_count; i++)
        if (dtype_is_complex(n->types[i].dtype))
            return true;
    return false;
}

static bool any_wanted(const step *s, int first, int count)
{
    for (int i = first; i < first + count; i++)
        if (s->wanted[i])
            return true;
    return false;
}

/* The gradients of the inputs that one parameter is: one, or those of a list. */
static bool parameter_gradients(const step *s, const op_param *p, const scope *names,
                                value *gradients, error *err)
{
    const int first = p->position;
    const int count = p->kind == PARAM_TENSORS ? s->node->input_count - first : 1;
    const char *text = s->node->op->grad[first];
    value *built;

    if (text == NULL || first >= s->node->input_count || !any_wanted(s, first, count))
        return true;
    built = arena_array(s->graph->arena, (size_t)count + 1, sizeof *built);
    if (!lang_function_build(s->graph, text, names->names, names->values, names->count, built,
                             count, err))
        return false;
    for (int i = 0; i < count; i++)
        if (s->wanted[first + i] && built[i].node != NULL &&
            !fit_input(s->graph, s->node, first + i, built[i], &gradients[first + i], err))
            return false;
    return true;
}

/* The names that texts may use, and what they stand for. */
static bool bind_all(const step *s, scope *names, error *err)
{
    const op_def *op = s->node->op;

    *names = scope_for(s->node, s->graph->arena);
    for (int i = 0; i < op->param_count; i++)
        bind(names, op->params[i].name, parameter(s->node, &op->params[i], s->graph->arena));
    if (!bind_results(s, names, err))
        return false;
    if (!any_complex(s->node)) /* nothing to conjugate, so no node for it */
        bind(names, "conj", lang_identity());
    return true;
}

bool row_gradients(const step *s, value *gradients, error *err)
{
    const op_def *op = s->node->op;
    scope names;

    if (!bind_all(s, &names, err))
        return false;
    for (int i = 0; i < op->param_count; i++) {
        const op_param *p = &op->params[i];

        if ((p->kind == PARAM_TENSOR || p->kind == PARAM_TENSORS) &&
            !parameter_gradients(s, p, &names, gradients, err))
            return false;
    }
    return true;
}

bool row_attr_gradients(const step *s, const bool *wanted, value *gradients, error *err)
{
    const node *n = s->node;
    scope names;

    if (!bind_all(s, &names, err))
        return false;
    for (int i = 0; i < n->op->attr_count && i < OP_INPUTS; i++) {
        const value of = {n->attrs[i].node, n->attrs[i].output};

        if (!wanted[i])
            continue;
        if (!lang_function_build(s->graph, n->op->attr_grad[i], names.names, names.values,
                                 names.count, &gradients[i], 1, err) ||
            (gradients[i].node != NULL &&
             !fit_dtype(s->graph, of, gradients[i], &gradients[i], err)))
            return false;
    }
    return true;
}
