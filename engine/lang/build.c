/* SPDX-License-Identifier: Apache-2.0 */
/* Programs, function bodies and definitions of operations built into graphs. */
#include <inttypes.h>
#include <string.h>

#include "engine/lang/dialect_tensor.h"
#include "engine/lang/machine.h"

/* ---- What a program says -------------------------------------------------------------------- */

/* The result as tensors: one, or the items of a tuple. */
static bool record_result(machine *m, lang_program *program, error *err)
{
    const lang_value *v = &m->result;
    const bool is_tuple = v->kind == LANG_TUPLE;
    const int n = is_tuple ? v->sequence->count : v->kind != LANG_NONE;
    const lang_value *items = is_tuple ? v->sequence->items : v;

    program->is_tuple = is_tuple;
    program->results = arena_array(m->arena, (size_t)n + 1, sizeof *program->results);
    for (int i = 0; i < n; i++)
        if (!convert_tensor(m, &items[i], "the result of the program", &program->results[i], err))
            return false;
    program->result_count = n;
    return true;
}

static void record_names(machine *m, lang_program *program)
{
    const table *names = &m->global->names;

    program->assigned = arena_array(m->arena, names->count + 1, sizeof *program->assigned);
    for (size_t i = 0; i < names->count; i++) {
        const binding *b = names->entries[i].value;

        if (b->value.kind != LANG_DELETED)
            program->assigned[program->assigned_count++] = (lang_name){
                .name = names->entries[i].key, .value = b->value, .offset = b->offset};
    }
}

/* print(.., end="") leaves a line open; the program's end closes it. */
static void close_lines(lang_program *program)
{
    if (program->printed_count > 0 &&
        program->printed[program->printed_count - 1].line == program->line_count)
        program->line_count++;
}

/* ---- Programs --------------------------------------------------------------------------------- */

static bool check_text(const char *text, size_t length, const lang_options *options, error *err)
{
    const size_t limit = options->text_bytes_max > 0 ? options->text_bytes_max : LANG_TEXT_BYTES;

    if (length > limit)
        return error_set_limit(err, ERR_GRAPH_SIZE, (int64_t)limit, (int64_t)length,
                               "a program has at most %zu bytes, this has %zu", limit, length);
    return check_utf8(text, length, err);
}

static bool run_program(machine *m, code *c, size_t length, error *err)
{
    m->code = c;
    return code_parse(c, length, false, err) && machine_run(m, 0, (int)c->count, err);
}

bool lang_build(graph *g, const char *text, size_t length, const lang_options *options,
                const lang_scope *scope, lang_program *result, error *err)
{
    code c = {.arena = g->arena};
    machine m;

    *result = (lang_program){0};
    if (!check_text(text, length, options, err))
        return false;
    machine_init(&m, g, options);
    m.scope = scope;
    m.program = result;
    c.text = arena_copy(g->arena, text, length);
    if (!(options->dialect == LANG_TENSOR_STATEMENTS ? dialect_tensor_run(&m, c.text, length, err)
                                                     : run_program(&m, &c, length, err)))
        return false;
    record_names(&m, result);
    close_lines(result);
    return record_result(&m, result, err);
}

/* ---- Function bodies ---------------------------------------------------------------------------- */

static bool set_outputs(machine *m, const lang_value *v, value *outputs, int count, error *err)
{
    const lang_value *items = v;

    if (count != 1 || (v->kind == LANG_TUPLE && v->sequence->count == 1)) {
        if (v->kind != LANG_TUPLE || v->sequence->count != count)
            return error_set(err, ERR_VALUE, "the function gives %s, not %d values",
                             convert_describe(v), count);
        items = v->sequence->items;
    }
    for (int i = 0; i < count; i++)
        if (!convert_tensor(m, &items[i], "the result of the function", &outputs[i], err))
            return false;
    return true;
}

/* The text is not the caller's: its places mean nothing there. */
static bool forget_place(error *err)
{
    err->line = err->column = 0;
    err->caret[0] = '\0';
    return false;
}

bool lang_function_build(graph *g, const char *text, const char *const names[],
                         const lang_value *values, int n, value *outputs, int count, error *err)
{
    const lang_options options = {0};
    code c = {.arena = g->arena, .text = text};
    machine m;
    lang_value v;

    machine_init(&m, g, &options);
    m.code = &c;
    for (int i = 0; i < n; i++)
        machine_store(&m, names[i], &values[i], 0);
    m.root = NULL; /* nothing that is named inside is the program's */
    if (!code_parse(&c, strlen(text), true, err) || !machine_run(&m, 0, (int)c.count, err))
        return forget_place(err);
    v = m.returned ? machine_pop(&m) : m.result;
    return set_outputs(&m, &v, outputs, count, err) || forget_place(err);
}

/* ---- Operations defined by others ---------------------------------------------------------------- */

/* A list of inputs as a tuple. */
static lang_value list_of_values(arena *a, const value *inputs, int count)
{
    lang_sequence *s = arena_alloc(a, sizeof *s);

    s->count = count;
    s->items = arena_array(a, (size_t)count + 1, sizeof *s->items);
    for (int i = 0; i < count; i++)
        s->items[i] = lang_of_value(inputs[i]);
    return (lang_value){.kind = LANG_TUPLE, .sequence = s};
}

static lang_value parameter_value(graph *g, const op_param *p, const value *inputs, int count,
                                  const attr *attrs)
{
    if (p->kind == PARAM_TENSORS)
        return list_of_values(g->arena, inputs + p->position, count - p->position);
    if (p->kind != PARAM_TENSOR)
        return lang_of_attr(g->arena, &attrs[p->position]);
    if (p->position >= count || inputs[p->position].node == NULL)
        return (lang_value){.kind = LANG_NONE};
    return lang_of_value(inputs[p->position]);
}

bool lang_expand(graph *g, const op_def *op, const value *inputs, int count, const attr *attrs,
                 value *outputs, error *err)
{
    const char *names[OP_PARAMS];
    lang_value values[OP_PARAMS];

    for (int i = 0; i < op->param_count; i++) {
        names[i] = op->params[i].name;
        values[i] = parameter_value(g, &op->params[i], inputs, count, attrs);
    }
    return lang_function_build(g, op->lower, names, values, op->param_count, outputs,
                               op_output_count(op, count > 0 && inputs[0].node != NULL
                                                       ? value_type(inputs[0])
                                                       : NULL),
                               err);
}

void lang_init(void)
{
    graph_set_expander(lang_expand);
}
