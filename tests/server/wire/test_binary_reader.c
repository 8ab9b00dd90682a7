/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zlib.h>

#include "server/wire/writer.h"
#include "tests/server/wire/bodies.h"

/* ---- Building files ----------------------------------------------------------------- */

static void little(text *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        text_add_char(out, (char)(value >> 8 * i & 0xff));
}

static void npy(text *out, const char *descr, const char *order, const char *shape,
                const void *bytes, size_t n)
{
    char header[200];
    const int length =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n",
                 descr, order, shape);

    text_add_bytes(out, "\x93NUMPY\1\0", 8);
    little(out, (uint64_t)length, 2);
    text_add_bytes(out, header, (size_t)length);
    text_add_bytes(out, bytes, n);
}

/* How a member of a zip file is written. */
typedef struct packing {
    bool deflated, sizes_follow, wide; /* wide: sizes that follow have 8 bytes */
    long wrong_size;                   /* added to the size in the header */
    uint32_t wrong_crc;                /* added to the checksum */
} packing;

static void deflate_into(text *out, const text *content)
{
    z_stream s = {0};
    const uLong bound = compressBound(content->length) + 64;

    deflateInit2(&s, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    s.next_in = (unsigned char *)content->bytes;
    s.avail_in = (unsigned)content->length;
    s.next_out = (unsigned char *)text_reserve(out, bound);
    s.avail_out = (unsigned)bound;
    deflate(&s, Z_FINISH);
    out->length += s.total_out;
    deflateEnd(&s);
}

static void member(text *out, const char *name, const text *content, packing how)
{
    const uint32_t crc =
        (uint32_t)crc32_z(0, (unsigned char *)content->bytes, content->length) + how.wrong_crc;
    const uint64_t size = content->length + (uint64_t)how.wrong_size;
    text packed;

    text_init(&packed);
    if (how.deflated)
        deflate_into(&packed, content);
    else
        text_add_bytes(&packed, content->bytes, content->length);
    little(out, 0x04034b50, 4);
    little(out, 20, 2);
    little(out, how.sizes_follow ? 8 : 0, 2);
    little(out, how.deflated ? 8 : 0, 2);
    little(out, 0, 4);
    little(out, how.sizes_follow ? 0 : crc, 4);
    little(out, how.sizes_follow ? 0 : packed.length, 4);
    little(out, how.sizes_follow ? 0 : size, 4);
    little(out, strlen(name), 2);
    little(out, 0, 2);
    text_add(out, name);
    text_add_bytes(out, packed.bytes, packed.length);
    if (how.sizes_follow) {
        little(out, 0x08074b50, 4);
        little(out, crc, 4);
        little(out, packed.length, how.wide ? 8 : 4);
        little(out, size, how.wide ? 8 : 4);
    }
    text_clear(&packed);
}

/* A directory that only counts: readers from the front pass it over. */
static void finish(text *out, int members)
{
    for (int i = 0; i < members; i++) {
        little(out, 0x02014b50, 4);
        for (int k = 0; k < 42; k++)
            text_add_char(out, 'x');
    }
    little(out, 0x06054b50, 4);
    little(out, 0, 4);
    little(out, (uint64_t)members, 2);
    little(out, (uint64_t)members, 2);
    little(out, (uint64_t)members * 46, 4); /* bytes of the directory */
    little(out, 0, 4);
    little(out, 0, 2);
}

/* ---- npy and raw ------------------------------------------------------------------------ */

static void check_good(const wire_reader_options *o, const text *body, const char *means)
{
    for (int how = WHOLE; how <= PIECES; how++) {
        for (int k = 0; k < (how == PIECES ? 20 : 1); k++) {
            error err = {0};
            text out;

            text_init(&out);
            if (!read_body(o, body->bytes, body->length, how, 0, &out, &err))
                fail_msg("%s: %s", means, err.detail);
            assert_string_equal(out.bytes, means);
            text_clear(&out);
        }
    }
}

static void check_bad(const wire_reader_options *o, const text *body, error_kind kind,
                      const char *says)
{
    for (int how = WHOLE; how <= PIECES; how++) {
        error err = {0};
        text out;

        text_init(&out);
        assert_false(
            read_body(o, body->length > 0 ? body->bytes : "", body->length, how, 0, &out, &err));
        if (err.kind != kind || strstr(err.detail, says) == NULL)
            fail_msg("%s: %s", error_info_of(err.kind)->code, err.detail);
        text_clear(&out);
    }
}

static void arrays_of_any_order_are_read(void **state)
{
    static const struct {
        const char *descr, *order, *shape, *bytes;
        size_t n;
        const char *means;
    } cases[] = {
        {"<i2", "False", "(3,)", "\1\0\2\0\3\0", 6, "<int16[3]: 1 2 3>"},
        {">i2", "False", "(3,)", "\0\1\0\2\0\3", 6, "<int16[3]: 1 2 3>"},
        {"|i1", "True", "(2, 3)", "\1\2\3\4\5\6", 6, "<int8[2, 3]: 1 3 5 2 4 6>"},
        {">u4", "True", "(2, 1)", "\0\0\0\1\0\0\0\2", 8, "<uint32[2, 1]: 1 2>"},
        {"|b1", "False", "(4,)", "\0\1\2\377", 4, "<bool[4]: false true true true>"},
        {"<f8", "False", "()", "\0\0\0\0\0\0\xf0\x3f", 8, "<float64[]: 1.0>"},
        {">c8", "False", "(1,)", "\x3f\x80\0\0\x40\0\0\0", 8, "<complex64[1]: 1.0 2.0>"},
        {"<f8", "True", "(0, 3)", "", 0, "<float64[0, 3]:>"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_reader_options o = {.format = WIRE_NPY, .document = WIRE_TENSOR_BODY, .length = -1};
        text body;

        text_init(&body);
        npy(&body, cases[i].descr, cases[i].order, cases[i].shape, cases[i].bytes, cases[i].n);
        check_good(&o, &body, cases[i].means);
        o.length = (int64_t)body.length;
        check_good(&o, &body, cases[i].means);
        text_clear(&body);
    }
}

static void one_array_is_the_input_x(void **state)
{
    wire_reader_options o = {.format = WIRE_NPY, .document = WIRE_EVAL_BODY, .length = -1};
    text body;

    (void)state;
    text_init(&body);
    npy(&body, "<V2", "False", "(2,)", "\x80\x3f\0\x40", 4);
    check_bad(&o, &body, ERR_NPY, "bfloat16");
    o.hints = (wire_hints){.has_dtype = true, .dtype = DT_BF16};
    check_good(&o, &body, "{inputs={x=<bfloat16[2]: 1.0 2.0>}}");
    text_clear(&body);
}

static void arrays_of_a_wrong_size_are_refused(void **state)
{
    wire_reader_options o = {.format = WIRE_NPY, .document = WIRE_TENSOR_BODY, .length = -1};
    text body;

    (void)state;
    text_init(&body);
    npy(&body, "<i2", "False", "(3,)", "\1\0\2\0\3\0", 6);
    body.length--;
    check_bad(&o, &body, ERR_SIZE, "has 6 bytes, the body has 5");
    text_add(&body, "xx");
    check_bad(&o, &body, ERR_SIZE, "has 6 bytes");
    o.length = (int64_t)body.length;
    check_bad(&o, &body, ERR_SIZE, "the body has 7");
    o.length = -1;
    body.length = 30;
    check_bad(&o, &body, ERR_NPY, "ends in its header");
    body.length = 0;
    check_bad(&o, &body, ERR_NPY, "ends in its header");
    npy(&body, "<f8", "False", "(16777216, 16777216)", "", 0);
    check_bad(&o, &body, ERR_PLAN_MEMORY, "more bytes");
    text_clear(&body);
}

static void raw_bytes_need_their_headers(void **state)
{
    wire_reader_options o = {.format = WIRE_RAW, .document = WIRE_TENSOR_BODY, .length = -1};
    text body;

    (void)state;
    text_init(&body);
    text_add_bytes(&body, "\1\0\2\0", 4);
    check_bad(&o, &body, ERR_LENGTH_REQUIRED, "Tensor-Dtype");
    o.hints = (wire_hints){.has_dtype = true, .dtype = DT_U16};
    check_bad(&o, &body, ERR_LENGTH_REQUIRED, "Tensor-Shape");
    o.hints.has_shape = true;
    o.hints.shape = (shape){1, {2}};
    check_good(&o, &body, "<uint16[2]: 1 2>");
    o.hints.shape.length[0] = 3;
    check_bad(&o, &body, ERR_SIZE, "6 bytes");
    text_clear(&body);
}

/* ---- npz ------------------------------------------------------------------------------------ */

static const wire_reader_options eval_npz = {
    .format = WIRE_NPZ, .document = WIRE_EVAL_BODY, .length = -1};

/* A file with a of int16, request.json and b of Fortran order, packed in one way. */
static void make_npz(text *out, packing how)
{
    text a, b, json;
    packing json_how = how;

    text_init(&a);
    text_init(&b);
    text_init(&json);
    npy(&a, "<i2", "False", "(3,)", "\1\0\2\0\3\0", 6);
    npy(&b, "|i1", "True", "(2, 3)", "\1\2\3\4\5\6", 6);
    text_add(&json, "{\"program\": \"a\", \"inputs\": {\"c\": [1.5]}}");
    json_how.sizes_follow = how.sizes_follow && how.deflated;
    member(out, "a.npy", &a, how);
    member(out, "request.json", &json, json_how);
    member(out, "b.npy", &b, how);
    finish(out, 3);
    text_clear(&a);
    text_clear(&b);
    text_clear(&json);
}

static void files_of_any_packing_are_read(void **state)
{
    (void)state;
    for (int bits = 0; bits < 8; bits++) {
        text body;

        text_init(&body);
        make_npz(&body, (packing){bits & 1, bits >> 1 & 1, bits >> 2 & 1, 0, 0});
        check_good(&eval_npz, &body,
                   "{program=\"a\" inputs={c=<float64[1]: 1.5> a=<int16[3]: 1 2 3> b=<int8[2, 3]: "
                   "1 3 5 2 4 6>}}");
        text_clear(&body);
    }
}

static void files_cut_short_or_damaged_are_refused(void **state)
{
    (void)state;
    for (int bits = 0; bits < 8; bits++) {
        text body;

        text_init(&body);
        make_npz(&body, (packing){bits & 1, bits >> 1 & 1, bits >> 2 & 1, 0, 0});
        for (size_t n = 0; n < body.length; n++) {
            error err = {0};
            text out;

            text_init(&out);
            assert_false(
                read_body(&eval_npz, body.bytes, n, n % 2 ? WHOLE : PIECES, 0, &out, &err));
            text_clear(&out);
        }
        for (int k = 0; k < 3000; k++) { /* whatever happens, nothing breaks */
            const size_t at = (size_t)rand() % body.length;
            const char was = body.bytes[at];
            error err = {0};
            text out;

            text_init(&out);
            body.bytes[at] = (char)rand();
            read_body(&eval_npz, body.bytes, body.length, WHOLE, 0, &out, &err);
            body.bytes[at] = was;
            text_clear(&out);
        }
        text_clear(&body);
    }
}

static void check_bad_npz(const wire_reader_options *o, const char *name, const char *second,
                          packing how, error_kind kind, const char *says)
{
    text content, body;

    text_init(&content);
    text_init(&body);
    npy(&content, "<i2", "False", "(3,)", "\1\0\2\0\3\0", 6);
    member(&body, name, &content, how);
    if (second != NULL)
        member(&body, second, &content, how);
    finish(&body, 1);
    check_bad(o, &body, kind, says);
    text_clear(&content);
    text_clear(&body);
}

static void faulty_files_are_refused(void **state)
{
    const packing plain = {0}, deflated = {.deflated = true};
    wire_reader_options one = eval_npz;

    (void)state;
    one.document = WIRE_TENSOR_BODY;
    check_bad_npz(&one, "a.npy", "b.npy", plain, ERR_NPY, "directory has 1 members");
    check_bad_npz(&eval_npz, "a.npy", "a.npy", plain, ERR_NPY, "twice");
    check_bad_npz(&eval_npz, "a.txt", NULL, plain, ERR_NPY, "no .npy file");
    check_bad_npz(&eval_npz, "a.npy", NULL, (packing){.wrong_crc = 1}, ERR_NPY, "checksum");
    check_bad_npz(&eval_npz, "a.npy", NULL, (packing){.deflated = true, .wrong_size = 1}, ERR_SIZE,
                  "6 bytes");
    check_bad_npz(&eval_npz, "request.json", NULL, deflated, ERR_JSON, "not a JSON value");
    check_bad_npz(&one, "request.json", NULL, plain, ERR_NPY, "no request.json");
}

/* A member that deflates 1000 to 1 takes no more memory than its header admits. */
static void bombs_do_not_go_off(void **state)
{
    text zeros, content, body;

    (void)state;
    text_init(&zeros);
    text_init(&content);
    text_init(&body);
    memset(text_reserve(&zeros, 10000000), 0, 10000000);
    npy(&content, "<i2", "False", "(3,)", zeros.bytes, 10000000);
    member(&body, "a.npy", &content, (packing){.deflated = true, .sizes_follow = true});
    assert_true(body.length < 20000);
    check_bad(&eval_npz, &body, ERR_SIZE, "6 bytes");
    text_clear(&zeros);
    text_clear(&content);
    text_clear(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_any_order_are_read),
        cmocka_unit_test(one_array_is_the_input_x),
        cmocka_unit_test(arrays_of_a_wrong_size_are_refused),
        cmocka_unit_test(raw_bytes_need_their_headers),
        cmocka_unit_test(files_of_any_packing_are_read),
        cmocka_unit_test(files_cut_short_or_damaged_are_refused),
        cmocka_unit_test(faulty_files_are_refused),
        cmocka_unit_test(bombs_do_not_go_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
