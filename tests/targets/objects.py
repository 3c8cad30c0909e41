# SPDX-License-Identifier: MIT
"""Compiles, and looks at what came out: symbols, sizes, frames."""

import functools
import re
import subprocess
from pathlib import Path

import table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INCLUDES = ["-I", str(ROOT / "libpvfront/include"), "-I", str(ROOT / "adapters/sim/include"),
            "-I", str(ROOT / "libpvfront"), "-I", str(ROOT / "adapters/sim")]

CORE = "core"
SIM = "sim"
SOURCES = {CORE: "libpvfront", SIM: "adapters/sim"}


def sources(part):
    return sorted((ROOT / SOURCES[part]).glob("*.c"))


def execute(command, **options):
    """Runs a command; returns its exit code and all it said."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False, **options)
    return done.returncode, done.stdout


def compile_one(build, source, directory, extra=()):
    """Compiles one source; returns the object and what the compiler complained of."""
    directory.mkdir(parents=True, exist_ok=True)
    result = directory / (Path(source).stem + ".o")
    command = [word if word != "poison.h" else str(HERE / word) for word in build.command]
    code, said = execute([*command, *INCLUDES, *extra, "-c", str(source), "-o", str(result)])
    return result, said if code != 0 or said else ""


def compile_text(build, text, directory, name):
    """Compiles a few lines; returns what the compiler complained of."""
    directory.mkdir(parents=True, exist_ok=True)
    source = directory / (re.sub(r"\W+", "-", name) + ".c")
    source.write_text(text)
    return compile_one(build, source, directory)[1]


@functools.lru_cache(maxsize=None)
def _names(objects):
    """Of each object: its defined and its undefined names."""
    code, said = execute(["llvm-nm", "-A", "--format=posix", *map(str, objects)])
    if code != 0:
        raise RuntimeError(said)
    names = {one: (set(), set()) for one in objects}
    by_path = {str(one): one for one in objects}
    for line in said.splitlines():
        path, words = line.rsplit(": ", 1)
        words = words.split()
        if len(words) >= 2:
            names[by_path[path]][words[1] in "Uwv"].add(words[0])
    return names


def symbols(objects):
    """Defined and undefined names of objects taken together, as if they had been linked into one."""
    names = _names(tuple(objects)).values()
    defined = set().union(*(one for one, _ in names))
    return defined, set().union(*(one for _, one in names)) - defined


def defining(objects, function):
    """The object that defines a function, or None."""
    return next((one for one, (defined, _) in _names(tuple(objects)).items() if function in defined), None)


def symbols_allowed(cpu, part):
    allowed = table.MEMORY_SYMBOLS | set(table.LINKER_SYMBOLS.get(cpu, {}))
    return allowed | table.SIM_SYMBOLS.get(cpu, set()) if part == SIM else allowed


def check_symbols(cpu, objects, part=CORE):
    """What is wrong with the undefined symbols of these objects."""
    extra = sorted(symbols(objects)[1] - symbols_allowed(cpu, part))
    if not extra:
        return ""
    users = [f"{one.name}: {' '.join(sorted(undefined & set(extra)))}"
             for one, (_, undefined) in _names(tuple(objects)).items() if undefined & set(extra)]
    return "undefined besides memcpy memmove memset memcmp:\n  " + "\n  ".join(users)


def section_bytes(objects):
    """Bytes of code and of constants."""
    code, said = execute(["llvm-size", "-A", *map(str, objects)])
    if code != 0:
        raise RuntimeError(said)
    text = constants = 0
    for line in said.splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdigit():
            if words[0].startswith(".text"):
                text += int(words[1])
            elif words[0].startswith((".rodata", ".rdata", ".data.rel.ro")):
                constants += int(words[1])
    return text, constants


def frames(directory):
    """(function, bytes, how it was found) of each function compiled into this directory."""
    found = []
    for path in sorted(directory.glob("*.su")):
        for line in path.read_text().splitlines():
            where, size, how = line.split("\t")
            found.append((path.stem + ".c: " + where.rsplit(":", 1)[1], int(size), how))
    return found


def check_frames(directory):
    """What is wrong with the frames of the core."""
    found = frames(directory)
    if not found:
        return "the compiler wrote no stack usage"
    wrong = []
    for function, size, how in found:
        # "bounded": pushed arguments come and go, and the number is the most of it.
        if how not in ("static", "dynamic,bounded"):
            wrong.append(f"{function}: its size is not known when it is compiled ({how})")
        elif size > table.FRAME_LIMIT:
            wrong.append(f"{function}: {size} bytes")
    return f"frames over {table.FRAME_LIMIT} bytes:\n  " + "\n  ".join(wrong) if wrong else ""
