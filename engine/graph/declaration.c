/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/graph/declaration.h"

#include <inttypes.h>
#include <string.h>

#include "engine/graph/private.h"

/* ---- Names of types ------------------------------------------------------------------ */

static const struct prefix {
    char letter;
    dtype dtype;
} prefixes[] = {
    {'b', DT_I8},  {'w', DT_I16}, {'i', DT_I32}, {'l', DT_I64},
    {'f', DT_F32}, {'d', DT_F64}, {'c', DT_C64}, {'z', DT_C128},
};

#define OPEN LENGTH_UNKNOWN
static const struct axes_word {
    const char *word;
    int rank;
    int64_t length[7];
} axes_words[] = {
    {"scalar", 0, {0}},
    {"vector", 1, {OPEN}},
    {"row", 2, {1, OPEN}},
    {"col", 2, {OPEN, 1}},
    {"matrix", 2, {OPEN, OPEN}},
    {"tensor3", 3, {OPEN, OPEN, OPEN}},
    {"tensor4", 4, {OPEN, OPEN, OPEN, OPEN}},
    {"tensor5", 5, {OPEN, OPEN, OPEN, OPEN, OPEN}},
    {"tensor6", 6, {OPEN, OPEN, OPEN, OPEN, OPEN, OPEN}},
    {"tensor7", 7, {OPEN, OPEN, OPEN, OPEN, OPEN, OPEN, OPEN}},
};
#undef OPEN
enum { AXES_WORDS = sizeof axes_words / sizeof *axes_words };

static bool read_prefix(char letter, dtype *result)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (prefixes[i].letter == letter) {
            *result = prefixes[i].dtype;
            return true;
        }
    }
    return false;
}

static bool read_axes(const char *word, shape *result)
{
    for (int i = 0; i < AXES_WORDS; i++) {
        if (strcmp(axes_words[i].word, word) != 0)
            continue;
        result->rank = axes_words[i].rank;
        memcpy(result->length, axes_words[i].length, sizeof axes_words[i].length);
        return true;
    }
    return false;
}

bool declaration_of_name(const char *name, declaration *result)
{
    *result = (declaration){.has_dtype = true, .has_shape = true, .dtype = DT_F64};
    return read_axes(name, &result->shape) ||
           (name[0] != '\0' && read_prefix(name[0], &result->dtype) &&
            read_axes(name + 1, &result->shape));
}

const char *declaration_axes_word(const shape *s)
{
    for (int i = 0; i < AXES_WORDS; i++) {
        bool same = axes_words[i].rank == s->rank;

        for (int k = 0; same && k < s->rank; k++)
            same = (axes_words[i].length[k] == 1) == (s->length[k] == 1);
        if (same)
            return axes_words[i].word;
    }
    return NULL;
}

/* ---- As text --------------------------------------------------------------------------- */

const declaration *declaration_of(value v)
{
    return v.node->declared == NULL ? NULL : &v.node->declared[v.index];
}

void declaration_write_lengths(const declaration *d, const shape *s, text *t)
{
    text_add_char(t, '[');
    for (int i = 0; i < s->rank; i++) {
        text_add(t, i > 0 ? ", " : "");
        if (d != NULL && d->symbols[i] != NULL && s->length[i] == LENGTH_UNKNOWN)
            text_add_json(t, d->symbols[i]);
        else if (s->length[i] == LENGTH_UNKNOWN)
            text_add(t, "null");
        else
            text_addf(t, "%" PRId64, s->length[i]);
    }
    text_add_char(t, ']');
}

void declaration_write(const declaration *d, text *t)
{
    text_add(t, d->has_dtype ? dtype_name(d->dtype) : "any type");
    text_add(t, d->has_shape ? " [" : "");
    for (int i = 0; i < d->shape.rank; i++) {
        text_add(t, i > 0 ? ", " : "");
        if (d->symbols[i] != NULL)
            text_add(t, d->symbols[i]);
        else if (d->shape.length[i] == LENGTH_UNKNOWN)
            text_add_char(t, '?');
        else
            text_addf(t, "%" PRId64, d->shape.length[i]);
    }
    text_add(t, d->has_shape ? "]" : "");
}

/* ---- Inputs of a declared type --------------------------------------------------------- */

value graph_declare(graph *g, const char *name, const declaration *d, error *err)
{
    const type t = {.dtype = d->has_dtype ? d->dtype : DT_F64, .shape = d->shape};
    value v;

    if (!d->has_shape) {
        error_set(err, ERR_SHAPE_INVALID,
                  "the input '%s' needs a shape; lengths that are not known are null", name);
        return (value){0};
    }
    v = graph_input(g, name, &t, err);
    if (v.node != NULL)
        v.node->declared = d;
    return v;
}

/* ---- Values given for them --------------------------------------------------------------- */

static bool refuse(error_kind kind, const declaration *d, const char *name, const type *t,
                   error *err)
{
    char given[SHAPE_TEXT_MAX];
    text asked;

    text_init(&asked);
    declaration_write(d, &asked);
    error_set(err, kind, "the input '%s' is declared as %s and given as %s %s", name, asked.bytes,
              dtype_name(t->dtype), shape_print(&t->shape, given));
    text_clear(&asked);
    return false;
}

/* Whether a length is what its name stood for before; notes what it stands for now. */
static bool check_symbol(graph *g, const declaration *d, int axis, const char *name, int64_t length,
                         table *lengths, error *err)
{
    const char *symbol = d->symbols[axis];
    int64_t *known = table_get(lengths, symbol);

    if (length == LENGTH_UNKNOWN)
        return true;
    if (known == NULL) {
        known = arena_alloc(g->arena, sizeof *known);
        *known = length;
        table_put(lengths, symbol, known);
    }
    return *known == length || error_set(err, ERR_SHAPE,
                                         "the length '%.60s' is %" PRId64
                                         " in axis %d of '%s' and %" PRId64 " elsewhere",
                                         symbol, length, axis, name, *known);
}

static bool check_shape(graph *g, const declaration *d, const char *name, const type *t,
                        table *lengths, error *err)
{
    bool fits = t->shape.rank == d->shape.rank;

    for (int i = 0; fits && i < t->shape.rank; i++)
        fits = d->shape.length[i] == LENGTH_UNKNOWN || t->shape.length[i] == LENGTH_UNKNOWN ||
               d->shape.length[i] == t->shape.length[i];
    if (!fits)
        return refuse(ERR_SHAPE, d, name, t, err);
    for (int i = 0; i < t->shape.rank; i++)
        if (d->symbols[i] != NULL && !check_symbol(g, d, i, name, t->shape.length[i], lengths, err))
            return false;
    return true;
}

/* The value as the declared element type, if that loses nothing. */
static bool cast(graph *g, const declaration *d, const char *name, value *v, error *err)
{
    static const char as[] = "astype";
    const type *t = value_type(*v);
    const op_def *op = op_find(as, strlen(as));
    const bool joins =
        t->weak && dtype_join_weak(d->dtype, dtype_info_of(t->dtype)->class) == d->dtype;
    value outputs[OP_OUTPUTS];
    attr *attrs;

    if (t->dtype == d->dtype && !t->weak)
        return true;
    if (!joins && !dtype_can_cast_safely(t->dtype, d->dtype))
        return refuse(ERR_DTYPE, d, name, t, err);
    if (!weak_fits(*v, d->dtype))
        return error_set(err, ERR_OVERFLOW,
                         "the input '%s' is declared as %s and given as a number that does not fit",
                         name, dtype_name(d->dtype));
    attrs = arena_array(g->arena, (size_t)op->attr_count + 1, sizeof *attrs);
    for (int i = 0; i < op->attr_count; i++)
        attrs[i] = op_attr_param(op, i)->kind == PARAM_DTYPE
                       ? (attr){.kind = ATTR_DTYPE, .dtype = d->dtype}
                       : op_attr_param(op, i)->value;
    if (graph_apply(g, op, v, 1, attrs, outputs, err) == NULL)
        return false;
    *v = outputs[0];
    return true;
}

bool declaration_take(graph *g, const declaration *d, const char *name, table *lengths, value *v,
                      error *err)
{
    return (!d->has_shape || check_shape(g, d, name, value_type(*v), lengths, err)) &&
           (!d->has_dtype || cast(g, d, name, v, err));
}
