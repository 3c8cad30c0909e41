#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The suite "runner": what runs and counts the tests says no when it should. $PVF_BUILD_DIR has the planted tests."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tests" / "report"), str(TREE / "tests" / "run"), str(TREE / "tests" / "docs")]

import check_docs  # noqa: E402  (the tree's own, found by the line above)
import record  # noqa: E402
import report  # noqa: E402
import suites  # noqa: E402

FEATURES = [("V01", "reads", "B"), ("V02", "orders", "B"), ("V22", "close", "Q")]


def a_test(**values):
    return {"suite": "unit", "test": "it does", "rows": ["V01"], "peer": "sim", "build": "plain", "result": "pass",
            "seconds": 0.5, "message": "", **values}


def run_planted(only=""):
    """(exit code, {sentence: line}) of the planted tests."""
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "report"
        environment = {**os.environ, "PVF_REPORT": str(path), "PVF_TIMEOUT": "1", "PVF_ONLY": only}
        for name in ("PVF_SUITE", "PVF_PEER", "PVF_BUILD"):
            environment.pop(name, None)
        program = pathlib.Path(os.environ["PVF_BUILD_DIR"]) / "tests" / "runner" / "planted"
        code = subprocess.run([program], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode
        lines = report.read_lines(path) if path.exists() else []
        return code, {line["test"]: line for line in lines}


def planted_failures():
    code, lines = run_planted()
    results = {sentence: line["result"] for sentence, line in lines.items()}
    assert results == {'it "passes"': "pass", "it fails": "fail", "it aborts": "fail",
                       "it exits as if all were well": "fail", "it hangs": "fail", "it skips itself": "fail",
                       "it needs its set-up": "pass"}, results
    assert code == 1, code


def planted_lines():
    _, lines = run_planted()
    line = lines['it "passes"']
    assert line["rows"] == ["V01", "V22"] and line["peer"] == "sim" and line["suite"] == "planted", line
    assert "0x1 != 0x2" in lines["it fails"]["message"], lines["it fails"]
    assert "signal 6" in lines["it aborts"]["message"], lines["it aborts"]


def planted_filter():
    code, lines = run_planted("passes")
    assert code == 0 and len(lines) == 1, (code, lines)
    code, lines = run_planted("no such test")
    assert code == 1 and not lines, "a run of no test must not pass"


def torn_line():
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "torn.jsonl"
        path.write_text(json.dumps(a_test()) + "\n" + '{"suite": "un')
        results = [line["result"] for line in report.read_lines(path)]
        assert results == ["pass", "fail"], results


def counts_and_rows():
    tests = {"unit": [a_test(), a_test(result="fail", peer="unit"), a_test(rows=["V22", "Z99"])]}
    summary = report.summarise(tests, FEATURES, [])
    assert (summary["passed"], summary["failed"]) == (2, 1), summary
    assert summary["unknown_rows"] == ["Z99"], summary["unknown_rows"]
    text = report.table(summary)
    assert "not shown" in text.splitlines()[2] and "1 FAILED" in text.splitlines()[1], text
    readme = report.readme_table(summary)
    assert "| V01 | reads | sim | B |" in readme and "Not shown yet: V02." in readme, readme


def a_failed_row_is_not_shown():
    summary = report.summarise({"unit": [a_test(), a_test(result="fail")]}, FEATURES, [])
    assert "| V01 |" not in report.readme_table(summary)


def manifest_and_exit():
    tests = {"unit": []}
    suites.check_manifest(tests)
    assert tests["unit"] and tests["unit"][0]["result"] == "fail", tests


def silent_failure():
    with tempfile.TemporaryDirectory() as scratch:
        work, suites.WORK = suites.WORK, pathlib.Path(scratch)
        try:
            answer = suites.run_job("unit", suites.Job(["sh", "-c", "echo words; exit 3"], label="x"), None)
            nothing = suites.run_job("unit", suites.Job(["no-such-command"], label="y"), None)
        finally:
            suites.WORK = work
    assert len(answer) == 1 and answer[0]["result"] == "fail" and "words" in answer[0]["message"], answer
    assert len(nothing) == 1 and nothing[0]["result"] == "fail", nothing


def junit_is_xml():
    summary = report.summarise({"unit": [a_test(), a_test(result="fail", message="a\x00<b>\nc")]}, FEATURES, [])
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "out.json"
        report.write(summary, path)
        root = xml.parse(path.with_suffix(".xml")).getroot()
        assert root.get("tests") == "2" and root.get("failures") == "1" and len(root.findall(".//failure")) == 1
        assert json.loads(path.read_text())["failed"] == 1


def readme_is_held_to_the_runs():
    summary = report.summarise({"unit": [a_test()]}, FEATURES, [])
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "README.md"
        assert report.readme_difference(summary, path), "no README must not pass"
        path.write_text(f"a\n{report.BEGIN}\n| V02 |\n{report.END}\nb\n")
        assert report.readme_difference(summary, path).startswith("README's table differs: run ./dev readme")
        assert report.write_readme({**summary, "complete": False}, path), "a partial run must not make the table"
        assert report.write_readme({**summary, "complete": True}, path) is None
        assert report.readme_difference(summary, path) is None
        assert path.read_text().startswith("a\n<!--") and path.read_text().endswith("-->\nb\n")


def bad_arguments():
    for arguments in (["nosuch"], ["--without", "nosuch"], ["full", "unit"], ["unit", "--without", "sim"], ["--bogus"]):
        run = subprocess.run([sys.executable, TREE / "tests/run/suites.py", *arguments], capture_output=True, check=False)
        assert run.returncode == 2 and run.stderr, (arguments, run)
    run = subprocess.run([TREE / "dev", "nosuch"], capture_output=True, check=False)
    assert run.returncode == 2 and run.stderr.count(b"\n") == 1, run


def docs_blocks():
    found = check_docs.commands(1, ["$ true", "output", "$ false  # exit 1", "$ cat <<X", "> y", "> X"])
    assert [(number, expected) for number, _, expected in found] == [(1, 0), (3, 1), (4, 0)], found
    with tempfile.TemporaryDirectory() as scratch:
        assert check_docs.execute("p", 1, ["$ true", "$ false  # exit 1"], scratch) is None
        assert "p:2: exit 1, expected 0" in check_docs.execute("p", 1, ["$ true", "$ false"], scratch)
        assert check_docs.execute("p", 1, ["no command"], scratch)
        assert check_docs.compile_c(["int x;"], scratch) is None
        assert check_docs.compile_c(["int x"], scratch)


def docs_links():
    page = TREE / "tests" / "page.md"
    assert check_docs.broken_links(page, [(1, "[a](manifest) [b](https://example.org) `[c](d)`")]) is None
    assert "nope" in check_docs.broken_links(page, [(1, "[a](nope)")])


TESTS = {
    "a test that fails, aborts, exits, hangs or skips itself fails, and nobody else does": planted_failures,
    "a test's line has its rows, its peer and what it said": planted_lines,
    "a filter that matches no test is no pass": planted_filter,
    "a line that was cut off is a failure": torn_line,
    "tests and rows are counted, unknown rows are named": counts_and_rows,
    "a row with one failed test is not shown": a_failed_row_is_not_shown,
    "a suite that ran too few tests fails": manifest_and_exit,
    "a command that fails without saying why is a failure": silent_failure,
    "the JUnit report is XML whatever a test said": junit_is_xml,
    "README's table is held to the runs and only made from a whole one": readme_is_held_to_the_runs,
    "unknown verbs, suites and options are refused with exit 2": bad_arguments,
    "console and C blocks of a page are run, with the exits they name": docs_blocks,
    "links that lead nowhere are found": docs_links,
}


def main():
    failed = 0
    for sentence, function in TESTS.items():
        begin, message = time.monotonic(), ""
        try:
            function()
        except AssertionError as error:
            message = f"{function.__name__}: {error}"
            failed += 1
        seconds = time.monotonic() - begin
        print(f"{'[  FAILED  ]' if message else '[       OK ]'} {sentence} ({seconds:.2f} s)\n{message}".strip(), flush=True)
        record.write_line("runner", "", "tree", sentence, not message, seconds, message)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
