/* outcome -- what an evaluation gives, apart from the form in which it is answered (private
 * to routes).
 *
 * It is answered in the form that is asked for: at once, or, kept with a job, later. Then it
 * is a text and tensors that are kept beside it, in their order here. */
#pragma once

#include "server/routes/answer.h"

/* A value wanted under a name. */
typedef struct wanted {
    const char *name;
    int output; /* its tensor */
} wanted;

typedef struct outcome {
    int result_count; /* 0 and no list: there is no result */
    bool result_is_list;
    int *results; /* their tensors */
    int named_count;
    wanted *named;    /* the request's outputs */
    bool named_alone; /* the results are among them: a file of several tensors has each once */
    bool dry_run;     /* nothing ran: rest is the whole of the JSON */
    int tensor_count;
    tensor *tensors; /* borrowed; before the evaluation types only */
    text rest;       /* of the JSON: what stands behind the tensors */
    int64_t commit;  /* 0: nothing was committed */
    int64_t snapshot;
} outcome;

/* Whether a format can say it; ERR_ACCEPT otherwise, ERR_REQUEST for names that are asked for
 * twice. Looks at types alone. */
bool outcome_check(const outcome *o, wire_format format, error *err);

/* Answers with it. Errors of outcome_check. */
bool outcome_answer(const outcome *o, http_request *r, wire_format format, error *err);

/* Adds all but the tensors as text, and reads that, in an arena; the tensors are still to be
 * found. ERR_INTEGRITY if the text is none. */
void outcome_add(const outcome *o, text *to);
bool outcome_read(const char *said, arena *a, outcome *o, error *err);
