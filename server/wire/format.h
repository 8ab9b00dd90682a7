/* format -- the forms in which tensors travel, and how client and server agree.
 *
 * Each form is a row of formats in format.c: the word of ?format=, and the media
 * type of Content-Type and Accept. */
#pragma once

#include <stdbool.h>

#include "engine/base/error.h"
#include "engine/tensor/tensor.h"

typedef enum wire_format {
    WIRE_JSON, /* application/json */
    WIRE_NPY,  /* application/x-npy: one tensor */
    WIRE_NPZ,  /* application/x-npz: several, by name */
    WIRE_RAW,  /* application/octet-stream: the elements, little-endian, C order */
    WIRE_CSV,  /* text/csv: one or two axes, for people; written only */
    WIRE_FORMATS
} wire_format;

/* A set of formats: WIRE_BIT(WIRE_JSON) | WIRE_BIT(WIRE_NPY). */
#define WIRE_BIT(format) (1u << (format))

/* The media type to answer with, and the word of ?format=. */
const char *wire_media_type(wire_format format);
const char *wire_format_name(wire_format format);

/* The format to answer in: what ?format= says, else what Accept likes best among
 * the available ones, the earlier of equals; WIRE_JSON (or the first available)
 * if neither is given. Both may be NULL. False and ERR_ACCEPT, naming what there
 * is, if none will do. */
bool wire_format_choose(const char *accept, const char *parameter, unsigned available,
                        wire_format *result, error *err);

/* The format of a request's body by its Content-Type (NULL: none given, which
 * means JSON if that is available). False and ERR_MEDIA_TYPE otherwise. */
bool wire_format_of_content(const char *content_type, unsigned available, wire_format *result,
                            error *err);

/* What the headers Tensor-Dtype and Tensor-Shape say, for raw bodies and for
 * bfloat16 in npy. */
typedef struct wire_hints {
    bool has_dtype, has_shape;
    dtype dtype;
    shape shape;
} wire_hints;

/* Reads the two headers, either of which may be NULL: a dtype name or typestring;
 * lengths with commas, "2,3", in brackets or parentheses if one likes, nothing for
 * a scalar. False and ERR_DTYPE_NAME, ERR_SHAPE_INVALID otherwise. */
bool wire_hints_parse(const char *dtype_text, const char *shape_text, wire_hints *result,
                      error *err);

/* Writes the value of Tensor-Shape, "2,3", of a scalar "()". Returns to. */
enum { WIRE_SHAPE_MAX = RANK_MAX * 17 };
const char *wire_shape_header(const shape *s, char to[WIRE_SHAPE_MAX]);
