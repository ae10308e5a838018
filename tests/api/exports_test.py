"""libmdsm.so shows its own namespaces and its C functions, and nothing of the libraries inside it.

    exports_test.py LIBMDSM
"""
import re
import subprocess
import sys

OWN = re.compile(r"^(?:(?:vtable|VTT|typeinfo|typeinfo name|guard variable) for |(?:non-virtual |virtual )?thunk to )?mdsm::|^mdsm_\w+$")


def foreign(names):
    return [name for name in names if not OWN.match(name)]


assert not foreign(["mdsm::Model::sample(int)", "vtable for mdsm::Model", "typeinfo name for mdsm::Error", "mdsm_error",
                    "non-virtual thunk to mdsm::A::b()"])
assert foreign(["std::vector<mdsm::Shape>::size()"]) and foreign(["fmt::v9::vformat(int)"]) and foreign(["main"])

listing = subprocess.run(["nm", "--dynamic", "--defined-only", "--demangle", sys.argv[1]], capture_output=True, text=True,
                         check=True).stdout
names = [line.split(None, 2)[2] for line in listing.splitlines()]
c = sorted(name for name in names if name.startswith("mdsm_"))
print(f"{len(names)} symbols, {len(c)} of C: {' '.join(c)}")
assert len(names) > 500 and "mdsm_error" in c and any(name.startswith("mdsm::Model::sample(") for name in names)
wrong = foreign(names)
print("\n".join(wrong[:20]))
sys.exit(1 if wrong else 0)
