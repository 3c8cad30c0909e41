# SPDX-License-Identifier: MIT
"""Results: said on the terminal, and appended to the report that $PVF_REPORT names."""

import json
import os
import threading
import time


SHOWN_LINES = 16  # of a message, on the terminal; the report keeps more
REPORTED_BYTES = 4096


class Report:
    def __init__(self, verbose=False):
        self.passed = 0
        self.failed = 0
        self.verbose = verbose
        self._lock = threading.Lock()

    def add(self, sentence, message, seconds=0.0, peer="compilers", rows=(), build=""):
        """One finished test; an empty message is a pass."""
        line = {"suite": "targets", "test": sentence, "rows": list(rows), "peer": peer, "build": build,
                "result": "fail" if message else "pass", "seconds": round(seconds, 3),
                "message": message[:REPORTED_BYTES]}
        with self._lock:
            if message:
                self.failed += 1
                lines = message.splitlines()
                more = [f"({len(lines) - SHOWN_LINES} more lines)"] if len(lines) > SHOWN_LINES else []
                print("\n".join([f"[  FAILED  ] {sentence}", *lines[:SHOWN_LINES], *more]), flush=True)
            else:
                self.passed += 1
                if self.verbose:
                    print(f"[       OK ] {sentence}", flush=True)
            _append(line)

    def run(self, sentence, check, *arguments, **about):
        """Calls a check that returns what is wrong, or nothing."""
        began = time.monotonic()
        message = check(*arguments)
        self.add(sentence, message or "", time.monotonic() - began, **about)


def _append(line):
    path = os.environ.get("PVF_REPORT")
    if not path:
        return
    # One write to a file opened for appending: suites that run side by side share the report.
    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(out, (json.dumps(line, ensure_ascii=False) + "\n").encode())
    finally:
        os.close(out)
