/* SPDX-License-Identifier: Apache-2.0 */
/* Small programs that come again and again with other numbers. What the text was built and
 * planned to is kept, known by the text and by the types of the inputs, which are all that is
 * known of them; a program whose graph would be another one if their values were known is not
 * kept, and neither is one that reads what is stored. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/table.h"
#include "server/routes/evaluation.h"
#include "server/routes/stored.h"

enum { PLACES = 512, KEY_BYTES_MAX = 4096, CONSTANT_BYTES_MAX = 1 << 16 };

struct kept {
    _Atomic int references; /* its place has one */
    text key;
    arena *arena; /* of all below */
    budget budget;
    prepared *prepared; /* NULL: such a program cannot be kept */
    graph *graph;
    int *from; /* by input of the graph: which of the request's it is */
    lang_program program;
    outcome gives;
    int *printed;
    const char **missed; /* names that were not stored, missed_count of them */
    size_t missed_count;
};

/* Where a program is kept: by the hash of its key. The lock guards all places. */
static struct place {
    uint64_t seen; /* the hash of the last that came and was not there */
    kept *kept;
} places[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void unref(kept *k)
{
    if (k == NULL || --k->references > 0)
        return;
    engine_release(k->prepared);
    graph_release(k->graph);
    arena_free(k->arena);
    text_clear(&k->key);
    free(k);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static void add_word(text *key, const char *word)
{
    text_add_bytes(key, word, strlen(word) + 1);
}

static void add_input(text *key, const wire_input *input)
{
    const tensor *t = input->tensor;
    const bool fixed = t->weak && engine_number_counts(t);

    add_word(key, input->name);
    text_add_char(key, (char)t->dtype);
    text_add_char(key, (char)(t->weak + 2 * fixed));
    text_add_char(key, (char)t->shape.rank);
    text_add_bytes(key, (const char *)t->shape.length,
                   (size_t)t->shape.rank * sizeof *t->shape.length);
    if (fixed)
        text_add_bytes(key, tensor_bytes(t), dtype_size(t->dtype));
}

static void make_key(const wire_request *q, text *key)
{
    text_add_char(key, (char)(q->strict * 2 + q->optimize));
    text_add_char(key, (char)q->dialect);
    text_add_char(key, (char)(q->outputs.count % 128));
    add_word(key, q->program);
    for (size_t i = 0; i < q->outputs.count; i++)
        add_word(key, q->outputs.items[i]);
    for (size_t i = 0; i < q->inputs.count; i++)
        add_input(key, &q->inputs.items[i]);
}

/* Whether a request says nothing but a program, inputs and outputs. */
static bool is_plain(const evaluation *e)
{
    const wire_request *q = &e->asked;

    return e->request->trying && e->stored_name == NULL && q->program != NULL &&
           q->declared == NULL && q->givens == NULL && q->outputs.count < 128 && !e->writes &&
           !q->dry_run && !q->has_seed;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static const char *own_text(arena *a, const char *s)
{
    return arena_copy(a, s, strlen(s));
}

/* What the request asks for, with texts of its own. */
static wire_request own_request(const wire_request *q, arena *a)
{
    wire_request own = {.program = own_text(a, q->program),
                        .dialect = q->dialect,
                        .strict = q->strict,
                        .optimize = q->optimize,
                        .isolation = q->isolation};

    own.outputs.count = q->outputs.count;
    own.outputs.items = arena_array(a, q->outputs.count + 1, sizeof *own.outputs.items);
    for (size_t i = 0; i < q->outputs.count; i++)
        own.outputs.items[i] = own_text(a, q->outputs.items[i]);
    own.inputs.count = q->inputs.count;
    own.inputs.items = arena_array(a, q->inputs.count + 1, sizeof *own.inputs.items);
    for (size_t i = 0; i < q->inputs.count; i++) {
        own.inputs.items[i] = q->inputs.items[i];
        own.inputs.items[i].name = own_text(a, q->inputs.items[i].name);
    }
    return own;
}

/* Whether the graph is the same for all inputs of these types, and for all that may be stored,
 * but for the names that were missed. */
static bool is_general(const evaluation *e)
{
    return !e->graph->wants_numbers && e->whole == NULL && e->source.program.deleted_count == 0;
}

/* Where the graph's inputs stand among the request's. */
static int *sources(const evaluation *e)
{
    const wire_inputs *inputs = &e->asked.inputs;
    int *from = arena_array(e->arena, (size_t)e->graph->input_count + 1, sizeof *from);

    for (int i = 0; i < e->graph->input_count; i++)
        while (strcmp(inputs->items[from[i]].name, e->graph->inputs[i].node->name) != 0)
            from[i]++;
    return from;
}

/* Keeps what was built, if it can be. */
static void keep(kept *k, const evaluation *built)
{
    const engine_options options = {.strict = built->asked.strict,
                                    .optimize = built->asked.optimize};

    k->prepared = engine_prepare(built->graph, &options);
    k->from = sources(built);
    k->program = built->source.program;
    k->gives = built->gives;
    k->printed = built->printed;
    k->missed = built->bindings.missed;
    k->missed_count = built->bindings.missed_count;
}

/* Builds what e asks for once more, to be kept. */
static void build(kept *k, const evaluation *e)
{
    evaluation own = *e;
    error ignored = {0};

    own.arena = k->arena;
    own.budget = &k->budget;
    own.asked = own_request(&e->asked, k->arena);
    evaluation_begin(&own);
    own.bindings.types_only = true;
    if (evaluation_build(&own, &ignored) && is_general(&own))
        keep(k, &own);
    k->graph = own.graph;
    bindings_clear(&own.bindings);
    if (own.whole != NULL)
        graph_release(own.whole);
}

/* With one reference, and the key taken over. */
static kept *kept_new_take(text *key, const evaluation *e)
{
    kept *k = calloc(1, sizeof *k);

    if (k == NULL)
        abort();
    k->references = 1;
    k->key = *key;
    text_init(key);
    k->arena = arena_new();
    budget_init(&k->budget, CONSTANT_BYTES_MAX);
    build(k, e);
    return k;
}

/* ---- Finding -----------------------------------------------------------------------------------
 */

static bool has_key(const kept *k, const text *key)
{
    return k->key.length == key->length && memcmp(k->key.bytes, key->bytes, key->length) == 0;
}

/* What has the key, with a reference; NULL and *again: it is not there, and came before. */
static kept *look_up(struct place *at, uint64_t hash, const text *key, bool *again)
{
    kept *k;

    pthread_mutex_lock(&lock);
    k = at->kept != NULL && has_key(at->kept, key) ? at->kept : NULL;
    *again = k == NULL && at->seen == hash;
    if (k != NULL)
        k->references++;
    else
        at->seen = hash;
    pthread_mutex_unlock(&lock);
    return k;
}

/* Keeps k in the place of what was there. */
static void put(struct place *at, kept *k)
{
    kept *old;

    k->references++;
    pthread_mutex_lock(&lock);
    old = at->kept;
    at->kept = k;
    pthread_mutex_unlock(&lock);
    unref(old);
}

/* What is kept for the evaluation, with a reference; NULL if there is nothing. */
static kept *find(const evaluation *e)
{
    text key;
    kept *k = NULL;
    bool again = false;

    text_init(&key);
    make_key(&e->asked, &key);
    if (key.length <= KEY_BYTES_MAX) {
        const uint64_t hash = hash_bytes(key.bytes, key.length);
        struct place *at = &places[hash % PLACES];

        k = look_up(at, hash, &key, &again);
        if (again) {
            k = kept_new_take(&key, e);
            put(at, k);
        }
    }
    text_clear(&key);
    return k;
}

/* Whether a name that the program did not find then is stored now. */
static bool is_overtaken(const kept *k, const snapshot *now)
{
    for (size_t i = 0; i < k->missed_count; i++)
        if (snapshot_find(now, k->missed[i]) != NULL)
            return true;
    return false;
}

/* ---- Using -------------------------------------------------------------------------------------
 */

static tensor *inputs_of(const evaluation *e, const kept *k)
{
    const int count = k->graph->input_count;
    tensor *tensors = arena_array(e->arena, (size_t)count + 1, sizeof *tensors);

    for (int i = 0; i < count; i++)
        tensors[i] = *e->asked.inputs.items[k->from[i]].tensor;
    return tensors;
}

bool evaluation_take_kept(evaluation *e)
{
    kept *k = is_plain(e) ? find(e) : NULL;
    snapshot *now;

    if (k == NULL)
        return false;
    now = stored_snapshot(e->services, e->request);
    if (k->prepared == NULL || is_overtaken(k, now)) {
        snapshot_unref(now);
        unref(k);
        return false;
    }
    e->kept = k;
    e->base = now;
    e->graph = k->graph;
    e->source.program = k->program;
    e->gives = k->gives;
    e->printed = k->printed;
    e->tensors = inputs_of(e, k);
    return true;
}

prepared *evaluation_prepared(const evaluation *e)
{
    return e->kept->prepared;
}

void evaluation_give_back(evaluation *e)
{
    snapshot_unref((snapshot *)e->base);
    unref(e->kept);
}
