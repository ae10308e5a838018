"""What help() shows and what type checkers see: every name is described, the package is typed, and the stub of the compiled module
names what is in it."""
import inspect
import os
import shutil
import subprocess
import sys
import types

import pytest

import mdsm

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def described(name, thing):
    """Names of what help() would show without a word."""
    found = [] if (inspect.getdoc(thing) or "").strip() else [name]
    if inspect.isclass(thing) and not issubclass(thing, tuple):
        for member, value in vars(thing).items():
            value = getattr(value, "__func__", value)
            if not member.startswith("_") and isinstance(value, (types.FunctionType, property)):
                found += described(f"{name}.{member}", value)
    return found


def test_help_has_words():
    assert [missing for name in mdsm.__all__ for missing in described(name, getattr(mdsm, name))] == []


def test_signatures():
    """help() names the arguments, of compiled functions too."""
    for name in mdsm.__all__:
        assert "(...)" not in f"{name}{inspect.signature(getattr(mdsm, name))}"


def test_help_of_sample_is_even():
    lines = inspect.getdoc(mdsm.Model.sample).splitlines()
    assert len(lines) > 3 and not any(line.startswith(" ") for line in lines), lines


def tool(*names):
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        pytest.skip(f"no {names[0]} here")
    return found


def run(command, folder, **more):
    found = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **more})
    assert found.returncode == 0, found.stdout


def test_types_agree(tmp_path):
    run([tool("mypy"), "--cache-dir", str(tmp_path)], SOURCES)


def test_users_code_is_checked(tmp_path):
    """Of a package that was installed: results have types, and a wrong argument is found."""
    (tmp_path / "right.py").write_text("import mdsm\nimage: float = mdsm.load('mnist').sigma0\nrun: mdsm.Run = mdsm.train('photos', steps=5)\n")
    (tmp_path / "wrong.py").write_text("import mdsm\nmdsm.energy(1, (1, 8, 8))\nname: str = mdsm.thread_count()\n")
    check = [tool("mypy"), "--cache-dir", str(tmp_path / "cache"), "--config-file", os.path.join(SOURCES, "pyproject.toml")]
    place = {"MYPYPATH": os.path.dirname(os.path.dirname(mdsm.__file__))}
    run([*check, "right.py"], tmp_path, **place)
    found = subprocess.run([*check, "wrong.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, env={**os.environ, **place})
    assert found.returncode == 1 and found.stdout.count("wrong.py") == 2, found.stdout


def test_stub_names_the_module(tmp_path):
    check = tool("stubtest")
    settings = tmp_path / "mypy.ini"  # PyTorch's own types take minutes
    settings.write_text("[mypy]\n" + "".join(f"[{part}]\nfollow_imports = skip\nignore_missing_imports = True\n" for part in ("mypy-torch", "mypy-torch.*")))
    allowed = tmp_path / "allowed"  # pybind11's classes have a type of their own, and say that they are made of anything
    allowed.write_text("".join(f"mdsm\\._core\\.{name}(\\.__init__)?\n" for name in ("Energy", "Source")))
    place = os.path.dirname(os.path.dirname(mdsm.__file__))
    run([check, "mdsm._core", "--mypy-config-file", str(settings), "--allowlist", str(allowed)], tmp_path, MYPYPATH=place, PYTHONPATH=place)
