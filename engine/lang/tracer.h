/* tracer -- runs the code of a program while it builds the graph.
 *
 * A stack machine over lang_values. Names live in environments, one for the
 * program and one for each running call; the graph under construction is the
 * program's, or a sub-graph while the body of a control flow operation is
 * traced. Values of enclosing graphs may be used freely: graph_apply captures.
 *
 * Bounds: options.steps_max instructions, TRACER_DEPTH calls within each other,
 * and what the graph allows in nodes. */
#pragma once

#include "engine/base/table.h"
#include "engine/lang/code.h"

enum { TRACER_DEPTH = 100, CALL_STEPS = 32 };

typedef struct binding {
    lang_value value;
    long offset; /* in the text, of the first assignment */
} binding;

typedef struct environment {
    table names;               /* of bindings */
    struct environment *outer; /* where its function was made */
} environment;

typedef struct lang_function {
    const code_function *head;
    size_t body; /* its first instruction */
    int length;
    const lang_value *defaults;
    environment *outer;
    bool active; /* it is running */
} lang_function;

typedef struct lang_method {
    const op_def *op;
    lang_value self;
} lang_method;

typedef struct tracer {
    arena *arena;
    graph *root, *graph; /* the program's, the one being built */
    const code *code;
    const lang_options *options;
    const lang_scope *scope; /* NULL: no names from outside */
    environment *global, *local;
    table resolved; /* names from outside: bindings */
    table inlined;  /* heads of functions whose calls cannot be kept */
    lang_value *stack;
    size_t height, room;
    int64_t steps; /* left */
    int depth;
    bool returned;         /* a return ended the code that ran last */
    lang_value result;     /* of the last expression statement */
    long result_offset;    /* where that stands in the text */
    lang_program *program; /* what is recorded; NULL for function bodies */
    size_t printed_room, deleted_room;
} tracer;

/* What a call gives: positional values, then those of the keywords. */
typedef struct arguments {
    int count, keyword_count;
    const char *const *keywords;
    const lang_value *values; /* count + keyword_count */
} arguments;

/* ---- Running (evaluate.c) --------------------------------------------------- */

/* A tracer for g with the rest empty. */
void tracer_init(tracer *tr, graph *g, const lang_options *options);

/* Runs n instructions from start. What a return gives lies on the stack then. */
bool tracer_run(tracer *tr, size_t start, int n, error *err);

/* Takes steps from those left; ERR_GRAPH_SIZE if there are not as many. */
bool tracer_charge(tracer *tr, int64_t steps, error *err);

/* Counts a level of calls, within a limit. */
bool tracer_enter(tracer *tr, error *err);
void tracer_leave(tracer *tr);

lang_value *tracer_push(tracer *tr, lang_value v);
lang_value tracer_pop(tracer *tr);

/* The item of a new sequence of n values, copied. */
lang_value tracer_sequence(tracer *tr, lang_kind kind, const lang_value *items, int n);

/* Binds a name in the environment that runs; store also names what the program
 * assigns, for pictures. */
void tracer_bind(tracer *tr, const char *name, const lang_value *v);
void tracer_store(tracer *tr, const char *name, const lang_value *v, long offset);

/* a operator b, numbers folded; comparisons too. */
bool tracer_binary(tracer *tr, token_kind symbol, const lang_value *a, const lang_value *b,
                   lang_value *result, error *err);

/* ---- Names (names.c) -------------------------------------------------------- */

/* The value of a name: the program's, an input or stored variable, a constant,
 * an operation, in that order; ERR_UNKNOWN_NAME or ERR_UNKNOWN_OP otherwise. */
bool name_load(tracer *tr, const char *name, code_use use, lang_value *result, error *err);

/* The value of a name within a module such as linalg, or np itself (""). */
bool name_load_from(tracer *tr, const char *module, const char *name, code_use use,
                    lang_value *result, error *err);

/* Whether the word means something when no program has assigned it: an operation,
 * a function of the language, a constant, an element type. */
bool name_is_taken(const char *name);

/* ---- Attributes of values (attribute.c) ------------------------------------- */

bool attribute_load(tracer *tr, const lang_value *x, const char *name, code_use use,
                    lang_value *result, error *err);

/* The lengths of a value's axes as a tuple, computed where not known. */
bool attribute_shape(tracer *tr, value x, lang_value *result, error *err);

/* ---- Calls (call.c, bind.c, builtin.c) -------------------------------------- */

bool call_value(tracer *tr, const lang_value *callee, const arguments *args, lang_value *result,
                error *err);
bool call_op(tracer *tr, const op_def *op, const arguments *args, lang_value *result, error *err);

/* Calls a function of the program by tracing it into the graph. */
bool call_inline(tracer *tr, lang_function *f, const arguments *args, lang_value *result,
                 error *err);

/* Calls it as a node of its own, if the options ask for that and it can be; otherwise
 * false, nothing done and no error (kept.c). */
bool call_kept(tracer *tr, lang_function *f, const arguments *args, lang_value *result);

/* Calls a function that is no text (native.c). */
bool call_native(tracer *tr, const lang_native *f, const arguments *args, lang_value *result,
                 error *err);

/* A function traced as a closed sub-graph without parameters; says whether it
 * gives a tuple. NULL and an error otherwise. */
graph *call_traced(tracer *tr, const lang_value *function, bool *is_tuple, error *err);
/* The same for n instructions from start. */
graph *call_traced_code(tracer *tr, size_t start, int n, bool *is_tuple, error *err);

/* Adds an item to the printed line that is open; what ends a line is the caller's. */
void tracer_print(tracer *tr, lang_printed item);

/* Operations that the language itself uses. */
typedef enum op_role {
    ROLE_ASTYPE,
    ROLE_STACK,
    ROLE_GETITEM,
    ROLE_SETITEM,
    ROLE_COND,
    ROLE_WHERE,
    ROLE_LOGICAL_AND,
    ROLE_LOGICAL_OR,
    ROLE_LOGICAL_NOT,
    ROLE_NEGATIVE,
    ROLE_POSITIVE,
    ROLE_INVERT,
    ROLE_TRANSPOSE,
    ROLE_SWAPAXES,
    ROLE_SHAPE,
    ROLE_SIZE,
    ROLE_RESHAPE,
    ROLE_TENSORDOT,
    ROLE_RAND,
    ROLE_ZEROS,
    ROLE_ONES,
    ROLE_ZEROS_LIKE,
    ROLE_EYE,
    ROLES
} op_role;

/* The row of a role; NULL and ERR_UNKNOWN_OP if the registry has none. */
const op_def *call_role_op(op_role role, error *err);
/* Its name. */
const char *call_role_name(op_role role);
/* Calls it with positional arguments. */
bool call_role(tracer *tr, op_role role, const lang_value *values, int count, lang_value *result,
               error *err);

typedef bool builtin_fn(tracer *tr, const arguments *args, lang_value *result, error *err);

typedef struct lang_builtin {
    const char *name;
    builtin_fn *run;
} lang_builtin;

/* The values of named parameters, in their order; NULL where none was given. The
 * first `least` are needed. */
bool builtin_take(const char *who, const arguments *args, const char *const *names, int count,
                  int least, const lang_value **taken, error *err);

/* Derivatives of functions (derivative.c). */
builtin_fn derivative_grad, derivative_value_and_grad, derivative_jacobian, derivative_hessian,
    derivative_vjp, derivative_jvp;

/* Loops and choices whose functions have parameters (loops.c). */
builtin_fn loop_while, loop_scan, loop_fori, loop_map, loop_case;

/* The function of the language with this name, or NULL. */
const lang_builtin *builtin_find(const char *name);
/* dtype(x): a number or array of that type. */
bool builtin_convert(tracer *tr, const lang_value *type, const arguments *args, lang_value *result,
                     error *err);

/* The inputs and attributes that a call gives an operation. */
typedef struct bound_call {
    value *inputs;
    int count;
    attr attrs[OP_PARAMS];
    bool is_tuple; /* of the first sub-graph's result */
} bound_call;

bool bind_call(tracer *tr, const op_def *op, const arguments *args, bound_call *call, error *err);

/* The same for an operation whose meaning is a graph (defined.c): inputs that the call
 * leaves out are what is stored under their names. */
bool bind_defined(tracer *tr, const op_def *op, const arguments *args, bound_call *call,
                  error *err);

/* ---- Indices (index.c) ------------------------------------------------------ */

/* The n items of a sequence, or of a tensor along its first axis, as a sequence;
 * n is negative for as many as there are. */
bool index_unpack(tracer *tr, const lang_value *x, int n, lang_value *result, error *err);

/* x[items], and x with v set there. */
bool index_get(tracer *tr, const lang_value *x, const lang_value *items, int n, lang_value *result,
               error *err);
bool index_set(tracer *tr, const lang_value *x, const lang_value *items, int n, const lang_value *v,
               lang_value *result, error *err);

/* ---- Conversions (convert.c) ------------------------------------------------ */

/* The value as a tensor; who is named in errors. */
bool convert_tensor(tracer *tr, const lang_value *v, const char *who, value *result, error *err);

/* The value as an array, of a type if dtype is not NULL; numbers are not weak. */
bool convert_array(tracer *tr, const lang_value *v, const dtype *dtype, value *result, error *err);

/* The value as an attribute of any kind but ATTR_INDEX and ATTR_GRAPH. */
bool convert_attr(tracer *tr, const lang_value *v, attr *result, error *err);

/* A scalar constant's number; false, without an error, if the value is not known. */
bool convert_known(const lang_value *v, lang_value *number);

/* What a value is, for messages: "a tensor". */
const char *convert_describe(const lang_value *v);
