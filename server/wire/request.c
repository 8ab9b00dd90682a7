/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/request.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "engine/base/name.h"
#include "engine/base/nearest.h"
#include "engine/base/table.h"
#include "engine/base/text.h"

/* ---- Names ------------------------------------------------------------------------- */

static const char *nearest_of(const char *word, const char *const *names, size_t count)
{
    nearest n = nearest_to(word, NEAREST_EDITS);

    for (size_t i = 0; i < count; i++)
        nearest_offer(&n, names[i]);
    return n.word;
}

bool wire_known_members(const wire_value *object, const char *const *names, size_t count,
                        const char *what, error *err)
{
    for (const wire_value *m = wire_first(object); m != NULL; m = wire_next(m)) {
        const char *near;
        size_t i = 0;

        while (i < count && strcmp(wire_key(m), names[i]) != 0)
            i++;
        if (i < count)
            continue;
        near = nearest_of(wire_key(m), names, count);
        wire_fault(m, err, ERR_MEMBER, "%s has no member '%.60s'%s%s%s", what, wire_key(m),
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        return error_suggest(err, near);
    }
    return true;
}

/* The name that text is, checked; v is where it stands. */
static const char *read_name_text(const char *text, const wire_value *v, arena *a, error *err)
{
    const char *name = name_normalise(a, text, strlen(text), err);

    if (name == NULL)
        wire_fault_at(v, err);
    return name;
}

static const char *read_name(const wire_value *v, arena *a, error *err)
{
    return wire_expect(v, WIRE_STRING, err) ? read_name_text(wire_string(v, NULL), v, a, err)
                                            : NULL;
}

/* Checks that name, which is normal, does not come twice; names is what came. */
static bool note_name(table *names, const char *name, const wire_value *v, error *err)
{
    return table_put(names, name, names) == NULL ||
           wire_fault(v, err, ERR_REQUEST, "the name '%s' is given twice", name);
}

/* ---- Readers, by the kind of a member ------------------------------------------------- */

static bool read_text(const wire_value *v, arena *a, void *to, error *err)
{
    (void)a;
    if (!wire_expect(v, WIRE_STRING, err))
        return false;
    *(const char **)to = wire_string(v, NULL);
    return true;
}

static bool read_one_name(const wire_value *v, arena *a, void *to, error *err)
{
    const char *name = read_name(v, a, err);

    *(const char **)to = name;
    return name != NULL;
}

static bool read_object(const wire_value *v, arena *a, void *to, error *err)
{
    (void)a;
    *(const wire_value **)to = v;
    return wire_expect(v, WIRE_OBJECT, err);
}

static bool read_flag(const wire_value *v, arena *a, void *to, error *err)
{
    (void)a;
    if (!wire_expect(v, WIRE_BOOL, err))
        return false;
    *(bool *)to = wire_bool(v);
    return true;
}

static bool read_seed(const wire_value *v, arena *a, void *to, error *err)
{
    wire_request *r = (wire_request *)((char *)to - offsetof(wire_request, seed));

    (void)a;
    if (!wire_expect(v, WIRE_INTEGER, err))
        return false;
    r->has_seed = true;
    r->seed = wire_integer(v);
    return r->seed >= 0 ||
           wire_fault(v, err, ERR_REQUEST, "a seed is 0 or more, not %" PRId64, r->seed);
}

static bool read_time(const wire_value *v, arena *a, void *to, error *err)
{
    (void)a;
    if (!wire_expect(v, WIRE_INTEGER, err))
        return false;
    *(int64_t *)to = wire_integer(v);
    return wire_integer(v) > 0 ||
           wire_fault(v, err, ERR_REQUEST, "timeout_ms is 1 or more, not %" PRId64,
                      wire_integer(v));
}

/* The place of a string among words; false and ERR_REQUEST if it is none of them. */
static bool read_word(const wire_value *v, const char *const *words, int *place, error *err)
{
    text list;

    if (!wire_expect(v, WIRE_STRING, err))
        return false;
    for (*place = 0; words[*place] != NULL; (*place)++)
        if (strcmp(wire_string(v, NULL), words[*place]) == 0)
            return true;
    text_init(&list);
    for (int i = 0; words[i] != NULL; i++)
        text_addf(&list, "%s\"%s\"", i > 0 ? ", " : "", words[i]);
    wire_fault(v, err, ERR_REQUEST, "'%s' is one of %s, not \"%.40s\"", wire_key(v), list.bytes,
               wire_string(v, NULL));
    text_clear(&list);
    return false;
}

static bool read_dialect(const wire_value *v, arena *a, void *to, error *err)
{
    static const char *const words[] = {"numpy", "tensor", NULL};
    int place;

    (void)a;
    if (!read_word(v, words, &place, err))
        return false;
    *(wire_dialect *)to = (wire_dialect)place;
    return true;
}

static bool read_durability(const wire_value *v, arena *a, void *to, error *err)
{
    static const char *const words[] = {"disk", "process", "memory", NULL};
    int place;

    (void)a;
    if (!read_word(v, words, &place, err))
        return false;
    *(wire_durability *)to = (wire_durability)place;
    return true;
}

static bool read_isolation(const wire_value *v, arena *a, void *to, error *err)
{
    static const char *const words[] = {"serializable", "snapshot", NULL};
    int place;

    (void)a;
    if (!read_word(v, words, &place, err))
        return false;
    *(wire_isolation *)to = (wire_isolation)place;
    return true;
}

static bool read_inputs(const wire_value *v, arena *a, void *to, error *err)
{
    wire_inputs *inputs = to;
    table names;

    if (!wire_expect(v, WIRE_OBJECT, err))
        return false;
    table_init(&names, a);
    inputs->items = arena_array(a, wire_count(v), sizeof *inputs->items);
    for (const wire_value *m = wire_first(v); m != NULL; m = wire_next(m)) {
        wire_input *input = &inputs->items[inputs->count++];

        input->value = m;
        input->name = read_name_text(wire_key(m), m, a, err);
        if (input->name == NULL || !note_name(&names, input->name, m, err) ||
            !wire_expect(m, WIRE_TENSOR, err))
            return false;
        input->tensor = wire_tensor(m);
    }
    return true;
}

/* Names that may have the number of an output behind them: "q:1". */
static const char *read_reference(const wire_value *v, arena *a, error *err)
{
    const char *text, *colon, *name;

    if (!wire_expect(v, WIRE_STRING, err))
        return NULL;
    text = wire_string(v, NULL);
    colon = strchr(text, ':');
    if (colon == NULL)
        return read_name_text(text, v, a, err);
    if (colon[1] == '\0' || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        strlen(colon) > 8) {
        wire_fault(v, err, ERR_NAME, "'%.60s': a number must follow the colon", text);
        return NULL;
    }
    name = read_name_text(arena_copy(a, text, (size_t)(colon - text)), v, a, err);
    return name != NULL ? arena_format(a, "%s%s", name, colon) : NULL;
}

static bool read_one_reference(const wire_value *v, arena *a, void *to, error *err)
{
    const char *name = read_reference(v, a, err);

    *(const char **)to = name;
    return name != NULL;
}

static bool read_list(const wire_value *v, arena *a, wire_names *names,
                      const char *(*read)(const wire_value *v, arena *a, error *err), error *err)
{
    if (!wire_expect(v, WIRE_LIST, err))
        return false;
    names->items = arena_array(a, wire_count(v), sizeof *names->items);
    for (const wire_value *item = wire_first(v); item != NULL; item = wire_next(item)) {
        const char *name = read(item, a, err);

        if (name == NULL)
            return false;
        names->items[names->count++] = name;
    }
    return true;
}

static bool read_names(const wire_value *v, arena *a, void *to, error *err)
{
    return read_list(v, a, to, read_name, err);
}

static bool read_references(const wire_value *v, arena *a, void *to, error *err)
{
    return read_list(v, a, to, read_reference, err);
}

static bool read_assignment(const wire_value *v, arena *a, wire_assignment *result, error *err)
{
    result->value = v;
    result->name = read_reference(v, a, err);
    if (result->name == NULL)
        return false;
    result->stored =
        wire_key(v) != NULL ? read_name_text(wire_key(v), v, a, err) : read_name(v, a, err);
    return result->stored != NULL;
}

/* A map from stored names to names, or a list of names that are both. */
static bool read_assignments(const wire_value *v, arena *a, void *to, error *err)
{
    wire_assignments *list = to;
    table names;

    if (wire_type_of(v) != WIRE_LIST && !wire_expect(v, WIRE_OBJECT, err))
        return false;
    table_init(&names, a);
    list->items = arena_array(a, wire_count(v), sizeof *list->items);
    for (const wire_value *item = wire_first(v); item != NULL; item = wire_next(item)) {
        wire_assignment *assignment = &list->items[list->count++];

        if (!read_assignment(item, a, assignment, err) ||
            !note_name(&names, assignment->stored, item, err))
            return false;
    }
    return true;
}

static bool read_updates(const wire_value *v, arena *a, void *to, error *err)
{
    return wire_expect(v, WIRE_OBJECT, err) && read_assignments(v, a, to, err);
}

static bool read_store(const wire_value *v, arena *a, void *to, error *err)
{
    wire_request *r = (wire_request *)((char *)to - offsetof(wire_request, store));

    if (wire_type_of(v) != WIRE_STRING)
        return read_assignments(v, a, to, err);
    r->store_all = strcmp(wire_string(v, NULL), "all") == 0;
    return r->store_all ||
           wire_fault(v, err, ERR_REQUEST,
                      "'store' is a list of names, an object or \"all\", not \"%.40s\"",
                      wire_string(v, NULL));
}

/* ---- The members ------------------------------------------------------------------------- */

enum { EVAL = 1, RUN = 2, GRAD = 4, GRAPH = 8 };

static const struct member {
    const char *name;
    int requests; /* that have it */
    bool (*read)(const wire_value *v, arena *a, void *to, error *err);
    size_t to; /* in a wire_request */
} members[] = {
    {"program", EVAL | GRAPH, read_text, offsetof(wire_request, program)},
    {"graph", EVAL | GRAPH, read_object, offsetof(wire_request, graph)},
    {"inputs", EVAL, read_inputs, offsetof(wire_request, inputs)},
    {"outputs", EVAL, read_references, offsetof(wire_request, outputs)},
    {"outputs", GRAPH, read_references, offsetof(wire_request, results)},
    {"dialect", EVAL | GRAPH, read_dialect, offsetof(wire_request, dialect)},
    {"inputs", GRAPH, read_object, offsetof(wire_request, declared)},
    {"params", GRAPH, read_names, offsetof(wire_request, params)},
    {"feeds", RUN, read_inputs, offsetof(wire_request, feeds)},
    {"fetches", RUN, read_references, offsetof(wire_request, fetches)},
    {"updates", RUN, read_updates, offsetof(wire_request, updates)},
    {"of", GRAD, read_one_reference, offsetof(wire_request, of)},
    {"wrt", GRAD, read_references, offsetof(wire_request, wrt)},
    {"as", GRAD, read_one_name, offsetof(wire_request, as)},
    {"store", EVAL | RUN, read_store, offsetof(wire_request, store)},
    {"delete", EVAL | RUN, read_names, offsetof(wire_request, delete)},
    {"givens", EVAL | RUN, read_object, offsetof(wire_request, givens)},
    {"dry_run", EVAL | RUN, read_flag, offsetof(wire_request, dry_run)},
    {"strict", EVAL | RUN, read_flag, offsetof(wire_request, strict)},
    {"trace", EVAL | RUN, read_flag, offsetof(wire_request, trace)},
    {"optimize", EVAL | RUN, read_flag, offsetof(wire_request, optimize)},
    {"seed", EVAL | RUN, read_seed, offsetof(wire_request, seed)},
    {"timeout_ms", EVAL | RUN, read_time, offsetof(wire_request, timeout_ms)},
    {"durability", EVAL | RUN, read_durability, offsetof(wire_request, durability)},
    {"isolation", EVAL | RUN, read_isolation, offsetof(wire_request, isolation)},
};

enum { MEMBERS = sizeof members / sizeof *members };

static bool read_members(const wire_value *root, int request, const char *what, arena *a,
                         wire_request *result, error *err)
{
    const char *names[MEMBERS];
    size_t count = 0;

    *result = (wire_request){.optimize = true};
    for (size_t i = 0; i < MEMBERS; i++)
        if (members[i].requests & request)
            names[count++] = members[i].name;
    if (!wire_expect(root, WIRE_OBJECT, err) || !wire_known_members(root, names, count, what, err))
        return false;
    for (size_t i = 0; i < MEMBERS; i++) {
        const wire_value *v =
            members[i].requests & request ? wire_member(root, members[i].name) : NULL;

        if (v != NULL && !members[i].read(v, a, (char *)result + members[i].to, err))
            return false;
    }
    return true;
}

/* Whether there is exactly one of program and graph. */
static bool check_either(const wire_value *root, const char *what, const wire_request *r,
                         error *err)
{
    if (r->program == NULL && r->graph == NULL)
        return wire_fault(root, err, ERR_REQUEST,
                          "%s needs 'program' (text) or 'graph' (an object)", what);
    if (r->program != NULL && r->graph != NULL)
        return wire_fault(root, err, ERR_REQUEST, "%s has 'program' or 'graph', not both", what);
    return true;
}

bool wire_read_eval(const wire_value *root, const char *program, arena *a, wire_request *result,
                    error *err)
{
    if (!read_members(root, EVAL, "an eval request", a, result, err))
        return false;
    if (program != NULL && result->program != NULL)
        return wire_fault(wire_member(root, "program"), err, ERR_REQUEST,
                          "the program is given in the body and in the query");
    if (program != NULL)
        result->program = program;
    return check_either(root, "an eval request", result, err);
}

/* A graph object has these members itself. */
static bool check_program_only(const wire_value *root, const wire_request *r, error *err)
{
    static const char *const members_of_program[] = {"inputs", "params", "outputs", "dialect"};

    for (int i = 0; r->graph != NULL && i < 4; i++) {
        const wire_value *v = wire_member(root, members_of_program[i]);

        if (v != NULL)
            return wire_fault(v, err, ERR_REQUEST, "'%s' of a graph stands inside of 'graph'",
                              members_of_program[i]);
    }
    return true;
}

bool wire_read_graph(const wire_value *root, arena *a, wire_request *result, error *err)
{
    const wire_value *params;

    if (!read_members(root, GRAPH, "a stored graph", a, result, err) ||
        !check_either(root, "a stored graph", result, err) ||
        !check_program_only(root, result, err))
        return false;
    params = result->graph != NULL ? wire_member(result->graph, "params") : NULL;
    return params == NULL || read_names(params, a, &result->params, err);
}

bool wire_read_run(const wire_value *root, arena *a, wire_request *result, error *err)
{
    return read_members(root, RUN, "a run request", a, result, err);
}

bool wire_read_grad(const wire_value *root, arena *a, wire_request *result, error *err)
{
    if (!read_members(root, GRAD, "a grad request", a, result, err))
        return false;
    if (result->of == NULL || result->wrt.count == 0)
        return wire_fault(root, err, ERR_REQUEST, "a grad request needs '%s'",
                          result->of == NULL ? "of" : "wrt");
    return true;
}
