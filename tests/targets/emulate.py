# SPDX-License-Identifier: MIT
"""Links the tests with the checked objects for another CPU and runs them under qemu-user."""

import contextlib
import json
import os
import tempfile

import table
from objects import HERE, INCLUDES, ROOT, execute

SHIM = HERE / "cmocka"
FRAME = ROOT / "tests/check.c"


def xen_headers(directory):
    """A folder that holds Xen's public headers and nothing else of this machine's."""
    folder = directory / "xen-headers"
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (folder / "xen").symlink_to("/usr/include/xen")
    return ["-isystem", str(folder)]


def archive(objects, result):
    """The checked objects as a static library."""
    result.parent.mkdir(parents=True, exist_ok=True)
    result.unlink(missing_ok=True)
    code, said = execute(["llvm-ar", "rcs", str(result), *map(str, objects)])
    if code != 0:
        raise RuntimeError(said)
    return result


def link(target, sources, libraries, result, directory):
    """Builds a static program; returns what went wrong."""
    result.parent.mkdir(parents=True, exist_ok=True)
    code, said = execute([f"{target.triple}-gcc", *table.HOSTED_FLAGS, "-static", "-I", str(SHIM), *INCLUDES,
                          "-I", str(ROOT / "tests"), *xen_headers(directory), *map(str, sources),
                          str(SHIM / "cmocka.c"), *map(str, libraries), "-pthread", "-o", str(result)])
    return said if code != 0 else ""


def run(target, program, settings=(), timeout=300):
    """Runs a program that reports through tests/check.h; returns its exit code, all it said, and its lines."""
    with tempfile.NamedTemporaryFile(mode="r", suffix=".jsonl") as lines:
        environment = {**os.environ, "PVF_REPORT": lines.name, "PVF_TIMEOUT": str(timeout), **dict(settings)}
        code, said = execute([target.command, str(program)], env=environment, timeout=timeout * 10)
        return code, said, [json.loads(line) for line in lines.read().splitlines()]


def check_program(report, target, program, source, library, directory):
    """Runs one test program and takes its tests over into this suite."""
    name = source.relative_to(ROOT)
    built = directory / source.stem
    about = {"peer": "qemu-user", "build": target.cpu}
    problem = link(target, [source, FRAME, *beside(program)], [library], built, directory.parent)
    if problem:
        report.add(f"{name} compiles and links for {target.cpu}", problem, **about)
        return
    code, said, lines = run(target, built, program.environment)
    for line in lines:
        report.add(f"{line['test']} ({target.cpu})", "" if line["result"] == "pass" else line["message"] or "failed",
                   line["seconds"], rows=line["rows"], **about)
    failed = sum(line["result"] != "pass" for line in lines)
    if not lines or (code == 0) != (failed == 0):
        report.add(f"{name} runs its tests on {target.cpu}", f"exit code {code}, {len(lines)} tests reported\n{said}",
                   **about)


def programs():
    """(program, sources found)"""
    return [(one, sorted(ROOT.glob(one.pattern))) for one in table.PROGRAMS]


def beside(program):
    """What is linked into each of the program's tests: their helpers, and the simulator's POSIX part."""
    folder = (ROOT / program.pattern).parent
    helpers = sorted(one for one in folder.glob("*.c") if not one.name.startswith("test_"))
    return helpers + (sorted((ROOT / "adapters/sim/posix").glob("*.c")) if program.sim else [])
