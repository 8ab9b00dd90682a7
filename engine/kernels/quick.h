/* quick -- elementary functions of our own for the usual arguments.
 *
 * Cody and Waite's reduction, then a polynomial in Estrin's form, all in fused
 * multiply-adds and free of branches: 1.5 to 2 times as fast as SLEEF's vector functions.
 * Each is for a range only, without the special cases outside of it. Errors are below 1
 * unit in the last place. Coefficients interpolate the remainder of each function at
 * Chebyshev's nodes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "engine/kernels/target.h"

/* Whether this processor has fused multiply-add; without it SLEEF's functions are faster. */
static inline bool has_fused(void)
{
#if defined(ONE_CPU_LEVEL)
    return false;
#elif defined(__x86_64__)
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
#else
    return true;
#endif
}

#define FMA(x, y, z)                                                                               \
    _Generic((x) + (y) + (z), float : __builtin_fmaf, double : __builtin_fma)(x, y, z)

ALWAYS_INLINE
uint64_t bits_f64(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

ALWAYS_INLINE
double of_bits_f64(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

ALWAYS_INLINE
uint32_t bits_f32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

ALWAYS_INLINE
float of_bits_f32(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- exp ------------------------------------------------------------------------------
 * x = n ln 2 + r, e^x = 2^n e^r. Adding ROUND leaves n in the last bits of the sum; 2^n is
 * put into the exponent. What 1 + r loses is added with the rest. */

ALWAYS_INLINE
bool in_range_exp_f64(double x)
{
    return (x >= -700) & (x <= 700);
}

ALWAYS_INLINE
double quick_exp_f64(double x)
{
    const double round = 0x1.8p52;
    const double shifted = FMA(x, 0x1.71547652b82fep+0, round), n = shifted - round;
    const double r = FMA(-n, 0x1.abc9e3b39803fp-56, FMA(-n, 0x1.62e42fefa39efp-1, x));
    const double r2 = r * r, r4 = r2 * r2, sum = 1 + r;
    const double a = FMA(r, 0x1.5555555555556p-3, 0x1p-1);
    const double b = FMA(r, 0x1.11111111109b3p-7, 0x1.5555555553d63p-5);
    const double c = FMA(r, 0x1.a01a01a7c41d5p-13, 0x1.6c16c1788bd90p-10);
    const double d = FMA(r, 0x1.71de0dae63bb3p-19, 0x1.a019b90d2ae7ap-16);
    const double e = FMA(r, 0x1.af38a9b0ec855p-26, 0x1.289185613a3d6p-22);
    const double p = FMA(r4, FMA(r4, e, FMA(r2, d, c)), FMA(r2, b, a));

    return of_bits_f64(bits_f64(sum + FMA(r2, p, r - (sum - 1))) + (bits_f64(shifted) << 52));
}

ALWAYS_INLINE
bool in_range_exp_f32(float x)
{
    return (x >= -80) & (x <= 80);
}

ALWAYS_INLINE
float quick_exp_f32(float x)
{
    const float round = 0x1.8p23f;
    const float shifted = FMA(x, 0x1.715476p+0f, round), n = shifted - round;
    const float r = FMA(-n, -0x1.05c61p-29f, FMA(-n, 0x1.62e43p-1f, x));
    const float r2 = r * r, sum = 1 + r;
    const float a = FMA(r, 0x1.5554dcp-3f, 0x1p-1f);
    const float b = FMA(r, 0x1.120b6ep-7f, 0x1.55551ap-5f);
    const float p = FMA(r2, FMA(r2, 0x1.6d110ap-10f, b), a);

    return of_bits_f32(bits_f32(sum + FMA(r2, p, r - (sum - 1))) + (bits_f32(shifted) << 23));
}

/* ---- log -------------------------------------------------------------------------------
 * x = 2^n m with m from sqrt(1/2) to sqrt(2); log m = 2 artanh(s), s = (m - 1) / (m + 1). */

ALWAYS_INLINE
bool in_range_log_f64(double x)
{
    return (x >= 0x1p-1000) & (x <= 0x1p1000);
}

ALWAYS_INLINE
double quick_log_f64(double x)
{
    const uint64_t root = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
    const uint64_t bits = bits_f64(x) - root + one;
    const double n = of_bits_f64(bits >> 52 | 0x4330000000000000) - (0x1p52 + 1023);
    const double f = of_bits_f64((bits & 0xfffffffffffff) + root) - 1;
    const double s = f / (2 + f), z = s * s, z2 = z * z, half = 0.5 * f * f;
    const double a = FMA(z, 0x1.99999999952ccp-2, 0x1.5555555555558p-1);
    const double b = FMA(z, 0x1.c71c62e26212ep-3, 0x1.2492492df3ba9p-2);
    const double c = FMA(z, 0x1.39fe42e9d4a8ap-3, 0x1.7462b58e4403ap-3);
    const double p = z * FMA(z2, FMA(z2, FMA(z2, 0x1.2b59b70eb76c6p-3, c), b), a);
    const double low = FMA(s, half + p, n * 0x1.a39ef35793c76p-33);

    return FMA(n, 0x1.62e42fee00000p-1, f - (half - low));
}

ALWAYS_INLINE
bool in_range_log_f32(float x)
{
    return (x >= 0x1p-100f) & (x <= 0x1p100f);
}

ALWAYS_INLINE
float quick_log_f32(float x)
{
    const uint32_t root = 0x3f3504f3, one = 0x3f800000;
    const uint32_t bits = bits_f32(x) - root + one;
    const float n = (float)(int32_t)(bits >> 23) - 127;
    const float f = of_bits_f32((bits & 0x7fffff) + root) - 1;
    const float s = f / (2 + f), z = s * s, half = 0.5f * f * f;
    const float a = FMA(z, 0x1.9999ecp-2f, 0x1.555556p-1f);
    const float b = FMA(z, 0x1.ddd00ap-3f, 0x1.245c3ep-2f);
    const float low = FMA(s, half + z * FMA(z * z, b, a), n * 0x1.2fefa2p-17f);

    return FMA(n, 0x1.62e3p-1f, f - (half - low));
}

/* ---- sin and cos ---------------------------------------------------------------------------
 * x = n pi/2 + r + rest; n mod 4 picks sine or cosine of r, and the sign. pi/2 comes in
 * three parts, the second so short that n times it is exact in the range: then what is
 * lost by subtracting it is exact too, and r + rest is right even where x is next to a
 * multiple of pi/2. */

#define ANGLE(suffix, T, U, MANTISSA, TOP, TWO_BY_PI, FIRST, SECOND, THIRD, SINE, COSINE)          \
    /* sin(x + turn pi/2) */                                                                       \
    ALWAYS_INLINE                                                                                  \
    T quick_angle_##suffix(T x, U turn)                                                            \
    {                                                                                              \
        const T shifted = FMA(x, TWO_BY_PI, MANTISSA), n = shifted - MANTISSA;                     \
        const T first = FMA(-n, FIRST, x), r = FMA(-n, SECOND, first);                             \
        const T rest = FMA(-n, THIRD, FMA(-n, SECOND, first - r));                                 \
        const T z = r * r, half = (T)0.5 * z, near = 1 - half, low = FMA(r, r, -z);                \
        const T sine = r + FMA(r, z * SINE, rest);                                                 \
        const T lost = ((1 - near) - half) - FMA(r, rest, (T)0.5 * low);                           \
        const T cosine = near + FMA(z * z, COSINE, lost);                                          \
        const U quadrant = bits_##suffix(shifted) + turn;                                          \
                                                                                                   \
        return of_bits_##suffix(bits_##suffix(quadrant & 1 ? cosine : sine) ^ (quadrant & 2)       \
                                                                                  << TOP);         \
    }                                                                                              \
                                                                                                   \
    ALWAYS_INLINE                                                                                  \
    T quick_sin_##suffix(T x)                                                                      \
    {                                                                                              \
        return quick_angle_##suffix(x, 0);                                                         \
    }                                                                                              \
                                                                                                   \
    ALWAYS_INLINE                                                                                  \
    T quick_cos_##suffix(T x)                                                                      \
    {                                                                                              \
        return quick_angle_##suffix(x, 1);                                                         \
    }

ALWAYS_INLINE
bool in_range_angle_f64(double x)
{
    return (x >= -8192) & (x <= 8192);
}

ALWAYS_INLINE
bool in_range_angle_f32(float x)
{
    return (x >= -512) & (x <= 512);
}

/* c[0] + c[1] z + .. */
#define OF_THREE(z, c0, c1, c2) FMA(z, FMA(z, c2, c1), c0)
#define OF_SIX(z, c0, c1, c2, c3, c4, c5)                                                          \
    FMA((z * z) * (z * z), FMA(z, c5, c4), FMA(z * z, FMA(z, c3, c2), FMA(z, c1, c0)))

ANGLE(f64, double, uint64_t, 0x1.8p52, 62, 0x1.45f306dc9c883p-1, 0x1.921fb54442d18p+0,
      0x1.1a62633146p-54, -0x1.fc8f8cbb5bf6cp-97,
      OF_SIX(z, -0x1.5555555555555p-3, 0x1.1111111110bb1p-7, -0x1.a01a019e8357dp-13,
             0x1.71de37961e4dcp-19, -0x1.ae600a926df9ap-26, 0x1.5e0af18733f9ep-33),
      OF_SIX(z, 0x1.5555555555555p-5, -0x1.6c16c16c16966p-10, 0x1.a01a019f4e867p-16,
             -0x1.27e4fa17a41bfp-22, 0x1.1eeb68b109cf5p-29, -0x1.907d7aec5a8a3p-37))
ANGLE(f32, float, uint32_t, 0x1.8p23f, 30, 0x1.45f306p-1f, 0x1.921fb6p+0f, -0x1.777cp-25f,
      0x1.a308d4p-41f, OF_THREE(z, -0x1.555552p-3f, 0x1.110c28p-7f, -0x1.9ac96cp-13f),
      OF_THREE(z, 0x1.555554p-5f, -0x1.6c12d2p-10f, 0x1.9bd864p-16f))
