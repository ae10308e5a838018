"""A model without an energy denoises and draws; what needs the energy refuses it in one line."""
import os
import shutil
import sys
import tempfile
import unittest

import numpy as np

from program import call, run


class Denoiser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        os.chdir(cls.folder)
        np.save("train.npy", np.random.default_rng(1).integers(0, 256, (32, 1, 8, 8), np.uint8))
        run("train", "--net", "unet", "--head", "denoiser", "--levels", 2, "--data", "train.npy", "--width", 4, "--steps", 20,
            "--batch", 8, "--preview-every", 0, "--out", "runs")
        cls.model = "runs/" + os.listdir("runs")[0]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def refused(self, *arguments):
        done = call(*arguments, "--model", self.model)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("needs an energy, and this model is a denoiser without one", done.stderr)

    def test_draws_by_what_follows_the_score(self):
        for sampler in ("multistep", "fast", "ode"):
            run("sample", "--model", self.model, "-n", 2, "--sampler", sampler, "--out", sampler)
            self.assertTrue(np.isfinite(np.load(sampler + "/samples.npy")).all())

    def test_denoises(self):
        run("denoise", "--data", "train.npy", "--limit", 2, "--model", self.model, "--add-noise", 0.3, "--out", "clean")

    def test_what_needs_the_energy_refuses(self):
        self.refused("energy", "--data", "train.npy")
        for sampler in ("mala", "hmc"):
            self.refused("sample", "-n", 2, "--sampler", sampler, "--out", sampler)
        self.refused("likelihood", "--data", "train.npy", "--out", "likelihood")

    def test_maximum_likelihood_refuses(self):
        done = call("train", "--net", "unet", "--head", "denoiser", "--objective", "ml", "--data", "train.npy", "--width", 4,
                    "--steps", 2, "--batch", 4, "--out", "ml")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("needs an energy", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
