"""Every type has one definition: no two headers may declare a type of the same name in the same namespace, which the
compiler does not notice and the linker settles at random.

    one_definition_test.py SRC INCLUDE
"""
import collections
import glob
import os
import re
import sys


def types(text):
    """Full names of the types defined in namespaces of a header, whatever namespaces it opens and closes on its way.
    Types inside other types have theirs in front and are left out: two of the same name need two outer ones."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', "", text)
    text = re.sub(r"^\s*#(?:\\\n|[^\n])*", "", text, flags=re.MULTILINE)
    opening = re.compile(r"(?:inline )?\bnamespace\s+([\w:]*)\s*\{|"
                         r"\b(?:struct|class|enum(?:\s+class)?)\s+(\w+)\s*(?:final\s*)?(?::[^;{}=]*)?\{|extern\s*\{|[{}]")
    found, open_braces = [], []  # a namespace's name, or None for any other brace
    for match in opening.finditer(text):
        if match[0] == "}":
            open_braces.pop()
        elif match[1] is not None:
            open_braces.append(match[1] or "(anonymous)")
        elif match[0].startswith("extern"):
            open_braces.append("")
        else:
            if match[2] and None not in open_braces:
                found.append("::".join([name for name in open_braces if name] + [match[2]]))
            open_braces.append(None)
    assert not open_braces, open_braces
    return found


SAMPLE = """
#define OPEN {
namespace a::b {
class Declared;
template <class T> struct One : public Base<T> { struct Inner { int x; }; std::vector<int> y = {1}; };
// struct Commented {
namespace { enum class Two { x }; }
}
namespace c {
extern "C" { struct Three { const char* text = "} {"; }; }
inline void function(struct One& one) { if (one) { struct Local {}; } }
}
struct Four final {};
"""
assert types(SAMPLE) == ["a::b::One", "a::b::(anonymous)::Two", "c::Three", "Four"], types(SAMPLE)

places = collections.defaultdict(set)
for root in sys.argv[1:]:
    for header in glob.glob(os.path.join(root, "**", "*.h"), recursive=True):
        with open(header, encoding="utf-8") as file:
            for name in types(file.read()):
                places[name].add(os.path.relpath(header, root))

assert len(places) > 100, len(places)
outside = {name: sorted(headers) for name, headers in places.items() if not name.startswith(("mdsm::", "mdsm_"))}
assert not outside, f"not in namespace mdsm: {outside}"
twice = {name: sorted(headers) for name, headers in places.items() if len(headers) > 1}
assert not twice, twice
