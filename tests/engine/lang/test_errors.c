/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a program is said with its place. */
#include "tests/lib/program.h"

static const struct expected {
    const char *words;
    error_kind kind;
    int line, column;
    const char *part; /* of the detail */
} cases[] = {
    {"x +", ERR_SYNTAX, 1, 4, "the end of the program"},
    {"(1, 2", ERR_SYNTAX, 1, 6, "expected ',' or ')'"},
    {"y = 1\n  z = 2", ERR_SYNTAX, 2, 3, "begins no block"},
    {"def f(a):\n  b = a", ERR_SYNTAX, 1, 5, "must end in a return"},
    {"def f(a):\nreturn a", ERR_SYNTAX, 2, 1, "expected an indented block"},
    {"def f(a):\n    b = 1\n  return b", ERR_SYNTAX, 3, 3, "indented less"},
    {"def f(a, a): return a", ERR_SYNTAX, 1, 10, "twice"},
    {"return 1", ERR_SYNTAX, 1, 1, "outside of a function"},
    {"for i in x: i", ERR_SYNTAX, 1, 1, "use map"},
    {"while p: x", ERR_SYNTAX, 1, 1, "while_loop"},
    {"if p: x", ERR_SYNTAX, 1, 1, "cond"},
    {"[a for a in x]", ERR_SYNTAX, 1, 4, "comprehensions"},
    {"import numpy as np", ERR_SYNTAX, 1, 1, "np. may stand before"},
    {"{1: 2}", ERR_SYNTAX, 1, 1, "dictionaries"},
    {"1 = x", ERR_SYNTAX, 1, 1, "cannot be assigned"},
    {"x + 1 = 2", ERR_SYNTAX, 1, 3, "cannot be assigned"},
    {"x[0][1] = 2", ERR_SYNTAX, 1, 5, "one index"},
    {"x.T = 2", ERR_SYNTAX, 1, 2, "attributes cannot be assigned"},
    {"x.shap", ERR_SYNTAX, 1, 3, "did you mean shape"},
    {"'abc", ERR_SYNTAX, 1, 1, "does not end"},
    {"12ab", ERR_SYNTAX, 1, 1, "not a number"},
    {"012", ERR_SYNTAX, 1, 1, "octal"},
    {"x $ 1", ERR_SYNTAX, 1, 3, "means nothing"},
    {"f(a=1, 2)", ERR_SYNTAX, 1, 8, "positional arguments"},
    {"18446744073709551616", ERR_OVERFLOW, 1, 1, "neither int64 nor uint64"},
    {"2 ** 64", ERR_OVERFLOW, 1, 3, "neither int64 nor uint64"},
    {"x\ny\n", ERR_UNKNOWN_NAME, 2, 1, "'y' is not known"},
    {"alhpa + 1", ERR_UNKNOWN_NAME, 1, 1, "did you mean alpha"},
    {"soft_max(x)", ERR_UNKNOWN_OP, 1, 1, "did you mean softmax"},
    {"linalg.foo(x)", ERR_UNKNOWN_OP, 1, 8, "linalg.foo"},
    {"x.nothing(1)", ERR_UNKNOWN_OP, 1, 3, "no method"},
    {"del y", ERR_NONE, 0, 0, ""},
    {"y = 1; del y; y", ERR_UNKNOWN_NAME, 1, 15, "was deleted"},
    {"sqrt(1, 2)", ERR_ARGUMENT, 1, 1, "sqrt takes 1 argument, got 2"},
    {"x.sum(axes=1)", ERR_UNKNOWN_ATTR, 1, 3, "did you mean axis"},
    {"sum(x, axis=\"a\")", ERR_ARGUMENT, 1, 1, "sum: axis must be"},
    {"sum(x, axis=5)", ERR_AXIS, 1, 1, "axis 5"},
    {"sum(x, axis=sin)", ERR_ARGUMENT, 1, 1, "cannot be an operation"},
    {"reshape(x, 1, 2)", ERR_ARGUMENT, 1, 1, "reshape takes 2 arguments, got 3"},
    {"zeros(2, dtype=\"flat32\")", ERR_DTYPE_NAME, 1, 1, "float32"},
    {"sin(\"a\")", ERR_ARGUMENT, 1, 1, "not a text"},
    {"x @ x", ERR_SHAPE, 1, 3, "matmul"},
    {"1 +\\\n x + [1, 2]", ERR_SHAPE, 2, 4, "add"},
    {"[[1, 2], [3]]", ERR_VALUE, 1, 1, "ragged: item [1] has 1 elements"},
    {"[1, [2]]", ERR_VALUE, 1, 1, "ragged"},
    {"array([300], dtype=\"int8\")", ERR_OVERFLOW, 1, 1, "300 does not fit int8"},
    {"x[0, 0, 0]", ERR_INDEX, 1, 2, "getitem"},
    {"x[1.0]", ERR_INDEX, 1, 2, "not a float"},
    {"x[n:]", ERR_INDEX, 1, 2, "must be known"},
    {"(1, 2)[2]", ERR_INDEX, 1, 7, "out of range"},
    {"a, b = 1, 2, 3", ERR_VALUE, 1, 1, "3 values cannot be unpacked into 2"},
    {"x and 1", ERR_VALUE, 1, 3, "needs a scalar"},
    {"1 if x else 2", ERR_VALUE, 1, 3, "needs a scalar"},
    {"def f(a): return f(a)\nf(1)", ERR_VALUE, 1, 18, "recursion"},
    {"f = lambda a: a\nf()", ERR_ARGUMENT, 2, 1, "takes 1 argument, got 0"},
    {"i8 += 0.5", ERR_DTYPE, 1, 4, "in place"},
    {"v += x", ERR_SHAPE, 1, 3, "in place"},
    {"1 is 1", ERR_VALUE, 1, 3, "use =="},
    {"sin", ERR_ARGUMENT, 1, 1, "needs a tensor"},
    {"cond(p, lambda: print(1), lambda: 2)", ERR_ARGUMENT, 1, 17, "print"},
    {"cond(p, 1, 2)", ERR_ARGUMENT, 1, 1, "lambda"},
    {"\xc3\xa4\xc3\xb6 = 1; \xc3\xa4\xc3\xb6 + \xc3\xbc", ERR_UNKNOWN_NAME, 1, 14, "not known"},
    {"x = 1 # \xff", ERR_SYNTAX, 0, 0, "UTF-8"},
};

static void errors_say_what_and_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct expected *e = &cases[i];
        program p;

        program_build(&p, LANG_NUMPY, e->words);
        if (p.err.kind != e->kind || p.err.line != e->line || p.err.column != e->column ||
            strstr(p.err.detail, e->part) == NULL)
            fail_msg("%s\ngives %s at %d:%d: %s", e->words, error_info_of(p.err.kind)->code,
                     p.err.line, p.err.column, p.err.detail);
        program_clear(&p);
    }
}

/* A text of n repetitions. */
static char *repeated(const char *part, size_t n)
{
    text t;

    text_init(&t);
    for (size_t i = 0; i < n; i++)
        text_add(&t, part);
    return text_take(&t);
}

static void fails_with(const char *part, size_t n, error_kind kind)
{
    const lang_options options = {.text_bytes_max = 16 << 20};
    const lang_scope scope = {.resolve = program_resolve};
    char *words = repeated(part, n);
    arena *a = arena_new();
    graph *g = graph_new(a, NULL);
    lang_program says;
    error err = {0};

    lang_build(g, words, strlen(words), &options, &scope, &says, &err);
    assert_int_equal(err.kind, kind);
    graph_release(g);
    arena_free(a);
    free(words);
}

static void nothing_that_is_too_much_harms(void **state)
{
    (void)state;
    fails_with("(", 1000000, ERR_SYNTAX);
    fails_with("[", 1000000, ERR_SYNTAX);
    fails_with("-", 1000000, ERR_SYNTAX);
    fails_with("not ", 1000000, ERR_SYNTAX);
    fails_with("lambda:", 1000000, ERR_SYNTAX);
    fails_with("1 if 1 else ", 100000, ERR_SYNTAX);
    fails_with("2**", 100000, ERR_SYNTAX);
    fails_with("x+", 100000, ERR_SYNTAX);
    fails_with("x+x\n", 100000, ERR_GRAPH_SIZE);
    fails_with("1\n", 100000, ERR_NONE);
    fails_with("a=[a]\n", 2, ERR_UNKNOWN_NAME);
    fails_with("\"\"\"a\"\"\";", 100000, ERR_ARGUMENT);
    fails_with("9", 1000000, ERR_OVERFLOW);
    fails_with("a", 1000000, ERR_NAME);
}

static void what_doubles_is_stopped(void **state)
{
    static const char *const steps[] = {"t = (t, t)\n", "t = t + t\n", "t = [t, t]\n"};

    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char *rest = repeated(steps[i], 60);
        text words;
        program p;

        text_init(&words);
        text_addf(&words, "t = (1, 1)\n%st[0] + 0\nt + 0", rest);
        program_build(&p, LANG_NUMPY, words.bytes);
        assert_int_equal(p.err.kind, ERR_GRAPH_SIZE);
        program_clear(&p);
        text_clear(&words);
        free(rest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_what_and_where),
        cmocka_unit_test(nothing_that_is_too_much_harms),
        cmocka_unit_test(what_doubles_is_stopped),
    };

    ops_init();
    lang_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
