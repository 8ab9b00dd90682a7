/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/prepared.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/table.h"
#include "engine/exec/pool.h"
#include "engine/fold.h"
#include "engine/known.h"

enum { KEY_BYTES_MAX = 32 << 10, BUCKETS = 4096, SEEN = 4096 };

struct prepared {
    text key;
    uint64_t hash;
    arena *arena; /* of all below */
    graph *graph;
    const plan *plan; /* NULL: the graph has more than one stage */
    int64_t bytes;
    _Atomic int references;         /* the cache's is one */
    struct prepared *next;          /* in its bucket */
    struct prepared *newer, *older; /* by last use */
};

/* All is guarded by lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static prepared *buckets[BUCKETS], *newest, *oldest;
static uint64_t seen[SEEN]; /* hashes of graphs that came, the last at each place */
static engine_cache_figures figures;

/* ---- One ---------------------------------------------------------------------------------- */

/* Gives up the graph and its plan. */
static void empty(prepared *p)
{
    if (p->graph != NULL)
        graph_release(p->graph);
    arena_free(p->arena);
    p->graph = NULL;
    p->arena = NULL;
}

void prepared_release(prepared *p)
{
    if (p == NULL || --p->references > 0)
        return;
    empty(p);
    text_clear(&p->key);
    free(p);
}

const graph *prepared_graph(const prepared *p)
{
    return p->graph;
}

const plan *prepared_plan(const prepared *p)
{
    return p->plan;
}

/* A constant with elements of its own: those of a request are the request's. */
static bool copy_constant(graph_map *map, const node *n, graph *to, error *err)
{
    tensor t;
    value v;

    if (!tensor_new(&t, NULL, n->constant->dtype, &n->constant->shape, err))
        return false;
    tensor_copy_dense(n->constant, tensor_bytes(&t));
    t.weak = n->constant->weak;
    v = graph_constant(to, &t, err);
    tensor_unref(&t);
    if (v.node == NULL)
        return false;
    if (n->name != NULL)
        graph_name(v, n->name);
    graph_map_set(map, (value){(node *)n, 0}, v);
    return true;
}

static void *own_bytes(arena *a, const void *bytes, size_t n)
{
    return bytes == NULL ? NULL : memcpy(arena_alloc(a, n + 1), bytes, n);
}

/* The node's attributes with texts and lists of their own. A key has none that hold more. */
static const attr *own_attrs(const node *n, arena *a)
{
    attr *own = own_bytes(a, n->attrs, (size_t)n->op->attr_count * sizeof *own);

    for (int i = 0; i < n->op->attr_count; i++) {
        attr *x = &own[i];
        const size_t count = (size_t)x->n;

        if (x->kind == ATTR_TEXT)
            x->text = arena_copy(a, x->text, strlen(x->text));
        else if (x->kind == ATTR_INTS)
            x->ints = own_bytes(a, x->ints, count * sizeof *x->ints);
        else if (x->kind == ATTR_INDEX)
            x->index = own_bytes(a, x->index, count * sizeof *x->index);
    }
    return own;
}

static bool copy_operation(graph_map *map, const node *n, graph *to, error *err)
{
    value *inputs = arena_array(to->arena, (size_t)n->input_count + 1, sizeof *inputs);
    value outputs[OP_OUTPUTS];
    const node *copy;

    for (int i = 0; i < n->input_count; i++)
        inputs[i] = graph_map_get(map, n->inputs[i]);
    copy = graph_apply(to, n->op, inputs, n->input_count, own_attrs(n, to->arena), outputs, err);
    for (int i = 0; copy != NULL && i < copy->output_count; i++)
        graph_map_set(map, (value){(node *)n, i}, outputs[i]);
    if (copy != NULL && n->name != NULL)
        graph_name(outputs[0], n->name);
    return copy != NULL;
}

/* A copy of one node, nothing of which is another graph's: a map's copy shares attributes. */
static bool copy_node(graph_map *map, const node *n, graph *to, error *err)
{
    return n->op == &op_constant ? copy_constant(map, n, to, err)
           : n->op == &op_input  ? graph_map_copy(map, n, err)
                                 : copy_operation(map, n, to, err);
}

static graph *own_copy(const graph *g, arena *a, error *err)
{
    graph *to = graph_new(a, NULL);
    graph_map *map = graph_map_new(g, to);
    bool ok = true;

    to->node_limit = 16 * GRAPH_NODES_MAX; /* g kept its own limit */
    for (int i = 0; ok && i < g->count; i++)
        ok = copy_node(map, g->nodes[i], to, err);
    for (int i = 0; ok && i < g->output_count; i++)
        graph_add_output(to, graph_map_get(map, g->outputs[i]));
    if (ok)
        return to;
    graph_release(to);
    return NULL;
}

/* Whether it is planned whole, and gives the same whenever it runs. */
static bool is_steady(const graph *g)
{
    for (int i = 0; i < g->count; i++)
        if ((g->nodes[i]->op->traits & (OP_IMPURE | OP_CONTROL)) != 0)
            return false;
    return known_graph(g);
}

/* Rewrites and plans a copy of g in p's arena; leaves p->plan NULL where that cannot be kept. */
static void prepare(prepared *p, const graph *g, const engine_options *options)
{
    rewrite_options rewriting = {
        .fold = fold_node, .strict = options->strict, .only_lower = !options->optimize};
    error ignored = {0};
    graph *copy = own_copy(g, p->arena, &ignored);

    if (copy == NULL)
        return;
    p->graph = rewrite_graph(copy, &rewriting, p->arena, &ignored);
    graph_release(copy);
    if (p->graph != NULL && is_steady(p->graph))
        p->plan = plan_new(p->graph, pool_threads(), p->arena, &ignored);
}

static int64_t bytes_of(const prepared *p)
{
    int64_t bytes = (int64_t)(sizeof *p + p->key.room);

    if (p->arena != NULL)
        bytes += (int64_t)arena_bytes(p->arena);
    for (int i = 0; p->graph != NULL && i < p->graph->count; i++)
        if (p->graph->nodes[i]->op == &op_constant)
            bytes += tensor_nbytes(p->graph->nodes[i]->constant);
    return bytes;
}

/* With one reference, and the key taken over. */
static prepared *prepared_new_take(text *key, uint64_t hash, const graph *g,
                                   const engine_options *options)
{
    prepared *p = calloc(1, sizeof *p);

    if (p == NULL)
        abort();
    p->key = *key;
    text_init(key);
    p->hash = hash;
    p->references = 1;
    p->arena = arena_new();
    prepare(p, g, options);
    if (p->plan == NULL)
        empty(p);
    p->bytes = bytes_of(p);
    return p;
}

/* ---- All: the lock is held ---------------------------------------------------------------------
 */

static prepared **place_of(const text *key, uint64_t hash)
{
    prepared **at = &buckets[hash % BUCKETS];

    while (*at != NULL && ((*at)->hash != hash || (*at)->key.length != key->length ||
                           memcmp((*at)->key.bytes, key->bytes, key->length) != 0))
        at = &(*at)->next;
    return at;
}

static void unlist(prepared *p)
{
    *(p->newer != NULL ? &p->newer->older : &newest) = p->older;
    *(p->older != NULL ? &p->older->newer : &oldest) = p->newer;
    p->newer = p->older = NULL;
}

static void list_first(prepared *p)
{
    p->older = newest;
    *(newest != NULL ? &newest->newer : &oldest) = p;
    newest = p;
}

/* Takes the least recently used ones out until all fit; returns them, by next. */
static prepared *take_out_old(void)
{
    prepared *out = NULL;

    while (oldest != NULL && figures.bytes > figures.bytes_max) {
        prepared *p = oldest, **at = &buckets[p->hash % BUCKETS];

        while (*at != p)
            at = &(*at)->next;
        *at = p->next;
        unlist(p);
        figures.entries--;
        figures.bytes -= p->bytes;
        p->next = out;
        out = p;
    }
    return out;
}

/* The one of a key, with a reference for the caller; *again: there is none, but it was asked
 * for before. */
static prepared *look_up(const text *key, uint64_t hash, bool *again)
{
    prepared *p = *place_of(key, hash);

    *again = p == NULL && seen[hash % SEEN] == hash;
    seen[hash % SEEN] = hash;
    if (p == NULL || p->plan == NULL) {
        figures.misses++;
        return NULL;
    }
    figures.hits++;
    p->references++;
    unlist(p);
    list_first(p);
    return p;
}

/* Keeps p, unless another thread was first. */
static void put_in(prepared *p)
{
    prepared **at = place_of(&p->key, p->hash);

    if (*at != NULL)
        return;
    p->references++;
    *at = p;
    list_first(p);
    figures.entries++;
    figures.bytes += p->bytes;
}

/* ---- The cache ----------------------------------------------------------------------------------
 */

static void release_all(prepared *list)
{
    for (prepared *next; list != NULL; list = next) {
        next = list->next;
        prepared_release(list);
    }
}

/* Makes and keeps the one of a key that came again; held for the caller, if it can be used. */
static prepared *add_take(text *key, uint64_t hash, const graph *g, const engine_options *options)
{
    prepared *p = prepared_new_take(key, hash, g, options), *old;

    pthread_mutex_lock(&lock);
    figures.made++;
    put_in(p);
    old = take_out_old();
    pthread_mutex_unlock(&lock);
    release_all(old);
    if (p->plan != NULL)
        return p;
    prepared_release(p);
    return NULL;
}

static bool key_of(const graph *g, const engine_options *options, text *key)
{
    text_add_char(key, (char)(options->strict * 2 + options->optimize));
    return rewrite_graph_key(g, key) && key->length <= KEY_BYTES_MAX;
}

/* The one for g; made if it is not there, at once or when it is asked for again. */
static prepared *find(const graph *g, const engine_options *options, bool at_once)
{
    prepared *p = NULL;
    bool again = false;
    text key;

    if (options->dry_run || figures.bytes_max == 0)
        return NULL;
    text_init(&key);
    if (key_of(g, options, &key)) {
        const uint64_t hash = hash_bytes(key.bytes, key.length);

        pthread_mutex_lock(&lock);
        p = look_up(&key, hash, &again);
        pthread_mutex_unlock(&lock);
        if (p == NULL && (again || at_once))
            p = add_take(&key, hash, g, options);
    }
    text_clear(&key);
    return p;
}

prepared *prepared_find(const graph *g, const engine_options *options)
{
    return find(g, options, false);
}

prepared *prepared_get(const graph *g, const engine_options *options)
{
    return find(g, options, true);
}

void prepared_count_use(prepared *p)
{
    pthread_mutex_lock(&lock);
    figures.hits++;
    if (p != newest && (p->newer != NULL || p->older != NULL)) { /* it is listed still */
        unlist(p);
        list_first(p);
    }
    pthread_mutex_unlock(&lock);
}

void engine_cache_limit(int64_t bytes)
{
    prepared *old;

    pthread_mutex_lock(&lock);
    figures.bytes_max = bytes;
    old = take_out_old();
    pthread_mutex_unlock(&lock);
    release_all(old);
}

engine_cache_figures engine_cache_count(void)
{
    engine_cache_figures now;

    pthread_mutex_lock(&lock);
    now = figures;
    pthread_mutex_unlock(&lock);
    return now;
}
