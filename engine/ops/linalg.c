/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices and tensors. */
#include <math.h>
#include <string.h>

#include "engine/kernels/gemm.h"
#include "engine/ops/families.h"
#include "engine/tensor/resident.h"

static bool refuse_shapes(const op_call *call, error *err)
{
    char a[SHAPE_TEXT_MAX], b[SHAPE_TEXT_MAX];

    return error_set(err, ERR_SHAPE, "%s cannot combine shapes %s and %s", call->op->name,
                     shape_print(&call->inputs[0].shape, a),
                     shape_print(&call->inputs[1].shape, b));
}

static bool lengths_meet(int64_t a, int64_t b)
{
    return a == b || a == LENGTH_UNKNOWN || b == LENGTH_UNKNOWN;
}

/* ---- matmul ----------------------------------------------------------------------- */

/* A product seen as a stack of [m, k] times [k, n]. */
typedef struct stack {
    int64_t m, n, k;
    shape batch;
} stack;

/* The leading axes of a shape: all but the last two. */
static shape leading_axes(const shape *s)
{
    shape result = *s;

    result.rank = s->rank > 2 ? s->rank - 2 : 0;
    return result;
}

static bool stack_of(const op_call *call, stack *s, error *err)
{
    const shape *x = &call->inputs[0].shape, *y = &call->inputs[1].shape;
    const shape y_leading = leading_axes(y);
    int axis;

    if (x->rank == 0 || y->rank == 0)
        return error_set(err, ERR_SHAPE, "%s does not take scalars; use multiply", call->op->name);
    s->m = x->rank > 1 ? x->length[x->rank - 2] : 1;
    s->k = x->length[x->rank - 1];
    s->n = y->rank > 1 ? y->length[y->rank - 1] : 1;
    s->batch = leading_axes(x);
    if (!lengths_meet(s->k, y->length[y->rank > 1 ? y->rank - 2 : 0]) ||
        !shape_broadcast(&s->batch, &y_leading, &axis))
        return refuse_shapes(call, err);
    return true;
}

/* What two tensors of numbers promote to. */
static dtype product_dtype(const op_call *call)
{
    return dtype_promote(call->inputs[0].dtype, call->inputs[1].dtype);
}

static bool infer_matmul(const op_call *call, type *output, error *err)
{
    stack s;

    if (!stack_of(call, &s, err))
        return false;
    output->dtype = product_dtype(call);
    output->shape = s.batch;
    if (call->inputs[0].shape.rank > 1)
        output->shape.length[output->shape.rank++] = s.m;
    if (call->inputs[1].shape.rank > 1)
        output->shape.length[output->shape.rank++] = s.n;
    return true;
}

static int64_t panel_rows(dtype t, int64_t m, int64_t n, int64_t k);

/* Rows of a matrix by panels, matrices of a stack one by one, if the right factor is the same
 * for all. */
static int64_t matmul_block(const op_call *call)
{
    stack s;
    error err = {0};

    if (call->inputs[0].shape.rank < 2 || call->inputs[1].shape.rank > 2 ||
        !stack_of(call, &s, &err))
        return 0;
    return call->inputs[0].shape.rank > 2 ? 1 : panel_rows(call->inputs[0].dtype, s.m, s.n, s.k);
}

static double matmul_work(const op_call *call)
{
    stack s;
    error err = {0};

    return stack_of(call, &s, &err)
               ? (double)shape_size(&s.batch) * (double)s.m * (double)s.n * (double)s.k
               : 0;
}

/* What the parts of a product need to know. */
typedef struct product {
    dtype dtype;
    int64_t m, n, k;
    int64_t panel, panels; /* rows in a panel, panels in a matrix */
    int64_t inner;         /* elements along k that are multiplied at once */
    factor a, b;           /* of the first matrices of the stack */
    char *c;
    shape batch;
    int64_t a_steps[RANK_MAX], b_steps[RANK_MAX]; /* elements, along the batch */
} product;

/* Rows in one task. OpenBLAS rearranges the right factor for every call, so panels are as
 * high as they may be: 512 rows, or two halves, and less only if a task would do more than
 * 2e9 multiplications of float32, some 30 ms. Our own loops do 2.5 million; a row of the result
 * counts for 16 multiplications an element at least, since it is written. Follows from the type and
 * the shapes alone, since the bits of a product may change with the cut. */
static int64_t panel_rows(dtype t, int64_t m, int64_t n, int64_t k)
{
    const bool blas = dtype_is_float(t) || dtype_is_complex(t);
    const double row = (double)n * (double)(k > 16 ? k : 16);
    const double most = (blas ? 2e9 * 4 / (double)dtype_size(t) : 2.5e6) / (row > 1 ? row : 1);
    const int64_t half = row * (double)m < 2e7 ? m : (m + 1) / 2;
    const int64_t wanted = !blas ? m : half < 512 ? half : 512;
    const int64_t block = blas ? 64 : 1;
    const int64_t rows = most < (double)wanted ? (int64_t)most : wanted;

    return (rows + block - 1) / block * block < 1 ? block : (rows + block - 1) / block * block;
}

/* Elements along k that are multiplied at once. Long axes are cut: what they lie on may be a
 * mapped file, which is to give pages back in between. Follows from the type and the shapes. */
static int64_t inner_block(dtype t, int64_t m, int64_t n, int64_t k)
{
    enum { SHORT = 4096, LEAST = 256, BLOCK = 16 << 20, SPAN = 64 << 10 /* bytes */ };
    const int64_t size = (int64_t)dtype_size(t);
    const int64_t a = m < SPAN / size ? m * size : SPAN, b = n < SPAN / size ? n * size : SPAN;
    const int64_t fitting = BLOCK / (a + b > 0 ? a + b : 1);

    if (k <= SHORT || t == DT_F16 || t == DT_BF16)
        return k > 0 ? k : 1;
    return fitting > LEAST ? fitting : LEAST;
}

/* c = a b for some rows, a block along k after the other. */
static void multiply_blocks(const product *p, int64_t rows, factor a, factor b, char *c)
{
    const int64_t size = (int64_t)dtype_size(p->dtype);
    int64_t at = 0;

    do {
        const int64_t k = p->k - at < p->inner ? p->k - at : p->inner;

        gemm(p->dtype, rows, p->n, k, &a, &b, at > 0, c);
        a.elements = (const char *)a.elements + k * (a.turned ? a.width : 1) * size;
        b.elements = (const char *)b.elements + k * (b.turned ? 1 : b.width) * size;
        at += k;
        resident_check();
    } while (at < p->k);
}

static void run_panel(void *context, int64_t i)
{
    const product *p = context;
    const size_t size = dtype_size(p->dtype);
    const int64_t first = i % p->panels * p->panel;
    const int64_t rows = p->m - first < p->panel ? p->m - first : p->panel;
    int64_t rest = i / p->panels, at_a = first * (p->a.turned ? 1 : p->a.width), at_b = 0;
    factor a = p->a, b = p->b;

    for (int axis = p->batch.rank - 1; axis >= 0; axis--) {
        at_a += rest % p->batch.length[axis] * p->a_steps[axis];
        at_b += rest % p->batch.length[axis] * p->b_steps[axis];
        rest /= p->batch.length[axis];
    }
    a.elements = (const char *)a.elements + at_a * (int64_t)size;
    b.elements = (const char *)b.elements + at_b * (int64_t)size;
    multiply_blocks(p, rows, a, b, p->c + (size_t)((i / p->panels * p->m + first) * p->n) * size);
}

/* m: the rows of the whole, of which p may have some. */
static bool run_product(op_run *run, product *p, int64_t m, error *err)
{
    const int64_t count = shape_size(&p->batch);

    p->panel = panel_rows(p->dtype, m, p->n, p->k);
    p->panels = (p->m + p->panel - 1) / p->panel;
    p->inner = inner_block(p->dtype, m, p->n, p->k);
    return run->parallel(run, count * p->panels, run_panel, p, err);
}

/* A tensor as the factors of a stack; steps: from one to the next along each batch axis. A
 * vector on the right is a column. */
static factor factor_of(const tensor *t, bool is_right, const shape *batch, int64_t steps[RANK_MAX])
{
    const int own = t->shape.rank > 2 ? t->shape.rank - 2 : 0, more = batch->rank - own;
    factor f = {.elements = tensor_bytes(t)};

    tensor_matrix(t, &f.turned, &f.width);
    if (is_right && t->shape.rank == 1)
        f.width = 1;
    for (int i = 0; i < batch->rank; i++)
        steps[i] = i < more || t->shape.length[i - more] == 1 ? 0 : t->strides[i - more];
    return f;
}

static bool run_matmul(op_run *run, error *err)
{
    const tensor *x = &run->inputs[0], *y = &run->inputs[1];
    const type types[2] = {{.dtype = x->dtype, .shape = x->shape},
                           {.dtype = y->dtype, .shape = y->shape}};
    const op_call call = {.op = run->op, .count = 2, .inputs = types};
    product p = {.dtype = x->dtype, .c = tensor_bytes(&run->outputs[0])};
    stack s;

    if (!stack_of(&call, &s, err))
        return false;
    p.m = s.m;
    p.n = s.n;
    p.k = s.k;
    p.batch = s.batch;
    p.a = factor_of(x, false, &p.batch, p.a_steps);
    p.b = factor_of(y, true, &p.batch, p.b_steps);
    return run_product(run, &p, x->shape.rank == 2 && run->whole_rows > 0 ? run->whole_rows : p.m,
                       err);
}

/* ---- tensordot ----------------------------------------------------------------------- */

/* Which axes of two tensors are summed over together. The three operations of this
 * family see the same contraction: c = x y, and, for gradients, x = c y, y = x c. */
typedef struct contraction {
    int count; /* of pairs */
    int x_axis[RANK_MAX], y_axis[RANK_MAX];
    int x_rank, y_rank;
} contraction;

static bool axis_pairs(const op_call *call, int x_rank, int y_rank, contraction *c, error *err)
{
    const attr *axes = &call->attrs[0];
    bool x_seen[RANK_MAX] = {false}, y_seen[RANK_MAX] = {false};

    c->x_rank = x_rank;
    c->y_rank = y_rank;
    c->count = axes->kind == ATTR_INT ? (int)axes->integer : axes->n / 2;
    if (c->count < 0 || c->count > x_rank || c->count > y_rank ||
        (axes->kind == ATTR_INT && axes->integer > RANK_MAX))
        return error_set(err, ERR_AXIS, "%s: axes names more axes than the tensors have",
                         call->op->name);
    for (int i = 0; i < c->count; i++) {
        const bool listed = axes->kind == ATTR_INTS;
        const int64_t x = listed ? axes->ints[i] : x_rank - c->count + i;
        const int64_t y = listed ? axes->ints[c->count + i] : i;

        if (!shape_axis(x, x_rank, call->op->name, &c->x_axis[i], err) ||
            !shape_axis(y, y_rank, call->op->name, &c->y_axis[i], err))
            return false;
        if (x_seen[c->x_axis[i]] || y_seen[c->y_axis[i]])
            return error_set(err, ERR_AXIS, "%s: an axis is given twice", call->op->name);
        x_seen[c->x_axis[i]] = y_seen[c->y_axis[i]] = true;
    }
    return true;
}

/* The axes of a tensor that are not among the count given ones. Returns how many. */
static int free_axes(int rank, const int *taken, int count, int *result)
{
    int n = 0;

    for (int i = 0; i < rank; i++) {
        bool is_free = true;

        for (int k = 0; k < count; k++)
            is_free = is_free && taken[k] != i;
        if (is_free)
            result[n++] = i;
    }
    return n;
}

static bool infer_tensordot(const op_call *call, type *output, error *err)
{
    const shape *x = &call->inputs[0].shape, *y = &call->inputs[1].shape;
    int kept[RANK_MAX], n;
    contraction c;

    if (!axis_pairs(call, x->rank, y->rank, &c, err))
        return false;
    for (int i = 0; i < c.count; i++)
        if (!lengths_meet(x->length[c.x_axis[i]], y->length[c.y_axis[i]]))
            return refuse_shapes(call, err);
    if (x->rank + y->rank - 2 * c.count > RANK_MAX)
        return refuse_shapes(call, err);
    output->dtype = product_dtype(call);
    n = free_axes(x->rank, c.x_axis, c.count, kept);
    for (int i = 0; i < n; i++)
        output->shape.length[output->shape.rank++] = x->length[kept[i]];
    n = free_axes(y->rank, c.y_axis, c.count, kept);
    for (int i = 0; i < n; i++)
        output->shape.length[output->shape.rank++] = y->length[kept[i]];
    return true;
}

/* The gradient for x has x's axes: the free ones as g begins, the summed ones as in
 * y. Inputs: g, y. */
static bool infer_tensordot_x(const op_call *call, type *output, error *err)
{
    const shape *g = &call->inputs[0].shape, *y = &call->inputs[1].shape;
    const attr *axes = &call->attrs[0];
    const int count = axes->kind == ATTR_INT ? (int)axes->integer : axes->n / 2;
    const int x_rank = g->rank - (y->rank - count) + count;
    int kept[RANK_MAX], n;
    contraction c;

    if (x_rank < 0 || x_rank > RANK_MAX || !axis_pairs(call, x_rank, y->rank, &c, err))
        return refuse_shapes(call, err);
    output->dtype = product_dtype(call);
    output->shape.rank = x_rank;
    n = free_axes(x_rank, c.x_axis, c.count, kept);
    for (int i = 0; i < n; i++)
        output->shape.length[kept[i]] = g->length[i];
    for (int i = 0; i < c.count; i++)
        output->shape.length[c.x_axis[i]] = y->length[c.y_axis[i]];
    return true;
}

/* The gradient for y. Inputs: x, g. */
static bool infer_tensordot_y(const op_call *call, type *output, error *err)
{
    const shape *x = &call->inputs[0].shape, *g = &call->inputs[1].shape;
    const attr *axes = &call->attrs[0];
    const int count = axes->kind == ATTR_INT ? (int)axes->integer : axes->n / 2;
    const int x_free = x->rank - count, y_rank = g->rank - x_free + count;
    int kept[RANK_MAX], n;
    contraction c;

    if (y_rank < 0 || y_rank > RANK_MAX || !axis_pairs(call, x->rank, y_rank, &c, err))
        return refuse_shapes(call, err);
    output->dtype = product_dtype(call);
    output->shape.rank = y_rank;
    n = free_axes(y_rank, c.y_axis, c.count, kept);
    for (int i = 0; i < n; i++)
        output->shape.length[kept[i]] = g->length[x_free + i];
    for (int i = 0; i < c.count; i++)
        output->shape.length[c.y_axis[i]] = x->length[c.x_axis[i]];
    return true;
}

/* Scratch for dense, rearranged copies of both inputs and of the result. */
static int64_t tensordot_scratch(const op_call *call)
{
    const int64_t size = (int64_t)dtype_size(product_dtype(call));
    type output = {0};
    error err = {0};
    int64_t bytes = 0;

    call->op->infer(call, &output, &err);
    for (int i = 0; i < 2; i++)
        bytes += buffer_cost((size_t)(shape_size(&call->inputs[i].shape) * size));
    return bytes + buffer_cost((size_t)(shape_size(&output.shape) * size));
}

/* All pairs of elements that meet: both sizes times the result's, rooted. */
static double tensordot_work(const op_call *call)
{
    type output = {0};
    error err = {0};
    double pairs = 1;

    call->op->infer(call, &output, &err);
    pairs *=
        (double)shape_size(&call->inputs[0].shape) * (double)shape_size(&call->inputs[1].shape);
    return sqrt(pairs * (double)shape_size(&output.shape));
}

/* t with its axes in the order first, then second. */
static tensor reordered(const tensor *t, const int *first, int first_count, const int *second,
                        int second_count)
{
    tensor result = *t;

    for (int i = 0; i < first_count + second_count; i++) {
        const int axis = i < first_count ? first[i] : second[i - first_count];

        result.shape.length[i] = t->shape.length[axis];
        result.strides[i] = t->strides[axis];
    }
    return result;
}

static int64_t product_of(const tensor *t, const int *axes, int count)
{
    int64_t n = 1;

    for (int i = 0; i < count; i++)
        n *= t->shape.length[axes[i]];
    return n;
}

/* Copies dense elements to the places of t, whose strides say where each goes. */
static void copy_from_dense(const void *from, const tensor *t)
{
    const size_t size = dtype_size(t->dtype);
    int64_t index[RANK_MAX] = {0}, at = 0;
    const char *x = from;

    for (int64_t left = tensor_size(t); left > 0; left--, x += size) {
        memcpy((char *)tensor_bytes(t) + at * (int64_t)size, x, size);
        for (int k = t->shape.rank - 1; k >= 0; k--) {
            at += t->strides[k];
            if (++index[k] < t->shape.length[k])
                break;
            at -= t->strides[k] * t->shape.length[k];
            index[k] = 0;
        }
    }
}

/* A matrix made of a tensor: rows run over some axes, columns over others. */
typedef struct matrix {
    tensor view;
    int64_t rows, columns;
} matrix;

static matrix matrix_of(const tensor *t, const int *rows, int row_count, const int *columns,
                        int column_count)
{
    return (matrix){.view = reordered(t, rows, row_count, columns, column_count),
                    .rows = product_of(t, rows, row_count),
                    .columns = product_of(t, columns, column_count)};
}

/* c = a b, each laid out densely in scratch first and c put in its places after. */
static bool multiply(op_run *run, const matrix *a, const matrix *b, bool b_turned, bool a_turned,
                     const matrix *c, error *err)
{
    const matrix *all[] = {a, b, c};
    buffer *dense[3] = {NULL};
    product p = {.dtype = c->view.dtype};
    bool ok = false;

    for (int i = 0; i < 3; i++) {
        dense[i] = buffer_new(run->budget, (size_t)tensor_nbytes(&all[i]->view), err);
        if (dense[i] == NULL)
            goto out;
        if (i < 2)
            tensor_copy_dense(&all[i]->view, buffer_bytes(dense[i]));
    }
    p.m = c->rows;
    p.n = c->columns;
    p.k = a_turned ? a->rows : a->columns;
    p.a = (factor){buffer_bytes(dense[0]), a->columns, a_turned};
    p.b = (factor){buffer_bytes(dense[1]), b->columns, b_turned};
    p.c = buffer_bytes(dense[2]);
    ok = run_product(run, &p, p.m, err);
    if (ok)
        copy_from_dense(p.c, &c->view);
out:
    for (int i = 0; i < 3; i++)
        buffer_unref(dense[i]);
    return ok;
}

/* The contraction of a run whose x and y have these ranks, with the free axes. */
typedef struct layout {
    contraction c;
    int x_free[RANK_MAX], y_free[RANK_MAX], c_x[RANK_MAX], c_y[RANK_MAX];
    int x_count, y_count;
} layout;

static bool layout_of(op_run *run, int x_rank, int y_rank, layout *l, error *err)
{
    const op_call call = {.op = run->op, .attrs = run->attrs};

    if (!axis_pairs(&call, x_rank, y_rank, &l->c, err))
        return false;
    l->x_count = free_axes(x_rank, l->c.x_axis, l->c.count, l->x_free);
    l->y_count = free_axes(y_rank, l->c.y_axis, l->c.count, l->y_free);
    for (int i = 0; i < l->x_count; i++)
        l->c_x[i] = i;
    for (int i = 0; i < l->y_count; i++)
        l->c_y[i] = l->x_count + i;
    return true;
}

static matrix matrix_x(const layout *l, const tensor *x)
{
    return matrix_of(x, l->x_free, l->x_count, l->c.x_axis, l->c.count);
}

static matrix matrix_y(const layout *l, const tensor *y)
{
    return matrix_of(y, l->c.y_axis, l->c.count, l->y_free, l->y_count);
}

static matrix matrix_c(const layout *l, const tensor *c)
{
    return matrix_of(c, l->c_x, l->x_count, l->c_y, l->y_count);
}

static bool run_tensordot(op_run *run, error *err)
{
    const tensor *x = &run->inputs[0], *y = &run->inputs[1], *c = &run->outputs[0];
    layout l;

    if (!layout_of(run, x->shape.rank, y->shape.rank, &l, err))
        return false;
    const matrix a = matrix_x(&l, x), b = matrix_y(&l, y), out = matrix_c(&l, c);
    return multiply(run, &a, &b, false, false, &out, err);
}

static bool run_tensordot_x(op_run *run, error *err)
{
    const tensor *g = &run->inputs[0], *y = &run->inputs[1], *x = &run->outputs[0];
    layout l;

    if (!layout_of(run, x->shape.rank, y->shape.rank, &l, err))
        return false;
    const matrix a = matrix_c(&l, g), b = matrix_y(&l, y), out = matrix_x(&l, x);
    return multiply(run, &a, &b, true, false, &out, err);
}

static bool run_tensordot_y(op_run *run, error *err)
{
    const tensor *x = &run->inputs[0], *g = &run->inputs[1], *y = &run->outputs[0];
    layout l;

    if (!layout_of(run, x->shape.rank, y->shape.rank, &l, err))
        return false;
    const matrix a = matrix_x(&l, x), b = matrix_c(&l, g), out = matrix_y(&l, y);
    return multiply(run, &a, &b, false, true, &out, err);
}

/* ---- Rows -------------------------------------------------------------------------------- */

static op_def rows[] = {
    {
        .name = "matmul",
        .family = "Linear algebra",
        .signature = "x, y",
        .infer = infer_matmul,
        .run = run_matmul,
        .block = matmul_block,
        .work = matmul_work,
        .casts = op_cast_to_result,
        .traits = OP_MATRICES,
        .grad = {"h = expand_dims(g, -1) if y.ndim == 1 else g\n"
                 "k = expand_dims(h, -2) if x.ndim == 1 else h\n"
                 "z = expand_dims(y, -1) if y.ndim == 1 else y\n"
                 "r = matmul(k, conj(swapaxes(z, -1, -2)))\n"
                 "return squeeze(r, -2) if x.ndim == 1 else r",
                 "h = expand_dims(g, -1) if y.ndim == 1 else g\n"
                 "k = expand_dims(h, -2) if x.ndim == 1 else h\n"
                 "z = expand_dims(x, -2) if x.ndim == 1 else x\n"
                 "r = matmul(conj(swapaxes(z, -1, -2)), k)\n"
                 "return squeeze(r, -1) if y.ndim == 1 else r"},
        .doc = "Matrix product over the last two axes; leading axes broadcast.",
        .example = "matmul([[1, 2]], [[3], [4]])",
        .gives = "[[11]]",
    },
    {
        .name = "tensordot",
        .family = "Linear algebra",
        .signature = "x, y, axes: pair = 2",
        .infer = infer_tensordot,
        .run = run_tensordot,
        .casts = op_cast_to_result,
        .scratch = tensordot_scratch,
        .work = tensordot_work,
        .grad = {"tensordot_x(g, conj(y), axes)", "tensordot_y(conj(x), g, axes)"},
        .doc = "Sum of products over pairs of axes: the last n of x with the first n of y, or two "
               "lists of axes.",
        .example = "tensordot([[1, 2], [3, 4]], [[5], [6]], 1)",
        .gives = "[[17], [39]]",
    },
    {
        .name = "tensordot_x",
        .family = "Linear algebra",
        .signature = "c, y, axes: pair = 2",
        .infer = infer_tensordot_x,
        .run = run_tensordot_x,
        .casts = op_cast_to_result,
        .scratch = tensordot_scratch,
        .work = tensordot_work,
        .grad = {"tensordot(g, conj(y), axes)", "tensordot_y(g, conj(c), axes)"},
        .doc = "Gradient of tensordot for its first argument, from the result's gradient.",
        .example = "tensordot_x([[1], [2]], [[5], [6]], 1)",
        .gives = "[[5, 6], [10, 12]]",
    },
    {
        .name = "tensordot_y",
        .family = "Linear algebra",
        .signature = "x, c, axes: pair = 2",
        .infer = infer_tensordot_y,
        .run = run_tensordot_y,
        .casts = op_cast_to_result,
        .scratch = tensordot_scratch,
        .work = tensordot_work,
        .grad = {"tensordot_x(conj(c), g, axes)", "tensordot(conj(x), g, axes)"},
        .doc = "Gradient of tensordot for its second argument, from the result's gradient.",
        .example = "tensordot_y([[1, 2], [3, 4]], [[1], [2]], 1)",
        .gives = "[[7], [10]]",
    },
};

const op_family linalg_family = {rows, sizeof rows / sizeof *rows};
