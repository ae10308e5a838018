"""An installed mdsm is found and used by programs outside the tree: through CMake and pkg-config, from C++ and C, by an
extension; and again after the installed tree was moved.

    install_test.py BUILD SOURCE CMAKE C++-COMPILER C-COMPILER
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD, SOURCE, CMAKE, CXX, CC = sys.argv[1:]
EXAMPLES = os.path.join(SOURCE, "examples")
PICTURE = os.path.join(SOURCE, "docs/images/denoise-cifar10.png")
# Nothing of this tree may help: neither variables nor the folder that the test runs in.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith("MDSM_") and name not in ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH")}


def run(*words, env=None, folder=None):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, cwd=folder,
                          env={**ENVIRONMENT, **(env or {})})
    assert done.returncode == 0, (words, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


def cmake(source, build, prefix, *options):
    run(CMAKE, "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={CXX}",
        f"-DCMAKE_C_COMPILER={CC}", *options)
    run(CMAKE, "--build", build)


def library_folder(prefix):
    folders = [folder for folder, _, names in os.walk(os.path.join(prefix, "lib")) if "libmdsm.so" in names]
    assert len(folders) == 1, folders
    return folders[0]


def check_programs(denoise, draw, work, env=None):
    os.makedirs(work, exist_ok=True)
    assert "noise of about" in run(denoise, PICTURE, "clean.png", folder=work, env=env)
    assert "completed.png" in run(draw, folder=work, env=env)
    for name in ("clean.png", "drawn-0.png", "drawn-3.png", "completed.png"):
        with open(os.path.join(work, name), "rb") as file:
            assert file.read(4) == b"\x89PNG", name


def check_with_cmake(root, prefix):
    cmake(EXAMPLES, root / "examples", prefix)
    check_programs(root / "examples/denoise", root / "examples/draw", root / "cmake-work")
    out = run(root / "examples/train", "runs", folder=root / "cmake-work")
    assert "stopped at step 100" in out and "trained 200 steps" in out, out


def check_c_alone(root, prefix):
    """A project without C++ in it."""
    (root / "c").mkdir()
    shutil.copy(os.path.join(EXAMPLES, "draw.c"), root / "c")
    (root / "c/CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.24)\nproject(c LANGUAGES C)\n"
                                           "find_package(mdsm 0.2 REQUIRED)\nadd_executable(draw draw.c)\n"
                                           "target_link_libraries(draw PRIVATE mdsm::mdsm)\n")
    cmake(root / "c", root / "c/build", prefix)
    run(root / "c/build/draw", "mnist", folder=root / "c")


def check_with_pkg_config(root, prefix):
    library = library_folder(prefix)
    env = {"PKG_CONFIG_PATH": os.path.join(library, "pkgconfig")}
    assert run("pkg-config", "--modversion", "mdsm", env=env).strip().startswith("0.")
    flags = run("pkg-config", "--cflags", "--libs", "mdsm", env=env).split()
    work = root / "pkg-config"
    work.mkdir(exist_ok=True)
    run(CXX, "-std=c++20", os.path.join(EXAMPLES, "denoise.cpp"), *flags, "-o", work / "denoise")
    run(CC, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", os.path.join(EXAMPLES, "draw.c"), *flags, "-o", work / "draw")
    check_programs(work / "denoise", work / "draw", work, {"LD_LIBRARY_PATH": library})


def check_extension(root, prefix):
    cmake(os.path.join(SOURCE, "tests/extension"), root / "extension", prefix)
    run(sys.executable, "-B", os.path.join(SOURCE, "tests/extension/extension_test.py"), root / "extension/mdsm_extended")


def check_program(root, prefix):
    program = os.path.join(prefix, "bin/mdsm")
    version = run(program, "--version")
    if os.path.exists(os.path.join(BUILD, "lib/libmdsm_torch.so")):
        assert "torch (module installed)" in version, version
    assert "fashion-mnist" in run(program, "models")
    run(program, "sample", "--model", "mnist", "--steps", 4, "-n", 2, "--out", "samples", "--force", folder=root)
    assert "heads" in run(program, "reproduce", folder=root)
    if os.path.exists(os.path.join(BUILD, "lib/python/mdsm")):
        said = run(sys.executable, "-B", "-c", "import mdsm; print(mdsm.__file__, mdsm.load('mnist').sample(1, steps=2).shape)", folder=root,
                   env={"PYTHONPATH": os.path.join(prefix, "lib/python3/dist-packages")})
        assert said.startswith(str(prefix)) and "(1, 1, 28, 28)" in said, said
    run(program, "train", "--config", os.path.join(prefix, "share/mdsm/configs/quick/fashion-mnist.toml"), "--help", folder=root)


def check_headers(root, prefix):
    """Every public header stands on its own."""
    include = os.path.join(prefix, "include")
    for name in sorted(os.listdir(os.path.join(include, "mdsm"))):
        if name.endswith(".h"):
            source = root / "one.cpp"
            source.write_text(f"#include <mdsm/{name}>\n")
            run(CXX, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{include}", source)
    source = root / "one.c"
    source.write_text("#include <mdsm/c.h>\n")
    run(CC, "-std=c99", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{include}", source)


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        first, second = root / "first", root / "elsewhere/second"
        run(CMAKE, "--install", BUILD, "--prefix", first)
        for name in ("LICENSE", "README.md", "docs/cli.md", "examples/draw.c"):
            assert (first / "share/doc/mdsm" / name).exists(), name
        for name in ("man/man1/mdsm.1", "man/man1/mdsm-train.1", "bash-completion/completions/mdsm", "zsh/site-functions/_mdsm",
                     "fish/vendor_completions.d/mdsm.fish"):
            assert (first / "share" / name).stat().st_size > 1000, name
        check_headers(root, first)
        check_program(root, first)
        check_with_cmake(root, first)
        check_c_alone(root, first)
        check_with_pkg_config(root, first)
        check_extension(root, first)
        second.parent.mkdir()
        first.rename(second)
        check_program(root, second)
        shutil.rmtree(root / "examples")
        check_with_cmake(root, second)
        check_with_pkg_config(root, second)
        for path in second.rglob("*"):
            if path.suffix in (".cmake", ".pc"):
                text = path.read_text()
                places = [BUILD, str(first)] + [os.path.join(SOURCE, name) for name in ("src", "include", "build")]
                assert not any(place in text for place in places), path
    print("installed, used, moved, used again")


main()
