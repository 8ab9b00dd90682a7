/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "engine/lang/scalar.h"
#include "engine/base/nearest.h"
#include "engine/lang/tracer.h"

/* ---- What names mean by themselves ------------------------------------------ */

typedef struct constant {
    const char *name;
    double value;
} constant;

static const constant constants[] = {
    {"pi", 3.141592653589793}, {"e", 2.718281828459045}, {"euler_gamma", 0.5772156649015329},
    {"inf", (double)INFINITY}, {"nan", (double)NAN},
};

/* Python's types and NumPy's other spellings of element types. */
static const struct type_name {
    const char *name;
    dtype dtype;
    bool python;
} type_names[] = {
    {"bool", DT_BOOL, true},    {"int", DT_I64, true},     {"float", DT_F64, true},
    {"complex", DT_C128, true}, {"bool_", DT_BOOL, false}, {"intp", DT_I64, false},
    {"int_", DT_I64, false},    {"half", DT_F16, false},   {"single", DT_F32, false},
    {"double", DT_F64, false},
};

static bool find_constant(const char *name, lang_value *result)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (strcmp(constants[i].name, name) == 0) {
            *result = scalar_float(constants[i].value);
            return true;
        }
    }
    *result = (lang_value){.kind = LANG_NONE};
    return strcmp(name, "newaxis") == 0;
}

static bool find_type(const char *name, lang_value *result)
{
    *result = (lang_value){.kind = LANG_DTYPE};
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++) {
        if (strcmp(type_names[i].name, name) == 0) {
            result->dtype = type_names[i].dtype;
            result->python = type_names[i].python;
            return true;
        }
    }
    for (int t = 0; t < DT_COUNT; t++) {
        if (strcmp(dtype_name((dtype)t), name) == 0) {
            result->dtype = (dtype)t;
            return true;
        }
    }
    return false;
}

/* Parts of NumPy, whether or not there is an operation in them yet. */
static const char *const modules[] = {"linalg", "fft", "random"};

/* Whether operations have dotted names that begin with path and a point. */
static bool is_module(const char *path)
{
    const size_t n = strlen(path);
    size_t count;
    const op_def *const *all = ops_all(&count);

    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (strcmp(modules[i], path) == 0)
            return true;
    for (size_t i = 0; i < count; i++)
        if (strncmp(all[i]->name, path, n) == 0 && all[i]->name[n] == '.')
            return true;
    return false;
}

/* Operations, functions of the language, element types, constants, modules. */
static bool find_known(const char *name, lang_value *result)
{
    const op_def *op = op_find(name, strlen(name));
    const lang_builtin *builtin = builtin_find(name);

    if (find_constant(name, result) || find_type(name, result))
        return true;
    if (builtin != NULL) {
        *result = (lang_value){.kind = LANG_BUILTIN, .builtin = builtin};
        return true;
    }
    if (op != NULL) {
        *result = (lang_value){.kind = LANG_OP, .op = op};
        return true;
    }
    *result = (lang_value){.kind = LANG_MODULE, .text = name};
    return is_module(name);
}

bool name_is_taken(const char *name)
{
    lang_value v;

    return find_known(name, &v) || strcmp(name, "np") == 0 || strcmp(name, "numpy") == 0;
}

/* ---- Where names are looked up ---------------------------------------------- */

static binding *find_assigned(const tracer *tr, const char *name)
{
    for (const environment *e = tr->local; e != NULL; e = e->outer) {
        binding *b = table_get(&e->names, name);

        if (b != NULL)
            return b;
    }
    return NULL;
}

/* An input or stored variable; *found is NULL if there is none. */
static bool resolve(tracer *tr, const char *name, binding **found, error *err)
{
    value v = {0};

    *found = table_get(&tr->resolved, name);
    if (*found != NULL || tr->scope == NULL)
        return true;
    if (!tr->scope->resolve(tr->scope->context, tr->root, name, &v, err))
        return false;
    if (v.node == NULL)
        return true;
    *found = arena_alloc(tr->arena, sizeof **found);
    (*found)->value = lang_of_value(v);
    table_put(&tr->resolved, name, *found);
    return true;
}

/* An operation that is none of the registry's; sets *found. */
static bool find_defined(const tracer *tr, const char *name, bool *found, lang_value *result,
                         error *err)
{
    *result = (lang_value){.kind = LANG_OP};
    *found = false;
    if (tr->scope == NULL || tr->scope->find_op == NULL)
        return true;
    if (!tr->scope->find_op(tr->scope->context, name, &result->op, err))
        return false;
    *found = result->op != NULL;
    return true;
}

/* The nearer of two names to a word, either of which may be NULL. */
static const char *nearer(const char *word, const char *a, const char *b)
{
    nearest n = nearest_to(word, NEAREST_EDITS);

    if (a == NULL || b == NULL)
        return a == NULL ? b : a;
    nearest_offer(&n, a);
    nearest_offer(&n, b);
    return n.word != NULL ? n.word : a;
}

static const char *nearest_assigned(const tracer *tr, const char *name)
{
    nearest n = nearest_to(name, NEAREST_EDITS);

    for (const environment *e = tr->local; e != NULL; e = e->outer)
        nearest_offer_keys(&n, &e->names);
    return strlen(name) > 2 ? n.word : NULL;
}

static bool fail_unknown(const tracer *tr, const char *name, code_use use, error *err)
{
    const char *op = op_nearest(name, strlen(name)), *near = nearest_assigned(tr, name);

    if (tr->scope != NULL && tr->scope->nearest != NULL)
        near = nearer(name, near, tr->scope->nearest(tr->scope->context, name));
    near = use == USE_CALL ? nearer(name, op, near) : nearer(name, near, op);
    if (use == USE_CALL)
        error_set(err, ERR_UNKNOWN_OP, "there is no operation '%s'", name);
    else
        error_set(err, ERR_UNKNOWN_NAME, "the name '%s' is not known", name);
    return error_did_you_mean(err, near);
}

bool name_load(tracer *tr, const char *name, code_use use, lang_value *result, error *err)
{
    binding *b = find_assigned(tr, name);
    bool found;

    if (b != NULL && b->value.kind == LANG_DELETED)
        return error_set(err, ERR_UNKNOWN_NAME, "the name '%s' was deleted", name);
    if (b == NULL && use == USE_CALL && find_known(name, result))
        return true;
    if (b == NULL && !resolve(tr, name, &b, err))
        return false;
    if (b != NULL) {
        *result = b->value;
        return true;
    }
    if (find_known(name, result))
        return true;
    if (!find_defined(tr, name, &found, result, err))
        return false;
    if (found)
        return true;
    if (strcmp(name, "np") == 0 || strcmp(name, "numpy") == 0) {
        *result = (lang_value){.kind = LANG_MODULE, .text = ""};
        return true;
    }
    return fail_unknown(tr, name, use, err);
}

bool name_load_from(tracer *tr, const char *module, const char *name, code_use use,
                    lang_value *result, error *err)
{
    const char *path = *module == '\0' ? name : arena_format(tr->arena, "%s.%s", module, name);

    if (find_known(path, result))
        return true;
    error_set(err, use == USE_CALL ? ERR_UNKNOWN_OP : ERR_UNKNOWN_NAME,
              "there is no operation '%s'", path);
    return error_did_you_mean(err, op_nearest(path, strlen(path)));
}
