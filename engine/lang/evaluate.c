/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/lang/machine.h"
#include "engine/lang/scalar.h"

typedef bool instruction_fn(machine *m, const instruction *i, size_t *next, error *err);

/* ---- The machine ------------------------------------------------------------------------- */

void machine_init(machine *m, graph *g, const lang_options *options)
{
    *m = (machine){.arena = g->arena, .root = g, .graph = g, .options = options};
    m->steps = options->steps_max > 0 ? options->steps_max : LANG_STEPS;
    m->global = m->local = arena_alloc(m->arena, sizeof *m->global);
    table_init(&m->global->names, m->arena);
    table_init(&m->resolved, m->arena);
}

bool machine_charge(machine *m, int64_t steps, error *err)
{
    const int64_t limit = m->options->steps_max > 0 ? m->options->steps_max : LANG_STEPS;

    if (m->steps < steps) {
        m->steps = 0;
        return error_set_limit(err, ERR_GRAPH_SIZE, limit, limit,
                               "the program takes more than %lld steps to build",
                               (long long)limit);
    }
    m->steps -= steps;
    return true;
}

bool machine_enter(machine *m, error *err)
{
    if (m->depth >= MACHINE_DEPTH)
        return error_set_limit(err, ERR_GRAPH_SIZE, MACHINE_DEPTH, m->depth + 1,
                               "functions call each other more than %d levels deep",
                               MACHINE_DEPTH);
    m->depth++;
    return true;
}

void machine_leave(machine *m)
{
    m->depth--;
}

lang_value *machine_push(machine *m, lang_value v)
{
    m->stack = arena_grow(m->arena, m->stack, m->height, &m->room, sizeof *m->stack);
    m->stack[m->height] = v;
    return &m->stack[m->height++];
}

lang_value machine_pop(machine *m)
{
    return m->stack[--m->height];
}

static lang_value *top(machine *m)
{
    return &m->stack[m->height - 1];
}

lang_value machine_sequence(machine *m, lang_kind kind, const lang_value *items, int n)
{
    lang_sequence *s = arena_alloc(m->arena, sizeof *s);

    s->count = n;
    s->items = arena_array(m->arena, (size_t)n + 1, sizeof *s->items);
    if (n > 0)
        memcpy(s->items, items, (size_t)n * sizeof *items);
    return (lang_value){.kind = kind, .sequence = s};
}

static binding *bind(machine *m, const char *name, const lang_value *v, long offset)
{
    binding *b = table_get(&m->local->names, name);

    if (b == NULL) {
        b = arena_alloc(m->arena, sizeof *b);
        b->offset = offset;
        table_put(&m->local->names, name, b);
    }
    b->value = *v;
    return b;
}

void machine_bind(machine *m, const char *name, const lang_value *v)
{
    bind(m, name, v, 0);
}

void machine_store(machine *m, const char *name, const lang_value *v, long offset)
{
    bind(m, name, v, offset);
    if (v->kind == LANG_TENSOR && m->local == m->global && v->tensor.node->graph == m->root &&
        v->tensor.node->name == NULL)
        graph_name(v->tensor, name);
}

/* ---- Operands ------------------------------------------------------------------------------ */

static bool run_bool(machine *m, const instruction *i, size_t *next, error *err)
{
    (void)next, (void)err;
    machine_push(m, scalar_bool(i->n != 0));
    return true;
}

static bool run_int(machine *m, const instruction *i, size_t *next, error *err)
{
    (void)next, (void)err;
    machine_push(m, scalar_unsigned(i->integer));
    return true;
}

static bool run_float(machine *m, const instruction *i, size_t *next, error *err)
{
    (void)next, (void)err;
    machine_push(m, i->kind == CODE_FLOAT ? scalar_float(i->real) : scalar_complex(0, i->real));
    return true;
}

static bool run_text(machine *m, const instruction *i, size_t *next, error *err)
{
    (void)next, (void)err;
    machine_push(m, (lang_value){.kind = LANG_TEXT, .text = i->text});
    return true;
}

static bool run_none(machine *m, const instruction *i, size_t *next, error *err)
{
    (void)next, (void)err;
    machine_push(m, (lang_value){.kind = i->kind == CODE_NONE ? LANG_NONE : LANG_ELLIPSIS});
    return true;
}

static bool run_load(machine *m, const instruction *i, size_t *next, error *err)
{
    lang_value v;

    (void)next;
    if (!name_load(m, i->text, (code_use)i->use, &v, err))
        return false;
    machine_push(m, v);
    return true;
}

static bool run_sequence(machine *m, const instruction *i, size_t *next, error *err)
{
    const lang_kind kind = i->kind == CODE_LIST    ? LANG_LIST
                           : i->kind == CODE_SLICE ? LANG_SLICE
                                                   : LANG_TUPLE;
    const int n = kind == LANG_SLICE ? 3 : i->n;
    lang_value v;

    (void)next, (void)err;
    m->height -= (size_t)n;
    v = machine_sequence(m, kind, m->stack + m->height, n);
    machine_push(m, v);
    return true;
}

/* ---- Operators ------------------------------------------------------------------------------- */

static bool are_numbers(const lang_value *a, const lang_value *b)
{
    return a->kind == LANG_NUMBER && b->kind == LANG_NUMBER;
}

/* Texts and element types can be compared for equality, with each other and with
 * None. */
static bool compare_words(token_kind operator, const lang_value *a, const lang_value *b,
                          lang_value *result)
{
    const bool words = (a->kind == LANG_TEXT || a->kind == LANG_DTYPE || a->kind == LANG_NONE) &&
                       (b->kind == LANG_TEXT || b->kind == LANG_DTYPE || b->kind == LANG_NONE);
    bool equal = a->kind == b->kind;

    if (!words || (operator != TOKEN_EQUAL && operator != TOKEN_NOT_EQUAL))
        return false;
    if (equal && a->kind == LANG_TEXT)
        equal = strcmp(a->text, b->text) == 0;
    else if (equal && a->kind == LANG_DTYPE)
        equal = a->dtype == b->dtype;
    else if (a->kind == LANG_DTYPE && b->kind == LANG_TEXT)
        equal = strcmp(dtype_name(a->dtype), b->text) == 0;
    else if (a->kind == LANG_TEXT && b->kind == LANG_DTYPE)
        equal = strcmp(dtype_name(b->dtype), a->text) == 0;
    *result = scalar_bool(equal == (operator == TOKEN_EQUAL));
    return true;
}

/* Tuples joined by + and repeated by *, as in Python; sets *done if so. */
static bool tuple_binary(machine *m, token_kind operator, const lang_value *a, const lang_value *b,
                         lang_value *result, bool *done, error *err)
{
    const bool joined = operator == TOKEN_ADD && a->kind == LANG_TUPLE && b->kind == LANG_TUPLE;
    const bool repeated = operator == TOKEN_MULTIPLY && a->kind == LANG_TUPLE &&
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
    if (!machine_charge(m, n, err))
        return false;
    *result = machine_sequence(m, LANG_TUPLE, NULL, 0);
    items = arena_array(m->arena, (size_t)n + 1, sizeof *items);
    for (int64_t i = 0; i < times * a->sequence->count; i++)
        items[i] = a->sequence->items[i % a->sequence->count];
    for (int i = 0; joined && i < b->sequence->count; i++)
        items[a->sequence->count + i] = b->sequence->items[i];
    result->sequence->items = items;
    result->sequence->count = (int)n;
    return true;
}

static bool apply_operator(machine *m, const char *name, const lang_value *operands, int n,
                           lang_value *result, error *err)
{
    const op_def *op = op_find(name, strlen(name));
    const arguments args = {.count = n, .values = operands};

    if (op == NULL)
        return error_set(err, ERR_UNKNOWN_OP, "there is no operation '%s'", name);
    return call_op(m, op, &args, result, err);
}

bool machine_binary(machine *m, token_kind operator, const lang_value *a, const lang_value *b,
                    lang_value *result, error *err)
{
    const lang_value operands[2] = {*a, *b};
    scalar_outcome outcome = SCALAR_LEFT;
    lang_value number;
    bool done;

    if (are_numbers(a, b))
        outcome = token_is_comparison(operator) ? scalar_compare(operator, a, b, &number)
                                                : scalar_binary(operator, a, b, &number, err);
    if (outcome == SCALAR_FAILED)
        return false;
    if (outcome == SCALAR_EXACT) {
        *result = number;
        return true;
    }
    if (compare_words(operator, a, b, result))
        return true;
    if (!tuple_binary(m, operator, a, b, result, &done, err))
        return false;
    if (done)
        return true;
    if (!apply_operator(m, token_op(operator), operands, 2, result, err))
        return false;
    if (outcome == SCALAR_ROUNDED) {
        number.tensor = result->tensor;
        *result = number;
    }
    return true;
}

static bool run_binary(machine *m, const instruction *i, size_t *next, error *err)
{
    const lang_value b = machine_pop(m), a = *top(m);
    lang_value result;

    (void)next;
    if (!machine_binary(m, (token_kind)i->operator, &a, &b, &result, err))
        return false;
    *top(m) = result;
    return true;
}

static bool run_unary(machine *m, const instruction *i, size_t *next, error *err)
{
    const token_kind operator = (token_kind)i->operator;
    const op_role role = operator == TOKEN_SUBTRACT ? ROLE_NEGATIVE
                         : operator == TOKEN_ADD    ? ROLE_POSITIVE
                                                    : ROLE_INVERT;
    const lang_value a = *top(m);
    scalar_outcome outcome = SCALAR_LEFT;
    lang_value result;

    (void)next;
    if (a.kind == LANG_NUMBER)
        outcome = scalar_unary(operator, &a, &result, err);
    if (outcome == SCALAR_FAILED ||
        (outcome == SCALAR_LEFT && !call_role(m, role, &a, 1, &result, err)))
        return false;
    *top(m) = result;
    return true;
}

/* ---- Truth ------------------------------------------------------------------------------------- */

/* Whether the value's truth is known now. */
static bool known_truth(const lang_value *v, bool *truth)
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

/* The value as a scalar tensor, for and, or, not and conditions. */
static bool scalar_tensor(machine *m, const lang_value *v, const char *who, value *result,
                          error *err)
{
    char text[SHAPE_TEXT_MAX];

    if (!convert_tensor(m, v, who, result, err))
        return false;
    if (value_type(*result)->shape.rank > 0)
        return error_set(err, ERR_VALUE,
                         "the truth of a tensor of shape %s is not one answer; %s needs a scalar: "
                         "use logical_and, logical_or, logical_not, where, all or any",
                         shape_print(&value_type(*result)->shape, text), who);
    return true;
}

static bool run_not(machine *m, const instruction *i, size_t *next, error *err)
{
    lang_value v = *top(m), result;
    bool truth;

    (void)i, (void)next;
    if (known_truth(&v, &truth)) {
        *top(m) = scalar_bool(!truth);
        return true;
    }
    if (!scalar_tensor(m, &v, "not", &v.tensor, err))
        return false;
    v.kind = LANG_TENSOR;
    if (!call_role(m, ROLE_LOGICAL_NOT, &v, 1, &result, err))
        return false;
    *top(m) = result;
    return true;
}

/* a and b for scalars of the graph: b where a is true, else a; or: the reverse. */
static bool join_truth(machine *m, bool is_and, const lang_value *a, const lang_value *b,
                       lang_value *result, error *err)
{
    lang_value x = {.kind = LANG_TENSOR}, y = {.kind = LANG_TENSOR};

    if (!scalar_tensor(m, a, is_and ? "and" : "or", &x.tensor, err) ||
        !scalar_tensor(m, b, is_and ? "and" : "or", &y.tensor, err))
        return false;
    if (value_type(x.tensor)->dtype == DT_BOOL && value_type(y.tensor)->dtype == DT_BOOL)
        return call_role(m, is_and ? ROLE_LOGICAL_AND : ROLE_LOGICAL_OR, (lang_value[]){x, y}, 2,
                         result, err);
    return call_role(m, ROLE_WHERE,
                     is_and ? (lang_value[]){x, y, x} : (lang_value[]){x, x, y}, 3, result, err);
}

/* After the first operand of and, or: skips the second if the first decides. */
static bool run_logical_test(machine *m, const instruction *i, size_t *next, error *err)
{
    bool truth;

    (void)err;
    if (known_truth(top(m), &truth) && truth == (i->kind == CODE_OR_TEST))
        *next += (size_t)i->n;
    return true;
}

static bool run_logical(machine *m, const instruction *i, size_t *next, error *err)
{
    const lang_value b = machine_pop(m), a = *top(m);
    lang_value result = b;
    bool truth;

    (void)next;
    if (!known_truth(&a, &truth) && !join_truth(m, i->kind == CODE_AND, &a, &b, &result, err))
        return false;
    *top(m) = result;
    return true;
}

static bool run_is(machine *m, const instruction *i, size_t *next, error *err)
{
    const lang_value b = machine_pop(m), a = *top(m);
    bool same;

    (void)next;
    if (b.kind != LANG_NONE && !(b.kind == LANG_NUMBER && b.number == LANG_BOOL))
        return error_set(err, ERR_VALUE,
                         "'is' compares with None, True and False; use == for values");
    same = a.kind == b.kind &&
           (b.kind == LANG_NONE || (a.number == LANG_BOOL && a.integer == b.integer));
    *top(m) = scalar_bool(same != (i->n != 0));
    return true;
}

/* a < b < c is a < b and b < c. */
static bool run_compare(machine *m, const instruction *i, size_t *next, error *err)
{
    const lang_value *operands;
    lang_value all, one;
    bool truth;

    (void)next;
    m->height -= (size_t)i->n + 1;
    operands = m->stack + m->height;
    if (!machine_binary(m, i->operators[0], &operands[0], &operands[1], &all, err))
        return false;
    for (int k = 1; k < i->n; k++) {
        if (!machine_binary(m, i->operators[k], &operands[k], &operands[k + 1], &one, err))
            return false;
        if (!known_truth(&all, &truth)) {
            if (!join_truth(m, true, &all, &one, &all, err))
                return false;
        } else if (truth) {
            all = one;
        }
    }
    machine_push(m, all);
    return true;
}

/* ---- Ways to go ---------------------------------------------------------------------------------- */

/* Both sides as sub-graphs of a cond. */
static bool select_later(machine *m, const instruction *i, size_t start, const lang_value *condition,
                         error *err)
{
    const int first = i->n - 1, second = m->code->list[start + (size_t)first].n;
    lang_value operands[3] = {*condition}, result;
    attr sides[2] = {{.kind = ATTR_GRAPH}, {.kind = ATTR_GRAPH}};
    const arguments args = {.count = 3, .values = operands};
    const op_def *op = call_role_op(ROLE_COND, err);
    bool tuple[2];

    if (op == NULL)
        return false;
    sides[0].graph = call_traced_code(m, start, first, &tuple[0], err);
    if (sides[0].graph == NULL)
        return false;
    sides[1].graph = call_traced_code(m, start + (size_t)i->n, second, &tuple[1], err);
    if (sides[1].graph == NULL)
        return false;
    operands[1] = lang_of_attr(m->arena, &sides[0]);
    operands[2] = lang_of_attr(m->arena, &sides[1]);
    if (!call_op(m, op, &args, &result, err))
        return false;
    machine_push(m, result);
    return true;
}

/* a if p else b. The code of a ends in a jump over b's. */
static bool run_select(machine *m, const instruction *i, size_t *next, error *err)
{
    lang_value condition = machine_pop(m);
    const size_t start = *next;
    bool truth;

    if (known_truth(&condition, &truth)) {
        *next += truth ? 0 : (size_t)i->n;
        return true;
    }
    if (!scalar_tensor(m, &condition, "if", &condition.tensor, err))
        return false;
    condition.kind = LANG_TENSOR;
    *next += (size_t)i->n + (size_t)m->code->list[start + (size_t)i->n - 1].n;
    return select_later(m, i, start, &condition, err);
}

static bool run_jump(machine *m, const instruction *i, size_t *next, error *err)
{
    (void)m, (void)err;
    *next += (size_t)i->n;
    return true;
}

static bool run_return(machine *m, const instruction *i, size_t *next, error *err)
{
    (void)i, (void)next, (void)err;
    m->returned = true;
    return true;
}

static bool run_function(machine *m, const instruction *i, size_t *next, error *err)
{
    const code_function *head = i->function;
    lang_function *f = arena_alloc(m->arena, sizeof *f);
    lang_value *defaults = arena_array(m->arena, (size_t)head->defaults + 1, sizeof *defaults);

    (void)err;
    m->height -= (size_t)head->defaults;
    if (head->defaults > 0)
        memcpy(defaults, m->stack + m->height, (size_t)head->defaults * sizeof *defaults);
    *f = (lang_function){.head = head,
                         .body = *next,
                         .length = i->n,
                         .defaults = defaults,
                         .outer = m->local};
    machine_push(m, (lang_value){.kind = LANG_FUNCTION, .function = f});
    *next += (size_t)i->n;
    return true;
}

/* ---- Calls and indices ------------------------------------------------------------------------------ */

static bool run_attribute(machine *m, const instruction *i, size_t *next, error *err)
{
    const lang_value x = *top(m);
    lang_value result;

    (void)next;
    if (!attribute_load(m, &x, i->text, (code_use)i->use, &result, err))
        return false;
    *top(m) = result;
    return true;
}

/* The n operands on top, copied: the stack is written while they are used. */
static const lang_value *pop_copied(machine *m, int n)
{
    lang_value *copy = arena_array(m->arena, (size_t)n + 1, sizeof *copy);

    m->height -= (size_t)n;
    memcpy(copy, m->stack + m->height, (size_t)n * sizeof *copy);
    return copy;
}

static bool run_call(machine *m, const instruction *i, size_t *next, error *err)
{
    arguments args = {.count = i->n, .keywords = i->keywords};
    const lang_value *callee;
    lang_value result;

    (void)next;
    while (i->keywords != NULL && i->keywords[args.keyword_count] != NULL)
        args.keyword_count++;
    callee = pop_copied(m, 1 + args.count + args.keyword_count);
    args.values = callee + 1;
    if (!call_value(m, callee, &args, &result, err))
        return false;
    machine_push(m, result);
    return true;
}

static bool run_index(machine *m, const instruction *i, size_t *next, error *err)
{
    const lang_value *operands = pop_copied(m, i->n + 1);
    lang_value result;

    (void)next;
    if (i->kind == CODE_INDEX_KEPT)
        m->height += (size_t)i->n + 1;
    if (!index_get(m, operands, operands + 1, i->n, &result, err))
        return false;
    machine_push(m, result);
    return true;
}

static bool run_set_index(machine *m, const instruction *i, size_t *next, error *err)
{
    const bool below = i->kind == CODE_SET_INDEX_OF;
    const lang_value v = below ? m->stack[m->height - (size_t)i->n - 2] : machine_pop(m);
    const lang_value *operands = pop_copied(m, i->n + 1);
    lang_value result;

    (void)next;
    if (!index_set(m, operands, operands + 1, i->n, &v, &result, err))
        return false;
    machine_push(m, result);
    return true;
}

/* ---- Statements -------------------------------------------------------------------------------------- */

static bool run_store(machine *m, const instruction *i, size_t *next, error *err)
{
    const lang_value v = machine_pop(m);

    (void)next, (void)err;
    machine_store(m, i->text, &v, (long)i->offset);
    return true;
}

static bool run_unpack(machine *m, const instruction *i, size_t *next, error *err)
{
    lang_value v;

    (void)next;
    if (i->n < 0)
        return true;
    v = machine_pop(m);
    if (!index_unpack(m, &v, i->n, &v, err))
        return false;
    for (int k = i->n - 1; k >= 0; k--)
        machine_push(m, v.sequence->items[k]);
    return true;
}

static bool run_copy(machine *m, const instruction *i, size_t *next, error *err)
{
    const lang_value v = *top(m);

    (void)i, (void)next, (void)err;
    machine_push(m, v);
    return true;
}

static bool run_pop(machine *m, const instruction *i, size_t *next, error *err)
{
    (void)i, (void)next, (void)err;
    machine_pop(m);
    return true;
}

/* In place: an array keeps its element type and shape. */
static bool keep_type(machine *m, const lang_value *before, lang_value *after, error *err)
{
    const type *from, *to;
    char a[SHAPE_TEXT_MAX], b[SHAPE_TEXT_MAX];

    if (before->kind != LANG_TENSOR || after->kind != LANG_TENSOR)
        return true;
    to = value_type(before->tensor);
    from = value_type(after->tensor);
    if (to->weak || to->shape.rank == 0)
        return true;
    if (shape_is_known(&from->shape) && shape_is_known(&to->shape) &&
        !shape_equal(&from->shape, &to->shape))
        return error_set(err, ERR_SHAPE, "in place, a tensor of shape %s cannot become one of %s",
                         shape_print(&to->shape, a), shape_print(&from->shape, b));
    if (from->dtype == to->dtype)
        return true;
    if (dtype_info_of(from->dtype)->class > dtype_info_of(to->dtype)->class)
        return error_set(err, ERR_DTYPE, "in place, %s cannot become %s; write x = x + y",
                         dtype_name(to->dtype), dtype_name(from->dtype));
    return call_role(m, ROLE_ASTYPE,
                     (lang_value[]){*after, {.kind = LANG_DTYPE, .dtype = to->dtype}}, 2, after,
                     err);
}

static bool run_augment(machine *m, const instruction *i, size_t *next, error *err)
{
    const lang_value b = machine_pop(m);
    lang_value a = *top(m), result;

    (void)next;
    if (a.kind == LANG_LIST) {
        if (!convert_array(m, &a, NULL, &a.tensor, err))
            return false;
        a.kind = LANG_TENSOR;
    }
    if (!machine_binary(m, (token_kind)i->operator, &a, &b, &result, err) ||
        !keep_type(m, &a, &result, err))
        return false;
    *top(m) = result;
    return true;
}

static bool run_delete(machine *m, const instruction *i, size_t *next, error *err)
{
    binding *b = table_get(&m->local->names, i->text);
    lang_program *p = m->program;

    (void)next;
    if (b != NULL && b->value.kind != LANG_DELETED) {
        b->value = (lang_value){.kind = LANG_DELETED};
        return true;
    }
    if (p == NULL || m->local != m->global || b != NULL)
        return error_set(err, ERR_UNKNOWN_NAME, "there is no '%s' here to delete", i->text);
    p->deleted = arena_grow(m->arena, p->deleted, (size_t)p->deleted_count, &m->deleted_room,
                            sizeof *p->deleted);
    p->deleted[p->deleted_count++] = (lang_name){.name = i->text, .offset = (long)i->offset};
    machine_store(m, i->text, &(lang_value){.kind = LANG_DELETED}, (long)i->offset);
    return true;
}

static bool run_result(machine *m, const instruction *i, size_t *next, error *err)
{
    const lang_value v = machine_pop(m);

    (void)next, (void)err;
    if (m->local != m->global || v.kind == LANG_NONE)
        return true;
    m->result = v;
    m->result_offset = (long)i->offset;
    return true;
}

/* ---- The loop ------------------------------------------------------------------------------------------ */

static instruction_fn *const handlers[] = {
    [CODE_BOOL] = run_bool,
    [CODE_INT] = run_int,
    [CODE_FLOAT] = run_float,
    [CODE_IMAGINARY] = run_float,
    [CODE_TEXT] = run_text,
    [CODE_NONE] = run_none,
    [CODE_ELLIPSIS] = run_none,
    [CODE_LOAD] = run_load,
    [CODE_LIST] = run_sequence,
    [CODE_TUPLE] = run_sequence,
    [CODE_SLICE] = run_sequence,
    [CODE_UNARY] = run_unary,
    [CODE_BINARY] = run_binary,
    [CODE_COMPARE] = run_compare,
    [CODE_IS] = run_is,
    [CODE_NOT] = run_not,
    [CODE_AND_TEST] = run_logical_test,
    [CODE_AND] = run_logical,
    [CODE_OR_TEST] = run_logical_test,
    [CODE_OR] = run_logical,
    [CODE_SELECT] = run_select,
    [CODE_JUMP] = run_jump,
    [CODE_ATTRIBUTE] = run_attribute,
    [CODE_CALL] = run_call,
    [CODE_INDEX] = run_index,
    [CODE_FUNCTION] = run_function,
    [CODE_RETURN] = run_return,
    [CODE_STORE] = run_store,
    [CODE_UNPACK] = run_unpack,
    [CODE_COPY] = run_copy,
    [CODE_POP] = run_pop,
    [CODE_INDEX_KEPT] = run_index,
    [CODE_AUGMENT] = run_augment,
    [CODE_SET_INDEX] = run_set_index,
    [CODE_SET_INDEX_OF] = run_set_index,
    [CODE_DELETE] = run_delete,
    [CODE_RESULT] = run_result,
};

bool machine_run(machine *m, size_t start, int n, error *err)
{
    const size_t end = start + (size_t)n;

    m->returned = false;
    for (size_t next = start; next < end && !m->returned;) {
        const instruction *i = &m->code->list[next++];

        if (!machine_charge(m, 1, err) || !handlers[i->kind](m, i, &next, err))
            return error_at_text(err, m->code->text, (long)i->offset);
    }
    return true;
}
