/* commit -- transactions, applied to the index and to the names in memory.
 *
 * A batch is what one commit of the index carries: transactions one after the
 * other, each seeing the names as the one before left them, and the removal of
 * garbage. Until batch_publish nothing of it is visible, so a batch that fails is
 * simply dropped.
 *
 * Threads: the writer's only, with the index's lock. */
#pragma once

#include "storage/private.h"

typedef struct batch {
    storage *storage;
    txn *transactions; /* linked by next */
    content *garbage;  /* linked by older */
    bool synced;       /* to be committed with a sync */
    bool loose;        /* has a transaction that may be lost at a power loss */

    /* The state after the transactions that were applied. */
    names *names;
    int64_t count[ENTRY_KINDS];
    int64_t commit;

    arena *arena;
    content **redeemed, **doomed; /* held; by the changes applied */
    size_t redeemed_count, redeemed_room, doomed_count, doomed_room;
} batch;

/* Whether what the transaction expects of names holds now. */
bool txn_check_expectations(const txn *x, const names *now, error *err);

/* A batch of these transactions and this garbage, on top of the present snapshot. */
void batch_init(batch *b, storage *s, txn *transactions, content *garbage);

/* Lets go of what the batch holds; not of its transactions and garbage. */
void batch_clear(batch *b);

/* Writes the batch to the index, from begin to just before commit. A transaction
 * whose expectations fail gets a failure of its own and takes no part; *changes is
 * whether anything is left. False, and everything is to be rolled back, if the
 * index or a directory failed. */
bool batch_write(batch *b, bool *changes, error *err);

/* After the index has committed: makes the new names the present snapshot, and
 * says which contents live on. */
void batch_publish(batch *b);

/* After a commit of unknown outcome: lets the files stay. */
void batch_redeem(batch *b);
