/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/nearest.h"

static const config_row rows[CONFIG_SETTINGS] = {
#define SETTING(id, type, fallback, least, most, doc)                                              \
    {#id, TYPE_##type, fallback, NULL, least, most, ERR_NONE, doc, offsetof(config, id)},
#define CHOICE(id, fallback, choices, doc)                                                         \
    {#id, TYPE_CHOICE, fallback, choices, 0, 0, ERR_NONE, doc, offsetof(config, id)},
#define LIMIT(id, type, fallback, least, most, error, doc)                                         \
    {#id, TYPE_##type, fallback, NULL, least, most, ERR_##error, doc, offsetof(config, id)},
#include "server/config.def"
#undef SETTING
#undef CHOICE
#undef LIMIT
};

enum { AUTO = -1 }; /* a number to be found at start */

/* More than one, so that a small one need not wait until a large one has ended: the system
 * shares the cores among them. */
enum { EVALUATIONS_A_CORE = 8 };

typedef struct unit {
    const char *name;
    int64_t size;
} unit;

/* The largest first, so that printing takes the largest that divides. */
static const unit byte_units[] = {{"TiB", 1LL << 40}, {"GiB", 1LL << 30},
                                  {"MiB", 1LL << 20}, {"KiB", 1LL << 10},
                                  {"T", 1LL << 40},   {"G", 1LL << 30},
                                  {"M", 1LL << 20},   {"K", 1LL << 10},
                                  {"B", 1},           {"", 1},
                                  {NULL, 0}};
static const unit time_units[] = {{"h", 3600000000}, {"min", 60000000}, {"s", 1000000},
                                  {"ms", 1000},      {"us", 1},         {NULL, 0}};
static const unit no_units[] = {{"", 1}, {NULL, 0}};

const config_row *config_row_of(int i)
{
    return &rows[i];
}

static const unit *units_of(const config_row *row)
{
    return row->type == TYPE_BYTES ? byte_units : row->type == TYPE_US ? time_units : no_units;
}

static bool is_number(const config_row *row)
{
    return row->type >= TYPE_COUNT;
}

static const char **text_at(config *c, const config_row *row)
{
    return (const char **)(void *)((char *)c + row->offset);
}

static int64_t *number_at(config *c, const config_row *row)
{
    return (int64_t *)(void *)((char *)c + row->offset);
}

int64_t config_number(const config *c, const config_row *row)
{
    return *(const int64_t *)(const void *)((const char *)c + row->offset);
}

static const char *text_of(const config *c, const config_row *row)
{
    return *(const char *const *)(const void *)((const char *)c + row->offset);
}

/* ---- Reading one value ------------------------------------------------------ */

static bool read_number(const config_row *row, const char *value, int64_t *result, error *err)
{
    const unit *u = units_of(row);
    char *end;
    int64_t n;

    errno = 0;
    n = strtoll(value, &end, 10);
    if (end == value || errno != 0)
        return error_set(err, ERR_VALUE, "%s must be a number, not '%s'", row->name, value);
    end += strspn(end, " ");
    while (u->name != NULL && strcmp(u->name, end) != 0)
        u++;
    if (u->name == NULL)
        return error_set(err, ERR_VALUE, "%s: '%s' has no unit that is known here (%s)", row->name,
                         value, row->type == TYPE_US ? "ms, s, min, h" : "KiB, MiB, GiB");
    if (__builtin_mul_overflow(n, u->size, &n) || n < row->least || n > row->most)
        return error_set(err, ERR_VALUE,
                         "%s must be from %" PRId64 " to %" PRId64 "%s, and '%s' is not", row->name,
                         row->least, row->most, row->type == TYPE_US ? " us" : "", value);
    *result = n;
    return true;
}

static bool take_number(config *c, const config_row *row, const char *value, error *err)
{
    if (strcmp(value, "auto") == 0 && strcmp(row->fallback, "auto") == 0) {
        *number_at(c, row) = AUTO;
        return true;
    }
    if (strcmp(value, "none") == 0 && strcmp(row->fallback, "none") == 0) {
        *number_at(c, row) = CONFIG_NONE;
        return true;
    }
    return read_number(row, value, number_at(c, row), err);
}

/* Whether word is one of the words in choices, which | separates. */
static bool is_choice(const char *choices, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = choices; *at != '\0';) {
        size_t length = strcspn(at, "|");

        if (length == n && strncmp(at, word, n) == 0)
            return true;
        at += length;
        at += *at == '|';
    }
    return false;
}

static bool take_text(config *c, const config_row *row, const char *value, error *err)
{
    if (row->type == TYPE_CHOICE && !is_choice(row->choices, value))
        return error_set(err, ERR_VALUE, "%s must be one of %s, not '%s'", row->name, row->choices,
                         value);
    *text_at(c, row) = arena_copy(c->arena, value, strlen(value));
    return true;
}

/* Sets row's value because source says so. A list that the same source sets
 * again grows. */
static bool take_value(config *c, const config_row *row, const char *value, const char *source,
                       error *err)
{
    const char **said_by = &c->source[row - rows];

    if (row->type == TYPE_LIST && *said_by != NULL && strcmp(*said_by, source) == 0)
        value = arena_format(c->arena, "%s,%s", *text_at(c, row), value);
    *said_by = source;
    return is_number(row) ? take_number(c, row, value, err) : take_text(c, row, value, err);
}

/* ---- Names ------------------------------------------------------------------ */

/* Whether said names row: dashes and underscores are the same. */
static bool names_row(const config_row *row, const char *said, size_t n)
{
    if (strlen(row->name) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((said[i] == '-' ? '_' : said[i]) != row->name[i])
            return false;
    return true;
}

static const config_row *find_row(const char *said, size_t n)
{
    for (int i = 0; i < CONFIG_SETTINGS; i++)
        if (names_row(&rows[i], said, n))
            return &rows[i];
    return NULL;
}

/* name as it is written in a flag, in an arena. */
char *config_flag(arena *a, const char *name)
{
    char *flag = arena_format(a, "--%s", name);

    for (char *p = flag; *p != '\0'; p++)
        if (*p == '_')
            *p = '-';
    return flag;
}

/* Offers the flag that said was probably meant to be. */
static bool suggest_flag(config *c, const char *said, error *err)
{
    static const char *const others[] = {"--help", "--version", "--print-config", "--config",
                                         "--write-api"};
    nearest n = nearest_to(said, 3);

    for (int i = 0; i < CONFIG_SETTINGS + (int)(sizeof others / sizeof *others); i++)
        nearest_offer(&n, i < CONFIG_SETTINGS ? config_flag(c->arena, rows[i].name)
                                              : others[i - CONFIG_SETTINGS]);
    return error_suggest(err, n.word);
}

/* ---- Sources ---------------------------------------------------------------- */

static void take_defaults(config *c)
{
    error err = {0};

    for (int i = 0; i < CONFIG_SETTINGS; i++)
        if (!take_value(c, &rows[i], rows[i].fallback, "default", &err))
            abort(); /* a row of config.def contradicts itself */
}

static char *trimmed(char *text)
{
    char *end = text + strlen(text);

    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return text + strspn(text, " \t");
}

static bool take_line(config *c, char *line, const char *path, int number, error *err)
{
    const char *where = arena_format(c->arena, "%s:%d", path, number);
    char *equals, *key;
    const config_row *row;

    line[strcspn(line, "#\n")] = '\0';
    key = trimmed(line);
    if (*key == '\0')
        return true;
    equals = strchr(key, '=');
    if (equals == NULL)
        return error_set(err, ERR_VALUE, "%s: a line is key = value", where);
    *equals = '\0';
    key = trimmed(key);
    row = find_row(key, strlen(key));
    if (row == NULL) {
        error_set(err, ERR_VALUE, "%s: there is no setting '%s'", where, key);
        return suggest_flag(c, config_flag(c->arena, key), err);
    }
    return take_value(c, row, trimmed(equals + 1), where, err);
}

/* Reads a configuration file; a missing one is an error only if it must exist. */
static bool take_file(config *c, const char *path, bool must_exist, error *err)
{
    FILE *file = fopen(path, "re");
    char line[4096];
    bool ok = true;

    if (file == NULL && !must_exist)
        return true;
    if (file == NULL)
        return error_set(err, ERR_VALUE, "%s: %s", path, strerror(errno));
    for (int number = 1; ok && fgets(line, sizeof line, file) != NULL; number++)
        ok = take_line(c, line, path, number, err);
    fclose(file);
    return ok;
}

static bool take_files(config *c, const char *chosen, error *err)
{
    const char *home = getenv("XDG_CONFIG_HOME"), *user = getenv("HOME");

    if (chosen == NULL)
        chosen = getenv("TENSORD_CONFIG");
    if (chosen != NULL)
        return take_file(c, arena_copy(c->arena, chosen, strlen(chosen)), true, err);
    if (!take_file(c, "/etc/tensord/config", false, err))
        return false;
    if (home != NULL && *home != '\0')
        return take_file(c, arena_format(c->arena, "%s/tensord/config", home), false, err);
    if (user != NULL && *user != '\0')
        return take_file(c, arena_format(c->arena, "%s/.config/tensord/config", user), false, err);
    return true;
}

static bool take_environment(config *c, error *err)
{
    for (int i = 0; i < CONFIG_SETTINGS; i++) {
        char *name = arena_format(c->arena, "TENSORD_%s", rows[i].name);
        const char *value;

        for (char *p = name; *p != '\0'; p++)
            *p = (char)toupper((unsigned char)*p);
        value = getenv(name);
        if (value != NULL && !take_value(c, &rows[i], value, "environment", err))
            return false;
    }
    return true;
}

/* ---- The command line ------------------------------------------------------- */

/* The argument at argv[*i], seen as --name=value or --name and a value behind it. */
typedef struct flag {
    const char *name; /* without the dashes */
    size_t length;
    const char *value; /* NULL: none was given */
} flag;

static flag read_flag(int argc, char **argv, int i)
{
    flag f = {.name = argv[i] + 2};
    const char *equals = strchr(f.name, '=');

    f.length = equals != NULL ? (size_t)(equals - f.name) : strlen(f.name);
    if (equals != NULL)
        f.value = equals + 1;
    else if (i + 1 < argc)
        f.value = argv[i + 1];
    return f;
}

static bool flag_is(const flag *f, const char *name)
{
    return strlen(name) == f->length && strncmp(f->name, name, f->length) == 0;
}

/* Takes a flag that has no value. False if it is not one. */
static bool take_plain_flag(config *c, const flag *f)
{
    static const struct {
        const char *name;
        config_command command;
    } plain[] = {{"help", COMMAND_HELP},
                 {"version", COMMAND_VERSION},
                 {"print-config", COMMAND_PRINT_CONFIG}};

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (!flag_is(f, plain[i].name))
            continue;
        if (c->command < COMMAND_HELP)
            c->command = plain[i].command;
        return true;
    }
    return false;
}

/* The member for a flag of the command token, which is no setting; NULL if it is none. */
static const char **token_flag(config *c, const flag *f)
{
    if (c->command != COMMAND_TOKEN)
        return NULL;
    return flag_is(f, "prefix") ? &c->prefixes : flag_is(f, "expires") ? &c->expires : NULL;
}

/* The value of a flag that is given again is added to what there is. */
static void take_token_flag(config *c, const char **member, const char *value)
{
    *member = *member == NULL ? value : arena_format(c->arena, "%s,%s", *member, value);
}

static bool take_valued_flag(config *c, const flag *f, const char *said, error *err)
{
    const config_row *row = find_row(f->name, f->length);
    const char **of_token = token_flag(c, f);

    if (row == NULL && of_token == NULL && !flag_is(f, "config") && !flag_is(f, "write-api")) {
        error_set(err, ERR_VALUE, "there is no flag %s", said);
        return suggest_flag(c, arena_format(c->arena, "--%.*s", (int)f->length, f->name), err);
    }
    if (f->value == NULL)
        return error_set(err, ERR_VALUE, "%s needs a value", said);
    if (flag_is(f, "write-api")) {
        c->command = COMMAND_WRITE_API;
        c->api_directory = f->value;
    }
    if (of_token != NULL)
        take_token_flag(c, of_token, f->value);
    return row == NULL || take_value(c, row, f->value, "flag", err);
}

static bool take_argument(config *c, int argc, char **argv, int *i, error *err)
{
    const char *said = argv[*i];
    flag f;

    if (strcmp(said, "-h") == 0)
        said = argv[*i] = (char *)"--help";
    if (strncmp(said, "--", 2) != 0)
        return error_set(err, ERR_VALUE, "'%s' is neither a command nor a flag; try tensord --help",
                         said);
    f = read_flag(argc, argv, *i);
    if (take_plain_flag(c, &f))
        return true;
    *i += strchr(said, '=') == NULL;
    return take_valued_flag(c, &f, said, err);
}

/* The value of --config, which must be known before files are read. */
static const char *chosen_file(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        flag f;

        if (strncmp(argv[i], "--config", 8) != 0)
            continue;
        f = read_flag(argc, argv, i);
        if (flag_is(&f, "config"))
            return f.value;
    }
    return NULL;
}

const config_word config_commands[] = {
#define COMMAND(id, word, operands, doc) {word, operands, doc},
#include "server/commands.def"
#undef COMMAND
    {NULL, NULL, NULL},
};
enum { COMMANDS = sizeof config_commands / sizeof *config_commands - 1 };

const config_word config_flags[] = {
    {"config", "FILE", "Reads this file alone."},
    {"prefix", "NAME",
     "Of token create: the token is for names that begin so; may be given again."},
    {"expires", "30d", "Of token create: how long the token lasts, in days (d) or hours (h)."},
    {"print-config", "", "Shows every setting and where it came from."},
    {"write-api", "DIR", "Writes the API document and ends."},
    {"version", "", "Shows the version."},
    {"help", "", "Shows this."},
    {NULL, NULL, NULL},
};

/* The command that a word names; COMMANDS: none. */
static int find_command(const char *word)
{
    int i = 0;

    while (i < COMMANDS && strcmp(config_commands[i].word, word) != 0)
        i++;
    return i;
}

/* Takes the words at the beginning that are no flags; returns where the flags begin. */
static int take_command(config *c, int argc, char **argv, error *err)
{
    const int command = argc > 1 ? find_command(argv[1]) : COMMANDS;
    const bool has_operand = command < COMMANDS && config_commands[command].operands[0] != '\0';
    int i = 2;

    if (command == COMMANDS)
        return 1;
    c->command = (config_command)command;
    while (has_operand && i < argc && i - 2 < CONFIG_OPERANDS && strncmp(argv[i], "--", 2) != 0) {
        c->operands[i - 2] = argv[i];
        i++;
    }
    if (has_operand && i == 2)
        error_set(err, ERR_VALUE, "say which: tensord %s %s", argv[1],
                  config_commands[command].operands);
    return i;
}

static bool take_arguments(config *c, int argc, char **argv, error *err)
{
    const int first = take_command(c, argc, argv, err);

    if (error_is_set(err))
        return false;
    if (argc < 2)
        c->command = COMMAND_HELP;
    for (int i = first; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!take_argument(c, argc, argv, &i, err))
            return false;
    if (first == 1 && argc >= 2 && c->command == COMMAND_SERVE)
        return error_set(err, ERR_VALUE, "say what to do: tensord serve");
    return true;
}

/* ---- What is found at start -------------------------------------------------- */

/* The bytes a file holds as a number, or the fallback ("max", no such file). */
static int64_t number_in_file(const char *path, int64_t fallback)
{
    FILE *file = fopen(path, "re");
    long long n;
    bool read;

    if (file == NULL)
        return fallback;
    read = fscanf(file, "%lld", &n) == 1;
    fclose(file);
    return read && n > 0 ? (int64_t)n : fallback;
}

/* Memory that this process may use: the machine's or its control group's. */
static int64_t machine_memory(void)
{
    int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t v2 = number_in_file("/sys/fs/cgroup/memory.max", machine);
    int64_t v1 = number_in_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", machine);
    int64_t least = v1 < v2 ? v1 : v2;

    return least < machine ? least : machine;
}

static int64_t at_least(int64_t n, int64_t least)
{
    return n < least ? least : n;
}

/* What follows from the machine, and from other settings. */
static void settle(config *c)
{
    int64_t cores = at_least(sysconf(_SC_NPROCESSORS_ONLN), 1);

    if (c->threads == AUTO)
        c->threads = cores;
    if (c->evaluations_max == AUTO)
        c->evaluations_max = EVALUATIONS_A_CORE * cores;
    if (c->jobs_running_max == AUTO)
        c->jobs_running_max = at_least(cores / 2, 1);
    if (c->http_threads == AUTO)
        c->http_threads = cores > 8 ? 8 : at_least(cores, 2);
    if (c->memory_bytes_max == AUTO)
        c->memory_bytes_max = at_least(machine_memory() / 10 * 7, 64 << 20);
    if (c->plan_bytes_max > c->memory_bytes_max) /* what would never have room is refused at once */
        c->plan_bytes_max = c->memory_bytes_max;
}

static void start_empty(config *c)
{
    memset(c, 0, sizeof *c);
    c->arena = arena_new();
    take_defaults(c);
}

void config_load_defaults(config *c)
{
    start_empty(c);
    settle(c);
}

bool config_load(config *c, int argc, char **argv, error *err)
{
    start_empty(c);
    if (!take_files(c, chosen_file(argc, argv), err) || !take_environment(c, err) ||
        !take_arguments(c, argc, argv, err))
        return false;
    settle(c);
    return true;
}

void config_clear(config *c)
{
    arena_free(c->arena);
    c->arena = NULL;
}

/* ---- Showing ---------------------------------------------------------------- */

void config_add_value(const config *c, const config_row *row, text *to)
{
    const unit *u = units_of(row);
    int64_t n;

    if (!is_number(row)) {
        text_add(to, text_of(c, row));
        return;
    }
    n = config_number(c, row);
    if (n == CONFIG_NONE) {
        text_add(to, "none");
        return;
    }
    while (u[1].name != NULL && (n == 0 || n % u->size != 0))
        u++;
    text_addf(to, "%" PRId64 "%s%s", n / u->size, *u->name == '\0' ? "" : " ", u->name);
}

void config_add_listing(const config *c, text *to)
{
    for (int i = 0; i < CONFIG_SETTINGS; i++) {
        text value;

        text_init(&value);
        config_add_value(c, &rows[i], &value);
        text_addf(to, "%-28s = %-24s # %s\n", rows[i].name, value.bytes, c->source[i]);
        text_clear(&value);
    }
}
