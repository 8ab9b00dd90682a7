/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/dtype.h"

#include <string.h>

#include "engine/base/nearest.h"
#include "engine/base/text.h"

static const dtype_info infos[DT_COUNT] = {
#define DTYPE(id, name, stored, computed, class, size, typestr, ctype)                             \
    [DT_##id] = {name, typestr, DT_##computed, CLASS_##class, size, ctype},
#include "engine/tensor/dtype.def"
#undef DTYPE
};

const dtype_info *dtype_info_of(dtype t)
{
    return &infos[t];
}

const char *dtype_name(dtype t)
{
    return infos[t].name;
}

size_t dtype_size(dtype t)
{
    return (size_t)infos[t].size;
}

bool dtype_is_integer(dtype t)
{
    return infos[t].class == CLASS_INT || infos[t].class == CLASS_UINT;
}

bool dtype_is_float(dtype t)
{
    return infos[t].class == CLASS_FLOAT;
}

bool dtype_is_complex(dtype t)
{
    return infos[t].class == CLASS_COMPLEX;
}

dtype dtype_real(dtype t)
{
    return t == DT_C64 ? DT_F32 : t == DT_C128 ? DT_F64 : t;
}

dtype dtype_complex(dtype t)
{
    return t == DT_F64 || t == DT_C128 ? DT_C128 : DT_C64;
}

/* Whether text is what a typestring of t may be written as: with or without
 * the mark of little-endian order. */
static bool is_typestr(const char *text, size_t length, dtype t)
{
    const char *full = infos[t].typestr;

    if (t == DT_BF16)
        return false; /* <V2 is any two bytes */
    if (length > 0 && (text[0] == '<' || text[0] == '|' || text[0] == '='))
        text++, length--;
    return strlen(full + 1) == length && memcmp(full + 1, text, length) == 0;
}

bool dtype_parse(const char *text, size_t length, dtype *result, error *err)
{
    char word[32] = "";
    nearest n = nearest_to(word, NEAREST_EDITS);

    for (int t = 0; t < DT_COUNT; t++) {
        if ((strlen(infos[t].name) == length && memcmp(infos[t].name, text, length) == 0) ||
            is_typestr(text, length, (dtype)t)) {
            *result = (dtype)t;
            return true;
        }
    }
    if (length < sizeof word)
        memcpy(word, text, length);
    for (int t = 0; t < DT_COUNT; t++)
        nearest_offer(&n, infos[t].name);
    error_set(err, ERR_DTYPE_NAME, "there is no element type '%.*s'",
              (int)(length < 60 ? length : 60), text);
    return error_did_you_mean(err, n.word);
}

static dtype signed_of_size(int size)
{
    return size == 1 ? DT_I8 : size == 2 ? DT_I16 : size == 4 ? DT_I32 : DT_I64;
}

static dtype promote_integers(dtype a, dtype b)
{
    const dtype wide = infos[a].size >= infos[b].size ? a : b;
    dtype s, u;

    if (infos[a].class == infos[b].class)
        return wide;
    s = infos[a].class == CLASS_INT ? a : b;
    u = s == a ? b : a;
    if (infos[s].size > infos[u].size)
        return s;
    return infos[u].size == 8 ? DT_F64 : signed_of_size(2 * infos[u].size);
}

/* The smallest float at least as precise as f that holds integer type i. */
static dtype promote_integer_float(dtype i, dtype f)
{
    if (infos[i].size == 1)
        return f;
    if (infos[i].size == 2)
        return infos[f].size < 4 ? DT_F32 : f;
    return DT_F64;
}

static dtype promote_reals(dtype a, dtype b)
{
    if (dtype_is_integer(a) && dtype_is_integer(b))
        return promote_integers(a, b);
    if (dtype_is_integer(a))
        return promote_integer_float(a, b);
    if (dtype_is_integer(b))
        return promote_integer_float(b, a);
    if (infos[a].size == 2 && infos[b].size == 2) /* the two halves */
        return DT_F32;
    return infos[a].size > infos[b].size ? a : b;
}

dtype dtype_promote(dtype a, dtype b)
{
    if (a == b || b == DT_BOOL)
        return a;
    if (a == DT_BOOL)
        return b;
    if (dtype_is_complex(a) || dtype_is_complex(b)) {
        dtype ra = dtype_real(a), rb = dtype_real(b);

        return dtype_complex(ra == rb ? ra : promote_reals(ra, rb));
    }
    return promote_reals(a, b);
}

bool dtype_can_cast_safely(dtype from, dtype to)
{
    return dtype_promote(from, to) == to;
}

dtype dtype_default(dtype_class weak)
{
    switch (weak) {
    case CLASS_BOOL:
        return DT_BOOL;
    case CLASS_FLOAT:
        return DT_F64;
    case CLASS_COMPLEX:
        return DT_C128;
    case CLASS_UINT: /* a bare integer above what int64 holds */
        return DT_U64;
    default:
        return DT_I64;
    }
}

dtype dtype_join_weak(dtype t, dtype_class weak)
{
    const dtype_class class = infos[t].class;

    if (class == CLASS_BOOL)
        return dtype_default(weak);
    if (weak <= CLASS_INT)
        return t;
    if (class <= CLASS_INT)
        return dtype_default(weak);
    return weak == CLASS_COMPLEX ? dtype_complex(t) : t;
}
