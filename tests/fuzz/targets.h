/* targets -- what takes bytes from outside, as functions of bytes alone.
 *
 * make fuzz gives them bytes that libFuzzer makes up; test_replay gives them, with the usual
 * compiler, everything that was ever worth keeping. A target aborts if what it calls breaks a
 * promise; errors are no faults. It leaves nothing behind but what is set up once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

#define TARGET(name, doc) void target_##name(const uint8_t *bytes, size_t n);
#include "tests/fuzz/targets.def"
#undef TARGET

/* Ends the program, saying what does not hold. */
void target_check(int holds, const char *what);

/* The bytes of an input, taken one by one; zeros when there are no more. */
typedef struct supply {
    const uint8_t *at, *end;
} supply;

static inline unsigned supply_byte(supply *s)
{
    return s->at < s->end ? *s->at++ : 0;
}

/* A number below n, which is at most 256. */
static inline unsigned supply_below(supply *s, unsigned n)
{
    return supply_byte(s) % n;
}

static inline int supply_ended(const supply *s)
{
    return s->at >= s->end;
}
