#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds README.md and docs/*.md to what they say.

    ```console           every line that starts with "$ " is run (lines that start with "> " continue it), a block in one
                         shell, the blocks of a page one after the other in one scratch directory; "# exit 3" at a
                         command's end expects that exit code, else 0
    ```console no-run    is not run
    ```c compile         is compiled against the public headers, as it stands
    [text](path#anchor)  the file is in the tree, and so is the heading

Each is one test. The scratch directory has everything of the tree in it, `build/pvfront` too, as links.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests" / "run"))

import record  # noqa: E402  (the tree's own, found by the line above)

BLOCK_SECONDS = 300
INCLUDES = ("libpvfront/include", "adapters/sim/include")

FENCE = re.compile(r"^(`{3,}|~{3,})\s*(.*)$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|!\[[^\]]*\]\(([^)\s]+)\)")
EXIT = re.compile(r"\s+#\s*exit\s+(\d+)\s*$")


def split(text):
    """(blocks, prose): blocks are (first line's number, info words, lines); prose are (number, line)."""
    blocks, prose, fence = [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if fence is None and match:
            fence = match.group(1)
            blocks.append((number + 1, match.group(2).split(), []))
        elif fence is not None and line.rstrip() == fence:
            fence = None
        elif fence is not None:
            blocks[-1][2].append(line)
        else:
            prose.append((number, line))
    return blocks, prose


def commands(first, lines):
    """[(line number, command, expected exit)]; lines that are neither a command nor its continuation are its output."""
    found = []
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            found.append([number, line[2:], 0])
        elif line.startswith("> ") and found:
            found[-1][1] += "\n" + line[2:]
    for command in found:
        match = EXIT.search(command[1])
        if match:
            command[1], command[2] = command[1][:match.start()], int(match.group(1))
    return found


def script(page, found):
    lines = []
    for number, command, expected in found:
        place = f"{page}:{number}"
        lines += [command, "pvf_code=$?",
                  f'[ "$pvf_code" -eq {expected} ] || {{ echo "{place}: exit $pvf_code, expected {expected}" >&2; exit 1; }}']
    return "\n".join(lines) + "\n"


def finish(sentence, begin, message):
    passed = message is None
    seconds = time.monotonic() - begin
    print(f"{'[       OK ]' if passed else '[  FAILED  ]'} {sentence} ({seconds:.2f} s)", flush=True)
    if not passed:
        print(message, flush=True)
    record.write_line("docs", "", "tree", sentence, passed, seconds, message or "")
    return passed


def execute(page, first, lines, scratch):
    found = commands(first, lines)
    if not found:
        return f"{page}:{first}: a console block in which no line starts with '$ '"
    try:
        run = subprocess.run(["bash", "-c", script(page, found)], cwd=scratch, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BLOCK_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"{page}:{first}: the block was not done after {BLOCK_SECONDS} s"
    return None if run.returncode == 0 else run.stdout.decode(errors="replace")[-4000:]


def compile_c(lines, scratch):
    source = pathlib.Path(scratch) / "example.c"
    source.write_text("\n".join(lines) + "\n")
    run = subprocess.run(["gcc", "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-D_POSIX_C_SOURCE=200809L"]
                         + [f"-I{TREE / include}" for include in INCLUDES] + ["-c", "-o", os.devnull, str(source)],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return None if run.returncode == 0 else run.stdout.decode(errors="replace")


def anchors(path):
    """The anchors of a page's headings, as the usual renderers make them."""
    _, prose = split(path.read_text())
    names = set()
    for _, line in prose:
        if line.startswith("#"):
            words = re.sub(r"[`*]", "", line.lstrip("#").strip()).lower()
            names.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return names


def broken_links(page, prose):
    broken = []
    for number, line in prose:
        for match in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (page.parent / name).resolve() if name else page
            if not path.exists() or TREE not in (path, *path.parents):
                broken.append(f"{page.relative_to(TREE)}:{number}: {target} is not in the tree")
            elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                broken.append(f"{page.relative_to(TREE)}:{number}: {target}: no such heading")
    return "\n".join(broken) or None


def check_page(page):
    name = page.relative_to(TREE)
    blocks, prose = split(page.read_text())
    passed = finish(f"{name}: its links lead somewhere", time.monotonic(), broken_links(page, prose))
    with tempfile.TemporaryDirectory(prefix="pvfront-docs-") as scratch:
        for entry in TREE.iterdir():
            os.symlink(entry, pathlib.Path(scratch) / entry.name)
        for first, info, lines in blocks:
            begin = time.monotonic()
            if info[:1] == ["console"] and "no-run" not in info:
                passed &= finish(f"{name}:{first}: its commands do what the page says", begin,
                                 execute(name, first, lines, scratch))
            elif info[:2] == ["c", "compile"]:
                passed &= finish(f"{name}:{first}: its C compiles", begin, compile_c(lines, scratch))
    return passed


def main():
    pages = [TREE / "README.md"] + sorted((TREE / "docs").glob("**/*.md"))
    for page in [page for page in pages if not page.exists()]:
        finish(f"{page.name} is there", time.monotonic(), "it is not")
        sys.exit(1)
    results = [check_page(page) for page in pages]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
