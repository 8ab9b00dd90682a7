/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/schema.h"

#define TEXT(n)                                                                                    \
    __asm__(".pushsection .rodata\n"                                                               \
            "schema_" #n ":\n"                                                                     \
            ".incbin \"storage/schema/" #n ".sql\"\n"                                              \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char schema_##n[] __attribute__((visibility("hidden")));

TEXT(1)
TEXT(2)
TEXT(3)
TEXT(4)

const char *schema_text(int format)
{
    const char *const texts[SCHEMA_FORMAT] = {schema_1, schema_2, schema_3, schema_4};

    return texts[format - 1];
}
