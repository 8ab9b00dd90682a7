/* ballast -- room that is given up once the disk is full (private to storage).
 *
 * What is kept free of the disk is respected by our own writes alone. If others fill it, even a
 * deletion may find no room in the index; so on a large disk a file holds some, which the writer
 * removes then, and makes anew when there is plenty of room again. */
#pragma once

#include "storage/private.h"

/* Makes the ballast if there is none and the disk has plenty of room; otherwise nothing. */
void ballast_keep(storage *s);

/* Whether there was one; there is none any more. */
bool ballast_give_up(storage *s);
