"""Results do not depend on threads: the files of a few training steps, samples, energies and likelihoods, byte for byte."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import formats
from program import ENVIRONMENT, MDSM, call, run

THREADS = (1, 2, 3)
NETWORKS = {"res6": ["--net", "res6", "--width", 8], "res12": ["--net", "res12", "--width", 4],
            "unet": ["--net", "unet", "--levels", 2, "--width", 8]}


def only_run(outdir):
    name, = os.listdir(outdir)
    return os.path.join(outdir, name)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def stats(folder):
    """The curve without what the clock wrote."""
    with open(folder + "/stats.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [{key: value for key, value in line.items() if key not in ("images_per_s", "seconds", "time")} for line in lines]


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="mdsm_threads_")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        os.chdir(cls.folder)
        draw = np.random.default_rng(1)
        np.save("images.npy", draw.integers(0, 256, (80, 1, 16, 16), np.uint8))

    def train(self, threads, *more):
        """The files of three steps: model, average, and the state without its clock."""
        outdir = tempfile.mkdtemp(dir=self.folder)
        run("train", "--data", "images.npy", "--steps", 3, "--batch", 21, "--preview-every", 0, "--stats-every", 1, "--lr",
            1e-3, "--threads", threads, "--out", outdir, *more)
        folder = only_run(outdir)
        header, state = formats.split_safetensors(content(folder + "/state.safetensors"))
        del header["__metadata__"]  # has the clock
        self.last = folder
        return {"weights": content(folder + "/weights.safetensors"), "ema": content(folder + "/ema.safetensors"),
                "state": (header, state), "stats": stats(folder)}

    def expect_same(self, what, made):
        first = made(THREADS[0])
        for threads in (*THREADS[1:], THREADS[0]):
            again = made(threads)
            for name in first:
                self.assertTrue(again[name] == first[name], f"{what}: {name} differs with {threads} threads")

    def test_training(self):
        for name, network in NETWORKS.items():
            for way in ([], ["--exact"]):
                with self.subTest(network=name, way=way):
                    self.expect_same(name, lambda threads: self.train(threads, *network, *way, "--shards", 2))

    def test_other_objectives(self):
        for more in (["--objective", "ml", "--ml-steps", 2, "--ml-buffer", 32], ["--importance", "batch"],
                     ["--weighting", "learned", "--micro-batch", 4]):
            with self.subTest(more=more):
                self.expect_same(more, lambda threads: self.train(threads, *NETWORKS["res6"], *more))

    def test_what_a_model_gives(self):
        for name, network in NETWORKS.items():
            self.train(1, *network)
            model = os.path.join(self.last, "ema.safetensors")

            def results(threads):
                out = tempfile.mkdtemp(dir=self.folder)
                common = ["--model", model, "--threads", threads]
                run("sample", *common, "-n", 5, "--sampler", "fast", "--out", out + "/samples")
                run("energy", *common, "--data", "images.npy", "--limit", 21, "--out", out + "/energies.npy")
                found = run("likelihood", *common, "--data", "images.npy", "--subset", 5, "--method", "denoising", "--nodes", 3,
                            "--out", out + "/likelihood", "--json")
                return {"samples": content(out + "/samples/samples.npy"), "energies": content(out + "/energies.npy"),
                        "likelihood": {key: json.loads(found)[key] for key in ("nats_per_image", "result")}}

            with self.subTest(network=name):
                self.expect_same(name, results)

    def test_shards_are_of_the_run(self):
        self.train(1, *NETWORKS["res6"], "--shards", 2)
        with open(self.last + "/options.json", encoding="utf-8") as file:
            self.assertEqual(json.load(file)["shards"], 2)
        refused = call("train", "--resume", self.last, "--steps", 4, "--shards", 4)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--shards cannot change on resume: the run has 2, asked for 4", refused.stderr)
        run("train", "--resume", self.last, "--steps", 4, "--shards", 2, "--threads", 2)
        self.assertEqual(stats(self.last)[-1]["step"], 4)

    def test_shards_that_cannot_be(self):
        for shards, said in ((3, "--shards 3 is no power of two"), (32, "--shards 32 is more than --batch 21")):
            refused = call("train", "--data", "images.npy", "--batch", 21, "--shards", shards)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(said, refused.stderr)

    def test_how_many_threads(self):
        """By default those of the affinity mask, or OMP_NUM_THREADS."""
        def said(environment, cpus=None):
            without = {key: value for key, value in ENVIRONMENT.items() if key != "OMP_NUM_THREADS"}
            text = subprocess.run([MDSM, "--version"], env={**without, **environment}, stdout=subprocess.PIPE, text=True,
                                  check=True, preexec_fn=lambda: cpus and os.sched_setaffinity(0, cpus)).stdout
            return int(re.search(r"threads: +(\d+)", text).group(1))
        allowed = os.sched_getaffinity(0)
        self.assertEqual(said({}), len(allowed))
        self.assertEqual(said({}, {min(allowed)}), 1)
        self.assertEqual(said({"OMP_NUM_THREADS": "5"}), 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
