/* SPDX-License-Identifier: Apache-2.0 */
/* x[..]: items of an index as an attribute and tensors, and sequences indexed. */
#include <inttypes.h>
#include <string.h>

#include "engine/lang/scalar.h"
#include "engine/lang/tracer.h"

/* An index as getitem and setitem take it. */
typedef struct key {
    index_item *items;
    int count;
    value *inputs; /* the tensor, then the tensors among the items */
    int input_count;
} key;

/* ---- Sequences -------------------------------------------------------------- */

/* A part of a slice, or the default if it is None. */
static bool slice_part(const lang_value *v, int64_t missing, int64_t *result, error *err)
{
    *result = missing;
    if (v->kind == LANG_NONE || scalar_as_int64(v, result))
        return true;
    return error_set(err, ERR_INDEX, "the parts of a slice of a tuple are integers, not %s",
                     convert_describe(v));
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Python's t[start:stop:step] of a tuple or list. */
static bool slice_sequence(tracer *tr, const lang_value *x, const lang_value *slice,
                           lang_value *result, error *err)
{
    const lang_value *parts = slice->sequence->items;
    const int64_t n = x->sequence->count;
    int64_t start, stop, step;
    int count = 0;

    if (!slice_part(&parts[2], 1, &step, err))
        return false;
    if (step == 0)
        return error_set(err, ERR_VALUE, "the step of a slice cannot be 0");
    step = clamp(step, -n - 1, n + 1);
    if (!slice_part(&parts[0], step < 0 ? n - 1 : 0, &start, err) ||
        !slice_part(&parts[1], step < 0 ? -n - 1 : n, &stop, err) || !tracer_charge(tr, n, err))
        return false;
    start = clamp(start < 0 ? start + n : start, step < 0 ? -1 : 0, step < 0 ? n - 1 : n);
    stop = clamp(stop < 0 ? stop + n : stop, step < 0 ? -1 : 0, step < 0 ? n - 1 : n);
    *result = tracer_sequence(tr, x->kind, x->sequence->items, (int)n);
    for (int64_t i = start; step < 0 ? i > stop : i < stop; i += step)
        result->sequence->items[count++] = x->sequence->items[i];
    result->sequence->count = count;
    return true;
}

/* An item or slice of a sequence; *done if the index is one for sequences. */
static bool index_sequence(tracer *tr, const lang_value *x, const lang_value *item,
                           lang_value *result, bool *done, error *err)
{
    const int64_t n = x->sequence->count;
    int64_t at;

    *done = true;
    if (item->kind == LANG_SLICE)
        return slice_sequence(tr, x, item, result, err);
    if (item->kind != LANG_NUMBER || item->number == LANG_BOOL || !scalar_as_int64(item, &at)) {
        *done = false;
        return true;
    }
    if (at < -n || at >= n)
        return error_set(err, ERR_INDEX,
                         "index %" PRId64 " is out of range for a sequence of %" PRId64, at, n);
    *result = x->sequence->items[at < 0 ? at + n : at];
    return true;
}

bool index_unpack(tracer *tr, const lang_value *x, int n, lang_value *result, error *err)
{
    const bool sequence = x->kind == LANG_TUPLE || x->kind == LANG_LIST;
    int64_t count;
    value v;

    if (sequence) {
        count = x->sequence->count;
        *result = *x;
    } else {
        if (!convert_tensor(tr, x, "unpacking", &v, err))
            return false;
        if (value_type(v)->shape.rank == 0)
            return error_set(err, ERR_VALUE, "%s cannot be unpacked", convert_describe(x));
        count = value_type(v)->shape.length[0];
        if (count == LENGTH_UNKNOWN)
            return error_set(err, ERR_VALUE,
                             "a tensor whose length is not known cannot be "
                             "unpacked");
    }
    if (n >= 0 && count != n)
        return error_set(err, ERR_VALUE, "%" PRId64 " value%s cannot be unpacked into %d", count,
                         count == 1 ? "" : "s", n);
    if (sequence)
        return true;
    if (!tracer_charge(tr, count, err))
        return false;
    *result = tracer_sequence(tr, LANG_TUPLE, NULL, 0);
    result->sequence->items = arena_array(tr->arena, (size_t)count + 1, sizeof(lang_value));
    result->sequence->count = (int)count;
    for (int64_t i = 0; i < count; i++) {
        const lang_value at = scalar_int(i), self = lang_of_value(v);

        if (!index_get(tr, &self, &at, 1, &result->sequence->items[i], err))
            return false;
    }
    return true;
}

/* ---- Keys of tensors -------------------------------------------------------- */

static bool bound(const lang_value *v, bool *has, int64_t *at, error *err)
{
    lang_value number;

    *has = v->kind != LANG_NONE;
    if (!*has || (convert_known(v, &number) && scalar_as_int64(&number, at)))
        return true;
    if (v->kind == LANG_TENSOR)
        return error_set(err, ERR_INDEX,
                         "the parts of a slice must be known while the program is "
                         "built; select with an array of positions, x[arange(n)], "
                         "or a mask");
    return error_set(err, ERR_INDEX, "the parts of a slice are integers, not %s",
                     convert_describe(v));
}

static bool add_slice(const lang_value *slice, index_item *item, error *err)
{
    const lang_value *parts = slice->sequence->items;

    item->kind = INDEX_SLICE;
    return bound(&parts[0], &item->has_start, &item->start, err) &&
           bound(&parts[1], &item->has_stop, &item->stop, err) &&
           bound(&parts[2], &item->has_step, &item->step, err);
}

/* Arrays of positions, masks, computed integers: another input of the operation. */
static bool add_tensor(tracer *tr, const lang_value *v, key *k, index_item *item, error *err)
{
    static const dtype positions = DT_I64;
    const bool empty = v->kind == LANG_LIST && v->sequence->count == 0;
    value input;

    if (v->kind == LANG_NUMBER && v->number != LANG_BOOL)
        return error_set(err, ERR_INDEX,
                         "an index is an integer, a slice, ..., None or an array "
                         "of integers or bools, not a float");
    if (v->kind != LANG_NUMBER && v->kind != LANG_TENSOR && v->kind != LANG_LIST &&
        v->kind != LANG_TUPLE)
        return error_set(err, ERR_INDEX, "%s cannot be an index", convert_describe(v));
    if (v->kind == LANG_TENSOR)
        input = v->tensor;
    else if (!convert_array(tr, v, empty ? &positions : NULL, &input, err))
        return false;
    item->kind = INDEX_TENSOR;
    item->operand = k->input_count;
    k->inputs[k->input_count++] = input;
    return true;
}

static bool add_item(tracer *tr, const lang_value *v, key *k, error *err)
{
    index_item *item = &k->items[k->count++];

    switch (v->kind) {
    case LANG_NONE:
        item->kind = INDEX_NEWAXIS;
        return true;
    case LANG_ELLIPSIS:
        item->kind = INDEX_ELLIPSIS;
        return true;
    case LANG_SLICE:
        return add_slice(v, item, err);
    default:
        if (v->kind != LANG_NUMBER || v->number == LANG_BOOL || !scalar_as_int64(v, &item->start))
            return add_tensor(tr, v, k, item, err);
        item->kind = INDEX_INTEGER;
        return true;
    }
}

static bool make_key(tracer *tr, const lang_value *x, const lang_value *items, int n, key *k,
                     error *err)
{
    if (n == 1 && items->kind == LANG_TUPLE) { /* x[t] is x[t[0], t[1]] */
        n = items->sequence->count;
        items = items->sequence->items;
    }
    if (n > 2 * RANK_MAX)
        return error_set(err, ERR_INDEX, "an index has at most %d items, not %d", 2 * RANK_MAX, n);
    k->items = arena_array(tr->arena, (size_t)n + 1, sizeof *k->items);
    k->inputs = arena_array(tr->arena, (size_t)n + 2, sizeof *k->inputs);
    k->input_count = 1;
    if (!convert_tensor(tr, x, "indexing", &k->inputs[0], err))
        return false;
    for (int i = 0; i < n; i++)
        if (!add_item(tr, &items[i], k, err))
            return false;
    return true;
}

/* Applies getitem or setitem, whose only attribute is the key. */
static bool apply(tracer *tr, op_role role, const key *k, lang_value *result, error *err)
{
    const op_def *op = call_role_op(role, err);
    attr *attrs = arena_array(tr->arena, OP_PARAMS, sizeof *attrs);
    value outputs[OP_OUTPUTS];

    if (op == NULL)
        return false;
    for (int i = 0; i < op->attr_count; i++) {
        const op_param *p = op_attr_param(op, i);

        attrs[i] = p->kind == PARAM_INDEX
                       ? (attr){.kind = ATTR_INDEX, .n = k->count, .index = k->items}
                       : p->value;
    }
    if (!graph_apply(tr->graph, op, k->inputs, k->input_count, attrs, outputs, err))
        return false;
    *result = lang_of_value(outputs[0]);
    return true;
}

bool index_get(tracer *tr, const lang_value *x, const lang_value *items, int n, lang_value *result,
               error *err)
{
    bool done = false;
    key k = {0};

    if ((x->kind == LANG_TUPLE || x->kind == LANG_LIST) && n == 1 &&
        !index_sequence(tr, x, items, result, &done, err))
        return false;
    return done || (make_key(tr, x, items, n, &k, err) && apply(tr, ROLE_GETITEM, &k, result, err));
}

bool index_set(tracer *tr, const lang_value *x, const lang_value *items, int n, const lang_value *v,
               lang_value *result, error *err)
{
    key k = {0};

    if (x->kind == LANG_TUPLE)
        return error_set(err, ERR_ARGUMENT, "the items of a tuple cannot be assigned");
    if (!make_key(tr, x, items, n, &k, err) ||
        !convert_tensor(tr, v, "the value assigned", &k.inputs[k.input_count], err))
        return false;
    k.input_count++;
    return apply(tr, ROLE_SETITEM, &k, result, err);
}
