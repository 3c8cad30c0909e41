#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""record.py SUITE ROWS PEER SENTENCE -- COMMAND…

Runs a command as one test: exit 0 is a pass. Appends the test's line to $PVF_REPORT, prints what the command said when
it failed, and exits as it did. Other scripts may import write_line().
"""

import json
import os
import subprocess
import sys
import time


def write_line(suite, rows, peer, sentence, passed, seconds=0.0, message=""):
    """One finished test, in the form tests/check.h describes."""
    path = os.environ.get("PVF_REPORT")
    if not path:
        return
    line = {
        "suite": os.environ.get("PVF_SUITE") or suite,
        "test": sentence,
        "rows": rows.split(),
        "peer": os.environ.get("PVF_PEER") or peer,
        "build": os.environ.get("PVF_BUILD") or "plain",
        "result": "pass" if passed else "fail",
        "seconds": round(seconds, 3),
        "message": "" if passed else message[-4096:],
    }
    # One write to a file opened for appending: suites that run side by side may share it.
    with open(path, "ab", buffering=0) as report:
        report.write((json.dumps(line) + "\n").encode())


def main():
    arguments = sys.argv[1:]
    if len(arguments) < 6 or arguments[4] != "--":
        sys.exit(__doc__)
    suite, rows, peer, sentence = arguments[:4]
    begin = time.monotonic()
    run = subprocess.run(arguments[5:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    seconds = time.monotonic() - begin
    said = run.stdout.decode(errors="replace")
    passed = run.returncode == 0
    if not passed:
        sys.stderr.write(said)
    print(f"{'[       OK ]' if passed else '[  FAILED  ]'} {sentence} ({seconds:.2f} s)", flush=True)
    write_line(suite, rows, peer, sentence, passed, seconds, said or f"exit {run.returncode}")
    sys.exit(run.returncode if run.returncode >= 0 else 128 - run.returncode)


if __name__ == "__main__":
    main()
