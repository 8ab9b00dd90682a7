/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of functions: grad, value_and_grad, jacobian, hessian, vjp, jvp.
 *
 * The function is traced once, at copies of its arguments, so that what else uses the
 * same value does not count; the differentiator (module grad) does the rest. What comes
 * out are nodes like any others: a derivative can be taken of a derivative. */
#include <inttypes.h>
#include <string.h>

#include "engine/lang/scalar.h"
#include "engine/lang/tracer.h"

enum { JACOBIAN_MAX = 1000 }; /* passes over the function's graph in one jacobian */

static lang_differentiator *differentiate;

void lang_set_differentiator(lang_differentiator *differentiator)
{
    differentiate = differentiator;
}

/* A function called at arguments of its own. */
typedef struct traced {
    const char *who;   /* takes the derivative */
    bool one_argument; /* x was no tuple */
    bool one_result;
    int x_count, y_count;
    value *xs, *ys;
} traced;

/* ---- Tracing -------------------------------------------------------------------- */

/* A value as one that has gradients, or an error that says how to get there. */
static bool check_type(const traced *t, value v, const char *what, int i, error *err)
{
    const dtype type = value_type(v)->dtype;

    return dtype_is_float(type) || dtype_is_complex(type) ||
           error_set(err, ERR_DTYPE,
                     "%s: %s %d is of %s, which has no gradient; it must be of floating-point or "
                     "complex numbers, such as 3.0 or astype(x, float64)",
                     t->who, what, i + 1, dtype_name(type));
}

/* x as arguments: one, or those of a tuple, each a new node. */
static bool make_arguments(tracer *tr, const lang_value *x, traced *t, error *err)
{
    const lang_value *items = x->kind == LANG_TUPLE ? x->sequence->items : x;

    t->one_argument = x->kind != LANG_TUPLE;
    t->x_count = t->one_argument ? 1 : x->sequence->count;
    t->xs = arena_array(tr->arena, (size_t)t->x_count + 1, sizeof *t->xs);
    for (int i = 0; i < t->x_count; i++) {
        lang_value copy = {.kind = LANG_TENSOR};

        if (!convert_array(tr, &items[i], NULL, &copy.tensor, err) ||
            !check_type(t, copy.tensor, "argument", i, err) ||
            !call_role(tr, ROLE_ASTYPE, &copy, 1, &copy, err))
            return false;
        t->xs[i] = copy.tensor;
    }
    return true;
}

/* Sets one value for each item of a tuple, or for the value itself, in the graph that
 * is being built. */
static bool take_values(tracer *tr, const lang_value *v, const char *who, value **values,
                        int *count, error *err)
{
    const bool tuple = v->kind == LANG_TUPLE;

    *count = tuple ? v->sequence->count : 1;
    *values = arena_array(tr->arena, (size_t)*count + 1, sizeof **values);
    for (int i = 0; i < *count; i++) {
        value *to = &(*values)[i];

        if (!convert_tensor(tr, tuple ? &v->sequence->items[i] : v, who, to, err))
            return false;
        *to = graph_capture(tr->graph, *to, err);
        if (to->node == NULL)
            return false;
    }
    return true;
}

/* Calls f at x. */
static bool trace(tracer *tr, const char *who, const lang_value *f, const lang_value *x, traced *t,
                  error *err)
{
    lang_value *given, result;
    arguments args = {0};

    *t = (traced){.who = who};
    if (differentiate == NULL)
        return error_set(err, ERR_INTERNAL, "%s: derivatives are not there", who);
    if (!make_arguments(tr, x, t, err))
        return false;
    args.count = t->x_count;
    args.values = given = arena_array(tr->arena, (size_t)t->x_count + 1, sizeof *given);
    for (int i = 0; i < t->x_count; i++)
        given[i] = lang_of_value(t->xs[i]);
    if (!tracer_enter(tr, err) || !call_value(tr, f, &args, &result, err))
        return false;
    tracer_leave(tr);
    t->one_result = result.kind != LANG_TUPLE;
    if (!take_values(tr, &result, who, &t->ys, &t->y_count, err))
        return false;
    if (t->x_count == 0 || t->y_count == 0)
        return error_set(err, ERR_ARGUMENT, "%s: the function needs an argument and a result", who);
    for (int i = 0; i < t->y_count; i++)
        if (!check_type(t, t->ys[i], "result", i, err))
            return false;
    return true;
}

/* The one result, which must be a real number. */
static bool check_scalar(const traced *t, error *err)
{
    const type *y = value_type(t->ys[0]);
    char text[SHAPE_TEXT_MAX];

    if (!t->one_result)
        return error_set(err, ERR_ARGUMENT, "%s: the function must give one number, not %d values",
                         t->who, t->y_count);
    if (y->shape.rank > 0)
        return error_set(err, ERR_SHAPE,
                         "%s: the function must give one number, not shape %s; take its sum or "
                         "mean, or use jacobian",
                         t->who, shape_print(&y->shape, text));
    return !dtype_is_complex(y->dtype) ||
           error_set(err, ERR_DTYPE,
                     "%s: the function must give a real number, not %s; take real(..), imag(..) "
                     "or absolute(..) of it",
                     t->who, dtype_name(y->dtype));
}

/* ---- Passes ----------------------------------------------------------------------- */

/* Gradients of ys, whose incoming ones are grad_ys (NULL: ones), for wrt. */
static bool pull(tracer *tr, const value *ys, const value *grad_ys, int y_count, const value *wrt,
                 int wrt_count, value *gradients, error *err)
{
    const gradient_query query = {.y_count = y_count,
                                  .wrt_count = wrt_count,
                                  .ys = ys,
                                  .grad_ys = grad_ys,
                                  .wrt = wrt,
                                  .zeros = true};

    return differentiate(tr->graph, &query, gradients, err);
}

/* Values as what one of them, or the tuple of all, is in the program. */
static lang_value give(tracer *tr, const value *values, int count, bool one)
{
    lang_value *items = arena_array(tr->arena, (size_t)count + 1, sizeof *items);

    for (int i = 0; i < count; i++)
        items[i] = lang_of_value(values[i]);
    return one ? items[0] : tracer_sequence(tr, LANG_TUPLE, items, count);
}

static value *new_values(tracer *tr, int count)
{
    return arena_array(tr->arena, (size_t)count + 1, sizeof(value));
}

static bool take_both(const char *who, const arguments *args, const lang_value **taken, error *err)
{
    static const char *const names[] = {"f", "x"};

    return builtin_take(who, args, names, 2, 2, taken, err);
}

/* The gradients of a scalar function. */
static bool scalar_gradients(tracer *tr, const char *who, const arguments *args, traced *t,
                             value **gradients, error *err)
{
    const lang_value *taken[2];

    if (!take_both(who, args, taken, err) || !trace(tr, who, taken[0], taken[1], t, err) ||
        !check_scalar(t, err))
        return false;
    *gradients = new_values(tr, t->x_count);
    return pull(tr, t->ys, NULL, 1, t->xs, t->x_count, *gradients, err);
}

bool derivative_grad(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    value *gradients;
    traced t;

    if (!scalar_gradients(tr, "grad", args, &t, &gradients, err))
        return false;
    *result = give(tr, gradients, t.x_count, t.one_argument);
    return true;
}

bool derivative_value_and_grad(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    lang_value both[2];
    value *gradients;
    traced t;

    if (!scalar_gradients(tr, "value_and_grad", args, &t, &gradients, err))
        return false;
    both[0] = lang_of_value(t.ys[0]);
    both[1] = give(tr, gradients, t.x_count, t.one_argument);
    *result = tracer_sequence(tr, LANG_TUPLE, both, 2);
    return true;
}

/* Traces f at x and takes v, `count` vectors for what it is to be multiplied with. */
static bool trace_with(tracer *tr, const char *who, const arguments *args, traced *t, value **v,
                       int *count, error *err)
{
    static const char *const names[] = {"f", "x", "v"};
    const lang_value *taken[3];

    return builtin_take(who, args, names, 3, 3, taken, err) &&
           trace(tr, who, taken[0], taken[1], t, err) &&
           take_values(tr, taken[2], who, v, count, err);
}

static bool check_count(const traced *t, int given, int wanted, const char *what, error *err)
{
    return given == wanted || error_set(err, ERR_ARGUMENT,
                                        "%s: v has %d values where the function "
                                        "has %d %s%s",
                                        t->who, given, wanted, what, wanted == 1 ? "" : "s");
}

bool derivative_vjp(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    value *v, *gradients;
    traced t;
    int n;

    if (!trace_with(tr, "vjp", args, &t, &v, &n, err) ||
        !check_count(&t, n, t.y_count, "result", err))
        return false;
    gradients = new_values(tr, t.x_count);
    if (!pull(tr, t.ys, v, t.y_count, t.xs, t.x_count, gradients, err))
        return false;
    *result = give(tr, gradients, t.x_count, t.one_argument);
    return true;
}

/* The gradients for xs as functions of incoming ones, us, that stand for any: what they
 * are is linear in us, so its own gradient for us is the derivative forwards. */
static bool pull_any(tracer *tr, const traced *t, value **us, value **pulled, error *err)
{
    *us = new_values(tr, t->y_count);
    *pulled = new_values(tr, t->x_count);
    for (int i = 0; i < t->y_count; i++) {
        lang_value u = lang_of_value(t->ys[i]);

        if (!call_role(tr, ROLE_ZEROS_LIKE, &u, 1, &u, err))
            return false;
        (*us)[i] = u.tensor;
    }
    return pull(tr, t->ys, *us, t->y_count, t->xs, t->x_count, *pulled, err);
}

bool derivative_jvp(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    value *v, *us, *pulled, *pushed;
    traced t;
    int n;

    if (!trace_with(tr, "jvp", args, &t, &v, &n, err) ||
        !check_count(&t, n, t.x_count, "argument", err) || !pull_any(tr, &t, &us, &pulled, err))
        return false;
    pushed = new_values(tr, t.y_count);
    if (!pull(tr, pulled, v, t.x_count, us, t.y_count, pushed, err))
        return false;
    *result = give(tr, pushed, t.y_count, t.one_result);
    return true;
}

/* ---- Jacobians ----------------------------------------------------------------------- */

/* The number of elements of a value, which must be known and not too many for a pass
 * with each. */
static bool count_passes(const traced *t, value v, int64_t *n, error *err)
{
    const shape *s = &value_type(v)->shape;

    if (!shape_is_known(s))
        return error_set(err, ERR_VALUE,
                         "%s: the number of elements of the function's result must be known while "
                         "the program is built",
                         t->who);
    *n = shape_size(s);
    return *n <= JACOBIAN_MAX ||
           error_set_limit(err, ERR_GRAPH_SIZE, JACOBIAN_MAX, *n,
                           "%s: the derivative of %" PRId64 " elements takes as many passes, above "
                           "the limit of %d; jvp and vjp take one",
                           t->who, *n, JACOBIAN_MAX);
}

static bool reshape_to(tracer *tr, value v, const lang_value *lengths, value *result, error *err)
{
    const lang_value given[2] = {lang_of_value(v), *lengths};
    lang_value reshaped;

    if (!call_role(tr, ROLE_RESHAPE, given, 2, &reshaped, err))
        return false;
    *result = reshaped.tensor;
    return true;
}

/* The tensors of v's shape and type with a one among zeros, n of them. */
static bool unit_values(tracer *tr, value v, int64_t n, value **units, error *err)
{
    const lang_value given[] = {scalar_int(n),
                                {.kind = LANG_NONE},
                                scalar_int(0),
                                {.kind = LANG_DTYPE, .dtype = value_type(v)->dtype}};
    lang_value eye, row, lengths;

    *units = new_values(tr, (int)n);
    if (!attribute_shape(tr, v, &lengths, err) || !call_role(tr, ROLE_EYE, given, 4, &eye, err))
        return false;
    for (int i = 0; i < n; i++) {
        const lang_value at = scalar_int(i);

        if (!index_get(tr, &eye, &at, 1, &row, err) ||
            !reshape_to(tr, row.tensor, &lengths, &(*units)[i], err))
            return false;
    }
    return true;
}

/* n parts, the i-th stepping on by `step` in an array, stacked along an axis and given
 * the shape of y and then that of x; zeros if there are none. */
static bool assemble(tracer *tr, const value *parts, int64_t n, int step, int axis, value y,
                     value x, value *result, error *err)
{
    lang_value lengths[3], given[2] = {{0}, scalar_int(axis)}, stacked;

    if (!attribute_shape(tr, y, &lengths[0], err) || !attribute_shape(tr, x, &lengths[1], err) ||
        !tracer_binary(tr, TOKEN_ADD, &lengths[0], &lengths[1], &lengths[2], err))
        return false;
    if (n == 0) {
        given[0] = lengths[2];
        given[1] = (lang_value){.kind = LANG_DTYPE, .dtype = value_type(x)->dtype};
        if (!call_role(tr, ROLE_ZEROS, given, 2, &stacked, err))
            return false;
        *result = stacked.tensor;
        return true;
    }
    given[0] = tracer_sequence(tr, LANG_LIST, NULL, 0);
    given[0].sequence->items = arena_array(tr->arena, (size_t)n, sizeof(lang_value));
    given[0].sequence->count = (int)n;
    for (int64_t i = 0; i < n; i++)
        given[0].sequence->items[i] = lang_of_value(parts[i * step]);
    return call_role(tr, ROLE_STACK, given, 2, &stacked, err) &&
           reshape_to(tr, stacked.tensor, &lengths[2], result, err);
}

/* The jacobians of one y for all xs, row by row: a pass back from each element of y. */
static bool jacobian_rows(tracer *tr, const traced *t, value y, value *result, error *err)
{
    value *units, *rows;
    int64_t n = 0;

    if (!count_passes(t, y, &n, err) || !unit_values(tr, y, n, &units, err))
        return false;
    rows = new_values(tr, (int)n * t->x_count);
    for (int64_t i = 0; i < n; i++)
        if (!pull(tr, &y, &units[i], 1, t->xs, t->x_count, rows + i * t->x_count, err))
            return false;
    for (int k = 0; k < t->x_count; k++)
        if (!assemble(tr, rows + k, n, t->x_count, 0, y, t->xs[k], &result[k], err))
            return false;
    return true;
}

/* The jacobian for one x, column by column: a pass forwards from each element of x. */
static bool jacobian_columns(tracer *tr, const traced *t, value *result, error *err)
{
    value *units, *us, *pulled, *columns;
    int64_t n = 0;

    if (!count_passes(t, t->xs[0], &n, err) || !unit_values(tr, t->xs[0], n, &units, err) ||
        !pull_any(tr, t, &us, &pulled, err))
        return false;
    columns = new_values(tr, (int)n);
    for (int64_t i = 0; i < n; i++)
        if (!pull(tr, pulled, &units[i], 1, us, 1, &columns[i], err))
            return false;
    return assemble(tr, columns, n, 1, -1, t->ys[0], t->xs[0], result, err);
}

/* ---- Jacobians of as many rows as values say --------------------------------------------------
 */

/* A function of the language at an argument, called from a function that is no text. */
typedef struct applied {
    tracer *tracer;
    const lang_value *f, *x;
} applied;

static bool give_tensors(tracer *tr, const lang_value *v, value *outputs, int *count, error *err)
{
    value *values;

    if (!take_values(tr, v, "jacobian", &values, count, err))
        return false;
    memcpy(outputs, values, (size_t)*count * sizeof *values);
    return true;
}

/* Calls a derivative while a function that is no text is built in g. */
static bool call_in(const applied *a, graph *g, builtin_fn *derivative, const lang_value *values,
                    int n, value *outputs, int *output_count, error *err)
{
    const arguments args = {.count = n, .values = values};
    graph *outer = a->tracer->graph;
    lang_value result;
    bool ok;

    a->tracer->graph = g;
    ok = derivative(a->tracer, &args, &result, err) &&
         give_tensors(a->tracer, &result, outputs, output_count, err);
    a->tracer->graph = outer;
    return ok;
}

/* A lang_native: the row of the jacobian for one unit vector. */
static bool build_row(const lang_native *native, graph *g, const value *given, int count,
                      value *outputs, int *output_count, error *err)
{
    const applied *a = native->context;
    const lang_value values[3] = {*a->f, *a->x, lang_of_value(given[0])};

    (void)count;
    return call_in(a, g, derivative_vjp, values, 3, outputs, output_count, err);
}

/* The tensors of y's shape with a one among zeros, as many as y has elements, stacked. */
static bool unit_stack(tracer *tr, value y, lang_value *units, error *err)
{
    lang_value given[] = {lang_of_value(y),
                          {.kind = LANG_NONE},
                          scalar_int(0),
                          {.kind = LANG_DTYPE, .dtype = value_type(y)->dtype}};
    lang_value lengths, first, all, eye;
    value reshaped;

    if (!attribute_shape(tr, y, &lengths, err) ||
        !call_role(tr, ROLE_SIZE, given, 1, &given[0], err))
        return false;
    first = tracer_sequence(tr, LANG_TUPLE, given, 1);
    if (!call_role(tr, ROLE_EYE, given, 4, &eye, err) ||
        !tracer_binary(tr, TOKEN_ADD, &first, &lengths, &all, err) ||
        !reshape_to(tr, eye.tensor, &all, &reshaped, err))
        return false;
    *units = lang_of_value(reshaped);
    return true;
}

/* The jacobians of y = f(x) for all xs where the number of y's elements is not known: the rows
 * are a map. */
static bool jacobian_mapped(tracer *tr, const traced *t, const applied *a, value *result,
                            error *err)
{
    const value y = t->ys[0];
    const lang_native row = {.context = (void *)a, .build = build_row};
    lang_value given[2] = {{.kind = LANG_NATIVE, .native = &row}}, rows, lengths[3];
    const arguments args = {.count = 2, .values = given};

    if (!unit_stack(tr, y, &given[1], err) || !loop_map(tr, &args, &rows, err))
        return false;
    for (int k = 0; k < t->x_count; k++) {
        const lang_value *part = t->one_argument ? &rows : &rows.sequence->items[k];

        if (!attribute_shape(tr, y, &lengths[0], err) ||
            !attribute_shape(tr, t->xs[k], &lengths[1], err) ||
            !tracer_binary(tr, TOKEN_ADD, &lengths[0], &lengths[1], &lengths[2], err) ||
            !reshape_to(tr, part->tensor, &lengths[2], &result[k], err))
            return false;
    }
    return true;
}

/* Whether forwards is the shorter way: fewer arguments than results, all real. */
static bool is_tall(const traced *t)
{
    const type *x = value_type(t->xs[0]), *y = value_type(t->ys[0]);

    return t->x_count == 1 && shape_is_known(&x->shape) && !dtype_is_complex(x->dtype) &&
           (!shape_is_known(&y->shape) || shape_size(&x->shape) < shape_size(&y->shape));
}

static bool check_real(const traced *t, value v, error *err)
{
    return !dtype_is_complex(value_type(v)->dtype) ||
           error_set(err, ERR_DTYPE,
                     "%s is of functions that give real numbers, not %s; take real(..) and "
                     "imag(..), or use jvp and vjp",
                     t->who, dtype_name(value_type(v)->dtype));
}

bool derivative_jacobian(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    const lang_value *taken[2];
    applied at = {.tracer = tr};
    value *all;
    traced t;

    if (!take_both("jacobian", args, taken, err) ||
        !trace(tr, "jacobian", taken[0], taken[1], &t, err))
        return false;
    at.f = taken[0];
    at.x = taken[1];
    if (!t.one_result)
        return error_set(err, ERR_ARGUMENT, "jacobian: the function must give one tensor, not %d",
                         t.y_count);
    all = new_values(tr, t.x_count);
    if (!check_real(&t, t.ys[0], err) ||
        !(is_tall(&t)                                   ? jacobian_columns(tr, &t, all, err)
          : shape_is_known(&value_type(t.ys[0])->shape) ? jacobian_rows(tr, &t, t.ys[0], all, err)
                                                        : jacobian_mapped(tr, &t, &at, all, err)))
        return false;
    *result = give(tr, all, t.x_count, t.one_argument);
    return true;
}

/* A lang_native: the gradient of a function at its one argument. */
static bool build_gradient(const lang_native *native, graph *g, const value *given, int count,
                           value *outputs, int *output_count, error *err)
{
    const applied *a = native->context;
    const lang_value values[2] = {*a->f, lang_of_value(given[0])};

    (void)count;
    return call_in(a, g, derivative_grad, values, 2, outputs, output_count, err);
}

/* The hessian for one argument, as many elements as it may have. */
static bool hessian_mapped(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    const lang_value *taken[2];
    applied at = {.tracer = tr};
    const lang_native gradient = {.context = &at, .build = build_gradient};
    lang_value given[2] = {{.kind = LANG_NATIVE, .native = &gradient}};
    const arguments both = {.count = 2, .values = given};

    if (!take_both("hessian", args, taken, err))
        return false;
    at.f = taken[0];
    given[1] = *taken[1];
    return derivative_jacobian(tr, &both, result, err);
}

/* The jacobian of the gradient: for several arguments a tuple of tuples. */
bool derivative_hessian(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    value *gradients, *row;
    lang_value *rows;
    traced t;

    if (!scalar_gradients(tr, "hessian", args, &t, &gradients, err))
        return false;
    if (t.one_argument && !shape_is_known(&value_type(t.xs[0])->shape))
        return hessian_mapped(tr, args, result, err);
    rows = arena_array(tr->arena, (size_t)t.x_count + 1, sizeof *rows);
    for (int i = 0; i < t.x_count; i++) {
        row = new_values(tr, t.x_count);
        if (!check_real(&t, gradients[i], err) || !jacobian_rows(tr, &t, gradients[i], row, err))
            return false;
        rows[i] = give(tr, row, t.x_count, t.one_argument);
    }
    *result = t.one_argument ? rows[0] : tracer_sequence(tr, LANG_TUPLE, rows, t.x_count);
    return true;
}
