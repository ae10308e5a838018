"""Every type has one definition: no two headers may declare a type of the same name in the same namespace, which the
compiler does not notice and the linker settles at random."""
import collections
import glob
import os
import re
import sys

places = collections.defaultdict(set)
for header in glob.glob(os.path.join(sys.argv[1], "**", "*.h"), recursive=True):
    with open(header, encoding="utf-8") as file:
        text = file.read()
    namespace = re.search(r"^namespace ([\w:]+) \{", text, re.MULTILINE)
    for name in re.findall(r"^(?:struct|class|enum class) (\w+)[^;\n]*\{", text, re.MULTILINE):
        places[(namespace[1] if namespace else "") + "::" + name].add(os.path.relpath(header, sys.argv[1]))

assert len(places) > 100, len(places)
twice = {name: sorted(headers) for name, headers in places.items() if len(headers) > 1}
assert not twice, twice
