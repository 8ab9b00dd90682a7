/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the language itself: those that no operation can be, since they
 * print, look at what is known, or make constants. */
#include <math.h>
#include <string.h>

#include "engine/lang/constant.h"
#include "engine/lang/scalar.h"
#include "engine/lang/tracer.h"

bool builtin_take(const char *who, const arguments *args, const char *const *names, int count,
                  int least, const lang_value **taken, error *err)
{
    if (args->count > count)
        return error_set(err, ERR_ARGUMENT, "%s takes at most %d argument%s, got %d", who, count,
                         count == 1 ? "" : "s", args->count);
    for (int i = 0; i < count; i++)
        taken[i] = i < args->count ? &args->values[i] : NULL;
    for (int i = 0; i < args->keyword_count; i++) {
        int at = 0;

        while (at < count && strcmp(names[at], args->keywords[i]) != 0)
            at++;
        if (at == count)
            return error_set(err, ERR_UNKNOWN_ATTR, "%s has no parameter '%s'", who,
                             args->keywords[i]);
        if (taken[at] != NULL)
            return error_set(err, ERR_ARGUMENT, "%s got '%s' twice", who, names[at]);
        taken[at] = &args->values[args->count + i];
    }
    for (int i = 0; i < least; i++)
        if (taken[i] == NULL)
            return error_set(err, ERR_ARGUMENT, "%s misses its argument '%s'", who, names[i]);
    return true;
}

/* ---- print ------------------------------------------------------------------ */

void tracer_print(tracer *tr, lang_printed item)
{
    lang_program *p = tr->program;

    p->printed = arena_grow(tr->arena, p->printed, (size_t)p->printed_count, &tr->printed_room,
                            sizeof *p->printed);
    item.line = p->line_count;
    p->printed[p->printed_count++] = item;
}

static void print_text(tracer *tr, const char *text)
{
    if (*text != '\0')
        tracer_print(tr, (lang_printed){.style = LANG_LITERAL, .text = text});
}

static bool print_value(tracer *tr, const lang_value *v, int depth, error *err);

/* A tuple as (a, b), its items as they are. */
static bool print_tuple(tracer *tr, const lang_value *v, int depth, error *err)
{
    const lang_sequence *s = v->sequence;

    if (depth > RANK_MAX)
        return error_set(err, ERR_VALUE, "print: tuples are nested too deeply");
    print_text(tr, "(");
    for (int i = 0; i < s->count; i++) {
        print_text(tr, i > 0 ? ", " : "");
        if (!print_value(tr, &s->items[i], depth + 1, err))
            return false;
    }
    print_text(tr, s->count == 1 ? ",)" : ")");
    return true;
}

static bool print_value(tracer *tr, const lang_value *v, int depth, error *err)
{
    value tensor;

    if (!tracer_charge(tr, 1, err))
        return false;
    switch (v->kind) {
    case LANG_NONE:
        print_text(tr, "None");
        return true;
    case LANG_TEXT:
        print_text(tr, v->text);
        return true;
    case LANG_DTYPE:
        print_text(tr, dtype_name(v->dtype));
        return true;
    case LANG_TUPLE:
        return print_tuple(tr, v, depth, err);
    default:
        if (!convert_tensor(tr, v, "print", &tensor, err))
            return false;
        tracer_print(tr, (lang_printed){.style = LANG_STR, .value = tensor});
        return true;
    }
}

/* The text of an option of print; its default if it was not given or is None. */
static bool option(const arguments *args, int at, const char **text, error *err)
{
    const lang_value *v = &args->values[args->count + at];

    if (v->kind == LANG_NONE)
        return true;
    if (v->kind != LANG_TEXT)
        return error_set(err, ERR_ARGUMENT, "print: %s must be a text", args->keywords[at]);
    *text = v->text;
    return true;
}

static bool run_print(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    const char *separator = " ", *end = "\n";

    *result = (lang_value){.kind = LANG_NONE};
    if (tr->program == NULL || tr->graph != tr->root)
        return error_set(err, ERR_ARGUMENT,
                         "print stands outside of what runs later or repeatedly; return the value "
                         "and print it there");
    for (int i = 0; i < args->keyword_count; i++) {
        const bool is_end = strcmp(args->keywords[i], "end") == 0;

        if (!is_end && strcmp(args->keywords[i], "sep") != 0)
            return error_set(err, ERR_UNKNOWN_ATTR, "print has no parameter '%s'",
                             args->keywords[i]);
        if (!option(args, i, is_end ? &end : &separator, err))
            return false;
    }
    for (int i = 0; i < args->count; i++) {
        print_text(tr, i > 0 ? separator : "");
        if (!print_value(tr, &args->values[i], 0, err))
            return false;
    }
    if (strcmp(end, "\n") != 0)
        print_text(tr, end);
    else
        tr->program->line_count++;
    return true;
}

/* ---- What is known ---------------------------------------------------------- */

static bool run_len(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"x"};
    const lang_value *x = NULL;
    lang_value lengths;
    value v;

    if (!builtin_take("len", args, names, 1, 1, &x, err))
        return false;
    if (x->kind == LANG_TUPLE || x->kind == LANG_LIST) {
        *result = scalar_int(x->sequence->count);
        return true;
    }
    if (!convert_tensor(tr, x, "len", &v, err))
        return false;
    if (value_type(v)->shape.rank == 0)
        return error_set(err, ERR_ARGUMENT, "len: a scalar has no length");
    if (!attribute_shape(tr, v, &lengths, err))
        return false;
    *result = lengths.sequence->items[0];
    return true;
}

static bool run_tuple(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"x"};
    const lang_value *x = NULL;

    if (!builtin_take("tuple", args, names, 1, 0, &x, err))
        return false;
    *result = tracer_sequence(tr, LANG_TUPLE, NULL, 0);
    if (x == NULL)
        return true;
    if (!index_unpack(tr, x, -1, result, err))
        return false;
    result->kind = LANG_TUPLE;
    return true;
}

static bool run_slice(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    const lang_value none = {.kind = LANG_NONE};
    lang_value parts[3] = {none, none, none};

    if (args->count < 1 || args->count > 3 || args->keyword_count > 0)
        return error_set(err, ERR_ARGUMENT, "slice takes 1 to 3 arguments, got %d",
                         args->count + args->keyword_count);
    if (args->count == 1)
        parts[1] = args->values[0];
    for (int i = 0; i < args->count && args->count > 1; i++)
        parts[i] = args->values[i];
    *result = tracer_sequence(tr, LANG_SLICE, parts, 3);
    return true;
}

/* ---- Choices -------------------------------------------------------------------- */

/* where(condition) alone asks where it is true, as in NumPy: nonzero. */
static bool run_where(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    const bool alone = args->count == 1 && args->keyword_count == 0;

    return call_op(tr, alone ? op_find("nonzero", 7) : op_find("where", 5), args, result, err);
}

/* ---- Parts --------------------------------------------------------------------- */

/* An axis of a value, counted from the first. */
static bool axis_of(const lang_value *axis, value x, const char *who, int *result, error *err)
{
    int64_t at = 0;

    if (axis != NULL && (axis->kind != LANG_NUMBER || !scalar_as_int64(axis, &at)))
        return error_set(err, ERR_ARGUMENT, "%s: axis must be an integer, not %s", who,
                         convert_describe(axis));
    return shape_axis(at, value_type(x)->shape.rank, who, result, err);
}

/* x[.., item, ..] with whole axes before the axis. */
static bool part(tracer *tr, value x, int axis, lang_value item, lang_value *result, error *err)
{
    const lang_value none = {.kind = LANG_NONE}, self = lang_of_value(x);
    const lang_value all[3] = {none, none, none};
    lang_value items[RANK_MAX];

    for (int i = 0; i < axis; i++)
        items[i] = tracer_sequence(tr, LANG_SLICE, all, 3);
    items[axis] = item;
    return index_get(tr, &self, items, axis + 1, result, err);
}

static bool run_unstack(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"x", "axis"};
    const lang_value *taken[2];
    int64_t n;
    int axis;
    value x;

    if (!builtin_take("unstack", args, names, 2, 1, taken, err) ||
        !convert_tensor(tr, taken[0], "unstack", &x, err) ||
        !axis_of(taken[1], x, "unstack", &axis, err))
        return false;
    n = value_type(x)->shape.length[axis];
    if (n == LENGTH_UNKNOWN)
        return error_set(err, ERR_VALUE, "unstack: the length of axis %d is not known", axis);
    if (!tracer_charge(tr, n, err))
        return false;
    *result = tracer_sequence(tr, LANG_TUPLE, NULL, 0);
    result->sequence->items = arena_array(tr->arena, (size_t)n + 1, sizeof(lang_value));
    result->sequence->count = (int)n;
    for (int i = 0; i < n; i++)
        if (!part(tr, x, axis, scalar_int(i), &result->sequence->items[i], err))
            return false;
    return true;
}

/* The positions start, start + 1 .. start + length - 1: a slice if both are known. */
static bool positions(tracer *tr, const lang_value *start, const lang_value *length,
                      lang_value *end, lang_value *result, error *err)
{
    const op_def *arange = op_find("arange", 6);
    lang_value parts[3] = {*start, {.kind = LANG_NONE}, {.kind = LANG_NONE}};
    const arguments both = {.count = 2, .values = parts};

    if (!tracer_binary(tr, TOKEN_ADD, start, length, end, err))
        return false;
    parts[1] = *end;
    *result = tracer_sequence(tr, LANG_SLICE, parts, 3);
    return end->kind == LANG_NUMBER || call_op(tr, arange, &both, result, err);
}

/* The piece of x along the axis that begins at start and is as long as `like`; start moves on. */
static bool piece_like(tracer *tr, value x, value like, int axis, lang_value *start,
                       lang_value *piece, error *err)
{
    lang_value lengths, at;

    if (!attribute_shape(tr, like, &lengths, err))
        return false;
    if (axis >= lengths.sequence->count)
        return error_set(err, ERR_AXIS, "split_like: a part has no axis %d", axis);
    return positions(tr, start, &lengths.sequence->items[axis], start, &at, err) &&
           part(tr, x, axis, at, piece, err);
}

/* The piece of x, of one axis, that has as many elements as `like`, in its shape. */
static bool flat_piece_like(tracer *tr, value x, value like, lang_value *start, lang_value *piece,
                            error *err)
{
    const lang_value whole = lang_of_value(like);
    lang_value both[2], size, at;

    return call_role(tr, ROLE_SIZE, &whole, 1, &size, err) &&
           positions(tr, start, &size, start, &at, err) && part(tr, x, 0, at, &both[0], err) &&
           attribute_shape(tr, like, &both[1], err) &&
           call_role(tr, ROLE_RESHAPE, both, 2, piece, err);
}

/* split_like(x, parts, axis=0): x cut along an axis into pieces as long as those given; with
 * axis=None into pieces of their shapes, what concatenate with that axis joins. */
static bool run_split_like(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"x", "parts", "axis"};
    lang_value start = scalar_int(0), list, *pieces;
    const lang_value *taken[3];
    bool flat;
    int axis, n;
    value x;

    if (!builtin_take("split_like", args, names, 3, 2, taken, err) ||
        !convert_tensor(tr, taken[0], "split_like", &x, err) ||
        !index_unpack(tr, taken[1], -1, &list, err))
        return false;
    flat = taken[2] != NULL && taken[2]->kind == LANG_NONE;
    if (!axis_of(flat ? NULL : taken[2], x, "split_like", &axis, err))
        return false;
    n = list.sequence->count;
    pieces = arena_array(tr->arena, (size_t)n + 1, sizeof *pieces);
    for (int i = 0; i < n; i++) {
        value like;

        if (!convert_tensor(tr, &list.sequence->items[i], "split_like", &like, err) ||
            !(flat ? flat_piece_like(tr, x, like, &start, &pieces[i], err)
                   : piece_like(tr, x, like, axis, &start, &pieces[i], err)))
            return false;
    }
    *result = tracer_sequence(tr, LANG_TUPLE, pieces, n);
    return true;
}

/* ---- Arrays
 * ---------------------------------------------------------------------------------------- */

static bool type_of(const lang_value *v, dtype *result, error *err)
{
    if (v->kind == LANG_TEXT)
        return dtype_parse(v->text, strlen(v->text), result, err);
    if (v->kind != LANG_DTYPE)
        return error_set(err, ERR_ARGUMENT,
                         "array: dtype must be the name of an element type, "
                         "not %s",
                         convert_describe(v));
    *result = v->dtype;
    return true;
}

/* array(x, dtype=None, shape=None): a constant if all of x is known. The shape is
 * for what nested lists cannot say: (0, 3). */
static bool run_array(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"x", "dtype", "shape"};
    const lang_value *taken[3];
    dtype type;
    bool typed;
    attr lengths = {0};
    value v;

    if (!builtin_take("array", args, names, 3, 1, taken, err))
        return false;
    typed = taken[1] != NULL && taken[1]->kind != LANG_NONE;
    if (typed && !type_of(taken[1], &type, err))
        return false;
    if (taken[2] != NULL) {
        if (!convert_attr(tr, taken[2], &lengths, err) ||
            (lengths.kind != ATTR_INTS && lengths.kind != ATTR_LIST) || lengths.dynamic != NULL)
            return error_set(err, ERR_ARGUMENT, "array: shape must be a tuple of integers");
        if (!constant_empty(tr, typed ? type : DT_F64, &lengths, taken[0], &v, err))
            return false;
    } else if (!convert_array(tr, taken[0], typed ? &type : NULL, &v, err)) {
        return false;
    }
    *result = lang_of_value(v);
    return true;
}

/* ---- int(x), float32(x) ..
 * ------------------------------------------------------------------------- */

/* A number known now as Python's int, float, bool or complex of it. */
static bool convert_number(const lang_value *type, const lang_value *x, lang_value *result,
                           error *err)
{
    const double real = scalar_as_double(x);

    if (type->dtype == DT_BOOL)
        *result = scalar_bool(scalar_truth(x));
    else if (x->number == LANG_COMPLEX && type->dtype != DT_C128)
        return error_set(err, ERR_DTYPE, "a complex number cannot become %s",
                         dtype_name(type->dtype));
    else if (type->dtype == DT_F64)
        *result = scalar_float(real);
    else if (type->dtype == DT_C128)
        *result = scalar_complex(real, x->number == LANG_COMPLEX ? x->parts[1] : 0);
    else if (x->number == LANG_UINT)
        *result = *x;
    else if (x->number != LANG_FLOAT)
        *result = scalar_int(x->integer);
    else if (real >= -9223372036854775808.0 && real < 9223372036854775808.0)
        *result = scalar_int((int64_t)real);
    else
        return error_set(err, ERR_OVERFLOW, "int: %g is no int64", real);
    return true;
}

/* complex(re, im) of two numbers known now. */
static bool join_complex(const arguments *args, lang_value *result, error *err)
{
    const lang_value *re = &args->values[0], *im = &args->values[1];

    if (re->kind != LANG_NUMBER || im->kind != LANG_NUMBER || re->number == LANG_COMPLEX ||
        im->number == LANG_COMPLEX)
        return error_set(err, ERR_ARGUMENT,
                         "complex: the parts must be real numbers known while "
                         "the program is built; use re + 1j * im");
    *result = scalar_complex(scalar_as_double(re), scalar_as_double(im));
    return true;
}

bool builtin_convert(tracer *tr, const lang_value *type, const arguments *args, lang_value *result,
                     error *err)
{
    value v;

    if (type->python && type->dtype == DT_C128 && args->count == 2 && args->keyword_count == 0)
        return join_complex(args, result, err);
    if (args->count != 1 || args->keyword_count > 0)
        return error_set(err, ERR_ARGUMENT, "%s takes 1 argument, got %d", dtype_name(type->dtype),
                         args->count + args->keyword_count);
    if (type->python && args->values[0].kind == LANG_NUMBER)
        return convert_number(type, &args->values[0], result, err);
    if (!convert_array(tr, &args->values[0], &type->dtype, &v, err))
        return false;
    *result = lang_of_value(v);
    return true;
}

/* ---- For texts of our own ------------------------------------------------------- */

static bool run_identity(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"x"};
    const lang_value *x = NULL;

    (void)tr;
    if (!builtin_take("identity", args, names, 1, 1, &x, err))
        return false;
    *result = *x;
    return true;
}

/* group(a, b, ..): its arguments as a tuple; from a graph they come as one list. */
static bool run_group(tracer *tr, const arguments *args, lang_value *result, error *err)
{
    static const char *const names[] = {"inputs"};
    const lang_value *given = args->values;
    int count = args->count;

    if (args->keyword_count > 0) {
        if (!builtin_take("group", args, names, 1, 1, &given, err))
            return false;
        count = given->kind == LANG_TUPLE ? given->sequence->count : 1;
        given = given->kind == LANG_TUPLE ? given->sequence->items : given;
    }
    *result = tracer_sequence(tr, LANG_TUPLE, given, count);
    return count > 0 || error_set(err, ERR_ARGUMENT, "group needs something to group");
}

lang_value lang_identity(void)
{
    static const lang_builtin identity = {"identity", run_identity};

    return (lang_value){.kind = LANG_BUILTIN, .builtin = &identity};
}

/* ---- The table
 * ------------------------------------------------------------------------------------- */

static const lang_builtin builtins[] = {
    {"print", run_print},
    {"len", run_len},
    {"tuple", run_tuple},
    {"slice", run_slice},
    {"array", run_array},
    {"asarray", run_array},
    {"where", run_where},
    {"unstack", run_unstack},
    {"split_like", run_split_like},
    {"grad", derivative_grad},
    {"value_and_grad", derivative_value_and_grad},
    {"jacobian", derivative_jacobian},
    {"hessian", derivative_hessian},
    {"vjp", derivative_vjp},
    {"jvp", derivative_jvp},
    {"while_loop", loop_while},
    {"scan", loop_scan},
    {"fori_loop", loop_fori},
    {"map", loop_map},
    {"case", loop_case},
    {"group", run_group},
};

const lang_builtin *builtin_find(const char *name)
{
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(builtins[i].name, name) == 0)
            return &builtins[i];
    return NULL;
}
