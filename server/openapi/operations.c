/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of operations, as a page of text. */
#include <string.h>

#include "server/openapi/openapi.h"
#include "server/routes/catalogue.h"

static void add_types(text *to, dtype_set set)
{
    const char *between = "";

    if (set == (1u << DT_COUNT) - 1)
        text_add(to, "all");
    for (int t = 0; t < DT_COUNT && set != (1u << DT_COUNT) - 1; t++) {
        if ((set >> t & 1) == 0)
            continue;
        text_addf(to, "%s%s", between, dtype_name((dtype)t));
        between = ", ";
    }
}

static void add_gradients(text *to, const catalogue_entry *e)
{
    const op_def *op = e->op;

    if (!e->differentiable) {
        text_add(to, "- Gradient: none\n");
        return;
    }
    if (op->lower != NULL)
        text_add(to, "- Gradient: follows from the definition\n");
    if (op_takes_functions(op))
        text_add(to, "- Gradient: follows from the functions that are taken\n");
    for (int i = 0; i < op->param_count; i++) {
        const op_param *p = &op->params[i];
        const bool is_input = p->kind == PARAM_TENSOR || p->kind == PARAM_TENSORS;

        if (is_input && p->position < OP_INPUTS && op->grad[p->position] != NULL)
            text_addf(to, "- Gradient for %s: `%s`\n", p->name, op->grad[p->position]);
    }
}

/* A text of several lines, as a block of code. */
static void add_block(text *to, const char *code)
{
    text_add(to, "\n");
    for (const char *at = code; *at != '\0';) {
        const size_t n = strcspn(at, "\n");

        text_addf(to, "    %.*s\n", (int)n, at);
        at += n + (at[n] == '\n');
    }
}

static void add_operation(text *to, const catalogue_entry *e)
{
    const op_def *op = e->op;

    text_add(to, "\n### `");
    catalogue_add_signature(op, to);
    text_addf(to, "`\n\n%s\n\n", op->doc);
    if (op->aliases != NULL)
        text_addf(to, "- Also: %s\n", op->aliases);
    if (catalogue_dtypes(e) != 0) {
        text_add(to, "- Element types: ");
        add_types(to, catalogue_dtypes(e));
        text_add(to, "\n");
    }
    add_gradients(to, e);
    if (op->lower != NULL) {
        text_add(to, "- Defined as\n");
        add_block(to, op->lower);
    }
    if (op->example != NULL) {
        add_block(to, op->example);
        text_addf(to, "    # = %s\n", op->gives);
    }
}

/* A family stands where its first operation does. */
static bool is_first_of_family(const catalogue_entry *all, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(all[k].op->family, all[i].op->family) == 0)
            return false;
    return true;
}

void operations_add(text *to)
{
    size_t n;
    const catalogue_entry *all = catalogue_all(&n);

    text_addf(
        to,
        "# Operations\n\nWritten by `make api` from the rows in `engine/ops`: %zu operations. "
        "The names are NumPy's; a leading `np.` is allowed in programs.\n",
        n);
    for (size_t i = 0; i < n; i++) {
        if (!is_first_of_family(all, i))
            continue;
        text_addf(to, "\n## %s\n", all[i].op->family);
        for (size_t k = i; k < n; k++)
            if (strcmp(all[k].op->family, all[i].op->family) == 0)
                add_operation(to, &all[k]);
    }
}
