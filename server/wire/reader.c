/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "server/wire/array_reader.h"
#include "server/wire/held.h"
#include "server/wire/json_reader.h"
#include "server/wire/npz_reader.h"

struct wire_reader {
    held held;
    budget *budget;
    wire_reader_options options;
    json_reader *json; /* one of these three, by format */
    npz_reader *npz;
    array_reader array;
    const wire_value *root;
};

/* The member of a request object that holds the tensors of a binary body; NULL if
 * the tensors are the document. */
static const char *tensors_member(wire_document document)
{
    return document == WIRE_EVAL_BODY ? "inputs" : document == WIRE_RUN_BODY ? "feeds" : NULL;
}

/* ---- Life cycle -------------------------------------------------------------------- */

static bool begin_raw(wire_reader *r, error *err)
{
    const wire_hints *hints = &r->options.hints;

    if (!hints->has_dtype || !hints->has_shape)
        return error_set(err, ERR_LENGTH_REQUIRED, "a raw body needs the header %s",
                         hints->has_dtype ? "Tensor-Shape" : "Tensor-Dtype");
    return array_reader_begin_raw(&r->array, hints->dtype, &hints->shape, err);
}

static bool begin(wire_reader *r, error *err)
{
    const wire_reader_options *o = &r->options;
    const dtype *hint = r->options.hints.has_dtype ? &r->options.hints.dtype : NULL;

    if (o->format == WIRE_JSON) {
        r->json = json_reader_new(&r->held, r->budget, o->document);
        return true;
    }
    if (o->format == WIRE_CSV || o->document == WIRE_PLAIN_BODY || o->document == WIRE_GRAPH_BODY)
        return error_set(err, ERR_MEDIA_TYPE, "this route does not read %s",
                         wire_media_type(o->format));
    if (o->format == WIRE_NPZ) {
        r->npz = npz_reader_new(&r->held, r->budget, o->document, hint);
        return true;
    }
    array_reader_init(&r->array, held_add(&r->held), r->budget, hint, o->length);
    r->array.taker = o->taker;
    return o->format == WIRE_NPY || begin_raw(r, err);
}

wire_reader *wire_reader_new(arena *a, budget *b, const wire_reader_options *options, error *err)
{
    wire_reader *r = calloc(1, sizeof *r);

    if (r == NULL)
        abort();
    r->held.arena = a;
    r->budget = b;
    r->options = *options;
    if (!begin(r, err)) {
        wire_reader_free(r);
        return NULL;
    }
    return r;
}

void wire_reader_free(wire_reader *r)
{
    if (r == NULL)
        return;
    json_reader_free(r->json);
    npz_reader_free(r->npz);
    array_reader_clear(&r->array);
    held_clear(&r->held);
    free(r);
}

/* ---- Reading -------------------------------------------------------------------------- */

bool wire_reader_feed(wire_reader *r, const void *bytes, size_t n, error *err)
{
    if (r->json != NULL)
        return json_reader_feed(r->json, bytes, n, err);
    if (r->npz != NULL)
        return npz_reader_feed(r->npz, bytes, n, err);
    return array_reader_feed(&r->array, bytes, n, err);
}

/* Checks that a JSON document has tensors where its kind needs them. */
static bool check_tensors(const wire_reader *r, const wire_value *root, error *err)
{
    const wire_document document = r->options.document;

    if (document == WIRE_TENSOR_BODY && wire_type_of(root) != WIRE_TENSOR)
        return wire_fault(root, err, ERR_REQUEST,
                          "expected a tensor (an object with data or base64, a list or a number), "
                          "found %s",
                          wire_type_name(wire_type_of(root)));
    if (document != WIRE_TENSORS_BODY)
        return true;
    if (!wire_expect(root, WIRE_OBJECT, err))
        return false;
    for (const wire_value *m = wire_first(root); m != NULL; m = wire_next(m))
        if (!wire_expect(m, WIRE_TENSOR, err))
            return false;
    return true;
}

/* Adds a tensor as a member; the names come from the file. */
static bool add_tensor(wire_reader *r, wire_value *object, const char *name, const tensor *t,
                       error *err)
{
    const size_t n = strlen(name);

    if (value_has(object, name, n))
        return error_set(err, ERR_NPY, "npz: '%.60s' is given by request.json as well", name);
    value_set_tensor(value_add(r->held.arena, object, WIRE_TENSOR, name, n), t);
    return true;
}

/* The object that tensors are added to: root itself or its member of that name,
 * which is made if it is not there. */
static wire_value *tensors_object(wire_reader *r, wire_value *root, error *err)
{
    const char *name = tensors_member(r->options.document);
    const wire_value *there = name != NULL ? wire_member(root, name) : root;

    if (!wire_expect(root, WIRE_OBJECT, err))
        return NULL;
    if (there == NULL)
        return value_add(r->held.arena, root, WIRE_OBJECT, name, strlen(name));
    return wire_expect(there, WIRE_OBJECT, err) ? (wire_value *)there : NULL;
}

/* The document of several tensors. */
static const wire_value *document_of(wire_reader *r, wire_value *root, const npz_array *arrays,
                                     size_t count, error *err)
{
    wire_value *object;

    if (root == NULL)
        root = value_add(r->held.arena, NULL, WIRE_OBJECT, NULL, 0);
    object = tensors_object(r, root, err);
    for (size_t i = 0; i < count && object != NULL; i++)
        if (!add_tensor(r, object, arrays[i].name, arrays[i].tensor, err))
            return NULL;
    return object != NULL ? root : NULL;
}

static const wire_value *document_of_one(wire_reader *r, const tensor *t)
{
    wire_value *root = value_add(r->held.arena, NULL, WIRE_TENSOR, NULL, 0);

    value_set_tensor(root, t);
    return root;
}

static const wire_value *end_npz(wire_reader *r, error *err)
{
    const npz_array *arrays;
    size_t count;

    if (!npz_reader_end(r->npz, err))
        return NULL;
    arrays = npz_reader_arrays(r->npz, &count);
    if (r->options.document != WIRE_TENSOR_BODY)
        return document_of(r, npz_reader_envelope(r->npz), arrays, count, err);
    if (count != 1) {
        error_set(err, ERR_NPY, "npz: one array is expected, the file has %zu", count);
        return NULL;
    }
    return document_of_one(r, arrays[0].tensor);
}

static const wire_value *end_array(wire_reader *r, error *err)
{
    const npz_array x = {.name = "x", .tensor = r->array.tensor};

    if (!array_reader_end(&r->array, err))
        return NULL;
    if (r->options.document == WIRE_TENSOR_BODY)
        return document_of_one(r, x.tensor);
    return document_of(r, NULL, &x, 1, err);
}

static const wire_value *end_json(wire_reader *r, error *err)
{
    const wire_value *root = json_reader_end(r->json, err);

    return root != NULL && check_tensors(r, root, err) ? root : NULL;
}

bool wire_reader_end(wire_reader *r, error *err)
{
    r->root = r->json != NULL  ? end_json(r, err)
              : r->npz != NULL ? end_npz(r, err)
                               : end_array(r, err);
    return r->root != NULL;
}

const wire_value *wire_reader_root(const wire_reader *r)
{
    return r->root;
}
