/* answer -- answers that carry tensors (private to routes). */
#pragma once

#include "server/routes/routes.h"
#include "server/wire/wire.h"

/* The format that was negotiated for the answer. */
wire_format answer_format(const http_request *r);

/* Answers with what w says, in its format, and takes it over. bytes is the size of the
 * tensors in it: a short answer is made now, a long one while it is sent. */
void answer_written_take(http_request *r, int status, wire_format format, wire_writer *w,
                         int64_t bytes);

/* Answers with one tensor in any format (of npz it is the member of this name), with
 * the headers Tensor-Dtype and Tensor-Shape. False and ERR_ACCEPT if the format cannot
 * say it. */
bool answer_tensor(http_request *r, wire_format format, const char *name, const tensor *t,
                   error *err);
