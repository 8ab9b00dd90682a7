/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a hash of the results' bits of programs large enough to be cut into tasks. Run
 * with several numbers of threads (TENSORD_THREADS) by test_digest.py. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/plan/tile.h"
#include "tests/lib/evaluate.h"

static const char *const programs[] = {
    "a.sum(), a.sum(axis=0), a.sum(axis=1), a.sum(axis=(0, 2))",
    "a.mean(), var(a, axis=1), std(a, axis=0), a.prod(axis=2)",
    "a.max(axis=0), a.min(axis=2), a.max()",
    "softmax(a), softmax(a, axis=0)",
    "b = a.reshape(1000, -1)\n(b - b.mean(axis=1, keepdims=True)) / "
    "sqrt(var(b, axis=1, keepdims=True) + 1e-5), softmax(float32(b))",
    "2*a + 3*sin(a) - exp(-a)",
    "b = a * 2\na + b, b, b.sum(), a.mean(), a.max(), (a - b).prod()",
    "b = a.reshape(1000, -1) + 1\nb, b * 2, (b * b).sum(axis=1), b.max(axis=1), "
    "abs(b).mean(axis=1)",
    "b = a.reshape(1000, -1) + 1\nb, b * 2, (b * b).sum(axis=0), b.max(axis=0), "
    "abs(b).mean(axis=0)",
    "(a + a[:1]).sum(), (a.T * 2).sum(axis=0)",
    "b = a.reshape(-1, 20)\nb.sum(axis=0), b.sum(axis=1), b[:, ::3].sum()",
    "b = a.reshape(1000, -1)\nb @ b.T",
    "tensordot(a, a, ([0, 2], [0, 2]))",
    "float32(a).sum(), float16(a).sum(axis=1), astype(a, complex64).sum(axis=0)",
    "cumsum(a, axis=0), argmax(a, axis=1), int64(a * 1000).sum(axis=2)",
};

static uint64_t digest(const tensor *t)
{
    const size_t n = (size_t)tensor_nbytes(t);
    unsigned char *bytes = malloc(n + 1);
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    tensor_copy_dense(t, bytes);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    free(bytes);
    return hash;
}

int main(int argc, char **argv)
{
    const shape s = {.rank = 3, .length = {100, 30, 160}};
    evaluation_input input = {.name = "a"};
    const evaluation_options options = {.input_count = 1, .inputs = &input};
    error err = {0};

    if (argc > 1)
        tile_set_bytes(atoi(argv[1]));
    if (!tensor_new(&input.value, NULL, DT_F64, &s, &err))
        return 1;
    for (int64_t i = 0; i < shape_size(&s); i++)
        ((double *)tensor_bytes(&input.value))[i] = (double)(i * 7919 % 10007) / 5003 - 1;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        evaluated e;

        evaluate(&e, programs[i], &options);
        if (error_is_set(&e.err))
            return fprintf(stderr, "%s: %s\n", programs[i], e.err.detail), 1;
        for (int k = 0; k < e.count; k++)
            printf("%016" PRIx64 " %s [%d]\n", digest(&e.results[k]), programs[i], k);
        evaluated_clear(&e);
    }
    tensor_unref(&input.value);
    return 0;
}
