"""The likelihood by both methods and the measures of a run's checkpoints, by 1, 2 and 3 processes: files equal bit for bit, also
when a likelihood was stopped or killed and gone on with by another number of processes.

    measures_test.py MDSM [PART...]     parts: annealing resume misuse denoising checkpoints; all without
"""
import os
import shutil
import signal
import sys
import tempfile

from folders import check_same
from ranks import finish, run_alone, run_ranks, skip_without_module, start_ranks, wait_for
from run_tools import the_run, tiny_options, write_images


class Measures:
    def __init__(self, folder):
        self.folder = folder
        write_images(self.at("images.npy"), 40)
        run_alone(["train", *tiny_options(self.at("images.npy"), self.at("runs"), 12), "--snapshot-every", "6", "--sigma-min", "0.01"])
        self.run = the_run(self.at("runs"))

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def likelihood(self, out, *more):
        return ["likelihood", "--model", self.run, "--data", self.at("images.npy"), "--threads", "1", "--out", self.at(out), *more]

    def annealing(self, out, *more):
        return self.likelihood(out, "--chains", "5", "--leapfrog", "2", "--pilot", "2", *more)

    def check_numbers(self, name, make):
        """make(out): the call. By one process, by two, by three."""
        one = run_alone(make(name + "1"))
        for size in (2, 3):
            said = run_ranks(size, make(f"{name}{size}"))
            assert said.replace(self.at(f"{name}{size}"), "") == one.replace(self.at(name + "1"), ""), (one, said)
            files = check_same(self.at(name + "1"), self.at(f"{name}{size}"), f"{name} of {size} processes")
        return files

    def check_annealing(self):
        assert self.check_numbers("annealed", lambda out: self.annealing(out, "--distributions", "40")) == 2
        # Batches that are smaller than the chains, more processes than chains, one direction, no pilots.
        check = lambda out: self.annealing(out, "--distributions", "20", "--batch", "1" if out.endswith("1") else "2", "--direction", "forward")
        self.check_numbers("small", check)
        check = lambda out: self.annealing(out, "--distributions", "20", "--chains", "2", "--pilot", "0", "--subset", "2")
        self.check_numbers("few", check)

    def check_resume(self):
        def call(out, *more):
            return self.annealing(out, "--distributions", "150", "--save-seconds", "0", *more)

        run_alone(call("whole"))
        state = self.at("parts", "state.safetensors")
        # Stopped by a signal to one of three, killed while two go on, finished by one.
        processes = start_ranks(3, call("parts"))
        wait_for(lambda: os.path.exists(state), 60, "a checkpoint")
        processes[1].send_signal(signal.SIGINT)
        for rank, (code, _, err) in enumerate(finish(processes, 60)):
            assert code == 1 and "stopped; the chains are kept in" in err, (rank, code, err)
        processes = start_ranks(2, call("parts", "--resume"))
        before = os.stat(state).st_mtime_ns
        wait_for(lambda: os.stat(state).st_mtime_ns != before, 60, "another checkpoint")
        processes[0].kill()
        code, _, err = finish(processes, 60)[1]
        assert code == 1 and "rank 0" in err, (code, err)
        shutil.copytree(self.at("parts"), self.at("parts3"))
        run_alone(call("parts", "--resume"))
        check_same(self.at("whole"), self.at("parts"), "3 processes, 2, then 1")
        run_ranks(3, call("parts3", "--resume"))
        check_same(self.at("whole"), self.at("parts3"), "3 processes, 2, then 3")

    def check_misuse(self):
        """Nobody waits for a rank that was asked for something else."""
        for other, wanted in ((self.annealing("no", "--distributions", "20", "--chains", "4"), "rank 1 has another option --chains: 4"),
                              (self.annealing("no", "--distributions", "20", "--resume"), "rank 1 has another choice of --resume: true"),
                              (self.likelihood("no", "--method", "denoising"), "rank 1 has another option --")):
            found = finish(start_ranks(2, self.annealing("no", "--distributions", "20"), own={1: other}), 60)
            assert all(code == 2 and wanted in err for code, _, err in found), (wanted, found)
            assert not os.path.exists(self.at("no"))

    def check_denoising(self):
        for name, more in (("noisy", []), ("clean", ["--clean"])):
            self.check_numbers(name, lambda out: self.likelihood(out, "--method", "denoising", "--nodes", "4", "--batch", "16", *more))

    def check_checkpoints(self):
        def call(out):
            os.makedirs(self.at(out))
            return ["evaluate", "--checkpoints", self.run, "-n", "7", "--sampler", "multistep", "--data", "fashion-mnist", "--split", "test", "--subset", "30",
                    "--threads", "1", "--out", self.at(out, "found.json"), "--save-features", self.at(out, "features")]

        files = self.check_numbers("checkpoints", call)
        assert files >= 5, files


def main():
    skip_without_module()
    with tempfile.TemporaryDirectory() as folder:
        measures = Measures(folder)
        for part in sys.argv[2:] or ("annealing", "resume", "misuse", "denoising", "checkpoints"):
            getattr(measures, "check_" + part)()
        print("likelihood by both methods and measures of checkpoints: the same bits by 1, 2 and 3 processes")


main()
