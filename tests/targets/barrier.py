# SPDX-License-Identifier: MIT
"""Looks for barrier instructions in what the compilers made."""

import re

import table
from objects import HERE, compile_one, defining, execute

SITE = re.compile(r"\bPVF_RING_(?:LOAD|STORE|FENCE)\((\w+)")
# Not the compiler's local labels (.L…), which some assemblers leave as symbols.
FUNCTION = re.compile(r"^[0-9a-f]+ <(?!\.L)([^>]+)>:$")
LABEL = re.compile(r"^[0-9a-f]+ <\.L[^>]+>:$")
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\s*(.*)$")
NAMED = re.compile(r"<([^>+]+)>|R_\w+\s+(\S+?)(?:[-+]0x[0-9a-f]+)?$|IMAGE_REL_\w+\s+(\S+)$")


class Code:
    """The functions of some objects: their instructions as one text, and what they call."""

    def __init__(self, objects):
        self.text = {}
        self.calls = {}
        for one in objects:
            code, said = execute(["llvm-objdump", "-dr", "--no-show-raw-insn", str(one)])
            if code != 0:
                raise RuntimeError(said)
            self._read(said)

    def _read(self, said):
        name = None
        for line in said.splitlines():
            function = FUNCTION.match(line)
            if function:
                name = function[1]
                self.text.setdefault(name, "")
                self.calls.setdefault(name, set())
                continue
            if name is None or LABEL.match(line):
                continue
            for found in NAMED.findall(line):
                self.calls[name].update(filter(None, found))
            instruction = INSTRUCTION.match(line)
            if instruction and "R_" not in line and "IMAGE_REL" not in line:
                words = " ".join(instruction[1].split())
                self.text[name] += words + (" " if words == "lock" else "; ")

    def reached(self, function):
        """The function and all it calls, as one text."""
        seen, todo = set(), [function]
        while todo:
            one = todo.pop()
            if one in self.text and one not in seen:
                seen.add(one)
                todo.extend(self.calls[one])
        return "".join(self.text[one] for one in sorted(seen))

    def count(self, function, pattern):
        return len(re.findall(pattern, self.reached(function)))


def check_words(cpu, code, only=None):
    """What is wrong with the instructions of barriers.c."""
    wrong = []
    for function, pattern in table.BARRIERS[cpu].items():
        if only is not None and function not in only:
            continue
        text = code.text.get(function)
        if text is None:
            wrong.append(f"{function} is missing")
        elif not re.search(pattern, text):
            wrong.append(f"{function}: no /{pattern}/ in: {text}")
    return "\n  ".join(wrong)


def check_counted(cpu, core):
    """What is wrong with the functions that use barriers directly."""
    wrong = []
    for function, kinds in table.COUNTED.items():
        one = defining(core, function)
        if one is None:
            wrong.append(f"{function} is missing")
            continue
        code = Code([one])
        wanted = [table.INSTRUCTIONS[cpu][kind] for kind in kinds]
        for pattern in sorted(set(wanted) - {None}):
            have = code.count(function, pattern)
            if have < wanted.count(pattern):
                wrong.append(f"{function} has {have} of {wanted.count(pattern)} /{pattern}/")
    return "\n  ".join(wrong)


def check_site_list(root):
    """Every site of ring.h is in one of the two tables, and the tables name no other."""
    there = set(SITE.findall((root / "libpvfront/include/pvfront/ring.h").read_text())) - {"site"}
    listed = {site.name for site in table.SITES} | set(table.UNORDERED_SITES)
    wrong = [f"{name} is in ring.h, but table.py does not list it" for name in sorted(there - listed)]
    return "\n".join(wrong + [f"{name} is in table.py, but not in ring.h" for name in sorted(listed - there)])


def check_site(build, site, made, source, directory):
    """Compiles the site's source again without the order of that site: an instruction must be the difference."""
    hooks = (f'-DPVF_RING_HOOKS="{HERE / "ring_without.h"}"', f"-DWITHOUT_{site.name}=~,1")
    without, said = compile_one(build, source, directory / site.name, hooks)
    if said:
        return said
    pattern = table.INSTRUCTIONS[build.cpu][site.kind]
    before, after = (Code([one]).count(site.function, pattern) for one in (made, without))
    if before <= after:
        return (f"{site.function}, site {site.name} ({site.why}): /{pattern}/ is there {before} times with the barrier "
                f"and {after} times without")
    return ""
