/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/name.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

static const char *const keywords[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
};

/* The element types' names cannot come from dtype.def, which lies above this
 * module; the unit test of tensor/dtype.c compares the two. */
static const char *const dtype_names[] = {
    "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",     "uint32",
    "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
};

static bool is_among(const char *bytes, size_t length, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && memcmp(words[i], bytes, length) == 0)
            return true;
    return false;
}

bool name_is_keyword(const char *bytes, size_t length)
{
    return is_among(bytes, length, keywords, sizeof keywords / sizeof *keywords);
}

static bool is_letter(utf8proc_int32_t c)
{
    const utf8proc_category_t k = utf8proc_category(c);

    return c == '_' || (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO);
}

static bool continues_name(utf8proc_int32_t c)
{
    const utf8proc_category_t k = utf8proc_category(c);

    return is_letter(c) || k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_MN ||
           k == UTF8PROC_CATEGORY_MC;
}

size_t name_scan(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length) {
        utf8proc_int32_t c;
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                              (utf8proc_ssize_t)(length - at), &c);

        if (n <= 0 || !(at == 0 ? is_letter(c) : continues_name(c)))
            break;
        at += (size_t)n;
    }
    return at;
}

/* Whether it is in normal form already: letters, digits and _ of ASCII. */
static bool is_plain(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!((bytes[i] >= 'a' && bytes[i] <= 'z') || (bytes[i] >= 'A' && bytes[i] <= 'Z') ||
              (bytes[i] >= '0' && bytes[i] <= '9') || bytes[i] == '_'))
            return false;
    return true;
}

/* The normal form, to be freed; NULL if there is none, since it is no UTF-8. */
static char *normal_form(const char *bytes, size_t length)
{
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    utf8proc_uint8_t *normal = NULL;

    if (is_plain(bytes, length))
        return strndup(bytes, length);
    return utf8proc_map((const utf8proc_uint8_t *)bytes, (utf8proc_ssize_t)length, &normal,
                        options) < 0
               ? NULL
               : (char *)normal;
}

const char *name_normalise(arena *a, const char *bytes, size_t length, error *err)
{
    const char *name = NULL;
    char *normal = NULL;

    if (memchr(bytes, '\0', length) != NULL)
        error_set(err, ERR_NAME, "a name has no zero byte");
    else if (length == 0 || length > 4 * NAME_BYTES ||
             (normal = normal_form(bytes, length)) == NULL)
        error_set(err, ERR_NAME, "a name is 1 to %d bytes of UTF-8, this has %zu", NAME_BYTES,
                  length);
    else if (strlen(normal) > NAME_BYTES)
        error_set_limit(err, ERR_NAME, NAME_BYTES, (int64_t)strlen(normal),
                        "a name has at most %d bytes, this has %zu", NAME_BYTES, strlen(normal));
    else if (name_scan(normal, strlen(normal)) != strlen(normal))
        error_set(err, ERR_NAME,
                  "'%.128s' is not a name: a letter or _ first, then letters, digits and _",
                  normal);
    else if (name_is_keyword(normal, strlen(normal)))
        error_set(err, ERR_NAME, "'%s' is a word of the language and cannot be a name", normal);
    else if (is_among(normal, strlen(normal), dtype_names,
                      sizeof dtype_names / sizeof *dtype_names))
        error_set(err, ERR_NAME, "'%s' is an element type and cannot be a name", normal);
    else
        name = arena_copy(a, normal, strlen(normal));
    free(normal);
    return name;
}
