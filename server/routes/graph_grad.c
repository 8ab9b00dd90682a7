/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/graphs/{name}/grad: a graph that computes gradients of a stored one. It stands
 * by itself: what the stored graph calls is in place, so it stays what it is when that
 * changes. */
#include <string.h>

#include "engine/base/json.h"
#include "engine/engine.h"
#include "server/routes/body.h"
#include "server/routes/handlers.h"
#include "server/routes/library.h"
#include "server/routes/repeat.h"
#include "server/routes/stored.h"

/* One request. */
typedef struct gradients {
    services *services;
    http_request *request;
    const char *name; /* of the graph that is differentiated */
    wire_request asked;
    library library;
    library_graph of;
    txn *txn;
    graph *graph; /* of the gradients */
    text json;    /* that graph */
    commit_result done;
} gradients;

bool grad_open(services *s, http_request *r, error *err)
{
    return body_open(s, r, WIRE_GRAPH_BODY, err);
}

/* ---- The graph ---------------------------------------------------------------------- */

static bool check_scalar(const char *name, value y, error *err)
{
    char text[SHAPE_TEXT_MAX];

    return value_type(y)->shape.rank == 0 ||
           error_set(err, ERR_SHAPE,
                     "'%s' has shape %s; gradients are taken of a scalar, such as its sum().", name,
                     shape_print(&value_type(y)->shape, text));
}

/* grad_w; of q:1, grad_q_1. */
static const char *gradient_name(arena *a, const char *of)
{
    char *name = arena_format(a, "grad_%s", of), *colon = strchr(name, ':');

    if (colon != NULL)
        *colon = '_';
    return name;
}

/* The values that the request names: y, then each wrt. */
static bool find_values(gradients *g, value *y, value *wrt, const char **names, error *err)
{
    if (!source_find(&g->of.source, g->asked.of, y, err) || !check_scalar(g->asked.of, *y, err))
        return error_at_pointer(err, "/of");
    for (size_t i = 0; i < g->asked.wrt.count; i++) {
        if (!source_find(&g->of.source, g->asked.wrt.items[i], &wrt[i], err))
            return error_at_pointer(err, "/wrt/%zu", i);
        names[i] = gradient_name(g->request->arena, g->asked.wrt.items[i]);
    }
    return true;
}

/* Puts the inputs in the order in which the stored graph takes them. */
static void order_inputs(const gradients *g)
{
    const graph *from = g->of.graph;
    graph *to = g->graph;
    int placed = 0;

    for (int i = 0; i < from->input_count; i++) {
        const char *name = from->inputs[g->of.order[i]].node->name;

        for (int k = placed; k < to->input_count; k++) {
            const value v = to->inputs[k];

            if (strcmp(v.node->name, name) != 0)
                continue;
            to->inputs[k] = to->inputs[placed];
            to->inputs[placed++] = v;
            break;
        }
    }
}

static bool build(gradients *g, error *err)
{
    const size_t count = g->asked.wrt.count;
    value y, *wrt = arena_array(g->request->arena, count, sizeof *wrt);
    const char **names = arena_array(g->request->arena, count, sizeof *names);

    if (!library_load(&g->library, g->name, &g->of.says, err))
        return false;
    if (!library_build(&g->library, g->name, &g->of, err))
        return library_blame(g->name, err);
    if (!find_values(g, &y, wrt, names, err))
        return false;
    g->graph = grad_graph(g->of.graph, y, wrt, names, (int)count, g->request->arena, err);
    if (g->graph == NULL)
        return false;
    order_inputs(g);
    graph_json_write(g->graph, &g->json);
    return true;
}

/* ---- Stored and answered ------------------------------------------------------------------ */

/* What is stored is read once more, as it will be when it is used. */
static bool store_text(gradients *g, const char *as, const text *stored, error *err)
{
    library_graph again;

    return library_read(&g->library, stored->bytes, stored->length, &again.says, err) &&
           library_build(&g->library, as, &again, err) &&
           stored_expect(g->services, g->request, g->txn, as, err) &&
           txn_put_graph(g->txn, as, stored->bytes, stored->length, err) &&
           repeat_commit(g->request, g->txn, &g->done, err);
}

static bool store(gradients *g, error *err)
{
    text stored;
    bool ok;

    if (g->asked.as == NULL)
        return true;
    text_init(&stored);
    text_addf(&stored, "{\"graph\":%s}", g->json.bytes);
    ok = store_text(g, g->asked.as, &stored, err);
    text_clear(&stored);
    return ok;
}

static void answer(const gradients *g)
{
    http_request *r = g->request;
    text body;
    json_writer w = json_to(&body, false);

    text_init(&body);
    json_begin(&w, NULL, '{');
    json_raw(&w, "graph", g->json.bytes);
    stored_add_committed(&w, &g->done);
    if (g->done.commit > 0)
        json_int(&w, "commit", g->done.commit);
    json_int(&w, "snapshot", snapshot_commit(txn_base(g->txn)));
    json_end(&w, '}');
    text_add_char(&body, '\n');
    answer_text(r, 200, "application/json", &body);
}

static bool perform(gradients *g, error *err)
{
    if (!build(g, err) || !store(g, err))
        return false;
    answer(g);
    return true;
}

bool grad_handle(services *s, http_request *r, error *err)
{
    gradients *g = arena_alloc(r->arena, sizeof *g);
    durability d;
    bool ok;

    *g = (gradients){.services = s, .request = r, .name = stored_name(r, err)};
    if (g->name == NULL || !stored_durability(r, &d, err) ||
        !wire_read_grad(body_root(r), r->arena, &g->asked, err))
        return false;
    text_init(&g->json);
    g->txn = stored_txn(s, r, d);
    library_init(&g->library, s, r->arena, g->txn, true, &body_of(r)->budget);
    ok = perform(g, err);
    if (g->graph != NULL)
        graph_release(g->graph);
    text_clear(&g->json);
    library_clear(&g->library);
    txn_free(g->txn);
    return ok;
}
