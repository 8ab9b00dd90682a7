/* SPDX-License-Identifier: Apache-2.0 */
/* Programs, function bodies and definitions of operations built into graphs. */
#include <inttypes.h>
#include <string.h>

#include <utf8proc.h>

#include "engine/lang/dialect_tensor.h"
#include "engine/lang/tracer.h"

/* ---- What a program says ---------------------------------------------------- */

/* The result as tensors: one, or the items of a tuple. */
static bool record_result(tracer *tr, lang_program *program, error *err)
{
    const lang_value *v = &tr->result;
    const bool is_tuple = v->kind == LANG_TUPLE;
    const int n = is_tuple ? v->sequence->count : v->kind != LANG_NONE;
    const lang_value *items = is_tuple ? v->sequence->items : v;

    program->is_tuple = is_tuple;
    program->results = arena_array(tr->arena, (size_t)n + 1, sizeof *program->results);
    for (int i = 0; i < n; i++)
        if (!convert_tensor(tr, &items[i], "the result of the program", &program->results[i], err))
            return false;
    program->result_count = n;
    return true;
}

static void record_names(tracer *tr, lang_program *program)
{
    const table *names = &tr->global->names;

    program->assigned = arena_array(tr->arena, names->count + 1, sizeof *program->assigned);
    for (size_t i = 0; i < names->count; i++) {
        const binding *b = names->entries[i].value;

        if (b->value.kind != LANG_DELETED)
            program->assigned[program->assigned_count++] =
                (lang_name){.name = names->entries[i].key, .value = b->value, .offset = b->offset};
    }
}

/* print(.., end="") leaves a line open; the program's end closes it. */
static void close_lines(lang_program *program)
{
    if (program->printed_count > 0 &&
        program->printed[program->printed_count - 1].line == program->line_count)
        program->line_count++;
}

/* ---- Programs --------------------------------------------------------------- */

static bool check_utf8(const char *text, size_t length, error *err)
{
    for (size_t at = 0; at < length;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                              (utf8proc_ssize_t)(length - at), &c);

        if (n <= 0)
            return error_set(err, ERR_SYNTAX, "byte %zu of the program is not valid UTF-8", at);
        at += (size_t)n;
    }
    return true;
}

static bool check_text(const char *text, size_t length, const lang_options *options, error *err)
{
    const size_t limit = options->text_bytes_max > 0 ? options->text_bytes_max : LANG_TEXT_BYTES;

    if (length > limit)
        return error_set_limit(err, ERR_GRAPH_SIZE, (int64_t)limit, (int64_t)length,
                               "a program has at most %zu bytes, this has %zu", limit, length);
    return check_utf8(text, length, err);
}

static bool run_program(tracer *tr, code *c, size_t length, error *err)
{
    tr->code = c;
    return code_parse(c, length, false, err) && tracer_run(tr, 0, (int)c->count, err);
}

bool lang_build(graph *g, const char *text, size_t length, const lang_options *options,
                const lang_scope *scope, lang_program *result, error *err)
{
    code c = {.arena = g->arena};
    tracer tr;

    *result = (lang_program){0};
    if (!check_text(text, length, options, err))
        return false;
    tracer_init(&tr, g, options);
    tr.scope = scope;
    tr.program = result;
    c.text = arena_copy(g->arena, text, length);
    if (!(options->dialect == LANG_TENSOR_STATEMENTS ? dialect_tensor_run(&tr, c.text, length, err)
                                                     : run_program(&tr, &c, length, err)))
        return false;
    record_names(&tr, result);
    close_lines(result);
    return record_result(&tr, result, err) || error_at_text(err, c.text, tr.result_offset);
}

/* ---- Function bodies -------------------------------------------------------- */

/* The text is not the caller's: its places mean nothing there. */
static bool forget_place(error *err)
{
    err->line = err->column = 0;
    err->caret[0] = '\0';
    return false;
}

/* Runs a body; what it gives as a list of count values. */
static bool run_body(tracer *tr, const code *c, const lang_value **items, int *count, error *err)
{
    lang_value *v = arena_alloc(tr->arena, sizeof *v);

    tr->code = c;
    tr->root = NULL; /* nothing that is named inside is the program's */
    if (!tracer_run(tr, 0, (int)c->count, err))
        return forget_place(err);
    *v = tr->returned ? tracer_pop(tr) : tr->result;
    *items = v->kind == LANG_TUPLE ? v->sequence->items : v;
    *count = v->kind == LANG_TUPLE ? v->sequence->count : 1;
    return true;
}

bool lang_function_build(graph *g, const char *text, const char *const names[],
                         const lang_value *values, int n, value *outputs, int count, error *err)
{
    const lang_options options = {0};
    code c = {.arena = g->arena, .text = text};
    const lang_value *items;
    tracer tr;
    int given;

    tracer_init(&tr, g, &options);
    for (int i = 0; i < n; i++)
        tracer_bind(&tr, names[i], &values[i]);
    if (!code_parse(&c, strlen(text), true, err))
        return forget_place(err);
    if (!run_body(&tr, &c, &items, &given, err))
        return false;
    if (given != count)
        return error_set(err, ERR_VALUE, "the function gives %d values, not %d", given, count);
    for (int i = 0; i < count; i++) {
        outputs[i] = (value){0};
        if (items[i].kind != LANG_NONE &&
            !convert_tensor(&tr, &items[i], "the result of the function", &outputs[i], err))
            return false;
    }
    return true;
}

/* ---- Operations defined by others
 * ---------------------------------------------------------------- */

bool lang_expand(graph *g, const op_def *op, const value *inputs, int count, const attr *attrs,
                 error *err)
{
    const lang_options options = {0};
    const code *c = code_of_row(op->lower, err);
    const lang_value *items;
    tracer tr;
    int given;

    if (c == NULL)
        return forget_place(err);
    tracer_init(&tr, g, &options);
    for (int i = 0; i < op->param_count; i++) {
        const lang_value v = lang_of_param(tr.arena, &op->params[i], inputs, count, attrs);

        tracer_bind(&tr, op->params[i].name, &v);
    }
    if (!run_body(&tr, c, &items, &given, err))
        return false;
    for (int i = 0; i < given; i++) {
        value v;

        if (!convert_tensor(&tr, &items[i], op->name, &v, err) || !graph_capture_output(g, v, err))
            return false;
    }
    return true;
}

void lang_init(void)
{
    graph_set_expander(lang_expand);
}
