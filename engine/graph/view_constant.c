/* SPDX-License-Identifier: Apache-2.0 */
/* Constants as views write them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/number.h"
#include "engine/graph/declaration.h"
#include "engine/graph/view_private.h"

enum { SHOWN_ELEMENTS = 6 };

void view_add_real(double x, bool narrow, bool json, text *t)
{
    char room[NUMBER_TEXT_MAX];
    const char *word = isnan(x) ? "NaN" : x < 0 ? "-Infinity" : "Infinity";
    const char *plain = isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";

    if (!isfinite(x))
        text_addf(t, json ? "\"%s\"" : "%s", json ? word : plain);
    else if (narrow)
        text_add_bytes(t, room, (size_t)(number_print_f32(room, (float)x) - room));
    else
        text_add_bytes(t, room, (size_t)(number_print_f64(room, x) - room));
}

/* One element, as `type`, at LANES times its size of room. */
static void convert(dtype from, dtype to, const void *element, void *result)
{
    const void *in[] = {element};

    kernel_cast(from, to)(LANES, result, in);
}

static void add_complex(double re, double im, bool narrow, bool json, text *t)
{
    text_add_char(t, json ? '[' : '(');
    view_add_real(re, narrow, json, t);
    text_add(t, json ? ", " : signbit(im) ? "" : "+");
    view_add_real(im, narrow, json, t);
    text_add(t, json ? "]" : "j)");
}

static void add_element(dtype type, const void *at, bool json, text *t)
{
    char element[LANES * 16] = {0};
    double _Complex z[LANES];
    uint64_t u[LANES];
    int64_t i[LANES];

    memcpy(element, at, dtype_size(type));
    switch (dtype_info_of(type)->class) {
    case CLASS_BOOL:
        text_add(t, json ? (*element ? "true" : "false") : *element ? "True" : "False");
        return;
    case CLASS_UINT:
        convert(type, DT_U64, element, u);
        text_addf(t, "%" PRIu64, u[0]);
        return;
    case CLASS_INT:
        convert(type, DT_I64, element, i);
        text_addf(t, "%" PRId64, i[0]);
        return;
    case CLASS_FLOAT:
    case CLASS_COMPLEX:
        break;
    }
    convert(type, DT_C128, element, z);
    if (dtype_is_complex(type))
        add_complex(__real__ z[0], __imag__ z[0], type == DT_C64, json, t);
    else
        view_add_real(__real__ z[0], type != DT_F64, json, t);
}

/* All elements, nested as the shape says. */
static void add_elements(const tensor *x, bool json, text *t)
{
    const int64_t size = tensor_size(x), item = (int64_t)dtype_size(x->dtype);
    char *bytes = malloc((size_t)(size * item) + 1);

    if (bytes == NULL)
        abort();
    tensor_copy_dense(x, bytes);
    for (int64_t i = 0; i < size; i++) {
        int64_t opened = 1, closed = 1;

        text_add(t, i > 0 ? ", " : "");
        for (int k = x->shape.rank; k > 0 && i % (opened *= x->shape.length[k - 1]) == 0; k--)
            text_add_char(t, '[');
        add_element(x->dtype, bytes + i * item, json, t);
        for (int k = x->shape.rank; k > 0 && (i + 1) % (closed *= x->shape.length[k - 1]) == 0; k--)
            text_add_char(t, ']');
    }
    free(bytes);
}

void view_add_constant(const tensor *x, text *t)
{
    char shape[SHAPE_TEXT_MAX];

    if (tensor_size(x) > SHOWN_ELEMENTS || tensor_size(x) == 0)
        text_addf(t, "%s%s", dtype_name(x->dtype), shape_print(&x->shape, shape));
    else
        add_elements(x, false, t);
}

void view_add_constant_json(const tensor *x, text *t)
{
    const declaration nothing = {0};

    if (x->weak) {
        add_elements(x, true, t);
        return;
    }
    text_addf(t, "{\"dtype\":\"%s\",\"shape\":", dtype_name(x->dtype));
    declaration_write_lengths(&nothing, &x->shape, t);
    text_add(t, ",\"data\":");
    if (tensor_size(x) == 0)
        text_add(t, "[]");
    else
        add_elements(x, true, t);
    text_add_char(t, '}');
}
