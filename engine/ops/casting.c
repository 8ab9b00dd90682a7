/* SPDX-License-Identifier: Apache-2.0 */
/* Casts: elementwise operations whose result's type is asked for. The plan turns
 * them into the cast from the input's type, so they have no kernels of their own. */
#include "engine/ops/families.h"

static bool infer_astype(const op_call *call, type *output, error *err)
{
    (void)err;
    *output = call->inputs[0];
    output->weak = false;
    if (call->attrs[0].kind == ATTR_DTYPE)
        output->dtype = call->attrs[0].dtype;
    return true;
}

static op_def rows[] = {
    {
        .name = "astype",
        .aliases = "cast asarray array",
        .family = "Casting",
        .signature = "x, dtype: dtype = None",
        .infer = infer_astype,
        .pattern = "cast",
        .grad = {"g"},
        .doc = "Elements converted to another type, as NumPy's astype does.",
        .example = "astype([1.7, -1.7], int32)",
        .gives = "int32([1, -1])",
    },
};

const op_family casting_family = {rows, sizeof rows / sizeof *rows};
