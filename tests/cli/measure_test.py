"""likelihood, outliers and neighbours from the outside, with a tiny model that the program trains first: files and
JSON, a run that a signal interrupts and --resume finishes, and numbers that can be worked out by hand."""
import glob
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom

import formats
from program import ENVIRONMENT, MDSM, call, run

PIXELS = 64


class Measure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="mdsm_measure_")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.training = cls.images("training", 200, 0.25, 1)
        run("train", "--data", cls.at("training.npy"), "--net", "res6", "--width", 4, "--batch", 16, "--steps", 60,
            "--lr", "3e-3", "--ema", 0.9, "--preview-every", 0, "--threads", 1, "--out", cls.at("runs"))
        cls.model = glob.glob(cls.at("runs/*/ema.safetensors"))[0]

    @classmethod
    def at(cls, *names):
        return os.path.join(cls.root, *names)

    @classmethod
    def images(cls, name, n, contrast, seed):
        values = formats.grey_noise(n, contrast, seed)
        with open(cls.at(name + ".npy"), "wb") as file:
            file.write(formats.npy((n, 1, 8, 8), formats.floats(sum(values, []))))
        return values

    def load(self, *names):
        with open(self.at(*names), encoding="utf-8") as file:
            return json.load(file)

    def assert_pictures(self, folder, names):
        for name in names:
            self.assertEqual(xml.dom.minidom.parse(self.at(folder, name)).documentElement.tagName, "svg")

    def likelihood(self, out, *more):
        return ["likelihood", "--model", self.model, "--data", self.at("training.npy"), "--chains", 3, "--pilot", 2,
                "--leapfrog", 3, "--batch", 2, "--out", self.at(out), *more]

    def test_likelihood(self):
        found = json.loads(run(*self.likelihood("like", "--distributions", 40, "--json")))
        self.assertEqual(found["result"], self.load("like", "likelihood.json")["result"])
        result = found["result"]
        self.assertEqual((result["dimensions"], result["distributions"], result["energy"]["n"]), (PIXELS, 40, 200))
        weights = found["log_weights"]
        self.assertAlmostEqual(result["log_z_lower"]["bound"], sum(weights["forward"]) / 3, 6)
        self.assertAlmostEqual(result["log_z_upper"]["bound"], sum(weights["reverse"]) / 3, 6)
        low = result["log_p_lower"]
        self.assertAlmostEqual(low["nats"], -result["energy"]["mean"] - result["log_z_upper"]["bound"], 6)
        self.assertAlmostEqual(low["bits_per_dim_unit_pixels"], -low["nats"] / PIXELS / math.log(2), 9)
        self.assertAlmostEqual(low["bits_per_dim_byte_pixels"] - low["bits_per_dim_unit_pixels"], math.log2(255), 9)
        self.assert_pictures("like", ["likelihood.svg"])
        self.assertFalse(os.path.exists(self.at("like", "state.safetensors")))
        text = run(*self.likelihood("like", "--distributions", 5, "--force"))
        for word in ("log Z >=", "log Z <=", "bits/dim", "[0,255]", "K = 5", "acceptance", "ESS"):
            self.assertIn(word, text)

    def test_likelihood_by_denoising(self):
        words = ["likelihood", "--model", self.model, "--data", self.at("training.npy"), "--method", "denoising", "--nodes", 5,
                 "--draws", 2, "--add-noise", 0.2, "--sigma-max", 1, "--json"]
        found = json.loads(run(*words, "--out", self.at("bound")))
        result = found["result"]
        self.assertEqual(result, self.load("bound", "likelihood.json")["result"])
        self.assertEqual(len(result["levels"]), 5)
        self.assertEqual(len(found["nats_per_image"]), result["n"])
        terms = result["terms"]
        self.assertAlmostEqual(sum(terms[name]["nats"] for name in terms), result["nats"], places=6)
        self.assertAlmostEqual(result["loss"] * math.log(1 / 0.2), terms["integral"]["nats"], places=6)
        self.assertAlmostEqual(result["bits_per_dim_byte_pixels"] - result["bits_per_dim_unit_pixels"], 7.9943534, places=6)
        again = json.loads(run(*words, "--batch", 3, "--out", self.at("bound-3")))
        self.assertEqual(again["nats_per_image"], found["nats_per_image"])
        self.assert_pictures("bound", ["likelihood.svg"])

    def test_likelihood_from_a_schedule_and_samples(self):
        with open(self.at("betas.txt"), "w", encoding="utf-8") as file:
            file.write("0.01\n0.1, 0.5\n")
        run("sample", "--model", self.model, "-n", 4, "--sampler", "fast", "--steps", 5, "--out", self.at("drawn"))
        found = json.loads(run("likelihood", "--model", self.model, "--samples", self.at("drawn"), "--chains", 2,
                               "--pilot", 0, "--schedule", self.at("betas.txt"), "--reference", "data-mean", "--json",
                               "--out", self.at("file")))
        self.assertEqual(found["result"]["distributions"], 4)
        self.assertIn("noise of 0.1", found["reverse_start"])
        self.assertNotIn("energy", found["result"])

    def test_likelihood_goes_on_after_a_signal(self):
        arguments = [str(word) for word in self.likelihood("signal", "--distributions", 1500, "--save-seconds", 0.1)]
        whole = json.loads(run(*self.likelihood("whole", "--distributions", 1500, "--json")))
        process = subprocess.Popen([MDSM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=ENVIRONMENT)
        while not os.path.exists(self.at("signal", "state.safetensors")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("--resume goes on", errors)
        again = json.loads(run(*arguments, "--resume", "--json", "--batch", 3))
        self.assertEqual(again["log_weights"], whole["log_weights"])
        self.assertEqual(again["result"], whole["result"])

    def test_outliers(self):
        self.images("inside", 120, 0.25, 2)
        self.images("pale", 80, 0.02, 3)
        arguments = ["outliers", "--model", self.model, "--data", self.at("inside.npy"), "--against", self.at("pale.npy"),
                     "--against", self.at("inside.npy"), "--noise-levels", "0.1,0.5", "--measures", "errors",
                     "--components", 2, "--out", self.at("outliers")]
        found = json.loads(run(*arguments, "--json"))
        self.assertEqual(found, self.load("outliers", "outliers.json"))
        self.assertEqual((found["n_in"], found["n_fit"]), (60, 60))
        table = {(os.path.basename(row["out"]), row["score"]): row for row in found["table"]}
        self.assertEqual(len(table), 10)
        for row in table.values():
            self.assertTrue(0 <= row["low"] <= row["auroc"] <= row["high"] <= 1)
        for score in ("mixture", "neighbours"):
            self.assertGreater(table["pale.npy", score]["auroc"], 0.9)
            self.assertLess(table["inside.npy", score]["auroc"], 0.7)
        self.assert_pictures("outliers", ["roc-1.svg", "roc-2.svg"] +
                             [f"histogram-{name}.svg" for name in ("energy", "objective", "mixture", "neighbours")])
        self.assertIn("DeLong", run(*arguments, "--force"))

    def test_neighbours(self):
        copies = self.training[:20]
        with open(self.at("copies.npy"), "wb") as file:
            file.write(formats.npy((20, 1, 8, 8), formats.floats(sum(copies, []))))
        self.images("held-out", 50, 0.25, 4)
        arguments = ["neighbours", self.at("copies.npy"), "--data", self.at("training.npy"), "--held-out",
                     self.at("held-out.npy"), "-k", 3, "--out", self.at("neighbours")]
        printed = json.loads(run(*arguments, "--json"))
        found = self.load("neighbours", "neighbours.json")
        self.assertEqual(printed["memorisation"], found["memorisation"])
        self.assertEqual(found["memorisation"]["share_below"], 1)
        self.assertEqual(found["memorisation"]["sample_mean"], 0)
        self.assertGreater(found["memorisation"]["held_out_mean"], 1)
        for i, lists in enumerate(found["neighbours"]):
            distances = sorted((math.dist(copies[i], other), j) for j, other in enumerate(self.training))[:3]
            self.assertEqual(lists["index"], [j for _, j in distances])
            for wanted, got in zip(distances, lists["distance"]):
                self.assertAlmostEqual(wanted[0], got, 5)
        self.assert_pictures("neighbours", ["figure.svg", "histogram.svg"])
        self.assertTrue(os.path.exists(self.at("neighbours", "figure.png")))
        self.assertIn("memorised?   100.0 %", run(*arguments, "--force"))
        by_name = [arguments[0], "--samples", *arguments[1:]]
        self.assertEqual({**json.loads(run(*by_name, "--force", "--json")), "seconds": 0}, {**printed, "seconds": 0})
        for words, text in (([*by_name, arguments[1]], "by --samples"), ([arguments[0], *arguments[2:]], "--samples is missing")):
            refused = call(*words, "--force")
            self.assertEqual(refused.returncode, 2)
            self.assertIn(text, refused.stderr)

    def test_samples_of_28x28(self):
        """Data is padded to 32x32 unless a model is of 28x28; samples of one go beside both."""
        values = formats.grey_noise(24, 0.25, 5, 784)
        with open(self.at("square.npy"), "wb") as file:
            file.write(formats.npy((24, 1, 28, 28), formats.floats(sum(values, []))))
        data = ["--data", self.at("square.npy")]
        run("train", *data, "--pad", 0, "--net", "unet", "--width", 4, "--levels", 2, "--batch", 8, "--steps", 2, "--preview-every", 0,
            "--threads", 1, "--out", self.at("square"))
        model = glob.glob(self.at("square/*/"))[0]
        run("sample", "--model", model, "-n", 6, "--steps", 4, "--out", self.at("square-drawn"))
        for more in ([], ["--pad", 0], ["--pad", 40]):
            run("neighbours", self.at("square-drawn"), *data, *more, "--no-held-out", "-k", 2, "--out", self.at("square-near"), "--force")
            side = more[1] or 28 if more else 32
            self.assertIn(f"{side}x{side}", self.load("square-near", "neighbours.json")["samples"])
        measure = [*data, "--classifier", "fashion-mnist", "--json"]
        by_folder = json.loads(run("evaluate", "--samples", self.at("square-drawn"), *measure))
        by_run = json.loads(run("evaluate", "--checkpoints", model, "-n", 6, "--steps", 4, *measure))
        self.assertAlmostEqual(by_run["checkpoints"][-1]["fid"]["value"], by_folder["fid"]["value"], 3)
        run("likelihood", "--model", model, *data, "--samples", self.at("square-drawn"), "--distributions", 2, "--chains", 2, "--pilot", 1,
            "--leapfrog", 2, "--out", self.at("square-bound"))
        self.assertEqual(self.load("square-bound", "likelihood.json")["result"]["dimensions"], 784)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
