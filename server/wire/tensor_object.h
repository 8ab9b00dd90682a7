/* tensor_object -- {"dtype": .., "shape": .., "data": ..} when it is complete.
 *
 * The reader hands over the object, whose data it has collected on the side, with
 * a null member in the data's place. */
#pragma once

#include "server/wire/data.h"
#include "server/wire/value.h"

/* The element type that the object's members read so far ask for, if they do
 * (*is_known): "dtype", or "weak". False and ERR_DTYPE_NAME, ERR_REQUEST, with a
 * pointer, if what they say is no type. */
bool tensor_object_dtype(const wire_value *object, dtype *result, bool *is_known, error *err);

/* Makes the tensor of the object and the data in d. False and ERR_MEMBER,
 * ERR_REQUEST, ERR_SHAPE_INVALID, or an error of data_finish. */
bool tensor_object_finish(const wire_value *object, data *d, tensor *result, error *err);
