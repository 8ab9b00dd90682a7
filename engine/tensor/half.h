/* half -- float16 and bfloat16 to and from wider types.
 *
 * Bit code of our own, free of branches so that loops over it vectorise.
 * Rounding is to nearest, ties to even; NaN stays NaN, quiet. A double is first
 * rounded to odd as a float, which makes the second rounding the only one that
 * shows (Boldo and Melquiond, 2008). */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint32_t bits_of_f32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float f32_of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float f32_of_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = (uint32_t)(h & 0x7fffu) << 13;
    const uint32_t normal = rest + 0x38000000u, special = rest + 0x70000000u;
    const float tiny = f32_of_bits(rest + 0x38800000u) - f32_of_bits(0x38800000u);
    const uint32_t magnitude = rest >= 0x0f800000u   ? special
                               : rest >= 0x00800000u ? normal
                                                     : bits_of_f32(tiny);

    return f32_of_bits(sign | magnitude);
}

static inline uint16_t f16_of_f32(float x)
{
    const uint32_t bits = bits_of_f32(x), sign = bits >> 16 & 0x8000u, m = bits & 0x7fffffffu;
    const uint32_t normal = (m + 0xfffu + (m >> 13 & 1) - 0x38000000u) >> 13;
    const uint32_t tiny = bits_of_f32(f32_of_bits(m) + 0.5f) - 0x3f000000u;
    const uint32_t special = m > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t magnitude = m >= 0x477ff000u ? special : m >= 0x38800000u ? normal : tiny;

    return (uint16_t)(sign | magnitude);
}

/* f32_of_f16(f16_of_f32(x)) in fewer steps. */
static inline float f32_rounded_to_f16(float x)
{
    const uint32_t bits = bits_of_f32(x), sign = bits & 0x80000000u, m = bits & 0x7fffffffu;
    const uint32_t normal = (m + 0xfffu + (m >> 13 & 1)) & ~0x1fffu;
    const uint32_t tiny = bits_of_f32(f32_of_bits(m) + 0.5f - 0.5f);
    const uint32_t special = m > 0x7f800000u ? 0x7fc00000u : 0x7f800000u;
    const uint32_t magnitude = m >= 0x477ff000u ? special : m >= 0x38800000u ? normal : tiny;

    return f32_of_bits(sign | magnitude);
}

static inline float f32_of_bf16(uint16_t h)
{
    return f32_of_bits((uint32_t)h << 16);
}

static inline uint16_t bf16_of_f32(float x)
{
    const uint32_t bits = bits_of_f32(x), rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;

    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : rounded);
}

/* x as a float rounded to odd: exact, or the neighbour whose last bit is set. */
static inline float f32_to_odd(double x)
{
    const float nearest = (float)x;
    const double magnitude = x < 0 ? -x : x;
    const double reached = nearest < 0 ? -(double)nearest : (double)nearest;
    const uint32_t bits = bits_of_f32(nearest);
    const uint32_t odd = (bits - (reached > magnitude)) | 1u;

    return f32_of_bits(reached == magnitude || x != x ? bits : odd);
}

static inline uint16_t f16_of_f64(double x)
{
    return f16_of_f32(f32_to_odd(x));
}

static inline uint16_t bf16_of_f64(double x)
{
    return bf16_of_f32(f32_to_odd(x));
}
