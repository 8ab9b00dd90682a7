/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/error.h"

static void the_nearest_word_is_kept(void **state)
{
    nearest n = nearest_to("expo", NEAREST_EDITS);

    (void)state;
    nearest_offer(&n, "matmul");
    assert_null(n.word);
    nearest_offer(&n, "xp");
    assert_string_equal(n.word, "xp");
    nearest_offer(&n, "exp");
    assert_string_equal(n.word, "exp");
    nearest_offer(&n, "expm"); /* as near, but later */
    assert_string_equal(n.word, "exp");
}

static void more_edits_than_allowed_are_not_near(void **state)
{
    nearest n = nearest_to("sim", 1);

    (void)state;
    nearest_offer(&n, "cos");
    nearest_offer(&n, "stir");
    assert_null(n.word);
    nearest_offer(&n, "sin");
    assert_string_equal(n.word, "sin");
}

static void an_error_says_what_was_meant_once(void **state)
{
    error err = {0};

    (void)state;
    error_set(&err, ERR_VALUE, "no 'sim'");
    assert_false(error_did_you_mean(&err, NULL));
    assert_string_equal(err.detail, "no 'sim'");
    error_did_you_mean(&err, "sin");
    error_did_you_mean(&err, "sum");
    assert_string_equal(err.detail, "no 'sim'; did you mean sin");
    assert_string_equal(err.suggestion, "sin");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_word_is_kept),
        cmocka_unit_test(more_edits_than_allowed_are_not_near),
        cmocka_unit_test(an_error_says_what_was_meant_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
