# SPDX-License-Identifier: MIT
"""Bad input: each gives a sentence that names the thing, a non-zero exit, and nothing is written."""

import json
import os

from tool import KIB, MIB, case, digest, files_in, make_ext4, make_image, pvfront, refused
import tool


@case("", "a host that is not built in answers in one sentence")
def host_not_built_in(path):
    del path
    answer = refused("--host", "xen", "vbd", "info", code=2,
                     says="host 'xen' is not built into this pvfront; it has: sim")
    assert len(answer.err.splitlines()) == 1 and answer.out == b""


@case("", "an image that is missing, empty, a directory, or no multiple of 512 is named")
def bad_images(path):
    (path / "empty.img").write_bytes(b"")
    (path / "odd.img").write_bytes(bytes(1000))
    os.mkfifo(path / "fifo")
    for verb in ("info", "copy", "verify"):
        more = {"copy": ["--out", "out"], "verify": ["--write"]}.get(verb, [])
        for image in ("missing.img", "empty.img", "odd.img", ".", "fifo"):
            refused("vbd", verb, "--image", image, *more, code=2, says=image)
    refused("vbd", "info", code=2, says="--image")
    make_image(path / "disk.img", 3 * 512)
    refused("vbd", "info", "--image", "disk.img", "--sector-size", "1024", code=2, says=["disk.img", "1024"])
    assert files_in(path) == ["disk.img", "empty.img", "fifo", "odd.img"]


@case("", "an image that cannot be written is read-only: it is read, and refused for each verb that writes")
def read_only_image(path):
    data = make_image(path / "disk.img", MIB)
    (path / "disk.img").chmod(0o444)
    for option in ([], ["--read-only"]):
        assert pvfront("vbd", "read", "--image", "disk.img", *option).out == data
        told = pvfront("--json", "vbd", "info", "--image", "disk.img", *option).json
        assert told["negotiated"]["read_only"] is True
    for verb in (["write"], ["verify"], ["copy", "--in", "same.img"], ["bench", "--pattern", "4k5050"]):
        make_image(path / "same.img", MIB, seed=3)
        refused("vbd", *verb, "--image", "disk.img", "--write", code=2, says="read-only", stdin=bytes(512))
    assert (path / "disk.img").read_bytes() == data
    (path / "disk.img").chmod(0o644)
    refused("vbd", "write", "--image", "disk.img", "--write", "--read-only", code=2, says=["--write", "--read-only"])


@case("", "ranges past the end, of length 0 or unaligned are refused before any I/O")
def bad_ranges(path):
    data = make_image(path / "disk.img", MIB)
    rows = [
        (["--sector", "2048"], ["2048", "past the end"]),
        (["--sector", "2047", "--count", "2"], ["past the end", "1 are left"]),
        (["--sector", "0", "--count", "2049"], ["past the end"]),
        (["--offset", "1M", "--length", "512"], ["past the end"]),
        (["--sector", "18014398509481983", "--count", "18014398509481983"], ["past the end"]),
        (["--count", "0"], ["--count", "0"]),
        (["--length", "0"], ["--length", "0"]),
        (["--offset", "100"], ["--offset 100", "512"]),
        (["--length", "1000"], ["--length 1000", "512"]),
        (["--sector", "-1"], ["--sector", "-1"]),
        (["--sector", "1x"], ["1x"]),
        (["--sector", "99999999999999999999"], ["too large"]),
        (["--sector", "1", "--offset", "512"], ["--sector", "--offset"]),
        (["--count", "1", "--length", "512"], ["--count", "--length"]),
    ]
    for options, says in rows:
        refused("vbd", "read", "--image", "disk.img", "--out", "out", *options, code=2, says=says)
        refused("vbd", "verify", "--image", "disk.img", "--write", *options, code=2, says=says)
        refused("vbd", "write", "--image", "disk.img", "--write", *options, code=2, says=says, stdin=bytes(1024))
    assert (path / "disk.img").read_bytes() == data and files_in(path) == ["disk.img"]


@case("", "an input that is missing, empty, too short, too long or odd is refused before anything is written")
def bad_inputs(path):
    data = make_image(path / "disk.img", MIB)
    (path / "short").write_bytes(b"x" * 1024)
    (path / "odd").write_bytes(b"x" * 1000)
    (path / "empty").write_bytes(b"")
    (path / "long").write_bytes(b"x" * (MIB + 512))
    write = ("vbd", "write", "--image", "disk.img", "--write")
    refused(*write, "--in", "missing", code=2, says="missing")
    refused(*write, "--in", ".", code=2, says="directory")
    refused(*write, "--in", "empty", code=2, says="empty")
    refused(*write, "--in", "odd", code=2, says=["odd", "1000", "512"])
    refused(*write, "--in", "short", "--count", 3, code=2, says=["short", "1024", "1536", "nothing was written"])
    refused(*write, "--in", "long", code=2, says="past the end")
    refused(*write, "--in", "short", "--sector", 2047, code=2, says="past the end")
    refused(*write, "--count", 3, code=2, says=["stdin", "1024", "nothing was written"], stdin=bytes(1024))
    refused(*write, code=2, says=["stdin", "1000"], stdin=bytes(1000))
    refused(*write, code=2, says=["stdin", "empty"])
    refused(*write, code=2, says="past the end", stdin=bytes(MIB + 1024))
    for name in ("short", "long"):
        refused("vbd", "copy", "--image", "disk.img", "--write", "--in", name, code=2, says=[name, "nothing was written"])
    assert (path / "disk.img").read_bytes() == data


@case("", "nothing is changed without --write, and verify and bench --write spare file systems without --scratch")
def refused_for_safety(path):
    make_ext4(path / "disk.img")
    (path / "block").write_bytes(bytes(512))
    before = digest(path / "disk.img")
    image = ("--image", "disk.img")
    for verb in (["write", "--in", "block"], ["verify"], ["copy", "--in", "block"], ["bench", "--pattern", "reallife"]):
        refused("vbd", *verb, *image, code=4, says="--write")
    for verb in (["verify"], ["verify", "--sector", "10000", "--count", "8"], ["bench", "--pattern", "4k5050"]):
        refused("vbd", *verb, *image, "--write", code=4, says=["ext2/3/4", "--scratch"])
        told = pvfront("--json", "vbd", *verb, *image, "--write", code=4).json
        assert told["backend"]["writes"] == 0 and "--scratch" in told["error"]["message"]
    refused("vbd", "verify", *image, "--scratch", code=2, says="--write")
    assert digest(path / "disk.img") == before
    pvfront("vbd", "verify", *image, "--write", "--scratch", "--sector", "10000", "--count", "8")
    assert digest(path / "disk.img") != before


@case("", "a GPT of 512- or 4096-byte sectors, its second header, an MBR and swap are recognised on the device")
def recognised(path):
    for offset, signature, name in ((512, b"EFI PART", "GPT"), (4096, b"EFI PART", "GPT"), (MIB - 512, b"EFI PART", "GPT"),
                                    (510, b"\x55\xaa", "MBR"), (4086, b"SWAPSPACE2", "swap"), (0, b"LUKS\xba\xbe", "LUKS")):
        data = bytearray(MIB)
        data[offset:offset + len(signature)] = signature
        (path / "disk.img").write_bytes(data)
        refused("vbd", "verify", "--image", "disk.img", "--write", code=4, says=name)
        assert (path / "disk.img").read_bytes() == data


@case("", "source and destination being the same file is refused, also through a link")
def same_file(path):
    data = make_image(path / "disk.img", MIB)
    (path / "soft.img").symlink_to("disk.img")
    os.link(path / "disk.img", path / "hard.img")
    for name in ("disk.img", "soft.img", "hard.img", "./disk.img"):
        refused("vbd", "copy", "--image", "disk.img", "--out", name, code=2, says=["--out", "same file"])
        refused("vbd", "read", "--image", "disk.img", "--out", name, code=2, says="same file")
        refused("vbd", "copy", "--image", "disk.img", "--write", "--in", name, code=2, says="same file")
    assert (path / "disk.img").read_bytes() == data


@case("", "unknown and contradicting options, verbs and values are named")
def bad_options(path):
    make_image(path / "disk.img", MIB)
    image = ("--image", "disk.img")
    rows = [
        ([], "pvfront --help"),
        (["vbd"], "verb"),
        (["vif", "info"], "'vif'"),
        (["vbd", "frobnicate"], "'frobnicate'"),
        (["vbd", "info", "more", *image], "'more'"),
        (["vbd", "info", *image, "--frob"], "--frob"),
        (["vbd", "info", *image, "-x"], "-x"),
        (["vbd", "info", "--image"], "--image"),
        (["vbd", "info", "--image="], "--image"),
        (["vbd", "info", *image, *image], "twice"),
        (["vbd", "info", *image, "--trace=yes"], "--trace"),
        (["vbd", "info", *image, "--out", "x"], "--out"),
        (["vbd", "read", *image, "--scratch"], "--scratch"),
        (["vbd", "info", *image, "--persistent", "maybe"], "'maybe'"),
        (["vbd", "info", *image, "--deadline", "0"], "--deadline"),
        (["vbd", "info", *image, "--sector-size", "1000"], "power of two"),
        (["vbd", "info", *image, "--sector-size", "256"], "--sector-size"),
        (["vbd", "info", *image, "--sector-size", "0"], "--sector-size"),
        (["vbd", "info", *image, "--backend-key", "sectors"], "KEY=VALUE"),
        (["vbd", "info", *image, "--backend-key", "=1"], "KEY=VALUE"),
        (["vbd", "info", *image, "--backend-key", "a b=1"], "a b"),
        (["vbd", "info", *image, "--backend-fault", "nonsense"], "corrupt"),
        (["vbd", "info", *image, "--backend-fault", "corrupt@x"], "corrupt@x"),
        (["vbd", "copy", *image], "--out"),
        (["vbd", "copy", *image, "--out", "a", "--in", "b"], "--out"),
        (["vbd", "copy", *image, "--out", "."], "directory"),
        (["vbd", "copy", *image, "--out", "missing/copy.img"], "missing/copy.img"),
        (["vbd", "bench", *image, "--pattern", "nonsense"], "maxio"),
        (["vbd", "bench", *image, "--read", "101"], "--read"),
        (["vbd", "bench", *image, "--depth", "0"], "--depth"),
        (["vbd", "bench", *image, "--seconds", "soon"], "--seconds"),
        (["vbd", "bench", *image, "--block", "1000"], "1000"),
        (["vbd", "bench", *image, "--block", "4K", "--count", "4"], "block"),
        (["vbd", "bench", *image, "--compare", "missing"], "missing"),
    ]
    for arguments, says in rows:
        refused(*arguments, code=2, says=says)
        told = pvfront("--json", *arguments, code=2).json
        assert says in told["error"]["message"]
    assert files_in(path) == ["disk.img"]


@case("", "read --json wants --out, for stdout is taken")
def json_and_stdout(path):
    make_image(path / "disk.img", MIB)
    told = pvfront("--json", "vbd", "read", "--image", "disk.img", code=2).json
    assert "--out" in told["error"]["message"]


@case("", "a comparison with a raw file that is too small or holds a file system is refused")
def bad_compare(path):
    (path / "disk.img").write_bytes(bytes(4 * MIB))
    (path / "small.img").write_bytes(bytes(64 * KIB))
    make_ext4(path / "ext4.img")
    before = digest(path / "ext4.img")
    bench = ("vbd", "bench", "--image", "disk.img", "--seconds", "0.05")
    refused(*bench, "--compare", "small.img", code=2, says=["small.img", "65536"])
    refused(*bench, "--pattern", "4k5050", "--write", "--compare", "ext4.img", code=4, says=["ext4.img", "ext2/3/4"])
    assert digest(path / "ext4.img") == before


@case("", "strings in the report and in sentences are escaped")
def odd_names(path):
    name = 'a "quoted"\n\x1b[31m\udcffname.img'
    told = pvfront("--json", "vbd", "info", "--image", os.fsencode(name).decode(errors="surrogateescape"), code=2)
    assert json.loads(told.out)["device"]["image"] == 'a "quoted"\n\x1b[31m\u00ffname.img'
    answer = pvfront("vbd", "info", "--image", "x\x1b[31m\n.img", code=2)
    assert "\x1b" not in answer.err and len(answer.err.splitlines()) == 1
    make_image(path / "disk.img", MIB)
    steps = pvfront("--json", "vbd", "info", "--image", "disk.img", "--trace", "--backend-key", b"mode=\xff\x01\"",
                    "--deadline", 500, code=tool.ANY).json
    assert steps["trace"]
