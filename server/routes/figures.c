/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/figures.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/engine.h"
#include "engine/tensor/buffer.h"
#include "server/jobs/jobs.h"
#include "server/version.h"

/* ---- Rows ---------------------------------------------------------------------------------- */

/* The figures of one moment. */
typedef struct figures {
    const config *config;
    http_counters http;
    storage_figures storage;
    engine_cache_figures plans;
    jobs_figures jobs;
} figures;

typedef enum figure_kind { COUNTER, GAUGE, FLAG } figure_kind;

typedef struct figure {
    const char *group, *key, *help;
    figure_kind kind;
    int64_t (*value)(const figures *now);
} figure;

#define FIGURE(group, key, kind, expression, help)                                                 \
    static int64_t group##_##key(const figures *now)                                               \
    {                                                                                              \
        (void)now;                                                                                 \
        return (int64_t)(expression);                                                              \
    }
#include "server/routes/figures.def"
#undef FIGURE

static const figure rows[] = {
#define FIGURE(group, key, kind, expression, help) {#group, #key, help, kind, group##_##key},
#include "server/routes/figures.def"
#undef FIGURE
};

static figures gather(const services *s)
{
    figures now = {.config = s->config,
                   .http = http_count(s->http),
                   .plans = engine_cache_count(),
                   .jobs = jobs_count(s->jobs)};

    storage_figures_get(s->storage, &now.storage);
    return now;
}

void figures_add_group(const services *s, const char *group, json_writer *w)
{
    const figures now = gather(s);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const figure *f = &rows[i];

        if (strcmp(group, f->group) != 0)
            continue;
        if (f->kind == FLAG)
            json_bool(w, f->key, f->value(&now) != 0);
        else
            json_int(w, f->key, f->value(&now));
    }
}

/* ---- Answers -------------------------------------------------------------------------------- */

enum { ROUTES_MAX = 128, STATUSES = 6 };

/* Upper ends of the histogram's classes, in microseconds; one more has the rest. */
static const int64_t bounds_us[] = {250,     1000,    2500,    5000,     10000,
                                    25000,   50000,   100000,  250000,   500000,
                                    1000000, 2500000, 5000000, 10000000, 30000000};
enum { BOUNDS = sizeof bounds_us / sizeof *bounds_us };

static struct {
    _Atomic int64_t answers[STATUSES]; /* by the first digit of the status */
    _Atomic int64_t in_class[BOUNDS + 1];
    _Atomic int64_t us;
} counts[ROUTES_MAX];

void figures_count(const route *row, int status, int64_t us)
{
    size_t n, class = 0;
    const size_t i = (size_t)(row - routes_table(&n));

    if (i >= ROUTES_MAX || status < 100 || status >= 100 * STATUSES)
        return;
    while (class < BOUNDS && us > bounds_us[class])
        class ++;
    counts[i].answers[status / 100]++;
    counts[i].in_class[class]++;
    counts[i].us += us;
}

static void add_answers(text *to)
{
    size_t n;
    const route *table_rows = routes_table(&n);

    text_add(to, "# HELP tensord_answers_total Answers by route and class of status.\n"
                 "# TYPE tensord_answers_total counter\n");
    for (size_t i = 0; i < n && i < ROUTES_MAX; i++)
        for (int status = 1; status < STATUSES; status++)
            if (counts[i].answers[status] > 0)
                text_addf(
                    to,
                    "tensord_answers_total{method=\"%s\",route=\"%s\",status=\"%dxx\"} %" PRId64
                    "\n",
                    table_rows[i].method, table_rows[i].pattern, status,
                    (int64_t)counts[i].answers[status]);
}

static void add_histogram(text *to, const route *row, size_t i)
{
    int64_t sum = 0;

    for (size_t class = 0; class <= BOUNDS; class ++) {
        sum += counts[i].in_class[class];
        text_addf(to, "tensord_answer_seconds_bucket{method=\"%s\",route=\"%s\",le=\"", row->method,
                  row->pattern);
        if (class < BOUNDS)
            text_addf(to, "%g", (double)bounds_us[class] / 1e6);
        else
            text_add(to, "+Inf");
        text_addf(to, "\"} %" PRId64 "\n", sum);
    }
    text_addf(to,
              "tensord_answer_seconds_sum{method=\"%s\",route=\"%s\"} %.6f\n"
              "tensord_answer_seconds_count{method=\"%s\",route=\"%s\"} %" PRId64 "\n",
              row->method, row->pattern, (double)counts[i].us / 1e6, row->method, row->pattern,
              sum);
}

static void add_histograms(text *to)
{
    size_t n;
    const route *table_rows = routes_table(&n);

    text_add(to, "# HELP tensord_answer_seconds Time from a request's line to the end of its "
                 "answer.\n# TYPE tensord_answer_seconds histogram\n");
    for (size_t i = 0; i < n && i < ROUTES_MAX; i++) {
        int64_t any = 0;

        for (int status = 0; status < STATUSES; status++)
            any += counts[i].answers[status];
        if (any > 0)
            add_histogram(to, &table_rows[i], i);
    }
}

/* ---- /metrics ---------------------------------------------------------------------------------
 */

/* Counters end in _total, as the convention is. */
static void add_figure(text *to, const figure *f, const figures *now)
{
    const char *end = f->kind == COUNTER ? "_total" : "";

    text_addf(to,
              "# HELP tensord_%s_%s%s %s\n# TYPE tensord_%s_%s%s %s\ntensord_%s_%s%s %" PRId64 "\n",
              f->group, f->key, end, f->help, f->group, f->key, end,
              f->kind == COUNTER ? "counter" : "gauge", f->group, f->key, end, f->value(now));
}

void figures_add_metrics(const services *s, text *to)
{
    const figures now = gather(s);

    text_addf(to,
              "# HELP tensord_build_info The version.\n# TYPE tensord_build_info gauge\n"
              "tensord_build_info{version=\"%s\"} 1\n"
              "# HELP tensord_uptime_seconds Time since the start.\n"
              "# TYPE tensord_uptime_seconds gauge\ntensord_uptime_seconds %.3f\n",
              TENSORD_VERSION, (double)(clock_us() - s->started_us) / 1e6);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_figure(to, &rows[i], &now);
    add_answers(to);
    add_histograms(to);
}
