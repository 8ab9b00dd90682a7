/* Elementwise kernels of every row of a .def file, for one element type.
 *
 * A template: no include guard, included once per type. The includer defines
 *   T            the C type of the elements
 *   R            the type of their parts, T itself if they are real
 *   SUFFIX       what this instance's functions end in: OF(name) is name_f64
 *   COLUMN(..)   which of a row's bodies (bool, int, float, complex) is this type's
 *   ROWS         the .def file
 * and all five are undefined at the end. A row whose body is NONE makes nothing.
 *
 * n is a multiple of LANES (see kernels.h), so the vector loop covers it all. */

#define KERNEL_HEAD(name, OUT)                                                                     \
    CPU_LEVELS void KERNEL_OF(name)(size_t n, void *result, const void *const in[])                \
    {                                                                                              \
        IN_LOOP(OUT) *out = result;

#define KERNEL_T(name, OUT, body)                                                                  \
    ALWAYS_INLINE                                                                                  \
    OUT OF(name##_element)(T x)                                                                    \
    {                                                                                              \
        (void)x;                                                                                   \
        return (OUT)(body);                                                                        \
    }                                                                                              \
    KERNEL_HEAD(name, OUT)                                                                         \
    const IN_LOOP(T) *a = in[0];                                                                   \
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) out[i] = OF(name##_element)(a[i]);         \
    }

#define KERNEL_TT(name, OUT, body)                                                                 \
    ALWAYS_INLINE                                                                                  \
    OUT OF(name##_element)(T x, T y)                                                               \
    {                                                                                              \
        (void)x;                                                                                   \
        return (OUT)(body);                                                                        \
    }                                                                                              \
    KERNEL_HEAD(name, OUT)                                                                         \
    const IN_LOOP(T) *a = in[0], *b = in[1];                                                       \
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) out[i] = OF(name##_element)(a[i], b[i]);   \
    }

#define KERNEL_BTT(name, OUT, body)                                                                \
    ALWAYS_INLINE                                                                                  \
    OUT OF(name##_element)(bool p, T x, T y)                                                       \
    {                                                                                              \
        (void)x;                                                                                   \
        return (OUT)(body);                                                                        \
    }                                                                                              \
    KERNEL_HEAD(name, OUT)                                                                         \
    const uint8_t *p = in[0];                                                                      \
    const IN_LOOP(T) *a = in[1], *b = in[2];                                                       \
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) out[i] =                                   \
        OF(name##_element)(p[i], a[i], b[i]);                                                      \
    }

#define KERNEL_T_T(name, body)   KERNEL_T(name, T, body)
#define KERNEL_T_B(name, body)   KERNEL_T(name, bool, body)
#define KERNEL_T_R(name, body)   KERNEL_T(name, R, body)
#define KERNEL_TT_T(name, body)  KERNEL_TT(name, T, body)
#define KERNEL_TT_B(name, body)  KERNEL_TT(name, bool, body)
#define KERNEL_BTT_T(name, body) KERNEL_BTT(name, T, body)

#define NONE
#define IF_BODY(name, pattern, ...)        __VA_OPT__(KERNEL_##pattern(name, (__VA_ARGS__)))
#define IF_COLUMN(name, pattern, ...)      IF_BODY(name, pattern, __VA_ARGS__)
#define OP(name, pattern, b, i, f, c, ...) IF_COLUMN(name, pattern, COLUMN(b, i, f, c))

#include ROWS
#include "engine/kernels/reduce.tmpl.h"

#undef OP
#undef IF_COLUMN
#undef IF_BODY
#undef NONE
#undef KERNEL_HEAD
#undef KERNEL_T
#undef KERNEL_TT
#undef KERNEL_BTT
#undef KERNEL_T_T
#undef KERNEL_T_B
#undef KERNEL_T_R
#undef KERNEL_TT_T
#undef KERNEL_TT_B
#undef KERNEL_BTT_T
#undef T
#undef R
#undef SUFFIX
#undef COLUMN
#undef ROWS
