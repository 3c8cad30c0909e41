#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""table.py copy|backend|bench|error < what `pvfront --json` printed: the demo's few lines of it, for people."""

import json
import sys


def grid(lines):
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))


def size(bytes_):
    return f"{bytes_ // 1024} KiB"


def copy(runs):
    moved = runs[0]["copy"]
    print(f"{moved['bytes']} bytes in {moved['seconds']:.2f} s, {moved['bytes'] / moved['seconds'] / 1e6:.0f} MB/s")


def error(runs):
    if runs and runs[0]["error"]:
        print(runs[0]["error"]["message"])


def backend(runs):
    counters = runs[0]["backend"]
    requests = counters["reads"] + counters["writes"] + counters["flushes"] + counters["other"]
    grid([
        ["requests", "segments", "bytes read", "events received", "notifications sent", "grants mapped", "grants unmapped",
         "still mapped"],
        [str(number) for number in (requests, counters["segments"], counters["bytes_read"], counters["events"],
                                    counters["notifications"], counters["grant_maps"], counters["grant_unmaps"],
                                    counters["grants_mapped"])],
    ])
    print(f"{counters['events'] / requests:.3f} events and {counters['notifications'] / requests:.3f} notifications a request")


def bench(runs):
    lines = [["block", "depth", "what", "IOPS", "MB/s", "p50 µs", "p99 µs"]]
    for bench_run in (run["bench"] for run in runs):
        read_percent, latency = bench_run["read_percent"], bench_run["latency_ns"]
        what = {100: "read", 0: "write"}.get(read_percent, f"{read_percent} % read")
        lines.append([size(bench_run["block"]), str(bench_run["depth"]), what, f"{bench_run['iops']:.0f}",
                      f"{bench_run['mb_per_s']:.0f}", f"{latency['p50'] / 1000:.1f}", f"{latency['p99'] / 1000:.1f}"])
    grid(lines)


PRINTERS = {"copy": copy, "error": error, "backend": backend, "bench": bench}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in PRINTERS:
        sys.exit(__doc__)
    PRINTERS[sys.argv[1]]([json.loads(line) for line in sys.stdin if line.strip()])


if __name__ == "__main__":
    main()
