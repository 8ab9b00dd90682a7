/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/wire/slice.h"
#include "tests/fuzz/targets.h"
#include "tests/lib/evaluate.h"

/* A part of a tensor lies within it. */
static void check_slice(const char *text)
{
    static const shape lengths = {.rank = 3, .length = {4, 5, 6}};
    tensor t, part;
    error err = {0};
    slice s;

    if (!slice_parse(text, &s, &err))
        return;
    target_check(tensor_new(&t, NULL, DT_I16, &lengths, &err), "there is a small tensor");
    if (slice_apply(&s, &t, &part, &err)) {
        int64_t low = part.offset, high = part.offset;

        for (int i = 0; i < part.shape.rank; i++) {
            const int64_t far = (part.shape.length[i] - 1) * part.strides[i];

            *(far < 0 ? &low : &high) += far;
        }
        target_check(tensor_size(&part) == 0 || (low >= 0 && high < 120), "a part is within");
    }
    tensor_unref(&t);
}

/* What a program builds prints as a program that builds the same. */
static void check_program(const char *words, size_t n, lang_dialect dialect)
{
    const lang_options options = {.dialect = dialect}, again = {.dialect = LANG_NUMPY};
    arena *a = arena_new();
    graph *g = graph_new(a, NULL), *copy = graph_new(a, NULL);
    lang_program built = {0};
    error err = {0};
    text first, second;

    text_init(&first);
    text_init(&second);
    if (lang_build(g, words, n, &options, NULL, &built, &err)) {
        for (int i = 0; i < built.result_count; i++)
            graph_add_output(g, built.results[i]);
        lang_print(g, &first);
        target_check(lang_build(copy, first.bytes, first.length, &again, NULL, &built, &err),
                     first.bytes);
        for (int i = 0; i < built.result_count; i++)
            graph_add_output(copy, built.results[i]);
        lang_print(copy, &second);
        target_check(strcmp(first.bytes, second.bytes) == 0, first.bytes);
    }
    text_clear(&first);
    text_clear(&second);
    graph_release(g);
    graph_release(copy);
    arena_free(a);
}

void target_language(const uint8_t *bytes, size_t n)
{
    const unsigned kind = n > 0 ? bytes[0] % 4 : 0;
    char *words = strndup((const char *)bytes + (n > 0), n > 0 ? n - 1 : 0);

    evaluate_init();
    if (kind == 0)
        check_slice(words);
    else
        check_program(words, strlen(words), kind == 1 ? LANG_TENSOR_STATEMENTS : LANG_NUMPY);
    free(words);
}
