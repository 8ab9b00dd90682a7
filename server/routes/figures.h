/* figures -- what the server counts of itself (private to routes).
 *
 * The rows of figures.def are told by /v1/info and by /metrics. Besides, answers are counted
 * by route and status, and their times in a histogram of each route. */
#pragma once

#include "engine/base/json.h"
#include "server/routes/routes.h"

/* Adds the figures of a group as members of the object that is open. */
void figures_add_group(const services *s, const char *group, json_writer *w);

/* Counts an answer of the row, which took so long. Any thread. */
void figures_count(const route *row, int status, int64_t us);

/* Adds all figures in the text format of Prometheus. */
void figures_add_metrics(const services *s, text *to);
