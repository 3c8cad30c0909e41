#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From the lines that tests leave behind to the table of what is proven, the JSON and JUnit reports, and README's table.

    report.py --table REPORT.json                  prints the table row x peer
    report.py --write-readme REPORT.json README    rewrites README's table
"""

import json
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

BEGIN, END = "<!-- proven:begin -->", "<!-- proven:end -->"


def read_lines(path):
    """The tests in a file of JSON lines; a line that is cut off (its writer was killed) counts as a failed test."""
    tests = []
    for text in path.read_text(errors="replace").splitlines():
        try:
            tests.append(json.loads(text))
        except ValueError:
            tests.append({"suite": path.stem, "test": "its report is whole", "rows": [], "peer": "", "build": "",
                          "result": "fail", "seconds": 0.0, "message": f"a line that is not JSON: {text[:200]}"})
    for test in tests:
        test.setdefault("build", "")
        test.setdefault("message", "")
    return tests


def read_features(path):
    """[(id, title, highest peers)]"""
    lines = path.read_text().splitlines()
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]


def summarise(tests, features, without):
    """Everything the reports say. `tests` is {suite: [test]}."""
    every = [test for ran in tests.values() for test in ran]
    ids = {feature[0] for feature in features}
    rows = []
    for row, title, highest in features:
        peers = {}
        for test in every:
            if row in test["rows"]:
                count = peers.setdefault(test["peer"], {"passed": 0, "failed": 0})
                count["passed" if test["result"] == "pass" else "failed"] += 1
        rows.append({"id": row, "title": title, "highest": highest, "peers": dict(sorted(peers.items()))})
    failed = sum(test["result"] != "pass" for test in every)
    return {
        "passed": len(every) - failed,
        "failed": failed,
        "without": without,
        "unknown_rows": sorted({row for test in every for row in test["rows"]} - ids),
        "suites": {suite: {"tests": len(ran), "failed": sum(test["result"] != "pass" for test in ran)}
                   for suite, ran in tests.items()},
        "rows": rows,
        "tests": every,
    }


def shown_on(row):
    """The peers against which all of the row's tests passed."""
    return [peer for peer, count in row["peers"].items() if count["passed"] and not count["failed"]]


def grid(lines):
    """Lines of cells as aligned text."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def cell(count):
    if count is None:
        return "-"
    return f"{count['failed']} FAILED" if count["failed"] else f"{count['passed']} passed"


def table(summary):
    """Row x peer, from the runs themselves."""
    peers = sorted({peer for row in summary["rows"] for peer in row["peers"]}) or [""]
    lines = [["row", "feature"] + peers + ["to be shown on"]]
    for row in summary["rows"]:
        cells = [cell(row["peers"].get(peer)) for peer in peers]
        if not row["peers"]:
            cells = ["not shown"] + [""] * (len(peers) - 1)
        lines.append([row["id"], row["title"][:60]] + cells + [row["highest"]])
    text = grid(lines)
    if summary["unknown_rows"]:
        text += "\nrows that tests name and tests/features.tsv does not have: " + ", ".join(summary["unknown_rows"])
    return text


def readme_table(summary):
    """README's block: only what was shown, and against whom. No counts: they change with every test added."""
    lines = ["| row | feature | shown on | to be shown on |", "|---|---|---|---|"]
    missing = []
    for row in summary["rows"]:
        peers = shown_on(row)
        if peers:
            lines.append(f"| {row['id']} | {row['title']} | {', '.join(peers)} | {row['highest']} |")
        else:
            missing.append(row["id"])
    return "\n".join(lines) + f"\n\nNot shown yet: {', '.join(missing)}.\n"


def split_readme(path):
    """(before, block, after), or a sentence."""
    try:
        text = path.read_text()
    except OSError as error:
        return f"{path.name}: {error.strerror}"
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        return f"{path.name} has no block between {BEGIN} and {END}"
    before, rest = text.split(BEGIN)
    block, after = rest.split(END)
    return before, block, after


def readme_difference(summary, path):
    """None when README's block is the one of these runs, else a sentence and the lines that differ."""
    parts = split_readme(path)
    if isinstance(parts, str):
        return parts
    stands, wanted = parts[1].strip().splitlines(), readme_table(summary).strip().splitlines()
    if stands == wanted:
        return None
    lines = [f"- {line}" for line in stands if line not in wanted] + [f"+ {line}" for line in wanted if line not in stands]
    return "README's table differs: run ./dev readme\n" + "\n".join(lines)


def write_readme(summary, path):
    if not summary.get("complete"):
        return "the last ./dev test was not a whole one that passed; run ./dev test first"
    parts = split_readme(path)
    if isinstance(parts, str):
        return parts
    path.write_text(f"{parts[0]}{BEGIN}\n{readme_table(summary)}{END}{parts[2]}")
    return None


def junit(summary):
    """As most CI systems read it: a suite for each suite, a case for each test."""
    root = xml.Element("testsuites", tests=str(summary["passed"] + summary["failed"]), failures=str(summary["failed"]))
    for suite, count in summary["suites"].items():
        ran = [test for test in summary["tests"] if test["suite"] == suite]
        node = xml.SubElement(root, "testsuite", name=suite, tests=str(count["tests"]), failures=str(count["failed"]),
                              time=f"{sum(test['seconds'] for test in ran):.3f}")
        for test in ran:
            place = ".".join(part for part in (suite, test["build"], test["peer"]) if part)
            case = xml.SubElement(node, "testcase", classname=place, name=test["test"], time=f"{test['seconds']:.3f}")
            if test["result"] != "pass":
                # XML has no way to say control characters.
                message = re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd]", "?", test["message"])
                xml.SubElement(case, "failure", message=message.split("\n")[0]).text = message
    return root


def write(summary, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(summary, indent=1) + "\n")
    tree = xml.ElementTree(junit(summary))
    xml.indent(tree)
    tree.write(path.with_suffix(".xml"), encoding="utf-8", xml_declaration=True)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--table":
        print(table(json.loads(pathlib.Path(sys.argv[2]).read_text())))
    elif len(sys.argv) == 4 and sys.argv[1] == "--write-readme":
        try:
            summary = json.loads(pathlib.Path(sys.argv[2]).read_text())
        except OSError:
            sys.exit("dev: no report of a run yet; run ./dev test first")
        answer = write_readme(summary, pathlib.Path(sys.argv[3]))
        if answer:
            sys.exit(f"dev: {answer}")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
