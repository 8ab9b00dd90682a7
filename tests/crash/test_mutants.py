#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Storages that are broken on purpose are put through test_power: each must be caught.

A mutant is a source file of storage/ in which some text is replaced; everything else is the program
as it is. A text that is not there any more fails the test, so that a mutant cannot rot.

They are not built with the sanitizers: what is tested is test_power, not the storage.

    test_mutants.py [NAME ..]"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
TRIES, STATES = 4, 700
MUTANTS = {
    "no-sync-of-arrays": ("incoming.c", [("if (v->sync_data(v, in->fd) != 0) {", "if (false) {")]),
    "no-sync-of-chunks": ("incoming.c", [("if (v->sync_data(v, in->fd) != 0) {",
                                          "if (c->slots == NULL && v->sync_data(v, in->fd) != 0) {")]),
    "no-sync-of-directories": ("commit.c", [("if (!sync_directories(b, err))", "if (false)")]),
    "no-sync-of-the-index": ("index.c", [("return set_synced(ix, synced, err) &&", "return set_synced(ix, false, err) &&")]),
    "no-sync-of-the-folders": ("datadir.c", [("if (!sync_if(s, s->arrays, made, err) ||", "if ("),
                                             ("return sync_if(s, s->directory, changed || raise, err);", "return true;")]),
    "answer-before-the-commit": ("writer.c", [
        ("ok = ok && (!changes || index_commit(s->index, err));\n    if (!ok || !changes)", "if (!ok)"),
        ("answer(s, transactions, NULL);", "answer(s, transactions, NULL);\n        pthread_mutex_lock(&s->index_lock);\n"
         "        index_commit(s->index, err);\n        pthread_mutex_unlock(&s->index_lock);")]),
    "garbage-before-the-commit": ("writer.c", [
        ("    switch (run_batch(s, transactions, garbage, &err)) {", "    remove_files(s, garbage);\n    switch (run_batch(s, transactions, garbage, &err)) {"),
        ("    case COMMITTED:\n        remove_files(s, garbage);", "    case COMMITTED:")]),
    "garbage-of-unsynced-commits": ("commit.c", [("b->synced |= c->in_file && c->id != 0;", ";")]),
    "torn-commit": ("commit.c", [
        ("        else if (!apply_change(b, x, i, err))\n            return false;",
         "        else if (!apply_change(b, x, i, err) || !index_commit(b->storage->index, err) ||\n"
         "                 !index_begin(b->storage->index, true, err))\n            return false;")]),
    "chunks-in-place": ("incoming.c", [
        ("    if (c->map[chunk] == SLOT_NONE && !slots_take(", "    if (old_base != NULL && c->map[chunk] == SLOT_NONE && chunk < content_chunks(old_base)) {\n"
         "        c->map[chunk] = old_base->map[chunk];\n        slots_use(c->slots, c->map + chunk, 1);\n    }\n"
         "    if (c->map[chunk] == SLOT_NONE && !slots_take("),
        ("/* A new file, or that", "static content *old_base;\n/* A new file, or that"),
        ("    slots_join(old->slots, c);", "    old_base = old;\n    slots_join(old->slots, c);")]),
    "slots-given-back-at-once": ("content.c", [
        ("    if (c->doomed && (c->in_file || c->id != 0))", "    if (c->doomed && c->slots != NULL && c->map != NULL) {\n"
         "        slots_leave(c->slots, c->map, content_chunks(c));\n        memset(c->map, 0xff, 4 * (size_t)content_chunks(c));\n    }\n"
         "    if (c->doomed && (c->in_file || c->id != 0))")]),
}


def build(name, file, changes, report):
    """The path of test_power with a mutant in it; None if it cannot be made."""
    with open(os.path.join("storage", file)) as f:
        text = f.read()
    for old, new in changes:
        if not report.check(text.count(old) == 1, f"{name}: its text is {text.count(old)} times in storage/{file}"):
            return None
        text = text.replace(old, new)
    path = f"{BUILD}/tests/mutants/{name}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".c", "w") as f:
        f.write(text)
    made = subprocess.run(["make", "-s", path], capture_output=True, text=True)
    return path if report.check(made.returncode == 0, f"{name}: {made.stderr[-2000:]}") else None


def is_caught(path):
    """Whether it ends with a fault that the test names, in one of some runs."""
    for seed in range(1, TRIES + 1):
        run = subprocess.run([path], capture_output=True, text=True,
                             env={**os.environ, "FIRST": "1", "SEED": str(seed), "STATES": str(STATES)})
        if run.returncode == 1 and "lost or torn: " in run.stdout:
            return True
        if run.returncode != 0:
            print(f"{path}: exit {run.returncode}\n{run.stdout[-500:]}{run.stderr[-500:]}")
    return False


def main():
    if BUILD.endswith("-san"):
        print("SKIPPED: mutants are built without the sanitizers")
        return 0
    report = Report()
    names = sys.argv[1:] or list(MUTANTS)
    caught = 0
    for name in names:
        path = build(name, *MUTANTS[name], report)
        caught += path is not None and report.check(is_caught(path), f"{name} is not caught")
    print(f"note: mutants caught: {caught} of {len(names)}")
    return report.end()


sys.exit(main())
