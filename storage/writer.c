/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/log.h"
#include "storage/ballast.h"
#include "storage/commit.h"
#include "storage/slots.h"

enum {
    BATCH_MAX = 512,       /* transactions in one commit of the index */
    GARBAGE_DELAY_MS = 50, /* removed in passing if a transaction comes sooner */
    CHECKPOINT_DELAY_MS = 1000
};

/* ---- Waiting for work ------------------------------------------------------------ */

static struct timespec after_ms(int64_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Waits for transactions, with the lock; but not longer than idle work may wait. */
static void wait_for_work(storage *s)
{
    int timed_out = 0;

    while (s->first_waiting == NULL && !s->closing && timed_out == 0) {
        const bool log = index_log_bytes(s->index) > 0 && !s->failed;

        if (s->garbage != NULL || s->woken || log) {
            struct timespec until =
                after_ms(s->garbage != NULL || s->woken ? GARBAGE_DELAY_MS : CHECKPOINT_DELAY_MS);

            timed_out = pthread_cond_timedwait(&s->work, &s->lock, &until);
        } else {
            pthread_cond_wait(&s->work, &s->lock);
        }
    }
}

/* Takes up to BATCH_MAX transactions from the queue; with the lock. */
static txn *take_waiting(storage *s)
{
    txn *first = s->first_waiting, **last = &s->first_waiting;

    for (int n = 0; n < BATCH_MAX && *last != NULL; n++)
        last = &(*last)->next;
    s->first_waiting = *last;
    *last = NULL;
    if (s->first_waiting == NULL)
        s->last_waiting = &s->first_waiting;
    return first;
}

/* ---- One batch -------------------------------------------------------------------- */

/* Lets the transactions' owners go on. They may free them at once. */
static void answer(storage *s, txn *x, const error *failure)
{
    txn *next;

    pthread_mutex_lock(&s->lock);
    for (; x != NULL; x = next) {
        next = x->next;
        if (failure != NULL)
            x->failure = *failure;
        x->done = true;
        pthread_cond_signal(&x->woken);
    }
    pthread_mutex_unlock(&s->lock);
}

/* Removes the files of garbage that the index has forgotten. */
static void remove_files(storage *s, content *garbage)
{
    char name[ARRAY_NAME];

    for (content *c = garbage; c != NULL; c = c->older) {
        if (c->slots != NULL)
            slots_drop(c);
        if (!c->in_file || c->slots != NULL)
            continue;
        array_name(c->file, false, name);
        if (s->vfs->remove(s->vfs, s->arrays, name) != 0)
            log_message(LOG_WARN, "cannot remove arrays/%s; the next start will", name);
    }
}

static bool commit_batch(batch *b, error *err)
{
    storage *s = b->storage;
    bool ok, changes = false;

    pthread_mutex_lock(&s->index_lock);
    ok = batch_write(b, &changes, err);
    if (ok && changes && s->options.before_commit != NULL)
        s->options.before_commit(s->options.context);
    ok = ok && (!changes || index_commit(s->index, err));
    if (!ok || !changes)
        index_rollback(s->index);
    pthread_mutex_unlock(&s->index_lock);
    return ok;
}

typedef enum outcome {
    COMMITTED, /* and answered */
    REFUSED,   /* the state is as it was, for certain; nobody was answered */
    UNKNOWN    /* the storage has failed; answered */
} outcome;

static outcome run_batch(storage *s, txn *transactions, content *garbage, error *err)
{
    outcome result = COMMITTED;
    batch b;

    batch_init(&b, s, transactions, garbage);
    if (commit_batch(&b, err)) {
        batch_publish(&b);
        answer(s, transactions, NULL);
    } else if (err->kind == ERR_DISK || err->kind == ERR_MEMORY_BUSY) {
        result = REFUSED;
    } else {
        result = UNKNOWN;
        batch_redeem(&b);
        err->kind = ERR_STORAGE;
        storage_fail(s, err);
        answer(s, transactions, err);
    }
    batch_clear(&b);
    return result;
}

/* One batch after another, each of one transaction: what has no room fails, what
 * frees some or needs none succeeds. */
static void run_singly(storage *s, txn *transactions)
{
    txn *next;

    for (txn *x = transactions; x != NULL; x = next) {
        error err = {0};

        next = x->next;
        x->next = NULL;
        if (!storage_can_write(s, &err) || run_batch(s, x, NULL, &err) == REFUSED)
            answer(s, x, &err);
    }
}

static void keep_garbage(storage *s, content *garbage)
{
    content *next;

    for (content *c = garbage; c != NULL; c = next) {
        next = c->older;
        storage_add_garbage(s, c);
    }
}

void garbage_free(content *garbage)
{
    content *next;

    for (content *c = garbage; c != NULL; c = next) {
        next = c->older;
        content_free(c);
    }
}

static void work(storage *s, txn *transactions, content *garbage)
{
    error err = {0};

    if (!storage_can_write(s, &err)) {
        answer(s, transactions, &err);
        garbage_free(garbage);
        return;
    }
    switch (run_batch(s, transactions, garbage, &err)) {
    case COMMITTED:
        remove_files(s, garbage);
        garbage_free(garbage);
        break;
    case REFUSED:
        if (err.kind == ERR_DISK)
            ballast_give_up(s);
        keep_garbage(s, garbage);
        run_singly(s, transactions);
        break;
    case UNKNOWN: /* the old state may be the one on the disk: its files stay */
        garbage_free(garbage);
        break;
    }
}

/* ---- The log ------------------------------------------------------------------------ */

static void checkpoint(storage *s)
{
    error err = {0};

    pthread_mutex_lock(&s->index_lock);
    if (!index_checkpoint(s->index, false, &err) && err.kind != ERR_MEMORY_BUSY)
        storage_fail(s, &err);
    pthread_mutex_unlock(&s->index_lock);
}

void *writer_main(void *argument)
{
    storage *s = argument;
    bool closing;

    do {
        txn *transactions;
        content *garbage;

        pthread_mutex_lock(&s->lock);
        wait_for_work(s);
        transactions = take_waiting(s);
        garbage = s->backups > 0 ? NULL : s->garbage;
        if (garbage != NULL)
            s->garbage = NULL;
        closing = s->closing && s->first_waiting == NULL;
        s->woken = false;
        pthread_mutex_unlock(&s->lock);
        const bool idle = transactions == NULL && garbage == NULL;

        if (!idle)
            work(s, transactions, garbage);
        slots_empty_left(s);
        if (!s->failed && (idle || index_log_bytes(s->index) > s->options.wal_bytes_max))
            checkpoint(s);
        if (!s->failed && idle)
            ballast_keep(s);
    } while (!closing);
    return NULL;
}
