/* secret -- bytes nobody can guess, and comparing them without telling.
 *
 * SHA-256 as in FIPS 180-4; randomness from the system. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

/* The SHA-256 of bytes that come in pieces: start, add any number of times, end. */
typedef struct sha256_run {
    uint32_t state[8];
    uint8_t rest[64]; /* what is no whole block yet */
    uint64_t total;
} sha256_run;

void sha256_start(sha256_run *run);
void sha256_add(sha256_run *run, const void *bytes, size_t n);
void sha256_end(sha256_run *run, uint8_t digest[SHA256_BYTES]);

/* Writes a digest as 64 lower-case hexadecimal digits and a NUL. */
enum { SHA256_DIGITS = 2 * SHA256_BYTES };
void sha256_hex(const uint8_t digest[SHA256_BYTES], char to[SHA256_DIGITS + 1]);

/* Reads what that wrote. False if hex is not 64 such digits. */
bool sha256_read(const char *hex, uint8_t digest[SHA256_BYTES]);

/* The SHA-256 of n bytes. */
void sha256(const void *bytes, size_t n, uint8_t digest[SHA256_BYTES]);

/* Fills to with n random bytes; ends the process if the system has none. */
void random_bytes(void *to, size_t n);

/* Writes 2 n random lower-case hexadecimal digits and a NUL. n is at most 64. */
void random_hex(char *to, size_t n);

/* Writes 24 such digits and a NUL: a name that no other has, but no secret. The system is asked
 * once for many. */
enum { RANDOM_NAME_DIGITS = 24 };
void random_name(char *to);

/* Whether two digests are equal, in a time that does not depend on them. */
bool digest_equal(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES]);
