"""Real launchers: training and sampling by 2 processes that mpirun, srun and torchrun start have the bits of one process. What
is not installed is left out, with a line that says so; where there is none of them the test is skipped."""
import os
import shutil
import subprocess
import sys
import tempfile

from folders import check_same
from ranks import ENVIRONMENT, MDSM, SKIPPED, free_port, run_alone, skip_without_module, torchrun
from run_tools import content, curve, the_run, tiny_options, write_images
from slurm import Slurm, missing


class Launchers:
    def __init__(self, folder):
        self.folder, self.done = folder, []
        write_images(self.at("images.npy"))
        run_alone(self.training("one"))
        run_alone(self.sampling("samples"))

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def training(self, name):
        return ["train", *tiny_options(self.at("images.npy"), self.at(name), 10), "--shards", "4"]

    def sampling(self, name):
        return ["sample", "--model", "fashion-mnist", "-n", "3", "--sampler", "multistep", "--threads", "1", "--out", self.at(name)]

    def check(self, name, before, environment=None):
        """before: the launcher's words. Both jobs, and an error that leaves as an exit code that is not 0."""
        def call(words):
            return subprocess.run([*before, MDSM, *words], env=environment or ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=300)

        for words in (self.training(name), self.sampling("samples-" + name)):
            found = call(words)
            assert found.returncode == 0, f"{name}: {found.returncode}\n{found.stdout}\n{found.stderr}"
        a, b = the_run(self.at("one")), the_run(self.at(name))
        for file in ("weights.safetensors", "ema.safetensors"):
            assert content(a, file) == content(b, file), f"{name}: {file} differs"
        assert curve(a) == curve(b), f"{name}: stats.jsonl differs"
        with open(os.path.join(b, "log.txt")) as log:
            assert "2 processes of 1 threads" in log.read(), name
        check_same(self.at("samples"), self.at("samples-" + name), f"samples under {name}")
        found = call(["models"])
        assert found.returncode != 0 and "mdsm models is for one process, and 2 were started" in found.stdout + found.stderr, found
        self.done.append(name)

    def check_mpirun(self):
        program = shutil.which("mpirun")
        if not program:
            return print("mpirun is not installed (openmpi-bin): left out")
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return self.check("mpirun", [program, *root, "--oversubscribe", "-n", "2"])

    def check_srun(self):
        if missing():
            return print(f"{missing()}: srun is left out")
        os.mkdir(self.at("slurm"))
        try:
            slurm = Slurm(self.at("slurm")).__enter__()
        except RuntimeError as error:
            return print(f"{error}srun is left out")
        try:
            self.check("srun", ["srun", "--ntasks=2", "--overcommit"], {**ENVIRONMENT, "SLURM_CONF": slurm.environment["SLURM_CONF"]})
        finally:
            slurm.__exit__()
        return None

    def check_torchrun(self):
        if not torchrun():
            return print("torchrun is not installed: left out")
        return self.check("torchrun", [*torchrun(), "--nproc_per_node=2", f"--master_port={free_port()}"])


def main():
    skip_without_module()
    with tempfile.TemporaryDirectory() as folder:
        launchers = Launchers(folder)
        launchers.check_mpirun()
        launchers.check_srun()
        launchers.check_torchrun()
        if not launchers.done:
            sys.exit(SKIPPED)
        print(f"2 processes under {', '.join(launchers.done)}: the bits of one")


main()
