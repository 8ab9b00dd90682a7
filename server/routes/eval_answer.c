/* SPDX-License-Identifier: Apache-2.0 */
/* What an evaluation answers, besides tensors. */
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "server/routes/evaluation.h"
#include "server/routes/stored.h"

static void add_type(json_writer *w, const char *key, const tensor *t)
{
    json_begin(w, key, '{');
    json_string(w, "dtype", dtype_name(t->dtype));
    json_begin(w, "shape", '[');
    for (int i = 0; i < t->shape.rank; i++) {
        if (t->shape.length[i] == LENGTH_UNKNOWN)
            json_raw(w, NULL, "null");
        else
            json_int(w, NULL, t->shape.length[i]);
    }
    json_end(w, ']');
    json_end(w, '}');
}

/* Of a dry run, what is known of the tensors stands in their places. */
static void add_types(const outcome *o, json_writer *w)
{
    if (o->result_is_list)
        json_begin(w, "result", '[');
    else if (o->result_count == 0)
        json_string(w, "result", NULL);
    for (int i = 0; i < o->result_count; i++)
        add_type(w, o->result_is_list ? NULL : "result", &o->tensors[o->results[i]]);
    if (o->result_is_list)
        json_end(w, ']');
    json_begin(w, "outputs", '{');
    for (int i = 0; i < o->named_count; i++)
        add_type(w, o->named[i].name, &o->tensors[o->named[i].output]);
    json_end(w, '}');
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
    const commit_result nothing = {0}, *c = e->committed == NULL ? &nothing : e->committed;

    stored_add_committed(w, c);
    if (e->asked.delete.count == 0 && !e->asked.store_all)
        return;
    json_begin(w, "deleted", '[');
    for (size_t i = 0; i < c->count; i++)
        if (c->names[i].deleted && !c->names[i].hidden)
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

void evaluation_tell(evaluation *e)
{
    outcome *o = &e->gives;
    json_writer json = json_to(&o->rest, false);

    text_clear(&o->rest);
    o->commit = e->writes && e->committed != NULL ? e->committed->commit : 0;
    o->snapshot = snapshot_commit(e->base);
    if (o->dry_run) {
        json_begin(&json, NULL, '{');
        add_types(o, &json);
    } else { /* inside the answer's object, behind its first members */
        json.depth = 1;
        json.first = false;
    }
    add_printed(e, &json);
    add_changes(e, &json);
    add_stats(e, &json);
    if (o->commit > 0) {
        json_int(&json, "commit", o->commit);
        json_string(&json, "durability", stored_durability_name(txn_durability(e->bindings.txn)));
    }
    json_int(&json, "snapshot", o->snapshot);
    json_end(&json, '}');
    text_add_char(&o->rest, '\n');
}

bool evaluation_answer(evaluation *e, error *err)
{
    if (e->job != NULL) {
        answer_empty(e->request, 200); /* nobody waits: the job has it */
        return true;
    }
    evaluation_tell(e);
    return outcome_answer(&e->gives, e->request, e->format, err);
}
