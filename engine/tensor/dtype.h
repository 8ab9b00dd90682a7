/* dtype -- the type of a tensor's elements, and which type a result has.
 *
 * The types are the rows of dtype.def; promotion follows NumPy 2 (NEP 50): only
 * types count, never values. A Python-like scalar (a bare number in a program or
 * in JSON) is weak: it has a kind, but takes the width of what it meets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

typedef enum dtype {
#define DTYPE(id, name, stored, computed, class, size, typestr, ctype) DT_##id,
#include "engine/tensor/dtype.def"
#undef DTYPE
    DT_COUNT
} dtype;

/* In the order of promotion: a later class holds the values of an earlier one,
 * INT and UINT together. */
typedef enum dtype_class {
    CLASS_BOOL,
    CLASS_UINT,
    CLASS_INT,
    CLASS_FLOAT,
    CLASS_COMPLEX
} dtype_class;

typedef struct dtype_info {
    const char *name, *typestr;
    dtype computed; /* what kernels compute in */
    dtype_class class;
    int size; /* bytes */
    char ctype;
} dtype_info;

/* ---- About one type ------------------------------------------------------- */

const dtype_info *dtype_info_of(dtype t);
const char *dtype_name(dtype t);
size_t dtype_size(dtype t);

/* Whether t is a signed or unsigned integer (not bool). */
bool dtype_is_integer(dtype t);
/* Whether t is a real floating-point type. */
bool dtype_is_float(dtype t);
bool dtype_is_complex(dtype t);

/* The type of the parts of a complex type; t itself for others. */
dtype dtype_real(dtype t);
/* The complex type whose parts hold t (t a float or complex type). */
dtype dtype_complex(dtype t);

/* The type that text names: a NumPy name or a typestring (<f8, |b1, f8; > is
 * refused). False and ERR_DTYPE_NAME with the nearest name otherwise. */
bool dtype_parse(const char *text, size_t length, dtype *result, error *err);

/* ---- Promotion ------------------------------------------------------------ */

/* The smallest type that holds both (NumPy's promote_types). bfloat16 with
 * float16 gives float32; with integers it behaves as float16 does. */
dtype dtype_promote(dtype a, dtype b);

/* Whether every value of from is a value of to (NumPy's "safe"; int64 to
 * float64 counts as safe). */
bool dtype_can_cast_safely(dtype from, dtype to);

/* The type of a weak scalar of the given class joined with strong type t. */
dtype dtype_join_weak(dtype t, dtype_class weak);

/* The type a weak scalar has when it meets no other: bool, int64, float64 or
 * complex128. */
dtype dtype_default(dtype_class weak);
