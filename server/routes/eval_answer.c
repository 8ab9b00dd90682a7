/* SPDX-License-Identifier: Apache-2.0 */
/* What an evaluation answers. */
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "server/routes/evaluation.h"
#include "server/routes/stored.h"

/* ---- Binary -----------------------------------------------------------------------------------
 */

static bool answer_one(evaluation *e, error *err)
{
    const int only = e->result_count == 1 ? e->results[0] : e->named[0].output;

    return answer_tensor(e->request, e->format, &e->values[only], err);
}

static int64_t answered_bytes(const evaluation *e)
{
    int64_t bytes = 0;

    for (int i = 0; i < e->answered_count; i++)
        bytes += tensor_nbytes(&e->values[i]);
    return bytes;
}

/* Outputs by their names, the result as "result", of a list as "result_0" and so on. */
static bool answer_npz(evaluation *e)
{
    wire_writer *w = wire_writer_new(WIRE_NPZ);

    for (int i = 0; i < e->result_count; i++)
        wire_writer_tensor(
            w, e->result_is_list ? arena_format(e->request->arena, "result_%d", i) : "result",
            &e->values[e->results[i]]);
    for (int i = 0; i < e->named_count; i++)
        wire_writer_tensor(w, e->named[i].name, &e->values[e->named[i].output]);
    answer_written_take(e->request, 200, WIRE_NPZ, w, answered_bytes(e));
    return true;
}

/* ---- JSON
 * ---------------------------------------------------------------------------------------- */

/* A tensor; of a dry run, what is known of it. */
static void add_tensor(const evaluation *e, wire_writer *w, int output)
{
    const tensor *t = &e->values[output];
    text head;

    if (!e->asked.dry_run) {
        wire_writer_tensor(w, NULL, t);
        return;
    }
    text_init(&head);
    text_addf(&head, "{\"dtype\":\"%s\",\"shape\":[", dtype_name(t->dtype));
    for (int i = 0; i < t->shape.rank; i++) {
        text_add(&head, i > 0 ? "," : "");
        if (t->shape.length[i] == LENGTH_UNKNOWN)
            text_add(&head, "null");
        else
            text_addf(&head, "%lld", (long long)t->shape.length[i]);
    }
    text_add(&head, "]}");
    wire_writer_text(w, head.bytes);
    text_clear(&head);
}

static void add_result(const evaluation *e, wire_writer *w)
{
    wire_writer_text(w, "{\"result\":");
    if (e->result_count == 0 && !e->result_is_list)
        wire_writer_text(w, "null");
    if (e->result_is_list)
        wire_writer_text(w, "[");
    for (int i = 0; i < e->result_count; i++) {
        wire_writer_text(w, i > 0 ? "," : "");
        add_tensor(e, w, e->results[i]);
    }
    if (e->result_is_list)
        wire_writer_text(w, "]");
}

static void add_outputs(const evaluation *e, wire_writer *w)
{
    text key;

    wire_writer_text(w, ",\"outputs\":{");
    for (int i = 0; i < e->named_count; i++) {
        text_init(&key);
        text_add(&key, i > 0 ? "," : "");
        text_add_json(&key, e->named[i].name);
        text_add(&key, ":");
        wire_writer_text(w, key.bytes);
        text_clear(&key);
        add_tensor(e, w, e->named[i].output);
    }
    wire_writer_text(w, "}");
}

static void add_printed(const evaluation *e, json_writer *w)
{
    const lang_program *p = &e->source.program;
    text line;

    json_begin(w, "printed", '[');
    text_init(&line);
    for (int i = 0, number = 0; number < p->line_count && !e->asked.dry_run; number++) {
        line.length = 0;
        text_add(&line, "");
        for (; i < p->printed_count && p->printed[i].line == number; i++)
            lang_show_item(&p->printed[i], e->printed[i] < 0 ? NULL : &e->values[e->printed[i]],
                           &line);
        json_string(w, NULL, line.bytes);
    }
    text_clear(&line);
    json_end(w, ']');
}

/* What was stored and deleted. */
static void add_changes(const evaluation *e, json_writer *w)
{
    const commit_result *c = &e->committed;

    json_begin(w, "stored", '{');
    for (size_t i = 0; i < c->count; i++) {
        if (c->names[i].deleted)
            continue;
        json_begin(w, c->names[i].name, '{');
        json_int(w, "version", c->names[i].version);
        json_end(w, '}');
    }
    json_end(w, '}');
    if (e->asked.delete.count == 0 && !e->asked.store_all)
        return;
    json_begin(w, "deleted", '[');
    for (size_t i = 0; i < c->count; i++)
        if (c->names[i].deleted)
            json_string(w, NULL, c->names[i].name);
    json_end(w, ']');
}

static void add_stats(const evaluation *e, json_writer *w)
{
    const engine_stats *s = &e->stats;

    json_begin(w, "stats", '{');
    json_milli(w, "elapsed_ms", (double)(clock_us() - e->started_us) / 1000);
    json_int(w, "nodes", s->nodes);
    json_int(w, "steps", s->steps);
    json_int(w, "fused", s->fused);
    json_int(w, "stages", s->stages);
    json_int(w, "peak_bytes", s->peak_bytes);
    json_int(w, "work", (int64_t)s->work);
    json_begin(w, "flags", '[');
    if (s->divided)
        json_string(w, NULL, "divide");
    json_end(w, ']');
    json_end(w, '}');
}

/* What stands behind the tensors. */
static void add_rest(const evaluation *e, wire_writer *w)
{
    text rest;
    json_writer json = json_to(&rest, false);

    json.depth = 1; /* inside the answer's object, behind its first members */
    json.first = false;
    text_init(&rest);
    add_printed(e, &json);
    add_changes(e, &json);
    add_stats(e, &json);
    if (e->committed.commit > 0)
        json_int(&json, "commit", e->committed.commit);
    json_int(&json, "snapshot", snapshot_commit(txn_base(e->bindings.txn)));
    json_end(&json, '}');
    text_add_char(&rest, '\n');
    wire_writer_text_bytes(w, rest.bytes, rest.length);
    text_clear(&rest);
}

static bool answer_json(evaluation *e)
{
    wire_writer *w = wire_writer_new(WIRE_JSON);

    add_result(e, w);
    add_outputs(e, w);
    add_rest(e, w);
    answer_written_take(e->request, 200, WIRE_JSON, w, e->asked.dry_run ? 0 : answered_bytes(e));
    return true;
}

bool evaluation_answer(evaluation *e, error *err)
{
    http_request *r = e->request;

    if (e->committed.commit > 0)
        stored_answer_number(r, "Tensord-Commit", e->committed.commit);
    stored_answer_number(r, "Tensord-Snapshot", snapshot_commit(txn_base(e->bindings.txn)));
    if (e->format == WIRE_JSON)
        return answer_json(e);
    return e->format == WIRE_NPZ ? answer_npz(e) : answer_one(e, err);
}
