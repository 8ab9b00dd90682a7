/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ops/elementwise.h"

#define T                  uint8_t
#define R                  uint8_t
#define SIGNED             0
#define SUFFIX             u8
#define COLUMN(b, i, f, c) i
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/integers.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"
#undef SIGNED

#define T                  uint16_t
#define R                  uint16_t
#define SIGNED             0
#define SUFFIX             u16
#define COLUMN(b, i, f, c) i
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/integers.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"
#undef SIGNED

#define T                  uint32_t
#define R                  uint32_t
#define SIGNED             0
#define SUFFIX             u32
#define COLUMN(b, i, f, c) i
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/integers.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"
#undef SIGNED

#define T                  uint64_t
#define R                  uint64_t
#define SIGNED             0
#define SUFFIX             u64
#define COLUMN(b, i, f, c) i
#define ROWS               "engine/ops/elementwise.def"
#include "engine/kernels/integers.tmpl.h"
#include "engine/kernels/elementwise.tmpl.h"
#undef SIGNED
