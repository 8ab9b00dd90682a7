# SPDX-License-Identifier: Apache-2.0
"""The text format of the corpora. One case a line, several files for each corpus:

    # a comment
    == NAME                          what the next cases are about
    @ FORM [FORM ..]                 what the texts of the next lines are; each is tried in every form
    ANSWER [<MS] TEXT                a case
        MORE TEXT                    a line that begins with four spaces goes on with the text before
    ANSWER [<MS] = EXPRESSION        a case whose text is the value of a Python expression

ANSWER is a status and a code ("-" if the answer is no problem), or "close" for an end without an
answer. A form is a function form_NAME that makes a request from the text; forms.py has those of the
malicious corpus, framing_forms.py those of the framing corpus. An expression may use all that is
there. <MS is the most that the answer may take, in milliseconds."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))


class Case:
    """One request and what it must be answered."""

    def __init__(self, forms, group, form, number, status, code, most_ms, text):
        self.forms, self.group, self.form, self.number = forms, group, form, number
        self.status, self.code, self.most_ms, self.text = status, code, most_ms, text

    def value(self):
        """The text, or what it evaluates to."""
        if not self.text.startswith("= "):
            return self.text
        return eval(self.text[2:], dict(vars(self.forms)))  # the corpus is ours

    def request(self):
        """What the case's form makes of its text."""
        return getattr(self.forms, "form_" + self.form)(self.value())

    def __str__(self):
        return f"{self.group}:{self.number} ({self.form}) {self.text[:90]!r}"


def parse_case(line):
    """(status, code, most_ms, text) of a line; status is None for "close"."""
    words = line.split(None, 1)
    if words[0] == "close":
        status, code, rest = None, None, words[1]
    else:
        code, rest = words[1].split(None, 1)
        status, code = int(words[0]), None if code == "-" else code
    most_ms = None
    if rest.startswith("<") and rest[1:].split()[0].isdigit():
        limit, rest = rest.split(None, 1)
        most_ms = int(limit[1:])
    return status, code, most_ms, rest


def read_file(path, forms):
    """The cases of one file."""
    group, found, in_forms = os.path.basename(path)[:-4], [], []
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("    ") and found:
            found[-1][-1] += "\n" + line[4:]
        elif line.startswith("@ "):
            in_forms = line[2:].split()
        elif line.strip() and not line.startswith(("#", "== ")):
            found.append([in_forms, number, *parse_case(line)])
    return [Case(forms, group, form, *rest) for in_forms, *rest in found for form in in_forms]


def read(folder, forms):
    """{group: cases} of all files of a folder, in the order of their names."""
    folder = os.path.join(HERE, folder)
    return {name[:-4]: read_file(os.path.join(folder, name), forms)
            for name in sorted(os.listdir(folder)) if name.endswith(".txt")}
