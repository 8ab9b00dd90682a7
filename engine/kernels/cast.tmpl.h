/* Casts from one element type to every other.
 *
 * A template: no include guard. The includer defines
 *   F          the stored C type of the elements to cast
 *   SUFFIX     what this instance's functions end in
 *   LOAD(x)    the real part of element x as a number of C
 *   IMAG(x)    its imaginary part, 0 if it has none
 *   IS_FLOAT   whether LOAD gives a floating-point number
 * and all are undefined at the end. */

#define CAST(to, T, body)                                                                          \
    CPU_LEVELS static void KERNEL_OF(to_##to##_of)(size_t n, void *result, const void *const in[]) \
    {                                                                                              \
        const F *a = in[0];                                                                        \
        IN_LOOP(T) *out = result;                                                                  \
        for (size_t i = 0; i < n; i++) {                                                           \
            const F x = a[i];                                                                      \
            out[i] = (T)(body);                                                                    \
        }                                                                                          \
    }

#define SMALL(T) (IS_FLOAT ? (T)i32_of_f64((double)LOAD(x)) : (T)LOAD(x))
#define LARGE(T) (IS_FLOAT ? (T)i64_of_f64((double)LOAD(x)) : (T)LOAD(x))

CAST(BOOL, bool, LOAD(x) != 0 || IMAG(x) != 0)
CAST(I8, int8_t, SMALL(int8_t))
CAST(U8, uint8_t, SMALL(uint8_t))
CAST(I16, int16_t, SMALL(int16_t))
CAST(U16, uint16_t, SMALL(uint16_t))
CAST(I32, int32_t, SMALL(int32_t))
CAST(U32, uint32_t, LARGE(uint32_t))
CAST(I64, int64_t, LARGE(int64_t))
CAST(U64, uint64_t, IS_FLOAT ? u64_of_f64((double)LOAD(x)) : (uint64_t)LOAD(x))
CAST(F16, uint16_t,
     sizeof(LOAD(x)) == 8 && IS_FLOAT ? f16_of_f64((double)LOAD(x)) : f16_of_f32((float)LOAD(x)))
CAST(BF16, uint16_t,
     sizeof(LOAD(x)) == 8 && IS_FLOAT ? bf16_of_f64((double)LOAD(x)) : bf16_of_f32((float)LOAD(x)))
CAST(F32, float, (float)LOAD(x))
CAST(F64, double, (double)LOAD(x))
CAST(C64, float _Complex, __builtin_complex((float)LOAD(x), (float)IMAG(x)))
CAST(C128, double _Complex, __builtin_complex((double)LOAD(x), (double)IMAG(x)))

static kernel_fn *const OF(casts)[DT_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = KERNEL_OF(to_##id##_of),
#include "engine/tensor/dtype.def"
#undef DTYPE
};

#undef CAST
#undef SMALL
#undef LARGE
#undef F
#undef SUFFIX
#undef LOAD
#undef IMAG
#undef IS_FLOAT
