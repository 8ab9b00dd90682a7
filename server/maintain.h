/* maintain -- the commands that care for a data directory whose server does not run. */
#pragma once

#include "server/config.h"
#include "storage/storage.h"

/* Opens the data directory as it is configured; its lock is ours from then on. */
storage *maintain_open(const config *c, error *err);

/* Notes in DATA/url where the server can be asked, for tensord login. */
bool maintain_note_url(const config *c, const char *url, error *err);

/* Does what the command says; returns the exit code. */
int maintain(const config *c);
