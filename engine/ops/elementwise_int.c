/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ops/elementwise.h"

#define T                  int8_t
#define R                  int8_t
#define SIGNED             1
#define SUFFIX             i8
#define COLUMN(b, i, f, c) i
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/integers.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"
#undef SIGNED

#define T                  int16_t
#define R                  int16_t
#define SIGNED             1
#define SUFFIX             i16
#define COLUMN(b, i, f, c) i
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/integers.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"
#undef SIGNED

#define T                  int32_t
#define R                  int32_t
#define SIGNED             1
#define SUFFIX             i32
#define COLUMN(b, i, f, c) i
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/integers.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"
#undef SIGNED

#define T                  int64_t
#define R                  int64_t
#define SIGNED             1
#define SUFFIX             i64
#define COLUMN(b, i, f, c) i
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/integers.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"
#undef SIGNED
