/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/lang/operators.h"
#include "engine/lang/scalar.h"
#include "engine/lang/tracer.h"

/* ---- The tracer ------------------------------------------------------------- */

void tracer_init(tracer *tr, graph *g, const lang_options *options)
{
    *tr = (tracer){.arena = g->arena, .root = g, .graph = g, .options = options};
    tr->steps = options->steps_max > 0 ? options->steps_max : LANG_STEPS;
    tr->global = tr->local = arena_alloc(tr->arena, sizeof *tr->global);
    table_init(&tr->global->names, tr->arena);
    table_init(&tr->resolved, tr->arena);
    table_init(&tr->inlined, tr->arena);
}

bool tracer_charge(tracer *tr, int64_t steps, error *err)
{
    const int64_t limit = tr->options->steps_max > 0 ? tr->options->steps_max : LANG_STEPS;

    if (tr->steps < steps) {
        tr->steps = 0;
        return error_set_limit(err, ERR_GRAPH_SIZE, limit, limit,
                               "the program takes more than %lld steps to build", (long long)limit);
    }
    tr->steps -= steps;
    return true;
}

bool tracer_enter(tracer *tr, error *err)
{
    if (tr->depth >= TRACER_DEPTH)
        return error_set_limit(err, ERR_GRAPH_SIZE, TRACER_DEPTH, tr->depth + 1,
                               "functions call each other more than %d levels deep", TRACER_DEPTH);
    tr->depth++;
    return true;
}

void tracer_leave(tracer *tr)
{
    tr->depth--;
}

lang_value *tracer_push(tracer *tr, lang_value v)
{
    tr->stack = arena_grow(tr->arena, tr->stack, tr->height, &tr->room, sizeof *tr->stack);
    tr->stack[tr->height] = v;
    return &tr->stack[tr->height++];
}

lang_value tracer_pop(tracer *tr)
{
    return tr->stack[--tr->height];
}

static lang_value *top(tracer *tr)
{
    return &tr->stack[tr->height - 1];
}

lang_value tracer_sequence(tracer *tr, lang_kind kind, const lang_value *items, int n)
{
    return lang_sequence_of(tr->arena, kind, items, n);
}

static binding *bind(tracer *tr, const char *name, const lang_value *v, long offset)
{
    binding *b = table_get(&tr->local->names, name);

    if (b == NULL) {
        b = arena_alloc(tr->arena, sizeof *b);
        b->offset = offset;
        table_put(&tr->local->names, name, b);
    }
    b->value = *v;
    return b;
}

void tracer_bind(tracer *tr, const char *name, const lang_value *v)
{
    bind(tr, name, v, 0);
}

void tracer_store(tracer *tr, const char *name, const lang_value *v, long offset)
{
    bind(tr, name, v, offset);
    if (v->kind == LANG_TENSOR && tr->local == tr->global && v->tensor.node->graph == tr->root &&
        v->tensor.node->name == NULL)
        graph_name(v->tensor, name);
}

/* ---- Operands --------------------------------------------------------------- */

static bool run_bool(tracer *tr, const instruction *i, size_t *next, error *err)
{
    (void)next, (void)err;
    tracer_push(tr, scalar_bool(i->n != 0));
    return true;
}

static bool run_int(tracer *tr, const instruction *i, size_t *next, error *err)
{
    (void)next, (void)err;
    tracer_push(tr, scalar_unsigned(i->integer));
    return true;
}

static bool run_float(tracer *tr, const instruction *i, size_t *next, error *err)
{
    (void)next, (void)err;
    tracer_push(tr, i->kind == CODE_FLOAT ? scalar_float(i->real) : scalar_complex(0, i->real));
    return true;
}

static bool run_text(tracer *tr, const instruction *i, size_t *next, error *err)
{
    (void)next, (void)err;
    tracer_push(tr, (lang_value){.kind = LANG_TEXT, .text = i->text});
    return true;
}

static bool run_none(tracer *tr, const instruction *i, size_t *next, error *err)
{
    (void)next, (void)err;
    tracer_push(tr, (lang_value){.kind = i->kind == CODE_NONE ? LANG_NONE : LANG_ELLIPSIS});
    return true;
}

static bool run_load(tracer *tr, const instruction *i, size_t *next, error *err)
{
    lang_value v;

    (void)next;
    if (!name_load(tr, i->text, (code_use)i->use, &v, err))
        return false;
    tracer_push(tr, v);
    return true;
}

static bool run_sequence(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const lang_kind kind = i->kind == CODE_LIST    ? LANG_LIST
                           : i->kind == CODE_SLICE ? LANG_SLICE
                                                   : LANG_TUPLE;
    const int n = kind == LANG_SLICE ? 3 : i->n;
    lang_value v;

    (void)next, (void)err;
    tr->height -= (size_t)n;
    v = tracer_sequence(tr, kind, tr->stack + tr->height, n);
    tracer_push(tr, v);
    return true;
}

/* ---- Ways to go
 * ---------------------------------------------------------------------------------- */

/* Both sides as sub-graphs of a cond. */
static bool select_later(tracer *tr, const instruction *i, size_t start,
                         const lang_value *condition, error *err)
{
    const int first = i->n - 1, second = tr->code->list[start + (size_t)first].n;
    lang_value operands[3] = {*condition}, result;
    attr sides[2] = {{.kind = ATTR_GRAPH}, {.kind = ATTR_GRAPH}};
    const arguments args = {.count = 3, .values = operands};
    const op_def *op = call_role_op(ROLE_COND, err);
    bool tuple[2];

    if (op == NULL)
        return false;
    sides[0].graph = call_traced_code(tr, start, first, &tuple[0], err);
    if (sides[0].graph == NULL)
        return false;
    sides[1].graph = call_traced_code(tr, start + (size_t)i->n, second, &tuple[1], err);
    if (sides[1].graph == NULL)
        return false;
    operands[1] = lang_of_attr(tr->arena, &sides[0]);
    operands[2] = lang_of_attr(tr->arena, &sides[1]);
    if (!call_op(tr, op, &args, &result, err))
        return false;
    tracer_push(tr, result);
    return true;
}

/* a if p else b. The code of a ends in a jump over b's. */
static bool run_select(tracer *tr, const instruction *i, size_t *next, error *err)
{
    lang_value condition = tracer_pop(tr);
    const size_t start = *next;
    bool truth;

    if (known_truth(&condition, &truth)) {
        *next += truth ? 0 : (size_t)i->n;
        return true;
    }
    if (!scalar_tensor(tr, &condition, "if", &condition.tensor, err))
        return false;
    condition.kind = LANG_TENSOR;
    *next += (size_t)i->n + (size_t)tr->code->list[start + (size_t)i->n - 1].n;
    return select_later(tr, i, start, &condition, err);
}

static bool run_jump(tracer *tr, const instruction *i, size_t *next, error *err)
{
    (void)tr, (void)err;
    *next += (size_t)i->n;
    return true;
}

static bool run_return(tracer *tr, const instruction *i, size_t *next, error *err)
{
    (void)i, (void)next, (void)err;
    tr->returned = true;
    return true;
}

static bool run_function(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const code_function *head = i->function;
    lang_function *f = arena_alloc(tr->arena, sizeof *f);
    lang_value *defaults = arena_array(tr->arena, (size_t)head->defaults + 1, sizeof *defaults);

    (void)err;
    tr->height -= (size_t)head->defaults;
    if (head->defaults > 0)
        memcpy(defaults, tr->stack + tr->height, (size_t)head->defaults * sizeof *defaults);
    *f = (lang_function){
        .head = head, .body = *next, .length = i->n, .defaults = defaults, .outer = tr->local};
    tracer_push(tr, (lang_value){.kind = LANG_FUNCTION, .function = f});
    *next += (size_t)i->n;
    return true;
}

/* ---- Calls and indices
 * ------------------------------------------------------------------------------ */

static bool run_attribute(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const lang_value x = *top(tr);
    lang_value result;

    (void)next;
    if (!attribute_load(tr, &x, i->text, (code_use)i->use, &result, err))
        return false;
    *top(tr) = result;
    return true;
}

/* The n operands on top, copied: the stack is written while they are used. */
static const lang_value *pop_copied(tracer *tr, int n)
{
    lang_value *copy = arena_array(tr->arena, (size_t)n + 1, sizeof *copy);

    tr->height -= (size_t)n;
    memcpy(copy, tr->stack + tr->height, (size_t)n * sizeof *copy);
    return copy;
}

static bool run_call(tracer *tr, const instruction *i, size_t *next, error *err)
{
    arguments args = {.count = i->n, .keywords = i->keywords};
    const lang_value *callee;
    lang_value result;

    (void)next;
    while (i->keywords != NULL && i->keywords[args.keyword_count] != NULL)
        args.keyword_count++;
    callee = pop_copied(tr, 1 + args.count + args.keyword_count);
    args.values = callee + 1;
    if (!call_value(tr, callee, &args, &result, err))
        return false;
    tracer_push(tr, result);
    return true;
}

static bool run_index(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const lang_value *operands = pop_copied(tr, i->n + 1);
    lang_value result;

    (void)next;
    if (i->kind == CODE_INDEX_KEPT)
        tr->height += (size_t)i->n + 1;
    if (!index_get(tr, operands, operands + 1, i->n, &result, err))
        return false;
    tracer_push(tr, result);
    return true;
}

static bool run_set_index(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const bool below = i->kind == CODE_SET_INDEX_OF;
    const lang_value v = below ? tr->stack[tr->height - (size_t)i->n - 2] : tracer_pop(tr);
    const lang_value *operands = pop_copied(tr, i->n + 1);
    lang_value result;

    (void)next;
    if (!index_set(tr, operands, operands + 1, i->n, &v, &result, err))
        return false;
    tracer_push(tr, result);
    return true;
}

/* ---- Statements
 * -------------------------------------------------------------------------------------- */

static bool run_store(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const lang_value v = tracer_pop(tr);

    (void)next, (void)err;
    tracer_store(tr, i->text, &v, (long)i->offset);
    return true;
}

static bool run_unpack(tracer *tr, const instruction *i, size_t *next, error *err)
{
    lang_value v;

    (void)next;
    if (i->n < 0)
        return true;
    v = tracer_pop(tr);
    if (!index_unpack(tr, &v, i->n, &v, err))
        return false;
    for (int k = i->n - 1; k >= 0; k--)
        tracer_push(tr, v.sequence->items[k]);
    return true;
}

static bool run_copy(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const lang_value v = *top(tr);

    (void)i, (void)next, (void)err;
    tracer_push(tr, v);
    return true;
}

static bool run_pop(tracer *tr, const instruction *i, size_t *next, error *err)
{
    (void)i, (void)next, (void)err;
    tracer_pop(tr);
    return true;
}

/* In place: an array keeps its element type and shape. */
static bool keep_type(tracer *tr, const lang_value *before, lang_value *after, error *err)
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
    return call_role(tr, ROLE_ASTYPE,
                     (lang_value[]){*after, {.kind = LANG_DTYPE, .dtype = to->dtype}}, 2, after,
                     err);
}

static bool run_augment(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const lang_value b = tracer_pop(tr);
    lang_value a = *top(tr), result;

    (void)next;
    if (a.kind == LANG_LIST) {
        if (!convert_array(tr, &a, NULL, &a.tensor, err))
            return false;
        a.kind = LANG_TENSOR;
    }
    if (!tracer_binary(tr, (token_kind)i->symbol, &a, &b, &result, err) ||
        !keep_type(tr, &a, &result, err))
        return false;
    *top(tr) = result;
    return true;
}

static bool run_delete(tracer *tr, const instruction *i, size_t *next, error *err)
{
    binding *b = table_get(&tr->local->names, i->text);
    lang_program *p = tr->program;

    (void)next;
    if (b != NULL && b->value.kind != LANG_DELETED) {
        b->value = (lang_value){.kind = LANG_DELETED};
        return true;
    }
    if (p == NULL || tr->local != tr->global || b != NULL)
        return error_set(err, ERR_UNKNOWN_NAME, "there is no '%s' here to delete", i->text);
    p->deleted = arena_grow(tr->arena, p->deleted, (size_t)p->deleted_count, &tr->deleted_room,
                            sizeof *p->deleted);
    p->deleted[p->deleted_count++] = (lang_name){.name = i->text, .offset = (long)i->offset};
    tracer_store(tr, i->text, &(lang_value){.kind = LANG_DELETED}, (long)i->offset);
    return true;
}

static bool run_result(tracer *tr, const instruction *i, size_t *next, error *err)
{
    const lang_value v = tracer_pop(tr);

    (void)next, (void)err;
    if (tr->local != tr->global || v.kind == LANG_NONE)
        return true;
    tr->result = v;
    tr->result_offset = (long)i->offset;
    return true;
}

/* ---- The loop
 * ------------------------------------------------------------------------------------------ */

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

bool tracer_run(tracer *tr, size_t start, int n, error *err)
{
    const size_t end = start + (size_t)n;

    tr->returned = false;
    for (size_t next = start; next < end && !tr->returned;) {
        const instruction *i = &tr->code->list[next++];

        if (!tracer_charge(tr, 1, err) || !handlers[i->kind](tr, i, &next, err))
            return error_at_text(err, tr->code->text, (long)i->offset);
    }
    return true;
}
