/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/targets.h"
#include "tests/fuzz/targets/sentences.h"
#include "tests/lib/evaluate.h"

/* Whether two values are equal in text: NaNs are, whatever their bits. */
static void compare(const char *program, evaluated *plain, evaluated *optimized)
{
    const char *a, *b;

    if (error_is_set(&plain->err) || error_is_set(&optimized->err))
        return; /* an operation that nobody needs may fail, and be left out */
    a = evaluated_text(plain);
    b = evaluated_text(optimized);
    if (strcmp(a, b) == 0)
        return;
    fprintf(stderr, "%s\nas written: %s\noptimised:  %s\n", program, a, b);
    abort();
}

void target_compute(const uint8_t *bytes, size_t n)
{
    const evaluation_options as_written = {.unoptimized = true, .peak_bytes = 16 << 20},
                             strict = {.strict = true, .peak_bytes = 16 << 20};
    supply s = {bytes, bytes + n};
    evaluated plain, optimized;
    int64_t idle;
    text program;

    evaluate_init();
    idle = server_memory_used();
    text_init(&program);
    sentences_add(&s, false, &program);
    evaluate(&plain, program.bytes, &as_written);
    if (!error_is_set(&plain.err)) {
        evaluate(&optimized, program.bytes, &strict);
        compare(program.bytes, &plain, &optimized);
        evaluated_clear(&optimized);
    }
    evaluated_clear(&plain);
    target_check(server_memory_used() == idle, "what was computed with is given back");
    text_clear(&program);
}
