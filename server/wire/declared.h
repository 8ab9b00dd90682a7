/* declared -- the inputs that a graph or program declares in JSON, and what stands for
 * them.
 *
 *     {"x": {"dtype": "float64", "shape": [null, 3, "n"]},
 *      "y": {"dtype": "int32", "broadcastable": [true, false]},
 *      "z": "dmatrix"}
 *
 * dtype and shape may be left out where a value is given. broadcastable is another way
 * to say a shape: true for length 1, false for a length that is not known. The names of
 * types are Theano's (engine/graph/declaration.h).
 *
 * Declarations are a scope over another one: what that has for a declared name must fit
 * the declaration, and is cast to its type where that loses nothing. */
#pragma once

#include "engine/base/table.h"
#include "engine/graph/declaration.h"
#include "engine/lang/lang.h"
#include "server/wire/value.h"

typedef enum declared_mode {
    DECLARED_GIVEN, /* an input that is given nowhere is an error */
    DECLARED_OPEN,  /* it is an input of the declared type */
    DECLARED_ONLY   /* every declared input is: none is looked for elsewhere */
} declared_mode;

typedef struct declared {
    arena *arena;
    const lang_scope *under; /* NULL: there is no other */
    declared_mode mode;
    table types;   /* names -> declaration */
    table values;  /* names -> what they stand for; each is asked for once */
    table lengths; /* names of lengths -> what they stand for */
} declared;

/* Nothing is declared yet. under must live as long. */
void declared_init(declared *d, arena *a, const lang_scope *under, declared_mode mode);

/* Reads the object of declarations; inputs may be NULL. ERR_REQUEST, ERR_MEMBER, ERR_NAME,
 * ERR_DTYPE_NAME, ERR_SHAPE_INVALID with a pointer. */
bool declared_read(declared *d, const wire_value *inputs, error *err);

/* The scope; d must live as long. */
lang_scope declared_scope(declared *d);
