/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/server/wire/bodies.h"

/* ---- Bodies that are read ------------------------------------------------------- */

static const struct {
    wire_document document;
    const char *body, *means;
} good[] = {
    /* plain JSON */
    {WIRE_PLAIN_BODY, "{}", "{}"},
    {WIRE_PLAIN_BODY, " [1, -2.5e3,true,null,\"a\\u00e9\\ud83d\\ude00\\n\\/\", {\"k\":[]}] ",
     "[1 r-2500 true null \"aé😀\\n/\" {k=[]}]"},
    {WIRE_PLAIN_BODY, "9223372036854775808", "r9.2233720368547758e+18"},
    {WIRE_PLAIN_BODY, "-0", "0"},
    {WIRE_PLAIN_BODY, "{\"data\": [1, 2], \"args\": [1]}", "{data=[1 2] args=[1]}"},
    /* element types by inference */
    {WIRE_TENSOR_BODY, "[1, 2, 3]", "<int64[3]: 1 2 3>"},
    {WIRE_TENSOR_BODY, "[1, 2.0, 3]", "<float64[3]: 1.0 2.0 3.0>"},
    {WIRE_TENSOR_BODY, "[true, false]", "<bool[2]: true false>"},
    {WIRE_TENSOR_BODY, "[true, 2]", "<float64[2]: 1.0 2.0>"},
    {WIRE_TENSOR_BODY, "[1, 18446744073709551615]", "<uint64[2]: 1 18446744073709551615>"},
    {WIRE_TENSOR_BODY, "[-1, 9223372036854775808]", "<float64[2]: -1.0 9223372036854775808.0>"},
    {WIRE_TENSOR_BODY, "[9223372036854775808, -1]", "<float64[2]: 9223372036854775808.0 -1.0>"},
    {WIRE_TENSOR_BODY, "[100000000000000000000, 1]", "<float64[2]: 1e+20 1.0>"},
    {WIRE_TENSOR_BODY, "[]", "<float64[0]:>"},
    {WIRE_TENSOR_BODY, "[[], []]", "<float64[2, 0]:>"},
    {WIRE_TENSOR_BODY, "[-0, 1]", "<int64[2]: 0 1>"},
    {WIRE_TENSOR_BODY, "[-0, 1, 1.5]", "<float64[3]: -0.0 1.0 1.5>"},
    {WIRE_TENSOR_BODY, "[\"NaN\", \"-Infinity\", NaN, Infinity, -Infinity, 1]",
     "<float64[6]: nan -inf nan inf -inf 1.0>"},
    {WIRE_TENSOR_BODY, "[[[1,2],[3,4]],\n [[5,6],[7,8]]]", "<int64[2, 2, 2]: 1 2 3 4 5 6 7 8>"},
    /* weak scalars */
    {WIRE_TENSOR_BODY, "1", "<weak int64[]: 1>"},
    {WIRE_TENSOR_BODY, " 1.0 ", "<weak float64[]: 1.0>"},
    {WIRE_TENSOR_BODY, "1e2", "<weak float64[]: 100.0>"},
    {WIRE_TENSOR_BODY, "true", "<weak bool[]: true>"},
    {WIRE_TENSOR_BODY, "\"NaN\"", "<weak float64[]: nan>"},
    {WIRE_TENSOR_BODY, "-Infinity", "<weak float64[]: -inf>"},
    {WIRE_TENSOR_BODY, "{\"weak\": \"float\", \"value\": 1}", "<weak float64[]: 1.0>"},
    {WIRE_TENSOR_BODY, "{\"value\": [1, 2], \"weak\": \"complex\"}",
     "<weak complex128[]: 1.0 2.0>"},
    {WIRE_TENSOR_BODY, "18446744073709551615", "<weak uint64[]: 18446744073709551615>"},
    {WIRE_TENSOR_BODY, "{\"weak\": \"int\", \"value\": 18446744073709551615}",
     "<weak uint64[]: 18446744073709551615>"},
    /* tensor objects */
    {WIRE_TENSOR_BODY, "{\"data\": 5}", "<int64[]: 5>"},
    {WIRE_TENSOR_BODY, "{\"dtype\": \"int8\", \"data\": [127, -128, 2.0, 1e1, true]}",
     "<int8[5]: 127 -128 2 10 1>"},
    {WIRE_TENSOR_BODY, "{\"data\": [127, -128, 2.0, 1e1, true], \"dtype\": \"int8\"}",
     "<int8[5]: 127 -128 2 10 1>"},
    {WIRE_TENSOR_BODY, "{\"dtype\": \"<f4\", \"shape\": [2, 2], \"data\": [1, 0, 0, 1]}",
     "<float32[2, 2]: 1.0 0.0 0.0 1.0>"},
    {WIRE_TENSOR_BODY, "{\"data\": [1, 0, 0, 1], \"shape\": [2, 2]}", "<int64[2, 2]: 1 0 0 1>"},
    {WIRE_TENSOR_BODY, "{\"dtype\": \"bool\", \"data\": [0, 1, true]}",
     "<bool[3]: false true true>"},
    {WIRE_TENSOR_BODY, "{\"dtype\": \"float64\", \"data\": [-0, true, \"NaN\"]}",
     "<float64[3]: -0.0 1.0 nan>"},
    {WIRE_TENSOR_BODY, "{\"data\": [-0, 3], \"dtype\": \"float64\"}", "<float64[2]: -0.0 3.0>"},
    {WIRE_TENSOR_BODY, "{\"dtype\": \"float64\", \"shape\": [0, 3], \"data\": []}",
     "<float64[0, 3]:>"},
    {WIRE_TENSOR_BODY, "{\"data\": [[], []], \"shape\": [2, 0, 3]}", "<float64[2, 0, 3]:>"},
    {WIRE_TENSOR_BODY, "{\"dtype\": \"uint64\", \"data\": [18446744073709551615]}",
     "<uint64[1]: 18446744073709551615>"},
    {WIRE_TENSOR_BODY, "{\"data\": [18446744073709551615], \"dtype\": \"uint64\"}",
     "<uint64[1]: 18446744073709551615>"},
    /* float32 is read once: this decimal lies just above the middle of two of them */
    {WIRE_TENSOR_BODY, "{\"dtype\":\"float32\",\"data\":[1.00000005960464477539062501, 0.1]}",
     "<float32[2]: 1.0000001 0.1>"},
    {WIRE_TENSOR_BODY, "{\"data\":[1.00000005960464477539062501, 0.1],\"dtype\":\"float32\"}",
     "<float32[2]: 1.0000001 0.1>"},
    {WIRE_TENSOR_BODY, "{\"data\":[1e-45, 1e-46, 3.4028235e38],\"dtype\":\"float32\"}",
     "<float32[3]: 1e-45 0.0 3.4028235e+38>"},
    {WIRE_TENSOR_BODY, "{\"dtype\":\"float16\",\"data\":[0.1, 65504, 6e-8, \"Infinity\"]}",
     "<float16[4]: 0.1 65500.0 6e-08 inf>"},
    {WIRE_TENSOR_BODY, "{\"data\":[0.1, 3.3895314e38],\"dtype\":\"bfloat16\"}",
     "<bfloat16[2]: 0.1 3.39e+38>"},
    /* complex */
    {WIRE_TENSOR_BODY, "{\"dtype\":\"complex64\",\"data\":[[1,2],[3,\"NaN\"]]}",
     "<complex64[2]: 1.0 2.0 3.0 nan>"},
    {WIRE_TENSOR_BODY, "{\"data\":[[1,2],[3,4]],\"dtype\":\"complex128\",\"shape\":[2,1]}",
     "<complex128[2, 1]: 1.0 2.0 3.0 4.0>"},
    {WIRE_TENSOR_BODY, "{\"dtype\":\"complex128\",\"data\":[1.5,2]}", "<complex128[]: 1.5 2.0>"},
    {WIRE_TENSOR_BODY, "{\"dtype\":\"complex128\",\"shape\":[2],\"data\":[1.5,2]}",
     "<complex128[2]: 1.5 0.0 2.0 0.0>"},
    {WIRE_TENSOR_BODY, "{\"dtype\":\"complex64\",\"shape\":[],\"data\":[1.5,2]}",
     "<complex64[]: 1.5 2.0>"},
    /* base64 */
    {WIRE_TENSOR_BODY, "{\"dtype\":\"int16\",\"shape\":[3],\"base64\":\"AQACAAMA\"}",
     "<int16[3]: 1 2 3>"},
    {WIRE_TENSOR_BODY, "{\"base64\":\"\\/\\/8=\",\"dtype\":\"int16\",\"shape\":[]}",
     "<int16[]: -1>"},
    {WIRE_TENSOR_BODY, "{\"base64\":\"\\/\\/8=\",\"dtype\":\"int8\",\"shape\":[2]}",
     "<int8[2]: -1 -1>"},
    {WIRE_TENSOR_BODY, "{\"base64\":\"AAEC/w==\",\"dtype\":\"bool\",\"shape\":[4]}",
     "<bool[4]: false true true true>"},
    {WIRE_TENSOR_BODY, "{\"base64\":\"\",\"dtype\":\"float64\",\"shape\":[0,2]}",
     "<float64[0, 2]:>"},
    /* requests */
    {WIRE_EVAL_BODY,
     "{\"program\": \"y = x @ w + b\\nsoftmax(y)\", \"inputs\": {\"x\": [[1, 2]], \"w\": "
     "{\"dtype\": "
     "\"float32\", \"shape\": [2, 2], \"data\": [1, 0, 0, 1]}, \"b\": 0.5, \"n\": \"NaN\"}, "
     "\"outputs\": [\"y\"], \"seed\": 3}",
     "{program=\"y = x @ w + b\\nsoftmax(y)\" inputs={x=<int64[1, 2]: 1 2> w=<float32[2, 2]: 1.0 "
     "0.0 0.0 1.0> b=<weak float64[]: 0.5> n=<weak float64[]: nan>} outputs=[\"y\"] seed=3}"},
    {WIRE_EVAL_BODY,
     "{\"graph\": {\"inputs\": {\"x\": {\"dtype\": \"float64\", \"shape\": [null, 3]}}, \"nodes\": "
     "{\"h\": {\"op\": \"add\", \"args\": [\"x\", 1, [1, 2], {\"data\": [1.5]}, {\"ref\": "
     "\"q:1\"}, "
     "{\"op\": \"sin\", \"args\": [\"NaN\", true]}], \"attrs\": {\"axis\": [0, 1]}}}}}",
     "{graph={inputs={x={dtype=\"float64\" shape=[null 3]}} nodes={h={op=\"add\" args=[\"x\" <weak "
     "int64[]: 1> <int64[2]: 1 2> <float64[1]: 1.5> {ref=\"q:1\"} {op=\"sin\" args=[\"NaN\" <weak "
     "bool[]: true>]}] attrs={axis=[0 1]}}}}}"},
    {WIRE_RUN_BODY, "{\"feeds\": {\"x\": 1}, \"fetches\": [\"y\"], \"inputs\": {\"x\": 1}}",
     "{feeds={x=<weak int64[]: 1>} fetches=[\"y\"] inputs={x=1}}"},
    {WIRE_TENSORS_BODY, "{\"a\": [1], \"b\": {\"data\": 2}}", "{a=<int64[1]: 1> b=<int64[]: 2>}"},
};

static void check_good(size_t i, int how, size_t cut)
{
    const wire_reader_options o = {.document = good[i].document, .length = -1};
    error err = {0};
    text out;

    text_init(&out);
    if (!read_body(&o, good[i].body, strlen(good[i].body), how, cut, &out, &err)) {
        fail_msg("%s\nfed %d: %s", good[i].body, how, err.detail);
    } else if (strcmp(out.bytes, good[i].means) != 0)
        fail_msg("%s\nfed %d (%zu): read %s", good[i].body, how, cut, out.bytes);
    text_clear(&out);
}

static void bodies_mean_the_same_in_any_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        check_good(i, WHOLE, 0);
        check_good(i, BYTES, 0);
        for (int k = 0; k < 20; k++)
            check_good(i, PIECES, 0);
        for (size_t cut = 1; cut < strlen(good[i].body); cut++)
            check_good(i, CUTS, cut);
    }
}

/* ---- Bodies that are refused -------------------------------------------------------- */

#define T(members) "{" members "}"

static const struct {
    wire_document document;
    const char *body;
    error_kind kind;
    const char *pointer, *says;
} bad[] = {
    /* not JSON */
    {WIRE_PLAIN_BODY, "", ERR_JSON, "", "empty"},
    {WIRE_PLAIN_BODY, "   ", ERR_JSON, "", "empty"},
    {WIRE_PLAIN_BODY, "{", ERR_JSON, "", "byte 1"},
    {WIRE_PLAIN_BODY, "[1,]", ERR_JSON, "", "byte 3, found ']'"},
    {WIRE_PLAIN_BODY, "[1 2]", ERR_JSON, "", "comma"},
    {WIRE_PLAIN_BODY, "{\"a\" 1}", ERR_JSON, "", "colon"},
    {WIRE_PLAIN_BODY, "{\"a\": 1,}", ERR_JSON, "", "name in quotes"},
    {WIRE_PLAIN_BODY, "{a: 1}", ERR_JSON, "", "found 'a'"},
    {WIRE_PLAIN_BODY, "{\"a\": 1]", ERR_JSON, "", "found ']'"},
    {WIRE_PLAIN_BODY, "[1}", ERR_JSON, "", "found '}'"},
    {WIRE_PLAIN_BODY, "1 2", ERR_JSON, "", "nothing"},
    {WIRE_PLAIN_BODY, "{} x", ERR_JSON, "", "nothing"},
    {WIRE_PLAIN_BODY, "\xef\xbb\xbf{}", ERR_JSON, "", "not a JSON value"},
    {WIRE_PLAIN_BODY, "nul", ERR_JSON, "", "'nul'"},
    {WIRE_PLAIN_BODY, "NaN", ERR_JSON, "", "only tensor data"},
    {WIRE_PLAIN_BODY, "[Infinity]", ERR_JSON, "", "only tensor data"},
    {WIRE_PLAIN_BODY, "01", ERR_JSON, "", "'01'"},
    {WIRE_PLAIN_BODY, "1.", ERR_JSON, "", "'1.'"},
    {WIRE_PLAIN_BODY, ".5", ERR_JSON, "", "'.5'"},
    {WIRE_PLAIN_BODY, "+1", ERR_JSON, "", "'+1'"},
    {WIRE_PLAIN_BODY, "1e", ERR_JSON, "", "'1e'"},
    {WIRE_PLAIN_BODY, "0x10", ERR_JSON, "", "'0x10'"},
    {WIRE_PLAIN_BODY, "1e400", ERR_JSON, "", "range"},
    {WIRE_PLAIN_BODY, "\"\x01\"", ERR_JSON, "", "control"},
    {WIRE_PLAIN_BODY, "\"\\x\"", ERR_JSON, "", "escape"},
    {WIRE_PLAIN_BODY, "\"\\u12g4\"", ERR_JSON, "", "\\u"},
    {WIRE_PLAIN_BODY, "\"\\u0000\"", ERR_JSON, "", "U+0000"},
    {WIRE_PLAIN_BODY, "\"\\ud800\"", ERR_JSON, "", "surrogate"},
    {WIRE_PLAIN_BODY, "\"\\ud800\\n\"", ERR_JSON, "", "surrogate"},
    {WIRE_PLAIN_BODY, "\"\\udc00\"", ERR_JSON, "", "surrogate"},
    {WIRE_PLAIN_BODY, "\"\xc0\x80\"", ERR_JSON, "", "UTF-8"},
    {WIRE_PLAIN_BODY, "\"\xed\xa0\x80\"", ERR_JSON, "", "UTF-8"},
    {WIRE_PLAIN_BODY, "\"\xf5\x80\x80\x80\"", ERR_JSON, "", "UTF-8"},
    {WIRE_PLAIN_BODY, "\"\xc3\"", ERR_JSON, "", "UTF-8"},
    {WIRE_PLAIN_BODY, "\"a", ERR_JSON, "", "ends unexpectedly"},
    {WIRE_PLAIN_BODY, "{\"a\": {\"b\": 1, \"b\": 2}}", ERR_JSON, "/a/b", "twice"},
    {WIRE_PLAIN_BODY, "{\"\\u0061\": 1, \"a\": 2}", ERR_JSON, "/a", "twice"},
    /* data */
    {WIRE_TENSOR_BODY, "[1, 2", ERR_JSON, "", "ends inside tensor data"},
    {WIRE_TENSOR_BODY, "[1,]", ERR_JSON, "", "byte 3"},
    {WIRE_TENSOR_BODY, "[1.5,]", ERR_JSON, "", "byte 5"},
    {WIRE_TENSOR_BODY, "[,1]", ERR_JSON, "", "byte 1"},
    {WIRE_TENSOR_BODY, "[1 2]", ERR_JSON, "", "comma"},
    {WIRE_TENSOR_BODY, "[1.0, 01.5]", ERR_JSON, "/1", "01.5"},
    {WIRE_TENSOR_BODY, "[1.0, 1.e5, 2]", ERR_JSON, "/1", "1.e5"},
    {WIRE_TENSOR_BODY, "[1.0, 2., 2]", ERR_JSON, "/1", "2."},
    {WIRE_TENSOR_BODY, "[1.0, .5, 2]", ERR_JSON, "/1", ".5"},
    {WIRE_TENSOR_BODY, "[1.0, inf]", ERR_JSON, "/1", "inf"},
    {WIRE_TENSOR_BODY, "[1.0, 1e, 2]", ERR_JSON, "/1", "1e"},
    {WIRE_TENSOR_BODY, "[1.0, -, 2]", ERR_JSON, "/1", "-"},
    {WIRE_TENSOR_BODY, "[1, null]", ERR_VALUE, "/1", "null"},
    {WIRE_TENSOR_BODY, "[[1, 2], [3, \"x\"]]", ERR_VALUE, "/1/1", "[1][1]"},
    {WIRE_TENSOR_BODY, "[1, {\"data\": 1}]", ERR_VALUE, "/1", "object"},
    {WIRE_TENSOR_BODY, "[1.5, 1e400]", ERR_OVERFLOW, "/1", "too large"},
    {WIRE_TENSOR_BODY, "[[1, 2], [3]]", ERR_SHAPE, "/1", "1 items, the first one 2"},
    {WIRE_TENSOR_BODY, "[[1, 2], 3]", ERR_SHAPE, "/1", "[1]"},
    {WIRE_TENSOR_BODY, "[1, [2]]", ERR_SHAPE, "/1", "[1]"},
    {WIRE_TENSOR_BODY, "[[], [1]]", ERR_SHAPE, "/1", "1 items"},
    {WIRE_TENSOR_BODY, "[[1.5, 2.5], [3.5, 4.5, 5.5]]", ERR_SHAPE, "/1", "3 items"},
    {WIRE_TENSOR_BODY, "[[[1]], [[1], [2]]]", ERR_SHAPE, "/1", "2 items"},
    {WIRE_TENSOR_BODY, "\"text\"", ERR_REQUEST, "", "a string"},
    {WIRE_TENSOR_BODY, "null", ERR_REQUEST, "", "null"},
    {WIRE_TENSOR_BODY, "{}", ERR_REQUEST, "", "an object"},
    /* tensor objects */
    {WIRE_TENSOR_BODY, T("\"dtype\": \"int8\", \"data\": [1, 300]"), ERR_OVERFLOW, "/data/1",
     "300"},
    {WIRE_TENSOR_BODY, T("\"data\": [[1], [300]], \"dtype\": \"int8\""), ERR_OVERFLOW, "/data/1/0",
     "[1][0]"},
    {WIRE_TENSOR_BODY, T("\"dtype\": \"int8\", \"data\": [1, 2.5]"), ERR_VALUE, "/data/1", "2.5"},
    {WIRE_TENSOR_BODY, T("\"data\": [1, 2.5], \"dtype\": \"int8\""), ERR_VALUE, "/data/1", "whole"},
    {WIRE_TENSOR_BODY, T("\"dtype\": \"uint8\", \"data\": [-1]"), ERR_OVERFLOW, "/data/0", "-1"},
    {WIRE_TENSOR_BODY, T("\"dtype\": \"bool\", \"data\": [2]"), ERR_OVERFLOW, "/data/0", "bool"},
    {WIRE_TENSOR_BODY, T("\"dtype\": \"int64\", \"data\": [\"NaN\"]"), ERR_VALUE, "/data/0",
     "float"},
    {WIRE_TENSOR_BODY, T("\"data\": [9007199254740993, 2.0], \"dtype\": \"int64\""), ERR_VALUE,
     "/data/0", "rounded"},
    {WIRE_TENSOR_BODY, T("\"dtype\": \"float32\", \"data\": [1e39]"), ERR_OVERFLOW, "/data/0",
     "1e39"},
    {WIRE_TENSOR_BODY, T("\"data\": [0, 1e39], \"dtype\": \"float32\""), ERR_OVERFLOW, "/data/1",
     "float32"},
    {WIRE_TENSOR_BODY, T("\"dtype\": \"float16\", \"data\": [65520]"), ERR_OVERFLOW, "/data/0",
     "float16"},
    {WIRE_TENSOR_BODY, T("\"dtype\": \"float63\", \"data\": [1]"), ERR_DTYPE_NAME, "/dtype",
     "float64"},
    {WIRE_TENSOR_BODY, T("\"data\": [1], \"dtype\": \">f8\""), ERR_DTYPE_NAME, "/dtype", ">f8"},
    {WIRE_TENSOR_BODY, T("\"data\": [1], \"dtype\": 8"), ERR_REQUEST, "/dtype", "a string"},
    {WIRE_TENSOR_BODY, T("\"data\": [1], \"shape\": 1"), ERR_REQUEST, "/shape", "a list"},
    {WIRE_TENSOR_BODY, T("\"data\": [1], \"shape\": [1.0]"), ERR_REQUEST, "/shape/0", "an integer"},
    {WIRE_TENSOR_BODY, T("\"data\": [1], \"shape\": [-1]"), ERR_SHAPE_INVALID, "/shape/0", "-1"},
    {WIRE_TENSOR_BODY, T("\"data\": [1], \"shape\": [281474976710656, 281474976710656]"),
     ERR_SHAPE_INVALID, "/shape", "more elements"},
    {WIRE_TENSOR_BODY, T("\"data\": [1, 2, 3], \"shape\": [2, 2]"), ERR_SIZE, "/data",
     "3 elements"},
    {WIRE_TENSOR_BODY, T("\"data\": [[1, 2, 3]], \"shape\": [3]"), ERR_SHAPE, "/data", "[1, 3]"},
    {WIRE_TENSOR_BODY, T("\"data\": 1, \"shape\": [1]"), ERR_SHAPE, "/data", "[1]"},
    {WIRE_TENSOR_BODY, T("\"data\": [1], \"dtpye\": \"int8\""), ERR_MEMBER, "/dtpye", "dtpye"},
    {WIRE_TENSOR_BODY, T("\"data\": [1], \"data\": [2]"), ERR_JSON, "/data", "twice"},
    {WIRE_TENSOR_BODY, T("\"dtype\": \"complex64\", \"data\": [[1, 2, 3]]"), ERR_SHAPE, "/data",
     "pair"},
    {WIRE_TENSOR_BODY, T("\"base64\": \"AAAA\", \"shape\": [3]"), ERR_REQUEST, "", "dtype"},
    {WIRE_TENSOR_BODY, T("\"base64\": \"AAAA\", \"dtype\": \"int8\""), ERR_REQUEST, "", "shape"},
    {WIRE_TENSOR_BODY, T("\"base64\": \"AAAA\", \"dtype\": \"int8\", \"shape\": [4]"), ERR_SIZE,
     "/base64", "3 bytes"},
    {WIRE_TENSOR_BODY, T("\"base64\": \"AAA\""), ERR_JSON, "/base64", "group"},
    {WIRE_TENSOR_BODY, T("\"base64\": \"AAAAA===\""), ERR_JSON, "/base64", "="},
    {WIRE_TENSOR_BODY, T("\"base64\": \"AA==A\""), ERR_JSON, "/base64", "behind"},
    {WIRE_TENSOR_BODY, T("\"base64\": \"AB==\""), ERR_JSON, "/base64", "bits"},
    {WIRE_TENSOR_BODY, T("\"base64\": \"A A=\""), ERR_JSON, "/base64", "alphabet"},
    {WIRE_TENSOR_BODY, T("\"base64\": \"AA\\n==\""), ERR_JSON, "/base64", "escape"},
    {WIRE_TENSOR_BODY, T("\"base64\": \"AA\""), ERR_JSON, "/base64", "group"},
    {WIRE_TENSOR_BODY, T("\"data\": [1], \"base64\": \"AA==\""), ERR_REQUEST, "", "not both"},
    {WIRE_TENSOR_BODY, T("\"value\": 1"), ERR_REQUEST, "", "weak"},
    {WIRE_TENSOR_BODY, T("\"value\": 1, \"weak\": \"double\""), ERR_VALUE, "/weak", "double"},
    {WIRE_TENSOR_BODY, T("\"value\": 1.5, \"weak\": \"int\""), ERR_VALUE, "/value", "whole"},
    {WIRE_TENSOR_BODY, T("\"value\": [1], \"weak\": \"int\""), ERR_SHAPE, "/value", "list"},
    /* in requests */
    {WIRE_EVAL_BODY, T("\"inputs\": {\"a/b~\": [[1], [2, 3]]}"), ERR_SHAPE, "/inputs/a~1b~0/1",
     "[1]"},
    {WIRE_EVAL_BODY, T("\"graph\": {\"nodes\": {\"h\": {\"args\": [\"x\", [1, null]]}}}"),
     ERR_VALUE, "/graph/nodes/h/args/1/1", "null"},
    {WIRE_TENSORS_BODY, T("\"a\": [1], \"b\": null"), ERR_REQUEST, "/b", "a tensor"},
    {WIRE_TENSORS_BODY, "[1]", ERR_REQUEST, "", "an object"},
};

static void check_bad(size_t i, int how)
{
    const wire_reader_options o = {.document = bad[i].document, .length = -1};
    error err = {0};
    text out;

    text_init(&out);
    if (read_body(&o, bad[i].body, strlen(bad[i].body), how, 0, &out, &err))
        fail_msg("%s\nfed %d: read %s", bad[i].body, how, out.bytes);
    text_clear(&out);
    if (err.kind != bad[i].kind || strstr(err.detail, bad[i].says) == NULL ||
        (bad[i].pointer[0] != '\0' && strcmp(err.pointer, bad[i].pointer) != 0))
        fail_msg("%s\nfed %d: %s at '%s': %s", bad[i].body, how, error_info_of(err.kind)->code,
                 err.pointer, err.detail);
}

static void bad_bodies_are_refused_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_bad(i, WHOLE);
        check_bad(i, BYTES);
        for (int k = 0; k < 10; k++)
            check_bad(i, PIECES);
    }
}

/* ---- Limits -------------------------------------------------------------------------- */

/* What a body of n times piece between head and tail is refused with. */
static error_kind kind_of(wire_document document, const char *head, const char *piece, size_t n,
                          const char *tail)
{
    const wire_reader_options o = {.document = document, .length = -1};
    error err = {0};
    text body, out;

    text_init(&body);
    text_init(&out);
    text_add(&body, head);
    for (size_t i = 0; i < n; i++)
        text_add(&body, piece);
    text_add(&body, tail);
    read_body(&o, body.bytes, body.length, WHOLE, 0, &out, &err);
    text_clear(&body);
    text_clear(&out);
    return err.kind;
}

static void limits_are_kept(void **state)
{
    (void)state;
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "", "[", 64, ""), ERR_JSON);
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "", "[", 65, ""), ERR_JSON_DEPTH);
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "", "[", 1000000, ""), ERR_JSON_DEPTH);
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "", "{\"a\":", 1000000, ""), ERR_JSON_DEPTH);
    assert_int_equal(kind_of(WIRE_TENSOR_BODY, "", "[", 64, ""), ERR_JSON);
    assert_int_equal(kind_of(WIRE_TENSOR_BODY, "", "[", 65, ""), ERR_JSON_DEPTH);
    assert_int_equal(kind_of(WIRE_TENSOR_BODY, "{\"data\":", "[", 64, ""), ERR_JSON_DEPTH);
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "{\"", "k", 256, "\":1}"), ERR_NONE);
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "{\"", "k", 257, "\":1}"), ERR_JSON_LIMIT);
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "\"", "s", 8000000, "\""), ERR_NONE);
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "\"", "s", 9000000, "\""), ERR_BODY_SIZE);
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "[0", ",0", 999997, "]"), ERR_NONE);
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "[0", ",0", 1000000, "]"), ERR_JSON_LIMIT);
    assert_int_equal(kind_of(WIRE_EVAL_BODY, "{\"args\":[0", ",0", 300000, "]}"), ERR_JSON_COMPLEX);
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "", "1", 1024, ""), ERR_JSON);
    assert_int_equal(kind_of(WIRE_PLAIN_BODY, "", "1", 1025, ""), ERR_JSON_LIMIT);
    assert_int_equal(kind_of(WIRE_TENSOR_BODY, "[0.", "1", 1022, "]"), ERR_NONE);
    assert_int_equal(kind_of(WIRE_TENSOR_BODY, "[0.", "1", 1023, "]"), ERR_JSON_LIMIT);
    assert_int_equal(kind_of(WIRE_TENSOR_BODY, "[0.5,0.", "1", 1023, ",2]"), ERR_JSON_LIMIT);
}

static void colliding_and_many_members_take_no_time(void **state)
{
    const wire_reader_options o = {.length = -1};
    error err = {0};
    text body, out;

    (void)state;
    text_init(&body);
    text_init(&out);
    text_add(&body, "{\"k\":0");
    for (int i = 0; i < 200000; i++)
        text_addf(&body, ",\"k%d\":0", i);
    text_add(&body, "}");
    assert_true(read_body(&o, body.bytes, body.length, WHOLE, 0, &out, &err));
    text_clear(&body);
    text_clear(&out);
}

/* ---- The fast way and the slow ------------------------------------------------------- */

/* Adds a number of some kind, right or slightly wrong. */
static void add_random_number(text *out)
{
    static const char *const odd[] = {"-0",
                                      "0.0",
                                      "-0.0",
                                      "1e5",
                                      "1E-300",
                                      "00.5",
                                      "1.",
                                      "-",
                                      "1e",
                                      "NaN",
                                      "true",
                                      "1e400",
                                      "5e-324",
                                      "1.00000005960464477539062501",
                                      "9007199254740993",
                                      "18446744073709551615",
                                      "-9223372036854775808",
                                      "999999999999999999",
                                      "0.000000000000001",
                                      "1e-46",
                                      "3.5e38"};
    const double x = (rand() - 1073741824) / (double)(1 + rand());

    switch (rand() % 8) {
    case 0:
        text_add(out, odd[(size_t)rand() % (rand() % 4 ? 5 : sizeof odd / sizeof *odd)]);
        break;
    case 1:
        text_addf(out, "%.17g", x);
        break;
    case 2:
        text_addf(out, "%.*f", rand() % 22, x);
        break;
    case 3:
        text_addf(out, "%d%d", rand(), rand());
        break;
    default:
        text_addf(out, "%d", rand() % 300 - 100);
    }
}

/* Adds a list of lists of numbers, ragged now and then. */
static void add_random_list(text *out)
{
    const int rows = 1 + rand() % 3, columns = 1 + rand() % 12;

    text_add_char(out, '[');
    for (int i = 0; i < rows; i++) {
        text_add(out, i > 0 ? ", [" : "[");
        for (int k = 0; k < columns - (rand() % 40 == 0); k++) {
            text_add(out, k == 0 ? "" : rand() % 3 ? "," : rand() % 2 ? ", " : " ,\n");
            add_random_number(out);
        }
        text_add_char(out, ']');
    }
    text_add_char(out, ']');
}

static const char *random_type(void)
{
    static const char *const types[] = {"float64", "float32", "int64",     "uint8",
                                        "float16", "bool",    "complex64", "bfloat16"};

    return types[(size_t)rand() % 8];
}

/* A tensor object with the list, its type before it, after it or not at all. */
static void make_body(text *out, const char *list, const char *type, int order)
{
    out->length = 0;
    if (order == 0)
        text_addf(out, "{\"dtype\": \"%s\", \"data\": %s}", type, list);
    else if (order == 1)
        text_addf(out, "{\"data\": %s, \"dtype\": \"%s\"}", list, type);
    else
        text_addf(out, "{\"data\": %s}", list);
}

static void the_order_of_members_changes_nothing(void **state)
{
    const wire_reader_options o = {.document = WIRE_TENSOR_BODY, .length = -1};
    text list, body, before, after;

    (void)state;
    text_init(&list);
    text_init(&body);
    text_init(&before);
    text_init(&after);
    for (int round = 0; round < 20000; round++) {
        const char *type = random_type();
        error first = {0}, second = {0};
        bool one, two;

        list.length = before.length = after.length = 0;
        add_random_list(&list);
        make_body(&body, list.bytes, type, 0);
        one = read_body(&o, body.bytes, body.length, WHOLE, 0, &before, &first);
        make_body(&body, list.bytes, type, 1);
        two = read_body(&o, body.bytes, body.length, WHOLE, 0, &after, &second);
        if (strstr(second.detail, "may be rounded") != NULL)
            continue; /* the one thing that the type must stand before the data for */
        if (one != two || (one && strcmp(before.bytes, after.bytes) != 0))
            fail_msg("%s\n%s\n%s", body.bytes, one ? before.bytes : first.detail,
                     two ? after.bytes : second.detail);
    }
    text_clear(&list);
    text_clear(&body);
    text_clear(&before);
    text_clear(&after);
}

static void numbers_mean_the_same_in_any_pieces(void **state)
{
    const wire_reader_options o = {.document = WIRE_TENSOR_BODY, .length = -1};
    text list, body, whole, pieces;

    (void)state;
    text_init(&list);
    text_init(&body);
    text_init(&whole);
    text_init(&pieces);
    for (int round = 0; round < 20000; round++) {
        error first = {0}, second = {0};

        list.length = 0;
        add_random_list(&list);
        make_body(&body, list.bytes, random_type(), rand() % 3);
        whole.length = pieces.length = 0;
        const bool ok = read_body(&o, body.bytes, body.length, WHOLE, 0, &whole, &first);

        if (ok != read_body(&o, body.bytes, body.length, round % 2 ? BYTES : PIECES, 0, &pieces,
                            &second) ||
            first.kind != second.kind || strcmp(first.pointer, second.pointer) != 0 ||
            (ok && strcmp(whole.bytes, pieces.bytes) != 0))
            fail_msg("%s\n%s %s\n%s %s", body.bytes, ok ? whole.bytes : first.detail, first.pointer,
                     ok ? pieces.bytes : second.detail, second.pointer);
    }
    text_clear(&list);
    text_clear(&body);
    text_clear(&whole);
    text_clear(&pieces);
}

/* ---- Against jansson --------------------------------------------------------------------- */

/* Plain bodies made by damaging good ones are valid for us and for jansson alike. */
static void verdicts_agree_with_jansson(void **state)
{
    static const char *const seeds[] = {
        "{\"a\":[1,2.5e-3,{\"b\":null}],\"c\":\"x\\u00e9\\\\\\n\",\"d\":true}",
        "[[],{},\"\",0,-1,10.25E+2,[false,{\"k\":{\"k\":[1]}}]]",
        "  {\"\\ud83d\\ude00\":\"\xc3\xa9\xe2\x82\xac\"}\n",
    };
    static const char alphabet[] = "{}[]\",:0123456789.-+eE \n\\utrfalsn\xc3\x80\xed\x01";

    (void)state;
    for (int round = 0; round < 60000; round++) {
        const wire_reader_options o = {.length = -1};
        const char *seed = seeds[round % 3];
        size_t n = strlen(seed);
        char body[128];
        error err = {0};
        json_error_t theirs;
        json_t *json;
        text out;
        bool ok;

        memcpy(body, seed, n);
        for (int k = rand() % 3; k >= 0; k--)
            body[(size_t)rand() % n] = alphabet[(size_t)rand() % (sizeof alphabet - 1)];
        text_init(&out);
        ok = read_body(&o, body, n, rand() % 3, 0, &out, &err);
        json = json_loadb(body, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &theirs);
        if (ok != (json != NULL) && json_error_code(&theirs) != json_error_numeric_overflow)
            fail_msg("%.*s\nwe: %s; jansson: %s", (int)n, body, ok ? out.bytes : err.detail,
                     json ? "valid" : theirs.text);
        text_clear(&out);
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_mean_the_same_in_any_pieces),
        cmocka_unit_test(bad_bodies_are_refused_with_their_place),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(colliding_and_many_members_take_no_time),
        cmocka_unit_test(the_order_of_members_changes_nothing),
        cmocka_unit_test(numbers_mean_the_same_in_any_pieces),
        cmocka_unit_test(verdicts_agree_with_jansson),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
