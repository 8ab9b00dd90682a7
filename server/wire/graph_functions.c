/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-graphs as functions, and the operations that take them. A sub-graph is built when
 * the language calls it, with the types that its parameters have then; so loops find the
 * types of their variables, and map, case or grad are what they are in programs. */
#include <string.h>

#include "engine/base/name.h"
#include "server/wire/graph_private.h"
#include "server/wire/request.h"

/* ---- Parameters ------------------------------------------------------------------------ */

void reading_add_param(reading *r, int at, int number)
{
    frame *f = r->frames[at];

    f->params =
        arena_grow(r->arena, f->params, (size_t)f->param_count, &f->param_room, sizeof *f->params);
    f->params[f->param_count++] = number;
}

static bool add_param(reading *r, int at, const char *written, const wire_value *v, error *err)
{
    const char *name = name_normalise(r->arena, written, strlen(written), err);
    const int number = name == NULL ? 0 : reading_add_item(r, NULL, name, false, at);

    if (name == NULL)
        return wire_fault_at(v, err);
    r->items[number].kind = ITEM_PARAMETER;
    reading_add_param(r, at, number);
    return reading_name_item(r, at, name, number, v, err);
}

/* Every declared input must be a parameter. */
static bool check_declared(const frame *f, const wire_value *inputs, error *err)
{
    for (const wire_value *v = wire_first(inputs); v != NULL; v = wire_next(v))
        if (table_get(&f->names, wire_key(v)) == NULL)
            return wire_fault(v, err, ERR_REQUEST, "'%s' is not among the sub-graph's params",
                              wire_key(v));
    return true;
}

/* The names in "params", or those that "inputs" declares. */
static bool read_params(reading *r, int at, error *err)
{
    frame *f = r->frames[at];
    const wire_value *inputs = wire_member(f->object, "inputs");
    const wire_value *params = wire_member(f->object, "params");

    if (inputs != NULL) {
        f->declared = arena_alloc(r->arena, sizeof *f->declared);
        declared_init(f->declared, r->arena, NULL, DECLARED_GIVEN);
        if (!declared_read(f->declared, inputs, err))
            return false;
    }
    if (params == NULL) {
        for (const wire_value *v = wire_first(inputs); v != NULL; v = wire_next(v))
            if (!add_param(r, at, wire_key(v), v, err))
                return false;
        return true;
    }
    if (!wire_expect(params, WIRE_LIST, err))
        return false;
    for (const wire_value *v = wire_first(params); v != NULL; v = wire_next(v))
        if (!wire_expect(v, WIRE_STRING, err) || !add_param(r, at, wire_string(v, NULL), v, err))
            return false;
    return check_declared(f, inputs, err);
}

/* ---- Being called -------------------------------------------------------------------------- */

/* A parameter of the graph that is built is called as it is written. */
static void name_param(const frame *f, const item *param, value v)
{
    if (v.node->graph == f->graph && f->graph->outer != NULL && v.node->op == &op_input)
        v.node->name = param->name;
}

/* What stands for a parameter: a value that fits what is declared of it. */
static bool take_argument(frame *f, item *param, value given, error *err)
{
    const declaration *d = f->declared != NULL ? table_get(&f->declared->types, param->name) : NULL;

    param->outputs = arena_array(f->reading->arena, 2, sizeof *param->outputs);
    param->outputs[0] = param->outputs[1] = given; /* a switch's side 1 is one, too */
    param->output_count = param->op != NULL && param->op->outputs == 2 ? 2 : 1;
    name_param(f, param, given);
    return d == NULL || declaration_take(f->graph, d, param->name, &f->declared->lengths,
                                         &param->outputs[0], err);
}

static bool take_arguments(frame *f, const value *arguments, int count, error *err)
{
    if (count != f->param_count)
        return wire_fault(f->object, err, ERR_ARGUMENT,
                          "the sub-graph has %d parameter%s (params), and is called with %d",
                          f->param_count, f->param_count == 1 ? "" : "s", count);
    if (f->declared != NULL)
        table_init(&f->declared->lengths, f->reading->arena);
    for (int i = 0; i < count; i++)
        if (!take_argument(f, &f->reading->items[f->params[i]], arguments[i], err))
            return reading_fault_at(NULL, f->object, err);
    return true;
}

/* A lang_native: builds the sub-graph in g. */
static bool build(const lang_native *function, graph *g, const value *arguments, int count,
                  value *outputs, int *output_count, error *err)
{
    frame *f = function->context;

    f->graph = g;
    if (!take_arguments(f, arguments, count, err) || !reading_build_frame(f->reading, f, err))
        return false;
    if (f->output_count == 0 || f->output_count > OP_OUTPUTS)
        return wire_fault(f->object, err, ERR_ARGUMENT, "a sub-graph has 1 to %d outputs, not %d",
                          OP_OUTPUTS, f->output_count);
    *output_count = f->output_count;
    for (int i = 0; i < f->output_count; i++) {
        if (!reading_value(f->reading, &f->outputs[i], g, &outputs[i], err))
            return reading_fault_at(NULL, wire_member(f->object, "outputs"), err);
        outputs[i] = graph_capture(g, outputs[i], err);
        if (outputs[i].node == NULL)
            return false;
    }
    return true;
}

/* ---- Reading them ---------------------------------------------------------------------------- */

/* An item with a sub-graph needs all in it, and what its outputs name. */
static bool add_function(reading *r, int at, const wire_value *object, error *err)
{
    const int number = reading_add_frame(r, object, r->items[at].frame, err);
    frame *f = number < 0 ? NULL : r->frames[number];

    if (f == NULL || !read_params(r, number, err) || !reading_outputs(r, number, NULL, err))
        return false;
    for (int i = 0; i < f->count; i++)
        reading_add_edge(r, at, f->first + i, -1);
    for (int i = 0; i < f->output_count; i++)
        if (f->outputs[i].item >= 0)
            reading_add_edge(r, at, f->outputs[i].item, f->outputs[i].output);
    r->items[at].frame_count++;
    return true;
}

static bool add_functions(reading *r, int at, const wire_value *list, error *err)
{
    if (!wire_expect(list, WIRE_LIST, err))
        return false;
    for (const wire_value *v = wire_first(list); v != NULL; v = wire_next(v))
        if (!add_function(r, at, v, err))
            return false;
    return true;
}

bool reading_functions(reading *r, int at, error *err)
{
    const op_def *op = r->items[at].op;
    const wire_value *attrs = wire_member(r->items[at].object, "attrs");

    r->items[at].first_frame = r->frame_count;
    for (int i = 0; i < op->attr_count; i++) {
        const op_param *p = op_attr_param(op, i);
        const wire_value *v = wire_member(attrs, p->name);

        if ((p->kind == PARAM_GRAPH && v != NULL && !add_function(r, at, v, err)) ||
            (p->kind == PARAM_GRAPHS && v != NULL && !add_functions(r, at, v, err)))
            return false;
    }
    return true;
}

/* ---- Calling the operation ----------------------------------------------------------------------
 */

/* The call that an item makes, while it is put together. */
typedef struct call {
    reading *reading;
    const item *item;
    int arguments, frames; /* taken so far */
    int count;
    lang_argument given[OP_PARAMS];
} call;

static lang_value next_function(call *c)
{
    frame *f = c->reading->frames[c->item->first_frame + c->frames++];

    f->function = (lang_native){.context = f, .build = build};
    return (lang_value){.kind = LANG_NATIVE, .native = &f->function};
}

static bool next_tensor(call *c, lang_value *v, error *err)
{
    const int i = c->arguments++;
    value tensor;

    *v = (lang_value){.kind = LANG_NONE};
    if (i >= c->item->argument_count)
        return true;
    if (!reading_argument_value(c->reading, c->item, i, &tensor, err))
        return reading_fault_at(c->item, c->item->arguments[i].written, err);
    if (tensor.node != NULL)
        *v = lang_of_known(tensor);
    return true;
}

/* The rest of the arguments; where another list follows (v of vjp), as many as the
 * function has parameters. One alone is no tuple, but for operands, which are a list. */
static bool next_tensors(call *c, bool last, lang_value *v, error *err)
{
    const item *x = c->item;
    const frame *f = c->reading->frames[x->first_frame];
    const int left = x->argument_count > c->arguments ? x->argument_count - c->arguments : 0;
    const int n = last || left < f->param_count ? left : f->param_count;
    lang_value *items = arena_array(c->reading->arena, (size_t)n + 1, sizeof *items);
    const lang_kind kind = x->op->control != CONTROL_NONE ? LANG_LIST : LANG_TUPLE;

    for (int i = 0; i < n; i++)
        if (!next_tensor(c, &items[i], err))
            return false;
    *v = n == 1 && kind == LANG_TUPLE ? items[0]
                                      : lang_sequence_of(c->reading->arena, kind, items, n);
    return true;
}

/* The predicates of a case with their functions, as pairs. */
static bool pair_up(call *c, const wire_value *functions, lang_value *v, error *err)
{
    const int n = (int)wire_count(functions);
    lang_value *pairs = arena_array(c->reading->arena, (size_t)n + 1, sizeof *pairs);

    if (n != c->item->argument_count)
        return wire_fault(functions, err, ERR_ARGUMENT,
                          "%s: there are %d predicates for %d functions", c->item->op->name,
                          c->item->argument_count, n);
    for (int i = 0; i < n; i++) {
        lang_value pair[2];

        if (!next_tensor(c, &pair[0], err))
            return false;
        pair[1] = next_function(c);
        pairs[i] = lang_sequence_of(c->reading->arena, LANG_TUPLE, pair, 2);
    }
    *v = lang_sequence_of(c->reading->arena, LANG_LIST, pairs, n);
    return true;
}

static bool take_attr(call *c, const wire_value *written, lang_value *v, error *err)
{
    attr a;

    if (!reading_attr(c->reading, c->item, written, &a, err))
        return reading_fault_at(c->item, written, err);
    *v = lang_of_attr(c->reading->arena, &a);
    return true;
}

/* Whether no parameter behind p takes a list of tensors. */
static bool is_last_list(const op_def *op, const op_param *p)
{
    for (p++; p < op->params + op->param_count; p++)
        if (p->kind == PARAM_TENSORS)
            return false;
    return true;
}

/* Whether each of a list of tensors, predicates, has a function. */
static bool takes_pairs(const op_def *op)
{
    for (int i = 0; i < op->attr_count; i++)
        if (op_attr_param(op, i)->kind == PARAM_GRAPHS)
            return true;
    return false;
}

/* Functions made of dataflow nodes are not written anywhere. */
static bool is_given(const call *c, const op_param *p, const wire_value *written)
{
    return p->kind == PARAM_TENSOR || p->kind == PARAM_TENSORS || written != NULL ||
           (p->kind == PARAM_GRAPH && c->item->object == NULL);
}

static bool take_param(call *c, const op_param *p, error *err)
{
    const op_def *op = c->item->op;
    const wire_value *written = wire_member(wire_member(c->item->object, "attrs"), p->name);
    lang_argument *to = &c->given[c->count];

    to->name = p->name;
    if (op_is_captured(op, p))
        return true;
    if (p->kind == PARAM_TENSORS && takes_pairs(op))
        return true; /* they are taken with their functions */
    if (!is_given(c, p, written))
        return p->has_default ||
               error_set(err, ERR_ARGUMENT, "%s needs the attribute '%s'", op->name, p->name);
    c->count++;
    if (p->kind == PARAM_TENSOR)
        return next_tensor(c, &to->value, err);
    if (p->kind == PARAM_TENSORS)
        return next_tensors(c, is_last_list(op, p), &to->value, err);
    if (p->kind == PARAM_GRAPH)
        to->value = next_function(c);
    else if (p->kind == PARAM_GRAPHS) {
        to->name = "pred_fn_pairs";
        return pair_up(c, written, &to->value, err);
    } else
        return take_attr(c, written, &to->value, err);
    return true;
}

bool reading_build_functions(reading *r, item *x, error *err)
{
    call c = {.reading = r, .item = x};

    if (!reading_check_count(x, err) || !reading_check_attrs(x, err))
        return false;
    for (int i = 0; i < x->op->param_count; i++)
        if (!take_param(&c, &x->op->params[i], err))
            return false;
    return lang_call(r->frames[x->frame]->graph, x->op, c.given, c.count, x->outputs,
                     &x->output_count, err);
}
