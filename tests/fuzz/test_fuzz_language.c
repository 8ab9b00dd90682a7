/* SPDX-License-Identifier: Apache-2.0 */
/* Random and broken programs: none may do worse than a clear error, and what
 * builds must print as a program that builds the same.
 *
 * The programs are pieces of those in tests/language and mutations of them.
 * Arguments: how many, and the seed, which is printed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/lib/program.h"

static char *corpus;
static size_t corpus_length;
static uint64_t state;

/* A number below n. */
static size_t random_below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return n == 0 ? 0 : (size_t)(state >> 11) % n;
}

static void read_corpus(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    char path[512], room[4096];
    text all;

    text_init(&all);
    while (d != NULL && (e = readdir(d)) != NULL) {
        FILE *f;
        size_t n;

        if (strstr(e->d_name, ".txt") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        f = fopen(path, "r");
        while (f != NULL && (n = fread(room, 1, sizeof room, f)) > 0)
            text_add_bytes(&all, room, n);
        if (f != NULL)
            fclose(f);
    }
    if (d != NULL)
        closedir(d);
    corpus_length = all.length;
    corpus = text_take(&all);
}

/* Words that matter to the language. */
static const char *const words[] = {
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    ";",
    "\n",
    "\n    ",
    ".",
    "=",
    "+=",
    "**",
    "-",
    "@",
    "~",
    "x",
    "v",
    "p",
    "n",
    "1",
    "-1",
    "2.5",
    "1e400",
    "None",
    "...",
    "1j",
    "'a'",
    "def f(",
    "return ",
    "lambda ",
    " if ",
    " else ",
    " and ",
    " not ",
    " is ",
    "print(",
    "del ",
    "x[",
    "cond(p, ",
    "sum(",
    "np.",
    ".T",
    ".shape",
    "axis=",
    "array(",
    "dtype=",
    "\"",
    "\\",
    "#",
    "9223372036854775807",
    "18446744073709551615",
    " < ",
    "//",
    "%",
    "<<",
    "nan",
    "[[1,2],[3,4]]",
    "m",
    "i8",
    "u",
    "w",
    ".reshape(",
    "zeros(",
    "softmax(",
    "divmod(",
    "concatenate([",
    "stack([",
};

static void add_piece(text *t)
{
    const size_t from = random_below(corpus_length), n = random_below(60);

    text_add_bytes(t, corpus + from, n < corpus_length - from ? n : corpus_length - from);
}

/* A line of the corpus. */
static void add_line(text *t)
{
    size_t from = random_below(corpus_length), to;

    while (from > 0 && corpus[from - 1] != '\n')
        from--;
    for (to = from; to < corpus_length && corpus[to] != '\n';)
        to++;
    text_add_bytes(t, corpus + from, to - from);
    text_add_char(t, '\n');
}

static void mutate(text *t)
{
    const size_t at = random_below(t->length + 1);

    switch (random_below(4)) {
    case 0:
        if (t->length > 0)
            t->bytes[random_below(t->length)] =
                (char)(random_below(8) ? 32 + random_below(95) : random_below(256));
        break;
    case 1:
        if (at < t->length) {
            memmove(t->bytes + at, t->bytes + at + 1, t->length - at);
            t->length--;
        }
        break;
    default: {
        char *rest = strndup(t->bytes + at, t->length - at);

        t->length = at;
        text_add(t, words[random_below(sizeof words / sizeof *words)]);
        text_add(t, rest);
        free(rest);
    }
    }
}

static void make_program(text *t)
{
    const size_t kind = random_below(4);

    for (size_t i = 1 + random_below(kind == 0 ? 30 : 4); i > 0; i--) {
        if (kind == 0)
            text_add(t, words[random_below(sizeof words / sizeof *words)]);
        else if (kind == 1)
            add_piece(t);
        else
            add_line(t);
    }
    for (size_t i = random_below(6); i > 0 && kind != 0; i--)
        mutate(t);
}

/* Whether a built program's print builds and prints the same. */
static bool prints_itself(const program *p)
{
    program again;
    bool same;

    program_build(&again, LANG_NUMPY, p->printed.bytes);
    same = again.ok && strcmp(again.printed.bytes, p->printed.bytes) == 0;
    if (!same)
        printf("printed:\n%s\nagain: %s\n%s\n", p->printed.bytes, again.err.detail,
               again.printed.bytes);
    program_clear(&again);
    return same;
}

int main(int argc, char **argv)
{
    const long count = argc > 1 ? atol(argv[1]) : 5000;
    long built = 0, failed = 0;

    state = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) * 2654435761u + 1;
    printf("seed %llu\n", (unsigned long long)state);
    ops_init();
    lang_init();
    read_corpus("tests/language");
    for (long i = 0; i < count; i++) {
        const lang_dialect dialect = random_below(5) == 0 ? LANG_TENSOR_STATEMENTS : LANG_NUMPY;
        text t;
        program p;

        text_init(&t);
        make_program(&t);
        program_build(&p, dialect, t.bytes);
        built += p.ok;
        if (p.ok && !prints_itself(&p)) {
            printf("program:\n%s\n", t.bytes);
            failed++;
        }
        program_clear(&p);
        text_clear(&t);
    }
    free(corpus);
    printf("%ld built\n%ld passed, %ld failed\n", built, count - failed, failed);
    return failed > 0;
}
