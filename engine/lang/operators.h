/* operators -- the instructions that compute: operators, comparisons, truth. */
#pragma once

#include "engine/lang/tracer.h"

/* Runs one instruction; *next is the one to run after it, which jumps change. */
typedef bool instruction_fn(tracer *tr, const instruction *i, size_t *next, error *err);

instruction_fn run_binary, run_unary, run_compare, run_is, run_not;
/* After the first operand of and, or: skips the second if the first decides. */
instruction_fn run_logical_test, run_logical;

/* Whether the value's truth is known now. */
bool known_truth(const lang_value *v, bool *truth);

/* The value as a scalar tensor, for and, or, not and conditions; who is named in
 * errors. */
bool scalar_tensor(tracer *tr, const lang_value *v, const char *who, value *result, error *err);
