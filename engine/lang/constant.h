/* constant -- numbers known while the graph is built as constants of the graph,
 * and constants back as numbers. */
#pragma once

#include "engine/lang/tracer.h"

/* A scalar: weak as a literal is, or of its default type. */
value constant_scalar(tracer *tr, const lang_value *number, bool weak, error *err);

/* The element type that an array of numbers has which are all of the classes in
 * the set of flags 1 << lang_number_class; NumPy's choice. */
dtype constant_dtype(unsigned classes);

/* n numbers of a shape as an array of a type. ERR_OVERFLOW for an integer that
 * the type does not hold. */
bool constant_array(tracer *tr, const lang_value *const *numbers, const shape *s, dtype type,
                    value *result, error *err);

/* An array without elements, of a shape with a length of 0; x must be an empty
 * list. */
bool constant_empty(tracer *tr, dtype type, const attr *lengths, const lang_value *x, value *result,
                    error *err);

/* The elements of a dense tensor cast to the widest type of their class (bool,
 * int64, uint64, float64, complex128), in a. */
const void *constant_elements(const tensor *t, arena *a);

/* The same for n elements that lie in room made by constant_room. */
void *constant_room(dtype type, int64_t n, arena *a);
const void *constant_widen(const void *dense, dtype type, int64_t n, arena *a);

/* Element i of such elements of type. */
lang_value constant_element(const void *elements, dtype type, int64_t i);
