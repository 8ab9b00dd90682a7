/* SPDX-License-Identifier: Apache-2.0 */
/* Every elementwise row on every type it takes: an element's value depends on nothing but
 * the inputs' elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/plan/tile.h"
#include "tests/lib/evaluate.h"

enum { N = 1003 }; /* no multiple of any lane count */

/* Fills a tensor with small numbers of either sign, a few special ones among floats. */
static tensor numbers(dtype t, int seed)
{
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, 3.0, -2.5};
    const shape s = {.rank = 1, .length = {N}};
    double values[N + 16];
    tensor result;
    error err = {0};
    char block[LANES * 16];

    for (int i = 0; i < N + 16; i++)
        values[i] =
            i % 7 == 0 ? special[(i / 7 + seed) % 8] : ((i * 37 + seed * 11) % 201) / 8.0 - 12;
    assert_true(tensor_new(&result, NULL, t, &s, &err));
    for (int i = 0; i < N; i += LANES) {
        const void *in[] = {values + i};
        const int n = N - i < LANES ? N - i : LANES;

        kernel_cast(DT_F64, t)(LANES, block, in);
        memcpy((char *)tensor_bytes(&result) + (size_t)i * dtype_size(t), block,
               (size_t)n * dtype_size(t));
    }
    return result;
}

/* The program that applies op to inputs, each with the given index behind its name. */
static void program_of(const op_def *op, const char *index, char to[256])
{
    static const char *const names[] = {"a", "b", "c"};
    size_t n = (size_t)snprintf(to, 256, "%s(", op->name);

    for (int i = 0; i < op->input_count; i++)
        n += (size_t)snprintf(to + n, 256 - n, "%s%s%s", i > 0 ? ", " : "", names[i], index);
    snprintf(to + n, 256 - n, ")");
}

typedef struct row_case {
    const op_def *op;
    evaluation_input inputs[3];
    evaluation_options options;
} row_case;

/* Whether the row takes inputs of this type at all; most reject some. */
static bool prepare(row_case *c, const op_def *op, dtype t)
{
    static const char *const names[] = {"a", "b", "c"};
    const bool chooses = op->pattern[0] == 'B';
    type types[3];
    const op_call call = {.op = op, .count = op->input_count, .inputs = types};
    dtype loop;
    error ignored = {0};

    memset(c, 0, sizeof *c);
    c->op = op;
    for (int i = 0; i < op->input_count; i++)
        types[i] = (type){.dtype = chooses && i == 0 ? DT_BOOL : t};
    if (!op_loop(&call, &loop, NULL, &ignored))
        return false;
    for (int i = 0; i < op->input_count; i++) {
        c->inputs[i].name = names[i];
        c->inputs[i].value = numbers(types[i].dtype, i + 1);
    }
    c->options = (evaluation_options){.input_count = op->input_count, .inputs = c->inputs};
    return true;
}

static void clear(row_case *c)
{
    for (int i = 0; i < c->op->input_count; i++)
        tensor_unref(&c->inputs[i].value);
}

/* Whether the program with an index behind each input gives the whole result indexed. */
static void check_index(row_case *c, dtype t, const tensor *whole, const char *index)
{
    const evaluation_input result = {"r", *whole};
    const evaluation_options of_whole = {.input_count = 1, .inputs = &result};
    char program[256], indexed[64];
    evaluated part, want;

    program_of(c->op, index, program);
    snprintf(indexed, sizeof indexed, "r%s", index);
    evaluate(&part, program, &c->options);
    evaluate(&want, indexed, &of_whole);
    if (error_is_set(&part.err) || !same_bits(&part.results[0], &want.results[0]))
        fail_msg("%s of %s differs from the whole: %s", program, dtype_name(t), part.err.detail);
    evaluated_clear(&part);
    evaluated_clear(&want);
}

/* Calls check(case, type, whole result) for every row and type. Division by zero and
 * negative powers of integers are errors or zeros, the same everywhere. */
static void for_every_row(void (*check)(row_case *, dtype, const tensor *))
{
    size_t count;
    int ran = 0;

    evaluate_init();
    const op_def *const *all = ops_all(&count);
    for (size_t i = 0; i < count; i++)
        for (int t = 0; all[i]->pattern != NULL && all[i]->infer == NULL && t < DT_COUNT; t++) {
            row_case c;
            evaluated whole;
            char program[256];

            if (!prepare(&c, all[i], (dtype)t))
                continue;
            program_of(all[i], "", program);
            evaluate(&whole, program, &c.options);
            if (whole.err.kind != ERR_VALUE) { /* integers to negative powers */
                if (error_is_set(&whole.err))
                    fail_msg("%s of %s: %s", program, dtype_name((dtype)t), whole.err.detail);
                check(&c, (dtype)t, &whole.results[0]);
                ran++;
            }
            evaluated_clear(&whole);
            clear(&c);
        }
    assert_true(ran > 500);
    print_message("note: %d pairs of row and type\n", ran);
}

static void check_parts(row_case *c, dtype t, const tensor *whole)
{
    check_index(c, t, whole, "[5:6]");
    check_index(c, t, whole, "[1:42]");
    check_index(c, t, whole, "[17:]");
    check_index(c, t, whole, "[::3]");
    check_index(c, t, whole, "[::-1]");
    check_index(c, t, whole, "[None, 3:40, None]");
}

static void an_element_does_not_depend_on_its_place(void **state)
{
    (void)state;
    for_every_row(check_parts);
}

static void check_tiles(row_case *c, dtype t, const tensor *whole)
{
    char program[256];
    evaluated again;

    program_of(c->op, "", program);
    tile_set_bytes(8192);
    evaluate(&again, program, &c->options);
    tile_set_bytes(2048);
    if (!same_bits(&again.results[0], whole))
        fail_msg("%s of %s depends on the tile size", program, dtype_name(t));
    evaluated_clear(&again);
}

static void an_element_does_not_depend_on_the_tile_size(void **state)
{
    (void)state;
    for_every_row(check_tiles);
}

static void check_empty(row_case *c, dtype t, const tensor *whole)
{
    check_index(c, t, whole, "[3:3]");
    check_index(c, t, whole, "[7]");
}

static void no_elements_and_scalars_are_fine(void **state)
{
    (void)state;
    for_every_row(check_empty);
}

/* The program that applies op to constants of a type, which begin at a place in a list. */
static void program_of_constants(const op_def *op, dtype t, int first, char to[256])
{
    static const char *const numbers[] = {"3.0", "-2.5", "0.0", "1.0", "-0.0", "12.25", "0.5"};
    size_t n = (size_t)snprintf(to, 256, "%s(", op->name);

    for (int i = 0; i < op->input_count; i++)
        n += (size_t)snprintf(to + n, 256 - n, "%sastype(%s, \"%s\")", i > 0 ? ", " : "",
                              numbers[(first + i) % 7],
                              op->pattern[0] == 'B' && i == 0 ? "bool" : dtype_name(t));
    snprintf(to + n, 256 - n, ")");
}

static void check_folded(row_case *c, dtype t, const tensor *whole)
{
    const evaluation_options plain = {.unoptimized = true};

    (void)whole;
    for (int first = 0; first < 7; first++) {
        char program[256];
        evaluated folded, ran;

        program_of_constants(c->op, t, first, program);
        evaluate(&folded, program, NULL);
        evaluate(&ran, program, &plain);
        if (folded.err.kind != ran.err.kind)
            fail_msg("%s: %s, and without folding: %s", program, folded.err.detail, ran.err.detail);
        if (!error_is_set(&ran.err) && !same_bits(&folded.results[0], &ran.results[0]))
            fail_msg("%s has another value when it is folded", program);
        if (folded.stats.divided != ran.stats.divided)
            fail_msg("%s: whether zero divides is said once only", program);
        evaluated_clear(&folded);
        evaluated_clear(&ran);
    }
}

static void constants_are_folded_to_what_a_run_gives(void **state)
{
    (void)state;
    for_every_row(check_folded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_does_not_depend_on_its_place),
        cmocka_unit_test(an_element_does_not_depend_on_the_tile_size),
        cmocka_unit_test(no_elements_and_scalars_are_fine),
        cmocka_unit_test(constants_are_folded_to_what_a_run_gives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
