/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/json_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/number.h"
#include "server/wire/base64.h"
#include "server/wire/data.h"
#include "server/wire/element.h"
#include "server/wire/json_string.h"
#include "server/wire/tensor_object.h"

typedef enum context { PLAIN, VALUE, VALUES, ARGS, DATA, BASE64 } context;

typedef enum expected {
    ROOT,
    ITEM,
    ITEM_OR_CLOSE,
    KEY,
    KEY_OR_CLOSE,
    COLON,
    COMMA_OR_CLOSE,
    END
} expected;

typedef enum token { NO_TOKEN, BARE, STRING, KEY_STRING, NUMBERS, BASE64_STRING } token;

enum { BARE_MAX = DATA_TOKEN_MAX };

/* An open list or object. */
typedef struct frame {
    wire_value *value;
    context context;
    const char *data; /* the member of a tensor object that has its data, or NULL */
} frame;

struct json_reader {
    held *held;
    size_t arena_before; /* bytes of the arena that others took */
    wire_document document;
    wire_value *root;
    int depth; /* of frames */
    expected expected;
    token token;
    context item;    /* the context of the value being read */
    const char *key; /* of the member being read, in the arena */
    size_t key_length;
    wire_value *target; /* the value that tensor data is for */
    json_string string;
    char bare[BARE_MAX];
    size_t bare_length;
    data data;
    base64 base64;
    size_t offset, data_bytes; /* of the body so far; of them in tensor data */
    size_t values;
    frame frames[WIRE_DEPTH_MAX]; /* not cleared before they are used */
};

json_reader *json_reader_new(held *h, budget *b, wire_document document)
{
    json_reader *r = malloc(sizeof *r);

    if (r == NULL)
        abort();
    memset(r, 0, offsetof(json_reader, frames));
    r->held = h;
    r->arena_before = arena_bytes(h->arena);
    r->document = document;
    json_string_init(&r->string);
    data_init(&r->data, b);
    return r;
}

void json_reader_free(json_reader *r)
{
    if (r == NULL)
        return;
    json_string_clear(&r->string);
    data_clear(&r->data);
    free(r);
}

/* ---- Where tensors may stand ---------------------------------------------------- */

static context root_context(wire_document document)
{
    return document == WIRE_TENSOR_BODY ? VALUE : document == WIRE_TENSORS_BODY ? VALUES : PLAIN;
}

/* Members whose values are read in a context of their own, if they begin with
 * first. */
static const struct {
    const char *key;
    unsigned documents;
    bool at_root;
    char first;
    context context;
} members[] = {
    {"inputs", 1u << WIRE_EVAL_BODY, true, '{', VALUES},
    {"feeds", 1u << WIRE_RUN_BODY, true, '{', VALUES},
    {"givens", 1u << WIRE_EVAL_BODY | 1u << WIRE_RUN_BODY, true, '{', VALUES},
    {"args", 1u << WIRE_EVAL_BODY | 1u << WIRE_RUN_BODY | 1u << WIRE_GRAPH_BODY, false, '[', ARGS},
};

static context member_context(const json_reader *r, const frame *f, char first)
{
    const char *key = r->key;

    if (f->data != NULL)
        return PLAIN;
    if (f->context == VALUE && (strcmp(key, "data") == 0 || strcmp(key, "value") == 0))
        return DATA;
    if (f->context == VALUE && first == '"' && strcmp(key, "base64") == 0)
        return BASE64;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(key, members[i].key) == 0 && (members[i].documents >> r->document & 1) &&
            members[i].first == first && (r->depth == 1 || !members[i].at_root))
            return members[i].context;
    return PLAIN;
}

/* The context of a value that begins with first. */
static context next_context(const json_reader *r, char first)
{
    const frame *f = r->depth > 0 ? &r->frames[r->depth - 1] : NULL;

    if (f == NULL)
        return root_context(r->document);
    if (f->context == VALUES || f->context == ARGS)
        return VALUE;
    return wire_type_of(f->value) == WIRE_OBJECT ? member_context(r, f, first) : PLAIN;
}

/* ---- Values ----------------------------------------------------------------------- */

static size_t offset_of(const json_reader *r, const char *p, const char *text)
{
    return r->offset + (size_t)(p - text);
}

/* A new value in its place, NULL if there would be too much. */
static wire_value *add_value(json_reader *r, wire_type type, error *err)
{
    wire_value *parent = r->depth > 0 ? r->frames[r->depth - 1].value : NULL;
    wire_value *v;

    if (arena_bytes(r->held->arena) - r->arena_before > WIRE_HEAP_MAX) {
        error_set_limit(err, ERR_JSON_COMPLEX, WIRE_HEAP_MAX, WIRE_HEAP_MAX + 1,
                        "the JSON outside tensor data needs more than %d bytes of memory",
                        WIRE_HEAP_MAX);
        return NULL;
    }
    if (++r->values > WIRE_MEMBERS_MAX) {
        error_set_limit(err, ERR_JSON_LIMIT, WIRE_MEMBERS_MAX, (int64_t)r->values,
                        "the JSON has more than %d values outside tensor data", WIRE_MEMBERS_MAX);
        return NULL;
    }
    v = value_add(r->held->arena, parent, type, r->key, r->key_length);
    r->key = NULL;
    if (parent == NULL)
        r->root = v;
    return v;
}

static void end_value(json_reader *r)
{
    r->token = NO_TOKEN;
    r->expected = r->depth == 0 ? END : COMMA_OR_CLOSE;
}

static bool open_value(json_reader *r, wire_type type, error *err)
{
    wire_value *v;

    if (r->depth == WIRE_DEPTH_MAX)
        return error_set_limit(err, ERR_JSON_DEPTH, WIRE_DEPTH_MAX, WIRE_DEPTH_MAX + 1,
                               "lists and objects are nested more than %d deep", WIRE_DEPTH_MAX);
    v = add_value(r, type, err);
    if (v == NULL)
        return false;
    r->frames[r->depth++] = (frame){.value = v, .context = r->item};
    r->expected = type == WIRE_OBJECT ? KEY_OR_CLOSE : ITEM_OR_CLOSE;
    return true;
}

/* Says where the data is that has the fault. */
static bool fault_in_data(json_reader *r, error *err)
{
    char pointer[WIRE_POINTER_MAX];

    if (r->target != NULL)
        error_at_pointer(err, "%s%s", wire_pointer(r->target, pointer), r->data.path);
    return false;
}

static bool close_value(json_reader *r, error *err)
{
    frame *f = &r->frames[--r->depth];

    if (f->data != NULL) {
        tensor *t = held_add(r->held);

        r->target = (wire_value *)wire_member(f->value, f->data);
        if (!tensor_object_finish(f->value, &r->data, t, err))
            return fault_in_data(r, err);
        value_set_tensor(f->value, t);
    }
    end_value(r);
    return true;
}

/* ---- Tensor data --------------------------------------------------------------------- */

/* Begins the data of a bare tensor, or of the tensor object that is open. */
static bool begin_data(json_reader *r, error *err)
{
    frame *f = r->item == VALUE ? NULL : &r->frames[r->depth - 1];
    dtype known;
    bool is_known = false;

    r->target = add_value(r, WIRE_NULL, err);
    if (r->target == NULL)
        return false;
    if (f != NULL) {
        f->data = wire_key(r->target);
        if (!tensor_object_dtype(f->value, &known, &is_known, err))
            return false;
    }
    data_begin(&r->data, is_known ? &known : NULL, WIRE_DEPTH_MAX - r->depth);
    if (r->item == BASE64)
        base64_begin(&r->base64, &r->data.bytes);
    r->token = r->item == BASE64 ? BASE64_STRING : NUMBERS;
    return true;
}

/* Ends a bare tensor; a tensor object's data is finished when the object closes. */
static bool end_data(json_reader *r, error *err)
{
    if (r->item == VALUE) {
        tensor *t = held_add(r->held);
        const data_facts nothing = {0};
        const bool bare = r->data.rank == 0;

        if (!(bare ? data_finish_weak(&r->data, NULL, t, err)
                   : data_finish(&r->data, &nothing, t, err)))
            return fault_in_data(r, err);
        value_set_tensor(r->target, t);
    }
    end_value(r);
    return true;
}

/* ---- Bare words and numbers ------------------------------------------------------------ */

static bool set_number(json_reader *r, wire_value *v, size_t offset, bool whole, error *err)
{
    const char *end = r->bare + r->bare_length;
    int64_t i;
    double x;
    bool out;

    if (whole && number_read_i64(r->bare, end, &i, &out) == end) {
        value_set_integer(v, i);
        return true;
    }
    number_read_f64(r->bare, end, &x);
    if (isinf(x))
        return error_set(err, ERR_JSON, "the number before byte %zu is out of range", offset);
    value_set_real(v, x);
    return true;
}

static bool bare_is(const json_reader *r, const char *word)
{
    return strlen(word) == r->bare_length && memcmp(r->bare, word, r->bare_length) == 0;
}

static bool bad_bare(const json_reader *r, size_t offset, error *err)
{
    char shown[24];
    size_t n = 0;

    for (; n < r->bare_length && n < sizeof shown - 1; n++)
        shown[n] = r->bare[n] >= 0x20 && r->bare[n] < 0x7f ? r->bare[n] : '?';
    shown[n] = '\0';
    if (bare_is(r, "NaN") || bare_is(r, "Infinity") || bare_is(r, "-Infinity"))
        return error_set(err, ERR_JSON, "%s before byte %zu: only tensor data may have it", shown,
                         offset);
    return error_set(err, ERR_JSON, "'%s' before byte %zu is not a JSON value", shown, offset);
}

/* Ends a bare token at byte offset. */
static bool end_bare(json_reader *r, size_t offset, error *err)
{
    wire_value *v = add_value(r, WIRE_NULL, err);
    bool whole;

    if (v == NULL)
        return false;
    if (element_scan(r->bare, r->bare + r->bare_length, &whole) == r->bare + r->bare_length) {
        if (!set_number(r, v, offset, whole, err))
            return false;
    } else if (bare_is(r, "true") || bare_is(r, "false"))
        value_set_bool(v, bare_is(r, "true"));
    else if (!bare_is(r, "null"))
        return bad_bare(r, offset, err);
    end_value(r);
    return true;
}

static bool ends_bare(char c)
{
    return (unsigned char)c <= ' ' || c == ',' || c == ']' || c == '}' || c == ':' || c == '"' ||
           c == '[' || c == '{';
}

static const char *feed_bare(json_reader *r, const char *p, const char *end, const char *text,
                             error *err)
{
    for (; p < end && !ends_bare(*p); p++) {
        if (r->bare_length == BARE_MAX) {
            error_set_limit(err, ERR_JSON_LIMIT, BARE_MAX, BARE_MAX + 1,
                            "a number has at most %d characters", BARE_MAX);
            return NULL;
        }
        r->bare[r->bare_length++] = *p;
    }
    if (p < end && !end_bare(r, offset_of(r, p, text), err))
        return NULL;
    return p;
}

/* ---- Strings and keys -------------------------------------------------------------------- */

static bool end_key(json_reader *r, error *err)
{
    const text *t = &r->string.text;
    const frame *f = &r->frames[r->depth - 1];

    if (t->length > WIRE_KEY_MAX)
        return error_set_limit(err, ERR_JSON_LIMIT, WIRE_KEY_MAX, (int64_t)t->length,
                               "a member's name has at most %d bytes", WIRE_KEY_MAX);
    r->key = arena_copy(r->held->arena, t->length > 0 ? t->bytes : "", t->length);
    r->key_length = t->length;
    if (value_has(f->value, r->key, r->key_length))
        return wire_fault(wire_member(f->value, r->key), err, ERR_JSON,
                          "an object has the member '%.60s' twice", r->key);
    r->token = NO_TOKEN;
    r->expected = COLON;
    return true;
}

static bool end_string(json_reader *r, error *err)
{
    static const char *const floats[] = {"NaN", "Infinity", "-Infinity"};
    const text *t = &r->string.text;
    const bool in_args = r->depth > 0 && r->frames[r->depth - 1].context == ARGS;
    wire_value *v;

    for (int i = 0; r->item == VALUE && !in_args && i < 3; i++) {
        const size_t n = strlen(floats[i]);

        if (t->length != n || memcmp(t->bytes, floats[i], n) != 0)
            continue;
        return begin_data(r, err) &&
               data_feed(&r->data, floats[i], floats[i] + n, r->offset, err) != NULL &&
               data_end(&r->data, r->offset, err) && end_data(r, err);
    }
    v = add_value(r, WIRE_STRING, err);
    if (v == NULL)
        return false;
    value_set_string(v, arena_copy(r->held->arena, t->length > 0 ? t->bytes : "", t->length),
                     t->length);
    end_value(r);
    return true;
}

static const char *feed_string(json_reader *r, const char *p, const char *end, const char *text,
                               error *err)
{
    p = json_string_feed(&r->string, p, end, offset_of(r, p, text), err);
    if (p != NULL && r->string.done &&
        !(r->token == KEY_STRING ? end_key(r, err) : end_string(r, err)))
        return NULL;
    return p;
}

/* ---- Structure ------------------------------------------------------------------------------ */

static const char *unexpected(const json_reader *r, const char *p, const char *text, error *err)
{
    static const char *const names[] = {
        [ROOT] = "a JSON value",
        [ITEM] = "a value",
        [ITEM_OR_CLOSE] = "a value or ]",
        [KEY] = "a member's name in quotes",
        [KEY_OR_CLOSE] = "a member's name in quotes or }",
        [COLON] = "a colon",
        [COMMA_OR_CLOSE] = "a comma or the end of the list or object",
        [END] = "nothing after the end of the JSON",
    };
    const unsigned char c = (unsigned char)*p;

    if (c > ' ' && c < 0x7f)
        error_set(err, ERR_JSON, "expected %s at byte %zu, found '%c'", names[r->expected],
                  offset_of(r, p, text), c);
    else
        error_set(err, ERR_JSON, "expected %s at byte %zu, found byte 0x%02x", names[r->expected],
                  offset_of(r, p, text), c);
    return NULL;
}

/* Begins the value at p. */
static const char *begin_value(json_reader *r, const char *p, const char *text, error *err)
{
    const char c = *p;
    bool is_data;

    if (c == ',' || c == ':' || c == ']' || c == '}')
        return unexpected(r, p, text, err);
    r->item = next_context(r, c);
    is_data = r->item == DATA || (r->item == VALUE && c != '{' && c != '"' && c != 'n');
    if (r->item == BASE64)
        return begin_data(r, err) ? p + 1 : NULL;
    if (is_data)
        return begin_data(r, err) ? p : NULL;
    if (c == '{')
        return open_value(r, WIRE_OBJECT, err) ? p + 1 : NULL;
    if (c == '[')
        return open_value(r, WIRE_LIST, err) ? p + 1 : NULL;
    if (c == '"') {
        json_string_begin(&r->string);
        r->token = STRING;
        return p + 1;
    }
    r->bare_length = 0;
    r->token = BARE;
    return p;
}

static bool is_object_open(const json_reader *r)
{
    return wire_type_of(r->frames[r->depth - 1].value) == WIRE_OBJECT;
}

/* Passes one byte of structure, or begins a value or key. */
static const char *step(json_reader *r, const char *p, const char *text, error *err)
{
    const char c = *p;
    const expected now = r->expected;

    if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
        return p + 1;
    if ((now == KEY || now == KEY_OR_CLOSE) && c == '"') {
        json_string_begin(&r->string);
        r->token = KEY_STRING;
        return p + 1;
    }
    if (now == COLON && c == ':') {
        r->expected = ITEM;
        return p + 1;
    }
    if (now == COMMA_OR_CLOSE && c == ',') {
        r->expected = is_object_open(r) ? KEY : ITEM;
        return p + 1;
    }
    if ((now == COMMA_OR_CLOSE && c == (is_object_open(r) ? '}' : ']')) ||
        (now == KEY_OR_CLOSE && c == '}') || (now == ITEM_OR_CLOSE && c == ']'))
        return close_value(r, err) ? p + 1 : NULL;
    if (now == ROOT || now == ITEM || now == ITEM_OR_CLOSE)
        return begin_value(r, p, text, err);
    return unexpected(r, p, text, err);
}

static const char *feed_data(json_reader *r, const char *p, const char *end, const char *text,
                             error *err)
{
    const char *behind;
    const bool numbers = r->token == NUMBERS;

    behind = numbers ? data_feed(&r->data, p, end, offset_of(r, p, text), err)
                     : base64_feed(&r->base64, p, end, offset_of(r, p, text), err);
    if (behind == NULL) {
        fault_in_data(r, err);
        return NULL;
    }
    r->data_bytes += (size_t)(behind - p);
    if ((numbers ? r->data.state == DATA_DONE : r->base64.done) && !end_data(r, err))
        return NULL;
    return behind;
}

/* Reads on with whatever is being read. */
static const char *advance(json_reader *r, const char *p, const char *end, const char *text,
                           error *err)
{
    switch (r->token) {
    case BARE:
        return feed_bare(r, p, end, text, err);
    case STRING:
    case KEY_STRING:
        return feed_string(r, p, end, text, err);
    case NUMBERS:
    case BASE64_STRING:
        return feed_data(r, p, end, text, err);
    default:
        return step(r, p, text, err);
    }
}

bool json_reader_feed(json_reader *r, const char *bytes, size_t n, error *err)
{
    const char *p = bytes, *end = bytes + n;

    while (p < end) {
        p = advance(r, p, end, bytes, err);
        if (p == NULL)
            return false;
        if (offset_of(r, p, bytes) - r->data_bytes > WIRE_REST_MAX)
            return error_set_limit(err, ERR_BODY_SIZE, WIRE_REST_MAX, WIRE_REST_MAX + 1,
                                   "the JSON outside tensor data has more than %d bytes",
                                   WIRE_REST_MAX);
    }
    r->offset += n;
    return true;
}

wire_value *json_reader_end(json_reader *r, error *err)
{
    if (r->token == BARE && !end_bare(r, r->offset, err))
        return NULL;
    if (r->token == NUMBERS && (!data_end(&r->data, r->offset, err) || !end_data(r, err))) {
        fault_in_data(r, err);
        return NULL;
    }
    if (r->expected == END)
        return r->root;
    if (r->expected == ROOT && r->token == NO_TOKEN)
        error_set(err, ERR_JSON, "the body is empty");
    else
        error_set(err, ERR_JSON, "the JSON ends unexpectedly, at byte %zu", r->offset);
    return NULL;
}
