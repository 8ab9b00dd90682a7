/* SPDX-License-Identifier: Apache-2.0 */
/* One target for libFuzzer: the one that the macro TARGET_FUNCTION names. */
#include "tests/fuzz/targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    TARGET_FUNCTION(bytes, n);
    return 0;
}
