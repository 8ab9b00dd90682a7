/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/wire/writer.h"
#include "tests/server/wire/bodies.h"

/* All that the writer says, pulled in pieces of n bytes (0: of random sizes). */
static void pull(wire_writer *w, size_t n, text *out)
{
    for (;;) {
        const size_t piece = n > 0 ? n : 1 + (size_t)rand() % 9000;
        size_t got = wire_writer_read(w, text_reserve(out, piece), piece);

        out->length += got;
        if (got == 0)
            return;
        assert_true(got <= piece);
    }
}

static void say(wire_format format, const tensor *t, size_t piece, text *out)
{
    wire_writer *w = wire_writer_new(format);
    int64_t length;

    out->length = 0;
    wire_writer_tensor(w, "a", t);
    length = wire_writer_length(w);
    pull(w, piece, out);
    if (length >= 0)
        assert_int_equal(length, out->length);
    wire_writer_free(w);
}

/* A tensor of random bits, lying densely or with odd strides. */
static tensor random_tensor(dtype t, const shape *s, bool strided)
{
    shape whole = *s;
    error err = {0};
    tensor result;
    unsigned char *bytes;

    for (int i = 0; strided && i < whole.rank; i++)
        whole.length[i] *= 2;
    assert_true(tensor_new(&result, NULL, t, &whole, &err));
    bytes = buffer_bytes(result.buf);
    for (size_t i = 0; i < buffer_size(result.buf); i++)
        bytes[i] = (unsigned char)(t == DT_BOOL ? rand() & 1 : rand() >> 5);
    for (int i = 0; strided && i < whole.rank; i++) {
        const int64_t sign = i % 2 == 0 ? -1 : 1;

        result.offset +=
            sign < 0 ? result.strides[i] * (whole.length[i] > 0 ? whole.length[i] - 1 : 0) : 0;
        result.strides[i] *= 2 * sign;
        result.shape.length[i] = s->length[i];
    }
    return result;
}

/* Whether two dense runs of elements have the same bits, NaN being any NaN. */
static void check_same(const tensor *a, const tensor *b)
{
    text da, db;

    assert_int_equal(a->dtype, b->dtype);
    assert_true(shape_equal(&a->shape, &b->shape));
    text_init(&da);
    text_init(&db);
    describe_tensor(&da, a);
    describe_tensor(&db, b);
    assert_string_equal(da.bytes, db.bytes);
    text_clear(&da);
    text_clear(&db);
}

static void round_trip(wire_format format, const tensor *t)
{
    const wire_reader_options o = {
        .format = format,
        .document = WIRE_TENSOR_BODY,
        .length = -1,
        .hints = {.has_dtype = true, .has_shape = true, .dtype = t->dtype, .shape = t->shape}};
    arena *a = arena_new();
    error err = {0};
    wire_reader *r = wire_reader_new(a, NULL, &o, &err);
    text said;

    text_init(&said);
    say(format, t, 0, &said);
    if (r == NULL || !feed(r, said.bytes, said.length, PIECES, 0, &err))
        fail_msg("%s: %s", dtype_name(t->dtype), err.detail);
    check_same(t, wire_tensor(wire_reader_root(r)));
    text_clear(&said);
    wire_reader_free(r);
    arena_free(a);
}

static const shape shapes[] = {
    {0},           {1, {1}},       {1, {7}},       {1, {0}},    {1, {1000}}, {2, {2, 3}},
    {2, {40, 31}}, {3, {2, 3, 4}}, {3, {2, 0, 3}}, {2, {0, 5}}, {2, {1, 1}}, {4, {3, 1, 2, 5}},
};

static void every_type_survives_every_format(void **state)
{
    static const wire_format formats[] = {WIRE_JSON, WIRE_NPY, WIRE_NPZ, WIRE_RAW};

    (void)state;
    for (int t = 0; t < DT_COUNT; t++) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            for (int k = 0; k < 8; k++) {
                tensor x = random_tensor((dtype)t, &shapes[i], k / 4 > 0);

                round_trip(formats[k % 4], &x);
                tensor_unref(&x);
            }
        }
    }
}

/* Every half survives, and in as few digits as possible. */
static void every_half_survives(void **state)
{
    (void)state;
    for (int t = DT_F16; t <= DT_BF16; t++) {
        const shape s = {2, {256, 256}};
        error err = {0};
        tensor x;
        uint16_t *bits;

        assert_true(tensor_new(&x, NULL, (dtype)t, &s, &err));
        bits = buffer_bytes(x.buf);
        for (int i = 0; i < 65536; i++)
            bits[i] = (uint16_t)i;
        round_trip(WIRE_JSON, &x);
        tensor_unref(&x);
    }
}

static void pieces_make_no_difference(void **state)
{
    (void)state;
    for (int format = 0; format < WIRE_FORMATS; format++) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            tensor x = random_tensor(i % 2 ? DT_C64 : DT_F64, &shapes[i], i % 3 == 0);
            text whole, pieces;

            text_init(&whole);
            text_init(&pieces);
            if (format != WIRE_CSV || shapes[i].rank <= 2) {
                say((wire_format)format, &x, 1 << 20, &whole);
                for (size_t n = 0; n < 600; n += 1 + n / 4) {
                    say((wire_format)format, &x, n, &pieces);
                    assert_int_equal(pieces.length, whole.length);
                    if (whole.length > 0)
                        assert_memory_equal(pieces.bytes, whole.bytes, whole.length);
                }
            }
            text_clear(&whole);
            text_clear(&pieces);
            tensor_unref(&x);
        }
    }
}

/* What a tensor read from the JSON text says in a format. */
static void check_text(wire_format format, const char *body, const char *expected)
{
    const wire_reader_options o = {.document = WIRE_TENSOR_BODY, .length = -1};
    arena *a = arena_new();
    error err = {0};
    wire_reader *r = wire_reader_new(a, NULL, &o, &err);
    text said;

    text_init(&said);
    assert_true(feed(r, body, strlen(body), WHOLE, 0, &err));
    say(format, wire_tensor(wire_reader_root(r)), 0, &said);
    text_add_char(&said, '\0');
    assert_string_equal(said.bytes, expected);
    text_clear(&said);
    wire_reader_free(r);
    arena_free(a);
}

static void texts_are_as_documented(void **state)
{
    (void)state;
    check_text(WIRE_JSON, "[[1,2],[3,4]]",
               "{\"dtype\":\"int64\",\"shape\":[2,2],\"data\":[[1,2],[3,4]]}");
    check_text(WIRE_JSON, "[1.0,-0.0,1e300,0.1,NaN,-Infinity,Infinity]",
               "{\"dtype\":\"float64\",\"shape\":[7],\"data\":[1.0,-0.0,1e+300,0.1,\"NaN\","
               "\"-Infinity\",\"Infinity\"]}");
    check_text(WIRE_JSON, "true", "{\"dtype\":\"bool\",\"shape\":[],\"data\":true}");
    check_text(WIRE_JSON, "{\"data\":[[1,2],[3,4]],\"dtype\":\"complex64\"}",
               "{\"dtype\":\"complex64\",\"shape\":[2],\"data\":[[1.0,2.0],[3.0,4.0]]}");
    check_text(WIRE_JSON, "[[[]]]", "{\"dtype\":\"float64\",\"shape\":[1,1,0],\"data\":[]}");
    check_text(WIRE_JSON, "[18446744073709551615]",
               "{\"dtype\":\"uint64\",\"shape\":[1],\"data\":[18446744073709551615]}");
    check_text(WIRE_CSV, "[[1,2],[3,4]]", "1,2\n3,4\n");
    check_text(WIRE_CSV, "[1.5,NaN,-Infinity]", "1.5\nnan\n-inf\n");
    check_text(WIRE_CSV, "[[]]", "");
    check_text(WIRE_CSV, "7", "7\n");
    check_text(WIRE_CSV, "{\"data\":[[[1,-2],[3,\"NaN\"]]],\"dtype\":\"complex64\"}",
               "1.0-2.0j,3.0+nanj\n");
}

static void text_and_tensors_alternate(void **state)
{
    const shape s = {1, {2}};
    wire_writer *w = wire_writer_new(WIRE_JSON);
    error err = {0};
    tensor x;
    text said;

    (void)state;
    assert_true(tensor_new(&x, NULL, DT_I8, &s, &err));
    memcpy(buffer_bytes(x.buf), "\1\2", 2);
    text_init(&said);
    wire_writer_text(w, "{\"result\":");
    wire_writer_tensor(w, NULL, &x);
    wire_writer_text(w, ",\"outputs\":{\"y\":");
    wire_writer_tensor(w, NULL, &x);
    wire_writer_text(w, "}");
    wire_writer_text(w, "}");
    tensor_unref(&x);
    assert_int_equal(wire_writer_length(w), -1);
    pull(w, 3, &said);
    text_add_char(&said, '\0');
    assert_string_equal(said.bytes,
                        "{\"result\":{\"dtype\":\"int8\",\"shape\":[2],\"data\":[1,2]},\"outputs\":"
                        "{\"y\":{\"dtype\":\"int8\",\"shape\":[2],\"data\":[1,2]}}}");
    text_clear(&said);
    wire_writer_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_survives_every_format),
        cmocka_unit_test(every_half_survives),
        cmocka_unit_test(pieces_make_no_difference),
        cmocka_unit_test(texts_are_as_documented),
        cmocka_unit_test(text_and_tensors_alternate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
