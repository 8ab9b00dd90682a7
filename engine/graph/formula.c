/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as formulas: one line of infix text, or of LaTeX. What is used several times and
 * is no trifle gets a name. Functions are written where they stand; what they use from
 * outside has a name there, so that nothing is ever written from within. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/table.h"
#include "engine/graph/view_private.h"

enum { TRIFLE = 3 }; /* parts of an expression that is written out each time */

/* How a formula is written. */
typedef struct style {
    bool latex;
    const char *where, *and, *open, *close;
    const char *lambda, *gives; /* around a function's parameters */
} style;

static const style plain = {false, " where ", ", ", "(", ")", "lambda", ": "};
static const style latex = {
    true, " \\quad\\text{where}\\quad ", ",\\quad ", "\\left(", "\\right)", "\\lambda", " .\\, "};

/* Something to be written: text, a function of a node, or a value that binds at least so
 * much. */
typedef struct piece {
    const char *text;
    value value;
    int least, depth;
    const node *owner; /* whose attribute `function` is written */
    int function;
} piece;

typedef struct printer {
    const style *style;
    arena *arena;
    text **out; /* one place for all printers of a view */
    const graph *graph;
    struct printer *outer; /* of the enclosing graph, for a function */
    int *uses, *sizes;     /* by node id; NULL: nothing is named */
    bool *inside;          /* by node id: whether a function uses it */
    const char **names;    /* by node id: of what is used several times or inside */
    const char **params;   /* by node id, of inputs */
    value *captured;       /* by node id, of inputs: what they stand for; no node: nothing */
    const node **queue;    /* named, their formulas to come */
    int queued;
    table taken, numbers;
    piece *stack;
    size_t height, room;
    int depth_max; /* of operations; 0: no limit */
} printer;

/* ---- What gets a name ----------------------------------------------------------------------- */

static void count_use(printer *p, value v)
{
    if (v.node != NULL)
        p->uses[v.node->id]++;
}

/* The parts of a node's formula, with those that are named as one. A function is no trifle. */
static int size_of(const printer *p, const node *n)
{
    int size = view_has_functions(n) ? TRIFLE + 1 : 1;

    for (int i = 0; i < n->input_count; i++) {
        const node *m = n->inputs[i].node;

        size += m == NULL || p->names[m->id] != NULL ? 1 : p->sizes[m->id];
        size = size > 1 << 20 ? 1 << 20 : size;
    }
    return size;
}

/* Whether something has the name, here or in the graphs around. */
static bool is_taken(const printer *p, const char *name)
{
    for (; p != NULL; p = p->outer)
        if (table_get(&p->taken, name) != NULL)
            return true;
    return false;
}

/* The number that the next name like this one gets: nothing is tried twice. */
static int *next_number(printer *p, const char *name)
{
    int *number = table_get(&p->numbers, name);

    if (number == NULL) {
        number = arena_alloc(p->arena, sizeof *number);
        table_put(&p->numbers, name, number);
    }
    return number;
}

/* A name that nothing has yet: the node's own, or that with a number, or t with one. */
static const char *fresh(printer *p, const node *n)
{
    const char *const stem = n->name != NULL ? n->name : "t";
    const char *name = n->name;
    int *number = next_number(p, stem);

    while (name == NULL || is_taken(p, name))
        name = arena_format(p->arena, n->name != NULL ? "%s_%d" : "%s%d", stem, ++*number);
    table_put(&p->taken, name, p);
    return name;
}

/* Names of inputs: those of a function's parameters are its own, what it captured has none. */
static void name_inputs(printer *p)
{
    const graph *g = p->graph;

    for (int i = 0; i < g->input_count; i++) {
        const node *n = g->inputs[i].node;

        if (p->outer == NULL)
            table_put(&p->taken, p->params[n->id] = n->name, p);
        else if (g->captured[i].node == NULL)
            p->params[n->id] = fresh(p, n);
        else
            p->captured[n->id] = g->captured[i];
    }
}

static void count_uses(printer *p, const node *n)
{
    value dynamic[VIEW_DYNAMIC];
    const int own = graph_own_inputs(n), count = view_dynamic_inputs(n, dynamic, VIEW_DYNAMIC);

    for (int k = 0; k < n->input_count; k++) {
        count_use(p, n->inputs[k]);
        if (k >= own)
            p->inside[n->inputs[k].node->id] = true;
    }
    for (int k = 0; k < count; k++)
        count_use(p, dynamic[k]);
}

static void find_names(printer *p)
{
    const graph *g = p->graph;
    const bool *shown = view_shown(g, p->arena);

    name_inputs(p);
    for (int i = 0; i < g->count; i++)
        if (shown[i])
            count_uses(p, g->nodes[i]);
    for (int i = 0; i < g->output_count; i++)
        count_use(p, g->outputs[i]);
    for (int i = 0; i < g->count; i++) {
        const node *n = g->nodes[i];

        p->sizes[i] = size_of(p, n);
        if (view_is_apply(n) && (p->inside[i] || (p->uses[i] > 1 && p->sizes[i] > TRIFLE)))
            p->names[i] = fresh(p, n);
    }
}

/* ---- Names and constants -----------------------------------------------------------------------
 */

/* Adds a byte of words as LaTeX prints it. */
static void add_escaped(text *t, char c)
{
    if (c == '\\')
        text_add(t, "\\textbackslash{}");
    else if (strchr("^~", c) != NULL)
        text_addf(t, "\\%c{}", c);
    else if (strchr("_&%{}", c) != NULL)
        text_addf(t, "\\%c", c);
    else
        text_add_char(t, c);
}

static const char *escaped(printer *p, const char *before, const char *words, const char *after)
{
    const char *result;
    text t;

    text_init(&t);
    text_add(&t, before);
    for (; *words != '\0'; words++)
        add_escaped(&t, *words);
    text_add(&t, after);
    result = text_copy(&t, p->arena);
    text_clear(&t);
    return result;
}

/* A name in mathematics: one letter leans, more stand upright. */
static const char *set_name(printer *p, const char *name)
{
    return !p->style->latex || (name[0] != '\0' && name[1] == '\0')
               ? name
               : escaped(p, "\\mathrm{", name, "}");
}

static const char *constant_text(printer *p, const tensor *x)
{
    const char *result;
    text t;

    text_init(&t);
    view_add_constant(x, &t);
    result = p->style->latex && strpbrk(t.bytes, "abcdefghijklmnopqrstuvwxyz") != NULL
                 ? escaped(p, "\\text{", t.bytes, "}")
                 : text_copy(&t, p->arena);
    text_clear(&t);
    return result;
}

/* Words with what stands in the place of values and functions, which are no plain text. */
static const char *latex_attrs(printer *p, const char *words)
{
    static const char places[] = {'#', VIEW_FUNCTION, '\0'};
    const char *result = "";

    while (*words != '\0') {
        const size_t place = strcspn(words, places);
        const size_t n = place > 0 ? place : 1 + strspn(words + 1, "0123456789");
        const char *part = arena_copy(p->arena, words, n);

        result = arena_format(p->arena, "%s%s", result,
                              place > 0 ? escaped(p, "\\text{", part, "}") : part);
        words += n;
    }
    return result;
}

/* The attributes as the style has them. */
static const char *attrs_text(printer *p, const node *n)
{
    const char *result;
    text t;

    text_init(&t);
    text_add(&t, "");
    view_add_attrs(n, true, &t);
    result = p->style->latex ? latex_attrs(p, t.bytes) : text_copy(&t, p->arena);
    text_clear(&t);
    return result;
}

/* ---- Pieces
 * ---------------------------------------------------------------------------------------- */

static void push(printer *p, piece x)
{
    p->stack = arena_grow(p->arena, p->stack, p->height, &p->room, sizeof *p->stack);
    p->stack[p->height++] = x;
}

/* The k-th value that a node needs, computed attributes counted behind its inputs. */
static value input_of(const node *n, int k)
{
    value dynamic[VIEW_DYNAMIC];

    if (k < n->input_count)
        return n->inputs[k];
    k -= n->input_count;
    return k < view_dynamic_inputs(n, dynamic, VIEW_DYNAMIC) ? dynamic[k] : (value){0};
}

/* How tightly the k-th operand of a form must bind. */
static int least_of(const notation *n, int k)
{
    const bool turned = n->is_right ? k == 0 : k == 1;

    if (n->is_right && k == 1)
        return n->precedence - 1; /* a sign may stand there */
    return n->precedence + (turned || n->precedence == 0);
}

/* The piece that a form's mark and number stand for. */
static piece piece_of(const node *n, const notation *says, char mark, int number, int depth)
{
    if (mark == VIEW_FUNCTION)
        return (piece){.owner = n, .function = number};
    return (piece){.value = input_of(n, number),
                   .least = mark == '#' ? 0 : least_of(says, number),
                   .depth = depth};
}

/* Pushes a form's pieces, so that the first comes out first. */
static void push_form(printer *p, const node *n, const notation *says, const char *form, int depth)
{
    static const char marks[] = {'$', '#', VIEW_FUNCTION, '\0'};
    const size_t start = p->height;
    size_t from, to;

    while (*form != '\0') {
        const size_t plain_bytes = strcspn(form, marks);
        char *end;

        if (plain_bytes > 0)
            push(p, (piece){.text = arena_copy(p->arena, form, plain_bytes)});
        form += plain_bytes;
        if (*form == '\0')
            break;
        push(p, piece_of(n, says, *form, (int)strtol(form + 1, &end, 10), depth));
        form = end;
    }
    for (from = start, to = p->height; from + 1 < to; from++, to--) {
        const piece first = p->stack[from];

        p->stack[from] = p->stack[to - 1];
        p->stack[to - 1] = first;
    }
}

/* The form with $a replaced by the attributes; NULL if it does not say them. */
static const char *form_with_attrs(printer *p, const node *n, const char *form)
{
    const char *at = form == NULL ? NULL : strstr(form, "$a");

    if (at == NULL)
        return form != NULL && !view_has_attrs(n) ? form : NULL;
    return arena_format(p->arena, "%.*s%s%s", (int)(at - form), form, attrs_text(p, n), at + 2);
}

/* The operation as a call: name($0, $1, axis=1). */
static const char *call_form(printer *p, const node *n)
{
    const int count = view_own_inputs(n);
    const char *result;
    text t;

    text_init(&t);
    text_add(&t, p->style->latex ? escaped(p, "\\operatorname{", n->op->name, "}") : n->op->name);
    text_add(&t, p->style->open);
    for (int i = 0; i < count; i++)
        text_addf(&t, n->inputs[i].node == NULL ? "%sNone" : "%s#%d", i > 0 ? ", " : "", i);
    if (view_has_attrs(n)) {
        text_addf(&t, "%s%s", count > 0 ? ", " : "", attrs_text(p, n));
    }
    text_add(&t, p->style->close);
    result = text_copy(&t, p->arena);
    text_clear(&t);
    return result;
}

/* ---- Values
 * ------------------------------------------------------------------------------------------ */

static void write_apply(printer *p, value v, int least, int depth)
{
    const node *n = v.node;
    const notation *says = notation_of(n->op);
    const char *form = form_with_attrs(p, n, p->style->latex ? says->latex : says->plain);
    const bool wrapped = form != NULL && says->precedence < least;

    if (n->output_count > 1)
        push(p,
             (piece){.text = arena_format(p->arena, p->style->latex ? "_{%d}" : "[%d]", v.index)});
    if (wrapped)
        push(p, (piece){.text = p->style->close});
    push_form(p, n, says, form != NULL ? form : call_form(p, n), depth + 1);
    if (wrapped)
        push(p, (piece){.text = p->style->open});
}

/* Writes a value by its name; remembers to say what it is. */
static void write_named(printer *p, value v)
{
    const node *n = v.node;

    text_add(*p->out, set_name(p, p->names[n->id]));
    if (n->output_count > 1)
        text_addf(*p->out, p->style->latex ? "_{%d}" : "[%d]", v.index);
    if (p->uses[n->id] > 0)
        p->queue[p->queued++] = n;
    p->uses[n->id] = 0;
}

static void write_value(printer *p, const piece *x)
{
    const node *n = x->value.node;

    while (p->names != NULL && n != NULL && p->captured[n->id].node != NULL) {
        const value v = p->captured[n->id];

        p = p->outer;
        n = v.node;
        if (p->names[n->id] != NULL) {
            write_named(p, v);
            return;
        }
    }
    if (n == NULL)
        text_add(*p->out, "None");
    else if (p->names != NULL && p->names[n->id] != NULL)
        write_named(p, x->value);
    else if (n->constant != NULL) {
        const char *literal = constant_text(p, n->constant);
        const bool wrapped = literal[0] == '-' && x->least > 7;

        text_addf(*p->out, wrapped ? "(%s)" : "%s", literal);
    } else if (n->op == &op_input)
        text_add(*p->out, set_name(p, p->names != NULL ? p->params[n->id] : n->name));
    else if (p->depth_max > 0 && x->depth >= p->depth_max)
        text_add(*p->out, "…");
    else
        write_apply(p, x->value, x->least, x->depth);
}

static void write_function(printer *p, const node *n, int function);

static void write_all(printer *p)
{
    while (p->height > 0) {
        const piece x = p->stack[--p->height];

        if (x.text != NULL)
            text_add(*p->out, x.text);
        else if (x.owner != NULL)
            write_function(p, x.owner, x.function);
        else
            write_value(p, &x);
    }
}

/* name = formula, for each that was named on the way. */
static void write_named_formulas(printer *p)
{
    for (int i = 0; i < p->queued; i++) {
        const value v = {(node *)p->queue[i], 0};
        const notation *says = notation_of(v.node->op);
        const char *form = form_with_attrs(p, v.node, p->style->latex ? says->latex : says->plain);

        text_add(*p->out, i == 0 ? p->style->where : p->style->and);
        text_addf(*p->out, "%s = ", set_name(p, p->names[v.node->id]));
        push_form(p, v.node, says, form != NULL ? form : call_form(p, v.node), 1);
        write_all(p);
    }
}

/* ---- Graphs
 * -------------------------------------------------------------------------------------------- */

static printer printer_of(const graph *g, const style *s, arena *a, text **out, printer *outer)
{
    printer p = {.style = s, .arena = a, .out = out, .graph = g, .outer = outer};
    const size_t n = (size_t)g->count + 1;

    p.uses = arena_array(a, n, sizeof *p.uses);
    p.sizes = arena_array(a, n, sizeof *p.sizes);
    p.inside = arena_array(a, n, sizeof *p.inside);
    p.names = arena_array(a, n, sizeof *p.names);
    p.params = arena_array(a, n, sizeof *p.params);
    p.captured = arena_array(a, n, sizeof *p.captured);
    p.queue = arena_array(a, n, sizeof *p.queue);
    table_init(&p.taken, a);
    table_init(&p.numbers, a);
    find_names(&p);
    return p;
}

/* The outputs, then what was named on the way. */
static void write_graph(printer *p)
{
    const graph *g = p->graph;
    const bool is_tuple = p->outer != NULL && g->output_count != 1;

    text_add(*p->out, is_tuple ? p->style->open : "");
    for (int i = 0; i < g->output_count; i++) {
        text_add(*p->out, i > 0 ? p->style->and : "");
        push(p, (piece){.value = g->outputs[i]});
        write_all(p);
    }
    text_add(*p->out, is_tuple ? p->style->close : "");
    write_named_formulas(p);
}

/* lambda x, y: .. for the function in an attribute of n, in parentheses if it has names of
 * its own. Calls itself for functions in it, whose nesting is bounded. */
static void write_function(printer *p, const node *n, int function)
{
    const graph *g = n->attrs[function].graph;
    text *const before = *p->out;
    text body;
    printer inner;

    if (p->names == NULL) {
        text_add(before, "lambda: ...");
        return;
    }
    text_init(&body);
    inner = printer_of(g, p->style, p->arena, p->out, p);
    *p->out = &body;
    text_add(&body, p->style->lambda);
    for (int i = 0; i < graph_param_count(g); i++)
        text_addf(&body, "%s%s", i > 0 ? ", " : " ",
                  set_name(p, inner.params[g->inputs[i].node->id]));
    text_add(&body, p->style->gives);
    write_graph(&inner);
    *p->out = before;
    text_addf(before, inner.queued > 0 ? "%s%s%s" : "%.0s%s%.0s", p->style->open, body.bytes,
              p->style->close);
    text_clear(&body);
}

static void print(const graph *g, const style *s, text *t)
{
    arena *a = arena_new();
    printer p = printer_of(g, s, a, &t, NULL);

    text_add(t, "");
    write_graph(&p);
    text_add_char(t, '\n');
    arena_free(a);
}

void view_pretty(const graph *g, text *t)
{
    print(g, &plain, t);
}

void view_latex(const graph *g, text *t)
{
    print(g, &latex, t);
}

void view_value(value v, int depth, text *t)
{
    printer p = {.style = &plain, .arena = arena_new(), .out = &t, .depth_max = depth};

    push(&p, (piece){.value = v});
    write_all(&p);
    arena_free(p.arena);
}
