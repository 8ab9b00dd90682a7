/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/table.h"
#include "engine/base/nearest.h"
#include "engine/ops/families.h"

static const op_family *const families[] = {
    &elementwise_family, &casting_family,  &reduction_family, &movement_family, &indexing_family,
    &joining_family,     &creation_family, &random_family,    &linalg_family,   &definition_family,
    &control_family,     &form_family,     &dataflow_family,
};
enum { FAMILIES = sizeof families / sizeof *families };

static const op_def **rows;
static size_t row_count;
static table names; /* names and aliases -> rows */

static void add_name(const char *name, size_t length, op_def *op)
{
    if (table_put_bytes(&names, name, length, op) != NULL) {
        fprintf(stderr, "tensord: two operations are called %.*s\n", (int)length, name);
        abort();
    }
}

static void add_row(op_def *op)
{
    const char *alias = op->aliases;

    op_read_signature(op);
    op_take_quick(op);
    op_take_division(op);
    rows[row_count++] = op;
    add_name(op->name, strlen(op->name), op);
    while (alias != NULL && *alias != '\0') {
        size_t length = strcspn(alias, " ");

        add_name(alias, length, op);
        alias += length + (alias[length] == ' ');
    }
}

void ops_init(void)
{
    size_t count = 0;

    if (rows != NULL)
        return;
    for (int f = 0; f < FAMILIES; f++)
        count += families[f]->count;
    rows = calloc(count, sizeof *rows);
    table_init(&names, arena_new());
    for (int f = 0; f < FAMILIES; f++)
        for (size_t i = 0; i < families[f]->count; i++)
            add_row(&families[f]->rows[i]);
}

const op_def *op_find(const char *name, size_t length)
{
    return table_get_bytes(&names, name, length);
}

const op_def *const *ops_all(size_t *count)
{
    *count = row_count;
    return rows;
}

const char *op_nearest(const char *name, size_t length)
{
    char word[64] = "";
    nearest n = nearest_to(word, length < 4 ? 1 : NEAREST_EDITS);

    if (length >= sizeof word)
        return NULL;
    memcpy(word, name, length);
    nearest_offer_keys(&n, &names);
    return n.word;
}

int op_output_count(const op_def *op, const type *inputs)
{
    return op->outputs == 0 ? 1 : op->outputs < 0 ? inputs[0].shape.rank : op->outputs;
}

const op_param *op_param_find(const op_def *op, const char *name, size_t length)
{
    for (int i = 0; i < op->param_count; i++)
        if (strlen(op->params[i].name) == length && memcmp(op->params[i].name, name, length) == 0)
            return &op->params[i];
    return NULL;
}

const char *op_param_nearest(const op_def *op, const char *name)
{
    nearest n = nearest_to(name, NEAREST_EDITS);

    for (int i = 0; i < op->param_count; i++)
        nearest_offer(&n, op->params[i].name);
    return n.word;
}

bool op_is_captured(const op_def *op, const op_param *p)
{
    return op->control == CONTROL_COND && p->kind == PARAM_TENSORS;
}

bool op_takes_functions(const op_def *op)
{
    return (op->traits & (OP_CONTROL | OP_FORM)) != 0;
}

static bool is_input(const op_param *p)
{
    return p->kind == PARAM_TENSOR || p->kind == PARAM_TENSORS;
}

static const op_param *find_position(const op_def *op, int index, bool input)
{
    for (int i = 0; i < op->param_count; i++)
        if (is_input(&op->params[i]) == input &&
            (op->params[i].position == index || op->params[i].kind == PARAM_TENSORS))
            return &op->params[i];
    return NULL;
}

const op_param *op_input_param(const op_def *op, int index)
{
    return find_position(op, index, true);
}

const op_param *op_attr_param(const op_def *op, int index)
{
    return find_position(op, index, false);
}
