/* target -- compiling a kernel once for each level of CPU.
 *
 * The loader picks the best level that the machine has. Levels are named, not
 * features, because features alone leave some conversions narrow. ONE_CPU_LEVEL
 * switches the choice off, for sanitizers that cannot start with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__) && !defined(ONE_CPU_LEVEL)
#define CPU_LEVELS __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define CPU_LEVELS
#endif

/* Names of a template's instance: OF(add) is add_f64 where SUFFIX is f64, and
 * KERNEL_OF(add) is kernel_add_f64. */
#define JOIN_NAMES(name, suffix) name##_##suffix
#define JOIN(name, suffix)       JOIN_NAMES(name, suffix)
#define OF(name)                 JOIN(name, SUFFIX)
#define KERNEL_OF(name)          JOIN(kernel_##name, SUFFIX)

/* The type as loops read and write it: truths as bytes, since GCC makes no vector code of loops
 * over bool. */
#define IN_LOOP(type) __typeof__(_Generic((type)0, bool : (uint8_t)0, default : (type)0))
