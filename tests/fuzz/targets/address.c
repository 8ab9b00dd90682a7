/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/base/name.h"
#include "server/http/uri.h"
#include "server/wire/format.h"
#include "tests/fuzz/targets.h"

static void check_name(arena *a, const char *text, size_t n)
{
    error err = {0};
    const char *name = name_normalise(a, text, n, &err);

    if (name == NULL)
        return;
    target_check(strlen(name) <= NAME_BYTES && strpbrk(name, "/\\. ") == NULL, "a name is a word");
    target_check(strcmp(name_normalise(a, name, strlen(name), &err), name) == 0,
                 "a normal form is its own");
}

static void check_target(arena *a, const char *text)
{
    error err = {0};
    uri u;

    if (!uri_parse(a, text, &u, &err))
        return;
    for (int i = 0; i < u.segment_count; i++)
        target_check(strpbrk(u.segments[i], "/\\") == NULL && strcmp(u.segments[i], "..") != 0,
                     "no segment leads elsewhere");
}

void target_address(const uint8_t *bytes, size_t n)
{
    arena *a = arena_new();
    const char *text = arena_copy(a, (const char *)bytes + (n > 0), n > 0 ? n - 1 : 0);
    const unsigned kind = n > 0 ? bytes[0] % 6 : 0;
    error err = {0};
    wire_hints hints;
    wire_format f;

    if (kind == 0)
        check_target(a, text);
    else if (kind == 1)
        check_name(a, text, n - 1);
    else if (kind == 2)
        wire_format_choose(text, NULL, 0x1f, &f, &err);
    else if (kind == 3)
        wire_format_of_content(text, 0x1f, &f, &err);
    else if (kind == 4)
        wire_hints_parse("int8", text, &hints, &err);
    else
        wire_hints_parse(text, "2,3", &hints, &err);
    arena_free(a);
}
