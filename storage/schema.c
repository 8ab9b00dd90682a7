/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/schema.h"

__asm__(".pushsection .rodata\n"
        ".global schema_1\n"
        "schema_1:\n"
        ".incbin \"storage/schema/1.sql\"\n"
        ".byte 0\n"
        ".popsection\n");
