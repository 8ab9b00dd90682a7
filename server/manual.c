/* SPDX-License-Identifier: Apache-2.0 */
#include "server/manual.h"

#include <string.h>

#include "server/config.h"
#include "server/version.h"

/* What follows its flag. */
static const char *operand_of(const config_row *row)
{
    static const char *const kinds[] = {"TEXT", "NAME", "", "N", "BYTES", "TIME"};

    return row->choices != NULL ? row->choices : kinds[row->type];
}

/* Whether there is nothing to set: the row tells a number that is built in. */
static bool is_fixed(const config_row *row)
{
    return row->least == row->most && row->least != 0;
}

/* ---- --help ----------------------------------------------------------------------------- */

static void add_flag_help(arena *a, const config_row *row, text *to)
{
    const char *flag = arena_format(a, "%s %s", config_flag(a, row->name), operand_of(row));

    text_addf(to, "  %-34s %s", flag, row->doc);
    if (row->fallback[0] != '\0' && strcmp(row->fallback, "auto") != 0)
        text_addf(to, " [%s%s]", row->fallback, is_fixed(row) ? ", fixed" : "");
    text_add_char(to, '\n');
}

static void add_words_help(arena *a, const config_word *words, const char *dashes, text *to)
{
    for (; words->word != NULL; words++)
        text_addf(to, "  %-34s %s\n",
                  arena_format(a, "%s%s %s", dashes, words->word, words->operands), words->doc);
}

void manual_add_help(text *to)
{
    arena *a = arena_new();

    text_add(to,
             "Examples:\n"
             "  tensord serve                          listen on 127.0.0.1:8750, keep data in "
             "./tensord-data\n"
             "  tensord serve --data DIR --listen 127.0.0.1:0\n"
             "  curl -K tensord-data/curl http://127.0.0.1:8750/v1/info\n"
             "  tensord --print-config                 every setting, its value and its origin\n"
             "\n"
             "tensord computes with tensors for any HTTP client.\n"
             "\n"
             "Commands:\n");
    add_words_help(a, config_commands, "", to);
    text_add(to, "\nSettings:\n");
    for (int i = 0; i < CONFIG_SETTINGS; i++)
        if (config_row_of(i)->error == ERR_NONE)
            add_flag_help(a, config_row_of(i), to);
    text_add(to, "\nLimits:\n");
    for (int i = 0; i < CONFIG_SETTINGS; i++)
        if (config_row_of(i)->error != ERR_NONE)
            add_flag_help(a, config_row_of(i), to);
    text_add(to, "\nOther:\n");
    add_words_help(a, config_flags, "--", to);
    text_add(to, "\n"
                 "A setting is also taken from the environment (--log-level is TENSORD_LOG_LEVEL)\n"
                 "and from lines like log_level = warn in $XDG_CONFIG_HOME/tensord/config and\n"
                 "/etc/tensord/config. Flags go before the environment, that before files.\n"
                 "\n"
                 "Exit codes: 0 stopped as asked, 1 failure, 2 wrong usage, 3 the data directory\n"
                 "is in use, 130 stopped at once by a second interrupt.\n");
    arena_free(a);
}

/* ---- The manual page --------------------------------------------------------------------- */

/* Text as roff shows it: what it would read as its own is escaped. */
static void add_words(text *to, const char *words)
{
    for (const char *at = words; *at != '\0'; at++) {
        if (*at == '\\')
            text_add(to, "\\e");
        else if (*at == '-')
            text_add(to, "\\-");
        else if ((*at == '.' || *at == '\'') && at == words)
            text_addf(to, "\\&%c", *at);
        else
            text_add_char(to, *at);
    }
}

/* A paragraph with a tag: what is written, and what stands for something. */
static void add_tag(text *to, const char *dashes, const char *name, const char *operands)
{
    text_add(to, ".TP\n\\fB");
    add_words(to, dashes);
    add_words(to, name);
    text_add(to, "\\fR");
    if (operands[0] != '\0') {
        text_add(to, " \\fI");
        add_words(to, operands);
        text_add(to, "\\fR");
    }
    text_add_char(to, '\n');
}

static void add_setting(text *to, const config_row *row)
{
    arena *a = arena_new();

    add_tag(to, "", config_flag(a, row->name), operand_of(row));
    arena_free(a);
    add_words(to, row->doc);
    if (row->fallback[0] != '\0' && strcmp(row->fallback, "auto") != 0) {
        text_add(to, " [");
        add_words(to, row->fallback);
        text_add(to, is_fixed(row) ? ", fixed]" : "]");
    }
    text_add_char(to, '\n');
}

/* The settings, or the limits. */
static void add_settings(text *to, bool limits)
{
    for (int i = 0; i < CONFIG_SETTINGS; i++)
        if ((config_row_of(i)->error != ERR_NONE) == limits)
            add_setting(to, config_row_of(i));
}

static void add_rows(text *to, const config_word *rows, const char *dashes)
{
    for (; rows->word != NULL; rows++) {
        add_tag(to, dashes, rows->word, rows->operands);
        add_words(to, rows->doc);
        text_add_char(to, '\n');
    }
}

void manual_add(text *to)
{
    text_add(to, ".TH TENSORD 1 \"\" \"tensord " TENSORD_VERSION "\"\n"
                 ".SH NAME\ntensord \\- computes with tensors for any HTTP client\n"
                 ".SH SYNOPSIS\n.B tensord\n.I command\n[\\fIflags\\fR]\n"
                 ".SH DESCRIPTION\n"
                 "A client in any language sends tensors and programs; the server evaluates them "
                 "with NumPy's semantics, and keeps what has a name, durably, as plain files that "
                 "NumPy opens. A running server describes itself at /docs.\n"
                 ".SH COMMANDS\n");
    add_rows(to, config_commands, "");
    text_add(to, ".SH SETTINGS\n");
    add_settings(to, false);
    text_add(to, ".SH LIMITS\n");
    add_settings(to, true);
    text_add(to, ".SH OTHER FLAGS\n");
    add_rows(to, config_flags, "--");
    text_add(to,
             ".SH ENVIRONMENT\nEvery setting: \\-\\-log\\-level is \\fBTENSORD_LOG_LEVEL\\fR.\n"
             ".SH FILES\n.TP\n\\fB/etc/tensord/config\\fR, "
             "\\fB$XDG_CONFIG_HOME/tensord/config\\fR\n"
             "Lines like log_level = warn. Flags go before the environment, that before the "
             "user's file, that before the machine's.\n"
             ".TP\n\\fIDATA\\fB/curl\\fR\nThe local token as a file for curl's flag \\-K.\n"
             ".SH EXIT STATUS\n0 stopped as asked, 1 failure, 2 wrong usage, 3 the data directory "
             "is in use, 130 stopped at once by a second interrupt.\n"
             ".SH EXAMPLES\n.EX\ntensord serve \\-\\-data ./tensord\\-data\n"
             "curl \\-K tensord\\-data/curl http://127.0.0.1:8750/v1/eval \\-\\-json "
             "'{\"program\": \"arange(4) ** 2\"}'\n.EE\n");
}

/* ---- Completions --------------------------------------------------------------------------- */

/* A case for each command whose second word is one of a few: what stands first between the bars of
 * its operands, such as "create NAME | list". */
static void add_second_words(text *to)
{
    for (const config_word *w = config_commands; w->word != NULL; w++) {
        if (strchr(w->operands, '|') == NULL)
            continue;
        text_addf(to, "        %s) COMPREPLY=($(compgen -W \"", w->word);
        for (const char *at = w->operands; *at != '\0';) {
            at += strspn(at, " |");
            text_addf(to, "%.*s ", (int)strcspn(at, " |"), at);
            at += strcspn(at, "|");
        }
        text_add(to, "\" -- \"$word\")); return ;;\n");
    }
}

static void add_flags(arena *a, text *to)
{
    for (int i = 0; i < CONFIG_SETTINGS; i++)
        text_addf(to, " %s", config_flag(a, config_row_of(i)->name));
    for (const config_word *w = config_flags; w->word != NULL; w++)
        text_addf(to, " --%s", w->word);
}

/* A case for the flags that have few values. */
static void add_choices(arena *a, text *to)
{
    for (int i = 0; i < CONFIG_SETTINGS; i++) {
        const config_row *row = config_row_of(i);

        if (row->choices == NULL)
            continue;
        text_addf(to, "        %s", config_flag(a, row->name));
        text_add(to, ") COMPREPLY=($(compgen -W \"");
        for (const char *at = row->choices; *at != '\0'; at++)
            text_add_char(to, *at == '|' ? ' ' : *at);
        text_add(to, "\" -- \"$word\")); return ;;\n");
    }
}

void completion_add(text *to)
{
    arena *a = arena_new();

    text_add(to, "# bash completion for tensord\n_tensord() {\n"
                 "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                 "    case $before in\n");
    add_choices(a, to);
    add_second_words(to);
    text_add(to, "        --data|--config|--write-api|--tls-cert|--tls-key|--attach-root|backup|"
                 "restore)\n            COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
                 "    esac\n"
                 "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    for (const config_word *w = config_commands; w->word != NULL; w++)
        text_addf(to, "%s ", w->word);
    text_add(to, "--help --version --print-config\" -- \"$word\"))\n    else\n"
                 "        COMPREPLY=($(compgen -W \"");
    add_flags(a, to);
    text_add(to, "\" -- \"$word\"))\n    fi\n}\ncomplete -o filenames -F _tensord tensord\n");
    arena_free(a);
}
