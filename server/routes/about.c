/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/dtype.h"
#include "server/routes/figures.h"
#include "server/routes/handlers.h"
#include "server/version.h"

static bool answer_json(http_request *r, json_writer *w, text *body)
{
    json_end(w, '}');
    text_add_char(body, '\n');
    answer_text(r, 200, "application/json", body);
    return true;
}

/* ---- /v1/info ------------------------------------------------------------------------ */

/* The newest level of the x86-64 instruction set that the processor has and kernels are built for.
 */
static const char *cpu_level(void)
{
#if defined(__x86_64__) && !defined(ONE_CPU_LEVEL)
    if (__builtin_cpu_supports("x86-64-v4"))
        return "x86-64-v4";
    if (__builtin_cpu_supports("x86-64-v3"))
        return "x86-64-v3";
    return "x86-64";
#else
    return "baseline";
#endif
}

bool about_info(services *s, http_request *r, error *err)
{
    static const char *const groups[] = {"machine", "storage", "plans", "counters", "jobs"};
    text body;
    json_writer w = json_to(&body, false);

    (void)err;
    text_init(&body);
    json_begin(&w, NULL, '{');
    json_string(&w, "name", "tensord");
    json_string(&w, "version", TENSORD_VERSION);
    json_milli(&w, "uptime_seconds", (double)(clock_us() - s->started_us) / 1e6);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        json_begin(&w, groups[i], '{');
        if (i == 0)
            json_string(&w, "cpu_level", cpu_level());
        figures_add_group(s, groups[i], &w);
        json_end(&w, '}');
    }
    return answer_json(r, &w, &body);
}

/* ---- /metrics ------------------------------------------------------------------------- */

bool about_metrics(services *s, http_request *r, error *err)
{
    text body;

    (void)err;
    text_init(&body);
    figures_add_metrics(s, &body);
    answer_text(r, 200, "text/plain; version=0.0.4; charset=utf-8", &body);
    return true;
}

/* ---- /v1/limits ----------------------------------------------------------------------- */

static void add_limit(json_writer *w, const config *c, const config_row *row)
{
    static const char *const units[] = {
        [TYPE_COUNT] = "count", [TYPE_BYTES] = "bytes", [TYPE_US] = "microseconds"};
    const error_info *info = error_info_of(row->error);
    int64_t value = config_number(c, row);

    json_begin(w, row->name, '{');
    if (value == CONFIG_NONE)
        json_string(w, "value", NULL);
    else
        json_int(w, "value", value);
    json_string(w, "unit", units[row->type]);
    json_int(w, "status", info->status);
    json_string(w, "code", info->code);
    json_string(w, "doc", row->doc);
    json_end(w, '}');
}

bool about_limits(services *s, http_request *r, error *err)
{
    text body;
    json_writer w = json_to(&body, false);

    (void)err;
    text_init(&body);
    json_begin(&w, NULL, '{');
    json_begin(&w, "limits", '{');
    for (int i = 0; i < CONFIG_SETTINGS; i++)
        if (config_row_of(i)->error != ERR_NONE)
            add_limit(&w, s->config, config_row_of(i));
    json_end(&w, '}');
    return answer_json(r, &w, &body);
}

/* ---- /v1/dtypes ------------------------------------------------------------------------- */

static void add_dtype(json_writer *w, dtype t)
{
    static const char *const classes[] = {"bool", "unsigned", "integer", "float", "complex"};
    const dtype_info *info = dtype_info_of(t);

    json_begin(w, NULL, '{');
    json_string(w, "name", info->name);
    json_string(w, "typestr", info->typestr);
    json_int(w, "itemsize", info->size);
    json_string(w, "kind", classes[info->class]);
    json_string(w, "computed_as", dtype_name(info->computed));
    json_end(w, '}');
}

static void add_promotions(json_writer *w, dtype a)
{
    json_begin(w, dtype_name(a), '{');
    for (int b = 0; b < DT_COUNT; b++)
        json_string(w, dtype_name((dtype)b), dtype_name(dtype_promote(a, (dtype)b)));
    json_end(w, '}');
}

bool about_dtypes(services *s, http_request *r, error *err)
{
    text body;
    json_writer w = json_to(&body, false);

    (void)s, (void)err;
    text_init(&body);
    json_begin(&w, NULL, '{');
    json_begin(&w, "dtypes", '[');
    for (int t = 0; t < DT_COUNT; t++)
        add_dtype(&w, (dtype)t);
    json_end(&w, ']');
    json_begin(&w, "promotion", '{');
    for (int t = 0; t < DT_COUNT; t++)
        add_promotions(&w, (dtype)t);
    json_end(&w, '}');
    return answer_json(r, &w, &body);
}

/* ---- /openapi.json ------------------------------------------------------------------------ */

bool about_api(services *s, http_request *r, error *err)
{
    (void)err;
    answer_bytes(r, 200, route_media(r), s->api_document, strlen(s->api_document));
    answer_header(r, "Cache-Control", "no-cache");
    return true;
}
