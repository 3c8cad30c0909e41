# SPDX-License-Identifier: MIT
"""bench: what it tells, and that it adds up."""

from tool import MIB, case, make_ext4, digest, make_image, nothing_held, pvfront

SHORT = ("--seconds", "0.15")


def bench(*arguments, image="disk.img"):
    told = pvfront("--json", "vbd", "bench", "--image", image, *SHORT, *arguments).json
    nothing_held(told)
    return told


def consistent(told):
    result = told["bench"]
    latency = result["latency_ns"]
    assert latency["min"] <= latency["p50"] <= latency["p99"] <= latency["max"]
    assert latency["min"] <= latency["avg"] <= latency["max"]
    little = result["iops"] * latency["avg"] / 1e9
    assert abs(little - result["average_in_flight"]) <= 0.05 * result["average_in_flight"]
    assert 0 < result["average_in_flight"] <= result["depth"] + 1e-6
    assert abs(result["mb_per_s"] - result["iops"] * result["block"] / 1e6) < 0.01 * result["mb_per_s"]
    return result


@case("V30", "each named pattern has its block size and mix, and obeys Little's law")
def patterns(path):
    (path / "disk.img").write_bytes(bytes(8 * MIB))
    for name, block, reads, places in (("maxio", 512, 100, 0), ("maxthroughput", 65536, 100, 0), ("reallife", 2048, 65, 60),
                                       ("4k5050", 4096, 50, 100), ("32k5050", 32768, 50, 100)):
        told = bench("--pattern", name, *(["--write", "--scratch"] if reads < 100 else []))
        result = consistent(told)
        assert (result["pattern"], result["block"], result["read_percent"], result["random_percent"]) == (
            name, block, reads, places)
        seen = told["backend"]
        assert (seen["writes"] == 0) == (reads == 100)
        assert told["frontend"]["bytes_read"] + told["frontend"]["bytes_written"] == result["requests"] * block
        if reads < 100:
            share = told["frontend"]["reads"] / (told["frontend"]["reads"] + told["frontend"]["writes"])
            assert abs(share - reads / 100) < 0.1, share


@case("V30", "the backend's counters agree with the frontend's")
def counters(path):
    make_image(path / "disk.img", 8 * MIB)
    told = bench("--block", "4K", "--random", 100)
    frontend, backend = told["frontend"], told["backend"]
    assert frontend["requests"] == frontend["responses"] == backend["reads"]
    assert frontend["bytes_read"] == backend["bytes_read"] == told["bench"]["requests"] * 4096
    assert frontend["segments"] == backend["segments"]
    assert backend["events"] <= frontend["notifications"] and frontend["events"] <= backend["notifications"] + 2
    assert frontend["errors"] == frontend["bad_responses"] == 0


@case("V31", "polling asks for no events, depth 1 notifies at most once a request, and all three ways of waiting work")
def waiting(path):
    make_image(path / "disk.img", 8 * MIB)
    poll = bench("--depth", 1, "--poll")
    consistent(poll)
    assert poll["bench"]["events_per_request"] < 0.01 and poll["frontend"]["sleeps"] == 0
    for spin in (0, 2000, 1000000):
        told = bench("--depth", 1, "--spin", spin)
        result = consistent(told)
        assert result["notifications_per_request"] <= 1
        assert (told["frontend"]["spins"] == 0) == (spin == 0) or spin == 2000
        assert abs(result["average_in_flight"] - 1) < 0.5


@case("V30", "reads with bench leave the device as it was")
def reads_only(path):
    make_ext4(path / "disk.img")
    before = digest(path / "disk.img")
    bench("--pattern", "reallife", "--read", 100)
    bench("--pattern", "maxthroughput", "--depth", 1)
    assert digest(path / "disk.img") == before


@case("V30", "writes stay in the range, and --repeat and --compare give median, spread and overhead")
def repeats(path):
    data = bytearray(make_image(path / "disk.img", 4 * MIB))
    make_image(path / "raw.img", 4 * MIB, seed=5)
    raw = (path / "raw.img").read_bytes()
    told = bench("--pattern", "4k5050", "--write", "--offset", "1M", "--length", "2M", "--repeat", 3, "--compare", "raw.img")
    result = consistent(told)
    assert len(result["runs_iops"]) == len(result["raw"]["runs_iops"]) == 3
    assert result["iops"] == sorted(result["runs_iops"])[1]
    spread = (max(result["runs_iops"]) - min(result["runs_iops"])) / result["iops"]
    assert abs(result["spread"] - spread) < 1e-4
    assert abs(result["raw"]["overhead"] - result["raw"]["iops"] / result["iops"]) < 1e-3
    for name, before in (("disk.img", data), ("raw.img", raw)):
        now = (path / name).read_bytes()
        assert now[:MIB] == before[:MIB] and now[3 * MIB:] == before[3 * MIB:], name
        assert now[MIB:3 * MIB] != before[MIB:3 * MIB], name


@case("V30", "the table for people has every figure with its unit")
def table(path):
    make_image(path / "disk.img", 4 * MIB)
    text = pvfront("vbd", "bench", "--image", "disk.img", *SHORT, "--repeat", 2, "--compare", "disk.img").out.decode()
    for words in ("IOPS", "B/s", "median of 2 runs", "spread", "min ", "avg ", "p50 ", "p99 ", "max ", "CPU", "frontend",
                  "backend", "notifications", "events", "overhead"):
        assert words in text, text
