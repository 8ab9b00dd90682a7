/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors made from numbers: ranges, identities, shapes. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/ops/families.h"

/* ---- Storing numbers as any type --------------------------------------------------- */

/* Casts n elements in steps of whole lanes through a buffer of its own. */
static void store(dtype from, const void *values, int64_t n, dtype to, void *out)
{
    const size_t in_size = dtype_size(from), out_size = dtype_size(to);
    char block_in[LANES * 16], block_out[LANES * 16];

    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t part = n - i < LANES ? n - i : LANES;
        const void *in[] = {block_in};

        memset(block_in, 0, sizeof block_in);
        memcpy(block_in, (const char *)values + (size_t)i * in_size, (size_t)part * in_size);
        kernel_cast(from, to)(LANES, block_out, in);
        memcpy((char *)out + (size_t)i * out_size, block_out, (size_t)part * out_size);
    }
}

enum { FILL_CHUNK = 512, FILL_PART = 128 * FILL_CHUNK }; /* elements: at once, in a task */

/* What the parts of a filling need to know. */
typedef struct filling {
    const tensor *out;
    dtype made;
    fill_fn *fill;
    const void *context;
    int64_t first, size;
} filling;

static void fill_part(void *context, int64_t part)
{
    const filling *f = context;
    const int64_t from = part * FILL_PART;
    const int64_t to = f->size - from < FILL_PART ? f->size : from + FILL_PART;
    const size_t size = dtype_size(f->out->dtype);
    char values[FILL_CHUNK * 8];

    for (int64_t i = from; i < to; i += FILL_CHUNK) {
        const int64_t n = to - i < FILL_CHUNK ? to - i : FILL_CHUNK;
        char *at = (char *)tensor_bytes(f->out) + (size_t)i * size;

        f->fill(f->context, f->first + i, n, f->made == f->out->dtype ? at : values);
        if (f->made != f->out->dtype)
            store(f->made, values, n, f->out->dtype, at);
    }
}

bool op_fill(op_run *run, dtype made, fill_fn *fill, const void *context, error *err)
{
    const tensor *out = &run->outputs[0];
    filling f = {
        .out = out, .made = made, .fill = fill, .context = context, .size = tensor_size(out)};

    if (out->shape.rank > 0 && run->first_row > 0)
        f.first = run->first_row * (f.size / out->shape.length[0]);
    return run->parallel(run, (f.size + FILL_PART - 1) / FILL_PART, fill_part, &f, err);
}

int64_t op_fill_block(const op_call *call)
{
    (void)call;
    return 1;
}

/* ---- arange --------------------------------------------------------------------------- */

typedef struct progression {
    bool whole; /* of integers */
    int64_t first, step;
    double first_f, step_f;
    int64_t n; /* the last element of a linspace, if has_last */
    bool has_last;
    double last;
} progression;

static double number_of(const attr *a)
{
    return a->kind == ATTR_INT ? (double)a->integer : a->real;
}

static bool is_whole(const attr *a)
{
    return a->kind == ATTR_INT || (a->kind == ATTR_DYNAMIC && !dtype_is_float(a->dtype));
}

/* How many steps lead from start to stop, not including it: the exact number, rounded. */
static double whole_steps(int64_t start, int64_t stop, int64_t step)
{
    const __int128 way = (__int128)stop - start;
    const __int128 rest = way % step;

    if (way == 0 || (way < 0) != (step < 0))
        return 0;
    return (double)(way / step + (rest != 0));
}

/* start, stop and step as given: one number alone is the stop. */
static bool arange_of(const op_call *call, progression *p, int64_t *length, error *err)
{
    const attr zero = {.kind = ATTR_INT};
    const attr *stop = call->attrs[1].kind == ATTR_NONE ? &call->attrs[0] : &call->attrs[1];
    const attr *start = stop == &call->attrs[0] ? &zero : &call->attrs[0];
    const attr *step = &call->attrs[2];
    double count;

    p->whole = is_whole(start) && is_whole(stop) && is_whole(step);
    if (start->kind == ATTR_DYNAMIC || stop->kind == ATTR_DYNAMIC || step->kind == ATTR_DYNAMIC) {
        *length = LENGTH_UNKNOWN;
        return true;
    }
    if (number_of(step) == 0)
        return error_set(err, ERR_VALUE, "%s: the step cannot be 0", call->op->name);
    p->first = start->integer;
    p->step = step->integer;
    p->first_f = number_of(start);
    p->step_f = number_of(step);
    count = p->whole ? whole_steps(start->integer, stop->integer, step->integer)
                     : ceil((number_of(stop) - p->first_f) / p->step_f);
    if (isnan(count) || count > (double)LENGTH_MAX)
        return error_set(err, ERR_SHAPE_INVALID, "%s: from %g to %g by %g is too many elements",
                         call->op->name, p->first_f, number_of(stop), p->step_f);
    *length = count > 0 ? (int64_t)count : 0;
    return true;
}

static bool infer_arange(const op_call *call, type *output, error *err)
{
    progression p = {0};

    if (!arange_of(call, &p, &output->shape.length[0], err))
        return false;
    output->shape.rank = 1;
    output->dtype = call->attrs[3].kind == ATTR_DTYPE ? call->attrs[3].dtype
                    : p.whole                         ? DT_I64
                                                      : DT_F64;
    return true;
}

static void fill_whole(const void *context, int64_t first, int64_t n, void *values)
{
    const progression *p = context;
    int64_t *x = values;

    for (int64_t i = 0; i < n; i++)
        x[i] = p->first + (first + i) * p->step;
}

static void fill_real(const void *context, int64_t first, int64_t n, void *values)
{
    const progression *p = context;
    double *x = values;

    for (int64_t i = 0; i < n; i++)
        x[i] = p->first_f + (double)(first + i) * p->step_f;
    if (p->has_last && first + n == p->n && p->n > 1)
        x[n - 1] = p->last;
}

static bool run_arange(op_run *run, error *err)
{
    const op_call call = {.op = run->op, .attrs = run->attrs};
    progression p = {0};

    if (!arange_of(&call, &p, &p.n, err))
        return false;
    if (p.whole)
        return op_fill(run, DT_I64, fill_whole, &p, err);
    p.step_f = (p.first_f + p.step_f) - p.first_f; /* as NumPy finds it */
    return op_fill(run, DT_F64, fill_real, &p, err);
}

/* ---- linspace -------------------------------------------------------------------------- */

static bool infer_linspace(const op_call *call, type *output, error *err)
{
    const attr *num = &call->attrs[2];

    output->dtype = call->attrs[4].kind == ATTR_DTYPE ? call->attrs[4].dtype : DT_F64;
    output->shape.rank = 1;
    output->shape.length[0] = num->kind == ATTR_INT ? num->integer : LENGTH_UNKNOWN;
    if (num->kind == ATTR_INT && num->integer < 0)
        return error_set(err, ERR_VALUE, "%s: the number of elements cannot be %" PRId64,
                         call->op->name, num->integer);
    return true;
}

static void fill_floor(const void *context, int64_t first, int64_t n, void *values)
{
    double *x = values;

    fill_real(context, first, n, values);
    for (int64_t i = 0; i < n; i++)
        x[i] = floor(x[i]);
}

static bool run_linspace(op_run *run, error *err)
{
    const bool endpoint = run->attrs[3].truth;
    const int64_t n = run->whole_rows > 0 ? run->whole_rows : tensor_size(&run->outputs[0]);
    const int64_t parts = endpoint ? n - 1 : n;
    progression p = {.first_f = number_of(&run->attrs[0]), .n = n};
    const double last = number_of(&run->attrs[1]);

    p.step_f = parts > 0 ? (last - p.first_f) / (double)parts : 0;
    p.has_last = endpoint;
    p.last = last;
    return op_fill(run, DT_F64, dtype_is_integer(run->outputs[0].dtype) ? fill_floor : fill_real,
                   &p, err);
}

/* ---- eye ---------------------------------------------------------------------------------- */

static bool infer_eye(const op_call *call, type *output, error *err)
{
    const attr *rows = &call->attrs[0];
    const attr *columns = call->attrs[1].kind == ATTR_NONE ? rows : &call->attrs[1];

    output->dtype = call->attrs[3].dtype;
    output->shape.rank = 2;
    output->shape.length[0] = rows->kind == ATTR_INT ? rows->integer : LENGTH_UNKNOWN;
    output->shape.length[1] = columns->kind == ATTR_INT ? columns->integer : LENGTH_UNKNOWN;
    for (int i = 0; i < 2; i++)
        if (output->shape.length[i] < LENGTH_UNKNOWN ||
            (output->shape.length[i] < 0 && (i == 0 ? rows : columns)->kind == ATTR_INT))
            return error_set(err, ERR_SHAPE_INVALID, "%s: a length cannot be %" PRId64,
                             call->op->name, output->shape.length[i]);
    return true;
}

static bool run_eye(op_run *run, error *err)
{
    tensor *out = &run->outputs[0];
    const size_t size = dtype_size(out->dtype);
    const int64_t columns = out->shape.length[1], k = run->attrs[2].integer;
    const bool truth = true;
    char *row = tensor_bytes(out);
    char one[16];

    store(DT_BOOL, &truth, 1, out->dtype, one);
    for (int64_t i = 0; i < out->shape.length[0]; i++, row += (size_t)columns * size) {
        if ((i * columns) % 65536 < columns && run->stopped(run, err))
            return false;
        memset(row, 0, (size_t)columns * size);
        if (k < columns - i && k >= -i)
            memcpy(row + (size_t)(i + k) * size, one, size);
    }
    return true;
}

/* ---- Shapes as values ---------------------------------------------------------------------------
 */

static bool infer_shape(const op_call *call, type *output, error *err)
{
    (void)err;
    output->dtype = DT_I64;
    output->shape.rank = 1;
    output->shape.length[0] = call->inputs[0].shape.rank;
    return true;
}

static bool run_shape(op_run *run, error *err)
{
    const shape *s = &run->inputs[0].shape;

    (void)err;
    memcpy(tensor_bytes(&run->outputs[0]), s->length, (size_t)s->rank * sizeof *s->length);
    return true;
}

static bool infer_integer(const op_call *call, type *output, error *err)
{
    int axis;

    output->dtype = DT_I64;
    return call->op->attr_count == 0 || call->attrs[0].kind == ATTR_NONE ||
           shape_axis(call->attrs[0].integer, call->inputs[0].shape.rank, call->op->name, &axis,
                      err);
}

static bool run_size(op_run *run, error *err)
{
    const shape *s = &run->inputs[0].shape;
    int64_t *out = tensor_bytes(&run->outputs[0]);
    int axis = 0;

    *out = shape_size(s);
    if (run->attrs[0].kind == ATTR_NONE)
        return true;
    if (!shape_axis(run->attrs[0].integer, s->rank, run->op->name, &axis, err))
        return false;
    *out = s->length[axis];
    return true;
}

static bool run_ndim(op_run *run, error *err)
{
    (void)err;
    *(int64_t *)tensor_bytes(&run->outputs[0]) = run->inputs[0].shape.rank;
    return true;
}

/* ---- Rows
 * ------------------------------------------------------------------------------------------ */

static op_def rows[] = {
    {
        .name = "arange",
        .aliases = "range",
        .family = "Creation",
        .signature = "start: number, stop: number = None, step: number = 1, dtype: dtype = None",
        .infer = infer_arange,
        .run = run_arange,
        .block = op_fill_block,
        .attr_grad = {"None if stop is None else sum(g)", "None", "sum(g * arange(size(g)))"},
        .doc = "Numbers from start up to, not including, stop, step apart; one number alone is "
               "the stop.",
        .example = "arange(2, 10, 3)",
        .gives = "[2, 5, 8]",
    },
    {
        .name = "linspace",
        .aliases = "lin_space",
        .family = "Creation",
        .signature = "start: number, stop: number, num: int = 50, endpoint: bool = True, "
                     "dtype: dtype = None",
        .infer = infer_linspace,
        .run = run_linspace,
        .block = op_fill_block,
        .attr_grad = {"sum(g * linspace(1.0, 0.0, num, endpoint))",
                      "sum(g * linspace(0.0, 1.0, num, endpoint))"},
        .doc = "num numbers, evenly spaced from start to stop.",
        .example = "linspace(0, 1, 5)",
        .gives = "[0.0, 0.25, 0.5, 0.75, 1.0]",
    },
    {
        .name = "eye",
        .aliases = "identity",
        .family = "Creation",
        .signature = "n: int, m: int = None, k: int = 0, dtype: dtype = float64",
        .infer = infer_eye,
        .run = run_eye,
        .no_grad = true,
        .doc = "Matrix of n rows and m columns with ones on its k-th diagonal, zeros elsewhere.",
        .example = "eye(2)",
        .gives = "[[1.0, 0.0], [0.0, 1.0]]",
    },
    {
        .name = "shape",
        .family = "Creation",
        .signature = "x",
        .infer = infer_shape,
        .run = run_shape,
        .traits = OP_SHAPE_ONLY,
        .no_grad = true,
        .doc = "Lengths of the tensor's axes.",
        .example = "shape([[1, 2, 3]])",
        .gives = "[1, 3]",
    },
    {
        .name = "size",
        .family = "Creation",
        .signature = "x, axis: int = None",
        .infer = infer_integer,
        .run = run_size,
        .traits = OP_SHAPE_ONLY,
        .no_grad = true,
        .doc = "Number of elements, or the length of one axis.",
        .example = "size([[1, 2, 3]])",
        .gives = "3",
    },
    {
        .name = "ndim",
        .aliases = "rank",
        .family = "Creation",
        .signature = "x",
        .infer = infer_integer,
        .run = run_ndim,
        .traits = OP_SHAPE_ONLY,
        .no_grad = true,
        .doc = "Number of axes.",
        .example = "ndim([[1, 2, 3]])",
        .gives = "2",
    },
};

const op_family creation_family = {rows, sizeof rows / sizeof *rows};
