# SPDX-License-Identifier: MIT
"""A backend that lies, errs, dies; keys that are garbage; signals."""

import os
import signal
import subprocess
import time

from tool import ANY, KIB, MIB, case, check_json, digest, files_in, make_image, nothing_held, pvfront, refused
import tool


@case("V01", "a flipped bit in a read is found by verify, which names the sector")
def corrupt(path):
    (path / "disk.img").write_bytes(bytes(4 * MIB))
    told = pvfront("--json", "vbd", "verify", "--image", "disk.img", "--write", "--scratch", "--backend-fault", "corrupt@5",
                   code=1).json
    sector = told["error"]["sector"]
    assert 0 <= sector < 8192 and f"sector {sector} " in told["error"]["message"]
    assert told["verify"]["bad_sectors"] == 1
    nothing_held(told)
    refused("vbd", "verify", "--image", "disk.img", "--write", "--scratch", "--backend-fault", "corrupt@5", code=1,
            says=["verify: sector ", "is the first of 1 bad ones", "byte"])


@case("X06", "a key too long for xenstore is refused before anything is made")
def long_key(path):
    make_image(path / "disk.img", 4 * MIB)
    refused("vbd", "info", "--image", "disk.img", "--backend-key", "sectors=" + "9" * 5000, code=2, says=["4096", "shorter"])


@case("X06", "a size that is not the image's is named before anything is transferred")
def wrong_size(path):
    make_image(path / "disk.img", 4 * MIB)
    for verb in (["copy", "--out", "copy.img"], ["verify", "--write"], ["info"], ["bench"]):
        refused("vbd", *verb, "--image", "disk.img", "--backend-fault", "size", code=1, says=["size", "sectors", "8192"])
    told = pvfront("--json", "vbd", "verify", "--write", "--image", "disk.img", "--backend-fault", "size", code=1).json
    assert told["backend"]["reads"] == 0 and told["backend"]["writes"] == 0
    nothing_held(told)
    assert files_in(path) == ["disk.img"]


@case("V22", "a backend that dies, stalls, vanishes or closes in the middle ends the copy, with no partial file")
def dies(path):
    make_image(path / "disk.img", 8 * MIB)
    for fault in ("die@20", "stall@20", "vanish@20", "closed@20"):
        told = pvfront("--json", "vbd", "copy", "--image", "disk.img", "--out", "copy.img", "--backend-fault", fault,
                       "--deadline", 400, code=5).json
        assert told["error"]["message"], told
        assert files_in(path) == ["disk.img"], files_in(path)
        refused("vbd", "verify", "--write", "--image", "disk.img", "--backend-fault", fault, "--deadline", 400, code=5,
                says="phase")


@case("V32", "answers that break the protocol break the device, and are told")
def lies(path):
    make_image(path / "disk.img", 4 * MIB)
    clauses = {"bad-id": "an id that was never used", "free-id": "not in flight", "stale-id": "the id of an earlier request",
               "repeat": "more requests than it was sent", "bad-op": "another operation",
               "bad-status": "a status that does not exist", "overrun": "more requests than it was sent",
               "backwards": "more requests than it was sent"}
    for fault, clause in clauses.items():
        told = pvfront("--json", "vbd", "copy", "--image", "disk.img", "--out", "copy.img", "--backend-fault", f"{fault}@5",
                       "--depth", 4, "--deadline", 500, code=5).json
        assert told["frontend"]["bad_responses"] >= 1, (fault, told["frontend"])
        assert clause in told["error"]["message"], (fault, told["error"])
        assert files_in(path) == ["disk.img"]
        nothing_held(told)


@case("V22", "a backend that leaves Connected in the middle is told with the phase and what is known of why")
def leaves(path):
    make_image(path / "disk.img", 4 * MIB)
    for fault in ("closed@5", "restart@5"):
        refused("vbd", "copy", "--image", "disk.img", "--out", "copy.img", "--backend-fault", fault, "--depth", 4,
                "--deadline", 500, code=5, says=["phase ", "PVF_RESET", "state is no longer Connected"])


@case("V01", "a request that the backend refuses is named by its sectors, and the device closes cleanly")
def refused_requests(path):
    (path / "disk.img").write_bytes(bytes(4 * MIB))
    for fault in ("error@7", "unsupported@7"):
        told = pvfront("--json", "vbd", "copy", "--image", "disk.img", "--out", "copy.img", "--backend-fault", fault,
                       code=1).json
        assert told["error"]["sector"] is not None and told["backend"]["refused"] == 1
        nothing_held(told)
        refused("vbd", "verify", "--write", "--image", "disk.img", "--backend-fault", fault, code=1, says="writing sectors")
    assert files_in(path) == ["disk.img"]


@case("V01 V06", "answers out of order and doubled notifications change nothing")
def shuffled(path):
    make_image(path / "disk.img", 4 * MIB)
    for fault in ("shuffle@3", "double-notify", "early"):
        told = pvfront("--json", "vbd", "copy", "--image", "disk.img", "--out", "copy.img", "--backend-fault", fault).json
        assert digest(path / "copy.img") == digest(path / "disk.img")
        nothing_held(told)


@case("X05", "silence in each phase ends at the deadline, with the phase's name and exit 3")
def silent(path):
    make_image(path / "disk.img", MIB)
    for fault in ("silent-init", "silent-initwait"):
        begin = time.monotonic()
        answer = refused("vbd", "info", "--image", "disk.img", "--backend-fault", fault, "--deadline", 300, code=3,
                         says="PVF_TIMEOUT")
        assert 0.25 < time.monotonic() - begin < 10, answer
    begin = time.monotonic()
    pvfront("vbd", "info", "--image", "disk.img", "--backend-fault", "silent-close", "--deadline", 300, code=5)
    assert time.monotonic() - begin < 10


@case("X06", "keys that are absent, empty, negative, huge or garbage give a default or an error that names them")
def keys(path):
    make_image(path / "disk.img", MIB)
    mandatory = ["", "garbage", "-1", "0x800", " ", "99999999999999999999999", "2048x"]
    for value in mandatory:
        refused("vbd", "info", "--image", "disk.img", "--backend-key", f"sectors={value}", "--deadline", 500, code=3,
                says="sectors")
    for value in ("1000", "0", "-512", "garbage", "511", "99999999999"):
        refused("vbd", "info", "--image", "disk.img", "--backend-key", f"sector-size={value}", "--deadline", 500, code=3,
                says="sector-size")
    for key in ("feature-persistent", "feature-flush-cache", "feature-barrier", "max-ring-page-order", "info"):
        for value in ("", "garbage", "-1", "99999999999999999999999", "7777777"):
            told = pvfront("--json", "vbd", "info", "--image", "disk.img", "--backend-key", f"{key}={value}",
                           code=ANY).json
            assert told["status"] == "ok" or key in told["error"]["message"], told["error"]
            if told["held"]:
                nothing_held(told)


@case("X06", "states that are none, or skip, are survived: connected, or an error that names the state")
def states(path):
    make_image(path / "disk.img", MIB)
    for value in ("9", "garbage", "-1", "", "4294967296", "0"):
        answer = pvfront("vbd", "info", "--image", "disk.img", "--backend-key", f"state={value}", "--deadline", 300,
                         code=3)
        assert "state" in answer.err or "phase" in answer.err or "backend" in answer.err, answer.err
    pvfront("vbd", "info", "--image", "disk.img", "--backend-fault", "skip")
    pvfront("vbd", "info", "--image", "disk.img", "--backend-fault", "late-keys", "--deadline", 3000)


@case("X06", "a smaller size set on purpose is the device's size")
def smaller(path):
    data = make_image(path / "disk.img", MIB)
    assert pvfront("vbd", "read", "--image", "disk.img", "--backend-key", "sectors=100").out == data[:51200]
    refused("vbd", "read", "--image", "disk.img", "--backend-key", "sectors=100", "--sector", 100, code=2, says="100 sectors")


def catches(process, number):
    """The process has a handler for the signal."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        caught = next(line for line in status if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (number - 1) & 1


def asleep(process, deadline):
    """Waits until all its threads sleep, looked at often: who is only kept waiting by a busy machine does not sleep."""
    looks = 0
    while looks < 30 and process.poll() is None and time.monotonic() < deadline:
        states = []
        for thread in os.listdir(f"/proc/{process.pid}/task"):
            try:
                stat = open(f"/proc/{process.pid}/task/{thread}/stat", encoding="ascii").read()
            except OSError:
                continue
            states.append(stat.rpartition(")")[2].split()[0])
        looks = looks + 1 if set(states) == {"S"} else 0
        time.sleep(0.005)


def interrupted(arguments, number, ready):
    """Starts the tool, waits until it would catch the signal and ready(), sends it; (exit code, stdout, stderr)."""
    process = subprocess.Popen([tool.PVFRONT, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline and not (catches(process, number) and ready()):
            time.sleep(0.005)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    return process.returncode, out, err.decode()


@case("V22", "SIGINT and SIGTERM in the middle of a copy close the device, leave no file, nothing held, exit 130 and 143")
def signals_in_copy(path):
    with open(path / "disk.img", "wb") as image:
        image.truncate(1024 * MIB * 64)
    for number in (signal.SIGINT, signal.SIGTERM):
        code, out, err = interrupted(["--json", "vbd", "copy", "--image", "disk.img", "--out", "copy.img"], number,
                                     lambda: any("copy.img" in name for name in files_in(path)))
        assert code == 128 + number, (code, err)
        told = check_json(out, 128 + number)
        nothing_held(told)
        assert files_in(path) == ["disk.img"]
        code, out, err = interrupted(["vbd", "copy", "--image", "disk.img", "--out", "copy.img"], number,
                                     lambda: any("copy.img" in name for name in files_in(path)))
        assert code == 128 + number and "closed cleanly" in err, (code, err)


@case("V22", "a signal during the handshake, a benchmark, a verify, or while stdin is awaited ends at once")
def signals_elsewhere(path):
    with open(path / "disk.img", "wb") as image:
        image.truncate(1024 * MIB * 4)
    image = ["--image", "disk.img"]
    for arguments in (["vbd", "info", *image, "--backend-fault", "silent-init", "--deadline", "60000"],
                      ["vbd", "bench", *image, "--seconds", "60"],
                      ["vbd", "bench", *image, "--seconds", "60", "--poll"],
                      ["vbd", "verify", *image, "--write", "--sector", "0", "--count", "4M"],
                      ["vbd", "write", *image, "--write"]):
        begin = time.monotonic()
        code, _, err = interrupted(arguments, signal.SIGINT, lambda begin=begin: time.monotonic() > begin + 0.4)
        assert code == 130 and time.monotonic() - begin < 15, (arguments, code, err)


@case("", "a second signal ends a close that hangs, and still removes the partial file")
def second_signal(path):
    make_image(path / "disk.img", 8 * MIB)
    process = subprocess.Popen([tool.PVFRONT, "vbd", "copy", "--image", "disk.img", "--out", "copy.img", "--backend-fault",
                                "stall@20", "--deadline", "60000"], stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 30
        while len(files_in(path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.005)
        asleep(process, deadline)
        process.send_signal(signal.SIGINT)
        asleep(process, deadline)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert files_in(path) == ["disk.img"]


@case("", "an output that cannot be written, full or closed, is told")
def bad_output(path):
    make_image(path / "disk.img", 4 * MIB)
    if os.path.exists("/dev/full"):
        refused("vbd", "copy", "--image", "disk.img", "--out", "/dev/full", code=1, says="/dev/full")
    pvfront("vbd", "copy", "--image", "disk.img", "--out", "/dev/null")
    process = subprocess.Popen([tool.PVFRONT, "vbd", "read", "--image", "disk.img"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert len(process.stdout.read(64 * KIB)) == 64 * KIB
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(30) == 1 and "stdout was closed" in err, err
