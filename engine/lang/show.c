/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as text: NumPy's str of an array, and nested lists. */
#include <math.h>
#include <string.h>

#include "engine/base/number.h"
#include "engine/lang/constant.h"
#include "engine/lang/decimal.h"

enum { THRESHOLD = 1000, EDGE = 3, LINE_WIDTH = 75 };

/* What is shown of a tensor: all of it, or the corners of a large one. */
typedef struct picture {
    dtype type;
    bool summary;
    shape grid;           /* of the elements shown */
    const int64_t *full;  /* the tensor's lengths */
    const void *elements; /* of the grid in C order, as constant_elements has them */
    decimal_form real, imaginary;
    int width; /* of integers */
    text word; /* the element being written */
} picture;

/* ---- Elements by themselves ------------------------------------------------- */

static void add_blanks(text *t, int n)
{
    for (int i = 0; i < n; i++)
        text_add_char(t, ' ');
}

/* An integer, aligned right in width characters; returns how many it has. */
static int write_integer(const lang_value *v, int width, text *t)
{
    char room[NUMBER_TEXT_MAX];
    char *end = v->number == LANG_UINT ? number_print_u64(room, v->unsigned_integer)
                                       : number_print_i64(room, v->integer);
    const int n = (int)(end - room);

    add_blanks(t, width - n);
    text_add_bytes(t, room, (size_t)n);
    return n;
}

/* Python's str of a complex number: (1+2j), 2j. */
static void write_complex(const lang_value *v, dtype type, text *t)
{
    const double re = v->parts[0], im = v->parts[1];
    const bool pure = re == 0 && !signbit(re);

    if (!pure) {
        text_add_char(t, '(');
        decimal_scalar(re, type, "", t);
        text_add(t, signbit(im) && !isnan(im) ? "" : "+");
    }
    decimal_scalar(im, type, "", t);
    text_add(t, pure ? "j" : "j)");
}

/* An element as Python writes one. */
static void write_scalar(const lang_value *v, dtype type, text *t)
{
    if (v->number == LANG_BOOL)
        text_add(t, v->integer ? "True" : "False");
    else if (v->number == LANG_COMPLEX)
        write_complex(v, type, t);
    else if (v->number == LANG_FLOAT)
        decimal_scalar(v->parts[0], type, ".0", t);
    else
        write_integer(v, 0, t);
}

/* ---- Elements of an array
 * ------------------------------------------------------------------------ */

static void find_form(picture *p)
{
    const int64_t n = shape_size(&p->grid);
    const bool is_complex = dtype_is_complex(p->type);

    if (dtype_is_float(p->type) || is_complex)
        decimal_form_find(&p->real, p->elements, n, 1 + is_complex, p->type, false);
    if (is_complex)
        decimal_form_find(&p->imaginary, (const double *)p->elements + 1, n, 2, p->type, true);
    for (int64_t i = 0; i < n && dtype_is_integer(p->type); i++) {
        const lang_value v = constant_element(p->elements, p->type, i);

        const int width = write_integer(&v, 0, &p->word);

        p->width = width > p->width ? width : p->width;
        p->word.length = 0;
    }
}

/* The j goes before the blanks that pad the imaginary part. */
static void add_j(text *t)
{
    size_t at = t->length;

    text_add_char(t, 'j');
    for (; t->bytes[at - 1] == ' '; at--) {
        t->bytes[at] = ' ';
        t->bytes[at - 1] = 'j';
    }
}

/* Sets p->word to element i of the grid. */
static void make_word(picture *p, int64_t i)
{
    const lang_value v = constant_element(p->elements, p->type, i);

    p->word.length = 0;
    if (v.number == LANG_BOOL) {
        text_add(&p->word, v.integer ? " True" : "False");
    } else if (v.number == LANG_FLOAT) {
        decimal_in_form(&p->real, v.parts[0], &p->word);
    } else if (v.number == LANG_COMPLEX) {
        decimal_in_form(&p->real, v.parts[0], &p->word);
        decimal_in_form(&p->imaginary, v.parts[1], &p->word);
        add_j(&p->word);
    } else {
        write_integer(&v, p->width, &p->word);
    }
}

/* ---- The layout
 * ------------------------------------------------------------------------------------ */

static void trim_line(text *t)
{
    while (t->length > 0 && t->bytes[t->length - 1] == ' ')
        t->length--;
    text_reserve(t, 0)[0] = '\0';
}

/* Adds a word to the line, or to a new one if it would be too long; line is where
 * the current one began in t. */
static void add_word(text *t, const char *word, size_t length, size_t *line, int indent, int width)
{
    const int used = (int)(t->length - *line);

    if (used + (int)length > width && used > indent) {
        trim_line(t);
        text_add_char(t, '\n');
        *line = t->length;
        add_blanks(t, indent);
    }
    text_add_bytes(t, word, length);
}

static bool is_cut(const picture *p, int axis)
{
    return p->summary && p->full[axis] > 2 * EDGE;
}

/* A row, whose first element is number first of the grid. */
static void show_row(picture *p, int axis, int64_t first, size_t line, text *t)
{
    const int64_t n = p->grid.length[axis];
    const int indent = axis + 1, width = LINE_WIDTH - axis - 1;

    for (int64_t i = 0; i < n; i++) {
        if (is_cut(p, axis) && i == EDGE) {
            add_word(t, "...", 3, &line, indent, width);
            text_add_char(t, ' ');
        }
        make_word(p, first + i);
        add_word(t, p->word.bytes, p->word.length, &line, indent, width);
        if (i + 1 < n)
            text_add_char(t, ' ');
    }
}

static void end_line(const picture *p, int axis, text *t)
{
    for (int i = axis + 1; i < p->grid.rank; i++)
        text_add_char(t, '\n');
    add_blanks(t, axis + 1);
}

static void show_axis(picture *p, int axis, int64_t first, size_t line, text *t)
{
    const int64_t n = p->grid.length[axis];
    int64_t step = 1;

    text_add_char(t, '[');
    if (axis == p->grid.rank - 1) {
        show_row(p, axis, first, line, t);
        text_add_char(t, ']');
        return;
    }
    for (int i = axis + 1; i < p->grid.rank; i++)
        step *= p->grid.length[i];
    for (int64_t i = 0; i < n; i++) {
        if (is_cut(p, axis) && i == EDGE) {
            text_add(t, "...");
            end_line(p, axis, t);
        }
        show_axis(p, axis + 1, first + i * step, i == 0 ? line : t->length - (size_t)axis - 1, t);
        if (i + 1 < n)
            end_line(p, axis, t);
    }
    text_add_char(t, ']');
}

/* ---- What is shown
 * ---------------------------------------------------------------------------------- */

/* The position in the tensor of index i of the grid. */
static int64_t position(const picture *p, int axis, int64_t i)
{
    return is_cut(p, axis) && i >= EDGE ? p->full[axis] - 2 * EDGE + i : i;
}

static void gather(picture *p, const tensor *x, arena *a)
{
    const size_t size = dtype_size(x->dtype);
    const int64_t n = shape_size(&p->grid);
    int64_t index[RANK_MAX] = {0};
    char *room = constant_room(x->dtype, n, a);

    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;

        for (int k = 0; k < p->grid.rank; k++)
            at += position(p, k, index[k]) * x->strides[k];
        memcpy(room + (size_t)i * size, (const char *)tensor_bytes(x) + at * (int64_t)size, size);
        for (int k = p->grid.rank - 1; k >= 0 && ++index[k] == p->grid.length[k]; k--)
            index[k] = 0;
    }
    p->elements = constant_widen(room, x->dtype, n, a);
}

static void make_picture(picture *p, const tensor *x, int64_t threshold, arena *a)
{
    *p = (picture){.type = x->dtype, .grid = x->shape, .full = x->shape.length};
    p->summary = tensor_size(x) > threshold;
    for (int i = 0; i < p->grid.rank; i++)
        if (is_cut(p, i))
            p->grid.length[i] = 2 * EDGE;
    text_init(&p->word);
    gather(p, x, a);
}

void lang_show(const tensor *x, text *t)
{
    arena *a = arena_new();
    picture p;

    make_picture(&p, x, THRESHOLD, a);
    if (x->shape.rank == 0) {
        const lang_value v = constant_element(p.elements, x->dtype, 0);

        write_scalar(&v, x->dtype, t);
    } else if (tensor_size(x) == 0) {
        text_add(t, "[]");
    } else {
        find_form(&p);
        show_axis(&p, 0, 0, t->length, t);
    }
    text_clear(&p.word);
    arena_free(a);
}

/* ---- Nested lists
 * -------------------------------------------------------------------------------------- */

static void list_axis(const picture *p, int axis, int64_t *next, text *t)
{
    if (axis == p->grid.rank) {
        const lang_value v = constant_element(p->elements, p->type, (*next)++);

        write_scalar(&v, p->type, t);
        return;
    }
    text_add_char(t, '[');
    for (int64_t i = 0; i < p->grid.length[axis]; i++) {
        if (i > 0)
            text_add(t, ", ");
        list_axis(p, axis + 1, next, t);
    }
    text_add_char(t, ']');
}

void lang_show_lists(const tensor *x, text *t)
{
    arena *a = arena_new();
    int64_t next = 0;
    picture p;

    make_picture(&p, x, INT64_MAX, a);
    list_axis(&p, 0, &next, t);
    arena_free(a);
}

static void show_shape(const shape *s, text *t)
{
    text_add_char(t, '[');
    for (int i = 0; i < s->rank; i++)
        text_addf(t, "%s%lld", i > 0 ? ", " : "", (long long)s->length[i]);
    text_add_char(t, ']');
}

void lang_show_item(const lang_printed *item, const tensor *x, text *t)
{
    if (item->style == LANG_LITERAL)
        text_add(t, item->text);
    else if (item->style == LANG_STR)
        lang_show(x, t);
    else if (item->style == LANG_LISTS)
        lang_show_lists(x, t);
    else
        show_shape(&x->shape, t);
}
