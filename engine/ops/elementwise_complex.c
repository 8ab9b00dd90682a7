/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ops/elementwise.h"

#define T                  float _Complex
#define R                  float
#define PARTS(re, im)      __builtin_complex((R)(re), (R)(im))
#define SUFFIX             c64
#define COLUMN(b, i, f, c) c
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/complexes.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"
#undef PARTS

#define T                  double _Complex
#define R                  double
#define PARTS(re, im)      __builtin_complex((R)(re), (R)(im))
#define SUFFIX             c128
#define COLUMN(b, i, f, c) c
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/complexes.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"
#undef PARTS
