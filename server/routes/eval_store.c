/* SPDX-License-Identifier: Apache-2.0 */
/* What an evaluation stores and deletes: one transaction, that rests on what it read. */
#include <string.h>

#include "engine/base/name.h"
#include "server/routes/evaluation.h"
#include "server/routes/repeat.h"
#include "server/routes/stored.h"

/* A dry run changes nothing. */
static void delete_name(evaluation *e, const char *name)
{
    if (!e->asked.dry_run)
        txn_delete(e->bindings.txn, name);
}

/* ---- Wanted ------------------------------------------------------------------------------ */

static void add(evaluation *e, const char *stored, value v)
{
    graph_add_output(e->graph, v);
    e->stored[e->stored_count++] = (wanted){.name = stored, .output = e->graph->output_count - 1};
}

/* Whether a value of the language is one that can be kept. */
static bool can_be_stored(const lang_value *v)
{
    return v->kind == LANG_TENSOR || v->kind == LANG_NUMBER || v->kind == LANG_LIST ||
           v->kind == LANG_TUPLE;
}

static bool select_assigned(evaluation *e, const lang_name *n, error *err)
{
    const char *name;
    value v;

    if (!can_be_stored(&n->value))
        return true;
    name = name_normalise(e->request->arena, n->name, strlen(n->name), err);
    if (name == NULL || !lang_tensor(e->graph, &n->value, n->name, &v, err))
        return error_at_pointer(err, "/store");
    add(e, name, v);
    return true;
}

static bool select_list(evaluation *e, const wire_assignments *list,
                        bool (*fit)(evaluation *e, const char *stored, value *v, error *err),
                        error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const wire_assignment *one = &list->items[i];
        value v;

        if (!source_find(&e->source, one->name, &v, err) ||
            (fit != NULL && !fit(e, one->stored, &v, err)))
            return wire_fault_at(one->value, err);
        add(e, one->stored, v);
    }
    return true;
}

/* What the text says of an input that takes the stored variable of this name; NULL if it
 * says nothing. */
static const declaration *declared_input(const evaluation *e, const char *name)
{
    const declared *d = e->says.program != NULL ? &e->source.declared : &e->source.json.declared;

    return table_get(&d->types, name);
}

/* An update keeps the element type of the variable, fits what the graph declares of it, and
 * is not stored besides. */
static bool fit_update(evaluation *e, const char *stored, value *v, error *err)
{
    const entry *old = snapshot_find(txn_base(e->bindings.txn), stored);
    const declaration *said = declared_input(e, stored);
    declaration kept = {.has_dtype = true};
    table lengths;

    for (int i = 0; i < e->stored_count; i++)
        if (strcmp(e->stored[i].name, stored) == 0)
            return error_set(err, ERR_REQUEST, "'%s' is to be stored and updated.", stored);
    table_init(&lengths, e->request->arena);
    if (said != NULL && !declaration_take(e->graph, said, stored, &lengths, v, err))
        return false;
    if (old == NULL || old->kind != ENTRY_VARIABLE)
        return true;
    kept.dtype = entry_dtype(old);
    return declaration_take(e->graph, &kept, stored, &lengths, v, err);
}

/* All that the program assigned; what it deleted goes. */
static bool select_all(evaluation *e, error *err)
{
    const lang_program *p = &e->source.program;

    if (e->says.program == NULL) {
        error_set(err, ERR_REQUEST, "'store' may be \"all\" with a program, not with a graph.");
        return error_at_pointer(err, "/store");
    }
    e->stored =
        arena_array(e->request->arena, (size_t)p->assigned_count + e->asked.updates.count + 1,
                    sizeof *e->stored);
    for (int i = 0; i < p->assigned_count; i++)
        if (!select_assigned(e, &p->assigned[i], err))
            return false;
    for (int i = 0; i < p->deleted_count; i++)
        if (snapshot_find(txn_base(e->bindings.txn), p->deleted[i].name) != NULL)
            delete_name(e, p->deleted[i].name);
    return select_list(e, &e->asked.updates, fit_update, err);
}

static bool select_listed(evaluation *e, error *err)
{
    e->stored = arena_array(e->request->arena, e->asked.store.count + e->asked.updates.count + 1,
                            sizeof *e->stored);
    return select_list(e, &e->asked.store, NULL, err) &&
           select_list(e, &e->asked.updates, fit_update, err);
}

static bool select_deleted(evaluation *e, error *err)
{
    const snapshot *base = txn_base(e->bindings.txn);

    for (size_t i = 0; i < e->asked.delete.count; i++) {
        const char *name = e->asked.delete.items[i];

        if (!snapshot_allows(base, name, err))
            return error_at_pointer(err, "/delete/%zu", i);
        if (snapshot_find(base, name) == NULL) {
            error_set(err, ERR_UNKNOWN_NAME, "'%s' cannot be deleted: there is no such name.",
                      name);
            error_suggest(err, stored_nearest(base, ENTRY_VARIABLE, name, e->request->arena));
            return error_at_pointer(err, "/delete/%zu", i);
        }
        for (int k = 0; k < e->stored_count; k++)
            if (strcmp(e->stored[k].name, name) == 0) {
                error_set(err, ERR_REQUEST, "'%s' is to be stored and deleted.", name);
                return error_at_pointer(err, "/delete/%zu", i);
            }
        delete_name(e, name);
    }
    return true;
}

/* Before anything is computed in vain; the commit would refuse it as well. */
static bool check_stored(const evaluation *e, error *err)
{
    for (int i = 0; i < e->stored_count; i++)
        if (!snapshot_allows(txn_base(e->bindings.txn), e->stored[i].name, err))
            return false;
    return true;
}

bool evaluation_select_stored(evaluation *e, error *err)
{
    return (e->asked.store_all ? select_all(e, err) : select_listed(e, err)) &&
           check_stored(e, err) && select_deleted(e, err);
}

/* ---- Taken while it is computed ------------------------------------------------------------ */

static bool open_taking(void *context, dtype t, const shape *s, error *err)
{
    taking *to = context;

    to->incoming =
        incoming_new(to->of->services->storage, to->of->durability, FORM_AUTO, t, s, err);
    return to->incoming != NULL;
}

static bool write_taking(void *context, const void *bytes, size_t n, error *err)
{
    return incoming_write(((taking *)context)->incoming, bytes, n, err);
}

const sink *evaluation_sinks(evaluation *e)
{
    const size_t count = (size_t)e->graph->output_count + 1;
    sink *sinks;

    if (e->stored_count == 0 || e->durability == DURABILITY_MEMORY) /* that has no files */
        return NULL;
    sinks = arena_array(e->request->arena, count, sizeof *sinks);
    e->takings = arena_array(e->request->arena, count, sizeof *e->takings);
    for (int i = 0; i < e->stored_count; i++) {
        taking *to = &e->takings[e->stored[i].output];

        to->of = e;
        sinks[e->stored[i].output] = (sink){open_taking, write_taking, to};
    }
    return sinks;
}

void evaluation_drop_taken(evaluation *e)
{
    for (int i = 0; e->takings != NULL && i < e->stored_count; i++) {
        incoming_free(e->takings[e->stored[i].output].incoming);
        e->takings[e->stored[i].output].incoming = NULL;
    }
}

static bool put_taken(evaluation *e, const char *name, taking *from, error *err)
{
    incoming *in = from->incoming;

    if (!incoming_finish(in, err))
        return false;
    from->incoming = NULL;
    return txn_put_incoming_take(e->bindings.txn, name, in, err);
}

/* ---- Committed ----------------------------------------------------------------------------- */

/* Under snapshot isolation nobody else may have changed, since it was read from, what is now
 * written: the first to commit wins. */
static void rest_on_written(evaluation *e)
{
    if (e->asked.isolation != WIRE_SNAPSHOT)
        return;
    for (int i = 0; i < e->stored_count; i++)
        txn_read(e->bindings.txn, e->stored[i].name);
    for (size_t i = 0; i < e->asked.delete.count; i++)
        txn_read(e->bindings.txn, e->asked.delete.items[i]);
}

static bool put_stored(evaluation *e, error *err)
{
    rest_on_written(e);
    for (int i = 0; i < e->stored_count; i++) {
        const wanted *w = &e->stored[i];
        const bool taken = e->takings != NULL && e->takings[w->output].incoming != NULL;

        if (!(taken ? put_taken(e, w->name, &e->takings[w->output], err)
                    : txn_put_tensor(e->bindings.txn, w->name, &e->values[w->output], FORM_AUTO,
                                     err)))
            return false;
    }
    return true;
}

/* What the job's answer says, as soon as it is known what the commit does. */
static void tell_job(void *context, const commit_result *done, text *to)
{
    evaluation *e = context;

    e->committed = done;
    evaluation_tell(e);
    outcome_add(&e->gives, to);
    e->committed = NULL;
}

/* The answer of a job is part of the transaction. */
static bool put_answer(evaluation *e, error *err)
{
    const outcome *o = &e->gives;

    for (int i = 0; i < o->tensor_count && !o->dry_run; i++)
        if (!job_put_tensor(e->job, e->bindings.txn, i, &o->tensors[i], err))
            return false;
    job_put_answer(e->job, e->bindings.txn, tell_job, e);
    return true;
}

bool evaluation_store(evaluation *e, error *err)
{
    commit_result *done = arena_alloc(e->request->arena, sizeof *done);
    const bool changes = e->writes && !e->asked.dry_run;

    if (!changes && e->job == NULL)
        return true;
    if ((changes && !put_stored(e, err)) || (e->job != NULL && !put_answer(e, err)) ||
        !repeat_commit(e->request, e->bindings.txn, done, err))
        return false;
    e->committed = done;
    return true;
}
