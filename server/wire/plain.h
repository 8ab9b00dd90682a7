/* plain -- a number of JSON text in its usual form, scanned without a branch for each digit.
 *
 * The digits are found by a look at PLAIN_WINDOW bytes at once, and put together as if they
 * stood at the right of a field of that size, zeros before them: how many they are and where
 * the point is changes what is masked, not what is done. Wherever more than the usual is
 * needed, scanning fails, and the reader of all numbers has its turn.
 *
 * There are two ways to do it, with the same result: plain_scan in words of eight bytes, and
 * plain_scan_wide with vectors, for machines that have AVX2. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    PLAIN_WINDOW = 32, /* bytes */
    PLAIN_EXPONENT_DIGITS = 4,
    PLAIN_BEFORE = PLAIN_WINDOW, /* bytes before a number that must be readable, and as many */
    PLAIN_AFTER = PLAIN_WINDOW + PLAIN_EXPONENT_DIGITS + 4, /* from its first on */
    PLAIN_DIGITS_MAX = 24,                                  /* with zeros that stand first */
    PLAIN_HIGH_MAX = 999 /* that the first eight are then: so uint64 holds all */
};

/* The text up to end is digits * 10^exponent, negated perhaps, and a comma or bracket follows. */
typedef struct plain {
    const char *end;
    uint64_t digits;
    int exponent;
    bool negative, whole;
} plain;

#define PLAIN_INLINE static inline __attribute__((always_inline))

/* Set bytes, then clear ones: from the byte n on, those of a window but the last n are set. */
static const unsigned char plain_masks[2 * PLAIN_WINDOW] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

/* Where the digits at the right of a field of PLAIN_WINDOW bytes come from: those before the point
 * from `left`, those behind it from `right`, one further. */
typedef struct plain_field {
    const char *left, *right;
    const unsigned char *split; /* mask of what comes from left */
    const unsigned char *blank; /* mask of what is no digit of the number */
} plain_field;

/* ---- In words ---------------------------------------------------------------------------------
 */

PLAIN_INLINE uint64_t plain_word(const void *p)
{
    uint64_t bytes;

    memcpy(&bytes, p, sizeof bytes);
    return bytes;
}

/* Which of eight bytes are no digits, the first one lowest. */
PLAIN_INLINE uint32_t plain_others_of_word(uint64_t bytes)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), x = bytes ^ 0x3030303030303030;
    const uint64_t others = (((x & low) + 0x7676767676767676) | x) & ~low;

    return (uint32_t)((others >> 7) * 0x0102040810204080 >> 56);
}

/* Which of the bytes of a window are no digits. */
PLAIN_INLINE uint32_t plain_others(const char *p)
{
    return plain_others_of_word(plain_word(p)) | plain_others_of_word(plain_word(p + 8)) << 8 |
           plain_others_of_word(plain_word(p + 16)) << 16 |
           plain_others_of_word(plain_word(p + 24)) << 24;
}

/* The number that the eight digits from `at` on are: pairs, fours, then all are put together. */
PLAIN_INLINE uint64_t plain_value_of_word(const plain_field *f, int at)
{
    const uint64_t split = plain_word(f->split + at), mask = 0x000000ff000000ff;
    uint64_t bytes = (plain_word(f->left + at) & split) | (plain_word(f->right + at) & ~split);

    bytes = (bytes ^ 0x3030303030303030) & ~plain_word(f->blank + at);
    bytes = bytes * 10 + (bytes >> 8);
    return ((bytes & mask) * 0x000f424000000064 + (bytes >> 16 & mask) * 0x0000271000000001) >> 32;
}

/* The number that the last 16 digits of the field are; *high becomes that of the eight before. */
PLAIN_INLINE uint64_t plain_value(const plain_field *f, uint64_t *high)
{
    *high = plain_value_of_word(f, 8);
    return plain_value_of_word(f, 16) * 100000000 + plain_value_of_word(f, 24);
}

/* ---- In vectors -------------------------------------------------------------------------------
 */

#if defined(__x86_64__)
#define PLAIN_WIDE __attribute__((target("avx2,bmi,bmi2")))

PLAIN_INLINE PLAIN_WIDE __m256i plain_load(const void *p)
{
    return _mm256_loadu_si256(p);
}

PLAIN_INLINE PLAIN_WIDE uint32_t plain_others_wide(const char *p)
{
    const __m256i x = _mm256_sub_epi8(plain_load(p), _mm256_set1_epi8('0'));

    return (uint32_t)_mm256_movemask_epi8(_mm256_adds_epu8(x, _mm256_set1_epi8(127 - 9)));
}

PLAIN_INLINE PLAIN_WIDE uint64_t plain_value_wide(const plain_field *f, uint64_t *high)
{
    __m256i x = _mm256_blendv_epi8(plain_load(f->right), plain_load(f->left), plain_load(f->split));
    uint64_t low;

    x = _mm256_andnot_si256(plain_load(f->blank), _mm256_xor_si256(x, _mm256_set1_epi8('0')));
    x = _mm256_maddubs_epi16(x, _mm256_set1_epi16(10 | 1 << 8));
    x = _mm256_madd_epi16(x, _mm256_set1_epi32(100 | 1 << 16));
    x = _mm256_packus_epi32(x, x);
    x = _mm256_madd_epi16(x, _mm256_set1_epi32(10000 | 1 << 16));
    *high = (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(x)) >> 32;
    low = (uint64_t)_mm_cvtsi128_si64(_mm256_extracti128_si256(x, 1));
    return (uint32_t)low * UINT64_C(100000000) + (low >> 32);
}
#endif

/* ---- Scanning ---------------------------------------------------------------------------------
 */

PLAIN_INLINE bool plain_ends_at(const char *p)
{
    return *p == ',' || *p == ']';
}

/* The field of the n digits at first, behind the first `before` of which a point may stand. */
PLAIN_INLINE plain_field plain_field_of(const char *first, unsigned before, unsigned n,
                                        unsigned point)
{
    const char *left = first + n - PLAIN_WINDOW;

    return (plain_field){.left = left,
                         .right = left + point,
                         .split = plain_masks + n - before,
                         .blank = plain_masks + n};
}

/* Reads the exponent behind an e at p; returns its end, NULL if there is none, or a long one. */
PLAIN_INLINE const char *plain_take_exponent(const char *p, plain *x)
{
    const bool negative = p[1] == '-';
    const char *first = p + 1 + (negative || p[1] == '+');
    int exponent = 0;

    for (p = first; (unsigned)(*p - '0') < 10; p++) {
        if (p - first == PLAIN_EXPONENT_DIGITS)
            return NULL;
        exponent = exponent * 10 + (*p - '0');
    }
    x->exponent += negative ? -exponent : exponent;
    x->whole = false;
    return p == first ? NULL : p;
}

/* Scans the number at p; false if it is not plain, or not a number. Flags are made by arithmetic:
 * a comparison sets a byte of a register, which would wait for what the register held before. */
PLAIN_INLINE bool plain_scan_by(const char *p, plain *x, uint32_t (*find_others)(const char *),
                                uint64_t (*value)(const plain_field *, uint64_t *))
{
    const uint32_t found = find_others(p) | UINT32_C(1) << (PLAIN_WINDOW - 1);
    const uint32_t others = found & ~UINT32_C(1); /* behind the first byte, be it minus or digit */
    const unsigned negative = found & 1, stop = (unsigned)__builtin_ctz(others);
    const unsigned point = ((unsigned)(p[stop] ^ '.') - 1) >> 31;
    const unsigned end = point ? (unsigned)__builtin_ctz(others & (others - 1)) : stop;
    const unsigned before = stop - negative, n = end - negative - point;
    const char *first = p + negative;
    const plain_field field = plain_field_of(first, before, n, point);
    uint64_t low, high;

    if (before == 0 || (__builtin_expect(*first == '0', 0) && before > 1) ||
        (point && n == before) || n > PLAIN_DIGITS_MAX || ((unsigned)(*p ^ '-') & -negative) != 0)
        return false;
    low = value(&field, &high);
    if (high > PLAIN_HIGH_MAX)
        return false;
    *x = (plain){.end = p + end,
                 .digits = high * 10000000000000000 + low,
                 .exponent = (int)(before - n),
                 .negative = negative,
                 .whole = !point};
    if (*x->end == 'e' || *x->end == 'E')
        x->end = plain_take_exponent(x->end, x);
    return x->end != NULL && plain_ends_at(x->end);
}

PLAIN_INLINE bool plain_scan(const char *p, plain *x)
{
    return plain_scan_by(p, x, plain_others, plain_value);
}

#if defined(__x86_64__)
PLAIN_INLINE PLAIN_WIDE bool plain_scan_wide(const char *p, plain *x)
{
    return plain_scan_by(p, x, plain_others_wide, plain_value_wide);
}

static inline bool plain_can_be_wide(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}
#endif
