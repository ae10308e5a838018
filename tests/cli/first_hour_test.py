"""What a newcomer types: runs by their number, options from a file in every command, help by name, words mistyped, progress where there is no
terminal, and a picture denoised without a word about models."""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import formats
from program import ENVIRONMENT, MDSM, call, run

SMALL = ["--net", "unet", "--levels", 2, "--width", 8, "--batch", 8, "--preview-every", 0, "--threads", 1]


class FirstHour(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        np.save("images.npy", np.random.default_rng(0).random((32, 1, 16, 16), np.float32))
        run("train", "--data", "images.npy", *SMALL, "--steps", 4, "--snapshot-every", 2)

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def test_runs_by_their_number(self):
        run("sample", "--model", "runs/00000", "-n", 2, "--out", "by-number")
        run("sample", "--model", "runs/00000-images-unet-w8", "-n", 2, "--out", "by-name")
        self.assertTrue(np.array_equal(np.load("by-number/samples.npy"), np.load("by-name/samples.npy")))
        self.assertIn("all 4 steps are done", call("train", "--resume", "runs/00000").stderr)
        refused = call("sample", "--model", "runs/00009", "-n", 2)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("runs/00009: no such file", refused.stderr)
        os.makedirs("two/00000-a")
        os.makedirs("two/00000-b")
        refused = call("train", "--resume", "two/00000")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("00000-a, 00000-b", refused.stderr)

    def test_options_from_a_file(self):
        with open("draw.toml", "w", encoding="utf-8") as file:
            file.write('model = "runs/00000"\nn = 3\nsampler = "fast"\nout = "configured"\n')
        run("sample", "--config", "draw.toml", "--set", "h0=0.1")
        self.assertEqual(len(np.load("configured/samples.npy")), 3)
        with open("wrong.toml", "w", encoding="utf-8") as file:
            file.write("wings = 2\n")
        refused = call("energy", "--config", "wrong.toml")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("wings", refused.stderr)

    def test_help_and_mistyped_words(self):
        self.assertEqual(run("help", "train"), run("train", "--help"))
        self.assertEqual(run("help"), run("--help"))
        for words, hint in ((["smaple"], "did you mean sample?"), (["help", "trian"], "did you mean train?"),
                            (["xyzzy"], "mdsm --help lists the commands"), (["train", "photos"], "did you mean --data photos?"), (["train", "--data", "a", "b"], "mdsm train --help"),
                            (["train", "--data", "images.npy", "--crop", 140], "crop to 16 at most, or leave --crop out"),
                            (["sample", "runs/00000"], "did you mean --model runs/00000?"), (["train", "--dta", "x"], "did you mean --data?")):
            refused = call(*words)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(hint, refused.stderr)

    def test_progress_without_a_terminal(self):
        def said(*options):
            words = [MDSM, "train", "--data", "images.npy", *map(str, SMALL), "--steps", "4", *options]
            return subprocess.run(words, env={**ENVIRONMENT, "MDSM_PROGRESS_SECONDS": "0.001"}, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, check=True).stderr

        self.assertRegex(said("--desc", "loud"), r"train: \d of 4 steps, [\d.]+/s, \d+ s left, loss [\d.]+\n")
        self.assertEqual(said("--desc", "quiet", "--quiet"), "")

    def test_pictures_without_a_model(self):
        """Grey pictures go to photos-grey, others to photos."""
        os.makedirs("models", exist_ok=True)
        run("export", "runs/00000", "models/photos-grey.safetensors", "--force")
        for name, channels in (("grey.png", 1), ("colour.png", 3)):
            with open(name, "wb") as file:
                file.write(formats.png(24, 20, channels))
        own = {"env": {**ENVIRONMENT, "MDSM_MODELS": os.path.abspath("models")}}
        words = lambda *more: subprocess.run([MDSM, "denoise", *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **own)
        done = words("grey.png", "--out", "clean")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists("clean/grey.png"))
        refused = words("colour.png", "--out", "clean2")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("photos", refused.stderr)
        self.assertEqual(words("colour.png", "--colour", "grey", "--out", "clean3").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
