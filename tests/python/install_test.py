"""pip install into a virtual environment, then the module there finds its library and its models.

    install_test.py SOURCE BUILD
"""
import os
import shutil
import subprocess
import sys
import tempfile
import venv

SOURCE, BUILD = sys.argv[1:]

with tempfile.TemporaryDirectory() as folder:
    place = os.path.join(folder, "venv")
    venv.create(place, system_site_packages=True, with_pip=True)
    python = os.path.join(place, "bin/python3")
    copy = os.path.join(folder, "source")
    shutil.copytree(os.path.join(SOURCE, "python"), os.path.join(copy, "python"))  # setuptools writes into it
    for name in ("CMakeLists.txt", "README.md", "include", "pyproject.toml", "setup.py"):
        os.symlink(os.path.join(SOURCE, name), os.path.join(copy, name))
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index", copy], check=True,
                   env={**os.environ, "MDSM_BUILD_FOLDER": BUILD, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    script = ("import mdsm; print(mdsm.__file__, mdsm.__version__, *mdsm.models()); "
              "print(mdsm.load('mnist').sample(1, steps=2).shape)")
    said = subprocess.run([python, "-c", script], cwd=folder, check=True, stdout=subprocess.PIPE, text=True,
                          env={name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MDSM_MODELS")}).stdout
    print(said, end="")
    assert said.startswith(place) and "fashion-mnist" in said and "(1, 1, 28, 28)" in said, said
    package = os.path.dirname(said.split()[0])
    module, = (name for name in os.listdir(package) if name.startswith("_core") and name.endswith(".so"))
    libraries = subprocess.run(["ldd", os.path.join(package, module)], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert place in next(line for line in libraries.splitlines() if "libmdsm" in line), libraries
