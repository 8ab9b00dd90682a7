/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as operations, what they declare, and parts of graphs. */
#include "tests/lib/program.h"

#include "engine/graph/declaration.h"
#include "engine/graph/define.h"
#include "engine/graph/view.h"

/* A graph of x + y with declared inputs, as an operation called f(y, x). */
typedef struct sum {
    arena *arena;
    graph *body;
    declaration x, y;
    const op_def *op;
} sum;

static void sum_init(sum *s, const char *x, const char *y)
{
    static const int order[] = {1, 0};
    value inputs[2], outputs[OP_OUTPUTS];
    error err = {0};

    s->arena = arena_new();
    s->body = graph_new(s->arena, NULL);
    assert_true(declaration_of_name(x, &s->x));
    assert_true(declaration_of_name(y, &s->y));
    if (s->x.shape.rank > 0)
        s->x.symbols[0] = "n";
    if (s->y.shape.rank > 0)
        s->y.symbols[0] = "n";
    inputs[0] = graph_declare(s->body, "x", &s->x, &err);
    inputs[1] = graph_declare(s->body, "y", &s->y, &err);
    assert_non_null(graph_apply(s->body, op_find("add", 3), inputs, 2, NULL, outputs, &err));
    graph_add_output(s->body, outputs[0]);
    s->op = define_op(s->arena, "f", s->body, order);
}

static void sum_clear(sum *s)
{
    graph_release(s->body);
    arena_free(s->arena);
}

/* f(y, x) for inputs of these types, given in the order of the body's inputs. */
static const node *call(const sum *s, graph *g, dtype x, int64_t n, dtype y, int64_t m, error *err)
{
    const type a = {.dtype = x, .shape = {.rank = 1, .length = {n}}};
    const type b = {.dtype = y, .shape = {.rank = 1, .length = {m}}};
    const value inputs[] = {graph_input(g, "a", &a, err), graph_input(g, "b", &b, err)};
    value outputs[OP_OUTPUTS];

    return graph_apply(g, s->op, inputs, 2, NULL, outputs, err);
}

static void a_call_is_one_node_of_inferred_type(void **state)
{
    graph *g, *in_place;
    const node *n;
    error err = {0};
    sum s;
    text t;

    (void)state;
    sum_init(&s, "dvector", "fvector");
    assert_string_equal(s.op->params[0].name, "y");
    g = graph_new(s.arena, NULL);
    n = call(&s, g, DT_I32, 3, DT_F32, 3, &err);
    assert_non_null(n);
    assert_int_equal(g->count, 3);
    assert_int_equal(n->types[0].dtype, DT_F64);
    assert_int_equal(n->types[0].shape.length[0], 3);
    graph_add_output(g, (value){(node *)n, 0});
    in_place = define_inline(g, s.arena, &err);
    assert_non_null(in_place);
    text_init(&t);
    view_pretty(in_place, &t);
    assert_string_equal(t.bytes, "astype(a, dtype=float64) + b\n");
    text_clear(&t);
    graph_release(in_place);
    graph_release(g);
    sum_clear(&s);
}

static void what_does_not_fit_is_named_with_both_types(void **state)
{
    static const struct {
        dtype x;
        int64_t n, m;
        error_kind kind;
        const char *detail;
    } cases[] = {
        {DT_C64, 3, 3, ERR_DTYPE,
         "f: the input 'x' is declared as float64 [n] and given as complex64 [3]"},
        {DT_F64, 3, 2, ERR_SHAPE, "f: the length 'n' is 2 in axis 0 of 'y' and 3 elsewhere"},
    };
    graph *g;
    sum s;

    (void)state;
    sum_init(&s, "dvector", "dvector");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error err = {0};

        g = graph_new(s.arena, NULL);
        assert_null(call(&s, g, cases[i].x, cases[i].n, DT_F64, cases[i].m, &err));
        assert_int_equal(err.kind, cases[i].kind);
        assert_string_equal(err.detail, cases[i].detail);
        graph_release(g);
    }
    sum_clear(&s);
    sum_init(&s, "drow", "drow");
    g = graph_new(s.arena, NULL);
    {
        error err = {0};

        assert_null(call(&s, g, DT_F64, 3, DT_F64, 3, &err));
        assert_string_equal(
            err.detail, "f: the input 'x' is declared as float64 [n, ?] and given as float64 [3]");
    }
    graph_release(g);
    sum_clear(&s);
}

static void names_of_types_are_theanos(void **state)
{
    static const struct {
        const char *name, *says;
    } cases[] = {
        {"bscalar", "int8 []"},
        {"wvector", "int16 [?]"},
        {"irow", "int32 [1, ?]"},
        {"lcol", "int64 [?, 1]"},
        {"fmatrix", "float32 [?, ?]"},
        {"dtensor3", "float64 [?, ?, ?]"},
        {"ctensor4", "complex64 [?, ?, ?, ?]"},
        {"zscalar", "complex128 []"},
        {"matrix", "float64 [?, ?]"},
        {"itensor7", "int32 [?, ?, ?, ?, ?, ?, ?]"},
        {"tensor8", NULL},
        {"xmatrix", NULL},
        {"dmatrixx", NULL},
        {"", NULL},
        {"d", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        declaration d;
        text t;

        assert_int_equal(declaration_of_name(cases[i].name, &d), cases[i].says != NULL);
        if (cases[i].says == NULL)
            continue;
        text_init(&t);
        declaration_write(&d, &t);
        assert_string_equal(t.bytes, cases[i].says);
        text_clear(&t);
    }
}

/* ---- Parts --------------------------------------------------------------------------------- */

/* The value that a program calls by a name. */
static value named(const program *p, const char *name)
{
    for (int i = 0; i < p->says.assigned_count; i++)
        if (strcmp(p->says.assigned[i].name, name) == 0)
            return p->says.assigned[i].value.tensor;
    fail_msg("no %s", name);
    return (value){0};
}

static void a_part_has_what_its_outputs_need(void **state)
{
    error err = {0};
    bool needed[8];
    program p;
    graph *part;
    text t;

    (void)state;
    program_build(&p, LANG_NUMPY, "h = x @ w\nk = v * 2\ny = h + n\nz = exp(v)\ny");
    part = graph_new(p.arena, NULL);
    {
        const replacement list[] = {{named(&p, "h"), named(&p, "z")}};

        assert_true(graph_extract(p.graph, list, 1, part, needed, &err));
    }
    text_init(&t);
    view_pretty(part, &t);
    assert_string_equal(t.bytes, "exp(v) + n\n");
    assert_int_equal(part->input_count, 2);
    assert_true(!needed[0] && !needed[1] && needed[2] && needed[3]);
    text_clear(&t);
    graph_release(part);
    program_clear(&p);
}

static void a_replacement_by_itself_is_a_cycle(void **state)
{
    error err = {0};
    bool needed[8];
    program p;
    graph *part;

    (void)state;
    program_build(&p, LANG_NUMPY, "h = v * 2\ny = h + 1\ny");
    part = graph_new(p.arena, NULL);
    {
        const replacement list[] = {{named(&p, "h"), named(&p, "y")}};

        assert_false(graph_extract(p.graph, list, 1, part, needed, &err));
        assert_int_equal(err.kind, ERR_CYCLE);
    }
    error_clear(&err);
    {
        const replacement list[] = {{named(&p, "h"), named(&p, "y")},
                                    {named(&p, "y"), named(&p, "h")}};

        assert_false(graph_extract(p.graph, list, 2, part, needed, &err));
        assert_int_equal(err.kind, ERR_CYCLE);
    }
    graph_release(part);
    program_clear(&p);
}

static int set_up(void **state)
{
    (void)state;
    ops_init();
    lang_init();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_one_node_of_inferred_type),
        cmocka_unit_test(what_does_not_fit_is_named_with_both_types),
        cmocka_unit_test(names_of_types_are_theanos),
        cmocka_unit_test(a_part_has_what_its_outputs_need),
        cmocka_unit_test(a_replacement_by_itself_is_a_cycle),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
