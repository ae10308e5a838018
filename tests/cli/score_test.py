"""mdsm score from the outside, with a tiny model: a detector is fitted once, then images are scored from data sets, folders and
lists, as tables, CSV and JSON, with pictures of where; exit codes; and what it refuses."""
import csv
import glob
import io
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

import formats
import png_tools
from program import ENVIRONMENT, MDSM, call, run

OUTLIERS = 3  # exit code
RATE = 0.05


class Score(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="mdsm_score_")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.images("good", 400, 0.2, 1)
        run("train", "--data", cls.at("good.npy"), "--net", "res6", "--width", 4, "--batch", 16, "--steps", 60, "--lr", "3e-3",
            "--ema", 0.9, "--preview-every", 0, "--threads", 1, "--out", cls.at("runs"))
        cls.model = glob.glob(cls.at("runs/*/ema.safetensors"))[0]
        cls.detector = cls.at("detector.safetensors")
        cls.fitted = json.loads(run(*cls.fit(), "--format", "json"))

    @classmethod
    def fit(cls, out="detector.safetensors"):
        return ["score", "--fit", "--data", cls.at("good.npy"), "--model", cls.model, "--noise-levels", "0.1,0.5", "--components", 2,
                "--rate", RATE, "--out", cls.at(out)]

    @classmethod
    def at(cls, *names):
        return os.path.join(cls.root, *names)

    @classmethod
    def images(cls, name, n, contrast, seed):
        values = sum(formats.grey_noise(n, contrast, seed), [])
        with open(cls.at(name + ".npy"), "wb") as file:
            file.write(formats.npy((n, 1, 8, 8), formats.floats(values)))

    def pictures(self, folder, n, contrast, seed, size=8):
        os.makedirs(self.at(folder), exist_ok=True)
        draw = random.Random(seed)
        for i in range(n):
            rows = [[min(255, max(0, round(127.5 + 255 * contrast * draw.gauss(0, 1)))) for _ in range(size)] for _ in range(size)]
            png_tools.write_png(self.at(folder, f"{i}.png"), rows)

    def score(self, *words, code=0, **more):
        result = call("score", *words, "--detector", self.detector, **more)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def test_fit(self):
        self.assertEqual([self.fitted[name] for name in ("n_fit", "n_scale", "n_calibration", "rate")], [200, 40, 160, RATE])
        again = json.loads(run(*self.fit("again.safetensors"), "--batch", 7, "--format", "json"))
        self.assertAlmostEqual(again["threshold"], self.fitted["threshold"], 5)
        self.assertIn("fitted to    200 of them; of the others 40 set the scale of scores and 160 the threshold",
                      run(*self.fit("again.safetensors"), "--force"))
        self.assertIn("exists already", call(*self.fit("again.safetensors")).stderr)

    def test_false_alarms_and_outliers(self):
        self.images("fresh", 600, 0.2, 2)
        found = json.loads(self.score("--data", self.at("fresh.npy"), "--format", "json", code=OUTLIERS).stdout)
        self.assertEqual(found["n"], 600)
        share = found["outliers"] / 600
        error = (RATE * (1 - RATE) * (1 / 160 + 1 / 600)) ** 0.5  # of the threshold and of the counted images
        self.assertLess(abs(share - RATE), 3 * error)
        for row in found["images"]:
            self.assertEqual(row["verdict"], "outlier" if row["score"] > found["threshold"] else "good")
            self.assertEqual(row["verdict"], "outlier" if row["p"] <= RATE else "good")

    def test_pale_images(self):
        """The fainter, the more are found. Bounds: three standard errors below the rates of 200 other images each, which were 0.805, 0.945
        and 1 (docs/score.md has more of them)."""
        for contrast, least in ((0.04, 0.68), (0.03, 0.87), (0.01, 0.97)):
            self.images("pale", 100, contrast, 3)
            found = json.loads(self.score("--data", self.at("pale.npy"), "--format", "json", code=OUTLIERS).stdout)
            self.assertGreaterEqual(found["outliers"], 100 * least, contrast)

    def test_by_one_measure(self):
        """Score, threshold and verdict by that alone; the other columns stay."""
        words = [word if word != self.at("detector.safetensors") else self.at("by.safetensors") for word in self.fit()]
        run(*words, "--by", "detail")
        self.images("fresh", 300, 0.2, 8)
        found = json.loads(call("score", "--data", self.at("fresh.npy"), "--detector", self.at("by.safetensors"), "--format", "json").stdout)
        error = (RATE * (1 - RATE) * (1 / 160 + 1 / 300)) ** 0.5
        self.assertLess(abs(found["outliers"] / 300 - RATE), 3 * error)
        for row in found["images"]:
            self.assertAlmostEqual(row["score"], math.log1p(math.exp(row["parts"]["detail"])), 4)
            self.assertEqual(row["verdict"], "outlier" if row["score"] > found["threshold"] else "good")
        self.assertIn("--by: the measure 'heat' does not exist; choose one of norms, spectrum, local, detail", call(*words, "--by", "heat").stderr)

    def test_files_folders_lists_and_formats(self):
        self.pictures("mixed", 4, 0.2, 4)
        self.pictures("mixed/strange", 2, 0.01, 5)
        table = self.score(self.at("mixed"), code=OUTLIERS).stdout
        self.assertIn("are outliers: scores above", table)
        rows = list(csv.DictReader(io.StringIO(self.score(self.at("mixed"), "--format", "csv", code=OUTLIERS).stdout)))
        self.assertEqual([os.path.relpath(row["image"], self.at("mixed")) for row in rows],
                         ["0.png", "1.png", "2.png", "3.png", "strange/0.png", "strange/1.png"])
        self.assertEqual([row["verdict"] for row in rows[4:]], ["outlier"] * 2)
        for row in rows:
            parts = [float(row[name]) for name in ("norms", "spectrum", "local", "detail")]
            self.assertAlmostEqual(float(row["score"]), sum(math.log1p(math.exp(z)) for z in parts) / 4, 5)
        # The same names in two folders are fine as long as nothing is written under them.
        listed = "\n".join([self.at("mixed/0.png"), "", self.at("mixed/strange/0.png")]) + "\n"
        result = subprocess.run([MDSM, "score", "-", "--detector", self.detector, "--format", "csv"], input=listed, text=True,
                                stdout=subprocess.PIPE, check=False, env=ENVIRONMENT)
        again = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual([(row["image"], row["score"]) for row in again], [(rows[i]["image"], rows[i]["score"]) for i in (0, 4)])
        good = [row["image"] for row in rows if row["verdict"] == "good"][0]
        self.score(good)  # exit code 0

    def test_unreadable_images_have_a_row(self):
        self.pictures("damaged", 2, 0.2, 6)
        with open(self.at("damaged/0a.png"), "wb") as file:
            file.write(formats.png(8, 8)[:-20])
        with open(self.at("damaged/a, \"b\".png"), "wb") as file:
            file.write(b"")
        result = self.score(self.at("damaged"), "--format", "csv", code=1)
        self.assertIn("2 of 4 images cannot be read, the first: ", result.stderr)
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual([row["verdict"] == "unreadable" for row in rows], [False, True, False, True])
        self.assertTrue(rows[3]["image"].endswith('a, "b".png'))

    def test_heatmaps(self):
        self.pictures("large", 2, 0.2, 7, size=12)
        found = json.loads(self.score(self.at("large"), "--heatmap", self.at("heat"), "--format", "json",
                                      code=self.code(self.at("large"))).stdout)
        for i, row in enumerate(found["images"]):
            self.assertEqual(row["heatmap"], self.at("heat", f"{i}.png"))
            self.assertEqual(png_tools.read_png(row["heatmap"])[:3], (12, 12, 3))  # the picture's own size
        result = call("score", self.at("large"), "--detector", self.detector, "--heatmap", self.at("heat"))
        self.assertIn("exists already", result.stderr)

    def code(self, images):
        return call("score", images, "--detector", self.detector).returncode

    def test_other_weights_are_refused(self):
        run("train", "--data", self.at("good.npy"), "--net", "res6", "--width", 4, "--batch", 4, "--steps", 1, "--preview-every", 0,
            "--threads", 1, "--out", self.at("other"))
        result = self.score("--data", self.at("good.npy"), "--model", glob.glob(self.at("other/*"))[0], code=1)
        self.assertIn("fitted with other weights", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
