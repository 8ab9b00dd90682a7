/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/server/wire/bodies.h"

/* A request being read; the reader holds its tensors. */
typedef struct reading {
    arena *arena;
    wire_reader *reader;
    wire_request request;
    error err;
} reading;

static bool begin(reading *r, wire_document document, const char *body)
{
    const wire_reader_options o = {.document = document, .length = -1};
    const wire_value *root;

    memset(r, 0, sizeof *r);
    r->arena = arena_new();
    r->reader = wire_reader_new(r->arena, NULL, &o, &r->err);
    if (!feed(r->reader, body, strlen(body), WHOLE, 0, &r->err))
        return false;
    root = wire_reader_root(r->reader);
    if (document == WIRE_EVAL_BODY)
        return wire_read_eval(root, NULL, r->arena, &r->request, &r->err);
    if (document == WIRE_RUN_BODY)
        return wire_read_run(root, r->arena, &r->request, &r->err);
    return wire_read_grad(root, r->arena, &r->request, &r->err);
}

static void end(reading *r)
{
    wire_reader_free(r->reader);
    arena_free(r->arena);
}

static void eval_requests_are_read_in_full(void **state)
{
    reading r;
    const wire_request *q = &r.request;

    (void)state;
    assert_true(
        begin(&r, WIRE_EVAL_BODY,
              "{\"program\": \"y = x + 1\", \"inputs\": {\"x\": [1, 2], \"n\": 3},"
              "\"outputs\": [\"y\", \"q:1\"], \"store\": {\"kept\": \"y\"}, \"delete\": "
              "[\"old\"], \"dialect\": \"tensor\", \"dry_run\": true, \"timeout_ms\": 500,"
              "\"strict\": true, \"seed\": 7, \"trace\": true, \"givens\": {\"x\": \"y\"},"
              "\"durability\": \"memory\", \"isolation\": \"snapshot\", \"optimize\": false}"));
    assert_string_equal(q->program, "y = x + 1");
    assert_null(q->graph);
    assert_int_equal(q->inputs.count, 2);
    assert_string_equal(q->inputs.items[0].name, "x");
    assert_int_equal(tensor_size(q->inputs.items[0].tensor), 2);
    assert_true(q->inputs.items[1].tensor->weak);
    assert_int_equal(q->outputs.count, 2);
    assert_string_equal(q->outputs.items[1], "q:1");
    assert_int_equal(q->store.count, 1);
    assert_string_equal(q->store.items[0].stored, "kept");
    assert_string_equal(q->store.items[0].name, "y");
    assert_string_equal(q->delete.items[0], "old");
    assert_int_equal(q->dialect, WIRE_SMALL);
    assert_true(q->dry_run && q->strict && q->trace && !q->optimize && q->has_seed);
    assert_int_equal(q->timeout_ms, 500);
    assert_int_equal(q->seed, 7);
    assert_int_equal(wire_count(q->givens), 1);
    assert_int_equal(q->durability, WIRE_MEMORY);
    assert_int_equal(q->isolation, WIRE_SNAPSHOT);
    end(&r);
}

static void what_is_left_out_has_its_default(void **state)
{
    reading r;
    const wire_request *q = &r.request;

    (void)state;
    assert_true(begin(&r, WIRE_EVAL_BODY, "{\"graph\": {}, \"store\": \"all\"}"));
    assert_true(q->optimize && q->store_all && !q->dry_run && !q->has_seed);
    assert_int_equal(q->timeout_ms, 0);
    assert_int_equal(q->dialect, WIRE_NUMPY);
    assert_int_equal(q->durability, WIRE_DISK);
    assert_non_null(q->graph);
    end(&r);
    assert_true(
        begin(&r, WIRE_RUN_BODY,
              "{\"feeds\": {\"x\": 1}, \"fetches\": [\"h\"], \"updates\": {\"w\": \"w_new\"},"
              "\"store\": [\"h\"]}"));
    assert_string_equal(q->updates.items[0].stored, "w");
    assert_string_equal(q->updates.items[0].name, "w_new");
    assert_string_equal(q->store.items[0].stored, "h");
    end(&r);
    assert_true(begin(&r, WIRE_GRAPH_BODY,
                      "{\"of\": \"loss\", \"wrt\": [\"w\", \"b\"], \"as\": \"loss_grad\"}"));
    assert_string_equal(q->of, "loss");
    assert_int_equal(q->wrt.count, 2);
    end(&r);
}

static const struct {
    wire_document document;
    const char *body;
    error_kind kind;
    const char *pointer, *says;
} bad[] = {
    {WIRE_EVAL_BODY, "[]", ERR_REQUEST, "", "an object"},
    {WIRE_EVAL_BODY, "{}", ERR_REQUEST, "", "'program'"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"graph\": {}}", ERR_REQUEST, "", "not both"},
    {WIRE_EVAL_BODY, "{\"progam\": \"1\"}", ERR_MEMBER, "/progam", "did you mean 'program'"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"feeds\": {}}", ERR_MEMBER, "/feeds", "feeds"},
    {WIRE_EVAL_BODY, "{\"program\": 1}", ERR_REQUEST, "/program", "expected a string"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"inputs\": [1]}", ERR_REQUEST, "/inputs", "an object"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"inputs\": {\"x\": null}}", ERR_REQUEST, "/inputs/x",
     "expected a tensor, found null"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"inputs\": {\"x\": \"text\"}}", ERR_REQUEST,
     "/inputs/x", "a string"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"inputs\": {\"x\": {\"dtype\": \"int8\"}}}",
     ERR_REQUEST, "/inputs/x", "an object"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"inputs\": {\"1x\": 1}}", ERR_NAME, "/inputs/1x", "1x"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"inputs\": {\"\\u00e9\": 1, \"e\\u0301\": 2}}",
     ERR_REQUEST, "/inputs/e\xcc\x81", "twice"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"outputs\": \"y\"}", ERR_REQUEST, "/outputs", "a list"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"outputs\": [\"y\", 1]}", ERR_REQUEST, "/outputs/1",
     "a string"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"outputs\": [\"y:\"]}", ERR_NAME, "/outputs/0",
     "colon"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"store\": \"y\"}", ERR_REQUEST, "/store", "all"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"store\": [\"y\", \"y\"]}", ERR_REQUEST, "/store/1",
     "twice"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"store\": {\"y\": 1}}", ERR_REQUEST, "/store/y",
     "a string"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"store\": {\"lambda\": \"y\"}}", ERR_NAME,
     "/store/lambda", "lambda"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"dialect\": \"R\"}", ERR_REQUEST, "/dialect", "numpy"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"timeout_ms\": 0}", ERR_REQUEST, "/timeout_ms", "1 or"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"timeout_ms\": 1.5}", ERR_REQUEST, "/timeout_ms",
     "an integer"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"seed\": -1}", ERR_REQUEST, "/seed", "-1"},
    {WIRE_EVAL_BODY, "{\"program\": \"1\", \"strict\": 1}", ERR_REQUEST, "/strict", "a boolean"},
    {WIRE_EVAL_BODY, "{\"graph\": \"g\"}", ERR_REQUEST, "/graph", "an object"},
    {WIRE_RUN_BODY, "{\"updates\": [\"w\"]}", ERR_REQUEST, "/updates", "an object"},
    {WIRE_GRAPH_BODY, "{\"of\": \"loss\"}", ERR_REQUEST, "", "wrt"},
    {WIRE_GRAPH_BODY, "{\"of\": \"loss\", \"wrt\": [\"w\"], \"ass\": \"g\"}", ERR_MEMBER, "/ass",
     "did you mean"},
};

static void bad_requests_are_refused_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        reading r;

        if (begin(&r, bad[i].document, bad[i].body))
            fail_msg("%s is taken", bad[i].body);
        if (r.err.kind != bad[i].kind || strstr(r.err.detail, bad[i].says) == NULL ||
            strcmp(r.err.pointer, bad[i].pointer) != 0)
            fail_msg("%s\n%s at '%s': %s", bad[i].body, error_info_of(r.err.kind)->code,
                     r.err.pointer, r.err.detail);
        end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eval_requests_are_read_in_full),
        cmocka_unit_test(what_is_left_out_has_its_default),
        cmocka_unit_test(bad_requests_are_refused_with_their_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
