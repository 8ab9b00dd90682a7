/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lang/literal_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/number.h"
#include "engine/lang/constant.h"

/* ---- Numbers ---------------------------------------------------------------- */

static void write_special(double x, text *t)
{
    text_add(t, signbit(x) ? "-" : "");
    text_add(t, isnan(x) ? "np.nan" : "np.inf");
}

void literal_write_float(double x, text *t)
{
    char room[NUMBER_TEXT_MAX];

    if (isfinite(x))
        text_add_bytes(t, room, (size_t)(number_print_f64(room, x) - room));
    else
        write_special(x, t);
}

/* A float of a narrower type: as short as reads back, by way of a double. */
static void write_narrow(double x, text *t)
{
    char room[NUMBER_TEXT_MAX + 1] = {0};

    number_print_f32(room, (float)x);
    if (isfinite(x) && (double)(float)strtod(room, NULL) == x)
        text_add(t, room);
    else
        literal_write_float(x, t);
}

/* Whether re + im * 1j gives the parts back. */
static bool is_plain(double re, double im)
{
    return isfinite(re) && isfinite(im) && !(re == 0 && signbit(re)) && !(im == 0 && signbit(im));
}

static void write_complex(double re, double im, text *t)
{
    const bool plain = is_plain(re, im);

    text_add(t, plain ? "(" : "complex(");
    literal_write_float(re, t);
    text_add(t, plain ? (im < 0 ? "" : "+") : ", ");
    literal_write_float(im, t);
    text_add(t, plain ? "j)" : ")");
}

static void write_element(const void *elements, dtype type, int64_t i, text *t)
{
    const lang_value v = constant_element(elements, type, i);
    char room[NUMBER_TEXT_MAX];

    if (v.number == LANG_BOOL)
        text_add(t, v.integer ? "True" : "False");
    else if (v.number == LANG_COMPLEX)
        write_complex(v.parts[0], v.parts[1], t);
    else if (v.number == LANG_FLOAT && type == DT_F64)
        literal_write_float(v.parts[0], t);
    else if (v.number == LANG_FLOAT)
        write_narrow(v.parts[0], t);
    else if (v.number == LANG_UINT)
        text_add_bytes(t, room, (size_t)(number_print_u64(room, v.unsigned_integer) - room));
    else
        text_add_bytes(t, room, (size_t)(number_print_i64(room, v.integer) - room));
}

void literal_write_scalar(const tensor *x, arena *a, text *t)
{
    write_element(constant_elements(x, a), x->dtype, 0, t);
}

/* ---- Arrays ----------------------------------------------------------------- */

static void write_axis(const tensor *x, const void *elements, int axis, int64_t *next, text *t)
{
    if (axis == x->shape.rank) {
        write_element(elements, x->dtype, (*next)++, t);
        return;
    }
    text_add_char(t, '[');
    for (int64_t i = 0; i < x->shape.length[axis]; i++) {
        text_add(t, i > 0 ? ", " : "");
        write_axis(x, elements, axis + 1, next, t);
    }
    text_add_char(t, ']');
}

static void write_empty_shape(const shape *s, text *t)
{
    text_add(t, ", shape=(");
    for (int i = 0; i < s->rank; i++)
        text_addf(t, "%s%" PRId64, i > 0 ? ", " : "", s->length[i]);
    text_add_char(t, ')');
}

void literal_write_array(const tensor *x, arena *a, text *t)
{
    const dtype_info *info = dtype_info_of(x->dtype);
    const bool empty = tensor_size(x) == 0;
    int64_t next = 0;

    text_add(t, "array(");
    if (empty)
        text_add(t, "[]");
    else
        write_axis(x, constant_elements(x, a), 0, &next, t);
    if (empty || info->class == CLASS_UINT || dtype_default(info->class) != x->dtype)
        text_addf(t, ", dtype=\"%s\"", info->name);
    if (empty && x->shape.rank > 1)
        write_empty_shape(&x->shape, t);
    text_add_char(t, ')');
}
