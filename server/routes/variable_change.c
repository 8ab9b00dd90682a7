/* SPDX-License-Identifier: Apache-2.0 */
/* Changing a part of a variable, and making it longer: each makes a new generation of it.
 *
 * A change rests on what it changes: if somebody else stored the name meanwhile, it is done
 * again on what is there then. Changes of one name take turns, so that copies of large arrays
 * are not made in vain. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/table.h"
#include "server/routes/body.h"
#include "server/routes/compute.h"
#include "server/routes/handlers.h"
#include "server/routes/repeat.h"
#include "server/routes/stored.h"
#include "server/routes/variable_meta.h"

enum { TRIES_MAX = 8, TURNS = 64 };

/* One change of one variable, while it is made. */
typedef struct change {
    services *services;
    http_request *request;
    const char *name;
    txn *txn;
    const entry *entry; /* in the transaction's base */
} change;

/* Puts the change into the transaction. */
typedef bool change_make(change *c, error *err);

/* ---- Taking turns -------------------------------------------------------------------------- */

static pthread_mutex_t turns[TURNS];
static pthread_once_t turns_made = PTHREAD_ONCE_INIT;

static void make_turns(void)
{
    for (int i = 0; i < TURNS; i++)
        pthread_mutex_init(&turns[i], NULL);
}

static pthread_mutex_t *turn_of(const char *name)
{
    pthread_once(&turns_made, make_turns);
    return &turns[hash_bytes(name, strlen(name)) % TURNS];
}

/* ---- What is written ------------------------------------------------------------------------- */

/* The body in the variable's element type, with a reference. What an integer or boolean type
 * cannot hold is refused. */
static bool convert(change *c, dtype to, tensor *result, error *err)
{
    const tensor *said = wire_tensor(body_root(c->request));
    const dtype from = said->dtype;
    wire_input input = {.name = "x", .value = body_root(c->request), .tensor = said};
    const wire_inputs inputs = {.count = 1, .items = &input};
    const bool exact = dtype_info_of(to)->class < CLASS_FLOAT;
    const char *program =
        arena_format(c->request->arena,
                     exact ? "y = astype(x, %s)\ny, all(y == x)" : "astype(x, %s)", dtype_name(to));
    tensor results[2];

    *result = *said;
    result->weak = false;
    if (from == to) {
        tensor_ref(result);
        return true;
    }
    if (dtype_info_of(from)->class == CLASS_COMPLEX && dtype_info_of(to)->class != CLASS_COMPLEX)
        return error_set(err, ERR_DTYPE, "'%s' is of type %s, which cannot hold complex numbers.",
                         c->name, dtype_name(to));
    input.tensor = result;
    if (!compute(c->services, c->request, program, &inputs, &body_of(c->request)->budget, results,
                 exact ? 2 : 1, err))
        return false;
    *result = results[0];
    if (!exact)
        return true;
    if (!*(const bool *)tensor_bytes(&results[1])) {
        tensor_unref(result);
        error_set(err, ERR_OVERFLOW, "'%s' is of type %s, which cannot hold all of these values.",
                  c->name, dtype_name(to));
    }
    tensor_unref(&results[1]);
    return !error_is_set(err);
}

/* Stretches t to a shape, by NumPy's rules. */
static bool stretch(tensor *t, const shape *to, error *err)
{
    const int missing = to->rank - t->shape.rank;
    char from_text[SHAPE_TEXT_MAX], to_text[SHAPE_TEXT_MAX];
    tensor result = *t;
    bool fits = missing >= 0;

    result.shape = *to;
    for (int i = to->rank - 1; i >= 0 && fits; i--) {
        const int64_t length = i >= missing ? t->shape.length[i - missing] : 1;

        result.strides[i] = length == 1 ? 0 : t->strides[i - missing];
        fits = length == 1 || length == to->length[i];
    }
    if (!fits)
        return error_set(err, ERR_SHAPE,
                         "The body has shape %s, which does not fit the slice's %s.",
                         shape_print(&t->shape, from_text), shape_print(to, to_text));
    *t = result;
    return true;
}

/* The variable as it would lie densely, without its elements. */
static tensor outline(const entry *e)
{
    tensor t = {.dtype = entry_dtype(e)};

    entry_shape(e, &t.shape);
    shape_strides(&t.shape, t.strides);
    return t;
}

static bool make_patch(change *c, error *err)
{
    const char *text = http_query(c->request, "slice");
    const tensor whole = outline(c->entry);
    tensor part, value;
    slice asked;
    bool ok;

    if (text == NULL)
        return error_set(err, ERR_REQUEST,
                         "Say which part is written: ?slice=0:10, or ?slice=... for all of it.");
    if (!slice_parse(text, &asked, err) || !slice_apply(&asked, &whole, &part, err) ||
        !convert(c, whole.dtype, &value, err))
        return false;
    ok = stretch(&value, &part.shape, err) && txn_patch(c->txn, c->entry, &part, &value, err);
    tensor_unref(&value);
    return ok;
}

/* ---- What is appended --------------------------------------------------------------------------
 */

static bool read_axis(const change *c, int rank, int *axis, error *err)
{
    int64_t said = 0;

    if (!http_query_integer(c->request, "axis", &said))
        return error_set(err, ERR_REQUEST, "axis is an integer, not '%.40s'.",
                         http_query(c->request, "axis"));
    if (rank == 0)
        return error_set(err, ERR_AXIS, "'%s' is a scalar; it has no axis to append along.",
                         c->name);
    return shape_axis(said, rank, "append", axis, err);
}

/* One element along the axis may come without it. */
static bool add_axis(tensor *more, const shape *old, int axis, error *err)
{
    char more_text[SHAPE_TEXT_MAX], old_text[SHAPE_TEXT_MAX];
    const shape said = more->shape;
    bool fits;

    if (more->shape.rank == old->rank - 1) {
        memmove(more->shape.length + axis + 1, more->shape.length + axis,
                (size_t)(more->shape.rank - axis) * sizeof *more->shape.length);
        memmove(more->strides + axis + 1, more->strides + axis,
                (size_t)(more->shape.rank - axis) * sizeof *more->strides);
        more->shape.length[axis] = 1;
        more->strides[axis] = 0;
        more->shape.rank++;
    }
    fits = more->shape.rank == old->rank;
    for (int i = 0; i < old->rank && fits; i++)
        fits = i == axis || more->shape.length[i] == old->length[i];
    return fits || error_set(err, ERR_SHAPE,
                             "The body has shape %s, which cannot be appended to %s along axis %d.",
                             shape_print(&said, more_text), shape_print(old, old_text), axis);
}

static bool make_longer(change *c, error *err)
{
    tensor more;
    shape old;
    int axis;
    bool ok;

    entry_shape(c->entry, &old);
    if (!read_axis(c, old.rank, &axis, err) || !convert(c, entry_dtype(c->entry), &more, err))
        return false;
    ok = add_axis(&more, &old, axis, err) && txn_append(c->txn, c->entry, &more, axis, err);
    tensor_unref(&more);
    return ok;
}

/* ---- The whole
 * ------------------------------------------------------------------------------------ */

/* What was in memory alone stays there, unless something else is asked. */
static bool choose_durability(const change *c, const entry *e, durability *d, error *err)
{
    if (!stored_durability(c->request, d, err))
        return false;
    if (http_query(c->request, "durability") == NULL && entry_is_volatile(e))
        *d = DURABILITY_MEMORY;
    return true;
}

/* One try, on what is there now. */
static bool try_change(change *c, change_make *make, error *err)
{
    services *s = c->services;
    snapshot *base = stored_snapshot(s, c->request);
    const entry *found = stored_find_to_change(base, ENTRY_VARIABLE, c->name, err);
    commit_result done;
    durability d;
    bool ok = found != NULL && choose_durability(c, found, &d, err);

    if (ok) {
        c->txn = txn_new(s->storage, base, d);
        c->entry = txn_read(c->txn, c->name);
        ok = stored_expect(s, c->request, c->txn, c->name, err) && make(c, err) &&
             repeat_commit(c->request, c->txn, &done, err) &&
             variable_answer_stored(s, c->request, c->name, &done, err);
        txn_free(c->txn);
    }
    snapshot_unref(base);
    return ok;
}

static bool make_change(services *s, http_request *r, change_make *make, error *err)
{
    change c = {.services = s, .request = r, .name = stored_name(r, err)};
    bool ok;

    if (c.name == NULL)
        return false;
    pthread_mutex_lock(turn_of(c.name));
    for (int tries = 1;; tries++) {
        ok = try_change(&c, make, err);
        if (ok || err->kind != ERR_CONFLICT || tries == TRIES_MAX || r->cancel != 0)
            break;
        error_clear(err);
    }
    pthread_mutex_unlock(turn_of(c.name));
    return ok;
}

bool variable_patch(services *s, http_request *r, error *err)
{
    return make_change(s, r, make_patch, err);
}

bool variable_append(services *s, http_request *r, error *err)
{
    return make_change(s, r, make_longer, err);
}
