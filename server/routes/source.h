/* source -- a program or JSON graph built into a graph, its values known by their names
 * (private to routes).
 *
 * What is to be built stands in a wire_request: of eval itself, or what a stored graph
 * says. Names that the text does not assign come from a scope. */
#pragma once

#include "engine/lang/lang.h"
#include "server/wire/graph_json.h"
#include "server/wire/wire.h"

typedef struct source {
    const wire_request *says;
    graph *graph;
    lang_program program; /* of a program, with */
    table assigned;       /* its names -> lang_name, and */
    declared declared;    /* what it declares */
    graph_json json;      /* of a graph */
} source;

/* How it is built. */
typedef struct source_options {
    const lang_scope *scope; /* lives as long as the source */
    declared_mode mode;
    budget *budget;  /* pays for constants */
    bool keep_calls; /* of a program's functions, as nodes */
    bool has_seed;   /* for random draws that name none */
    int64_t seed;
} source_options;

/* Builds what `says` says in g, an empty graph. Outputs are not added to it. Errors of
 * lang_build and graph_json_read, with a pointer. */
bool source_build(source *s, graph *g, const wire_request *says, const source_options *options,
                  error *err);

/* The value of a name, or of a part of it ("q:1"): what the text assigns, or the scope has.
 * ERR_UNKNOWN_NAME with the nearest name if there is none. */
bool source_find(source *s, const char *reference, value *result, error *err);

/* The nearest name there is, or NULL. */
const char *source_nearest(const source *s, const char *name);

/* Whether the text gives the name to a node, and whether it declares it as an input. */
bool source_assigns(const source *s, const char *name);
bool source_declares(const source *s, const char *name);

/* The values that the text gives as its results, and their names; a name is NULL where it
 * has none. is_list: they are a list, whatever their number. */
bool source_results(source *s, int *count, const value **values, const char *const **names,
                    bool *is_list, error *err);
