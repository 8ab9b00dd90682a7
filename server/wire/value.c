/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/value.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/table.h"

enum { MEMBERS_INDEXED = 8 }; /* objects with more members get a table */

typedef struct children {
    wire_value *first, *last;
    size_t count;
    table *index; /* of an object with many members */
} children;

struct wire_value {
    wire_value *parent, *next;
    const char *key; /* of a member, else NULL */
    size_t place;    /* bytes of the key, or index of an item */
    wire_type type;
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct {
            const char *bytes;
            size_t length;
        } string;
        const tensor *tensor;
        children children;
    };
};

/* ---- Contents ---------------------------------------------------------------- */

wire_type wire_type_of(const wire_value *v)
{
    return v->type;
}

const char *wire_type_name(wire_type type)
{
    static const char *const names[] = {
        [WIRE_NULL] = "null",        [WIRE_BOOL] = "a boolean",  [WIRE_INTEGER] = "an integer",
        [WIRE_REAL] = "a number",    [WIRE_STRING] = "a string", [WIRE_LIST] = "a list",
        [WIRE_OBJECT] = "an object", [WIRE_TENSOR] = "a tensor",
    };

    return names[type];
}

bool wire_bool(const wire_value *v)
{
    assert(v->type == WIRE_BOOL);
    return v->boolean;
}

int64_t wire_integer(const wire_value *v)
{
    assert(v->type == WIRE_INTEGER);
    return v->integer;
}

double wire_real(const wire_value *v)
{
    assert(v->type == WIRE_INTEGER || v->type == WIRE_REAL);
    return v->type == WIRE_INTEGER ? (double)v->integer : v->real;
}

const char *wire_string(const wire_value *v, size_t *length)
{
    assert(v->type == WIRE_STRING);
    if (length != NULL)
        *length = v->string.length;
    return v->string.bytes;
}

const tensor *wire_tensor(const wire_value *v)
{
    assert(v->type == WIRE_TENSOR);
    return v->tensor;
}

/* ---- The tree ------------------------------------------------------------------ */

static bool has_children(const wire_value *v)
{
    return v->type == WIRE_LIST || v->type == WIRE_OBJECT;
}

size_t wire_count(const wire_value *v)
{
    return has_children(v) ? v->children.count : 0;
}

const wire_value *wire_first(const wire_value *v)
{
    return v != NULL && has_children(v) ? v->children.first : NULL;
}

const wire_value *wire_next(const wire_value *v)
{
    return v->next;
}

const wire_value *wire_parent(const wire_value *v)
{
    return v->parent;
}

const char *wire_key(const wire_value *v)
{
    return v->key;
}

static const wire_value *find_member(const wire_value *v, const char *key, size_t length)
{
    if (v->children.index != NULL)
        return table_get_bytes(v->children.index, key, length);
    for (const wire_value *m = v->children.first; m != NULL; m = m->next)
        if (m->place == length && memcmp(m->key, key, length) == 0)
            return m;
    return NULL;
}

const wire_value *wire_member(const wire_value *v, const char *key)
{
    return v != NULL && v->type == WIRE_OBJECT ? find_member(v, key, strlen(key)) : NULL;
}

/* ---- Complaints ------------------------------------------------------------------ */

/* Adds one step of a pointer at n; returns the new end. What does not fit is cut. */
static size_t add_step(char to[WIRE_POINTER_MAX], size_t n, const wire_value *v)
{
    if (v->key == NULL) {
        int written = snprintf(to + n, WIRE_POINTER_MAX - n, "/%zu", v->place);

        return n + (size_t)written < WIRE_POINTER_MAX ? n + (size_t)written : WIRE_POINTER_MAX - 1;
    }
    if (n < WIRE_POINTER_MAX - 1)
        to[n++] = '/';
    for (size_t i = 0; i < v->place && n < WIRE_POINTER_MAX - 3; i++) {
        const char c = v->key[i];

        if (c == '~' || c == '/') {
            to[n++] = '~';
            to[n++] = c == '~' ? '0' : '1';
        } else
            to[n++] = c;
    }
    to[n] = '\0';
    return n;
}

const char *wire_pointer(const wire_value *v, char to[WIRE_POINTER_MAX])
{
    const wire_value *path[WIRE_DEPTH_MAX + 1];
    int steps = 0;
    size_t n = 0;

    for (; v->parent != NULL && steps <= WIRE_DEPTH_MAX; v = v->parent)
        path[steps++] = v;
    to[0] = '\0';
    while (steps > 0)
        n = add_step(to, n, path[--steps]);
    return to;
}

bool wire_fault_at(const wire_value *v, error *err)
{
    char pointer[WIRE_POINTER_MAX];

    return v != NULL && error_at_pointer(err, "%s", wire_pointer(v, pointer));
}

bool wire_fault(const wire_value *v, error *err, error_kind kind, const char *format, ...)
{
    char detail[sizeof err->detail];
    va_list args;

    if (error_is_set(err))
        return false;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    error_set(err, kind, "%s", detail);
    return wire_fault_at(v, err);
}

bool wire_expect(const wire_value *v, wire_type type, error *err)
{
    const bool beyond = type == WIRE_INTEGER && v->type == WIRE_REAL && fabs(v->real) >= 0x1p63;

    if (v->type == type)
        return true;
    return wire_fault(v, err, ERR_REQUEST, "%s%s%sexpected %s, found %s", v->key ? "'" : "",
                      v->key ? v->key : "", v->key ? "': " : "", wire_type_name(type),
                      beyond ? "one beyond 64 bits" : wire_type_name(v->type));
}

bool wire_dtype(const wire_value *v, dtype *result, error *err)
{
    const char *text;
    size_t n;

    if (!wire_expect(v, WIRE_STRING, err))
        return false;
    text = wire_string(v, &n);
    return dtype_parse(text, n, result, err) || wire_fault_at(v, err);
}

/* ---- Building -------------------------------------------------------------------- */

static void index_member(arena *a, children *c, wire_value *member)
{
    if (c->index == NULL && c->count > MEMBERS_INDEXED) {
        c->index = arena_alloc(a, sizeof *c->index);
        table_init(c->index, a);
        for (wire_value *m = c->first; m != NULL; m = m->next)
            table_put_bytes(c->index, m->key, m->place, m);
    } else if (c->index != NULL)
        table_put_bytes(c->index, member->key, member->place, member);
}

wire_value *value_add(arena *a, wire_value *parent, wire_type type, const char *key,
                      size_t key_length)
{
    wire_value *v = arena_alloc(a, sizeof *v);

    v->type = type;
    v->parent = parent;
    v->key = key;
    v->place = key_length;
    if (parent == NULL)
        return v;

    children *c = &parent->children;

    if (key == NULL)
        v->place = c->count;
    if (c->last != NULL)
        c->last->next = v;
    else
        c->first = v;
    c->last = v;
    c->count++;
    if (key != NULL)
        index_member(a, c, v);
    return v;
}

bool value_has(const wire_value *object, const char *key, size_t length)
{
    return find_member(object, key, length) != NULL;
}

void value_set_bool(wire_value *v, bool value)
{
    v->type = WIRE_BOOL;
    v->boolean = value;
}

void value_set_integer(wire_value *v, int64_t value)
{
    v->type = WIRE_INTEGER;
    v->integer = value;
}

void value_set_real(wire_value *v, double value)
{
    v->type = WIRE_REAL;
    v->real = value;
}

void value_set_string(wire_value *v, const char *bytes, size_t length)
{
    v->type = WIRE_STRING;
    v->string.bytes = bytes;
    v->string.length = length;
}

void value_set_tensor(wire_value *v, const tensor *t)
{
    v->type = WIRE_TENSOR;
    v->tensor = t;
}
