/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/lang/lang.h"
#include "server/wire/graph_json.h"
#include "server/wire/reader.h"
#include "server/wire/request.h"
#include "tests/fuzz/targets.h"
#include "tests/lib/evaluate.h"

enum { BUDGET = 64 << 20 };

/* Feeds the bytes, cut where the first byte says. */
static bool feed(wire_reader *r, supply *s, error *err)
{
    const size_t piece = 1 + supply_byte(s);

    while (s->at < s->end) {
        const size_t left = (size_t)(s->end - s->at), n = piece < left ? piece : left;

        if (!wire_reader_feed(r, s->at, n, err))
            return false;
        s->at += n;
    }
    return wire_reader_end(r, err);
}

static void build(const wire_request *q, arena *a, error *err)
{
    const lang_options options = {.dialect = LANG_NUMPY};
    graph *g = graph_new(a, NULL);
    lang_program program;
    graph_json json;

    if (q->program != NULL)
        lang_build(g, q->program, strlen(q->program), &options, NULL, &program, err);
    else if (q->graph != NULL)
        graph_json_read(g, q->graph, NULL, DECLARED_GIVEN, &json, err);
    graph_release(g);
}

void target_body(const uint8_t *bytes, size_t n)
{
    const wire_reader_options o = {.format = WIRE_JSON, .document = WIRE_EVAL_BODY, .length = -1};
    supply s = {bytes, bytes + n};
    arena *a = arena_new();
    error err = {0};
    wire_request q;
    wire_reader *r;
    budget b;

    evaluate_init();
    budget_init(&b, BUDGET);
    r = wire_reader_new(a, &b, &o, &err);
    if (feed(r, &s, &err) && wire_read_eval(wire_reader_root(r), NULL, a, &q, &err))
        build(&q, a, &err);
    wire_reader_free(r);
    target_check(b.used == 0, "the budget is given back");
    arena_free(a);
}
