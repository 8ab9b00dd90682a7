/* SPDX-License-Identifier: Apache-2.0 */
/* Properties and methods of values: x.T, x.shape, x.sum(..). */
#include <string.h>

#include "engine/lang/scalar.h"
#include "engine/base/nearest.h"
#include "engine/lang/tracer.h"

typedef bool property_fn(tracer *tr, value x, lang_value *result, error *err);

static bool property_transpose(tracer *tr, value x, lang_value *result, error *err)
{
    return call_role(tr, ROLE_TRANSPOSE, (lang_value[]){lang_of_value(x)}, 1, result, err);
}

static bool property_matrix_transpose(tracer *tr, value x, lang_value *result, error *err)
{
    return call_role(tr, ROLE_SWAPAXES,
                     (lang_value[]){lang_of_value(x), scalar_int(-1), scalar_int(-2)}, 3, result,
                     err);
}

bool attribute_shape(tracer *tr, value x, lang_value *result, error *err)
{
    const shape *s = &value_type(x)->shape;
    const lang_value self = lang_of_value(x);
    lang_value lengths = {0}, items[RANK_MAX];

    if (!shape_is_known(s) && !call_role(tr, ROLE_SHAPE, &self, 1, &lengths, err))
        return false;
    for (int i = 0; i < s->rank; i++) {
        const lang_value at = scalar_int(i);

        items[i] = scalar_int(s->length[i]);
        if (s->length[i] == LENGTH_UNKNOWN && !index_get(tr, &lengths, &at, 1, &items[i], err))
            return false;
    }
    *result = tracer_sequence(tr, LANG_TUPLE, items, s->rank);
    return true;
}

static bool property_ndim(tracer *tr, value x, lang_value *result, error *err)
{
    (void)tr, (void)err;
    *result = scalar_int(value_type(x)->shape.rank);
    return true;
}

static bool property_size(tracer *tr, value x, lang_value *result, error *err)
{
    const shape *s = &value_type(x)->shape;

    if (!shape_is_known(s))
        return call_role(tr, ROLE_SIZE, (lang_value[]){lang_of_value(x)}, 1, result, err);
    *result = scalar_int(shape_size(s));
    return true;
}

static bool property_itemsize(tracer *tr, value x, lang_value *result, error *err)
{
    (void)tr, (void)err;
    *result = scalar_int((int64_t)dtype_size(value_type(x)->dtype));
    return true;
}

static bool property_nbytes(tracer *tr, value x, lang_value *result, error *err)
{
    lang_value size, width = {0};

    return property_size(tr, x, &size, err) && property_itemsize(tr, x, &width, err) &&
           tracer_binary(tr, TOKEN_MULTIPLY, &size, &width, result, err);
}

static bool property_dtype(tracer *tr, value x, lang_value *result, error *err)
{
    (void)tr, (void)err;
    *result = (lang_value){.kind = LANG_DTYPE, .dtype = value_type(x)->dtype};
    return true;
}

static const struct property {
    const char *name;
    property_fn *get;
    const char *op; /* or the operation that gives it */
} properties[] = {
    {"T", property_transpose, NULL},
    {"mT", property_matrix_transpose, NULL},
    {"shape", attribute_shape, NULL},
    {"ndim", property_ndim, NULL},
    {"size", property_size, NULL},
    {"dtype", property_dtype, NULL},
    {"itemsize", property_itemsize, NULL},
    {"nbytes", property_nbytes, NULL},
    {"real", NULL, "real"},
    {"imag", NULL, "imag"},
};

static bool get_property(tracer *tr, const struct property *p, const lang_value *x,
                         lang_value *result, error *err)
{
    const arguments args = {.count = 1, .values = x};
    const op_def *op = p->op == NULL ? NULL : op_find(p->op, strlen(p->op));
    value v;

    if (p->op != NULL && op == NULL)
        return error_set(err, ERR_UNKNOWN_OP, "there is no operation '%s'", p->op);
    if (op != NULL)
        return call_op(tr, op, &args, result, err);
    return convert_tensor(tr, x, p->name, &v, err) && p->get(tr, v, result, err);
}

/* Any operation whose first parameter is a tensor is a method. */
static bool get_method(tracer *tr, const lang_value *x, const char *name, lang_value *result)
{
    const op_def *op = op_find(name, strlen(name));
    lang_method *method;

    if (op == NULL || op->param_count == 0 ||
        (op->params[0].kind != PARAM_TENSOR && op->params[0].kind != PARAM_TENSORS))
        return false;
    method = arena_alloc(tr->arena, sizeof *method);
    *method = (lang_method){op, *x};
    *result = (lang_value){.kind = LANG_METHOD, .method = method};
    return true;
}

static bool fail_attribute(const lang_value *x, const char *name, code_use use, error *err)
{
    nearest n = nearest_to(name, NEAREST_EDITS);

    for (size_t i = 0; i < sizeof properties / sizeof *properties && use == USE_VALUE; i++)
        nearest_offer(&n, properties[i].name);
    error_set(err, use == USE_CALL ? ERR_UNKNOWN_OP : ERR_SYNTAX, "%s has no %s '%s'",
              convert_describe(x), use == USE_CALL ? "method" : "attribute", name);
    return error_did_you_mean(err, n.word != NULL ? n.word : op_nearest(name, strlen(name)));
}

/* NumPy's words for an element type: its name, and one letter for what it holds. */
static bool get_type_word(dtype t, const char *name, lang_value *result)
{
    static const char *const kinds[] = {[CLASS_BOOL] = "b",
                                        [CLASS_UINT] = "u",
                                        [CLASS_INT] = "i",
                                        [CLASS_FLOAT] = "f",
                                        [CLASS_COMPLEX] = "c"};

    *result = (lang_value){.kind = LANG_TEXT, .text = dtype_name(t)};
    if (strcmp(name, "kind") == 0)
        result->text = kinds[dtype_info_of(t)->class];
    return strcmp(name, "name") == 0 || strcmp(name, "kind") == 0;
}

bool attribute_load(tracer *tr, const lang_value *x, const char *name, code_use use,
                    lang_value *result, error *err)
{
    if (x->kind == LANG_MODULE)
        return name_load_from(tr, x->text, name, use, result, err);
    if (x->kind == LANG_DTYPE && get_type_word(x->dtype, name, result))
        return true;
    if (x->kind != LANG_NUMBER && x->kind != LANG_TENSOR && x->kind != LANG_LIST &&
        x->kind != LANG_TUPLE)
        return fail_attribute(x, name, use, err);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (strcmp(properties[i].name, name) == 0)
            return get_property(tr, &properties[i], x, result, err);
    if (get_method(tr, x, name, result))
        return true;
    return fail_attribute(x, name, use, err);
}
