/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/jobs/jobs.h"
#include "tests/lib/storing.h"

/* A runner whose jobs do what their target says. */
typedef struct workshop {
    char *path;
    storage *s;
    jobs *js;
    jobs_options options;
    _Atomic int runs, let_go;
} workshop;

static void say(void *context, const commit_result *done, text *to)
{
    (void)done;
    text_addf(to, "said %s", job_asked(context)->target);
}

static bool wait_for_cancel(workshop *p, job *j, error *err)
{
    while (*job_cancelled(j) == 0 && p->let_go == 0)
        usleep(1000);
    return p->let_go != 0 || error_set(err, ERR_CANCELLED, "cancelled");
}

static bool run(void *context, job *j, error *err)
{
    workshop *p = context;
    const char *target = job_asked(j)->target;
    commit_result done;
    tensor result;
    bool ok;
    txn *x;

    p->runs++;
    if (strcmp(target, "/fail") == 0)
        return error_set(err, ERR_VALUE, "it fails");
    if (strcmp(target, "/wait") == 0 && !wait_for_cancel(p, j, err))
        return false;
    result = vector_of(4, 7);
    x = txn_new(p->s, NULL, DURABILITY_DISK);
    job_put_answer(j, x, say, j);
    ok = job_put_tensor(j, x, 0, &result, err) && txn_commit(x, &done, err);
    txn_free(x);
    tensor_unref(&result);
    return ok;
}

static void refuse(void *context, const job *j, const error *why, text *to)
{
    (void)context, (void)j;
    text_add(to, error_info_of(why->kind)->code);
}

static void open_jobs(workshop *p)
{
    p->s = open_or_fail(p->path);
    p->options.storage = p->s;
    p->js = jobs_open(&p->options);
}

static int set_up(void **state)
{
    workshop *p = calloc(1, sizeof *p);

    p->path = scratch_new();
    p->options = (jobs_options){.runner = {p, run, refuse},
                                .threads = 1,
                                .jobs_max = 4,
                                .owner_jobs_max = 2,
                                .keep_us = 3600000000};
    open_jobs(p);
    *state = p;
    return 0;
}

static void shut(workshop *p)
{
    jobs_close(p->js);
    storage_close(p->s);
}

static int tear_down(void **state)
{
    workshop *p = *state;

    shut(p);
    scratch_remove(p->path);
    free(p);
    return 0;
}

static bool commit(void *context, txn *x, error *err)
{
    commit_result done;

    (void)context;
    return txn_commit(x, &done, err);
}

/* The id of a job that was submitted, in a buffer of the caller. */
static bool submit_of(workshop *p, const char *owner, const char *target, bool again, char id[32],
                      error *err)
{
    const job_header header = {"Accept", "application/json"};
    const job_request asked = {"r1", "POST", target, owner, &header, 1, again};
    job *j = jobs_submit(p->js, &asked, NULL, commit, NULL, err);

    if (j == NULL)
        return false;
    snprintf(id, 32, "%s", job_id(j));
    job_unref(j);
    return true;
}

static bool submit(workshop *p, const char *target, bool again, char id[32], error *err)
{
    return submit_of(p, "", target, again, id, err);
}

static job_status status_of(workshop *p, const char *id)
{
    job *j = jobs_find(p->js, id);
    job_status s;

    assert_non_null(j);
    s = job_status_of(j);
    job_unref(j);
    return s;
}

/* Waits until the job has a state, for at most 10 s. */
static bool becomes(workshop *p, const char *id, job_state state)
{
    for (int i = 0; i < 10000 && status_of(p, id).state != state; i++)
        usleep(1000);
    return status_of(p, id).state == state;
}

static bool answer_is(workshop *p, const char *id, const char *expected)
{
    error err = {0};
    job *j = jobs_find(p->js, id);
    buffer *said = job_answer(j, &err);
    const bool same = said != NULL && strcmp(buffer_bytes(said), expected) == 0;

    buffer_unref(said);
    job_unref(j);
    return same;
}

static void a_job_is_done_and_its_answer_survives_a_restart(void **state)
{
    workshop *p = *state;
    error err = {0};
    char id[32];
    tensor t;
    job *j;

    jobs_start(p->js);
    assert_true(submit(p, "/x", true, id, &err));
    assert_true(becomes(p, id, JOB_DONE));
    for (int i = 0; i < 2; i++) {
        const job_status s = status_of(p, id);

        assert_int_equal(s.state, JOB_DONE);
        assert_int_equal(s.http_status, 200);
        assert_true(s.progress == 1 && s.finished_us >= s.started_us);
        assert_true(answer_is(p, id, "said /x"));
        j = jobs_find(p->js, id);
        assert_string_equal(job_asked(j)->headers[0].value, "application/json");
        assert_true(job_tensor(j, 0, &t, &err));
        assert_true(is_vector(&t, 4, 7));
        tensor_unref(&t);
        job_unref(j);
        shut(p);
        open_jobs(p);
    }
    assert_int_equal(p->runs, 1);
}

static void what_fails_says_why(void **state)
{
    workshop *p = *state;
    error err = {0};
    char id[32];

    jobs_start(p->js);
    assert_true(submit(p, "/fail", true, id, &err));
    assert_true(becomes(p, id, JOB_FAILED));
    shut(p);
    open_jobs(p);
    assert_int_equal(status_of(p, id).http_status, 422);
    assert_true(answer_is(p, id, "value-error"));
}

static void queued_and_running_jobs_are_cancelled(void **state)
{
    workshop *p = *state;
    error err = {0};
    char running[32], queued[32];
    job *j;

    jobs_start(p->js);
    assert_true(submit(p, "/wait", true, running, &err));
    assert_true(becomes(p, running, JOB_RUNNING));
    assert_true(submit(p, "/x", true, queued, &err));
    j = jobs_find(p->js, queued);
    assert_true(job_cancel(j, 0, &err));
    job_unref(j);
    assert_int_equal(status_of(p, queued).state, JOB_CANCELLED);
    j = jobs_find(p->js, running);
    assert_true(job_cancel(j, 5000000, &err));
    assert_int_equal(job_status_of(j).state, JOB_CANCELLED);
    assert_true(job_cancel(j, 0, &err)); /* once more: it goes */
    assert_null(jobs_find(p->js, running));
    assert_null(job_answer(j, &err));
    error_clear(&err);
    assert_true(job_cancel(j, 0, &err)); /* by another, who had found it before */
    job_unref(j);
    shut(p);
    open_jobs(p);
    assert_null(jobs_find(p->js, running));
    j = jobs_find(p->js, queued);
    assert_non_null(j);
    job_unref(j);
    assert_int_equal(p->runs, 1);
}

static void queued_jobs_run_after_a_restart(void **state)
{
    workshop *p = *state;
    error err = {0};
    char ids[3][32];
    job *found[8];

    for (int i = 0; i < 3; i++)
        assert_true(submit(p, "/x", true, ids[i], &err));
    shut(p);
    open_jobs(p);
    jobs_start(p->js);
    for (int i = 0; i < 3; i++)
        assert_true(becomes(p, ids[i], JOB_DONE));
    assert_int_equal(jobs_list(p->js, NULL, NULL, found, 8), 3);
    assert_string_equal(job_id(found[0]), ids[2]); /* the newest first */
    for (int i = 0; i < 3; i++)
        job_unref(found[i]);
}

static void interrupted_jobs_run_again_or_fail_as_asked(void **state)
{
    workshop *p = *state;
    error err = {0};
    char again[32], once[32];

    jobs_start(p->js);
    assert_true(submit(p, "/wait", true, again, &err));
    assert_true(becomes(p, again, JOB_RUNNING));
    shut(p);
    open_jobs(p);
    assert_int_equal(status_of(p, again).state, JOB_QUEUED);
    p->let_go = 1;
    jobs_start(p->js);
    assert_true(becomes(p, again, JOB_DONE));
    assert_int_equal(p->runs, 2);

    p->let_go = 0;
    assert_true(submit(p, "/wait", false, once, &err));
    assert_true(becomes(p, once, JOB_RUNNING));
    shut(p);
    open_jobs(p);
    jobs_start(p->js);
    assert_int_equal(status_of(p, once).state, JOB_FAILED);
    assert_true(answer_is(p, once, "job-interrupted"));
    assert_int_equal(p->runs, 3);
}

static void there_is_a_limit_which_deleted_jobs_do_not_count_for(void **state)
{
    workshop *p = *state;
    error err = {0};
    char id[32];
    job *j;

    for (int i = 0; i < 4; i++)
        assert_true(submit(p, "/x", true, id, &err));
    assert_false(submit(p, "/x", true, id, &err));
    assert_int_equal(err.kind, ERR_JOB_QUOTA);
    error_clear(&err);
    jobs_start(p->js);
    assert_true(becomes(p, id, JOB_DONE));
    assert_in_range(jobs_quota_wait(p->js, ""), 1, p->options.keep_us);
    j = jobs_find(p->js, id);
    assert_true(job_cancel(j, 0, &err));
    job_unref(j);
    assert_true(submit(p, "/x", true, id, &err));
}

static void owners_have_quotas_and_lists_of_their_own(void **state)
{
    workshop *p = *state;
    error err = {0};
    char id[32];
    job *found[8];

    assert_true(submit_of(p, "a", "/x", true, id, &err));
    assert_true(submit_of(p, "a", "/x", true, id, &err));
    assert_false(submit_of(p, "a", "/x", true, id, &err));
    assert_int_equal(err.kind, ERR_JOB_QUOTA);
    error_clear(&err);
    assert_true(submit_of(p, "b", "/x", true, id, &err));
    shut(p);
    open_jobs(p);
    assert_int_equal(jobs_list(p->js, "a", NULL, found, 8), 2);
    assert_string_equal(job_asked(found[0])->owner, "a");
    job_unref(found[0]);
    job_unref(found[1]);
    assert_int_equal(jobs_list(p->js, "b", NULL, found, 8), 1);
    assert_string_equal(job_id(found[0]), id);
    job_unref(found[0]);
    assert_true(submit(p, "/x", true, id, &err));
    assert_false(submit(p, "/x", true, id, &err)); /* all jobs have a limit, too */
}

static void answers_expire_and_jobs_are_forgotten(void **state)
{
    workshop *p = *state;
    error err = {0};
    bool was_expired = false;
    char id[32];
    job *j;

    p->options.keep_us = 1500000;
    shut(p);
    open_jobs(p);
    jobs_start(p->js);
    assert_true(submit(p, "/x", true, id, &err));
    assert_true(becomes(p, id, JOB_DONE));
    for (int i = 0; i < 1000 && (j = jobs_find(p->js, id)) != NULL; i++) {
        was_expired |= job_status_of(j).expired;
        job_unref(j);
        usleep(10000);
    }
    assert_null(jobs_find(p->js, id));
    assert_true(was_expired);
    shut(p);
    open_jobs(p);
    assert_null(jobs_find(p->js, id));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_done_and_its_answer_survives_a_restart),
        TEST(what_fails_says_why),
        TEST(queued_and_running_jobs_are_cancelled),
        TEST(queued_jobs_run_after_a_restart),
        TEST(interrupted_jobs_run_again_or_fail_as_asked),
        TEST(there_is_a_limit_which_deleted_jobs_do_not_count_for),
        TEST(owners_have_quotas_and_lists_of_their_own),
        TEST(answers_expire_and_jobs_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
