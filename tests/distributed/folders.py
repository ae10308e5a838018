"""Folders of results, compared byte by byte."""
import os


def files_of(folder):
    """{path: bytes} of all files below."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                found[os.path.relpath(os.path.join(path, name), folder)] = file.read()
    return found


def check_same(one, other, what):
    a, b = files_of(one), files_of(other)
    assert sorted(a) == sorted(b), f"{what}: {sorted(a)}, {sorted(b)}"
    for name in a:
        assert a[name] == b[name], f"{what}: {name} differs"
    return len(a)
