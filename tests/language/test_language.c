/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the programs of the .txt files beside this one.
 *
 * A line that ends in a check closes a program, which is all lines since the check
 * before; an empty line begins anew. Checks:
 *
 *   # = value              the result, as another program says it
 *   # error code: part     the error's code, and a part of its detail
 *   # printed line | line  what is printed
 *   # dtype name           the result's element type
 *   # shape [2, 3]
 *
 * Files whose names begin with "tensor" are in the small tensor language. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/lang/lang.h"

/* One evaluation, everything it made included. */
typedef struct run {
    arena *arena;
    graph *graph;
    budget budget;
    lang_program says;
    tensor *outputs;
    int count; /* of outputs: the results, then the printed values */
    error err;
} run;

static int passed, failed;

static bool no_name(void *context, graph *g, const char *name, value *result, error *err)
{
    (void)context, (void)g, (void)name, (void)result, (void)err;
    return true;
}

static bool build(run *r, lang_dialect dialect, const char *words)
{
    const lang_options options = {.dialect = dialect, .budget = &r->budget};
    const lang_scope scope = {.resolve = no_name};

    if (!lang_build(r->graph, words, strlen(words), &options, &scope, &r->says, &r->err))
        return false;
    for (int i = 0; i < r->says.result_count; i++)
        graph_add_output(r->graph, r->says.results[i]);
    for (int i = 0; i < r->says.printed_count; i++)
        if (r->says.printed[i].style != LANG_LITERAL)
            graph_add_output(r->graph, r->says.printed[i].value);
    return true;
}

static void run_program(run *r, lang_dialect dialect, const char *words)
{
    const engine_options options = {
        .limits = {.peak_bytes = 1 << 28, .result_bytes = 1 << 26, .work = 1e9}, .optimize = true};
    engine_stats stats = {0};
    stop_sign stop = {0};

    *r = (run){.arena = arena_new()};
    r->graph = graph_new(r->arena, NULL);
    budget_init(&r->budget, 1 << 28);
    if (!build(r, dialect, words))
        return;
    r->outputs = arena_array(r->arena, (size_t)r->graph->output_count + 1, sizeof *r->outputs);
    if (engine_run(r->graph, NULL, &options, &r->budget, &stop, r->outputs, &stats, &r->err))
        r->count = r->graph->output_count;
}

static void run_clear(run *r)
{
    for (int i = 0; i < r->count; i++)
        tensor_unref(&r->outputs[i]);
    graph_release(r->graph);
    arena_free(r->arena);
}

/* The results as text: values, or element types, or shapes. */
static void write_results(const run *r, char what, text *t)
{
    char room[SHAPE_TEXT_MAX];

    for (int i = 0; i < r->says.result_count; i++) {
        text_add(t, i > 0 ? ", " : "");
        if (what == 'd')
            text_add(t, dtype_name(r->outputs[i].dtype));
        else if (what == 's')
            text_add(t, shape_print(&r->outputs[i].shape, room));
        else
            lang_show_lists(&r->outputs[i], t);
    }
}

static void write_printed(const run *r, text *t)
{
    int output = r->says.result_count;

    for (int i = 0; i < r->says.printed_count; i++) {
        const lang_printed *item = &r->says.printed[i];

        if (i > 0 && item->line != item[-1].line)
            text_add(t, " | ");
        lang_show_item(item, item->style == LANG_LITERAL ? NULL : &r->outputs[output++], t);
    }
}

static bool check_error(const run *r, const char *expected)
{
    const char *colon = strchr(expected, ':');
    const size_t n = colon != NULL ? (size_t)(colon - expected) : strlen(expected);
    const char *code = error_info_of(r->err.kind)->code;

    return strlen(code) == n && memcmp(code, expected, n) == 0 &&
           (colon == NULL || strstr(r->err.detail, colon + 1 + strspn(colon + 1, " ")) != NULL);
}

static bool check_text(const text *got, const char *expected)
{
    return strcmp(got->bytes, expected) == 0;
}

/* Whether the run is what a check asks for; got is what it is. */
static bool check(const run *r, const char *asked, text *got)
{
    run other;
    text wanted;
    bool same;

    if (strncmp(asked, "error ", 6) == 0) {
        text_addf(got, "%s: %s", error_info_of(r->err.kind)->code, r->err.detail);
        return check_error(r, asked + 6);
    }
    if (r->err.kind != ERR_NONE) {
        text_addf(got, "%s: %s", error_info_of(r->err.kind)->code, r->err.detail);
        return false;
    }
    if (strncmp(asked, "printed ", 8) == 0) {
        write_printed(r, got);
        return check_text(got, asked + 8);
    }
    write_results(r, *asked, got);
    if (*asked != '=')
        return check_text(got, asked + strcspn(asked, " ") + 1);
    run_program(&other, LANG_NUMPY, asked + 1);
    text_init(&wanted);
    if (other.err.kind == ERR_NONE)
        write_results(&other, '=', &wanted);
    same = other.err.kind == ERR_NONE && check_text(got, wanted.bytes);
    text_clear(&wanted);
    run_clear(&other);
    return same;
}

static void run_case(const char *file, int line, lang_dialect dialect, const char *words,
                     const char *asked)
{
    run r;
    text got;

    text_init(&got);
    run_program(&r, dialect, words);
    if (check(&r, asked, &got)) {
        passed++;
    } else {
        failed++;
        printf("%s:%d: %sasked: %s\ngot:   %s\n", file, line, words, asked, got.bytes);
    }
    run_clear(&r);
    text_clear(&got);
}

/* The check at the end of a line, or NULL; cuts the line before it. */
static char *find_check(char *line)
{
    static const char *const kinds[] = {"= ", "error ", "printed ", "dtype ", "shape "};

    for (char *at = strstr(line, "# "); at != NULL; at = strstr(at + 2, "# "))
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (strncmp(at + 2, kinds[i], strlen(kinds[i])) == 0) {
                *at = '\0';
                return at + 2;
            }
    return NULL;
}

static void run_file(const char *path, const char *name)
{
    const lang_dialect dialect =
        strncmp(name, "tensor", 6) == 0 ? LANG_TENSOR_STATEMENTS : LANG_NUMPY;
    FILE *f = fopen(path, "r");
    char *line = NULL, *asked;
    size_t room = 0;
    text words;

    if (f == NULL)
        return;
    text_init(&words);
    for (int number = 1; getline(&line, &room, f) > 0; number++) {
        line[strcspn(line, "\n")] = '\0';
        asked = find_check(line);
        text_addf(&words, "%s\n", line);
        if (asked != NULL)
            run_case(name, number, dialect, words.bytes, asked);
        if (asked != NULL || *line == '\0')
            text_clear(&words);
    }
    text_clear(&words);
    free(line);
    fclose(f);
}

int main(void)
{
    const char *folder = "tests/language";
    DIR *d = opendir(folder);
    struct dirent *e;
    char path[512];

    engine_init(2);
    lang_init();
    while (d != NULL && (e = readdir(d)) != NULL) {
        const size_t n = strlen(e->d_name);

        if (n < 5 || strcmp(e->d_name + n - 4, ".txt") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        run_file(path, e->d_name);
    }
    if (d != NULL)
        closedir(d);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
