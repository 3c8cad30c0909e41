# SPDX-License-Identifier: MIT
"""Runs the tool, and holds what it says against docs/TOOL.md."""

import dataclasses
import hashlib
import json
import os
import pathlib
import random
import subprocess
import typing

PVFRONT = ""
HERE = pathlib.Path(__file__).resolve().parent
CASES = []
ANY = object()
SECONDS = 120

KIB = 1024
MIB = 1024 * KIB


@dataclasses.dataclass
class Case:
    function: typing.Callable
    rows: str
    sentence: str


def case(rows, sentence):
    """Registers a test with the feature rows that it shows."""
    def register(function):
        CASES.append(Case(function, rows, sentence))
        return function
    return register


@dataclasses.dataclass
class Answer:
    code: int
    out: bytes
    err: str
    json: dict = None


def pvfront(*arguments, code=0, stdin=b""):
    """Runs it, expects the exit code (or ANY), and that an error is a sentence."""
    words = [word if isinstance(word, bytes) else str(word) for word in arguments]
    ran = subprocess.run([PVFRONT, *words], input=stdin, capture_output=True, timeout=SECONDS, check=False)
    answer = Answer(ran.returncode, ran.stdout, ran.stderr.decode())
    shown = f"pvfront {' '.join(map(str, arguments))}\nexit {answer.code}\n{answer.out[-2000:]!r}\n{answer.err[-4000:]}"
    if code is ANY:
        assert 0 <= answer.code <= 5, f"not an exit code of the table: {shown}"
        code = answer.code
    assert answer.code == code, f"exit {answer.code} instead of {code}: {shown}"
    if code != 0 and "--json" not in arguments:
        lines = [line for line in answer.err.splitlines() if line.startswith("pvfront: ")]
        assert len(lines) == 1, f"not one error sentence: {shown}"
    if "--json" in arguments:
        assert answer.err == "", f"with --json stderr is empty: {shown}"
        answer.json = check_json(answer.out, code)
    return answer


def refused(*arguments, code, says, stdin=b""):
    """Expects an error whose sentence contains each of the words; and that nothing came out."""
    answer = pvfront(*arguments, code=code, stdin=stdin)
    for words in [says] if isinstance(says, str) else says:
        assert words in answer.err, f"'{words}' is not in: {answer.err}"
    return answer


def no_constant(name):
    raise ValueError(f"{name} is no JSON")


# The schema of docs/TOOL.md: a type, None for null, a set of alternatives, a dict of members, a list of one element's type.
NUMBER = int
REAL = {int, float}
TEXT_OR_NULL = {str, None}
NEGOTIATED = dict.fromkeys(
    ["sectors", "sector_size", "physical_sector_size", "info", "ring_order", "ring_entries", "queues", "max_segments",
     "max_ring_page_order", "max_queues", "max_indirect", "backend_domid"], NUMBER) | dict.fromkeys(
    ["read_only", "persistent", "flush", "trusted"], bool) | dict.fromkeys(
    ["mode", "device_type", "path", "backend_path"], str)
FRONTEND = dict.fromkeys(
    ["reads", "writes", "flushes", "errors", "bytes_read", "bytes_written", "requests", "responses", "segments", "pushes",
     "notifications", "events", "sleeps", "spins", "bounced_bytes", "split", "grant_operations", "bad_responses",
     "latency_sum", "latency_count", "latency_min", "latency_max"], NUMBER)
BACKEND = dict.fromkeys(
    ["reads", "writes", "flushes", "other", "segments", "bytes_read", "bytes_written", "refused", "events", "notifications",
     "grant_maps", "grant_unmaps", "grants_mapped", "persistent_mapped", "cpu_ns"], NUMBER)
HELD = dict.fromkeys(
    ["grants", "grants_mapped", "maps", "ports", "watches", "transactions", "pages", "parked", "memory"], NUMBER)
MOVED = {"sector": NUMBER, "count": NUMBER, "bytes": NUMBER, "seconds": REAL, "flushed": bool, "file": TEXT_OR_NULL}
BENCH = {
    "valid": bool, "pattern": str, "block": NUMBER, "read_percent": NUMBER, "random_percent": NUMBER, "depth": NUMBER,
    "seconds": REAL, "poll": bool, "spin": NUMBER, "repeat": NUMBER, "requests": NUMBER, "measured_seconds": REAL,
    "iops": REAL, "mb_per_s": REAL,
    "latency_ns": {"min": NUMBER, "avg": REAL, "p50": NUMBER, "p99": NUMBER, "max": NUMBER},
    "average_in_flight": REAL, "cpu_frontend_seconds": REAL, "cpu_backend_seconds": REAL,
    "notifications_per_request": REAL, "events_per_request": REAL, "spread": REAL, "runs_iops": [REAL],
}
RAW = {"file": str, "iops": REAL, "spread": REAL, "runs_iops": [REAL], "overhead": REAL}
VERBS = {"info": None, "flush": None, "read": MOVED, "write": MOVED, "copy": MOVED,
         "verify": MOVED | {"seed": NUMBER, "bad_sectors": NUMBER}, "bench": BENCH}
KINDS = {1: "io", 2: "usage", 3: "connect", 4: "refused", 5: "broken", 129: "signal", 130: "signal", 143: "signal"}
STEPS = {
    "phase": {"from": str, "phase": str},
    "state": {"frontend_state": NUMBER, "backend_state": NUMBER},
    "peer": {"frontend_state": NUMBER, "backend_state": NUMBER},
    **dict.fromkeys(["read", "write", "remove"], {"name": str, "status": str, "value": TEXT_OR_NULL}),
}


def check_shape(value, shape, where):
    if isinstance(shape, dict):
        assert isinstance(value, dict) and set(value) == set(shape), f"{where}: members {value} are not {sorted(shape)}"
        for name, inner in shape.items():
            check_shape(value[name], inner, f"{where}.{name}")
    elif isinstance(shape, list):
        assert isinstance(value, list), f"{where} is no list"
        for element in value:
            check_shape(element, shape[0], where)
    elif isinstance(shape, set):
        assert any(value is None if one is None else type(value) is one for one in shape), f"{where} is {value!r}"
    else:
        assert type(value) is shape, f"{where} is {value!r}, no {shape}"


def check_verb(told, verb):
    shape = VERBS[verb]
    if shape is None or verb not in told:
        assert verb not in told and shape is None, f"{verb} tells {told.keys()}"
        return
    value = dict(told[verb])
    if verb == "bench":
        if not value["valid"]:
            assert value == {"valid": False}
            return
        raw = value.pop("raw")
        if raw is not None:
            check_shape(raw, RAW, "raw")
    check_shape(value, shape, verb)


def check_json(out, code):
    """One object, a newline, and the members of docs/TOOL.md."""
    text = out.decode("utf-8")
    assert text.endswith("}\n") and text.count("\n") == 1, f"not one line: {text[-200:]!r}"
    told = json.loads(text, parse_constant=no_constant)
    verb = told["command"]
    common = {"command", "host", "device", "status", "exit", "error", "negotiated", "frontend", "backend", "held"}
    assert common <= set(told) <= common | {"trace", "trace_dropped", verb}, sorted(told)
    assert told["exit"] == code and told["status"] == ("error" if code else "ok"), told
    check_shape(told["command"], TEXT_OR_NULL, "command")
    if code == 0:
        assert told["error"] is None
        check_shape(told["negotiated"], NEGOTIATED, "negotiated")
    else:
        check_shape(told["error"], {"kind": str, "status": TEXT_OR_NULL, "message": str, "sector": {int, None}}, "error")
        assert told["error"]["kind"] == KINDS[code], told["error"]
    for name, shape in (("negotiated", NEGOTIATED), ("frontend", FRONTEND), ("backend", BACKEND), ("held", HELD),
                        ("device", {"virtual_device": NUMBER, "name": TEXT_OR_NULL, "image": TEXT_OR_NULL})):
        if told[name] is not None:
            check_shape(told[name], shape, name)
    for step in told.get("trace", []):
        shape = {"at_us": NUMBER, "kind": str} | STEPS[step["kind"]] | ({"text": str} if "text" in step else {})
        check_shape(step, shape, "trace")
    if verb is not None:
        check_verb(told, verb)
    return told


def nothing_held(told):
    assert told["held"] is not None and not any(told["held"].values()), told["held"]
    assert told["backend"]["grants_mapped"] == 0, told["backend"]


def make_image(path, size, seed=1):
    """A file of random bytes; returns them."""
    data = random.Random(seed).randbytes(size)
    path.write_bytes(data)
    return data


def make_ext4(path, size=16 * MIB):
    with open(path, "wb") as image:
        image.truncate(size)
    subprocess.run(["/sbin/mke2fs", "-q", "-F", "-t", "ext4", str(path)], check=True, capture_output=True)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files_in(directory):
    return sorted(os.listdir(directory))
