# SPDX-License-Identifier: MIT
"""On a terminal: progress, rate and time left; a dump instead of raw bytes."""

import os
import pty
import subprocess

from tool import MIB, case, make_image
import tool


def on_terminal(arguments, out_too):
    """Runs the tool with stderr (and stdout) on a pseudo-terminal; (exit code, what the terminal saw)."""
    master, slave = pty.openpty()
    process = subprocess.Popen([tool.PVFRONT, *map(str, arguments)], stderr=slave, stdin=subprocess.DEVNULL,
                               stdout=slave if out_too else subprocess.DEVNULL)
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(master)
    return process.wait(60), seen.decode()


@case("", "copy shows progress, rate and ETA on a terminal, and clears the line")
def progress(path):
    with open(path / "disk.img", "wb") as image:
        image.truncate(512 * MIB)
    code, seen = on_terminal(["vbd", "copy", "--image", "disk.img", "--out", "copy.img"], False)
    assert code == 0, seen
    for words in ("copying", "of 512 MiB", "%", "B/s", "ETA "):
        assert words in seen, seen
    assert seen.endswith("\r\x1b[K"), seen[-100:]


@case("", "without a terminal there is no progress line")
def no_progress(path):
    make_image(path / "disk.img", 8 * MIB)
    answer = tool.pvfront("vbd", "copy", "--image", "disk.img", "--out", "copy.img")
    assert answer.err == "" and b"\r" not in answer.out


@case("", "read on a terminal is a dump, in which lines that repeat are one star")
def dump(path):
    data = b"pvfront\x00\x1b\xff" + bytes(6) + bytes(1008)
    (path / "disk.img").write_bytes(data)
    code, seen = on_terminal(["vbd", "read", "--image", "disk.img"], True)
    lines = seen.split("\r\n")
    assert code == 0
    assert lines[0] == "00000000   70 76 66 72 6f 6e 74 00  1b ff 00 00 00 00 00 00  |pvfront.........|", lines[0]
    assert lines[1].startswith("00000010   00 00") and lines[2] == "*", lines
