/* openapi -- the API document and the reference, written from the server's tables.
 *
 * OpenAPI 3.1: paths from the table of routes, parameters from params.def, errors
 * from errors.def, schemas from schemas.def. Nothing in it is said a second time
 * elsewhere, so it cannot disagree with the server. It does not depend on the
 * configuration: two servers of one version give the same bytes. */
#pragma once

#include "engine/base/text.h"

/* Adds the document. */
void openapi_add(text *to);

/* Adds operations.md, the reference of operations. The engine's tables must be ready
 * (engine_init, or ops_init and lang_init). */
void operations_add(text *to);
