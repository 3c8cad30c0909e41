# SPDX-License-Identifier: MIT
"""What each verb does when all is well."""

import re
import subprocess

from tool import KIB, MIB, case, digest, files_in, make_ext4, make_image, nothing_held, pvfront, refused
import tool


@case("V01", "info says what the device is in one line")
def info(path):
    make_image(path / "disk.img", 4 * MIB)
    line = pvfront("vbd", "info", "--image", "disk.img").out.decode().splitlines()[0]
    assert line == "vbd 51712 xvda  4 MiB, 512-byte sectors, ring order 0, 1 queue, persistent, flush", line
    line = pvfront("vbd", "info", "--image", "disk.img", "--virtual-device", 51728, "--read-only").out.decode().splitlines()[0]
    assert line.startswith("vbd 51728 xvdb  4 MiB") and line.endswith(", read-only"), line
    line = pvfront("vbd", "info", "--image", "disk.img", "--persistent", "off", "--sector-size", "4K").out.decode()
    assert "4096-byte sectors" in line and "grants mapped per request" in line, line


@case("V01", "info --json has what was negotiated, and nothing is held afterwards")
def info_json(path):
    make_image(path / "disk.img", MIB)
    told = pvfront("--json", "vbd", "info", "--image", "disk.img").json
    assert told["negotiated"]["sectors"] == 2048 and told["negotiated"]["persistent"] is True
    assert told["device"] == {"virtual_device": 51712, "name": "xvda", "image": "disk.img"}
    nothing_held(told)
    told = pvfront("--json", "vbd", "info", "--image", "disk.img", "--persistent", "off").json
    assert told["negotiated"]["persistent"] is False
    nothing_held(told)


@case("V01 V06", "copy to a file is identical, whatever the size's remainder, and the file gets its name at the end")
def copy_out(path):
    for size in (512, 64 * KIB, 64 * KIB + 512, 8 * MIB - 512):
        make_image(path / "disk.img", size, seed=size)
        told = pvfront("--json", "vbd", "copy", "--image", "disk.img", "--out", "copy.img").json
        assert digest(path / "disk.img") == digest(path / "copy.img")
        assert told["copy"]["bytes"] == size and told["frontend"]["bytes_read"] == size
        assert told["backend"]["bytes_read"] == size
        assert told["frontend"]["bounced_bytes"] == 0, "the copy is zero copy"
        nothing_held(told)
        assert files_in(path) == ["copy.img", "disk.img"]


@case("V01", "copy from a file is identical, with and without persistent grants")
def copy_in(path):
    data = make_image(path / "source.img", 3 * MIB + 512)
    for persistent in ("on", "off"):
        (path / "disk.img").write_bytes(bytes(len(data)))
        told = pvfront("--json", "vbd", "copy", "--image", "disk.img", "--in", "source.img", "--write", "--persistent",
                       persistent).json
        assert (path / "disk.img").read_bytes() == data
        assert told["copy"]["flushed"] and told["backend"]["flushes"] == 1
        nothing_held(told)


@case("V01", "copy replaces what a symbolic link points to, leaves holes for zeros, keeps an ext4 intact")
def copy_sparse(path):
    make_ext4(path / "disk.img", 64 * MIB)
    (path / "old.img").write_bytes(b"old")
    (path / "link.img").symlink_to("old.img")
    pvfront("vbd", "copy", "--image", "disk.img", "--out", "link.img")
    assert (path / "link.img").is_symlink() and digest(path / "old.img") == digest(path / "disk.img")
    assert (path / "old.img").stat().st_blocks * 512 < 32 * MIB
    subprocess.run(["/sbin/e2fsck", "-fn", "old.img"], check=True, capture_output=True)


@case("V01", "with --out /dev/stdout the data are all that stdout gets; the line about them goes to stderr")
def out_is_stdout(path):
    data = make_image(path / "disk.img", MIB)
    for verb, line in (("copy", "copied to"), ("read", "read to")):
        answer = pvfront("vbd", verb, "--image", "disk.img", "--out", "/dev/stdout")
        assert answer.out == data and line in answer.err, (verb, len(answer.out), answer.err)


@case("V01", "read takes sectors or bytes, to stdout or to a file")
def read(path):
    data = make_image(path / "disk.img", MIB)
    image = ("--image", "disk.img")
    assert pvfront("vbd", "read", *image, "--sector", 3, "--count", 5).out == data[1536:4096]
    assert pvfront("vbd", "read", *image, "--offset", "64K", "--length", "128K").out == data[64 * KIB:192 * KIB]
    assert pvfront("vbd", "read", *image).out == data
    assert pvfront("vbd", "read", *image, "--sector", 2047).out == data[-512:]
    told = pvfront("--json", "vbd", "read", *image, "--sector", 1, "--count", 200, "--out", "part", "--depth", 1).json
    assert (path / "part").read_bytes() == data[512:201 * 512] and told["read"]["file"] == "part"
    nothing_held(told)


@case("V01", "write changes what was asked for and not a byte beside it")
def write(path):
    data = bytearray(make_image(path / "disk.img", MIB))
    block = make_image(path / "block", 5 * 512, seed=2)
    image = ("--image", "disk.img", "--write")
    pvfront("vbd", "write", *image, "--sector", 7, "--in", "block")
    data[7 * 512:12 * 512] = block
    assert (path / "disk.img").read_bytes() == data
    pvfront("vbd", "write", *image, "--offset", "512K", "--length", 1024, "--in", "block")
    data[512 * KIB:512 * KIB + 1024] = block[:1024]
    assert (path / "disk.img").read_bytes() == data
    told = pvfront("--json", "vbd", "write", *image, "--sector", 2043, stdin=bytes(block)).json
    data[-2560:] = block
    assert (path / "disk.img").read_bytes() == data and told["write"]["bytes"] == 2560
    nothing_held(told)
    with open("/dev/zero", "rb") as endless:
        subprocess.run([tool.PVFRONT, "vbd", "write", *image, "--count", "3"], stdin=endless, check=True, timeout=60)
    data[:1536] = bytes(1536)
    assert (path / "disk.img").read_bytes() == data


@case("V01 V10", "verify writes a pattern, reads it back, and can be repeated on its own remains")
def verify(path):
    (path / "disk.img").write_bytes(bytes(2 * MIB))
    told = pvfront("--json", "vbd", "verify", "--image", "disk.img", "--write", "--seed", 7).json
    assert told["verify"]["seed"] == 7 and told["verify"]["bad_sectors"] == 0
    assert told["backend"]["bytes_written"] == 2 * MIB
    nothing_held(told)
    first = digest(path / "disk.img")
    pvfront("vbd", "verify", "--image", "disk.img", "--write", "--seed", 8)
    assert digest(path / "disk.img") != first
    pvfront("vbd", "verify", "--image", "disk.img", "--write", "--seed", 7, "--persistent", "off")
    assert digest(path / "disk.img") == first
    sectors = {(path / "disk.img").read_bytes()[i:i + 512] for i in range(0, 2 * MIB, 512)}
    assert len(sectors) == 4096, "every sector has a pattern of its own"


@case("V01", "verify of a range leaves the rest alone")
def verify_range(path):
    data = make_image(path / "disk.img", MIB)
    pvfront("vbd", "verify", "--image", "disk.img", "--write", "--sector", 100, "--count", 300)
    now = (path / "disk.img").read_bytes()
    assert now[:51200] == data[:51200] and now[400 * 512:] == data[400 * 512:] and now[51200:51712] != data[51200:51712]


@case("V01", "every verb works at logical sectors of 4096 bytes, in units of 512")
def large_sectors(path):
    data = make_image(path / "disk.img", MIB)
    image = ("--image", "disk.img", "--sector-size", "4096")
    assert pvfront("vbd", "read", *image, "--sector", 8, "--count", 16).out == data[4096:12288]
    refused("vbd", "read", *image, "--sector", 4, "--count", 8, code=2, says=["2048", "4096"])
    pvfront("vbd", "copy", *image, "--out", "copy.img")
    assert digest(path / "copy.img") == digest(path / "disk.img")
    pvfront("vbd", "verify", *image, "--write", "--sector", 8, "--count", 64)
    refused("vbd", "bench", *image, "--pattern", "maxio", code=2, says=["512", "4096"])


@case("", "flush reaches the backend, and says so when the backend does not offer it")
def flush(path):
    make_image(path / "disk.img", MIB)
    told = pvfront("--json", "vbd", "flush", "--image", "disk.img").json
    assert told["backend"]["flushes"] == 1 and told["frontend"]["flushes"] == 1
    nothing_held(told)
    refused("vbd", "flush", "--image", "disk.img", "--backend-key", "feature-flush-cache=", code=1,
            says="feature-flush-cache")


@case("X01", "--trace shows phases, both ends' states, and the keys read and written")
def trace(path):
    make_image(path / "disk.img", MIB)
    lines = pvfront("vbd", "info", "--image", "disk.img", "--trace").err
    for words in ("phase  ", "state  frontend 3 (Initialised)", "state  frontend 4 (Connected)",
                  "state  backend 4 (Connected)", "sectors = \"2048\"", "ring-ref = \"", "event-channel = \"",
                  "protocol = \""):
        assert words in lines, f"'{words}' is not in\n{lines}"
    assert all(re.match(r"\[ *\d+\.\d{6}\] \w", line) for line in lines.splitlines()), lines
    steps = pvfront("--json", "vbd", "info", "--image", "disk.img", "--trace").json["trace"]
    assert {"phase", "state", "peer", "read", "write"} <= {step["kind"] for step in steps}
    written = [step["name"].rsplit("/", 1)[1] for step in steps if step["kind"] == "write"]
    for key in ("ring-ref", "event-channel", "protocol"):
        assert key in written, written
    assert [step["at_us"] for step in steps] == sorted(step["at_us"] for step in steps)


@case("", "help and version answer at every level, each verb with examples that name it")
def help_texts(path):
    del path
    assert pvfront("--version").out.startswith(b"pvfront ") and b"hosts: sim" in pvfront("--version").out
    for words in ([], ["vbd"], *(["vbd", verb] for verb in tool.VERBS)):
        text = pvfront(*words, "--help").out.decode()
        assert "Examples:" in text and "Exit codes:" in text, text
        assert " ".join(["pvfront", *words]) in text
        assert max(map(len, text.splitlines())) <= 120, max(text.splitlines(), key=len)
    assert pvfront("vbd", "copy", "-h").out == pvfront("vbd", "copy", "--help").out


@case("", "the man page has every option that --help has")
def man_page(path):
    del path
    page = (tool.HERE.parents[1] / "examples/pvfront/pvfront.1").read_text()
    for verb in tool.VERBS:
        for option in re.findall(r"^  --([a-z-]+)", pvfront("vbd", verb, "--help").out.decode(), re.M):
            assert f"Fl Fl {option}" in page, f"--{option} is not in the man page"
    lint = subprocess.run(["mandoc", "-Tlint", str(tool.HERE.parents[1] / "examples/pvfront/pvfront.1")],
                          capture_output=True, check=False)
    assert lint.returncode == 0, lint.stdout
