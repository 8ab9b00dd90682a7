/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the language as tensors, arrays and attributes. */
#include <inttypes.h>
#include <string.h>

#include "engine/lang/constant.h"
#include "engine/lang/scalar.h"

const char *convert_describe(const lang_value *v)
{
    static const char *const words[] = {
        [LANG_NONE] = "None",
        [LANG_NUMBER] = "a number",
        [LANG_TENSOR] = "a tensor",
        [LANG_TEXT] = "a text",
        [LANG_DTYPE] = "an element type",
        [LANG_TUPLE] = "a tuple",
        [LANG_LIST] = "a list",
        [LANG_ELLIPSIS] = "...",
        [LANG_SLICE] = "a slice",
        [LANG_FUNCTION] = "a function",
        [LANG_NATIVE] = "a function",
        [LANG_OP] = "an operation",
        [LANG_METHOD] = "a method",
        [LANG_BUILTIN] = "a function of the language",
        [LANG_MODULE] = "a module",
        [LANG_ATTR] = "an attribute",
        [LANG_DELETED] = "a deleted name",
    };

    return words[v->kind];
}

lang_value lang_of_value(value v)
{
    return (lang_value){.kind = LANG_TENSOR, .tensor = v};
}

/* Whether a node may be used in the graph that is being built. */
static bool is_visible(const tracer *tr, value v)
{
    for (const graph *g = tr->graph; g != NULL && v.node != NULL; g = g->outer)
        if (v.node->graph == g)
            return true;
    return false;
}

/* ---- Nested sequences ------------------------------------------------------- */

/* What a nested sequence looks like: its shape along the first items, and what
 * its leaves are. */
typedef struct outline {
    shape shape;
    unsigned classes; /* flags 1 << lang_number_class */
    bool tensors;     /* some leaves are not numbers */
    int64_t leaves;
    const lang_value **numbers; /* the leaves, if wanted */
    int path[RANK_MAX];
} outline;

static bool is_sequence(const lang_value *v)
{
    return v->kind == LANG_LIST || v->kind == LANG_TUPLE;
}

static bool is_constant(const lang_value *v)
{
    return v->kind == LANG_NUMBER && v->tensor.node == NULL;
}

static bool find_shape(const lang_value *v, outline *o, error *err)
{
    for (; is_sequence(v); v = v->sequence->items) {
        if (o->shape.rank == RANK_MAX)
            return error_set(err, ERR_SHAPE_INVALID, "lists are nested more than %d levels deep",
                             RANK_MAX);
        o->shape.length[o->shape.rank++] = v->sequence->count;
        if (v->sequence->count == 0)
            break;
    }
    return true;
}

static const char *path_text(tracer *tr, const outline *o, int depth)
{
    text t;
    const char *copy;

    text_init(&t);
    for (int i = 0; i < depth; i++)
        text_addf(&t, "[%d]", o->path[i]);
    copy = text_copy(&t, tr->arena);
    text_clear(&t);
    return copy;
}

static bool fail_ragged(tracer *tr, const outline *o, const lang_value *v, int depth, error *err)
{
    const char *where = path_text(tr, o, depth);

    if (is_sequence(v) && depth < o->shape.rank)
        return error_set(err, ERR_VALUE,
                         "the list is ragged: item %s has %d elements where others have %" PRId64,
                         where, v->sequence->count, o->shape.length[depth]);
    return error_set(err, ERR_VALUE, "the list is ragged: item %s is %s where others are %s", where,
                     is_sequence(v) ? "a list" : "a number", is_sequence(v) ? "numbers" : "lists");
}

/* Checks that the items at this depth fit the outline and looks at the leaves. */
static bool visit(tracer *tr, const lang_value *v, int depth, outline *o, error *err)
{
    if (!tracer_charge(tr, 1, err))
        return false;
    if (is_constant(v) && depth == o->shape.rank) {
        o->classes |= 1u << v->number;
        if (o->numbers != NULL)
            o->numbers[o->leaves] = v;
        o->leaves++;
        return true;
    }
    if (!is_sequence(v) && !is_constant(v)) {
        o->tensors = true;
        return true;
    }
    if (!is_sequence(v) || depth == o->shape.rank || v->sequence->count != o->shape.length[depth]) {
        if (o->tensors) /* stack finds out whether they fit */
            return true;
        return fail_ragged(tr, o, v, depth, err);
    }
    for (int i = 0; i < v->sequence->count; i++) {
        o->path[depth] = i;
        if (!visit(tr, &v->sequence->items[i], depth + 1, o, err))
            return false;
    }
    return true;
}

/* NumPy: integers of which some are negative and some above int64 are floats. */
static dtype array_type(const outline *o, const lang_value *const *numbers)
{
    const bool both = (o->classes & ~1u) == (1u << LANG_INT | 1u << LANG_UINT);

    for (int64_t i = 0; both && i < o->leaves; i++)
        if (numbers[i]->number == LANG_INT && numbers[i]->integer < 0)
            return DT_F64;
    return constant_dtype(o->classes);
}

static bool number_array(tracer *tr, const lang_value *v, const dtype *type, outline *o,
                         value *result, error *err)
{
    o->numbers = arena_array(tr->arena, (size_t)o->leaves + 1, sizeof *o->numbers);
    o->leaves = 0;
    if (!shape_check(&o->shape, "array", err) || !visit(tr, v, 0, o, err))
        return false;
    return constant_array(tr, o->numbers, &o->shape,
                          type != NULL ? *type : array_type(o, o->numbers), result, err);
}

/* A sequence with tensors among its items: stacked along a new first axis. */
static bool stacked_array(tracer *tr, const lang_value *v, value *result, error *err)
{
    const int n = v->sequence->count;
    lang_value *items = arena_array(tr->arena, (size_t)n + 1, sizeof *items), list, stacked;

    if (!tracer_enter(tr, err))
        return false;
    for (int i = 0; i < n; i++) {
        items[i].kind = LANG_TENSOR;
        if (!convert_array(tr, &v->sequence->items[i], NULL, &items[i].tensor, err))
            return false;
    }
    tracer_leave(tr);
    list = tracer_sequence(tr, LANG_LIST, items, n);
    if (!call_role(tr, ROLE_STACK, &list, 1, &stacked, err))
        return false;
    *result = stacked.tensor;
    return true;
}

static bool sequence_array(tracer *tr, const lang_value *v, const dtype *type, value *result,
                           bool *cast, error *err)
{
    outline o = {0};

    *cast = false;
    if (type == NULL && is_visible(tr, v->sequence->array)) {
        *result = v->sequence->array;
        return true;
    }
    if (!find_shape(v, &o, err) || !visit(tr, v, 0, &o, err))
        return false;
    if (!o.tensors)
        return number_array(tr, v, type, &o, result, err) &&
               (type != NULL || (v->sequence->array = *result, true));
    *cast = type != NULL;
    if (!stacked_array(tr, v, result, err))
        return false;
    v->sequence->array = *result;
    return true;
}

/* ---- Tensors ---------------------------------------------------------------- */

static bool fail_kind(const lang_value *v, const char *who, error *err)
{
    return error_set(err, ERR_ARGUMENT, "%s needs a tensor, not %s", who, convert_describe(v));
}

bool convert_tensor(tracer *tr, const lang_value *v, const char *who, value *result, error *err)
{
    bool cast;

    switch (v->kind) {
    case LANG_TENSOR:
        *result = v->tensor;
        return true;
    case LANG_NUMBER:
        *result = is_visible(tr, v->tensor) ? v->tensor : constant_scalar(tr, v, true, err);
        return result->node != NULL;
    case LANG_TUPLE:
    case LANG_LIST:
        return sequence_array(tr, v, NULL, result, &cast, err);
    default:
        return fail_kind(v, who, err);
    }
}

static bool cast_tensor(tracer *tr, value v, dtype type, value *result, error *err)
{
    lang_value cast;

    if (!call_role(tr, ROLE_ASTYPE,
                   (lang_value[]){lang_of_value(v), {.kind = LANG_DTYPE, .dtype = type}}, 2, &cast,
                   err))
        return false;
    *result = cast.tensor;
    return true;
}

bool convert_array(tracer *tr, const lang_value *v, const dtype *dtype, value *result, error *err)
{
    bool cast = dtype != NULL;

    if (v->kind == LANG_NUMBER && v->tensor.node == NULL)
        return constant_array(tr, (const lang_value *const[]){v}, &shape_scalar,
                              dtype != NULL ? *dtype : constant_dtype(1u << v->number), result,
                              err);
    if (is_sequence(v) ? !sequence_array(tr, v, dtype, result, &cast, err)
                       : !convert_tensor(tr, v, "array", result, err))
        return false;
    if (!cast && !value_type(*result)->weak)
        return true;
    return cast_tensor(tr, *result, cast ? *dtype : value_type(*result)->dtype, result, err);
}

bool lang_tensor(graph *g, const lang_value *v, const char *who, value *result, error *err)
{
    const lang_options options = {0};
    tracer tr;

    tracer_init(&tr, g, &options);
    return convert_tensor(&tr, v, who, result, err);
}

/* ---- Known numbers ---------------------------------------------------------- */

bool convert_known(const lang_value *v, lang_value *number)
{
    const tensor *t = v->kind == LANG_TENSOR ? value_constant(v->tensor) : NULL;
    arena *a;

    if (v->kind == LANG_NUMBER)
        *number = *v;
    if (t == NULL || t->shape.rank > 0)
        return v->kind == LANG_NUMBER;
    a = v->tensor.node->graph->arena;
    *number = constant_element(constant_elements(t, a), t->dtype, 0);
    return true;
}

/* ---- Attributes
 * ---------------------------------------------------------------------------------- */

static bool number_attr(const lang_value *v, attr *result)
{
    switch (v->number) {
    case LANG_BOOL:
        *result = (attr){.kind = ATTR_BOOL, .truth = v->integer != 0, .integer = v->integer};
        return true;
    case LANG_INT:
        *result = (attr){.kind = ATTR_INT, .integer = v->integer};
        return true;
    case LANG_UINT:
    case LANG_FLOAT:
        *result = (attr){.kind = ATTR_FLOAT, .real = scalar_as_double(v)};
        return true;
    case LANG_COMPLEX:
        break;
    }
    return false;
}

static attr dynamic_attr(value v)
{
    return (attr){
        .kind = ATTR_DYNAMIC, .node = v.node, .output = v.index, .dtype = value_type(v)->dtype};
}

/* A constant vector as the list of its elements. */
static bool vector_items(tracer *tr, value v, lang_value *list, error *err)
{
    const tensor *t = value_constant(v);
    const lang_value self = lang_of_value(v);
    const void *elements;
    int64_t n;

    if (t == NULL)
        return index_unpack(tr, &self, -1, list, err);
    n = tensor_size(t);
    if (!tracer_charge(tr, n, err))
        return false;
    elements = constant_elements(t, tr->arena);
    *list = tracer_sequence(tr, LANG_LIST, NULL, 0);
    list->sequence->items = arena_array(tr->arena, (size_t)n + 1, sizeof(lang_value));
    list->sequence->count = (int)n;
    for (int64_t i = 0; i < n; i++)
        list->sequence->items[i] = constant_element(elements, t->dtype, i);
    return true;
}

static bool tensor_attr(tracer *tr, const lang_value *v, attr *result, error *err)
{
    lang_value known;

    if (convert_known(v, &known))
        return number_attr(&known, result);
    if (value_type(v->tensor)->shape.rank == 0) {
        *result = dynamic_attr(v->tensor);
        return true;
    }
    return value_type(v->tensor)->shape.rank == 1 && vector_items(tr, v->tensor, &known, err) &&
           convert_attr(tr, &known, result, err);
}

/* Attributes that are all integers, known or computed, as one of kind ATTR_INTS. */
static void join_ints(tracer *tr, attr *list)
{
    int64_t *ints = arena_array(tr->arena, (size_t)list->n + 1, sizeof *ints);
    attr *dynamic = arena_array(tr->arena, (size_t)list->n + 1, sizeof *dynamic);
    bool any = false;

    for (int i = 0; i < list->n; i++) {
        const attr *item = &list->items[i];

        if (item->kind != ATTR_INT && item->kind != ATTR_DYNAMIC && item->kind != ATTR_BOOL)
            return;
        ints[i] = item->kind == ATTR_DYNAMIC ? INT64_MIN : item->integer;
        if (item->kind == ATTR_DYNAMIC)
            dynamic[i] = *item;
        any = any || item->kind == ATTR_DYNAMIC;
    }
    *list = (attr){.kind = ATTR_INTS, .n = list->n, .ints = ints, .dynamic = any ? dynamic : NULL};
}

static bool sequence_attr(tracer *tr, const lang_value *v, attr *result, error *err)
{
    const lang_sequence *s = v->sequence;
    attr *items;

    if (!tracer_charge(tr, s->count, err) || !tracer_enter(tr, err))
        return false;
    items = arena_array(tr->arena, (size_t)s->count + 1, sizeof *items);
    for (int i = 0; i < s->count; i++)
        if (!convert_attr(tr, &s->items[i], &items[i], err))
            return false;
    tracer_leave(tr);
    *result = (attr){.kind = ATTR_LIST, .n = s->count, .items = items};
    join_ints(tr, result);
    return true;
}

bool convert_attr(tracer *tr, const lang_value *v, attr *result, error *err)
{
    switch (v->kind) {
    case LANG_NONE:
        *result = (attr){.kind = ATTR_NONE};
        return true;
    case LANG_NUMBER:
        return number_attr(v, result);
    case LANG_TEXT:
        *result = (attr){.kind = ATTR_TEXT, .text = v->text};
        return true;
    case LANG_DTYPE:
        *result = (attr){.kind = ATTR_DTYPE, .dtype = v->dtype};
        return true;
    case LANG_TUPLE:
    case LANG_LIST:
        return sequence_attr(tr, v, result, err);
    case LANG_TENSOR:
        return tensor_attr(tr, v, result, err);
    case LANG_ATTR:
        *result = *v->attr;
        return true;
    default:
        return false;
    }
}

/* A list among the attributes as a tuple. */
static lang_value tuple_of_attr(arena *a, const attr *list)
{
    lang_sequence *s = arena_alloc(a, sizeof *s);

    s->count = list->n;
    s->items = arena_array(a, (size_t)list->n + 1, sizeof *s->items);
    for (int i = 0; i < list->n; i++) {
        if (list->kind == ATTR_LIST)
            s->items[i] = lang_of_attr(a, &list->items[i]);
        else if (list->dynamic != NULL && list->dynamic[i].kind == ATTR_DYNAMIC)
            s->items[i] = lang_of_attr(a, &list->dynamic[i]);
        else
            s->items[i] = scalar_int(list->ints[i]);
    }
    return (lang_value){.kind = LANG_TUPLE, .sequence = s};
}

lang_value lang_of_attr(arena *a, const attr *attr)
{
    struct attr *copy;

    switch (attr->kind) {
    case ATTR_NONE:
        return (lang_value){.kind = LANG_NONE};
    case ATTR_BOOL:
        return scalar_bool(attr->truth);
    case ATTR_INT:
        return scalar_int(attr->integer);
    case ATTR_FLOAT:
        return scalar_float(attr->real);
    case ATTR_TEXT:
        return (lang_value){.kind = LANG_TEXT, .text = attr->text};
    case ATTR_DTYPE:
        return (lang_value){.kind = LANG_DTYPE, .dtype = attr->dtype};
    case ATTR_DYNAMIC:
        return lang_of_value((value){attr->node, attr->output});
    case ATTR_INTS:
    case ATTR_LIST:
        return tuple_of_attr(a, attr);
    default:
        copy = arena_alloc(a, sizeof *copy);
        *copy = *attr;
        return (lang_value){.kind = LANG_ATTR, .attr = copy};
    }
}

/* ---- Arguments of a call ------------------------------------------------------- */

lang_value lang_of_known(value v)
{
    const lang_value self = lang_of_value(v);
    lang_value number;

    if (!value_type(v)->weak || !convert_known(&self, &number))
        return self;
    number.tensor = v;
    return number;
}

static lang_value tuple_of(arena *a, int count)
{
    lang_sequence *s = arena_alloc(a, sizeof *s);

    s->count = count;
    s->items = arena_array(a, (size_t)count + 1, sizeof *s->items);
    return (lang_value){.kind = LANG_TUPLE, .sequence = s};
}

/* The two lists of a PARAM_PAIR, which its attribute holds one behind the other. */
static lang_value pair_of_attr(arena *a, const attr *pair)
{
    const int half = pair->n / 2;
    lang_value both = tuple_of(a, 2);

    for (int i = 0; i < 2; i++) {
        const attr side = {.kind = ATTR_INTS, .n = half, .ints = pair->ints + i * half};

        both.sequence->items[i] = lang_of_attr(a, &side);
    }
    return both;
}

lang_value lang_of_param(arena *a, const op_param *p, const value *inputs, int count,
                         const attr *attrs)
{
    const int at = p->position;
    lang_value list;

    switch (p->kind) {
    case PARAM_TENSOR:
        return at < count && inputs[at].node != NULL ? lang_of_value(inputs[at])
                                                     : (lang_value){.kind = LANG_NONE};
    case PARAM_TENSORS:
        list = tuple_of(a, count > at ? count - at : 0);
        for (int i = at; i < count; i++)
            list.sequence->items[i - at] = lang_of_value(inputs[i]);
        return list;
    case PARAM_PAIR:
        return attrs[at].kind == ATTR_INTS ? pair_of_attr(a, &attrs[at])
                                           : lang_of_attr(a, &attrs[at]);
    default:
        return lang_of_attr(a, &attrs[at]);
    }
}
