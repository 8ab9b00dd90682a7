/* incoming -- what the rest of storage needs of arrays that arrive in pieces. */
#pragma once

#include "storage/private.h"

/* The content of a finished array, which is gone, even if this fails. */
content *incoming_content_take(incoming *in, error *err);

/* Writes all elements of a tensor of the array's type and shape. */
bool incoming_write_tensor(incoming *in, const tensor *t, error *err);
