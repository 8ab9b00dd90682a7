/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lang/operators.h"

#include <string.h>

#include "engine/lang/scalar.h"

static lang_value *top(tracer *tr)
{
    return &tr->stack[tr->height - 1];
}

/* ---- Operators -------------------------------------------------------------- */

static bool are_numbers(const lang_value *a, const lang_value *b)
{
    return a->kind == LANG_NUMBER && b->kind == LANG_NUMBER;
}

/* Texts and element types can be compared for equality, with each other and with
 * None. */
static bool compare_words(token_kind symbol, const lang_value *a, const lang_value *b,
                          lang_value *result)
{
    const bool words = (a->kind == LANG_TEXT || a->kind == LANG_DTYPE || a->kind == LANG_NONE) &&
                       (b->kind == LANG_TEXT || b->kind == LANG_DTYPE || b->kind == LANG_NONE);
    bool equal = a->kind == b->kind;

    if (!words || (symbol != TOKEN_EQUAL && symbol != TOKEN_NOT_EQUAL))
        return false;
    if (equal && a->kind == LANG_TEXT)
        equal = strcmp(a->text, b->text) == 0;
    else if (equal && a->kind == LANG_DTYPE)
        equal = a->dtype == b->dtype;
    else if (a->kind == LANG_DTYPE && b->kind == LANG_TEXT)
        equal = strcmp(dtype_name(a->dtype), b->text) == 0;
    else if (a->kind == LANG_TEXT && b->kind == LANG_DTYPE)
        equal = strcmp(dtype_name(b->dtype), a->text) == 0;
    *result = scalar_bool(equal == (symbol == TOKEN_EQUAL));
    return true;
}

/* Tuples joined by + and repeated by *, as in Python; sets *done if so. */
static bool tuple_binary(tracer *tr, token_kind symbol, const lang_value *a, const lang_value *b,
                         lang_value *result, bool *done, error *err)
{
    const bool joined = symbol == TOKEN_ADD && a->kind == LANG_TUPLE && b->kind == LANG_TUPLE;
    const bool repeated = symbol == TOKEN_MULTIPLY && a->kind == LANG_TUPLE &&
                          b->kind == LANG_NUMBER && b->number == LANG_INT;
    const int64_t times = joined ? 1 : b->integer > 0 ? b->integer : 0;
    int64_t n;
    lang_value *items;

    *done = joined || repeated;
    if (!*done)
        return true;
    if (__builtin_mul_overflow(times, (int64_t)a->sequence->count, &n))
        n = INT64_MAX / 2;
    n += joined ? b->sequence->count : 0;
    if (!tracer_charge(tr, n, err))
        return false;
    *result = tracer_sequence(tr, LANG_TUPLE, NULL, 0);
    items = arena_array(tr->arena, (size_t)n + 1, sizeof *items);
    for (int64_t i = 0; i < times * a->sequence->count; i++)
        items[i] = a->sequence->items[i % a->sequence->count];
    for (int i = 0; joined && i < b->sequence->count; i++)
        items[a->sequence->count + i] = b->sequence->items[i];
    result->sequence->items = items;
    result->sequence->count = (int)n;
    return true;
}

static bool apply_operator(tracer *tr, const char *name, const lang_value *operands, int n,
                           lang_value *result, error *err)
{
    const op_def *op = op_find(name, strlen(name));
    const arguments args = {.count = n, .values = operands};

    if (op == NULL)
        return error_set(err, ERR_UNKNOWN_OP, "there is no operation '%s'", name);
    return call_op(tr, op, &args, result, err);
}

bool tracer_binary(tracer *tr, token_kind symbol, const lang_value *a, const lang_value *b,
                   lang_value *result, error *err)
{
    const lang_value operands[2] = {*a, *b};
    scalar_outcome outcome = SCALAR_LEFT;
    lang_value number;
    bool done;

    if (are_numbers(a, b))
        outcome = token_is_comparison(symbol) ? scalar_compare(symbol, a, b, &number)
                                              : scalar_binary(symbol, a, b, &number, err);
    if (outcome == SCALAR_FAILED)
        return false;
    if (outcome == SCALAR_EXACT) {
        *result = number;
        return true;
    }
    if (compare_words(symbol, a, b, result))
        return true;
    if (!tuple_binary(tr, symbol, a, b, result, &done, err))
        return false;
    if (done)
        return true;
    if (!apply_operator(tr, token_op(symbol), operands, 2, result, err))
        return false;
    if (outcome == SCALAR_ROUNDED) {
        number.tensor = result->tensor;
        *result = number;
    }
    return true;
}

bool run_binary(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const lang_value b = tracer_pop(tr), a = *top(tr);
    lang_value result;

    (void)next;
    if (!tracer_binary(tr, (token_kind)i->symbol, &a, &b, &result, err))
        return false;
    *top(tr) = result;
    return true;
}

bool run_unary(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const token_kind symbol = (token_kind)i->symbol;
    const op_role role = symbol == TOKEN_SUBTRACT ? ROLE_NEGATIVE
                         : symbol == TOKEN_ADD    ? ROLE_POSITIVE
                                                  : ROLE_INVERT;
    const lang_value a = *top(tr);
    scalar_outcome outcome = SCALAR_LEFT;
    lang_value result;

    (void)next;
    if (a.kind == LANG_NUMBER)
        outcome = scalar_unary(symbol, &a, &result, err);
    if (outcome == SCALAR_FAILED ||
        (outcome == SCALAR_LEFT && !call_role(tr, role, &a, 1, &result, err)))
        return false;
    *top(tr) = result;
    return true;
}

/* ---- Truth ------------------------------------------------------------------ */

bool known_truth(const lang_value *v, bool *truth)
{
    *truth = false;
    switch (v->kind) {
    case LANG_NONE:
        return true;
    case LANG_NUMBER:
        *truth = scalar_truth(v);
        return true;
    case LANG_TUPLE:
        *truth = v->sequence->count > 0;
        return true;
    case LANG_TEXT:
        *truth = *v->text != '\0';
        return true;
    default:
        return false;
    }
}

bool scalar_tensor(tracer *tr, const lang_value *v, const char *who, value *result, error *err)
{
    char text[SHAPE_TEXT_MAX];

    if (!convert_tensor(tr, v, who, result, err))
        return false;
    if (value_type(*result)->shape.rank > 0)
        return error_set(err, ERR_VALUE,
                         "the truth of a tensor of shape %s is not one answer; %s needs a scalar: "
                         "use logical_and, logical_or, logical_not, where, all or any",
                         shape_print(&value_type(*result)->shape, text), who);
    return true;
}

bool run_not(tracer *tr, const instruction *i, size_t *next, error *err)
{
    lang_value v = *top(tr), result;
    bool truth;

    (void)i, (void)next;
    if (known_truth(&v, &truth)) {
        *top(tr) = scalar_bool(!truth);
        return true;
    }
    if (!scalar_tensor(tr, &v, "not", &v.tensor, err))
        return false;
    v.kind = LANG_TENSOR;
    if (!call_role(tr, ROLE_LOGICAL_NOT, &v, 1, &result, err))
        return false;
    *top(tr) = result;
    return true;
}

/* a and b for scalars of the graph: b where a is true, else a; or: the reverse. */
static bool join_truth(tracer *tr, bool is_and, const lang_value *a, const lang_value *b,
                       lang_value *result, error *err)
{
    lang_value x = {.kind = LANG_TENSOR}, y = {.kind = LANG_TENSOR};

    if (!scalar_tensor(tr, a, is_and ? "and" : "or", &x.tensor, err) ||
        !scalar_tensor(tr, b, is_and ? "and" : "or", &y.tensor, err))
        return false;
    if (value_type(x.tensor)->dtype == DT_BOOL && value_type(y.tensor)->dtype == DT_BOOL)
        return call_role(tr, is_and ? ROLE_LOGICAL_AND : ROLE_LOGICAL_OR, (lang_value[]){x, y}, 2,
                         result, err);
    return call_role(tr, ROLE_WHERE, is_and ? (lang_value[]){x, y, x} : (lang_value[]){x, x, y}, 3,
                     result, err);
}

bool run_logical_test(tracer *tr, const instruction *i, size_t *next, error *err)
{
    bool truth;

    (void)err;
    if (known_truth(top(tr), &truth) && truth == (i->kind == CODE_OR_TEST))
        *next += (size_t)i->n;
    return true;
}

bool run_logical(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const lang_value b = tracer_pop(tr), a = *top(tr);
    lang_value result = b;
    bool truth;

    (void)next;
    if (!known_truth(&a, &truth) && !join_truth(tr, i->kind == CODE_AND, &a, &b, &result, err))
        return false;
    *top(tr) = result;
    return true;
}

bool run_is(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const lang_value b = tracer_pop(tr), a = *top(tr);
    bool same;

    (void)next;
    if (b.kind != LANG_NONE && !(b.kind == LANG_NUMBER && b.number == LANG_BOOL))
        return error_set(err, ERR_VALUE,
                         "'is' compares with None, True and False; use == for values");
    same = a.kind == b.kind &&
           (b.kind == LANG_NONE || (a.number == LANG_BOOL && a.integer == b.integer));
    *top(tr) = scalar_bool(same != (i->n != 0));
    return true;
}

/* a < b < c is a < b and b < c. */
bool run_compare(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const lang_value *operands;
    lang_value all, one;
    bool truth;

    (void)next;
    tr->height -= (size_t)i->n + 1;
    operands = tr->stack + tr->height;
    if (!tracer_binary(tr, i->symbols[0], &operands[0], &operands[1], &all, err))
        return false;
    for (int k = 1; k < i->n; k++) {
        if (!tracer_binary(tr, i->symbols[k], &operands[k], &operands[k + 1], &one, err))
            return false;
        if (!known_truth(&all, &truth)) {
            if (!join_truth(tr, true, &all, &one, &all, err))
                return false;
        } else if (truth) {
            all = one;
        }
    }
    tracer_push(tr, all);
    return true;
}
