#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py PVFRONT [TEXT]: the command-line tool, from outside. TEXT: only tests whose name or sentence contains it.

Each test appends its line to $PVF_REPORT, in the form tests/check.h describes.
"""

import os
import pathlib
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "run")]

import record  # noqa: E402  (the tree's own, found by the line above)
import cases  # noqa: E402
import cases_bench  # noqa: E402
import cases_faults  # noqa: E402
import cases_input  # noqa: E402
import cases_terminal  # noqa: E402
import tool  # noqa: E402


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tool.PVFRONT = str(pathlib.Path(sys.argv[1]).resolve())
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    passed = failed = 0
    for case in tool.CASES:
        if wanted not in case.function.__name__ and wanted not in case.sentence:
            continue
        begin = time.monotonic()
        message = ""
        with tempfile.TemporaryDirectory(prefix="pvfront-tool-") as directory:
            os.chdir(directory)
            try:
                case.function(pathlib.Path(directory))
            except Exception:  # a test may fail in any way; all of them are told
                message = traceback.format_exc(limit=4)
            os.chdir("/")
        seconds = time.monotonic() - begin
        print(f"{'[  FAILED  ]' if message else '[       OK ]'} {case.sentence} ({seconds:.2f} s)", flush=True)
        if message:
            print(message, flush=True)
        record.write_line("tool", case.rows, "sim", case.sentence, not message, seconds, message)
        passed, failed = passed + (not message), failed + bool(message)
    print(f"tool: {passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    assert cases and cases_bench and cases_faults and cases_input and cases_terminal
    sys.exit(main())
