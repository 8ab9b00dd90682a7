/* view_private -- what the views share. */
#pragma once

#include "engine/graph/view.h"

/* ---- notation.c ---------------------------------------------------------------------- */

enum { PRECEDENCE_ATOM = 10 };

/* How an operation is written; forms as in notation.def. */
typedef struct notation {
    int precedence;
    const char *plain, *latex; /* NULL: as a call */
    bool is_right;             /* a chain of it binds to the right: a ** b ** c */
    const char *scalar;        /* Theano's name, or NULL */
} notation;

/* What is said of an operation; an empty row if nothing is. */
const notation *notation_of(const op_def *op);

/* ---- describe.c ------------------------------------------------------------------------ */

/* Which nodes a view shows, by their ids. */
bool *view_shown(const graph *g, arena *a);

/* Whether the node is an application: neither input nor constant. */
bool view_is_apply(const node *n);

/* How many inputs the row itself has, without those that were left out at the end. */
int view_own_inputs(const node *n);

enum { VIEW_DYNAMIC = OP_PARAMS * RANK_MAX };

/* The values that computed attributes of a node are: how many, at most room of them. */
int view_dynamic_inputs(const node *n, value *to, int room);

/* The name of a value in a: what it was called, or NULL. */
const char *view_name(value v, arena *a);

/* Adds a name like Elemwise{mul,no_inplace} or Sum{axis=1}. */
void view_add_display(const node *n, text *t);

/* Adds the attributes that are not left at their defaults, "axis=1, keepdims=True"; a
 * computed one as #k, the k-th input of the node, counted on behind its inputs. A function,
 * the k-th attribute, is "lambda: ...", or VIEW_FUNCTION and k if functions is set. */
enum { VIEW_FUNCTION = '\1' };
void view_add_attrs(const node *n, bool functions, text *t);
bool view_has_functions(const node *n);
bool view_has_attrs(const node *n);

/* Adds all attributes as a JSON object; a computed one as {"input": k}, counted likewise.
 * add_graph writes a sub-graph. */
void view_add_attrs_json(const node *n, void (*add_graph)(const graph *g, text *t), text *t);

/* ---- view_constant.c --------------------------------------------------------------------- */

/* Adds a number; narrow: as short as a float32 needs. In JSON what is not finite is a
 * string. */
void view_add_real(double x, bool narrow, bool json, text *t);

/* Adds a constant: all elements of a short one, the type and shape of others. */
void view_add_constant(const tensor *x, text *t);

/* Adds it as a tensor object, or a bare number. */
void view_add_constant_json(const tensor *x, text *t);

/* ---- describe.c again: types --------------------------------------------------------------- */

/* Adds a type as Theano has it: TensorType(float64, matrix); and as edges are labelled:
 * float64 [2, 3]. */
void view_add_type(value v, text *t);
void view_add_label(value v, text *t);
