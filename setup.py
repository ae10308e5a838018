"""Builds the Python package by CMake: the module, libmdsm beside it, and the models that come with mdsm.

MDSM_BUILD_FOLDER names a build folder of `scripts/build` to take them from; without it everything is compiled, in build/python.
"""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent


def built_folder() -> Path:
    named = os.environ.get("MDSM_BUILD_FOLDER")
    if named:
        return Path(named).resolve()
    folder = HERE / "build/python"
    subprocess.run(["cmake", "-S", HERE, "-B", folder, "-G", "Ninja", "-DMDSM_TORCH=OFF", "-DMDSM_TESTS=OFF"], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "mdsm_python"], check=True)
    return folder


class Build(build_py):
    def run(self):
        super().run()
        package = Path(self.build_lib) / "mdsm"
        with tempfile.TemporaryDirectory() as place:
            for component in ("python", "library", "data"):
                subprocess.run(["cmake", "--install", built_folder(), "--prefix", place, "--component", component], check=True,
                               stdout=subprocess.DEVNULL)
            for found in Path(place).rglob("_core.*.so"):
                shutil.copy2(found, package)
            (package / "lib").mkdir(exist_ok=True)
            for found in Path(place).rglob("libmdsm.so.*.*.*"):
                shutil.copy2(found, package / "lib" / re.sub(r"\.\d+$", "", found.name))
            shutil.copytree(Path(place) / "share/mdsm", package / "share/mdsm", dirs_exist_ok=True)


class Binary(Distribution):
    def has_ext_modules(self):
        return True


version = re.search(r'define MDSM_VERSION "(.*)"', (HERE / "include/mdsm/version.h").read_text())[1]
setup(version=version, cmdclass={"build_py": Build}, distclass=Binary, package_data={"mdsm": ["py.typed", "*.pyi"]})
