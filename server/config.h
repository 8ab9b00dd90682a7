/* config -- what the server was told: settings and limits, and who said so.
 *
 * The settings are the rows of config.def. A value comes from, in this order: a
 * flag, the environment (TENSORD_*), the user's configuration file
 * ($XDG_CONFIG_HOME/tensord/config), the machine's (/etc/tensord/config), the
 * row's fallback. With --config FILE (or TENSORD_CONFIG) that file alone is
 * read. A file has lines "key = value"; # begins a comment.
 *
 * Once loaded a configuration does not change, so any thread may read it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

enum { CONFIG_NONE = INT64_MAX }; /* of a limit set to "none" */
enum { CONFIG_OPERANDS = 4 };

typedef const char *config_TEXT;
typedef const char *config_LIST;
typedef int64_t config_COUNT;
typedef int64_t config_BYTES;
typedef int64_t config_US;

enum {
#define SETTING(id, type, fallback, least, most, doc)      CONFIG_##id,
#define CHOICE(id, fallback, choices, doc)                 CONFIG_##id,
#define LIMIT(id, type, fallback, least, most, error, doc) CONFIG_##id,
#include "server/config.def"
#undef SETTING
#undef CHOICE
#undef LIMIT
    CONFIG_SETTINGS
};

/* What the command line asks for. */
typedef enum config_command {
#define COMMAND(id, word, operands, doc) COMMAND_##id,
#include "server/commands.def"
#undef COMMAND
    COMMAND_HELP,
    COMMAND_VERSION,
    COMMAND_PRINT_CONFIG,
    COMMAND_WRITE_API
} config_command;

typedef struct config {
#define SETTING(id, type, fallback, least, most, doc)      config_##type id;
#define CHOICE(id, fallback, choices, doc)                 config_TEXT id;
#define LIMIT(id, type, fallback, least, most, error, doc) config_##type id;
#include "server/config.def"
#undef SETTING
#undef CHOICE
#undef LIMIT
    config_command command;
    const char *operands[CONFIG_OPERANDS]; /* of the command; NULL: there is none */
    const char *api_directory;             /* of COMMAND_WRITE_API */
    const char *prefixes, *expires;        /* of COMMAND_TOKEN; NULL: not said */
    const char *source[CONFIG_SETTINGS];   /* who said so: "default", "flag", .. */
    arena *arena;
} config;

typedef enum config_type {
    TYPE_TEXT,
    TYPE_LIST,
    TYPE_CHOICE,
    TYPE_COUNT,
    TYPE_BYTES,
    TYPE_US
} config_type;

/* A row of config.def. */
typedef struct config_row {
    const char *name;
    config_type type;
    const char *fallback, *choices; /* choices: NULL unless TYPE_CHOICE */
    int64_t least, most;
    error_kind error; /* ERR_NONE: a setting, not a limit */
    const char *doc;
    size_t offset; /* in struct config */
} config_row;

/* A command, or a flag that is no setting (without its dashes): what follows it, "" if nothing
 * does, and what it does. */
typedef struct config_word {
    const char *word, *operands, *doc;
} config_word;

/* All of them; the last has no word. */
extern const config_word config_commands[], config_flags[];

/* The row of setting i, 0 to CONFIG_SETTINGS - 1. */
const config_row *config_row_of(int i);

/* The flag of a setting's name, in a: --log-level of log_level. */
char *config_flag(arena *a, const char *name);

/* Reads the command line, the environment and the files. False and ERR_VALUE,
 * with the nearest known flag as suggestion, if something is not understood. c
 * must be released with config_clear in either case. */
bool config_load(config *c, int argc, char **argv, error *err);

/* As config_load, with nothing said: every value is its row's fallback. */
void config_load_defaults(config *c);

void config_clear(config *c);

/* The number of a row's setting; only for the types COUNT, BYTES and US. */
int64_t config_number(const config *c, const config_row *row);

/* Adds the value of a row's setting as it would be written in a file. */
void config_add_value(const config *c, const config_row *row, text *to);

/* Adds the text of --print-config. */
void config_add_listing(const config *c, text *to);
