/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/number.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

/* Whether the text begins as a number of JSON does. */
static bool begins_number(const char *text, const char *end)
{
    if (text < end && *text == '-')
        text++;
    return text < end && *text >= '0' && *text <= '9';
}

/* Whether the number in [text, end), known to be out of the type's range, is
 * below it: from_chars does not say which. Decided by the decimal exponent of
 * its first digit that is not zero. */
static bool is_tiny(const char *text, const char *end)
{
    long before = 0, after = 0, exponent = 0;
    bool point = false, nonzero = false;
    const char *p = text;

    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.')
            point = true;
        else if (*p >= '1' || nonzero) {
            nonzero = nonzero || (*p >= '1' && *p <= '9');
            before += nonzero && !point;
        }
        if (point && !nonzero && *p == '0')
            after++;
    }
    if (p < end) {
        bool negative = ++p < end && *p == '-';

        for (p += p < end && (*p == '-' || *p == '+'); p < end; p++)
            if (exponent < 100000000)
                exponent = exponent * 10 + (*p - '0');
        exponent = negative ? -exponent : exponent;
    }
    return (before > 0 ? before : -after) + exponent < 0;
}

template <typename T> static const char *read_float(const char *text, const char *end, T *value)
{
    if (!begins_number(text, end))
        return nullptr;
    auto result = std::from_chars(text, end, *value);
    if (result.ec == std::errc::result_out_of_range) {
        T limit = is_tiny(text, result.ptr) ? T(0) : std::numeric_limits<T>::infinity();
        *value = *text == '-' ? -limit : limit;
    } else if (result.ec != std::errc())
        return nullptr;
    return result.ptr;
}

template <typename T>
static const char *read_integer(const char *text, const char *end, T *value, bool *out_of_range)
{
    *out_of_range = false;
    if (!begins_number(text, end))
        return nullptr;
    if (std::numeric_limits<T>::min() == 0 && *text == '-') {
        *out_of_range = true;
        return nullptr;
    }
    auto result = std::from_chars(text, end, *value);
    *out_of_range = result.ec == std::errc::result_out_of_range;
    return result.ec == std::errc() ? result.ptr : nullptr;
}

template <typename T> static char *print_float(char *to, T value)
{
    if (std::isnan(value)) {
        std::memcpy(to, "nan", 3);
        return to + 3;
    }
    char *end = std::to_chars(to, to + NUMBER_TEXT_MAX, value).ptr;
    if (std::isinf(value))
        return end;
    for (const char *p = to; p < end; p++)
        if (*p == '.' || *p == 'e')
            return end;
    *end++ = '.';
    *end++ = '0';
    return end;
}

extern "C" {

const char *number_read_f64(const char *text, const char *end, double *value)
{
    return read_float(text, end, value);
}

const char *number_read_f32(const char *text, const char *end, float *value)
{
    return read_float(text, end, value);
}

const char *number_read_i64(const char *text, const char *end, int64_t *value, bool *out_of_range)
{
    return read_integer(text, end, value, out_of_range);
}

const char *number_read_u64(const char *text, const char *end, uint64_t *value, bool *out_of_range)
{
    return read_integer(text, end, value, out_of_range);
}

char *number_print_whole(char *to, double value)
{
    return print_float(to, value);
}

char *number_print_f32(char *to, float value)
{
    return print_float(to, value);
}

char *number_print_i64(char *to, int64_t value)
{
    return std::to_chars(to, to + NUMBER_TEXT_MAX, value).ptr;
}

char *number_print_u64(char *to, uint64_t value)
{
    return std::to_chars(to, to + NUMBER_TEXT_MAX, value).ptr;
}
}
