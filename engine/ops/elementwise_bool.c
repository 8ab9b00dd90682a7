/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ops/elementwise.h"

#define T                  bool
#define R                  bool
#define SUFFIX             b8
#define COLUMN(b, i, f, c) b
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/elementwise.tmpl.h"
