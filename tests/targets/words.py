# SPDX-License-Identifier: MIT
"""Reads the sources as words: what they include, and words that portable code must not use."""

import re

import table

# Comments, strings and character constants; line numbers survive because newlines do.
HIDDEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
BIT_FIELD = re.compile(r"\b(?:u?int(?:8|16|32|64)_t|unsigned|signed|int|char|bool|_Bool|enum\s+\w+)\s+\w*\s*:\s*\w")
PRAGMA = re.compile(r"^\s*#\s*pragma\b", re.M)
COMPILER_H = "compiler.h"


def _blank(text):
    return HIDDEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def _line(text, position):
    return text.count("\n", 0, position) + 1


def check_includes(name, text, own):
    """What is wrong with the headers that a source includes. `own` says whether a header is the project's."""
    without_comments = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
    return [f"{name}:{_line(text, m.start(2))}: includes {m[2]}, which is not freestanding"
            for m in INCLUDE.finditer(without_comments) if m[2] not in table.FREESTANDING and not own(m[2])]


def check_words(name, text):
    """What is wrong with the words of a source."""
    if name.rsplit("/", 1)[-1] == COMPILER_H:
        return []
    bare = _blank(text)
    wrong = []
    for m in WORD.finditer(bare):
        word = m[0]
        why = table.FORBIDDEN.get(word)
        if why is None and word.startswith("__") and word not in table.COMPILER_WORDS_ALLOWED:
            why = "compiler words belong in compiler.h"
        if why and (name, word) not in table.WORDS_ALLOWED_IN:
            wrong.append(f"{name}:{_line(bare, m.start())}: {word}: {why}")
    wrong += [f"{name}:{_line(bare, m.start())}: a bit-field: its place differs between compilers"
              for m in BIT_FIELD.finditer(bare)]
    wrong += [f"{name}:{_line(bare, m.start())}: #pragma: compiler words belong in compiler.h"
              for m in PRAGMA.finditer(bare)]
    return wrong
