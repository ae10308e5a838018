"""The map in src/README.md is true: a folder includes only the rooms its row allows, rooms stand above what they
include, headers do not include each other in circles, and oneDNN, LibTorch and Eigen stay where their row names them.
Public headers (include/mdsm) include each other and the standard library alone.

    include_graph_test.py SRC [INCLUDE]
"""
import os
import re
import sys

from small_tree import check_that_mistakes_are_seen

LIBRARIES = {
    "oneDNN": r"(oneapi/)?dnnl",
    "LibTorch": r"(torch|ATen|c10)/",
    "Eigen": r"(eigen3/)?(unsupported/)?Eigen/",
    "cpp-httplib": r"httplib",
}


def words(cell):
    return [word.strip(" `") for word in cell.split(",") if word.strip(" `-")]


def read_table(readme):
    """{room: (libraries, rooms it may include)}, lowest first."""
    rooms = {}
    for line in readme.splitlines():
        row = re.match(r"\| `([\w/]+)` \|.*\|([^|]*)\|([^|]*)\|$", line)
        if row:
            rooms[row[1]] = (words(row[2]), words(row[3]))
    return rooms


def read_sources(src):
    """{path: (own headers it includes, other headers it includes)}"""
    sources = {}
    for folder, _, names in os.walk(src):
        for name in names:
            if name.endswith((".h", ".cpp")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                sources[os.path.relpath(path, src)] = (re.findall(r'^\s*#\s*include "([^"]+)"', text, re.MULTILINE),
                                                       re.findall(r"^\s*#\s*include <([^>]+)>", text, re.MULTILINE))
    return sources


def circle(graph):
    """One circle of the graph as a list of names, or nothing."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        found = next((f for f in map(visit, sorted(graph.get(node, ()))) if f), None)
        path.pop()
        done.add(node)
        return found

    return next((f for f in map(visit, sorted(graph)) if f), None)


def reached(start, sources):
    """Every header a file includes, itself or through others."""
    seen, todo = set(), [start]
    while todo:
        for header in sources[todo.pop()][0]:
            if header in sources and header not in seen:
                seen.add(header)
                todo.append(header)
    return seen


def table_problems(rooms):
    order = list(rooms)
    for room, (libraries, allowed) in rooms.items():
        for name in libraries:
            if name not in LIBRARIES:
                yield f"README: {room} names the library {name}, of which this test knows nothing"
        for other in allowed:
            if other not in rooms:
                yield f"README: {room} may include {other}, which is no folder of the table"
            elif order.index(other) >= order.index(room):
                yield f"README: {room} may include {other}, which does not stand above it"


def problems(src):
    with open(os.path.join(src, "README.md"), encoding="utf-8") as file:
        rooms = read_table(file.read())
    yield from table_problems(rooms)
    sources = read_sources(src)
    room_of = {path: os.path.dirname(path) for path in sources}
    for room in sorted(set(room_of.values()) - set(rooms)):
        yield f"the folder {room} is not in the table of src/README.md"
    for room in sorted(set(rooms) - set(room_of.values())):
        yield f"README: the folder {room} does not exist"
    graph = {}
    for path, (own, _) in sorted(sources.items()):
        room = room_of[path]
        libraries, allowed = rooms.get(room, ([], []))
        for header in own:
            if header not in sources:
                yield f"{path} includes {header}, which is not below src"
            elif room_of[header] != room:
                graph.setdefault(room, set()).add(room_of[header])
                if room_of[header] not in allowed:
                    yield f"{path} includes {header}: {room} may not include {room_of[header]}"
        for place in {path} | reached(path, sources):
            for other in sources[place][1]:
                for library, pattern in LIBRARIES.items():
                    if re.match(pattern, other) and library not in libraries:
                        yield f"{path} includes {library}'s {other} (in {place}): not in the row of {room}"
    headers = {path: own for path, (own, _) in sources.items() if path.endswith(".h")}
    for what, found in (("headers", circle(headers)), ("folders", circle(graph))):
        if found:
            yield f"{what} include each other in a circle: {' > '.join(found)}"


def public_problems(include):
    for path, (own, other) in sorted(read_sources(include).items()):
        for header in own:
            yield f'{path} includes "{header}": public headers write <mdsm/...>'
        for header in other:
            if header.startswith("mdsm/"):
                if not os.path.exists(os.path.join(include, header)):
                    yield f"{path} includes {header}, which is no public header"
            elif "/" in header or (header.endswith(".h") and header != "stdint.h"):
                yield f"{path} includes {header}, which users of the library need not have"


def check_that_public_is_seen():
    check_that_mistakes_are_seen(public_problems, {"mdsm/a.h": "#include <vector>\n#include <mdsm/a.h>\n"}, {
        "write <mdsm/...>": {"mdsm/a.h": '#include "core/x.h"\n'}, "no public header": {"mdsm/a.h": "#include <mdsm/b.h>\n"},
        "need not have": {"mdsm/a.h": "#include <fmt/format.h>\n"}})


def check_that_it_sees():
    """A small tree that is right, then one mistake at a time."""
    tree = {
        "README.md": "| `low` | r | | |\n| `side` | r | Eigen | `low` |\n| `high` | r | - | `low` |\n",
        "low/a.h": '#include "low/b.h"\n', "low/b.h": "#include <vector>\n", "low/a.cpp": '#include "low/a.h"\n',
        "side/s.h": "#include <Eigen/Core>\n", "high/h.h": '#include "low/a.h"\n',
    }
    mistakes = {
        "low may not include high": {"low/a.cpp": '#include "high/h.h"\n'},
        "high may not include side": {"high/h.cpp": '#include "side/s.h"\n'},
        "not in the row of high": {"high/h.cpp": '#include "side/s.h"\n'},
        "not in the row of low": {"low/b.h": "#include <oneapi/dnnl/dnnl.hpp>\n"},
        "LibTorch's torch/types.h": {"side/s.cpp": "#  include <torch/types.h>\n"},
        "headers include each other in a circle": {"low/b.h": '#include "low/a.h"\n'},
        "folders include each other in a circle": {"low/a.cpp": '#include "high/h.h"\n'},
        "folder new is not in the table": {"new/n.h": "\n"},
        "which is not below src": {"low/b.h": '#include "nowhere/n.h"\n'},
        "the folder gone does not exist": {"README.md": tree["README.md"] + "| `gone` | r | | |\n"},
        "does not stand above it": {"README.md": tree["README.md"].replace("| `low` | r | | |", "| `low` | r | | `high` |")},
    }
    check_that_mistakes_are_seen(problems, tree, mistakes)


check_that_it_sees()
assert len(read_sources(sys.argv[1])) > 100
check_that_public_is_seen()
found = sorted(set(problems(sys.argv[1])) | set(public_problems(sys.argv[2]) if len(sys.argv) > 2 else []))
print("\n".join(found))
sys.exit(1 if found else 0)
