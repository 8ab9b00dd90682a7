/* schema -- the tables of the index, as SQL files built into the program.
 *
 * schema/N.sql takes an index from format N - 1 to format N. A file that was released is
 * never changed. */
#pragma once

enum { SCHEMA_FORMAT = 4 };

/* The text of schema/N.sql, for N from 1 to SCHEMA_FORMAT. */
const char *schema_text(int format);
