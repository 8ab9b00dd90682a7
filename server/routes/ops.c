/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "server/routes/catalogue.h"
#include "server/routes/handlers.h"

/* ---- One operation ------------------------------------------------------------------------ */

static void add_aliases(json_writer *w, const op_def *op)
{
    json_begin(w, "aliases", '[');
    for (const char *at = op->aliases; at != NULL && *at != '\0';) {
        const size_t n = strcspn(at, " ");
        char alias[128];

        snprintf(alias, sizeof alias, "%.*s", (int)n, at);
        json_string(w, NULL, alias);
        at += n + (at[n] == ' ');
    }
    json_end(w, ']');
}

static void add_dtypes(json_writer *w, dtype_set set)
{
    json_begin(w, "dtypes", '[');
    for (int t = 0; t < DT_COUNT; t++)
        if (set >> t & 1)
            json_string(w, NULL, dtype_name((dtype)t));
    json_end(w, ']');
}

static void add_signature(json_writer *w, const op_def *op)
{
    text t;

    text_init(&t);
    catalogue_add_signature(op, &t);
    json_string(w, "signature", t.bytes);
    text_clear(&t);
}

static bool is_tensor(const op_param *p)
{
    return p->kind == PARAM_TENSOR || p->kind == PARAM_TENSORS;
}

static void add_args(json_writer *w, const catalogue_entry *e)
{
    json_begin(w, "args", '[');
    for (int i = 0; i < e->op->param_count; i++) {
        const op_param *p = &e->op->params[i];

        if (!is_tensor(p) || op_is_captured(e->op, p))
            continue;
        json_begin(w, NULL, '{');
        json_string(w, "name", p->name);
        json_string(w, "kind", op_param_kind_name(p->kind));
        json_bool(w, "required", !p->has_default);
        add_dtypes(w, e->takes[p->position < OP_INPUTS ? p->position : OP_INPUTS - 1]);
        json_end(w, '}');
    }
    json_end(w, ']');
}

static void add_default(json_writer *w, const attr *a)
{
    if (a->kind == ATTR_BOOL)
        json_bool(w, "default", a->truth);
    else if (a->kind == ATTR_INT)
        json_int(w, "default", a->integer);
    else
        json_string(w, "default",
                    a->kind == ATTR_TEXT    ? a->text
                    : a->kind == ATTR_DTYPE ? dtype_name(a->dtype)
                                            : NULL);
}

static void add_attrs(json_writer *w, const op_def *op)
{
    json_begin(w, "attrs", '[');
    for (int i = 0; i < op->param_count; i++) {
        const op_param *p = &op->params[i];

        if (is_tensor(p))
            continue;
        json_begin(w, NULL, '{');
        json_string(w, "name", p->name);
        json_string(w, "kind", op_param_kind_name(p->kind));
        json_bool(w, "required", !p->has_default);
        if (p->has_default)
            add_default(w, &p->value);
        json_end(w, '}');
    }
    json_end(w, ']');
}

/* The gradients by the names of the inputs, in the language. */
static void add_gradients(json_writer *w, const op_def *op)
{
    json_begin(w, "grad", '{');
    for (int i = 0; i < op->param_count; i++) {
        const op_param *p = &op->params[i];

        if (is_tensor(p) && p->position < OP_INPUTS && op->grad[p->position] != NULL)
            json_string(w, p->name, op->grad[p->position]);
    }
    json_end(w, '}');
}

static void add_op(json_writer *w, const catalogue_entry *e)
{
    const op_def *op = e->op;

    json_begin(w, NULL, '{');
    json_string(w, "name", op->name);
    add_aliases(w, op);
    json_string(w, "family", op->family);
    add_signature(w, op);
    json_string(w, "doc", op->doc);
    json_string(w, "example", op->example);
    json_string(w, "gives", op->gives);
    add_args(w, e);
    add_attrs(w, op);
    if (op->outputs < 0)
        json_string(w, "outputs", NULL);
    else
        json_int(w, "outputs", op->outputs == 0 ? 1 : op->outputs);
    add_dtypes(w, catalogue_dtypes(e));
    json_bool(w, "differentiable", e->differentiable);
    add_gradients(w, op);
    if (op->lower != NULL)
        json_string(w, "defined_as", op->lower);
    json_end(w, '}');
}

/* ---- Routes --------------------------------------------------------------------------------- */

static bool matches(const op_def *op, const char *q)
{
    return strcasestr(op->name, q) != NULL || strcasestr(op->doc, q) != NULL ||
           (op->aliases != NULL && strcasestr(op->aliases, q) != NULL);
}

bool ops_list(services *s, http_request *r, error *err)
{
    const char *q = http_query(r, "q");
    text body;
    json_writer w = json_to(&body, false);
    size_t count;
    const catalogue_entry *all = catalogue_all(&count);

    (void)s, (void)err;
    text_init(&body);
    json_begin(&w, NULL, '{');
    json_begin(&w, "ops", '[');
    for (size_t i = 0; i < count; i++)
        if (q == NULL || matches(all[i].op, q))
            add_op(&w, &all[i]);
    json_end(&w, ']');
    json_end(&w, '}');
    text_add_char(&body, '\n');
    answer_text(r, 200, "application/json", &body);
    return true;
}

bool ops_one(services *s, http_request *r, error *err)
{
    const char *name = route_capture(r, "op"), *near;
    const catalogue_entry *e = catalogue_find(name);
    text body;
    json_writer w = json_to(&body, false);

    (void)s;
    if (e == NULL) {
        near = op_nearest(name, strlen(name));
        error_set(err, ERR_NOT_FOUND, "There is no operation '%.100s'.", name);
        return error_suggest(err, near);
    }
    text_init(&body);
    add_op(&w, e);
    text_add_char(&body, '\n');
    answer_text(r, 200, "application/json", &body);
    return true;
}
