/* SPDX-License-Identifier: Apache-2.0 */
/* record -- jobs as the texts that storage keeps: lines of a key, a space and a value. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/private.h"

static const char first_line[] = "tensord job 1\n";

void job_name(const char *id, const char *part, char to[JOB_NAME])
{
    snprintf(to, JOB_NAME, part == NULL ? ".jobs/%s" : ".jobs/%s/%s", id, part);
}

buffer *hidden_text(storage *s, const snapshot *n, const char *name, error *err)
{
    const entry *e = snapshot_find(n, name);

    if (e != NULL)
        return entry_text(s, e, err);
    error_set(err, ERR_NOT_FOUND, "There is no %s.", name);
    return NULL;
}

/* ---- The request ------------------------------------------------------------------------ */

void record_add(const job *j, text *to)
{
    text_addf(to,
              "%srequest_id %s\nmethod %s\ntarget %s\nowner %s\ncreated %" PRId64 "\nagain %d\n",
              first_line, j->asked.request_id, j->asked.method, j->asked.target, j->asked.owner,
              j->created_us, j->asked.run_again);
    for (size_t i = 0; i < j->asked.header_count; i++)
        text_addf(to, "header %s %s\n", j->asked.headers[i].name, j->asked.headers[i].value);
}

/* Takes the next line of a text as a key and a value, both in the arena. False at the end. */
static bool next_line(const char **at, arena *a, const char **key, const char **value)
{
    const size_t n = strcspn(*at, "\n"), split = strcspn(*at, " \n");

    if (n == 0)
        return false;
    *key = arena_copy(a, *at, split);
    *value = split < n ? arena_copy(a, *at + split + 1, n - split - 1) : "";
    *at += n + ((*at)[n] == '\n');
    return true;
}

static void add_header(job *j, size_t *room, const char *value)
{
    const size_t n = strcspn(value, " ");
    job_header *headers = (job_header *)(uintptr_t)j->asked.headers;

    headers = arena_grow(j->arena, headers, j->asked.header_count, room, sizeof *headers);
    headers[j->asked.header_count++] = (job_header){.name = arena_copy(j->arena, value, n),
                                                    .value = value[n] == ' ' ? value + n + 1 : ""};
    j->asked.headers = headers;
}

bool record_read(const char *record, job *j)
{
    const char *key, *value;
    size_t room = 0;

    if (strncmp(record, first_line, sizeof first_line - 1) != 0)
        return false;
    record += sizeof first_line - 1;
    while (next_line(&record, j->arena, &key, &value)) {
        if (strcmp(key, "request_id") == 0)
            j->asked.request_id = value;
        else if (strcmp(key, "method") == 0)
            j->asked.method = value;
        else if (strcmp(key, "target") == 0)
            j->asked.target = value;
        else if (strcmp(key, "owner") == 0)
            j->asked.owner = value;
        else if (strcmp(key, "created") == 0)
            j->created_us = strtoll(value, NULL, 10);
        else if (strcmp(key, "again") == 0)
            j->asked.run_again = *value == '1';
        else if (strcmp(key, "header") == 0)
            add_header(j, &room, value);
    }
    return j->asked.request_id != NULL && j->asked.method != NULL && j->asked.target != NULL &&
           j->asked.owner != NULL;
}

/* ---- The end ----------------------------------------------------------------------------- */

void ending_add(const ending *e, text *to)
{
    text_addf(to, "%s %d %" PRId64 " %d %" PRId64 " %" PRId64 " %.3f %" PRId64 "\n",
              job_state_name(e->state), e->http_status, e->finished_us, e->expired, e->steps_done,
              e->steps, e->progress, e->iterations);
}

bool ending_read(const char *answer, ending *e)
{
    char state[16];
    int expired = 0;

    *e = (ending){.state = JOB_QUEUED};
    /* the last one came later */
    if (sscanf(answer, "%15s %d %" SCNd64 " %d %" SCNd64 " %" SCNd64 " %lf %" SCNd64, state,
               &e->http_status, &e->finished_us, &expired, &e->steps_done, &e->steps, &e->progress,
               &e->iterations) < 7)
        return false;
    e->expired = expired != 0;
    for (int s = 0; s < JOB_STATES; s++)
        if (strcmp(state, job_state_name((job_state)s)) == 0)
            e->state = (job_state)s;
    return job_state_is_last(e->state);
}

const char *ending_rest(const char *answer)
{
    const size_t n = strcspn(answer, "\n");

    return answer + n + (answer[n] == '\n');
}
