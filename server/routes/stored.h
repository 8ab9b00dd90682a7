/* stored -- what routes share that speak of stored names (private to routes). */
#pragma once

#include "engine/base/json.h"
#include "server/routes/routes.h"
#include "storage/storage.h"

/* The present snapshot, and an empty transaction on it, as far as the caller's token reaches:
 * handlers take them here and nowhere else, so that no route can show or change more. The caller
 * owns them. */
snapshot *stored_snapshot(services *s, const http_request *r);
txn *stored_txn(services *s, const http_request *r, durability d);

/* The name in the path, in normal form. NULL and ERR_NAME. */
const char *stored_name(const http_request *r, error *err);

/* The variable, or graph, of a name. NULL and ERR_NOT_FOUND with the nearest name. */
const entry *stored_find(const snapshot *n, entry_kind kind, const char *name, error *err);

/* The same of what is to be changed; ERR_FORBIDDEN if the snapshot allows no changes of it. */
const entry *stored_find_to_change(const snapshot *n, entry_kind kind, const char *name,
                                   error *err);

/* The same of a variable, or the older version of it that ?version= names. */
const entry *stored_find_version(const http_request *r, const snapshot *n, const char *name,
                                 error *err);

/* The nearest stored name of a kind, in a; NULL if none is near. Looks at a bounded
 * number. */
const char *stored_nearest(const snapshot *n, entry_kind kind, const char *name, arena *a);

/* What ?durability= says; disk if it is not said. ERR_REQUEST for another word. */
bool stored_durability(const http_request *r, durability *result, error *err);

/* The word for it. */
const char *stored_durability_name(durability d);

/* Adds a moment, in microseconds since 1970, as a date. */
void stored_add_time(json_writer *w, const char *key, int64_t date_us);

/* What ?limit= says of a page. ERR_REQUEST for what is no number in its range. */
bool stored_limit(const http_request *r, size_t *limit, error *err);

/* The name behind which ?cursor= has a page of names with a prefix begin; "" if it is not said.
 * Such a name may have gone since. NULL and ERR_REQUEST for what no page can have said. */
const char *stored_cursor(const http_request *r, const char *prefix, error *err);

/* Sets the header Link to the next page of a list. */
void stored_link_next(http_request *r, const char *path, const char *prefix, size_t limit,
                      const char *cursor);

/* Sets the header ETag to that of an entry in a form (a word: "json", "npy"). */
void stored_answer_etag(services *s, http_request *r, const entry *e, const char *form);

/* Sets a header to a number. */
void stored_answer_number(http_request *r, const char *header, int64_t number);

/* Adds "stored": the names that a commit gave new versions, but for hidden ones. */
void stored_add_committed(json_writer *w, const commit_result *done);

/* Answers with a JSON text that storage keeps, and gives it up. False if it is NULL. */
bool stored_answer_kept(http_request *r, buffer *kept);

/* Answers PUT of one name with body, which it takes: 201 and Location if the name is new.
 * The ETag is that of e in a form; there is none if e is NULL or newer than the commit. */
void stored_answer_put(services *s, http_request *r, const commit_result *done, const entry *e,
                       const char *form, text *body);

/* Whether what a reader has is still the entry in this form: If-Match (true if it is not said),
 * and If-Range, on which a Range rests. ERR_PRECONDITION if If-Match fails. */
bool stored_matches(services *s, const http_request *r, const entry *e, error *err);
bool stored_range_holds(services *s, const http_request *r, const entry *e, const char *form);

/* Whether a reader has this already: If-None-Match names the entry in this form. */
bool stored_is_known(services *s, const http_request *r, const entry *e, const char *form);

/* Makes the transaction keep what If-Match and If-None-Match ask of a name that it is to change.
 * ERR_PRECONDITION if that does not hold even now, ERR_FORBIDDEN if it may not change it. */
bool stored_expect(services *s, const http_request *r, txn *x, const char *name, error *err);

/* Removes a name by the transaction, which is committed, and answers. */
bool stored_commit_delete(http_request *r, txn *x, const char *name, error *err);

/* Answers DELETE: the name in the path goes, with the conditions and the durability that
 * are asked. False and the error if nothing of this kind has it. */
bool stored_delete(services *s, http_request *r, entry_kind kind, error *err);
