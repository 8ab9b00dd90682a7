/* wire -- what travels: bodies in, answers out, in JSON, npy, npz, raw and csv.
 *
 * In: reader.h turns the bytes of a body, as they arrive, into a document
 * (value.h), whatever the format; tensors are in buffers by then. request.h reads
 * eval, run and grad requests from a document into plain C. Out: writer.h sends
 * text and tensors in any format. format.h settles which format, slice.h reads
 * ?slice=.
 *
 * Inside: json_reader.c (structure), json_string.c, data.c and data_finish.c (the
 * numbers of a tensor), base64.c, tensor_object.c, grow.c (bytes of unknown
 * number); array_reader.c (npy, raw), npz_reader.c; numbers.c (numbers as text),
 * cursor.c (strided elements), npz_writer.c; element.c, one number. */
#pragma once

#include "server/wire/format.h"
#include "server/wire/reader.h"
#include "server/wire/request.h"
#include "server/wire/slice.h"
#include "server/wire/value.h"
#include "server/wire/writer.h"
