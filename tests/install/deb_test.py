"""cpack's Debian packages hold what they should, depend on each other and on what the library is linked with, and work
unpacked.

    deb_test.py BUILD
"""
import glob
import os
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]


def run(*words, folder=None, env=None):
    done = subprocess.run(words, capture_output=True, text=True, timeout=500, cwd=folder, env=env)
    assert done.returncode == 0, (words, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


with tempfile.TemporaryDirectory() as root:
    run("cpack", "-G", "DEB", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", root)
    packages = {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(root, "*.deb"))}
    print(", ".join(f"{name} {os.path.getsize(path) / 1e6:.1f} MB" for name, path in sorted(packages.items())))
    library = next(name for name in packages if name.startswith("libmdsm0"))
    assert {"mdsm", "mdsm-data", "libmdsm-dev", library} <= set(packages), packages
    depends = {name: run("dpkg-deb", "-f", path, "Depends") for name, path in packages.items()}
    assert library in depends["mdsm"] and library in depends["libmdsm-dev"] and "mdsm-data" in depends[library], depends
    assert "libdnnl" in depends[library] and "libfmt" in depends[library], depends
    assert run("dpkg-deb", "-f", packages["mdsm-data"], "Architecture").strip() == "all"
    tree = os.path.join(root, "tree")
    for path in packages.values():
        run("dpkg-deb", "-x", path, tree)
    assert "mnist" in run(os.path.join(tree, "usr/bin/mdsm"), "models", folder=root)
    run(os.path.join(tree, "usr/bin/mdsm"), "sample", "--model", "mnist", "--steps", "4", "-n", "2", folder=root)
    for name in ("man/man1/mdsm.1", "bash-completion/completions/mdsm", "zsh/vendor-completions/_mdsm", "fish/vendor_completions.d/mdsm.fish"):
        assert os.path.exists(os.path.join(tree, "usr/share", name)), name
    if "python3-mdsm" in packages:
        assert library in depends["python3-mdsm"] and "python3-numpy" in depends["python3-mdsm"], depends
        environment = {**os.environ, "PYTHONPATH": os.path.join(tree, "usr/lib/python3/dist-packages")}
        said = run("/usr/bin/python3", "-B", "-c", "import mdsm; print(mdsm.__file__, *mdsm.models())", folder=root, env=environment)
        assert said.startswith(tree) and "mnist" in said, said
print("packages: all is as it should be")
