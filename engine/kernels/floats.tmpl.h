/* The arithmetic of one floating-point type where NumPy follows Python.
 *
 * A template: no include guard. The includer defines T and OF(name). The
 * division algorithm is CPython's (Objects/floatobject.c, float_divmod), which
 * NumPy follows: exact remainder, sign of the divisor, a quotient that agrees. */

ALWAYS_INLINE
T OF(remainder)(T x, T y)
{
    T rest = (T)fmod(x, y);

    if (y == 0)
        return rest;
    if (rest == 0)
        return copysign((T)0, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
}

ALWAYS_INLINE
T OF(floor_divide)(T x, T y)
{
    T rest = (T)fmod(x, y), quotient, whole;

    if (y == 0)
        return x / y;
    quotient = (x - rest) / y;
    if (rest != 0 && (rest < 0) != (y < 0))
        quotient -= 1;
    if (quotient == 0)
        return copysign((T)0, x / y);
    whole = floor(quotient);
    return quotient - whole > (T)0.5 ? whole + 1 : whole;
}

/* NaN wins over everything; of two NaNs the first. */
ALWAYS_INLINE
T OF(maximum)(T x, T y)
{
    return x >= y || x != x ? x : y;
}

ALWAYS_INLINE
T OF(minimum)(T x, T y)
{
    return x <= y || x != x ? x : y;
}

/* NaN loses against everything. */
ALWAYS_INLINE
T OF(fmax)(T x, T y)
{
    return x >= y || y != y ? x : y;
}

ALWAYS_INLINE
T OF(fmin)(T x, T y)
{
    return x <= y || y != y ? x : y;
}

/* SLEEF's log1p fails near the largest number, where 1 no longer counts. */
ALWAYS_INLINE
T OF(log1p)(T x)
{
    return x > (T)1e30 ? log(x) : log1p(x);
}

/* SLEEF's pow is infinite for the largest number to the power of 1. */
ALWAYS_INLINE
T OF(power)(T x, T y)
{
    return y == 1 ? x : pow(x, y);
}
