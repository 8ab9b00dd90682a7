/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lang/scalar.h"

#include <math.h>

typedef __int128 wide;

lang_value scalar_bool(bool truth)
{
    return (lang_value){.kind = LANG_NUMBER, .number = LANG_BOOL, .integer = truth};
}

lang_value scalar_int(int64_t i)
{
    return (lang_value){.kind = LANG_NUMBER, .number = LANG_INT, .integer = i};
}

lang_value scalar_unsigned(uint64_t u)
{
    if (u <= INT64_MAX)
        return scalar_int((int64_t)u);
    return (lang_value){.kind = LANG_NUMBER, .number = LANG_UINT, .unsigned_integer = u};
}

lang_value scalar_float(double x)
{
    return (lang_value){.kind = LANG_NUMBER, .number = LANG_FLOAT, .parts = {x, 0}};
}

lang_value scalar_complex(double re, double im)
{
    return (lang_value){.kind = LANG_NUMBER, .number = LANG_COMPLEX, .parts = {re, im}};
}

static wide as_wide(const lang_value *a)
{
    return a->number == LANG_UINT ? (wide)a->unsigned_integer : (wide)a->integer;
}

double scalar_as_double(const lang_value *a)
{
    if (a->number >= LANG_FLOAT)
        return a->parts[0];
    return a->number == LANG_UINT ? (double)a->unsigned_integer : (double)a->integer;
}

static double imaginary(const lang_value *a)
{
    return a->number == LANG_COMPLEX ? a->parts[1] : 0;
}

bool scalar_truth(const lang_value *a)
{
    if (a->number >= LANG_FLOAT)
        return a->parts[0] != 0 || imaginary(a) != 0;
    return a->integer != 0;
}

bool scalar_as_int64(const lang_value *a, int64_t *result)
{
    *result = a->integer;
    return a->kind == LANG_NUMBER && a->number <= LANG_INT;
}

/* ---- Integers --------------------------------------------------------------- */

static scalar_outcome overflow(error *err)
{
    error_set(err, ERR_OVERFLOW, "this integer fits neither int64 nor uint64");
    return SCALAR_FAILED;
}

static scalar_outcome give_wide(wide x, lang_value *result, error *err)
{
    if (x < INT64_MIN || x > (wide)UINT64_MAX)
        return overflow(err);
    *result = x < 0 ? scalar_int((int64_t)x) : scalar_unsigned((uint64_t)x);
    return SCALAR_EXACT;
}

static wide floor_divide(wide a, wide b)
{
    const wide quotient = a / b;

    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

/* a to the power b, b >= 0. */
static scalar_outcome int_power(wide a, wide b, lang_value *result, error *err)
{
    wide power = 1;

    if (b > 64 && (a > 1 || a < -1))
        return overflow(err);
    if (a == -1)
        return give_wide(b % 2 == 0 ? 1 : -1, result, err);
    if (a == 0 || a == 1)
        return give_wide(b == 0 ? 1 : a, result, err);
    for (; b > 0; b--)
        if (__builtin_mul_overflow(power, a, &power))
            return overflow(err);
    return give_wide(power, result, err);
}

static scalar_outcome int_shift(token_kind symbol, wide a, wide b, lang_value *result, error *err)
{
    if (b < 0) {
        error_set(err, ERR_VALUE, "a shift by the negative count %lld is not possible",
                  (long long)b);
        return SCALAR_FAILED;
    }
    if (symbol == TOKEN_RIGHT_SHIFT)
        return give_wide(a >> (b > 126 ? 126 : b), result, err);
    if (a == 0)
        return give_wide(0, result, err);
    return b > 63 ? overflow(err) : give_wide(a * ((wide)1 << b), result, err);
}

static scalar_outcome int_binary(token_kind symbol, wide a, wide b, lang_value *result, error *err)
{
    wide product;

    switch ((int)symbol) {
    case TOKEN_ADD:
        return give_wide(a + b, result, err);
    case TOKEN_SUBTRACT:
        return give_wide(a - b, result, err);
    case TOKEN_MULTIPLY:
        return __builtin_mul_overflow(a, b, &product) ? overflow(err)
                                                      : give_wide(product, result, err);
    case TOKEN_FLOOR_DIVIDE:
        return b == 0 ? SCALAR_LEFT : give_wide(floor_divide(a, b), result, err);
    case TOKEN_REMAINDER:
        return b == 0 ? SCALAR_LEFT : give_wide(a - b * floor_divide(a, b), result, err);
    case TOKEN_LEFT_SHIFT:
    case TOKEN_RIGHT_SHIFT:
        return int_shift(symbol, a, b, result, err);
    case TOKEN_AND_BITS:
        return give_wide(a & b, result, err);
    case TOKEN_OR_BITS:
        return give_wide(a | b, result, err);
    case TOKEN_XOR_BITS:
        return give_wide(a ^ b, result, err);
    case TOKEN_POWER:
        return int_power(a, b, result, err);
    default:
        return SCALAR_LEFT;
    }
}

/* ---- Floats and complex numbers --------------------------------------------- */

static scalar_outcome give_float(double x, lang_value *result)
{
    *result = scalar_float(x);
    return SCALAR_EXACT;
}

/* Known to decide shapes and the like; the value is computed by the operation. */
static scalar_outcome float_power(double a, double b, lang_value *result)
{
    if ((a == 0 && b < 0) || (a < 0 && b != floor(b)))
        return SCALAR_LEFT;
    *result = scalar_float(pow(a, b));
    return SCALAR_ROUNDED;
}

static scalar_outcome float_binary(token_kind symbol, double a, double b, lang_value *result)
{
    switch ((int)symbol) {
    case TOKEN_ADD:
        return give_float(a + b, result);
    case TOKEN_SUBTRACT:
        return give_float(a - b, result);
    case TOKEN_MULTIPLY:
        return give_float(a * b, result);
    case TOKEN_DIVIDE:
        return b == 0 ? SCALAR_LEFT : give_float(a / b, result);
    case TOKEN_POWER:
        return float_power(a, b, result);
    default:
        return SCALAR_LEFT;
    }
}

static scalar_outcome complex_binary(token_kind symbol, const lang_value *a, const lang_value *b,
                                     lang_value *result)
{
    const double x = scalar_as_double(a), y = imaginary(a);
    const double u = scalar_as_double(b), v = imaginary(b);

    switch ((int)symbol) {
    case TOKEN_ADD:
        *result = scalar_complex(x + u, y + v);
        return SCALAR_EXACT;
    case TOKEN_SUBTRACT:
        *result = scalar_complex(x - u, y - v);
        return SCALAR_EXACT;
    case TOKEN_MULTIPLY:
        *result = scalar_complex(x * u - y * v, x * v + y * u);
        return SCALAR_EXACT;
    default:
        return SCALAR_LEFT;
    }
}

/* ---- Operators -------------------------------------------------------------- */

static bool is_bitwise(token_kind symbol)
{
    return symbol == TOKEN_AND_BITS || symbol == TOKEN_OR_BITS || symbol == TOKEN_XOR_BITS;
}

scalar_outcome scalar_binary(token_kind symbol, const lang_value *a, const lang_value *b,
                             lang_value *result, error *err)
{
    scalar_outcome outcome;

    if (a->number == LANG_COMPLEX || b->number == LANG_COMPLEX)
        return complex_binary(symbol, a, b, result);
    if (a->number == LANG_FLOAT || b->number == LANG_FLOAT || symbol == TOKEN_DIVIDE)
        return float_binary(symbol, scalar_as_double(a), scalar_as_double(b), result);
    if (symbol == TOKEN_POWER && as_wide(b) < 0 && as_wide(a) != 0) /* a float in Python only */
        return give_float(pow(scalar_as_double(a), scalar_as_double(b)), result);
    outcome = int_binary(symbol, as_wide(a), as_wide(b), result, err);
    if (outcome == SCALAR_EXACT && is_bitwise(symbol) && a->number == LANG_BOOL &&
        b->number == LANG_BOOL)
        result->number = LANG_BOOL;
    return outcome;
}

/* -1, 0, 1 as a is less than, equal to, greater than b; 2 if they are unordered. */
static int order(const lang_value *a, const lang_value *b)
{
    if (a->number < LANG_FLOAT && b->number < LANG_FLOAT)
        return (as_wide(a) > as_wide(b)) - (as_wide(a) < as_wide(b));

    const double x = scalar_as_double(a), y = scalar_as_double(b);

    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

scalar_outcome scalar_compare(token_kind symbol, const lang_value *a, const lang_value *b,
                              lang_value *result)
{
    const bool is_complex = a->number == LANG_COMPLEX || b->number == LANG_COMPLEX;
    int o = order(a, b);

    if (is_complex && symbol != TOKEN_EQUAL && symbol != TOKEN_NOT_EQUAL)
        return SCALAR_LEFT;
    if (is_complex && imaginary(a) != imaginary(b))
        o = 2;
    *result = scalar_bool(symbol == TOKEN_EQUAL        ? o == 0
                          : symbol == TOKEN_NOT_EQUAL  ? o != 0
                          : symbol == TOKEN_LESS       ? o == -1
                          : symbol == TOKEN_LESS_EQUAL ? o == -1 || o == 0
                          : symbol == TOKEN_GREATER    ? o == 1
                                                       : o == 1 || o == 0);
    return SCALAR_EXACT;
}

scalar_outcome scalar_unary(token_kind symbol, const lang_value *a, lang_value *result, error *err)
{
    const bool negate = symbol == TOKEN_SUBTRACT;

    if (a->number >= LANG_FLOAT && symbol == TOKEN_INVERT)
        return SCALAR_LEFT;
    if (a->number == LANG_FLOAT)
        return give_float(negate ? -a->parts[0] : a->parts[0], result);
    if (a->number == LANG_COMPLEX) {
        *result = negate ? scalar_complex(-a->parts[0], -a->parts[1]) : *a;
        return SCALAR_EXACT;
    }
    return give_wide(negate                   ? -as_wide(a)
                     : symbol == TOKEN_INVERT ? -as_wide(a) - 1
                                              : as_wide(a),
                     result, err);
}
