/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kernels/kernels.h"
#include "engine/kernels/target.h"
#include "engine/tensor/half.h"

_Thread_local unsigned kernel_flags;

/* What x86 gives for numbers that do not fit, said by range checks. */
ALWAYS_INLINE
int32_t i32_of_f64(double x)
{
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}

ALWAYS_INLINE
int64_t i64_of_f64(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

ALWAYS_INLINE
uint64_t u64_of_f64(double x)
{
    const double half = 9223372036854775808.0;

    return x >= half ? (uint64_t)i64_of_f64(x - half) ^ (uint64_t)1 << 63 : (uint64_t)i64_of_f64(x);
}

#define F        uint8_t /* bool, as loops read it */
#define SUFFIX   BOOL
#define LOAD(x)  (x)
#define IMAG(x)  0
#define IS_FLOAT 0
#include "engine/kernels/cast.tmpl.h"

#define F        int8_t
#define SUFFIX   I8
#define LOAD(x)  (x)
#define IMAG(x)  0
#define IS_FLOAT 0
#include "engine/kernels/cast.tmpl.h"

#define F        uint8_t
#define SUFFIX   U8
#define LOAD(x)  (x)
#define IMAG(x)  0
#define IS_FLOAT 0
#include "engine/kernels/cast.tmpl.h"

#define F        int16_t
#define SUFFIX   I16
#define LOAD(x)  (x)
#define IMAG(x)  0
#define IS_FLOAT 0
#include "engine/kernels/cast.tmpl.h"

#define F        uint16_t
#define SUFFIX   U16
#define LOAD(x)  (x)
#define IMAG(x)  0
#define IS_FLOAT 0
#include "engine/kernels/cast.tmpl.h"

#define F        int32_t
#define SUFFIX   I32
#define LOAD(x)  (x)
#define IMAG(x)  0
#define IS_FLOAT 0
#include "engine/kernels/cast.tmpl.h"

#define F        uint32_t
#define SUFFIX   U32
#define LOAD(x)  (x)
#define IMAG(x)  0
#define IS_FLOAT 0
#include "engine/kernels/cast.tmpl.h"

#define F        int64_t
#define SUFFIX   I64
#define LOAD(x)  (x)
#define IMAG(x)  0
#define IS_FLOAT 0
#include "engine/kernels/cast.tmpl.h"

#define F        uint64_t
#define SUFFIX   U64
#define LOAD(x)  (x)
#define IMAG(x)  0
#define IS_FLOAT 0
#include "engine/kernels/cast.tmpl.h"

#define F        uint16_t
#define SUFFIX   F16
#define LOAD(x)  f32_of_f16(x)
#define IMAG(x)  0
#define IS_FLOAT 1
#include "engine/kernels/cast.tmpl.h"

#define F        uint16_t
#define SUFFIX   BF16
#define LOAD(x)  f32_of_bf16(x)
#define IMAG(x)  0
#define IS_FLOAT 1
#include "engine/kernels/cast.tmpl.h"

#define F        float
#define SUFFIX   F32
#define LOAD(x)  (x)
#define IMAG(x)  0
#define IS_FLOAT 1
#include "engine/kernels/cast.tmpl.h"

#define F        double
#define SUFFIX   F64
#define LOAD(x)  (x)
#define IMAG(x)  0
#define IS_FLOAT 1
#include "engine/kernels/cast.tmpl.h"

#define F        float _Complex
#define SUFFIX   C64
#define LOAD(x)  (__real__(x))
#define IMAG(x)  (__imag__(x))
#define IS_FLOAT 1
#include "engine/kernels/cast.tmpl.h"

#define F        double _Complex
#define SUFFIX   C128
#define LOAD(x)  (__real__(x))
#define IMAG(x)  (__imag__(x))
#define IS_FLOAT 1
#include "engine/kernels/cast.tmpl.h"

kernel_fn *kernel_cast(dtype from, dtype to)
{
    static kernel_fn *const *const casts[DT_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = casts_##id,
#include "engine/tensor/dtype.def"
#undef DTYPE
    };

    return casts[from][to];
}

CPU_LEVELS static void round_f16(size_t n, void *result, const void *const in[])
{
    const float *x = in[0];
    float *out = result;

    for (size_t i = 0; i < n; i++)
        out[i] = f32_rounded_to_f16(x[i]);
}

CPU_LEVELS static void round_bf16(size_t n, void *result, const void *const in[])
{
    const float *x = in[0];
    float *out = result;

    for (size_t i = 0; i < n; i++)
        out[i] = f32_of_bf16(bf16_of_f32(x[i]));
}

kernel_fn *kernel_round(dtype half)
{
    return half == DT_F16 ? round_f16 : round_bf16;
}
