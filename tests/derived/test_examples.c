/* SPDX-License-Identifier: Apache-2.0 */
/* What each row of the registry claims of itself, tried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/evaluate.h"

static const op_def *const *rows(size_t *count)
{
    evaluate_init();
    return ops_all(count);
}

/* Whether a text is one sentence: a capital, and a full stop at the end only. */
static bool is_sentence(const char *doc)
{
    const size_t n = doc == NULL ? 0 : strlen(doc);

    return n > 2 && doc[n - 1] == '.' && doc[n - 2] != '.' && strstr(doc, ". ") == NULL;
}

static void every_row_has_exactly_one_meaning(void **state)
{
    size_t count;
    const op_def *const *all = rows(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const op_def *op = all[i];
        const bool indexes = op->view != NULL && op->run != NULL; /* getitem: by its inputs */
        const int meanings = (op->pattern != NULL) + (op->reduce != NULL) + (op->view != NULL) +
                             (op->run != NULL) - indexes + (op->lower != NULL) +
                             (op->control != CONTROL_NONE) + ((op->traits & OP_FORM) != 0);

        if (meanings != 1)
            fail_msg("%s has %d meanings", op->name, meanings);
    }
}

static void every_row_is_documented(void **state)
{
    size_t count;
    const op_def *const *all = rows(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        if (!is_sentence(all[i]->doc))
            fail_msg("%s: the doc is not one sentence: %s", all[i]->name, all[i]->doc);
        if (all[i]->example == NULL || all[i]->gives == NULL || all[i]->family == NULL)
            fail_msg("%s has no example, value or family", all[i]->name);
    }
}

static void every_row_has_a_gradient_or_says_it_has_none(void **state)
{
    size_t count;
    const op_def *const *all = rows(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        bool any = all[i]->lower != NULL || op_takes_functions(all[i]);

        for (int k = 0; k < OP_INPUTS; k++)
            any = any || all[i]->grad[k] != NULL || all[i]->attr_grad[k] != NULL;
        if (any == all[i]->no_grad)
            fail_msg("%s: gradient %d, none declared %d", all[i]->name, any, all[i]->no_grad);
    }
}

static void every_example_gives_its_value(void **state)
{
    size_t count;
    const op_def *const *all = rows(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        evaluated got, want;

        evaluate(&got, all[i]->example, NULL);
        evaluate(&want, all[i]->gives, NULL);
        if (strcmp(evaluated_text(&got), evaluated_text(&want)) != 0 || error_is_set(&got.err))
            fail_msg("%s gives %s, not %s", all[i]->example, evaluated_text(&got),
                     evaluated_text(&want));
        evaluated_clear(&got);
        evaluated_clear(&want);
    }
}

static void optimised_examples_equal_unoptimised_ones(void **state)
{
    const evaluation_options plain = {.unoptimized = true};
    size_t count;
    const op_def *const *all = rows(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        evaluated fast, slow;

        evaluate(&fast, all[i]->example, NULL);
        evaluate(&slow, all[i]->example, &plain);
        assert_int_equal(fast.count, slow.count);
        for (int k = 0; k < fast.count; k++)
            if (!same_bits(&fast.results[k], &slow.results[k]))
                fail_msg("%s: optimised %s, plain %s", all[i]->example, evaluated_text(&fast),
                         evaluated_text(&slow));
        evaluated_clear(&fast);
        evaluated_clear(&slow);
    }
}

/* The graph of an example, printed and built again, prints the same and gives the same. */
static void printed_examples_parse_back(void **state)
{
    size_t count;
    const op_def *const *all = rows(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        evaluated first, second;
        text once, twice;

        text_init(&once);
        text_init(&twice);
        evaluate(&first, all[i]->example, NULL);
        lang_print(first.graph, &once);
        evaluate(&second, once.bytes, NULL);
        if (error_is_set(&second.err))
            fail_msg("%s printed as\n%s\n%s", all[i]->example, once.bytes, second.err.detail);
        lang_print(second.graph, &twice);
        assert_string_equal(once.bytes, twice.bytes);
        assert_string_equal(evaluated_text(&first), evaluated_text(&second));
        evaluated_clear(&first);
        evaluated_clear(&second);
        text_clear(&once);
        text_clear(&twice);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_exactly_one_meaning),
        cmocka_unit_test(every_row_is_documented),
        cmocka_unit_test(every_row_has_a_gradient_or_says_it_has_none),
        cmocka_unit_test(every_example_gives_its_value),
        cmocka_unit_test(optimised_examples_equal_unoptimised_ones),
        cmocka_unit_test(printed_examples_parse_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
