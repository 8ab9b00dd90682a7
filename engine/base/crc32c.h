/* crc32c -- the checksum of stored bytes.
 *
 * Castagnoli's polynomial, as in iSCSI and ext4, reflected, starting from and
 * ending with all ones: crc32c(0, "123456789", 9) is 0xe3069283. It finds every
 * burst of up to 32 bits; it is no defence against somebody who wants to cheat. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The checksum of the bytes whose checksum is crc followed by n more; crc is 0
 * for none. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

/* The same without the processor's own instruction, where it has none. */
uint32_t crc32c_by_tables(uint32_t crc, const void *bytes, size_t n);
