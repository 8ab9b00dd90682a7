/* op -- what operations exist, one row each.
 *
 * An operation is the address of its row; there is no enum of operations and
 * nobody switches over them. Whoever wants to treat one specially looks at a
 * property of its row. The language, graph JSON, gradients, API document,
 * reference and derived tests all come from the rows.
 *
 * A row says what it means in exactly one of eight ways:
 *   kernel   for each element (rows of elementwise.def)
 *   reduce   folding axes with an elementwise operation
 *   view     an arrangement of the same elements, never a copy
 *   run      a function on whole tensors
 *   control  sub-graphs, evaluated as the row says
 *   lower    a text in our own language that uses other operations
 *   form     what the language makes of it, with functions as arguments (OP_FORM)
 *   body     a graph; such rows are made while the server runs (engine/graph/define.h)
 *
 * Reading order: op.h, type.h, elementwise.def, reductions.c, movement.c,
 * creation.c, linalg.c, registry.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/kernels/kernels.h"
#include "engine/tensor/tensor.h"

typedef struct op_def op_def;
struct graph; /* engine/graph/graph.h */
struct node;

/* What is known of a value before it is computed. */
typedef struct type {
    dtype dtype;
    bool weak; /* a bare number: its kind counts, its width does not */
    shape shape;
} type;

/* ---- Attributes: arguments that are not tensors --------------------------- */

/* An item of an index such as x[1:3, ..., None, i]. */
typedef enum index_kind {
    INDEX_INTEGER,  /* at */
    INDEX_SLICE,    /* start:stop:step, each may be missing */
    INDEX_ELLIPSIS, /* as many whole axes as are left */
    INDEX_NEWAXIS,  /* an axis of length 1 */
    INDEX_TENSOR    /* the operand-th tensor of the call, integer or bool */
} index_kind;

typedef struct index_item {
    index_kind kind;
    int64_t start, stop, step; /* INDEX_INTEGER: start */
    bool has_start, has_stop, has_step;
    int operand; /* INDEX_TENSOR: input of the node, from 1 (input 0 is indexed) */
} index_item;

typedef enum attr_kind {
    ATTR_NONE, /* the language's None, JSON's null */
    ATTR_BOOL,
    ATTR_INT,
    ATTR_FLOAT,
    ATTR_TEXT,
    ATTR_DTYPE,
    ATTR_INTS,   /* a list or tuple of integers */
    ATTR_LIST,   /* any other list */
    ATTR_INDEX,  /* the key of getitem and setitem */
    ATTR_GRAPH,  /* the body of a control flow operation */
    ATTR_DYNAMIC /* a value of the graph, computed before shapes are decided */
} attr_kind;

typedef struct attr {
    attr_kind kind;
    bool truth;
    int64_t integer;
    double real;
    const char *text;
    dtype dtype;                /* ATTR_DTYPE; ATTR_DYNAMIC: of the value */
    int n;                      /* ATTR_INTS, ATTR_LIST, ATTR_INDEX: how many */
    const struct attr *items;   /* ATTR_LIST: n of them */
    const int64_t *ints;        /* ATTR_INTS: INT64_MIN where dynamic[i] decides */
    const struct attr *dynamic; /* ATTR_INTS: n attrs of kind NONE or DYNAMIC, or NULL */
    const index_item *index;    /* ATTR_INDEX */
    struct graph *graph;        /* ATTR_GRAPH */
    struct node *node;          /* ATTR_DYNAMIC: a scalar integer, output `output` */
    int output;
} attr;

/* What a parameter takes. */
typedef enum param_kind {
    PARAM_TENSOR,  /* an input */
    PARAM_TENSORS, /* any number of inputs, given as a list; or the rest */
    PARAM_BOOL,
    PARAM_INT,    /* None allowed where it is the default */
    PARAM_NUMBER, /* ATTR_INT or ATTR_FLOAT */
    PARAM_INTS,   /* an int counts as a list of one: shapes, repetitions */
    PARAM_AXES,   /* None, an int (stays ATTR_INT) or several */
    PARAM_PAIR,   /* an int n, or two lists of as many axes; kept as ATTR_INT, or as
                     ATTR_INTS, the first list before the second */
    PARAM_TEXT,
    PARAM_DTYPE,
    PARAM_INDEX,
    PARAM_SHAPES, /* shapes whose lengths may be None; kept as ATTR_INTS: of each its rank,
                     then its lengths, LENGTH_UNKNOWN for None */
    PARAM_GRAPH,  /* in programs a function; what it is called with, the row's control says */
    PARAM_GRAPHS  /* a list of functions */
} param_kind;

typedef struct op_param {
    const char *name;
    param_kind kind;
    bool has_default; /* a tensor with a default may be missing */
    attr value;       /* the default */
    int position;     /* among the inputs, or among the attributes */
} op_param;

/* ---- Meanings --------------------------------------------------------------- */

/* A call whose types are asked for: the inputs' types and the attributes, in
 * the order of the signature. */
typedef struct op_call {
    const op_def *op;
    int count; /* of inputs */
    const type *inputs;
    const attr *attrs;
    arena *arena;
} op_call;

/* The types of the outputs, or an error that names op and the offending types. */
typedef bool infer_fn(const op_call *call, type *outputs, error *err);

/* A run of an operation on whole tensors. */
typedef struct op_run {
    const op_def *op;
    int count;
    const tensor *inputs;
    const attr *attrs;
    tensor *outputs; /* allocated as inferred; data-dependent ones by the function */
    budget *budget;
    arena *arena;                                    /* for the duration of the run */
    bool (*stopped)(struct op_run *run, error *err); /* ask at least every millisecond */
    /* Calls part(context, i) for i in [0, n) on several threads, each part some
     * 20 to 200 us of work; false if stopped. */
    bool (*parallel)(struct op_run *run, int64_t n, void (*part)(void *context, int64_t i),
                     void *context, error *err);
    /* With block: outputs[0] is some rows of the whole, and inputs[0], unless it is a scalar, those
     * of its rows (of the flattened input, if it has not as many along axis 0); before is the row
     * of the result before them, NULL if there is none. */
    int64_t first_row, whole_rows; /* the first, and how many there are; 0: these are all */
    const void *before;
    void *machine; /* the executor's own */
} op_run;

typedef bool run_fn(op_run *run, error *err);

/* Arranges inputs[0] (its strides, offset and shape are set) as the result. The
 * shape of the result is set already; sets its strides and offset. False if no
 * strides can say it (a reshape of a transposed tensor): the plan then makes
 * the input dense first. */
typedef bool view_fn(const op_call *call, const tensor *input, tensor *result);

/* What a reduction's elements are cast to before they are folded. */
typedef enum accumulate {
    ACCUMULATE_SAME, /* the input's type: max, min */
    ACCUMULATE_WIDE, /* integers as int64 or uint64, bool as int64: sum, prod */
    ACCUMULATE_BOOL, /* truth: any, all */
    ACCUMULATE_MEAN  /* integers and bool as float64 */
} accumulate;

/* What partial results begin with. */
typedef enum fold_start {
    START_ZERO, /* -0.0 for floats: the one number that adds to nothing */
    START_ONE,
    START_LOWEST, /* of the type, -infinity for floats */
    START_HIGHEST
} fold_start;

/* A reduction: folding elements along axes. */
typedef struct reduce_def {
    fold_def fold;
    accumulate accumulate;
    fold_start start;
    bool empty;  /* whether folding nothing gives the start (0 for sums) */
    bool divide; /* by the number of elements, at the end */
} reduce_def;

/* Says to which type each input of a run is cast before; casts[i] is the input's
 * own type at first. */
typedef void cast_fn(const op_call *call, const type *outputs, dtype *casts);

/* What the sub-graphs of an operation are for, and what parameters they get. */
typedef enum control_kind {
    CONTROL_NONE,
    CONTROL_COND,  /* two without parameters: one of them is the result */
    CONTROL_WHILE, /* a condition and a body, both of the loop's variables */
    CONTROL_SCAN   /* a body of carried values and of elements along axis 0 */
} control_kind;

/* The attributes of the rows that loop. */
enum { WHILE_CONDITION, WHILE_BODY, WHILE_LIMIT, WHILE_INVARIANTS };
enum { SCAN_BODY, SCAN_CARRIES, SCAN_LENGTH };

typedef enum op_traits {
    OP_COMMUTES = 1 << 0,   /* f(x, y) is f(y, x), bit for bit */
    OP_WEAK = 1 << 1,       /* of weak scalars only, gives a weak scalar */
    OP_IMPURE = 1 << 2,     /* two calls are two results: never merged */
    OP_DENSE = 1 << 5,      /* run wants its inputs dense */
    OP_MATRICES = 1 << 11,  /* run wants matrices that tensor_matrix can describe */
    OP_CONTROL = 1 << 6,    /* has sub-graphs */
    OP_FORM = 1 << 10,      /* the language makes other operations of a call (forms.c) */
    OP_DATAFLOW = 1 << 13,  /* a form of graph JSON, which makes control flow of it (forms.c) */
    OP_REPORTS = 1 << 3,    /* kernels of integers set kernel_flags: never on padding */
    OP_SHAPE_ONLY = 1 << 4, /* the result follows from the inputs' types alone */
    OP_LIMITS = 1 << 12,    /* bare integers beyond the first input's type limit nothing */
    OP_ASSIGNS = 1 << 9,    /* the last input becomes elements of the first one's type */
    OP_NO_BOOL = 1 << 8,    /* refuses bool rather than computing it as int8 */
    OP_INTS_TO_F64 = 1 << 7 /* integers are computed as float64, however small */
} op_traits;

enum { OP_INPUTS = 4, OP_OUTPUTS = 64, OP_PARAMS = 12 };

struct op_def {
    const char *name;
    const char *aliases; /* separated by blanks; NULL: none */
    /* Parameters in NumPy's order, "x, axis: axes = None, keepdims: bool = False":
     * one without a type is a tensor; "xs: tensors" takes a list of them. */
    const char *signature;
    int outputs; /* 0 counts as 1; -1: as many as the first input has axes */

    infer_fn *infer; /* NULL for elementwise, reduce and lower */

    const char *pattern;         /* elementwise: "TT->T" (see elementwise.def) */
    kernel_fn *kernel[DT_COUNT]; /* by the type T that it computes in */
    const reduce_def *reduce;    /* reductions */
    view_fn *view;
    run_fn *run;
    cast_fn *casts;                          /* with run: NULL if it takes its inputs as they are */
    int64_t (*scratch)(const op_call *call); /* bytes a run takes from its budget besides
                                               its outputs; NULL: none */
    int64_t (*block)(const op_call *call);   /* with run: it may make some rows (of axis 0) at a
                                               time, see op_run; so many, or a multiple of it; 0:
                                               this call may not. NULL: it never may */
    double (*work)(const op_call *call);     /* element operations of a run; NULL: about as many
                                               as there are elements */
    control_kind control;                    /* control flow: what its sub-graphs are for */
    const char *lower;                       /* a function body; parameters by their names */
    const struct graph *body;                /* a graph whose inputs are this one's, in order, */
    int64_t draws;                           /* so many random draws of which name no seed; */
    bool is_seeded;                          /* they have those from first_seed on */
    int64_t first_seed;

    /* Per input: its gradient in our own language. Names: the parameters, r (or
     * r0, r1, ..) the results, g (or g0, ..) the incoming gradients. NULL, and a text
     * that gives None, is zero; for a list of tensors the text gives a tuple. See
     * engine/grad/grad.h for what no text needs to say. */
    const char *grad[OP_INPUTS];
    const char *attr_grad[OP_INPUTS]; /* the same per attribute, for those that are computed */
    bool no_grad;                     /* zero for every input, everywhere: comparisons, floor .. */
    unsigned traits;                  /* op_traits */

    const char *family;          /* heading in the reference */
    const char *doc;             /* one sentence */
    const char *example, *gives; /* a program and its value, both in our language */

    /* Derived at start from signature. */
    int param_count, input_count, attr_count; /* input_count: -1 if it takes a list */
    op_param *params;
};

/* ---- The registry ------------------------------------------------------------ */

/* Reads every row's signature; called once at start, before any other thread. */
void ops_init(void);

/* The operation of a name or alias, in any family; NULL if there is none. */
const op_def *op_find(const char *name, size_t length);

/* The nearest known name, for "did you mean"; NULL if none is near. */
const char *op_nearest(const char *name, size_t length);

/* All rows, in the order of their families; *count tells how many. */
const op_def *const *ops_all(size_t *count);

/* ---- Asking a row ------------------------------------------------------------ */

/* The number of outputs of a call with these inputs, at most OP_OUTPUTS. */
int op_output_count(const op_def *op, const type *inputs);
/* The word of a kind of parameter, as signatures have it: "axes"; "tensor". */
const char *op_param_kind_name(param_kind kind);
/* The parameter of a name, NULL if the operation has none of it. */
const op_param *op_param_find(const op_def *op, const char *name, size_t length);
/* The nearest name of a parameter, for "did you mean"; NULL if none is near. */
const char *op_param_nearest(const op_def *op, const char *name);
/* The index-th input's, or attribute's, parameter. */
const op_param *op_input_param(const op_def *op, int index);
const op_param *op_attr_param(const op_def *op, int index);

/* Whether it stands for what sub-graphs take from around them: no argument of a call. */
bool op_is_captured(const op_def *op, const op_param *p);
/* Whether the operation takes functions. */
bool op_takes_functions(const op_def *op);

/* Turns what a caller wrote for an attribute (NONE, BOOL, INT, FLOAT, TEXT, INTS,
 * DTYPE, DYNAMIC ..) into what the parameter takes: an int into a list of one, a
 * text into a dtype. ERR_ARGUMENT naming op and parameter otherwise. */
bool op_attr_convert(const op_def *op, const op_param *param, attr *value, arena *a, error *err);

/* Whether an attribute says what the parameter's default says. */
bool op_attr_is_default(const op_param *param, const attr *value);

/* Adds an index key as text, 1:3, ..., None, $1; names are those of the call's inputs and
 * stand for $1 and so on, unless they are NULL. */
void op_key_write(const attr *key, const char *const *names, text *t);

/* The types of the outputs (of at least op_output_count(op) elements) for these
 * inputs and attributes. Not for operations with lower, which the graph expands. */
bool op_infer(const op_call *call, type *outputs, error *err);

/* The type in which an elementwise operation computes these inputs; sets nothing
 * and gives ERR_DTYPE if it takes none. Also says, per input, the type to which
 * the input is cast before (casts may be NULL). */
bool op_loop(const op_call *call, dtype *loop, dtype *casts, error *err);
