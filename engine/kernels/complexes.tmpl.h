/* The arithmetic of one complex type, as NumPy writes it.
 *
 * A template: no include guard. The includer defines T (a complex type), R (the
 * type of its parts), PARTS(re, im), which makes one of the other, and OF(name).
 * Products are the plain formula, quotients Smith's (CACM 5, 1962, 435). Order is
 * lexicographic: real parts first, then imaginary ones. Without branches, so that loops
 * vectorise. */

ALWAYS_INLINE
R OF(re)(T x)
{
    return __real__ x;
}

ALWAYS_INLINE
R OF(im)(T x)
{
    return __imag__ x;
}

ALWAYS_INLINE
bool OF(is_nan)(T x)
{
    return (OF(re)(x) != OF(re)(x)) | (OF(im)(x) != OF(im)(x));
}

ALWAYS_INLINE
bool OF(truth)(T x)
{
    return (OF(re)(x) != 0) | (OF(im)(x) != 0);
}

ALWAYS_INLINE
T OF(multiply)(T x, T y)
{
    return PARTS(OF(re)(x) * OF(re)(y) - OF(im)(x) * OF(im)(y),
                 OF(re)(x) * OF(im)(y) + OF(im)(x) * OF(re)(y));
}

ALWAYS_INLINE
T OF(divide)(T x, T y)
{
    const R a = OF(re)(x), b = OF(im)(x), c = OF(re)(y), d = OF(im)(y);
    const bool upright = fabs(c) < fabs(d), by_zero = (c == 0) & (d == 0);
    const R large = upright ? d : c, small = upright ? c : d;
    const R ratio = by_zero ? 0 : small / large, scale = (R)1 / (large + small * ratio);
    const R p = upright ? ratio : 1, q = upright ? 1 : ratio;

    return PARTS(by_zero ? a * (R)INFINITY : (a * p + b * q) * scale,
                 by_zero ? b * (R)INFINITY : (b * p - a * q) * scale);
}

/* Real parts decide unless an imaginary part is NaN; equal ones leave it to those. */
ALWAYS_INLINE
bool OF(less)(T x, T y)
{
    return ((OF(re)(x) < OF(re)(y)) & (OF(im)(x) == OF(im)(x)) & (OF(im)(y) == OF(im)(y))) |
           ((OF(re)(x) == OF(re)(y)) & (OF(im)(x) < OF(im)(y)));
}

ALWAYS_INLINE
bool OF(less_equal)(T x, T y)
{
    return ((OF(re)(x) < OF(re)(y)) & (OF(im)(x) == OF(im)(x)) & (OF(im)(y) == OF(im)(y))) |
           ((OF(re)(x) == OF(re)(y)) & (OF(im)(x) <= OF(im)(y)));
}

/* Part by part, which makes vector code. */
ALWAYS_INLINE
T OF(choose)(bool first, T x, T y)
{
    return PARTS(first ? OF(re)(x) : OF(re)(y), first ? OF(im)(x) : OF(im)(y));
}

ALWAYS_INLINE
T OF(maximum)(T x, T y)
{
    return OF(choose)(OF(is_nan)(x) | OF(less_equal)(y, x), x, y);
}

ALWAYS_INLINE
T OF(minimum)(T x, T y)
{
    return OF(choose)(OF(is_nan)(x) | OF(less_equal)(x, y), x, y);
}

ALWAYS_INLINE
T OF(fmax)(T x, T y)
{
    return OF(choose)(OF(is_nan)(y) | OF(less_equal)(y, x), x, y);
}

ALWAYS_INLINE
T OF(fmin)(T x, T y)
{
    return OF(choose)(OF(is_nan)(y) | OF(less_equal)(x, y), x, y);
}

/* x / |x|, zero for zero (NumPy 2). */
ALWAYS_INLINE
T OF(sign)(T x)
{
    const R size = (R)hypot(OF(re)(x), OF(im)(x));

    if (size == 0)
        return 0;
    if (isinf(size) && !OF(is_nan)(x)) {
        const R re = isinf(OF(re)(x)) ? copysign((R)1, OF(re)(x)) : 0;
        const R im = isinf(OF(im)(x)) ? copysign((R)1, OF(im)(x)) : 0;
        const R scale = re != 0 && im != 0 ? (R)0.70710678118654752440 : 1;

        return PARTS(re * scale, im * scale);
    }
    return PARTS(OF(re)(x) / size, OF(im)(x) / size);
}

ALWAYS_INLINE
T OF(expm1)(T x)
{
    const R half = (R)sin(OF(im)(x) / 2);

    return PARTS((R)expm1(OF(re)(x)) * (R)cos(OF(im)(x)) - 2 * half * half,
                 (R)exp(OF(re)(x)) * (R)sin(OF(im)(x)));
}

ALWAYS_INLINE
T OF(log1p)(T x)
{
    const R size = (R)hypot(OF(re)(x) + 1, OF(im)(x));

    return PARTS((R)log(size), (R)atan2(OF(im)(x), OF(re)(x) + 1));
}

ALWAYS_INLINE
T OF(scaled_log)(T x, R scale)
{
    const T result = (T)clog(x);

    return PARTS(OF(re)(result) * scale, OF(im)(result) * scale);
}

/* Exponents that are small integers are multiplied out, as NumPy does. */
ALWAYS_INLINE
T OF(power)(T x, T y)
{
    const R c = OF(re)(y), d = OF(im)(y);
    const int n = c > -100 && c < 100 ? (int)c : 100;

    if (c == 0 && d == 0)
        return 1;
    if (!OF(truth)(x))
        return c > 0 && d == 0 ? PARTS((R)0, (R)0) : PARTS((R)NAN, (R)NAN);
    if (d == 0 && (R)n == c && n > -100 && n < 100) {
        T result = 1, factor = x;

        for (unsigned m = (unsigned)(n < 0 ? -n : n); m != 0; m >>= 1) {
            if (m & 1)
                result = OF(multiply)(result, factor);
            factor = OF(multiply)(factor, factor);
        }
        return n < 0 ? OF(divide)(1, result) : result;
    }
    return (T)cpow((double _Complex)x, (double _Complex)y);
}
