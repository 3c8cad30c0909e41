#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The suite "targets": the core for every CPU and compiler it claims, checked in what the compilers made of it, and
run as i386 and arm64. `./dev test targets` starts it; table.py says what is checked."""

import argparse
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import barrier
import chain
import emulate
import objects
import selftest
import table
import words
from objects import CORE, HERE, ROOT, SIM
from report import Report


def missing_tools():
    """A sentence for each thing that is not installed, naming its package."""
    wanted = {build.command[0]: build.package for build in table.BUILDS}
    wanted.update(table.TOOLS)
    said = [f"{command} is missing: install the package {package}"
            for command, package in sorted(wanted.items()) if not shutil.which(command)]
    return said + [f"{path} is missing: install the package {package}"
                   for path, package in table.FILES if not os.path.exists(path)]


def own_header(part):
    """Says whether a header is the project's and open to this part: the core may not include the simulator's."""
    folders = [ROOT / "libpvfront/include", ROOT / "libpvfront"]
    if part == SIM:
        folders += [ROOT / "adapters/sim/include", ROOT / "adapters/sim"]
    return lambda name: any((folder / name).is_file() for folder in folders)


def read_sources(report):
    for part, folder, sentence in ((CORE, "libpvfront", "the core"), (SIM, "adapters/sim", "the simulator")):
        files = sorted((ROOT / folder).glob("*.[ch]")) + sorted((ROOT / folder / "include").rglob("*.h"))
        files = [one for one in files if one.name != "sim_posix.h"]
        names = [(str(one.relative_to(ROOT)), one.read_text()) for one in files]
        own = own_header(part)
        report.run(f"{sentence} includes freestanding headers and its own only", lambda names=names, own=own: "\n".join(
            one for name, text in names for one in words.check_includes(name, text, own)))
        report.run(f"{sentence} uses no compiler words, long, floating point or bit-fields outside compiler.h",
                   lambda names=names: "\n".join(one for name, text in names for one in words.check_words(name, text)))
    report.run("planted includes, compiler words, longs and bit-fields are noticed, but not in comments and strings",
               selftest.check_words)
    report.run("every barrier site of ring.h is listed, with the function it lies in", barrier.check_site_list, ROOT)


class Compiled:
    """What one build made: objects by part, and what the compiler said."""

    def __init__(self, build, directory):
        self.build = build
        self.directory = directory / build.name.replace(" ", "-")
        self.objects = {CORE: [], SIM: []}
        self.said = {CORE: [], SIM: [], "barriers": []}
        self.barriers = None

    def compile(self, pool):
        parts = [CORE, SIM] if self.build.sim else [CORE]
        jobs = [(part, pool.submit(objects.compile_one, self.build, source, self.directory / part))
                for part in parts for source in objects.sources(part)]
        jobs.append(("barriers", pool.submit(objects.compile_one, self.build, HERE / "barriers.c",
                                             self.directory / "barriers")))
        return jobs

    def collect(self, jobs):
        for part, job in jobs:
            result, said = job.result()
            if said:
                self.said[part].append(said)
            elif part == "barriers":
                self.barriers = result
            else:
                self.objects[part].append(result)

    def whole(self, part):
        return bool(self.objects[part]) and not self.said[part]


def check_build(report, made, pointers, shown):
    build, name = made.build, made.build.name
    about = {"build": name}
    none = "" if objects.sources(CORE) else "there is no source of the core"
    report.add(f"{name}: the core compiles without a warning", none or "\n".join(made.said[CORE]), **about)
    if build.sim:
        report.add(f"{name}: the simulator compiles without a warning", "\n".join(made.said[SIM]), **about)
    if made.whole(CORE):
        core = made.objects[CORE]
        report.run(f"{name}: the core needs memcpy, memmove, memset and memcmp from outside, and nothing else",
                   objects.check_symbols, build.cpu, core, **about)
        report.run(f"{name}: no frame of the core is larger than {table.FRAME_LIMIT} bytes",
                   objects.check_frames, made.directory / CORE, **about)
        if build.compiler == "gcc":
            wrong, shown[name] = chain.check_chain(made.directory / CORE, ROOT, *pointers)
            report.add(f"{name}: no chain of calls needs more than {table.CHAIN_LIMIT} bytes, and none is endless",
                       wrong, **about)
        check_sites(report, made)
    if build.sim and made.whole(CORE) and made.whole(SIM):
        report.run(f"{name}: the simulator needs no more from outside than the core, but for 64-bit division",
                   objects.check_symbols, build.cpu, made.objects[CORE] + made.objects[SIM], SIM, **about)
    check_barriers(report, made)


def check_barriers(report, made):
    build, name = made.build, made.build.name
    sentence = f"{name}: each barrier and atomic word of compiler.h is the instruction it has to be"
    if made.barriers is None:
        report.add(sentence, "\n".join(made.said["barriers"]), build=name)
        return
    report.run(sentence, lambda: barrier.check_words(build.cpu, barrier.Code([made.barriers])), build=name)
    report.run(f"{name}: barriers taken out of compiler.h are missed in the disassembly", selftest.check_weakened,
               build, made.directory / "weakened", build=name)


def check_sites(report, made):
    build, name = made.build, made.build.name
    report.run(f"{name}: the wire client's ring has a barrier wherever an index is read or written",
               barrier.check_counted, build.cpu, made.objects[CORE], build=name)
    for site in table.SITES:
        if not table.INSTRUCTIONS[build.cpu][site.kind]:
            continue
        sentence = f"{name}: {site.function}: {site.why} (site {site.name}), by an instruction"
        defining = objects.defining(made.objects[CORE], site.function)
        if defining is None:
            report.add(sentence, f"no object of the core defines {site.function}", build=name)
            continue
        source = ROOT / objects.SOURCES[CORE] / (defining.stem + ".c")
        report.run(sentence, barrier.check_site, build, site, defining, source, made.directory / "sites", build=name)


def check_headers(report, pool, directory):
    """Each public header on its own: whoever includes only that one must not need another before it."""
    folders = (ROOT / "libpvfront/include", ROOT / "adapters/sim/include")
    names = sorted(str(one.relative_to(folder)) for folder in folders for one in folder.rglob("*.h"))
    jobs = []
    for build in (one for one in table.BUILDS if one.name in table.HEADER_BUILDS):
        folder = directory / "headers" / build.name.replace(" ", "-")

        def check(build=build, folder=folder):
            return "\n".join(filter(None, (objects.compile_text(build, f"#include <{name}>\ntypedef int unused;\n",
                                                                folder, name) for name in names)))
        jobs.append(pool.submit(report.run, f"{build.name}: each public header compiles on its own", check,
                                build=build.name))
    return jobs


def run_selftests(report, pool, directory):
    jobs = []
    for name, cpu, check, text, pattern in selftest.PLANTED_OBJECTS:
        jobs.append(pool.submit(report.run, f"{name} in the core would be noticed ({cpu})", selftest.check_object,
                                directory / "planted", name, cpu, check, text, pattern))
    for name, text, pattern in selftest.PLANTED_WINDOWS:
        jobs.append(pool.submit(report.run, f"{name} does not compile for Windows", selftest.check_windows,
                                directory / "planted-windows", name, text, pattern))
    return jobs


def run_programs(report, pool, directory, made):
    jobs = []
    for target in table.EMULATED:
        folder = directory / f"run-{target.cpu}"
        about = {"peer": "qemu-user", "build": target.cpu}
        jobs.append(pool.submit(report.run, f"an assertion that does not hold fails its test on {target.cpu}",
                                selftest.check_shim, target, folder / "shim", **about))
        build = made[target.build]
        for program, sources in emulate.programs():
            if len(sources) < program.least:
                report.add(f"{program.pattern} runs on {target.cpu}",
                           f"found {len(sources)} sources, at least {program.least} must be there", **about)
                continue
            parts = (CORE, SIM) if program.sim else (CORE,)
            if not all(build.whole(part) for part in parts):
                report.add(f"{program.pattern} runs on {target.cpu}", "its objects did not compile", **about)
                continue
            library = emulate.archive([one for part in parts for one in build.objects[part]],
                                      folder / f"{'-'.join(parts)}.a")
            for source in sources:
                jobs.append(pool.submit(emulate.check_program, report, target, program, source, library, folder))
    return jobs


def print_sizes(made, shown):
    print(f"\n{'core, -O2':<18}{'code':>10}{'constants':>12}   bytes")
    for one in made.values():
        if one.whole(CORE):
            text, constants = objects.section_bytes(one.objects[CORE])
            print(f"{one.build.name:<18}{text:>10}{constants:>12}")
    for name, chain_text in shown.items():
        print(f"deepest chain, {name}: {chain_text}")
    for cpu, names in table.LINKER_SYMBOLS.items():
        for name, why in names.items():
            print(f"allowed besides, on {cpu}: {name}, {why}")


def run_suite(report, directory, jobs):
    made = {build.name: Compiled(build, directory) for build in table.BUILDS}
    pointers = chain.host_members(ROOT), chain.core_pointers(ROOT)
    shown = {}
    read_sources(report)
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        waiting = [(one, one.compile(pool)) for one in made.values()]
        checks = run_selftests(report, pool, directory) + check_headers(report, pool, directory)
        for one, compiling in waiting:
            one.collect(compiling)
            checks.append(pool.submit(check_build, report, one, pointers, shown))
        checks += run_programs(report, pool, directory, made)
        for check in checks:
            check.result()
    print_sizes(made, shown)


def main():
    parser = argparse.ArgumentParser(description="the suite 'targets'")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilers at a time")
    parser.add_argument("--keep", metavar="DIRECTORY", help="leave what was built there")
    parser.add_argument("--verbose", action="store_true", help="name the tests that pass, too")
    arguments = parser.parse_args()
    report = Report(arguments.verbose)
    lacking = missing_tools()
    if lacking:
        report.add("the compilers and tools of the suite 'targets' are installed", "\n".join(lacking))
    else:
        with tempfile.TemporaryDirectory(prefix="pvf-targets-") as scratch:
            run_suite(report, Path(arguments.keep or scratch).absolute(), max(arguments.jobs, 1))
    print(f"targets: {report.passed} passed, {report.failed} failed")
    return 0 if report.failed == 0 and report.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
