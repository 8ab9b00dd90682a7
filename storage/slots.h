/* slots -- the files of chunked arrays: places of a MiB each, taken and given back (private to
 * storage).
 *
 * Such an array is cut into chunks of a MiB, and each lies in a slot of its file, in any order;
 * the index says which chunk is where, beside the checksums. A change writes the chunks that it
 * touches to slots that nobody uses and shares the others with the array that it comes from. So
 * the generations of a variable share one file, none is ever changed, and what a crash leaves
 * behind are slots that no map names.
 *
 * A slot is used by every content that has it, from the moment it is taken until the index has
 * forgotten the content, on the disk; and by every mapping of it. After that its blocks are
 * given back to the file system by the writer thread, which punches a hole, and it may be taken
 * again. The file goes with the last content.
 *
 * Threads: any, but where the writer's is said. One lock guards them all; storage's lock is taken
 * while it is held, never the other way. */
#pragma once

#include "storage/private.h"

enum { SLOT_BYTES = CHUNK_BYTES };
#define SLOT_NONE UINT32_MAX

/* ---- Files ------------------------------------------------------------------------------- */

/* The slots of the file of that name, of which nothing is known yet, with a reference. They may
 * outlive s. */
slots *slots_new(storage *s, const uint8_t file[FILE_ID_BYTES]);
slots *slots_ref(slots *f);
void slots_unref(slots *f);

/* The storage closes: what lives on must not touch it any more. */
void slots_close(storage *s);

/* Makes c, which is new, a content in that file, with a map of no slots yet. */
void slots_join(slots *f, content *c);

/* The index has forgotten c: its slots are used by it no longer, and the file is removed if c was
 * the last. The writer's, and only while the storage can write. */
void slots_drop(content *c);

/* Whether the file's name is on the disk; that it is. */
bool slots_are_named(const slots *f);
void slots_set_named(slots *f);

/* ---- Slots ------------------------------------------------------------------------------- */

/* Takes the n lowest slots that nobody uses for c's chunks from first on, and sets their blocks
 * aside in the open file. ERR_QUOTA, ERR_DISK, ERR_STORAGE; none is taken then. */
bool slots_take(content *c, int fd, int64_t first, int64_t n, error *err);

/* Uses n slots of a map once more, and once less; places without a slot are passed over. */
void slots_use(slots *f, const uint32_t *map, int64_t n);
void slots_leave(slots *f, const uint32_t *map, int64_t n);

/* What nobody uses of a file of that many bytes may hold leftovers: it is to be emptied. Not if a
 * map of the file was lost. */
void slots_doubt(slots *f, int64_t bytes);

/* A map of the file is lost: from now on no slot is emptied. */
void slots_keep_all(slots *f);

/* Gives the blocks of what nobody uses any more back to the file system. The writer's. */
void slots_empty_left(storage *s);
