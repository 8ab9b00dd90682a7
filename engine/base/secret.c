/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { BLOCK = 64, ROUNDS = 64 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* The 16 words of the block, extended to one a round. */
static void schedule(const uint8_t *block, uint32_t w[ROUNDS])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | (uint32_t)block[4 * i + 3];
    for (int i = 16; i < ROUNDS; i++) {
        uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;

        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
}

static void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[ROUNDS], s[8];

    schedule(block, w);
    memcpy(s, state, sizeof s);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t e = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t t = s[7] + e + choice + constants[i] + w[i];
        uint32_t a = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);

        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t;
        s[0] = t + a + majority;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

/* Compresses what is left after the whole blocks, padded and with the length. */
static void finish(uint32_t state[8], const uint8_t *rest, size_t left, uint64_t total)
{
    uint8_t last[2 * BLOCK] = {0};
    size_t size = left + 9 <= BLOCK ? BLOCK : 2 * BLOCK;

    if (left > 0)
        memcpy(last, rest, left);
    last[left] = 0x80;
    for (int i = 0; i < 8; i++)
        last[size - 1 - (size_t)i] = (uint8_t)(total * 8 >> 8 * i);
    for (size_t at = 0; at < size; at += BLOCK)
        compress(state, last + at);
}

void sha256_start(sha256_run *run)
{
    *run = (sha256_run){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                  0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(sha256_run *run, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    const size_t held = (size_t)(run->total % BLOCK);
    size_t more = held == 0 ? 0 : BLOCK - held;

    if (more > n)
        more = n;
    run->total += n;
    if (more > 0) {
        memcpy(run->rest + held, at, more);
        if (held + more == BLOCK)
            compress(run->state, run->rest);
    }
    for (at += more, n -= more; n >= BLOCK; at += BLOCK, n -= BLOCK)
        compress(run->state, at);
    if (n > 0)
        memcpy(run->rest, at, n);
}

void sha256_end(sha256_run *run, uint8_t digest[SHA256_BYTES])
{
    finish(run->state, run->rest, (size_t)(run->total % BLOCK), run->total);
    for (int i = 0; i < SHA256_BYTES; i++)
        digest[i] = (uint8_t)(run->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256(const void *bytes, size_t n, uint8_t digest[SHA256_BYTES])
{
    sha256_run run;

    sha256_start(&run);
    sha256_add(&run, bytes, n);
    sha256_end(&run, digest);
}

static const char digits[] = "0123456789abcdef";

void sha256_hex(const uint8_t digest[SHA256_BYTES], char to[SHA256_DIGITS + 1])
{
    for (int i = 0; i < SHA256_BYTES; i++) {
        to[2 * i] = digits[digest[i] >> 4];
        to[2 * i + 1] = digits[digest[i] & 15];
    }
    to[SHA256_DIGITS] = '\0';
}

bool sha256_read(const char *hex, uint8_t digest[SHA256_BYTES])
{
    if (strspn(hex, digits) != SHA256_DIGITS || hex[SHA256_DIGITS] != '\0')
        return false;
    for (int i = 0; i < SHA256_BYTES; i++)
        digest[i] = (uint8_t)((strchr(digits, hex[2 * i]) - digits) << 4 |
                              (strchr(digits, hex[2 * i + 1]) - digits));
    return true;
}

void random_bytes(void *to, size_t n)
{
    uint8_t *at = to;

    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);

        if (got < 0 && errno != EINTR)
            abort();
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
}

/* Writes n bytes as digits. */
static void write_hex(const uint8_t *bytes, size_t n, char *to)
{
    for (size_t i = 0; i < n; i++) {
        to[2 * i] = digits[bytes[i] >> 4];
        to[2 * i + 1] = digits[bytes[i] & 15];
    }
    to[2 * n] = '\0';
}

void random_hex(char *to, size_t n)
{
    uint8_t bytes[64];

    if (n > sizeof bytes)
        n = sizeof bytes;
    random_bytes(bytes, n);
    write_hex(bytes, n, to);
}

void random_name(char *to)
{
    enum { AHEAD = 64 }; /* names */
    static _Thread_local uint8_t bytes[AHEAD][RANDOM_NAME_DIGITS / 2];
    static _Thread_local int left;

    if (left == 0) {
        random_bytes(bytes, sizeof bytes);
        left = AHEAD;
    }
    write_hex(bytes[--left], sizeof bytes[0], to);
}

bool digest_equal(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
    unsigned differ = 0;

    for (int i = 0; i < SHA256_BYTES; i++)
        differ |= (unsigned)(a[i] ^ b[i]);
    return differ == 0;
}
