/* vecmath -- type-generic elementary functions that vectorise.
 *
 * In a kernel body exp(x) is expf for a float and exp for a double; where the
 * loop around it is vectorised, GCC calls the vector function of the same name
 * from SLEEF's GNU interface (link with -lsleefgnuabi). Worst error 1 ULP.
 * Compilers without the attribute get the scalar C library.
 *
 * Reading: the names are declared again on purpose, to say that they vectorise. */
#pragma once

#include <complex.h>
#include <math.h>

#if defined(__x86_64__) && defined(__has_attribute)
#if __has_attribute(simd)
#define VECTORISES __attribute__((simd("notinbranch"), const, nothrow, leaf))
#endif
#endif
#ifndef VECTORISES
#define VECTORISES
#endif

#define OF_ONE(name)                                                                               \
    VECTORISES float name##f(float);                                                               \
    VECTORISES double name(double);
#define OF_TWO(name)                                                                               \
    VECTORISES float name##f(float, float);                                                        \
    VECTORISES double name(double, double);
OF_ONE(exp)
OF_ONE(expm1)
OF_ONE(log)
OF_ONE(log1p)
OF_ONE(log2)
OF_ONE(log10)
OF_ONE(sin)
OF_ONE(cos)
OF_ONE(tan)
OF_ONE(tanh)
OF_TWO(pow)
OF_TWO(atan2)
OF_TWO(hypot)
#undef OF_ONE
#undef OF_TWO

#undef I
#include <tgmath.h>
#undef I
