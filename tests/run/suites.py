#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev test: builds, runs the suites side by side, counts, prints the table of what is proven, writes the reports.

A suite is a few jobs; a job is one command that appends a line to $PVF_REPORT for each test it finished. A suite whose
packages are missing, whose command fails, or that ran fewer tests than tests/manifest says, fails.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = TREE / "build"
WORK = BUILD / "test"
sys.path[:0] = [str(TREE / "tests" / "report"), str(TREE / "tests" / "run")]

import report  # noqa: E402  (the tree's own, found by the line above)


@dataclasses.dataclass
class Job:
    """One command of a suite. `build` is the variant it needs (tests/run/build.sh) and, unless `label` is given, its name."""

    command: list
    build: str = ""
    label: str = ""
    full_only: bool = False
    environment: dict = dataclasses.field(default_factory=dict)

    def name(self):
        return self.label or self.build


def meson(suite, build, **more):
    """The programs that the tree's meson.build files registered for this suite."""
    command = ["meson", "test", "-C", f"build/{build}", "--no-rebuild", "--suite", suite, "--print-errorlogs",
               "--timeout-multiplier", "20"]
    return Job(command, build, **more)


# What the sanitizers do when they find something: stop at once, and say where.
SANITIZERS = {
    "ASAN_OPTIONS": "abort_on_error=0:detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}

SUITES = {
    "runner": [Job(["python3", "tests/runner/run.py"], "plain")],
    "unit": [meson("unit", "plain"), meson("unit", "asan"), meson("unit", "tsan")],
    "sim": [
        meson("sim", "asan"),
        # Many seeds are for stepped mode, whose one thread shows a thread checker nothing.
        meson("sim", "tsan", environment={"PVF_SEEDS": "20"}),
        meson("sim", "plain"),
        meson("sim", "plain", label="long", full_only=True, environment={"PVF_LONG": "1", "PVF_TIMEOUT": "900"}),
    ],
    "tool": [Job(["tests/tool/run"], "plain"), Job(["tests/tool/run"], "asan")],
    "install": [Job(["tests/install/run"], "plain")],
    "targets": [Job(["python3", "tests/targets/run.py"], label="all")],
    "bench": [Job(["tests/bench/gate"], "plain")],
    "docs": [Job(["python3", "tests/docs/check_docs.py"], "plain")],
    "format": [Job(["tests/run/format.sh", "--check"], label="all")],
    "clang": [
        meson("unit", "clang", full_only=True),
        meson("sim", "clang", full_only=True),
    ],
    "tidy": [Job(["tests/run/tidy.sh"], "clang", full_only=True)],
}

# Builds in the order in which they are worth starting.
BUILDS = ("plain", "asan", "tsan", "clang")

# A job that takes longer than this hangs.
JOB_SECONDS = 1200

running = set()
running_lock = threading.Lock()


def run(command, log, environment):
    """Runs one command in a process group of its own, everything it says into the log; its exit code, None when killed."""
    with open(log, "ab") as out:
        try:
            process = subprocess.Popen(command, cwd=TREE, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        except OSError as error:
            out.write(f"{command[0]}: {error.strerror}\n".encode())
            return 127
        with running_lock:
            running.add(process)
        try:
            return process.wait(JOB_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            out.write(f"killed: it was not done after {JOB_SECONDS} s\n".encode())
            return None
        finally:
            with running_lock:
                running.discard(process)


def stop_everything():
    with running_lock:
        for process in running:
            os.killpg(process.pid, signal.SIGTERM)


def tail(path, lines=30):
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def failure(suite, sentence, message):
    return {"suite": suite, "test": sentence, "rows": [], "peer": "", "build": "", "result": "fail", "seconds": 0.0,
            "message": message}


def build(variant):
    """True, or the sentence that says why not."""
    log = WORK / f"build-{variant}.log"
    code = run(["tests/run/build.sh", variant, "tests"], log, dict(os.environ))
    if code == 0 and variant == "plain":
        tool = BUILD / "pvfront"
        tool.unlink(missing_ok=True)
        tool.symlink_to("plain/examples/pvfront/pvfront")
    return True if code == 0 else f"the build '{variant}' failed:\n{tail(log)}"


def run_job(suite, job, built):
    """The job's tests, with one more that failed if the command failed without saying which test did."""
    name = f"{suite}-{job.name()}"
    lines, log = WORK / f"{name}.jsonl", WORK / f"{name}.log"
    lines.touch()
    if built is not None:
        answer = built.result()
        if answer is not True:
            return [failure(suite, f"{suite} ({job.name()}) is built", answer)]
    environment = {**os.environ, **SANITIZERS, "PVF_REPORT": str(lines), "PVF_SUITE": suite,
                   "PVF_BUILD": job.name(), "PVF_BUILD_DIR": str(BUILD / (job.build or suite)), **job.environment}
    if suite == "targets":
        # One suite, many machines: it says itself how each program was built and on what it ran.
        del environment["PVF_BUILD"]
    begin = time.monotonic()
    code = run(job.command, log, environment)
    tests = report.read_lines(lines)
    passed = sum(test["result"] == "pass" for test in tests)
    if code != 0 and passed == len(tests):
        tests.append(failure(suite, f"'{' '.join(job.command)}' ({job.name()}) exits 0",
                             f"exit {code}, and no test said why:\n{tail(log)}"))
    print(f"{suite} ({job.name()}): {passed} passed, {len(tests) - passed} failed, "
          f"{time.monotonic() - begin:.0f} s", flush=True)
    return tests


def read_manifest():
    least = {}
    for line in (TREE / "tests" / "manifest").read_text().splitlines():
        if line and not line.startswith("#"):
            suite, number = line.split()
            least[suite] = int(number)
    return least


def lacking_packages(suite):
    answer = subprocess.run([TREE / "tests/run/packages.sh", "--lacking", suite], capture_output=True, text=True, check=True)
    return answer.stdout.split()


def is_full_only(suite):
    return all(job.full_only for job in SUITES[suite])


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev test", allow_abbrev=False, add_help=False)
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--report")
    options = parser.parse_args(arguments)
    full = "full" in options.suites
    named = [suite for suite in options.suites if suite != "full"]
    for suite in named + options.without:
        if suite not in SUITES:
            parser.exit(2, f"dev: no suite '{suite}'; the suites are {', '.join(SUITES)}, and full for all of them\n")
    if full and named:
        parser.exit(2, f"dev: full is every suite already; leave out '{named[0]}' or full\n")
    for suite in options.without:
        if named and suite not in named:
            parser.exit(2, f"dev: --without {suite} leaves out what was not asked for\n")
    chosen = named or [suite for suite in SUITES if full or not is_full_only(suite)]
    options.whole = not named
    options.full = full
    options.chosen = [suite for suite in dict.fromkeys(chosen) if suite not in options.without]
    options.without = list(dict.fromkeys(options.without))
    if not options.chosen:
        parser.exit(2, "dev: nothing is left to run\n")
    return options


def run_suites(options):
    """{suite: its tests}"""
    tests = {suite: [] for suite in options.chosen}
    jobs = []
    for suite in options.chosen:
        lacks = lacking_packages(suite)
        if lacks:
            tests[suite].append(failure(suite, "the packages it needs are installed",
                                        f"{suite}: these Debian packages are lacking: {' '.join(lacks)}"))
            continue
        jobs += [(suite, job) for job in SUITES[suite] if options.full or not job.full_only or is_full_only(suite)]
    needed = {job.build for _, job in jobs if job.build}
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 2)) as pool:
        try:
            builds = {variant: pool.submit(build, variant) for variant in BUILDS if variant in needed}
            # What needs no build first: it fills the time of the builds.
            jobs.sort(key=lambda entry: BUILDS.index(entry[1].build) if entry[1].build else -1)
            done = {pool.submit(run_job, suite, job, builds.get(job.build)): suite for suite, job in jobs}
            for future in concurrent.futures.as_completed(done):
                tests[done[future]] += future.result()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            stop_everything()
            raise
    return tests


def check_manifest(tests):
    least = read_manifest()
    for suite, ran in tests.items():
        if len(ran) < least.get(suite, 1):
            ran.append(failure(suite, "it ran as many tests as tests/manifest says",
                               f"{suite} ran {len(ran)} tests; tests/manifest says at least {least.get(suite, 1)}"))


def check_readme(summary, tests):
    """One more test: README's table is the one of these runs."""
    answer = report.readme_difference(summary, TREE / "README.md")
    line = failure("docs", "README's table of what is proven is the one of the runs", answer or "")
    line["result"] = "fail" if answer else "pass"
    tests["docs"].append(line)


def print_failures(tests):
    for suite, ran in tests.items():
        for test in ran:
            if test["result"] != "pass":
                where = ", ".join(part for part in (suite, test["build"], test["peer"]) if part)
                print(f"\nFAILED ({where}): {test['test']}\n    " + test["message"].replace("\n", "\n    "))


def install_packages(chosen):
    """All at once; when that fails, suite by suite, so that each that lacks something fails for itself."""
    install = [TREE / "tests/run/packages.sh", "--install"]
    if subprocess.run(install + chosen, check=False).returncode != 0:
        for suite in chosen:
            if lacking_packages(suite):
                subprocess.run(install + [suite], check=False, stderr=subprocess.DEVNULL)


def main():
    options = parse(sys.argv[1:])
    begin = time.monotonic()
    install_packages(options.chosen)
    WORK.mkdir(parents=True, exist_ok=True)
    for old in list(WORK.glob("*.jsonl")) + list(WORK.glob("*.log")):
        old.unlink()
    try:
        tests = run_suites(options)
    except KeyboardInterrupt:
        sys.exit("dev: interrupted")
    check_manifest(tests)
    features = report.read_features(TREE / "tests" / "features.tsv")
    summary = report.summarise(tests, features, options.without)
    # README's table can be held to these runs, and made from them, when nothing was left out and nothing failed.
    complete = options.whole and not options.without and summary["failed"] == 0
    if complete:
        check_readme(summary, tests)
        summary = report.summarise(tests, features, options.without)
    summary["complete"] = complete
    summary["seconds"] = round(time.monotonic() - begin, 1)
    (BUILD / "report.json").write_text(json.dumps(summary, indent=1) + "\n")
    if options.report:
        report.write(summary, pathlib.Path(options.report))
    print_failures(tests)
    print()
    print(report.table(summary))
    print()
    print(f"{summary['seconds']:.0f} s; logs in build/test, report in build/report.json")
    left_out = f" (without: {', '.join(options.without)})" if options.without else ""
    print(f"{summary['passed']} passed, {summary['failed']} failed{left_out}")
    sys.exit(0 if summary["failed"] == 0 else 1)


if __name__ == "__main__":
    main()
