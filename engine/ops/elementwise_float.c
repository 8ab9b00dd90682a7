/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ops/elementwise.h"

#define T                  float
#define R                  float
#define SUFFIX             f32
#define COLUMN(b, i, f, c) f
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/floats.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"

#define T                  double
#define R                  double
#define SUFFIX             f64
#define COLUMN(b, i, f, c) f
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/floats.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"
