/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the signatures of rows: "x, axis: axes = None, keepdims: bool = False". */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ops/families.h"

static const struct {
    const char *word;
    param_kind kind;
} kinds[] = {
    {"tensors", PARAM_TENSORS}, {"bool", PARAM_BOOL},     {"int", PARAM_INT},
    {"number", PARAM_NUMBER},   {"ints", PARAM_INTS},     {"axes", PARAM_AXES},
    {"pair", PARAM_PAIR},       {"text", PARAM_TEXT},     {"dtype", PARAM_DTYPE},
    {"index", PARAM_INDEX},     {"shapes", PARAM_SHAPES}, {"graph", PARAM_GRAPH},
    {"graphs", PARAM_GRAPHS},
};

const char *op_param_kind_name(param_kind kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == kind)
            return kinds[i].word;
    return "tensor";
}

static _Noreturn void fault(const op_def *op, const char *at)
{
    fprintf(stderr, "tensord: the signature of %s is wrong at \"%s\"\n", op->name, at);
    abort();
}

static const char *skip_blanks(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

/* A word of letters, digits, dots and _, copied for the life of the process. */
static char *read_word(const char **at)
{
    const char *p = skip_blanks(*at), *start = p;

    while (isalnum((unsigned char)*p) || *p == '_' || *p == '.' || *p == '-')
        p++;
    *at = skip_blanks(p);
    return strndup(start, (size_t)(p - start));
}

static param_kind read_kind(const op_def *op, const char **at)
{
    char *word = read_word(at);

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].word, word) == 0) {
            free(word);
            return kinds[i].kind;
        }
    }
    fault(op, word);
}

static attr read_default(const op_def *op, param_kind kind, const char **at)
{
    const char *start = *at;
    char *word = read_word(at);
    attr value = {0};
    error err = {0};

    if (strcmp(word, "None") == 0)
        value.kind = ATTR_NONE;
    else if (strcmp(word, "True") == 0 || strcmp(word, "False") == 0)
        value = (attr){.kind = ATTR_BOOL, .truth = *word == 'T'};
    else if (kind == PARAM_DTYPE && dtype_parse(word, strlen(word), &value.dtype, &err))
        value.kind = ATTR_DTYPE;
    else if (kind == PARAM_TEXT)
        value = (attr){.kind = ATTR_TEXT, .text = strdup(word)};
    else if (isdigit((unsigned char)*word) || *word == '-')
        value = (attr){.kind = ATTR_INT, .integer = atoll(word)};
    else
        fault(op, start);
    free(word);
    return value;
}

static void read_param(op_def *op, const char **at)
{
    op_param *p = &op->params[op->param_count];

    if (op->param_count++ == OP_PARAMS)
        fault(op, *at);
    p->name = read_word(at);
    if (**at == ':') {
        (*at)++;
        p->kind = read_kind(op, at);
    }
    if (**at == '=') {
        (*at)++;
        p->has_default = true;
        p->value = read_default(op, p->kind, at);
    }
    if (p->kind == PARAM_TENSORS) {
        p->position = op->input_count < 0 ? OP_INPUTS - 1 : op->input_count; /* a second list */
        op->input_count = -1;
    } else if (p->kind == PARAM_TENSOR)
        p->position = op->input_count++;
    else
        p->position = op->attr_count++;
}

void op_read_signature(op_def *op)
{
    const char *at = skip_blanks(op->signature);

    op->params = calloc(OP_PARAMS, sizeof *op->params);
    while (*at != '\0') {
        read_param(op, &at);
        if (*at == ',')
            at = skip_blanks(at + 1);
        else if (*at != '\0')
            fault(op, at);
    }
}
