/* The arithmetic of one integer type where C's own would trap, be undefined or
 * round otherwise than NumPy.
 *
 * A template: no include guard. The includer defines T, SIGNED (0 or 1), and
 * OF(name), the name this instance gives a function. Compiled with -fwrapv. */

ALWAYS_INLINE
T OF(floor_divide)(T x, T y)
{
    if (y == 0) {
        kernel_flags |= KERNEL_DIVIDE;
        return 0;
    }
    if (SIGNED && y == (T)-1) /* the smallest value has no opposite: it stays */
        return (T)(0 - x);
    T quotient = (T)(x / y);
    return (T)(SIGNED && x % y != 0 && ((x < (T)1 && x != 0) != (y < (T)1)) ? quotient - 1
                                                                            : quotient);
}

ALWAYS_INLINE
T OF(remainder)(T x, T y)
{
    if (y == 0) {
        kernel_flags |= KERNEL_DIVIDE;
        return 0;
    }
    if (SIGNED && y == (T)-1)
        return 0;
    T rest = (T)(x % y);
    return (T)(SIGNED && rest != 0 && (rest < (T)1) != (y < (T)1) ? rest + y : rest);
}

ALWAYS_INLINE
T OF(power)(T x, T y)
{
    T result = 1;

    if (SIGNED && y < (T)1 && y != 0) {
        kernel_flags |= KERNEL_NEGATIVE_POWER;
        return 0;
    }
    for (; y != 0; y = (T)(y >> 1)) {
        if (y & 1)
            result = (T)(result * x);
        x = (T)(x * x);
    }
    return result;
}

ALWAYS_INLINE
T OF(absolute)(T x)
{
    return (T)(SIGNED && x < (T)1 ? 0 - x : x);
}

ALWAYS_INLINE
T OF(sign)(T x)
{
    return (T)(x == 0 ? 0 : SIGNED && x < (T)1 ? -1 : 1);
}

/* Shifts by a negative count, or by the width or more, push every bit out. */
ALWAYS_INLINE
T OF(left_shift)(T x, T y)
{
    const bool all = y >= (T)(8 * sizeof(T)) || (SIGNED && y < (T)1 && y != 0);

    return (T)(all ? 0 : x << (all ? 0 : y));
}

ALWAYS_INLINE
T OF(right_shift)(T x, T y)
{
    const bool all = y >= (T)(8 * sizeof(T)) || (SIGNED && y < (T)1 && y != 0);
    const T empty = (T)(SIGNED && x < (T)1 && x != 0 ? -1 : 0);

    return (T)(all ? empty : x >> (all ? 0 : y));
}

/* 1 / 0 is what x86 casts infinity to. */
ALWAYS_INLINE
T OF(reciprocal)(T x)
{
    if (x == 0) {
        kernel_flags |= KERNEL_DIVIDE;
        return (T)(SIGNED && sizeof(T) > 2 ? (uint64_t)1 << (8 * sizeof(T) - 1) : 0);
    }
    return (T)(1 / x);
}
