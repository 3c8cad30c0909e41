# SPDX-License-Identifier: MIT
"""What is compiled, by what, and what must be true of it. Data only."""

from dataclasses import dataclass

# ---- limits of the core ----

FRAME_LIMIT = 512  # bytes of one function's frame
CHAIN_LIMIT = 2048  # bytes of the deepest chain of calls

# Charged where a chain leaves the core. A host's function is the adapter's to keep small; what it may take is part
# of the 2 KiB that a driver's author counts with.
HOST_CALL_CHARGE = 512
MEMORY_CALL_CHARGE = 64  # memcpy memmove memset memcmp

# ---- undefined symbols ----

# A compiler may call these on its own, freestanding or not; whoever embeds the core supplies them.
MEMORY_SYMBOLS = {"memcpy", "memmove", "memset", "memcmp"}

# Not functions: names the linker itself defines for position-independent code.
LINKER_SYMBOLS = {
    "x86_64": {
        "_GLOBAL_OFFSET_TABLE_": "the assembler's mark where a public name's address comes from the linker's table",
    },
    "i386": {"_GLOBAL_OFFSET_TABLE_": "the base that i386 addresses its global data from"},
    "armhf": {"_GLOBAL_OFFSET_TABLE_": "the base that arm takes the addresses of global names from"},
    "ppc64el": {".TOC.": "the base of the table of contents in the ELFv2 calling convention"},
}

# The simulator may divide 64-bit numbers; on 32-bit CPUs that is a call into the compiler's own library.
SIM_SYMBOLS = {
    "i386": {"__udivdi3", "__umoddi3", "__udivmoddi4"},
    "armhf": {"__aeabi_uldivmod", "__aeabi_uidiv", "__aeabi_uidivmod", "__aeabi_idiv", "__aeabi_idivmod"},
}

# ---- flags ----

WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wstrict-prototypes",
            "-Wmissing-prototypes", "-Wvla", "-Werror"]
ELF_FLAGS = ["-std=c11", "-O2", "-ffreestanding", "-fPIC", "-fno-stack-protector", "-fstack-usage", *WARNINGS]
# -fcallgraph-info is gcc's; it writes the graph that the depth is computed from.
GCC_FLAGS = ["-fcallgraph-info=su"]
# __forceinline is that compiler's own word, used in compiler.h only: the one extension that is not refused. An enum is
# an int there, not unsigned: that is all -Wsign-conversion and -Wsign-compare add to what ELF targets show.
WINDOWS_FLAGS = ["-std=c11", "-O2", "-ffreestanding", "-fgnuc-version=0", "-fstack-usage", *WARNINGS,
                 "-pedantic-errors", "-Werror=vla", "-Wno-language-extension-token", "-Wno-sign-conversion",
                 "-Wno-sign-compare", "-include", "poison.h"]


@dataclass(frozen=True)
class Build:
    """One compiler for one CPU."""

    cpu: str
    compiler: str  # gcc, clang or msvc (clang in its MSVC mode)
    command: tuple
    package: str
    sim: bool = False  # the simulator is compiled too, not only the core

    @property
    def name(self):
        return f"{self.cpu} {self.compiler}"


def _elf(cpu, triple, clang_triple, package, sim=()):
    extra = ["-mno-outline-atomics"] if cpu == "arm64" else []
    return [
        Build(cpu, "gcc", (f"{triple}-gcc", *ELF_FLAGS, *GCC_FLAGS, *extra), package, "gcc" in sim),
        Build(cpu, "clang", ("clang", f"--target={clang_triple}", *ELF_FLAGS, *extra), "clang", "clang" in sim),
    ]


def _windows(cpu, triple, sim):
    return [Build(cpu, "msvc", ("clang", f"--target={triple}", *WINDOWS_FLAGS), "clang", sim)]


BUILDS = [
    *_elf("x86_64", "x86_64-linux-gnu", "x86_64-linux-gnu", "gcc", ("clang",)),
    *_elf("i386", "i686-linux-gnu", "i686-linux-gnu", "gcc-i686-linux-gnu", ("gcc",)),
    *_elf("arm64", "aarch64-linux-gnu", "aarch64-linux-gnu", "gcc-aarch64-linux-gnu", ("gcc",)),
    *_elf("armhf", "arm-linux-gnueabihf", "arm-linux-gnueabihf", "gcc-arm-linux-gnueabihf"),
    *_elf("riscv64", "riscv64-linux-gnu", "riscv64-linux-gnu", "gcc-riscv64-linux-gnu"),
    *_elf("ppc64el", "powerpc64le-linux-gnu", "powerpc64le-linux-gnu", "gcc-powerpc64le-linux-gnu"),
    *_windows("win-x64", "x86_64-pc-windows-msvc", True),
    *_windows("win-arm64", "aarch64-pc-windows-msvc", False),
]

# Where each public header is compiled on its own.
HEADER_BUILDS = {"x86_64 gcc", "x86_64 clang", "win-x64 msvc"}

# ---- what else must be installed: command, package ----

TOOLS = [
    ("llvm-ar", "llvm"),
    ("llvm-objdump", "llvm"),
    ("llvm-nm", "llvm"),
    ("llvm-size", "llvm"),
    ("qemu-i386", "qemu-user"),
    ("qemu-aarch64", "qemu-user"),
]

# Files that a cross compiler needs for programs that run, and their packages.
FILES = [
    ("/usr/i686-linux-gnu/lib/libc.a", "libc6-dev-i386-cross"),
    ("/usr/aarch64-linux-gnu/lib/libc.a", "libc6-dev-arm64-cross"),
    ("/usr/include/xen/xen.h", "libxen-dev"),
]

# ---- calls through pointers in the core ----

# A member that is a field of one of these tables is the host's or the embedder's function: HOST_CALL_CHARGE.
HOST_TABLES = ["libpvfront/include/pvfront/host.h", "libpvfront/include/pvfront/xs.h"]
# So are these, by the name of the pointer.
HOST_POINTERS = {"trace"}
# Structures whose pointers to functions lead back into the core, and where they are defined. Every function that a
# table of that type names for a pointer is taken for reachable through it.
CORE_TABLES = {
    "pvf_action": "libpvfront/device.h",
    "pvf_device_class": "libpvfront/device.h",
}

# ---- barriers ----

# Instructions by CPU, as llvm-objdump writes them ("lock" and its instruction joined), found in the text of a function.
FULL, ACQUIRE, RELEASE = "full", "acquire", "release"
_X86 = {FULL: r"lock (addl \$0, -4\(%[er]sp\)|orl)", ACQUIRE: None, RELEASE: None}
_WIN_X86 = {FULL: r"lock (orl|addl|xaddl)", ACQUIRE: None, RELEASE: None}
_ARM64 = {FULL: r"dmb ish\b", ACQUIRE: r"dmb ishld\b", RELEASE: r"dmb ish\b"}
INSTRUCTIONS = {
    "x86_64": _X86,
    "i386": _X86,
    "win-x64": _WIN_X86,
    "arm64": _ARM64,
    "win-arm64": _ARM64,
    "armhf": {FULL: r"dmb ish\b", ACQUIRE: r"dmb ish\b", RELEASE: r"dmb ish\b"},
    "riscv64": {FULL: r"fence rw, rw\b", ACQUIRE: r"fence r, rw\b", RELEASE: r"fence rw, w\b"},
    "ppc64el": {FULL: r"(?<!lw)sync\b", ACQUIRE: r"lwsync\b", RELEASE: r"lwsync\b"},
}

# Each function of barriers.c, by CPU: a pattern its instructions must show, in that order.
_X86_WORDS = {
    "barrier_full": _X86[FULL],
    "barrier_compiler": r"movl \$1, .*movl \$2, ",
    "barrier_load_acquire": r"movl \(",
    "barrier_store_release": r"movl %\w+, \(",
    "barrier_add": r"lock xaddl",
    "barrier_cas": r"lock cmpxchgl",
    "barrier_cas_pointer": r"lock cmpxchg[ql]",
    "barrier_exchange_pointer": r"xchg[ql] ",
}
_ARM64_WORDS = {
    "barrier_full": r"dmb ish\b",
    "barrier_compiler": r"str w.*str w",
    "barrier_load_acquire": r"ldr w.*dmb ishld\b",
    "barrier_store_release": r"dmb ish\b.*str w",
    "barrier_add": r"ldaxr w.*stlxr w",
    "barrier_cas": r"ldaxr w.*stlxr w",
    "barrier_cas_pointer": r"ldaxr x.*stlxr w",
    "barrier_exchange_pointer": r"ldaxr x.*stlxr w",
}
BARRIERS = {
    "x86_64": _X86_WORDS,
    "i386": _X86_WORDS,
    "win-x64": {**_X86_WORDS, "barrier_full": _WIN_X86[FULL], "barrier_store_release": r"movl %\w+, \("},
    "arm64": _ARM64_WORDS,
    "win-arm64": _ARM64_WORDS,
    "armhf": {
        "barrier_full": r"dmb ish\b",
        "barrier_compiler": r"str.*str",
        "barrier_load_acquire": r"ldr.*dmb ish\b",
        "barrier_store_release": r"dmb ish\b.*str",
        "barrier_add": r"dmb ish\b.*ldrex.*strex.*dmb ish\b",
        "barrier_cas": r"dmb ish\b.*ldrex.*strex.*dmb ish\b|ldrex.*dmb ish\b.*strex.*dmb ish\b",
        "barrier_cas_pointer": r"dmb ish\b.*ldrex.*strex.*dmb ish\b|ldrex.*dmb ish\b.*strex.*dmb ish\b",
        "barrier_exchange_pointer": r"dmb ish\b.*ldrex.*strex.*dmb ish\b",
    },
    "riscv64": {
        "barrier_full": r"fence rw, rw\b",
        "barrier_compiler": r"sw .*sw ",
        "barrier_load_acquire": r"lw .*fence r, rw\b",
        "barrier_store_release": r"fence rw, w\b.*sw ",
        "barrier_add": r"amoadd\.w\.aq(rl)?\b",
        "barrier_cas": r"lr\.w\.aq(rl)?\b.*sc\.w\.(aq)?rl\b|fence.*lr\.w\.aq.*sc\.w",
        "barrier_cas_pointer": r"lr\.d\.aq(rl)?\b.*sc\.d\.(aq)?rl\b|fence.*lr\.d\.aq.*sc\.d",
        "barrier_exchange_pointer": r"amoswap\.d\.aq(rl)?\b",
    },
    "ppc64el": {
        "barrier_full": r"(?<!lw)sync\b",
        "barrier_compiler": r"stw .*stw ",
        "barrier_load_acquire": r"lwz .*lwsync\b",
        "barrier_store_release": r"lwsync\b.*stw ",
        "barrier_add": r"(?<!lw)sync\b.*lwarx.*stwcx\..*(isync|lwsync)\b",
        "barrier_cas": r"(?<!lw)sync\b.*lwarx.*stwcx\..*(isync|lwsync)\b",
        "barrier_cas_pointer": r"(?<!lw)sync\b.*ldarx.*stdcx\..*(isync|lwsync)\b",
        "barrier_exchange_pointer": r"(?<!lw)sync\b.*ldarx.*stdcx\..*(isync|lwsync)\b",
    },
}

# weakened.h takes these out; where the CPU has an instruction for them, the check must then fail.
WEAKENED = {"barrier_full": FULL, "barrier_load_acquire": ACQUIRE, "barrier_store_release": RELEASE}


@dataclass(frozen=True)
class Site:
    """A named accessor of ring.h, the function of the core it must lie in, and what it is worth there."""

    name: str
    function: str
    kind: str
    why: str


SITES = [
    Site("push_req_prod", "pvf_vbd_push", RELEASE, "entries are written before their index"),
    Site("push", "pvf_vbd_push", FULL, "the index is written before the peer's event index is read"),
    Site("rsp_prod", "pvf_vbd_reap", ACQUIRE, "the index is read before the entries"),
    Site("final_check", "pvf_vbd_reap", FULL, "the event index is written before the peer's index is read again"),
]

# Sites of ring.h whose order nobody needs, and why.
UNORDERED_SITES = {
    "init_req_prod": "the page is not shared yet",
    "init_rsp_prod": "the page is not shared yet",
    "init_req_event": "the page is not shared yet",
    "init_rsp_event": "the page is not shared yet",
    "push_req_event": "nothing is read because of it but the decision to notify",
    "arm_rsp_event": "the full barrier after it is what counts",
}

# Functions that use the barriers directly: at least these must be in them and in what they call.
COUNTED = {
    "pvf_xs_ring_push": (ACQUIRE, RELEASE),
    "pvf_xs_ring_pull": (ACQUIRE, RELEASE),
}

# ---- words ----

FREESTANDING = {"stddef.h", "stdint.h", "stdbool.h", "limits.h", "stdarg.h"}

# Outside compiler.h; each with what to say.
FORBIDDEN = {
    "long": "its size differs between Windows and the rest: use <stdint.h>",
    "float": "a kernel may not use the floating-point unit",
    "double": "a kernel may not use the floating-point unit",
    "asm": "compiler words belong in compiler.h",
    "typeof": "compiler words belong in compiler.h",
    "alloca": "frames have a fixed size",
    "alignas": "use _Alignas: its macro needs another header",
    "alignof": "use _Alignof: its macro needs another header",
    "static_assert": "use _Static_assert: its macro needs another header",
    "noreturn": "its macro needs another header",
    "_Atomic": "not every kernel's compiler has it: use compiler.h",
    "_Thread_local": "a kernel has none",
    "_Complex": "a kernel may not use the floating-point unit",
    "_Noreturn": "not every kernel's compiler has it",
    "_Generic": "not every kernel's compiler has it",
    "register": "says nothing",
    "_ReadWriteBarrier": "compiler words belong in compiler.h",
}
# Words that begin with two underscores are the compiler's; these are C's own, or tell C++ apart in a public header.
COMPILER_WORDS_ALLOWED = {"__func__", "__VA_ARGS__", "__FILE__", "__LINE__", "__cplusplus"}
# A file that has to tell a CPU apart by name, and why.
WORDS_ALLOWED_IN = {
    ("libpvfront/include/pvfront/wire/blkif.h", "__i386__"): "the one ABI that places a 64-bit field at offset 4",
}

# ---- programs that run under qemu-user ----


@dataclass(frozen=True)
class Emulated:
    """A CPU whose programs are run, not only looked at. They are linked from the very objects that were checked."""

    cpu: str
    build: str
    command: str
    triple: str


EMULATED = [
    Emulated("i386", "i386 gcc", "qemu-i386", "i686-linux-gnu"),
    Emulated("arm64", "arm64 gcc", "qemu-aarch64", "aarch64-linux-gnu"),
]


@dataclass(frozen=True)
class Program:
    """
    Test programs, one per source that the pattern finds; `least` of them must be there. Sources beside them that are no
    test_*.c are linked into each.
    """

    pattern: str
    least: int
    sim: bool  # linked with the simulator and its POSIX part
    environment: tuple = ()


PROGRAMS = [
    Program("tests/unit/test_*.c", 1, False),
    Program("tests/sim/test_oracle.c", 1, True, (("PVF_SEEDS", "10"),)),
]

HOSTED_FLAGS = ["-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]
