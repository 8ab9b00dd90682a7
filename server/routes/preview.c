/* SPDX-License-Identifier: Apache-2.0 */
/* What a tensor looks like, in an answer of a bounded size: its first elements, or its
 * elements gathered in cells. One pass over the elements for each kind, two for a histogram;
 * a piece of them at a time is turned into float64. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/number.h"
#include "server/routes/answer.h"
#include "server/routes/compute.h"
#include "server/routes/handlers.h"
#include "server/routes/stored.h"
#include "server/wire/png.h"

enum { PIECE = 1 << 20 }; /* elements at a time */

/* What falls into one cell; finite values only. */
typedef struct cell {
    double min, max, sum;
    int64_t count;
} cell;

typedef struct preview {
    services *services;
    http_request *request;
    const entry *entry;
    budget budget;
    tensor part; /* what is shown; its buffer is borrowed */
    int64_t max;
    int64_t rows, columns;           /* the elements as a picture; one row: a line */
    int channels;                    /* of its pixels */
    int64_t cell_rows, cell_columns; /* of cells, each for a block of elements */
    cell *cells;
    cell all;
    int64_t nans, infinities;
    int64_t *counts; /* of the histogram's bins */
} preview;

/* ---- Walking ------------------------------------------------------------------------------- */

typedef void preview_see(preview *p, const double *values, int64_t first, int64_t n);

/* n elements of t as float64, with a reference; of complex ones the absolute values. */
static bool to_float64(preview *p, const tensor *t, tensor *result, error *err)
{
    const bool complex = dtype_info_of(t->dtype)->class == CLASS_COMPLEX;
    wire_input input = {.name = "x", .tensor = t};
    const wire_inputs inputs = {.count = 1, .items = &input};

    if (t->dtype == DT_F64) {
        *result = *t;
        tensor_ref(t);
        return true;
    }
    return compute(p->services, p->request,
                   complex ? "astype(absolute(x), float64)" : "astype(x, float64)", &inputs,
                   &p->budget, result, 1, err);
}

/* Shows all elements to see, in C order. */
static bool walk(preview *p, preview_see *see, error *err)
{
    const int64_t size = tensor_size(&p->part);
    tensor dense;
    bool ok = tensor_dense(&p->part, &p->budget, &dense, err);

    if (!ok)
        return false;
    for (int64_t at = 0; ok && at < size; at += PIECE) {
        const int64_t n = size - at < PIECE ? size - at : PIECE;
        tensor piece = {.buf = dense.buf,
                        .dtype = dense.dtype,
                        .offset = dense.offset + at,
                        .shape = {.rank = 1, .length = {n}},
                        .strides = {1}},
               values;

        ok = to_float64(p, &piece, &values, err);
        if (ok) {
            see(p, tensor_bytes(&values), at, n);
            tensor_unref(&values);
        }
        ok = ok && (p->request->cancel == 0 || error_set(err, ERR_CANCELLED, "cancelled"));
    }
    tensor_unref(&dense);
    return ok;
}

static void add_value(cell *c, double value)
{
    if (c->count == 0 || value < c->min)
        c->min = value;
    if (c->count == 0 || value > c->max)
        c->max = value;
    c->sum += value;
    c->count++;
}

/* Notes a value; false if it is not finite. */
static bool note(preview *p, double value)
{
    if (isfinite(value)) {
        add_value(&p->all, value);
        return true;
    }
    p->nans += isnan(value) != 0;
    p->infinities += isinf(value) != 0;
    return false;
}

static void see_cells(preview *p, const double *values, int64_t first, int64_t n)
{
    const int64_t width = p->columns * p->channels;

    for (int64_t i = 0; i < n; i++) {
        const int64_t row = (first + i) / width, rest = (first + i) % width;
        const int64_t column = rest / p->channels, channel = rest % p->channels;
        const int64_t y = row * p->cell_rows / p->rows, x = column * p->cell_columns / p->columns;

        if (note(p, values[i]))
            add_value(&p->cells[(y * p->cell_columns + x) * p->channels + channel], values[i]);
    }
}

static void see_range(preview *p, const double *values, int64_t first, int64_t n)
{
    (void)first;
    for (int64_t i = 0; i < n; i++)
        note(p, values[i]);
}

static void see_bins(preview *p, const double *values, int64_t first, int64_t n)
{
    const double low = p->all.min, width = p->all.max - low;

    (void)first;
    for (int64_t i = 0; i < n; i++) {
        const double at = width > 0 ? (values[i] - low) / width * (double)p->max : 0;

        if (isfinite(values[i]))
            p->counts[at < (double)p->max ? (int64_t)at : p->max - 1]++;
    }
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void add_number(json_writer *w, const char *key, double value)
{
    char text[NUMBER_TEXT_MAX + 1];

    *number_print_f64(text, value) = '\0';
    json_raw(w, key, isfinite(value) ? text : "null");
}

static void begin(const preview *p, json_writer *w, const char *kind)
{
    json_begin(w, NULL, '{');
    json_string(w, "kind", kind);
    json_string(w, "name", p->entry->name);
    json_string(w, "dtype", dtype_name(p->part.dtype));
    json_begin(w, "shape", '[');
    for (int i = 0; i < p->part.shape.rank; i++)
        json_int(w, NULL, p->part.shape.length[i]);
    json_end(w, ']');
}

/* What holds of all elements. */
static void end(const preview *p, json_writer *w, text *body)
{
    const double nothing = (double)NAN;

    add_number(w, "min", p->all.count > 0 ? p->all.min : nothing);
    add_number(w, "max", p->all.count > 0 ? p->all.max : nothing);
    add_number(w, "mean", p->all.count > 0 ? p->all.sum / (double)p->all.count : nothing);
    json_int(w, "nan", p->nans);
    json_int(w, "inf", p->infinities);
    json_end(w, '}');
    text_add_char(body, '\n');
    answer_text(p->request, 200, "application/json", body);
}

typedef double cell_value(const cell *c);

static double cell_min(const cell *c)
{
    return c->count > 0 ? c->min : (double)NAN;
}

static double cell_max(const cell *c)
{
    return c->count > 0 ? c->max : (double)NAN;
}

static double cell_mean(const cell *c)
{
    return c->count > 0 ? c->sum / (double)c->count : (double)NAN;
}

static void add_cells(json_writer *w, const char *key, const cell *cells, int64_t n, cell_value *of)
{
    json_begin(w, key, '[');
    for (int64_t i = 0; i < n; i++)
        add_number(w, NULL, of(&cells[i]));
    json_end(w, ']');
}

/* ---- Kinds
 * --------------------------------------------------------------------------------------- */

/* The last two axes, at the first place along the others, as rows and columns; with colours the
 * last three if the last one is pixels. */
static void take_picture(preview *p, bool colours)
{
    tensor *t = &p->part;
    const int rank = t->shape.rank;
    const int64_t last = rank > 0 ? t->shape.length[rank - 1] : 1;
    const bool pixels = colours && rank >= 3 && (last == 3 || last == 4);
    const int kept = pixels ? 3 : 2, dropped = rank > kept ? rank - kept : 0;

    memmove(t->shape.length, t->shape.length + dropped,
            (size_t)(rank - dropped) * sizeof *t->shape.length);
    memmove(t->strides, t->strides + dropped, (size_t)(rank - dropped) * sizeof *t->strides);
    t->shape.rank = rank - dropped;
    p->channels = pixels ? (int)last : 1;
    p->columns = pixels ? t->shape.length[1] : last;
    p->rows = t->shape.rank < 2 ? 1 : t->shape.length[0];
}

static int64_t at_most(int64_t n, int64_t most)
{
    return n < most ? n : most;
}

static bool gather_cells(preview *p, error *err)
{
    p->cell_rows = at_most(p->rows, p->max);
    p->cell_columns = at_most(p->columns, p->max);
    p->cells =
        arena_array(p->request->arena, (size_t)(p->cell_rows * p->cell_columns * p->channels) + 1,
                    sizeof *p->cells);
    return walk(p, see_cells, err);
}

static bool show_line(preview *p, error *err)
{
    text body;
    json_writer w = json_to(&body, false);

    p->rows = p->channels = 1;
    p->columns = tensor_size(&p->part);
    if (!gather_cells(p, err))
        return false;
    text_init(&body);
    begin(p, &w, "line");
    json_begin(&w, "x", '[');
    for (int64_t i = 0; i < p->cell_columns; i++) /* the first element of each cell */
        json_int(&w, NULL, (i * p->columns + p->cell_columns - 1) / p->cell_columns);
    json_end(&w, ']');
    add_cells(&w, "low", p->cells, p->cell_columns, cell_min);
    add_cells(&w, "high", p->cells, p->cell_columns, cell_max);
    add_cells(&w, "values", p->cells, p->cell_columns, cell_mean);
    end(p, &w, &body);
    return true;
}

static bool show_heatmap(preview *p, error *err)
{
    text body;
    json_writer w = json_to(&body, false);

    take_picture(p, false);
    if (!gather_cells(p, err))
        return false;
    text_init(&body);
    begin(p, &w, "heatmap");
    json_int(&w, "rows", p->cell_rows);
    json_int(&w, "columns", p->cell_columns);
    json_begin(&w, "values", '[');
    for (int64_t y = 0; y < p->cell_rows; y++)
        add_cells(&w, NULL, p->cells + y * p->cell_columns, p->cell_columns, cell_mean);
    json_end(&w, ']');
    end(p, &w, &body);
    return true;
}

static bool show_histogram(preview *p, error *err)
{
    text body;
    json_writer w = json_to(&body, false);
    double low, high;

    p->counts = arena_array(p->request->arena, (size_t)p->max, sizeof *p->counts);
    if (!walk(p, see_range, err) || (p->all.count > 0 && !walk(p, see_bins, err)))
        return false;
    low = p->all.count > 0 ? p->all.min : 0;
    high = p->all.count > 0 ? p->all.max : 1;
    text_init(&body);
    begin(p, &w, "histogram");
    json_begin(&w, "edges", '[');
    for (int64_t i = 0; i <= p->max; i++)
        add_number(&w, NULL, low + (high - low) * (double)i / (double)p->max);
    json_end(&w, ']');
    json_begin(&w, "counts", '[');
    for (int64_t i = 0; i < p->max; i++)
        json_int(&w, NULL, p->counts[i]);
    json_end(&w, ']');
    end(p, &w, &body);
    return true;
}

/* Bytes are shown as they are, anything else between its least and greatest value. */
static uint8_t shade(const preview *p, double value)
{
    const bool bytes = p->part.dtype == DT_U8;
    const double low = bytes ? 0 : p->all.min, width = bytes ? 255 : p->all.max - low;

    if (isnan(value))
        return 0;
    return (uint8_t)lrint((width > 0 ? (value - low) / width : 0) * 255);
}

static bool show_image(preview *p, error *err)
{
    int64_t n;
    uint8_t *pixels;
    text body;

    take_picture(p, true);
    if (p->rows == 0 || p->columns == 0)
        return error_set(err, ERR_SHAPE, "A picture has at least one row and one column.");
    if (!gather_cells(p, err))
        return false;
    n = p->cell_rows * p->cell_columns * p->channels;
    pixels = arena_alloc(p->request->arena, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++)
        pixels[i] = shade(p, cell_mean(&p->cells[i]));
    text_init(&body);
    if (!png_add(&body, pixels, (uint32_t)p->cell_columns, (uint32_t)p->cell_rows, p->channels)) {
        text_clear(&body);
        return error_set(err, ERR_MEMORY_BUSY, "There is no memory for the picture.");
    }
    answer_text(p->request, 200, "image/png", &body);
    return true;
}

/* The first elements along the last two axes, at the first place along the others. */
static bool show_table(preview *p, error *err)
{
    tensor corner;
    wire_writer *w;
    text head;
    json_writer json = json_to(&head, false);
    bool whole = true;

    (void)err;
    text_init(&head);
    begin(p, &json, "table");
    corner = p->part;
    for (int i = 0; i < corner.shape.rank; i++) {
        const int64_t most = i < corner.shape.rank - 2 ? 1 : p->max;

        whole = whole && corner.shape.length[i] <= most;
        corner.shape.length[i] = at_most(corner.shape.length[i], most);
    }
    json_bool(&json, "whole", whole);
    text_add(&head, ",\"values\":");
    w = wire_writer_new(WIRE_JSON);
    wire_writer_text_bytes(w, head.bytes, head.length);
    wire_writer_tensor(w, NULL, &corner);
    wire_writer_text(w, "}\n");
    text_clear(&head);
    answer_written_take(p->request, 200, WIRE_JSON, w, tensor_nbytes(&corner));
    return true;
}

/* ---- The route
 * ------------------------------------------------------------------------------------- */

typedef struct kind {
    const char *name;
    int64_t usual, most; /* of max */
    bool (*show)(preview *p, error *err);
} kind;

static const kind kinds[] = {
    {"table", 50, 1000, show_table},      {"line", 500, 10000, show_line},
    {"heatmap", 100, 1000, show_heatmap}, {"histogram", 50, 1000, show_histogram},
    {"image", 512, 2048, show_image},
};

static const kind *kind_of(const http_request *r, error *err)
{
    const char *said = http_query(r, "kind");

    if (said == NULL)
        said = strcmp(route_media(r), "image/png") == 0 ? "image" : "table";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, said) == 0)
            return &kinds[i];
    error_set(err, ERR_REQUEST, "kind is table, line, heatmap, histogram or image, not '%.40s'.",
              said);
    return NULL;
}

static bool read_max(const http_request *r, const kind *k, int64_t *max, error *err)
{
    *max = k->usual;
    return (http_query_integer(r, "max", max) && *max >= 1 && *max <= k->most) ||
           error_set(err, ERR_REQUEST, "max of a %s is 1 to %" PRId64 ", not '%.40s'.", k->name,
                     k->most, http_query(r, "max"));
}

static bool show(services *s, http_request *r, const entry *e, const kind *k, int64_t max,
                 error *err)
{
    const char *text = http_query(r, "slice");
    preview p = {.services = s, .request = r, .entry = e, .max = max};
    tensor whole;
    slice asked;
    bool ok;

    budget_init(&p.budget, s->config->plan_bytes_max);
    if (!slice_parse(text == NULL ? "" : text, &asked, err) ||
        !entry_tensor(s->storage, e, &whole, err))
        return false;
    ok = slice_apply(&asked, &whole, &p.part, err) &&
         (k->show == show_table || entry_verify(s->storage, e, 0, entry_nbytes(e), err)) &&
         k->show(&p, err);
    if (ok && buffer_is_lost(whole.buf))
        ok = entry_lost(e, err);
    tensor_unref(&whole);
    if (ok)
        stored_answer_etag(s, r, e, k->name);
    return ok;
}

bool variable_preview(services *s, http_request *r, error *err)
{
    const char *name = stored_name(r, err);
    const kind *k = name == NULL ? NULL : kind_of(r, err);
    int64_t max;
    snapshot *n;
    const entry *e;
    bool ok;

    if (k == NULL || !read_max(r, k, &max, err))
        return false;
    n = stored_snapshot(s, r);
    e = stored_find(n, ENTRY_VARIABLE, name, err);
    ok = e != NULL && show(s, r, e, k, max, err);
    snapshot_unref(n);
    return ok;
}
