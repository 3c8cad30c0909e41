#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""symbols.py LIBRARY.so HEADERS pvfront|pvfront-sim

Compares what a shared library exports with the functions and objects that its installed headers declare.
"""

import pathlib
import re
import subprocess
import sys

# A declaration at the start of a line, not an inline definition, a type or a macro.
DECLARATION = re.compile(
    r"^(?!static|typedef|#|PVF_INLINE|struct\s+\w+;)(?:extern\s+)?(?:const\s+)?(?:(?:struct|enum)\s+\w+|\w+)(?:\s+const)?[\s*]+(pvf_\w+)\s*(?:\(|\[|;)", re.M)


def declared(headers):
    text = "".join(re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S) for header in headers)
    # Bodies of structs, enums and inline functions are indented; what is at the margin is a declaration.
    return set(DECLARATION.findall(text))


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    # "A" is the name of the symbol map's version node.
    return {line.split()[2].split("@")[0] for line in lines.splitlines() if line.split()[1] != "A"}


def main():
    library, directory, name = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    of_sim = sorted(directory.glob("sim*.h"))
    headers = of_sim if name == "pvfront-sim" else [h for h in sorted(directory.rglob("*.h")) if h not in of_sim]
    wanted, got = declared(headers), exported(library)
    # The ThreadSanitizer branch of compiler.h has a variable of its own that other builds do not have.
    wanted.discard("pvf_tsan_barrier")
    for symbol in sorted(wanted - got):
        print(f"declared and not exported: {symbol}")
    for symbol in sorted(got - wanted):
        print(f"exported and not declared: {symbol}")
    sys.exit(0 if wanted == got and wanted else 1)


if __name__ == "__main__":
    main()
