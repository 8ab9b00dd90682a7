/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient texts of all rows, checked once at start against the rows' examples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/grad/private.h"

static bool has_texts(const op_def *op)
{
    for (int i = 0; i < OP_INPUTS; i++)
        if (op->grad[i] != NULL)
            return true;
    return false;
}

/* The example in which a row is used: its program, built into g. */
static const node *find_example(const op_def *op, graph *g, error *err)
{
    const lang_options options = {0};
    const size_t length = strlen(op->name);
    lang_program program;

    if (!lang_build(g, op->example, strlen(op->example), &options, NULL, &program, err))
        return NULL;
    for (int i = 0; i < g->count; i++)
        if (g->nodes[i]->op == op_find(op->name, length))
            return g->nodes[i];
    error_set(err, ERR_INTERNAL, "its example does not use it");
    return NULL;
}

/* The inputs of the example with float64 in place of all numbers that the texts give
 * gradients for. */
static value *real_inputs(const op_def *op, graph *g, const node *example, bool *wanted, error *err)
{
    value *inputs = arena_array(g->arena, (size_t)example->input_count + 1, sizeof *inputs);

    for (int i = 0; i < example->input_count; i++) {
        const op_param *p = op_input_param(op, i);
        type t;

        inputs[i] = example->inputs[i];
        if (inputs[i].node == NULL || op->grad[p->position] == NULL)
            continue;
        wanted[i] = true;
        t = (type){.dtype = DT_F64, .shape = value_type(inputs[i])->shape};
        if (p->kind == PARAM_TENSOR)
            inputs[i] = graph_input(g, p->name, &t, err);
    }
    return inputs;
}

/* Builds the texts for the example; each must fit its input. */
static bool check_texts(const op_def *op, graph *g, error *err)
{
    const node *example = find_example(op, g, err), *n;
    value *inputs, *gradients, outputs[OP_OUTPUTS];
    step s = {.graph = g};
    bool *wanted;

    if (example == NULL)
        return false;
    wanted = arena_array(g->arena, (size_t)example->input_count + 1, sizeof *wanted);
    gradients = arena_array(g->arena, (size_t)example->input_count + 1, sizeof *gradients);
    inputs = real_inputs(op, g, example, wanted, err);
    n = graph_apply(g, op, inputs, example->input_count, example->attrs, outputs, err);
    if (n == NULL)
        return false;
    s.node = n;
    s.incoming = outputs;
    s.wanted = wanted;
    if (!row_gradients(&s, gradients, err))
        return false;
    for (int i = 0; i < n->input_count; i++)
        if (gradients[i].node != NULL &&
            !shape_equal(&value_type(gradients[i])->shape, &value_type(n->inputs[i])->shape))
            return error_set(err, ERR_SHAPE, "the gradient of input %d has not its shape", i);
    return true;
}

bool grad_check(const op_def *op, error *err)
{
    arena *a = arena_new();
    graph *g = graph_new(a, NULL);
    const bool ok = !has_texts(op) || check_texts(op, g, err);

    graph_release(g);
    arena_free(a);
    return ok;
}

void grad_init(void)
{
    size_t count;
    const op_def *const *all = ops_all(&count);

    for (size_t i = 0; i < count; i++) {
        error err = {0};

        if (grad_check(all[i], &err))
            continue;
        fprintf(stderr, "tensord: the gradient of %s is wrong: %s\n", all[i]->name, err.detail);
        abort();
    }
    lang_set_differentiator(grad_build);
}
