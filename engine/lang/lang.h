/* lang -- program text to graphs, and graphs back to text.
 *
 * A program is traced: its statements run once, while the graph is built, on
 * values that are either known then (numbers, tuples, names of element types,
 * functions) or values of the graph. What stays in the graph is what has to be
 * computed. So functions cost nothing when the graph runs, a shape that is known
 * can decide which way a program goes, and control flow that depends on data is
 * an operation with a sub-graph.
 *
 * Text becomes a flat list of instructions (code.h), which a stack machine runs
 * (tracer.h). Nesting is bounded, everything else is linear: no text makes the
 * process run out of stack or of time.
 *
 * There are two dialects: Python's expression syntax over NumPy's names, and
 * the small tensor language. grammar.md is the reference of both.
 *
 * Lifetimes: everything made here lives in the arena of the graph.
 *
 * Reading order: lang.h, grammar.md, lexer.h, code.h, parser.c, statements.c,
 * scalar.h, tracer.h, evaluate.c, operators.c, names.c, attribute.c, call.c,
 * kept.c, bind.c, defined.c, builtin.c, derivative.c, index.c, convert.c, body.c, build.c;
 * dialect_tensor.c; print.c, show.c; key.c. */
#pragma once

#include "engine/base/text.h"
#include "engine/graph/graph.h"

/* ---- Values ----------------------------------------------------------------- */

typedef enum lang_kind {
    LANG_NONE,
    LANG_NUMBER, /* known while the graph is built: a weak scalar */
    LANG_TENSOR, /* a value of the graph */
    LANG_TEXT,
    LANG_DTYPE,
    LANG_TUPLE,
    LANG_LIST, /* a sequence until an array is needed */
    LANG_ELLIPSIS,
    LANG_SLICE,    /* three items: start, stop, step */
    LANG_FUNCTION, /* made by def or lambda */
    LANG_NATIVE,   /* a function that is no text */
    LANG_OP,
    LANG_METHOD,  /* an operation with its first argument */
    LANG_BUILTIN, /* a function of the language itself: print, len .. */
    LANG_MODULE,  /* the first part of a dotted name */
    LANG_ATTR,    /* an attribute that the language has no word for */
    LANG_DELETED  /* the name was deleted */
} lang_kind;

typedef enum lang_number_class {
    LANG_BOOL,
    LANG_INT,  /* fits int64 */
    LANG_UINT, /* above int64, fits uint64 */
    LANG_FLOAT,
    LANG_COMPLEX
} lang_number_class;

typedef struct lang_value lang_value;

typedef struct lang_sequence {
    int count;
    lang_value *items;
    value array; /* made when first needed; no node before */
} lang_sequence;

struct lang_value {
    lang_kind kind;
    lang_number_class number; /* LANG_NUMBER */
    bool python;              /* LANG_DTYPE: int, float .. rather than int64, float64 .. */
    union {
        int64_t integer; /* LANG_BOOL, LANG_INT */
        uint64_t unsigned_integer;
        double parts[2];  /* LANG_FLOAT: parts[0] */
        const char *text; /* LANG_TEXT, LANG_MODULE */
        dtype dtype;
        lang_sequence *sequence; /* LANG_TUPLE, LANG_LIST, LANG_SLICE */
        const struct lang_function *function;
        const struct lang_native *native;
        const op_def *op; /* LANG_OP */
        const struct lang_method *method;
        const struct lang_builtin *builtin;
        const attr *attr;
    };
    value tensor; /* LANG_TENSOR; LANG_NUMBER: its node if it has one already */
};

/* ---- Building --------------------------------------------------------------- */

typedef enum lang_dialect { LANG_NUMPY, LANG_TENSOR_STATEMENTS } lang_dialect;

typedef struct lang_options {
    lang_dialect dialect;
    size_t text_bytes_max; /* 0: LANG_TEXT_BYTES */
    int64_t steps_max;     /* instructions run while building; 0: LANG_STEPS */
    budget *budget;        /* pays for constants; NULL: nobody does */
    bool keep_calls;       /* calls of the program's functions stay nodes, where they can */
} lang_options;

enum { LANG_TEXT_BYTES = 1 << 20, LANG_STEPS = 4000000 };

/* Where names come from that the program does not assign. */
typedef struct lang_scope {
    void *context;
    /* Sets *result to the value of a name: an input of g, the graph of the whole
     * program; to no node if there is none. Asked at most once a name. False and
     * an error if it cannot be had. */
    bool (*resolve)(void *context, graph *g, const char *name, value *result, error *err);
    /* The nearest name there is, or NULL. May be NULL. */
    const char *(*nearest)(void *context, const char *name);
    /* Sets *result to an operation that the registry does not have, such as a stored
     * graph; to NULL if there is none of this name. May be NULL. */
    bool (*find_op)(void *context, const char *name, const op_def **result, error *err);
    /* As resolve, but of what is stored alone: the value of an input of such an operation
     * that a call leaves out. May be asked again. May be NULL. */
    bool (*resolve_stored)(void *context, graph *g, const char *name, value *result, error *err);
} lang_scope;

/* How an item of a printed line is written. */
typedef enum lang_style {
    LANG_LITERAL, /* text as it is */
    LANG_STR,     /* NumPy's str of the value: lang_show */
    LANG_LISTS,   /* nested lists, [[1, 2], [3, 4]] */
    LANG_SHAPE    /* the lengths of the value, [2, 3] */
} lang_style;

typedef struct lang_printed {
    int line; /* items of one line have the same number, from 0 */
    lang_style style;
    const char *text; /* LANG_LITERAL */
    value value;      /* the others */
} lang_printed;

typedef struct lang_name {
    const char *name;
    lang_value value; /* the last that was assigned */
    long offset;      /* of the name in the text */
} lang_name;

/* What a program says. */
typedef struct lang_program {
    bool is_tuple;    /* the result is a tuple of result_count tensors */
    int result_count; /* 0 and no tuple: there is no result */
    value *results;   /* of the last expression statement that has a value */
    int assigned_count;
    lang_name *assigned; /* in the order of their first assignment */
    int printed_count, line_count;
    lang_printed *printed;
    int deleted_count;
    lang_name *deleted; /* names deleted that the program had not assigned */
} lang_program;

/* Registers lang_expand with the graph. Called once at start, after ops_init. */
void lang_init(void);

/* Traces the program in text (length bytes of UTF-8) into g, an empty graph.
 * Errors carry line, column and the line with a caret. ERR_SYNTAX for what is no
 * program, ERR_UNKNOWN_NAME and ERR_UNKNOWN_OP with the nearest known name, and
 * all that graph_apply gives. Outputs are not added to g: the caller chooses. */
bool lang_build(graph *g, const char *text, size_t length, const lang_options *options,
                const lang_scope *scope, lang_program *result, error *err);

/* The value as one tensor in g: numbers become weak scalars, sequences arrays.
 * ERR_ARGUMENT naming who if it is a function, a text or such. */
bool lang_tensor(graph *g, const lang_value *v, const char *who, value *result, error *err);

/* A value of the graph as a value of the language, and an attribute. */
lang_value lang_of_value(value v);
lang_value lang_of_attr(arena *a, const attr *attr);

/* A value of the graph as lang_of_value has it, but a bare number as one that is
 * known while the graph is built. */
lang_value lang_of_known(value v);

/* A function that gives what it is given. */
lang_value lang_identity(void);

/* What a call of an operation gives its parameter p: a tensor or None, the tuple of
 * tensors of a list, or an attribute in the form in which a call takes it. */
lang_value lang_of_param(arena *a, const op_param *p, const value *inputs, int count,
                         const attr *attrs);

/* Builds a function body, statements followed by an expression or a return, in
 * g. names[i] stands for values[i], n of them; the results (a tuple, if count
 * is not 1) are outputs[0 .. count), without a node where the function gives None.
 * Errors carry no place in the text. */
bool lang_function_build(graph *g, const char *text, const char *const names[],
                         const lang_value *values, int n, value *outputs, int count, error *err);

/* Builds op->lower for these inputs and attributes in g and adds the results as g's
 * outputs: the graph's expander. */
bool lang_expand(graph *g, const op_def *op, const value *inputs, int count, const attr *attrs,
                 error *err);

/* ---- Calls from elsewhere ------------------------------------------------------- */

/* A function that is no text, such as a sub-graph of graph JSON. */
typedef struct lang_native {
    void *context;
    /* Builds the function in g for `count` arguments, tensors that g or a graph around it
     * has (those of a tuple one by one), and sets the outputs, at most OP_OUTPUTS. May be
     * called several times, for other types of arguments. */
    bool (*build)(const struct lang_native *f, graph *g, const value *arguments, int count,
                  value *outputs, int *output_count, error *err);
} lang_native;

/* An argument of a call, by the name of its parameter. */
typedef struct lang_argument {
    const char *name;
    lang_value value;
} lang_argument;

/* Calls the operation op in g, as a program does: also one that the language makes of
 * others, such as map. Sets the outputs, those of tuples one by one. */
bool lang_call(graph *g, const op_def *op, const lang_argument *given, int count,
               value outputs[OP_OUTPUTS], int *output_count, error *err);

/* n values as a list, or as a tuple, in a. */
lang_value lang_sequence_of(arena *a, lang_kind kind, const lang_value *items, int n);

/* ---- Derivatives -------------------------------------------------------------- */

/* A question for gradients: of the sum of all elements of the ys, each times that of
 * its incoming gradient, with respect to each of the wrt. */
typedef struct gradient_query {
    int y_count, wrt_count;
    const value *ys;
    const value *grad_ys; /* NULL, or no node for one of them: ones */
    const value *wrt;
    bool zeros; /* what no y depends on has gradient zero; otherwise it is an error */
} gradient_query;

/* Adds to g, to which all values of the query belong, what computes the gradients, and
 * sets one for each wrt, of its type. The module grad, which lies above, registers the
 * function at start; grad, jacobian and their like in programs call it. */
typedef bool lang_differentiator(graph *g, const gradient_query *query, value *gradients,
                                 error *err);
void lang_set_differentiator(lang_differentiator *differentiator);

/* ---- Keys --------------------------------------------------------------------- */

/* Reads an index key outside of a program, "1:3, ..., None, $1", as graph JSON and
 * addresses have it; $k is the k-th of `operands` tensors. ERR_INDEX otherwise. */
bool lang_index_parse(arena *a, const char *text, size_t length, int operands, attr *result,
                      error *err);

/* ---- Printing --------------------------------------------------------------- */

/* Adds to t a program whose building gives the nodes of g once more, in their
 * order: one statement a node, sub-graphs as functions, and g's outputs as the
 * last expression. Inputs appear as free names. */
void lang_print(const graph *g, text *t);

/* NumPy's str of an array: what print(x) writes. */
void lang_show(const tensor *x, text *t);

/* The elements as nested lists in Python's form: [[1, 2], [3.5, 4.0]]. */
void lang_show_lists(const tensor *x, text *t);

/* One item of a printed line; x is its value's tensor, NULL for LANG_LITERAL. */
void lang_show_item(const lang_printed *item, const tensor *x, text *t);
