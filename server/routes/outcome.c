/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/outcome.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/table.h"
#include "server/routes/stored.h"

/* ---- What a format can say --------------------------------------------------------------- */

static int results_in(const outcome *o, wire_format format)
{
    return o->named_alone && format == WIRE_NPZ ? 0 : o->result_count;
}

/* The one tensor that there is; -1 if there are none or several. */
static int only_tensor(const outcome *o)
{
    return o->result_count == 1                          ? o->results[0]
           : o->result_count == 0 && o->named_count == 1 ? o->named[0].output
                                                         : -1;
}

static bool check_one(const outcome *o, wire_format format, error *err)
{
    const int only = only_tensor(o);

    if (only < 0)
        return error_set(
            err, ERR_ACCEPT, "%s holds one tensor, and the evaluation gives %d; npz holds several.",
            wire_format_name(format), o->result_count > 1 ? o->result_count : o->named_count);
    return wire_writer_takes(format, &o->tensors[only].shape, err);
}

static bool check_names(const outcome *o, wire_format format, error *err)
{
    arena *a = arena_new();
    bool twice = false, both;
    table names;

    table_init(&names, a);
    for (int i = 0; i < o->named_count && !twice; i++) {
        twice = table_put(&names, o->named[i].name, o->named) != NULL;
        if (twice)
            error_set(err, ERR_REQUEST, "The output '%s' is asked for twice.", o->named[i].name);
    }
    both = format == WIRE_NPZ && results_in(o, format) > 0 && table_get(&names, "result") != NULL;
    arena_free(a);
    if (!twice && both)
        error_set(err, ERR_REQUEST,
                  "An npz file cannot have the output 'result' beside the result.");
    return !twice && !both;
}

bool outcome_check(const outcome *o, wire_format format, error *err)
{
    if (!check_names(o, format, err))
        return false;
    if (format != WIRE_JSON && o->dry_run)
        return error_set(err, ERR_ACCEPT, "A dry run is answered in JSON only.");
    if (format == WIRE_NPZ && o->result_count + o->named_count == 0)
        return error_set(err, ERR_ACCEPT, "The evaluation gives no tensor to put into the file.");
    return format == WIRE_JSON || format == WIRE_NPZ || check_one(o, format, err);
}

/* ---- Binary ------------------------------------------------------------------------------- */

static int64_t bytes_of(const outcome *o)
{
    int64_t bytes = 0;

    for (int i = 0; i < o->tensor_count && !o->dry_run; i++)
        bytes += tensor_nbytes(&o->tensors[i]);
    return bytes;
}

/* Outputs by their names, the result as "result", of a list as "result_0" and so on. */
static void answer_npz(const outcome *o, http_request *r)
{
    wire_writer *w = wire_writer_new(WIRE_NPZ);

    for (int i = 0; i < results_in(o, WIRE_NPZ); i++)
        wire_writer_tensor(w, o->result_is_list ? arena_format(r->arena, "result_%d", i) : "result",
                           &o->tensors[o->results[i]]);
    for (int i = 0; i < o->named_count; i++)
        wire_writer_tensor(w, o->named[i].name, &o->tensors[o->named[i].output]);
    answer_written_take(r, 200, WIRE_NPZ, w, bytes_of(o));
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void add_result(const outcome *o, wire_writer *w)
{
    wire_writer_text(w, "{\"result\":");
    if (o->result_count == 0 && !o->result_is_list)
        wire_writer_text(w, "null");
    if (o->result_is_list)
        wire_writer_text(w, "[");
    for (int i = 0; i < o->result_count; i++) {
        wire_writer_text(w, i > 0 ? "," : "");
        wire_writer_tensor(w, NULL, &o->tensors[o->results[i]]);
    }
    if (o->result_is_list)
        wire_writer_text(w, "]");
}

static void add_outputs(const outcome *o, wire_writer *w)
{
    text key;

    wire_writer_text(w, ",\"outputs\":{");
    for (int i = 0; i < o->named_count; i++) {
        text_init(&key);
        text_add(&key, i > 0 ? "," : "");
        text_add_json(&key, o->named[i].name);
        text_add(&key, ":");
        wire_writer_text(w, key.bytes);
        text_clear(&key);
        wire_writer_tensor(w, NULL, &o->tensors[o->named[i].output]);
    }
    wire_writer_text(w, "}");
}

static void answer_json(const outcome *o, http_request *r)
{
    wire_writer *w = wire_writer_new(WIRE_JSON);

    if (!o->dry_run) {
        add_result(o, w);
        add_outputs(o, w);
    }
    wire_writer_text_bytes(w, o->rest.bytes, o->rest.length);
    answer_written_take(r, 200, WIRE_JSON, w, bytes_of(o));
}

bool outcome_answer(const outcome *o, http_request *r, wire_format format, error *err)
{
    if (!outcome_check(o, format, err))
        return false;
    if (o->commit > 0)
        stored_answer_number(r, "Tensord-Commit", o->commit);
    stored_answer_number(r, "Tensord-Snapshot", o->snapshot);
    if (format == WIRE_JSON)
        answer_json(o, r);
    else if (format == WIRE_NPZ)
        answer_npz(o, r);
    else
        return answer_tensor(r, format, "result", &o->tensors[only_tensor(o)], err);
    return true;
}

/* ---- As text ------------------------------------------------------------------------------- */

void outcome_add(const outcome *o, text *to)
{
    text_addf(to, "%d %d %d %d %d %d %" PRId64 " %" PRId64 "\n", o->tensor_count, o->result_count,
              o->result_is_list, o->named_count, o->named_alone, o->dry_run, o->commit,
              o->snapshot);
    for (int i = 0; i < o->result_count; i++)
        text_addf(to, "%d\n", o->results[i]);
    for (int i = 0; i < o->named_count; i++)
        text_addf(to, "%d %s\n", o->named[i].output, o->named[i].name);
    text_add_bytes(to, o->rest.bytes, o->rest.length);
}

static const char *behind_line(const char *at)
{
    at += strcspn(at, "\n");
    return at + (*at == '\n');
}

/* Reads the number of a tensor. */
static bool read_tensor(const char *at, const outcome *o, int *result)
{
    *result = atoi(at);
    return *at >= '0' && *at <= '9' && *result < o->tensor_count;
}

static bool read_numbers(const char *said, outcome *o)
{
    int is_list, alone, dry;

    *o = (outcome){0};
    if (sscanf(said, "%d %d %d %d %d %d %" SCNd64 " %" SCNd64, &o->tensor_count, &o->result_count,
               &is_list, &o->named_count, &alone, &dry, &o->commit, &o->snapshot) != 8)
        return false;
    o->result_is_list = is_list != 0;
    o->named_alone = alone != 0;
    o->dry_run = dry != 0;
    return o->tensor_count >= 0 && o->result_count >= 0 && o->named_count >= 0;
}

bool outcome_read(const char *said, arena *a, outcome *o, error *err)
{
    bool ok = read_numbers(said, o);
    const char *at = behind_line(said);

    if (ok) {
        o->tensors = arena_array(a, (size_t)o->tensor_count + 1, sizeof *o->tensors);
        o->results = arena_array(a, (size_t)o->result_count + 1, sizeof *o->results);
        o->named = arena_array(a, (size_t)o->named_count + 1, sizeof *o->named);
    }
    for (int i = 0; ok && i < o->result_count; i++, at = behind_line(at))
        ok = read_tensor(at, o, &o->results[i]);
    for (int i = 0; ok && i < o->named_count; i++, at = behind_line(at)) {
        const char *name = at + strcspn(at, " \n");

        ok = read_tensor(at, o, &o->named[i].output) && *name == ' ';
        if (ok)
            o->named[i].name = arena_copy(a, name + 1, strcspn(name + 1, "\n"));
    }
    if (!ok)
        return error_set(err, ERR_INTEGRITY, "The kept answer is damaged.");
    o->rest.length = strlen(at);
    o->rest.bytes = arena_copy(a, at, o->rest.length);
    return true;
}
