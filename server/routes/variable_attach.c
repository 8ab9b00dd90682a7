/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are not ours as variables: read where they lie. */
#include <string.h>

#include "server/routes/body.h"
#include "server/routes/handlers.h"
#include "server/routes/repeat.h"
#include "server/routes/stored.h"
#include "server/routes/variable_meta.h"

/* What a request asks to attach, and as what. */
typedef struct asked {
    attachment file;
    bool has_dtype, has_shape;
    dtype dtype;
    shape shape;
} asked;

bool attach_open(services *s, http_request *r, error *err)
{
    return body_open(s, r, WIRE_PLAIN_BODY, err);
}

/* ---- Reading the request ----------------------------------------------------------------------
 */

/* One of two words, the first if it is not said; *second: it was the second. */
static bool read_choice(const wire_value *root, const char *key, const char *first,
                        const char *other, bool *second, error *err)
{
    const wire_value *v = wire_member(root, key);

    *second = false;
    if (v == NULL)
        return true;
    if (!wire_expect(v, WIRE_STRING, err))
        return false;
    *second = strcmp(wire_string(v, NULL), other) == 0;
    return *second || strcmp(wire_string(v, NULL), first) == 0 ||
           wire_fault(v, err, ERR_REQUEST, "'%s' is \"%s\" or \"%s\"", key, first, other);
}

static bool read_shape(const wire_value *v, asked *a, error *err)
{
    a->has_shape = v != NULL;
    if (v == NULL)
        return true;
    if (!wire_expect(v, WIRE_LIST, err))
        return false;
    if (wire_count(v) > RANK_MAX)
        return error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, (int64_t)wire_count(v),
                               "a tensor has at most %d axes", RANK_MAX) ||
               wire_fault_at(v, err);
    for (const wire_value *n = wire_first(v); n != NULL; n = wire_next(n)) {
        if (!wire_expect(n, WIRE_INTEGER, err))
            return false;
        if (wire_integer(n) < 0)
            return wire_fault(n, err, ERR_SHAPE_INVALID, "a length is not negative");
        a->shape.length[a->shape.rank++] = wire_integer(n);
    }
    return shape_check(&a->shape, "shape", err) || wire_fault_at(v, err);
}

static bool read_numbers(const wire_value *root, asked *a, error *err)
{
    const wire_value *dtype = wire_member(root, "dtype"), *offset = wire_member(root, "offset");

    a->has_dtype = dtype != NULL;
    if ((dtype != NULL && !wire_dtype(dtype, &a->dtype, err)) ||
        (offset != NULL && !wire_expect(offset, WIRE_INTEGER, err)))
        return false;
    a->file.offset = offset == NULL ? 0 : wire_integer(offset);
    return read_shape(wire_member(root, "shape"), a, err);
}

static bool read_asked(const wire_value *root, asked *a, error *err)
{
    static const char *const members[] = {"path", "mode", "dtype", "shape", "offset", "order"};
    const wire_value *path = wire_member(root, "path");
    bool copies;

    *a = (asked){0};
    if (!wire_expect(root, WIRE_OBJECT, err) ||
        !wire_known_members(root, members, 6, "a request to attach", err))
        return false;
    if (path == NULL)
        return wire_fault(root, err, ERR_REQUEST, "'path' is missing: the file to attach");
    if (!wire_expect(path, WIRE_STRING, err) ||
        !read_choice(root, "mode", "r", "c", &copies, err) ||
        !read_choice(root, "order", "C", "F", &a->file.fortran, err))
        return false;
    a->file.path = wire_string(path, NULL);
    a->file.read_only = !copies;
    return read_numbers(root, a, err);
}

/* Of a .npy file the header says it all. */
static bool take_header(services *s, asked *a, error *err)
{
    npy_header h;

    if (a->has_dtype && a->has_shape)
        return true;
    if (!attachment_header(s->storage, a->file.path, a->has_dtype ? &a->dtype : NULL, &h, err)) {
        if (err->kind != ERR_NPY)
            return false;
        error_clear(err);
        return error_set(err, ERR_NPY, "%s is no .npy file; of a raw file say 'dtype' and 'shape'.",
                         a->file.path);
    }
    if (h.swapped)
        return error_set(err, ERR_DTYPE,
                         "The elements are big-endian, and are used where they lie; convert the "
                         "file, or PUT it.");
    a->dtype = h.dtype;
    a->shape = h.shape;
    a->file.fortran = h.fortran;
    a->file.offset = (int64_t)h.length;
    return true;
}

/* ---- Doing it
 * ------------------------------------------------------------------------------------ */

static bool attach(services *s, http_request *r, const char *name, const asked *a, durability d,
                   error *err)
{
    txn *x = stored_txn(s, r, d);
    commit_result done;
    const bool ok = stored_expect(s, r, x, name, err) &&
                    txn_attach(x, name, &a->file, a->dtype, &a->shape, err) &&
                    repeat_commit(r, x, &done, err) &&
                    variable_answer_stored(s, r, name, &done, err);

    txn_free(x);
    return ok;
}

bool variable_attach(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    durability d;
    asked a;

    return name != NULL && stored_durability(r, &d, err) && read_asked(body_root(r), &a, err) &&
           take_header(s, &a, err) && attach(s, r, name, &a, d, err);
}
