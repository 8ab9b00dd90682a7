/* value -- a request document: what a body says, with its tensors already read.
 *
 * A document is a tree of values. Wherever the body has tensor data the tree has
 * one value of type WIRE_TENSOR, so the tree is small whatever the body's size;
 * bodies in binary formats give the same trees (reader.h), and those who read
 * documents need not know which format they came in.
 *
 * Every value knows its parent, hence where in the body it stands: complaints
 * about it carry a JSON pointer (wire_fault). A tree can be walked without
 * recursion by wire_first, wire_next and wire_parent; it is at most
 * WIRE_DEPTH_MAX deep.
 *
 * Values are built straight from the tokens of our own reader and live in the
 * request's arena. (A general JSON library would need a second parse, knows no
 * positions afterwards, and halves the rate of small requests.)
 *
 * Threads: a document is read-only once its reader has ended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/tensor/tensor.h"

enum { WIRE_DEPTH_MAX = 64, WIRE_POINTER_MAX = 256 };

typedef enum wire_type {
    WIRE_NULL,
    WIRE_BOOL,
    WIRE_INTEGER, /* a number without point or exponent that int64 holds */
    WIRE_REAL,    /* any other number */
    WIRE_STRING,
    WIRE_LIST,
    WIRE_OBJECT,
    WIRE_TENSOR
} wire_type;

typedef struct wire_value wire_value;

/* ---- Contents ---------------------------------------------------------------- */

wire_type wire_type_of(const wire_value *v);

/* The type with its article, for messages: "a string". */
const char *wire_type_name(wire_type type);

/* Each takes a value of its type only; wire_real takes integers as well. Strings
 * are UTF-8 in normal JSON meaning, without NUL inside and with one behind;
 * length may be NULL. */
bool wire_bool(const wire_value *v);
int64_t wire_integer(const wire_value *v);
double wire_real(const wire_value *v);
const char *wire_string(const wire_value *v, size_t *length);

/* The tensor, borrowed from the reader that read it: take a reference to keep it
 * longer. Bare numbers and booleans are tensors with weak set. */
const tensor *wire_tensor(const wire_value *v);

/* ---- The tree ------------------------------------------------------------------ */

/* The number of items of a list or members of an object; 0 for other values. */
size_t wire_count(const wire_value *v);

/* The first item or member, and the one after v in the same list or object; NULL
 * if there is none, and for no value. Members come in the order of the body. */
const wire_value *wire_first(const wire_value *v);
const wire_value *wire_next(const wire_value *v);

/* The list or object that v is in; NULL for the root. */
const wire_value *wire_parent(const wire_value *v);

/* The name of a member; NULL for items of lists and the root. */
const char *wire_key(const wire_value *v);

/* The member of that name; NULL if there is none or v is no object, or NULL. */
const wire_value *wire_member(const wire_value *v, const char *key);

/* ---- Complaints ------------------------------------------------------------------ */

/* Writes the JSON pointer of v, "" for the root, and returns to. */
const char *wire_pointer(const wire_value *v, char to[WIRE_POINTER_MAX]);

/* Says that the error, which is set, concerns v, unless it has a pointer; returns false.
 * v may be NULL: nothing is known. */
bool wire_fault_at(const wire_value *v, error *err);

/* Sets the error with v's pointer; returns false. v may be NULL: no pointer. */
bool wire_fault(const wire_value *v, error *err, error_kind kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether v has the type; false and ERR_REQUEST, saying what was expected and
 * found, if not. */
bool wire_expect(const wire_value *v, wire_type type, error *err);

/* The element type that a string names. ERR_REQUEST, ERR_DTYPE_NAME. */
bool wire_dtype(const wire_value *v, dtype *result, error *err);

/* ---- Building, for the readers ---------------------------------------------------- */

/* A new value at the end of parent (NULL: a root), in a. For a member, key is its
 * name, which must live as long as the arena. */
wire_value *value_add(arena *a, wire_value *parent, wire_type type, const char *key,
                      size_t key_length);

/* Whether an object has a member of this name. */
bool value_has(const wire_value *object, const char *key, size_t length);

/* Each makes v that value. */
void value_set_bool(wire_value *v, bool value);
void value_set_integer(wire_value *v, int64_t value);
void value_set_real(wire_value *v, double value);
void value_set_string(wire_value *v, const char *bytes, size_t length);
void value_set_tensor(wire_value *v, const tensor *t);
