/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "server/http/private.h"

struct pool {
    http_server *server;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t filled;
    exchange *first, **last; /* in the order of coming */
    int64_t queued, running;
    bool shut, ending;
    pthread_t *threads;
    int thread_count;
};

/* Hands the answered exchange back to its connection. Afterwards it is not ours. */
static void wake(exchange *x)
{
    struct MHD_Connection *connection = x->connection;

    x->stage = STAGE_ANSWERED;
    watch_stage(x->server->watch, x->watched, x, STAGE_ANSWERED);
    MHD_resume_connection(connection);
}

static void refuse(exchange *x, const error *err)
{
    x->err = *err;
    exchange_run(x);
    wake(x);
}

/* The next exchange to run; NULL when the pool ends. The lock is held. */
static exchange *take(pool *p)
{
    exchange *x;

    while (p->first == NULL && !p->ending)
        pthread_cond_wait(&p->filled, &p->lock);
    x = p->first;
    if (x == NULL)
        return NULL;
    p->first = x->next;
    if (p->first == NULL)
        p->last = &p->first;
    p->queued--;
    p->running++;
    return x;
}

static void *work(void *state)
{
    pool *p = state;
    exchange *x;

    pthread_mutex_lock(&p->lock);
    while ((x = take(p)) != NULL) {
        pthread_mutex_unlock(&p->lock);
        x->request.deadline_us = clock_us() + p->server->options.run_us_max;
        exchange_run(x);
        wake(x);
        pthread_mutex_lock(&p->lock);
        p->running--;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

pool *pool_new(http_server *s)
{
    pool *p = calloc(1, sizeof *p);
    pthread_t *threads = calloc((size_t)s->options.workers, sizeof *threads);

    if (p == NULL || threads == NULL)
        abort();
    p->server = s;
    p->threads = threads;
    p->last = &p->first;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->filled, NULL);
    for (int i = 0; i < s->options.workers; i++)
        if (pthread_create(&threads[p->thread_count], NULL, work, p) == 0)
            p->thread_count++;
    if (p->thread_count == 0)
        abort();
    return p;
}

void pool_free(pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_broadcast(&p->filled);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->thread_count; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->filled);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p);
}

/* Whether nobody is free and the queue holds what it may. The lock is held. */
static bool is_full(const pool *p)
{
    return p->queued >= p->server->options.queue_max &&
           p->running + p->queued >= p->thread_count + p->server->options.queue_max;
}

bool pool_is_full(pool *p)
{
    bool full;

    pthread_mutex_lock(&p->lock);
    full = is_full(p);
    pthread_mutex_unlock(&p->lock);
    return full;
}

bool pool_put(pool *p, exchange *x, error *err)
{
    bool full, shut;

    x->next = NULL;
    x->queued_us = clock_us();
    pthread_mutex_lock(&p->lock);
    full = is_full(p);
    shut = p->shut;
    if (!full && !shut) {
        *p->last = x;
        p->last = &x->next;
        p->queued++;
        pthread_cond_signal(&p->filled);
    }
    pthread_mutex_unlock(&p->lock);
    if (shut)
        return error_set(err, ERR_STOPPING, "The server is stopping.");
    return !full || error_set_limit(err, ERR_QUEUE, p->server->options.queue_max,
                                    p->server->options.queue_max + 1,
                                    "%" PRId64 " evaluations are waiting already.",
                                    p->server->options.queue_max);
}

/* Takes out of the queue those queued before a time, and those cancelled. */
static exchange *take_out(pool *p, int64_t before_us)
{
    exchange *out = NULL, **at = &p->first;

    pthread_mutex_lock(&p->lock);
    while (*at != NULL) {
        exchange *x = *at;

        if (x->queued_us < before_us || x->request.cancel != 0) {
            *at = x->next;
            x->next = out;
            out = x;
            p->queued--;
        } else {
            at = &x->next;
        }
    }
    p->last = at;
    pthread_mutex_unlock(&p->lock);
    return out;
}

static void refuse_all(exchange *list, const error *err)
{
    while (list != NULL) {
        exchange *next = list->next;

        refuse(list, err);
        list = next;
    }
}

void pool_expire(pool *p)
{
    int64_t most = p->server->options.queue_us_max;
    exchange *late = take_out(p, clock_us() - most);
    error err = {0};

    if (late == NULL)
        return;
    error_set_limit(&err, ERR_QUEUE_TIME, most / 1000, most / 1000,
                    "No evaluation thread was free within %" PRId64 " ms.", most / 1000);
    refuse_all(late, &err);
}

void pool_shut(pool *p)
{
    error err = {0};

    pthread_mutex_lock(&p->lock);
    p->shut = true;
    pthread_mutex_unlock(&p->lock);
    error_set(&err, ERR_STOPPING, "The server is stopping.");
    refuse_all(take_out(p, INT64_MAX), &err);
}

void pool_count(pool *p, int64_t *running, int64_t *queued)
{
    pthread_mutex_lock(&p->lock);
    *running = p->running;
    *queued = p->queued;
    pthread_mutex_unlock(&p->lock);
}
