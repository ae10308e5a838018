"""Small jobs of the three commands that can be gone on with, and how to run them with faults."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import formats  # noqa: E402

COMMANDS = ("train", "sample", "likelihood")
MDSM, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:3])


def content(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


class Job:
    """A command in a folder of its own, how it is gone on with, and what must be the same in the end."""

    def __init__(self, name, root):
        self.name, self.folder = name, os.path.join(root, name)
        self.data, self.model = os.path.join(root, "d.npy"), os.path.join(root, "model.safetensors")

    def first(self):
        if self.name == "train":
            return ["train", "--data", self.data, "--net", "res6", "--width", "4", "--batch", "4", "--steps", "4", "--lr", "1e-3",
                    "--save-every", "2", "--stats-every", "1", "--preview-every", "4", "--snapshot-every", "4", "--threads", "1",
                    "--out", self.folder]
        if self.name == "sample":
            return ["sample", "--model", self.model, "-n", "4", "--batch", "2", "--sampler", "fast", "--steps", "4", "--threads",
                    "1", "--out", self.folder]
        return ["likelihood", "--model", self.model, "--data", self.data, "--chains", "2", "--pilot", "1", "--leapfrog", "2",
                "--batch", "1", "--distributions", "6", "--save-seconds", "0", "--threads", "1", "--out", self.folder]

    def run_folder(self):
        found = [path for path in glob.glob(self.folder + "/0*") if os.path.exists(path + "/options.json")]
        return found[-1] if found else None

    def again(self):
        """As a user would go on: with --resume where there is something, from the beginning otherwise."""
        if self.name == "train":
            return ["train", "--resume", self.run_folder()] if self.run_folder() else self.first()
        if self.name == "sample":
            return self.first() + ["--resume"]
        if os.path.exists(self.folder + "/state.safetensors"):
            return self.first() + ["--resume"]
        return self.first() + ["--force"]

    def result(self):
        if self.name == "train":
            return {name: content(self.run_folder(), name) for name in ("weights.safetensors", "ema.safetensors")}
        if self.name == "sample":
            return {name: content(self.folder, name) for name in ("samples.npy", "samples-trace.npy", "grid.png")}
        return {name: content(self.folder, name) for name in ("likelihood.json",)}

    def clear(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def call(arguments, **environment):
    return subprocess.run([MDSM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False,
                          env={**os.environ, "OMP_WAIT_POLICY": "passive", **environment})


def with_faults(job, arguments, log, at=0, error=5, store=None):
    more = {"FAULT_STORE": store} if store else {}
    return call(arguments, LD_PRELOAD=LIBRARY, FAULT_FOLDER=job.folder, FAULT_LOG=log, FAULT_AT=str(at), FAULT_ERRNO=str(error),
                ASAN_OPTIONS="verify_asan_link_order=0", **more)  # the library comes before the sanitizer's


def calls_in(log):
    """[(call, path, other)] of a log"""
    with open(log, encoding="utf-8", errors="surrogateescape") as file:
        rows = [line.rstrip("\n").split(" ") for line in file]
    return [(row[1], row[2], row[3]) for row in rows]


def prepare(root):
    with open(root + "/d.npy", "wb") as file:
        file.write(formats.npy((8, 1, 8, 8), formats.floats([i * 37 % 101 / 100 for i in range(512)])))
    made = call(["train", "--data", root + "/d.npy", "--net", "res6", "--width", "4", "--batch", "4", "--steps", "4", "--preview-every",
                 "0", "--threads", "1", "--out", root + "/made"])
    assert made.returncode == 0, made.stderr
    shutil.copy(glob.glob(root + "/made/*/ema.safetensors")[0], root + "/model.safetensors")


def for_each_job(check, names=()):
    """Calls check(job, folder) for each command, or those named, which answers with its failures; ends the program."""
    if unknown := set(names) - set(COMMANDS):
        sys.exit(f"no command {', '.join(sorted(unknown))}; there are {', '.join(COMMANDS)}")
    root = tempfile.mkdtemp(prefix="mdsm_faults_")
    try:
        prepare(root)
        sys.exit(1 if sum(check(Job(name, root), root) for name in names or COMMANDS) else 0)
    finally:
        shutil.rmtree(root, ignore_errors=True)
