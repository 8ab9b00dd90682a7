/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "storage/names.h"
#include "storage/private.h"

enum { NAMES = 500, STEPS = 20000 };

static void print_name(char to[16], int i)
{
    snprintf(to, 16, "n%03d", i);
}

/* The map with name i standing for version, 0 being none. */
static names *set(names *n, int i, int64_t version)
{
    char name[16];
    entry *e;

    print_name(name, i);
    if (version == 0)
        return names_find(n, name) == NULL ? n : names_remove_take(n, name);
    e = entry_new(name, ENTRY_VARIABLE);
    e->version = version;
    return names_put_take(n, e);
}

/* Checks that the map is exactly what model says, by finding and by going through. */
static void check(const names *n, const int64_t model[NAMES])
{
    const entry *next = names_after(n, "", true);
    char name[16];

    for (int i = 0; i < NAMES; i++) {
        const entry *found;

        print_name(name, i);
        found = names_find(n, name);
        assert_true((found == NULL) == (model[i] == 0));
        if (found == NULL)
            continue;
        assert_int_equal(found->version, model[i]);
        assert_ptr_equal(next, found);
        next = names_after(n, name, false);
    }
    assert_null(next);
}

static void it_is_a_map_and_old_maps_do_not_change(void **state)
{
    static int64_t model[NAMES], old_model[NAMES];
    names *n = NULL, *old = NULL;

    (void)state;
    srandom(17);
    for (int step = 1; step <= STEPS; step++) {
        int i = (int)(random() % NAMES);

        model[i] = random() % 3 == 0 ? 0 : step;
        n = set(n, i, model[i]);
        if (step % 1000 == 0) {
            check(n, model);
            check(old, old_model);
            names_unref(old);
            old = names_ref(n);
            memcpy(old_model, model, sizeof model);
        }
    }
    names_unref(n);
    check(old, old_model);
    names_unref(old);
}

static void an_empty_map_is_null(void **state)
{
    names *n = set(NULL, 1, 1);

    (void)state;
    assert_null(names_find(NULL, "x"));
    assert_null(names_after(NULL, "", true));
    assert_null(set(n, 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_a_map_and_old_maps_do_not_change),
        cmocka_unit_test(an_empty_map_is_null),
    };

    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
