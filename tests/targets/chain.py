# SPDX-License-Identifier: MIT
"""The deepest chain of calls, from the graph that gcc's -fcallgraph-info=su writes."""

import re
from pathlib import Path

import table

NODE = re.compile(r'^node: \{ title: "([^"]*)" label: "([^"]*)"( shape : ellipse)? \}')
EDGE = re.compile(r'^edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"(?: label: "([^"]*)")? \}')
FRAME = re.compile(r"(\d+) bytes \((\w[\w,]*)\)")
INDIRECT = "__indirect_call"
# A field that is a pointer to a function, as `int (*share)(void *ctx, …);`.
FIELD = re.compile(r"\(\*(\w+)\)\s*\(")
# A call through a pointer: `host->ops->now(`, `rows[i].parse(`, `(*fn)(`, or a plain name.
CALL = re.compile(r"(?:(?:->|\.)\s*(\w+)|\(\*\s*(\w+)\)|\b(\w+))\s*(?:\[[^\]]*\]\s*)?\(")


class Graph:
    """Frames by function, and who calls whom. `core_pointers`: pointer's name -> functions it may point at."""

    def __init__(self, directory, root, host_members, core_pointers):
        self.size = {}
        self.calls = {}
        self.wrong = []
        self.root = root
        self.host_members = host_members
        self.core_pointers = core_pointers
        edges = [edge for path in sorted(directory.glob("*.ci")) for edge in self._read(path)]
        for caller, callee, where in edges:
            targets = [self._known(callee)] if callee != INDIRECT else self._indirect(caller, where)
            self.calls.setdefault(caller, set()).update(targets)

    def _read(self, path):
        edges = []
        for line in path.read_text().splitlines():
            node = NODE.match(line)
            if node and not node[3]:
                frame = FRAME.search(node[2])
                if not frame or frame[2] not in ("static", "dynamic,bounded"):
                    self.wrong.append(f"{node[1]}: its frame has no fixed size")
                self.size[node[1]] = int(frame[1]) if frame else 0
                self.calls.setdefault(node[1], set())
            edge = EDGE.match(line)
            if edge:
                edges.append(edge.groups())
        return edges

    def _known(self, name):
        """A second name of a function (source.c:f.localalias) stands for the function."""
        if name in self.size or not name.endswith(".localalias"):
            return name
        return name.removesuffix(".localalias").rsplit(":", 1)[-1]

    def _named(self, function):
        """The node of a function that a table names: static functions carry their file's name."""
        return next((node for node in self.size if node == function or node.endswith(":" + function)), None)

    def _indirect(self, caller, where):
        """What a call through a pointer can reach; "" stands for the host."""
        if not where:
            self.wrong.append(f"{caller}: gcc does not say where it calls through a pointer")
            return []
        name, line, column = where.rsplit(":", 2)
        source = Path(name) if Path(name).is_absolute() else self.root / name
        text = source.read_text().splitlines()[int(line) - 1:int(line) + 2]
        # gcc's column is that of the whole call; tabs count as one.
        names = [next(filter(None, m)) for m in CALL.findall(text[0][self._start(text[0], int(column)):])]
        names += [next(filter(None, m)) for m in CALL.findall(text[0])]
        for called in names:
            if called in self.host_members:
                return [""]
            if called in self.core_pointers:
                return list(filter(None, map(self._named, self.core_pointers[called])))
        self.wrong.append(f"{caller}: calls through a pointer that table.py does not list, at {source.name}:{line}: "
                          f"{text[0].strip()}")
        return []

    @staticmethod
    def _start(text, column):
        """The start of the expression that the column lies in."""
        start = min(column - 1, len(text))
        while start > 0 and re.match(r"[\w>.\-\])\[(*]", text[start - 1]):
            start -= 1
        return start

    def deepest(self):
        """(bytes, chain) of the deepest chain; says in self.wrong what makes it endless or unknown."""
        best = {}
        busy = []

        def depth(function):
            if function == "":
                return table.HOST_CALL_CHARGE, ("a host's function",)
            if function in table.MEMORY_SYMBOLS:
                return table.MEMORY_CALL_CHARGE, (function,)
            if function in best:
                return best[function]
            if function in busy:
                self.wrong.append("recursion: " + " > ".join([*busy[busy.index(function):], function]))
                return 0, ()
            if function not in self.size:
                self.wrong.append(f"{function}: called, but no frame is known for it")
                return 0, ()
            busy.append(function)
            below = max((depth(callee) for callee in sorted(self.calls[function])), default=(0, ()))
            busy.pop()
            best[function] = (self.size[function] + below[0], (function, *below[1]))
            return best[function]

        return max((depth(function) for function in sorted(self.size)), default=(0, ()))

    def show(self, chain):
        sizes = {**self.size, "a host's function": table.HOST_CALL_CHARGE,
                 **{name: table.MEMORY_CALL_CHARGE for name in table.MEMORY_SYMBOLS}}
        return " > ".join(f"{name.rsplit('/', 1)[-1]} {sizes[name]}" for name in chain)


def host_members(root):
    """Fields of the tables that a host fills in, and pointers that an embedder hands over."""
    members = set(table.HOST_POINTERS)
    for name in table.HOST_TABLES:
        members.update(FIELD.findall((root / name).read_text()))
    return members


def _braced(text, start):
    """The text from just after an opening brace to the brace that closes it, without comments and strings."""
    level, end = 1, start
    while level:
        level += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", text[start:end - 1], flags=re.S)


def core_pointers(root):
    """Pointer's name -> functions that the core's tables name for it."""
    sources = [one.read_text() for one in sorted((root / "libpvfront").glob("*.c"))]
    found = {}
    for structure, header in table.CORE_TABLES.items():
        text = (root / header).read_text()
        defined = re.search(r"struct " + structure + r" \{", text)
        if not defined:
            raise ValueError(f"{header} does not define struct {structure}")
        pointers = FIELD.findall(_braced(text, defined.end()))
        for source in sources:
            for one in re.finditer(r"\bstruct " + structure + r" \w+(?:\[[^\]]*\])?\s*=\s*\{", source):
                body = _braced(source, one.end())
                for pointer in pointers:
                    named = re.findall(r"\." + pointer + r"\s*=\s*(\w+)", body)
                    found.setdefault(pointer, []).extend(named or re.findall(r"\b[a-z_]\w*\b", body))
    return found


def check_chain(directory, root, members, pointers):
    """What is wrong with the depth of calls; and the deepest chain in words."""
    graph = Graph(directory, root, members, pointers)
    if not graph.size:
        return "the compiler wrote no call graph", ""
    size, chain = graph.deepest()
    shown = f"{size} bytes: {graph.show(chain)}"
    if graph.wrong:
        return "\n  ".join(sorted(set(graph.wrong))), shown
    if size > table.CHAIN_LIMIT:
        return f"a chain of calls needs more than {table.CHAIN_LIMIT} bytes: {shown}", shown
    return "", shown
