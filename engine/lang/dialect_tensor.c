/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lang/dialect_tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/nearest.h"
#include "engine/lang/parser.h"
#include "engine/lang/scalar.h"

/* The state of a run: tokens as they come, and the tracer. */
typedef struct speaker {
    parser p; /* for its tokens, nesting and messages; it writes no code */
    tracer *tr;
} speaker;

static bool expression(speaker *s, lang_value *result, error *err);

static bool fail_at(speaker *s, long offset, error *err)
{
    return error_at_text(err, s->p.x.text, offset);
}

/* ---- Operands --------------------------------------------------------------- */

/* The value as a tensor with a type of its own: numbers are not weak here. */
static bool operand(speaker *s, const lang_value *v, value *result, error *err)
{
    return convert_array(s->tr, v, NULL, result, err);
}

static bool reshaped(speaker *s, value v, int64_t first, int64_t second, value *result, error *err)
{
    lang_value lengths[2] = {scalar_int(first), scalar_int(second)}, operands[2], out;

    operands[0] = lang_of_value(v);
    operands[1] = tracer_sequence(s->tr, LANG_TUPLE, lengths, second < 0 ? 1 : 2);
    if (!call_role(s->tr, ROLE_RESHAPE, operands, 2, &out, err))
        return false;
    *result = out.tensor;
    return true;
}

/* An operand of + - and . : a scalar counts as a vector of one element. */
static bool vector_operand(speaker *s, const lang_value *v, value *result, error *err)
{
    if (v->kind == LANG_NUMBER) {
        const lang_value list = tracer_sequence(s->tr, LANG_LIST, v, 1);

        return operand(s, &list, result, err);
    }
    if (!operand(s, v, result, err))
        return false;
    return value_type(*result)->shape.rank > 0 || reshaped(s, *result, 1, -1, result, err);
}

/* ---- Operators -------------------------------------------------------------- */

static bool elementwise(speaker *s, token_kind symbol, const lang_value *a, const lang_value *b,
                        lang_value *result, error *err)
{
    char first[SHAPE_TEXT_MAX], second[SHAPE_TEXT_MAX];
    lang_value x = {.kind = LANG_TENSOR}, y = {.kind = LANG_TENSOR};
    shape joined;
    int axis;

    if (!vector_operand(s, a, &x.tensor, err) || !vector_operand(s, b, &y.tensor, err))
        return false;
    joined = value_type(x.tensor)->shape;
    if (!shape_broadcast(&joined, &value_type(y.tensor)->shape, &axis))
        return error_set(err, ERR_SHAPE, "broadcasting failed! shapes %s and %s",
                         shape_print(&value_type(x.tensor)->shape, first),
                         shape_print(&value_type(y.tensor)->shape, second));
    return tracer_binary(s->tr, symbol, &x, &y, result, err);
}

/* The product contracts the last axis of the left with the first of the right; a
 * vector is a row on the left and a column on the right. */
static bool product(speaker *s, const lang_value *a, const lang_value *b, lang_value *result,
                    error *err)
{
    char first[SHAPE_TEXT_MAX], second[SHAPE_TEXT_MAX];
    lang_value operands[3] = {{.kind = LANG_TENSOR}, {.kind = LANG_TENSOR}, scalar_int(1)};
    value *x = &operands[0].tensor, *y = &operands[1].tensor;
    shape left, right;

    if (!operand(s, a, x, err) || !operand(s, b, y, err))
        return false;
    left = value_type(*x)->shape;
    right = value_type(*y)->shape;
    if (left.rank == 0 || right.rank == 0 || left.length[left.rank - 1] != right.length[0])
        return error_set(err, ERR_SHAPE,
                         "输入不合法! the last axis of %s and the first of %s must be equally long",
                         shape_print(&left, first), shape_print(&right, second));
    if (left.rank == 1 && !reshaped(s, *x, 1, left.length[0], x, err))
        return false;
    if (right.rank == 1 && !reshaped(s, *y, right.length[0], 1, y, err))
        return false;
    return call_role(s->tr, ROLE_TENSORDOT, operands, 3, result, err);
}

static bool apply(speaker *s, const token *symbol, const lang_value *a, const lang_value *b,
                  lang_value *result, error *err)
{
    const token_kind kind = symbol->kind == TOKEN_DOT ? TOKEN_MULTIPLY : symbol->kind;
    const bool ok = symbol->kind == TOKEN_MULTIPLY ? product(s, a, b, result, err)
                                                   : elementwise(s, kind, a, b, result, err);

    return (ok && tracer_charge(s->tr, 1, err)) || fail_at(s, symbol->offset, err);
}

/* ---- Functions -------------------------------------------------------------- */

typedef bool speaker_fn(speaker *s, const arguments *args, lang_value *result, error *err);

/* Integers given as one, several, a list or a tuple, from argument `from` on. */
static bool lengths_of(speaker *s, const arguments *args, int from, const char *who, attr *result,
                       error *err)
{
    lang_value all = {0};
    int64_t *ints;

    if (args->count > from)
        all = args->count == from + 1
                  ? args->values[from]
                  : tracer_sequence(s->tr, LANG_TUPLE, args->values + from, args->count - from);
    if (!convert_attr(s->tr, &all, result, err))
        return error_set(err, ERR_ARGUMENT, "%s: integers are needed, not %s", who,
                         convert_describe(&all));
    if (result->kind == ATTR_INT) {
        ints = arena_alloc(s->tr->arena, sizeof *ints);
        *ints = result->integer;
        *result = (attr){.kind = ATTR_INTS, .n = 1, .ints = ints};
    }
    if (result->kind != ATTR_INTS || result->dynamic != NULL)
        return error_set(err, ERR_ARGUMENT, "%s: integers are needed", who);
    return true;
}

static bool filled(speaker *s, op_role role, const arguments *args, lang_value *result, error *err)
{
    lang_value operands[2];
    attr lengths;

    if (!lengths_of(s, args, 0, call_role_name(role), &lengths, err))
        return false;
    operands[0] = lang_of_attr(s->tr->arena, &lengths);
    operands[1] = (lang_value){.kind = LANG_DTYPE, .dtype = DT_I64};
    return call_role(s->tr, role, operands, 2, result, err);
}

static bool run_one(speaker *s, const arguments *args, lang_value *result, error *err)
{
    return filled(s, ROLE_ONES, args, result, err);
}

static bool run_zero(speaker *s, const arguments *args, lang_value *result, error *err)
{
    return filled(s, ROLE_ZEROS, args, result, err);
}

/* The seed of a draw, or None: then the request's counts. */
static lang_value seed_of(const arguments *args)
{
    return args->keyword_count > 0 ? args->values[args->count] : (lang_value){.kind = LANG_NONE};
}

static bool run_rand(speaker *s, const arguments *args, lang_value *result, error *err)
{
    lang_value operands[2];
    attr lengths;

    if (!lengths_of(s, args, 0, "rand", &lengths, err))
        return false;
    operands[0] = lang_of_attr(s->tr->arena, &lengths);
    operands[1] = seed_of(args);
    return call_role(s->tr, ROLE_RAND, operands, 2, result, err);
}

static void report(speaker *s, const char *words, lang_style style, value v)
{
    if (*words != '\0')
        tracer_print(s->tr, (lang_printed){.style = LANG_LITERAL, .text = words});
    tracer_print(s->tr, (lang_printed){.style = style, .value = v});
    s->tr->program->line_count++;
}

static bool run_get_shape(speaker *s, const arguments *args, lang_value *result, error *err)
{
    value v, strong;

    if (!operand(s, &args->values[0], &v, err) || !attribute_shape(s->tr, v, result, err))
        return false;
    report(s, "shape:", LANG_SHAPE, v);
    result->kind = LANG_LIST;
    if (result->sequence->count == 0) { /* of integers, though it has none */
        static const dtype integers = DT_I64;

        if (!convert_array(s->tr, result, &integers, &strong, err))
            return false;
        *result = lang_of_value(strong);
    }
    return true;
}

static bool run_size(speaker *s, const arguments *args, lang_value *result, error *err)
{
    value v, size;

    if (!operand(s, &args->values[0], &v, err) ||
        !attribute_load(s->tr, &(lang_value){.kind = LANG_TENSOR, .tensor = v}, "size", USE_VALUE,
                        result, err) ||
        !operand(s, result, &size, err))
        return false;
    report(s, "size:", LANG_STR, size);
    *result = lang_of_value(size);
    return true;
}

static bool run_reshape(speaker *s, const arguments *args, lang_value *result, error *err)
{
    lang_value operands[2] = {{.kind = LANG_TENSOR}};
    attr lengths;

    if (!operand(s, &args->values[0], &operands[0].tensor, err) ||
        !lengths_of(s, args, 1, "reshape", &lengths, err))
        return false;
    operands[1] = lang_of_attr(s->tr->arena, &lengths);
    return call_role(s->tr, ROLE_RESHAPE, operands, 2, result, err);
}

/* The part of one axis that slice takes. */
static bool slice_axis(speaker *s, int axis, int64_t length, int64_t begin, int64_t size,
                       lang_value *item, error *err)
{
    lang_value parts[3] = {{.kind = LANG_NONE}, {.kind = LANG_NONE}, {.kind = LANG_NONE}};

    if (begin < 0 || begin > length || size < -1 || size > length - begin)
        return error_set(err, ERR_INDEX,
                         "slice: %" PRId64 " elements from %" PRId64
                         " overrun axis %d, which has %" PRId64,
                         size, begin, axis, length);
    parts[0] = scalar_int(begin);
    parts[1] = scalar_int(size == -1 ? length : begin + size);
    *item = tracer_sequence(s->tr, LANG_SLICE, parts, 3);
    return true;
}

static bool run_slice(speaker *s, const arguments *args, lang_value *result, error *err)
{
    const arguments begins = {.count = 1, .values = &args->values[1]};
    const arguments sizes = {.count = 1, .values = &args->values[2]};
    lang_value x = {.kind = LANG_TENSOR}, items[RANK_MAX];
    const shape *in;
    attr begin, size;

    if (!operand(s, &args->values[0], &x.tensor, err) ||
        !lengths_of(s, &begins, 0, "slice", &begin, err) ||
        !lengths_of(s, &sizes, 0, "slice", &size, err))
        return false;
    in = &value_type(x.tensor)->shape;
    if (begin.n != in->rank || size.n != in->rank)
        return error_set(err, ERR_ARGUMENT,
                         "slice: a tensor with %d axes needs as many begins and sizes, not %d and "
                         "%d",
                         in->rank, begin.n, size.n);
    for (int i = 0; i < in->rank; i++)
        if (!slice_axis(s, i, in->length[i], begin.ints[i], size.ints[i], &items[i], err))
            return false;
    return index_get(s->tr, &x, items, in->rank, result, err);
}

static bool run_dot(speaker *s, const arguments *args, lang_value *result, error *err)
{
    return elementwise(s, TOKEN_MULTIPLY, &args->values[0], &args->values[1], result, err);
}

static bool run_print(speaker *s, const arguments *args, lang_value *result, error *err)
{
    value v;

    *result = (lang_value){.kind = LANG_NONE};
    if (!operand(s, &args->values[0], &v, err))
        return false;
    report(s, "", LANG_LISTS, v);
    return true;
}

enum { MANY = 64 };

static const struct function {
    const char *name;
    speaker_fn *run;
    int least, most; /* arguments */
} functions[] = {
    {"rand", run_rand, 1, MANY},
    {"one", run_one, 1, MANY},
    {"zero", run_zero, 1, MANY},
    {"get_shape", run_get_shape, 1, 1},
    {"size", run_size, 1, 1},
    {"get_tensor_size", run_size, 1, 1},
    {"reshape", run_reshape, 2, MANY},
    {"reshape_tensor", run_reshape, 2, MANY},
    {"slice", run_slice, 3, 3},
    {"tensor_slice", run_slice, 3, 3},
    {"dot", run_dot, 2, 2},
    {"print", run_print, 1, 1},
};

static const struct function *find_function(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(name, functions[i].name) == 0)
            return &functions[i];
    return NULL;
}

static bool fail_function(const char *name, error *err)
{
    nearest n = nearest_to(name, strlen(name) < 4 ? 1 : NEAREST_EDITS);

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        nearest_offer(&n, functions[i].name);
    error_set(err, ERR_UNKNOWN_OP, "there is no function '%s' in this dialect", name);
    return error_did_you_mean(err, n.word);
}

static bool run_function(speaker *s, const char *name, const arguments *args, lang_value *result,
                         error *err)
{
    const struct function *f = find_function(name);

    if (f == NULL)
        return fail_function(name, err);
    if (args->count < f->least || args->count > f->most)
        return error_set(err, ERR_ARGUMENT, "%s takes %d argument%s, got %d", name, f->least,
                         f->least == 1 ? "" : "s", args->count);
    if (args->keyword_count > 0 &&
        (f->run != run_rand || args->keyword_count > 1 || strcmp(args->keywords[0], "seed") != 0))
        return error_set(err, ERR_UNKNOWN_ATTR, "%s has no parameter '%s'", name,
                         args->keywords[args->keyword_count - 1]);
    return f->run(s, args, result, err);
}

/* ---- Primaries -------------------------------------------------------------- */

/* Expressions up to a closing bracket, onto the stack of the tracer; keywords
 * come last. */
static bool items(speaker *s, token_kind close, const char **keyword, int *count, error *err)
{
    lang_value v;

    for (*count = 0; !parser_at(&s->p, close);) {
        const lexer_place before = lexer_mark(&s->p.x);

        if (keyword != NULL && s->p.x.token.kind == TOKEN_NAME) {
            if (!lexer_next(&s->p.x, err))
                return false;
            if (!parser_at(&s->p, TOKEN_ASSIGN))
                lexer_return(&s->p.x, &before);
            else if (*keyword != NULL)
                return parser_fail(&s->p, err, "only one option can be given");
            else {
                *keyword = before.token.text;
                if (!lexer_next(&s->p.x, err))
                    return false;
            }
        }
        if (!expression(s, &v, err))
            return false;
        tracer_push(s->tr, v);
        ++*count;
        if (parser_at(&s->p, close))
            break;
        if (!parser_expect(&s->p, TOKEN_COMMA, "','", err))
            return false;
    }
    return lexer_next(&s->p.x, err);
}

/* The n values on top of the stack, taken from it. */
static const lang_value *taken(speaker *s, int n)
{
    s->tr->height -= (size_t)n;
    return s->tr->stack + s->tr->height;
}

static bool call(speaker *s, const token *name, lang_value *result, error *err)
{
    const char *keywords[2] = {NULL, NULL};
    arguments args = {.keywords = keywords};
    int n;

    if (!parser_enter(&s->p, err) || !lexer_next(&s->p.x, err) ||
        !items(s, TOKEN_RIGHT_PAREN, keywords, &n, err))
        return false;
    parser_leave(&s->p);
    args.keyword_count = keywords[0] != NULL;
    args.count = n - args.keyword_count;
    args.values = tracer_sequence(s->tr, LANG_TUPLE, taken(s, n), n).sequence->items;
    return run_function(s, name->text, &args, result, err) || fail_at(s, name->offset, err);
}

static bool bracketed(speaker *s, bool is_list, lang_value *result, error *err)
{
    const long offset = s->p.x.token.offset;
    int n;

    if (!parser_enter(&s->p, err) || !lexer_next(&s->p.x, err) ||
        !items(s, is_list ? TOKEN_RIGHT_BRACKET : TOKEN_RIGHT_PAREN, NULL, &n, err))
        return false;
    parser_leave(&s->p);
    if (!tracer_charge(s->tr, n, err))
        return fail_at(s, offset, err);
    *result = is_list || n != 1
                  ? tracer_sequence(s->tr, is_list ? LANG_LIST : LANG_TUPLE, taken(s, n), n)
                  : *taken(s, 1);
    return true;
}

static bool variable(speaker *s, const token *name, lang_value *result, error *err)
{
    if (!name_load(s->tr, name->text, USE_VALUE, result, err))
        return fail_at(s, name->offset, err);
    if (result->kind == LANG_TENSOR || result->kind == LANG_NUMBER || result->kind == LANG_LIST)
        return true;
    error_set(err, ERR_UNKNOWN_NAME, "the name '%s' is not known as a tensor", name->text);
    return fail_at(s, name->offset, err);
}

static bool number(speaker *s, lang_value *result, error *err)
{
    const token *t = &s->p.x.token;

    *result = t->kind == TOKEN_INT ? scalar_unsigned(t->integer) : scalar_float(t->real);
    return lexer_next(&s->p.x, err);
}

static bool primary(speaker *s, lang_value *result, error *err)
{
    const token t = s->p.x.token;

    switch (t.kind) {
    case TOKEN_INT:
    case TOKEN_FLOAT:
        return number(s, result, err);
    case TOKEN_LEFT_BRACKET:
    case TOKEN_LEFT_PAREN:
        return bracketed(s, t.kind == TOKEN_LEFT_BRACKET, result, err);
    case TOKEN_NAME:
        if (!lexer_next(&s->p.x, err))
            return false;
        return parser_at(&s->p, TOKEN_LEFT_PAREN) ? call(s, &t, result, err)
                                                  : variable(s, &t, result, err);
    default:
        return parser_fail(&s->p, err, "%s cannot stand here", token_text(&s->p.x, &t));
    }
}

/* ---- Expressions and statements
 * --------------------------------------------------------------------- */

static bool negated(speaker *s, lang_value *result, error *err)
{
    const token t = s->p.x.token;
    lang_value v;

    if (!parser_at(&s->p, TOKEN_SUBTRACT))
        return primary(s, result, err);
    if (!parser_enter(&s->p, err) || !lexer_next(&s->p.x, err) || !negated(s, &v, err))
        return false;
    parser_leave(&s->p);
    if (v.kind == LANG_NUMBER)
        return scalar_unary(TOKEN_SUBTRACT, &v, result, err) != SCALAR_FAILED ||
               fail_at(s, t.offset, err);
    return call_role(s->tr, ROLE_NEGATIVE, &v, 1, result, err) || fail_at(s, t.offset, err);
}

static bool joined(speaker *s, bool tight, lang_value *result, error *err)
{
    if (!(tight ? negated(s, result, err) : joined(s, true, result, err)))
        return false;
    while (parser_at(&s->p, tight ? TOKEN_MULTIPLY : TOKEN_ADD) ||
           parser_at(&s->p, tight ? TOKEN_DOT : TOKEN_SUBTRACT)) {
        const token symbol = s->p.x.token;
        const lang_value a = *result;
        lang_value b;

        if (!lexer_next(&s->p.x, err) ||
            !(tight ? negated(s, &b, err) : joined(s, true, &b, err)) ||
            !apply(s, &symbol, &a, &b, result, err))
            return false;
    }
    return true;
}

static bool expression(speaker *s, lang_value *result, error *err)
{
    return joined(s, false, result, err);
}

static bool assignment(speaker *s, const token *name, error *err)
{
    lang_value v;
    value t;

    if (!lexer_next(&s->p.x, err) || !expression(s, &v, err))
        return false;
    if (v.kind == LANG_NONE) {
        error_set(err, ERR_VALUE, "there is no value to assign to '%s'", name->text);
        return fail_at(s, name->offset, err);
    }
    if (!operand(s, &v, &t, err))
        return fail_at(s, name->offset, err);
    v = lang_of_value(t);
    tracer_store(s->tr, name->text, &v, name->offset);
    report(s, arena_format(s->tr->arena, "%s:tensor", name->text), LANG_SHAPE, t);
    return true;
}

static bool statement(speaker *s, error *err)
{
    const lexer_place before = lexer_mark(&s->p.x);
    lang_value v = {0};
    value t;

    if (before.token.kind == TOKEN_NAME) {
        if (!lexer_next(&s->p.x, err))
            return false;
        if (parser_at(&s->p, TOKEN_ASSIGN))
            return assignment(s, &before.token, err);
        lexer_return(&s->p.x, &before);
    }
    if (!expression(s, &v, err))
        return false;
    if (v.kind == LANG_NONE)
        return true;
    if (!operand(s, &v, &t, err))
        return fail_at(s, before.token.offset, err);
    s->tr->result = lang_of_value(t);
    s->tr->result_offset = before.token.offset;
    return true;
}

static bool at_end_of_statement(const speaker *s)
{
    return parser_at(&s->p, TOKEN_NEWLINE) || parser_at(&s->p, TOKEN_SEMICOLON) ||
           parser_at(&s->p, TOKEN_END);
}

static bool statements(speaker *s, error *err)
{
    while (!parser_at(&s->p, TOKEN_END)) {
        if (!at_end_of_statement(s) && !statement(s, err))
            return false;
        if (!at_end_of_statement(s))
            return parser_fail(&s->p, err, "expected the end of the statement, found %s",
                               token_text(&s->p.x, &s->p.x.token));
        if (!lexer_next(&s->p.x, err))
            return false;
    }
    return true;
}

/* Syntax errors begin with the word that this language has for them. */
static bool prefix_syntax(error *err)
{
    char detail[sizeof err->detail];

    if (err->kind != ERR_SYNTAX)
        return false;
    memcpy(detail, err->detail, sizeof detail);
    snprintf(err->detail, sizeof err->detail, "输入错误: %.480s", detail);
    return false;
}

bool dialect_tensor_run(tracer *tr, const char *text, size_t length, error *err)
{
    speaker s = {.tr = tr};

    if (!lexer_init(&s.p.x, tr->arena, text, length, true, err) || !statements(&s, err))
        return prefix_syntax(err);
    return true;
}
