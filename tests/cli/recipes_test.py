"""mdsm train without options takes what the recipes found best: the quick ones are the files of configs/quick, --recipe paper is what --preset
was, and runs of before go on as they were."""
import json
import os
import struct
import sys
import tempfile
import unittest

import numpy as np

from program import call, run

CONFIGS = os.path.abspath(sys.argv[2])
NOT_COMPARED = {"recipe", "preset", "data"}


def plan(*words):
    return json.loads(run("train", *words, "--dry-run", "--json"))["options"]


def compared(options):
    return {name: value for name, value in options.items() if name not in NOT_COMPARED}


class Recipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        np.save("images.npy", np.zeros((8, 3, 160, 160), np.float32))
        os.mkdir("digits")
        for part, count in (("train", 60), ("t10k", 10)):
            with open(f"digits/{part}-images-idx3-ubyte", "wb") as file:
                file.write(struct.pack(">IIII", 2051, count, 28, 28) + bytes(count * 784))
            with open(f"digits/{part}-labels-idx1-ubyte", "wb") as file:
                file.write(struct.pack(">II", 2049, count) + bytes(i % 10 for i in range(count)))

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def test_quick_is_the_files(self):
        sources = {"mnist": ["--data", "mnist:digits"], "stacked-mnist": ["--data", "stacked-mnist:digits"],
                   **{name: ["--data", "images.npy", "--preset", name] for name in ("fashion-mnist", "cifar10", "celeba")}}
        sources.update({name + "-res12": [*sources[name], "--net", "res12"] for name in ("mnist", "fashion-mnist", "celeba")})
        self.assertEqual({name + ".toml" for name in sources}, set(os.listdir(CONFIGS + "/quick")))
        for name, words in sources.items():
            with self.subTest(recipe=name):
                quick = plan("--recipe", "quick", *words)
                file = plan("--config", f"{CONFIGS}/quick/{name}.toml", "--recipe", "none", *words[:2])
                self.assertEqual(compared(quick), compared(file))
                self.assertEqual(quick["recipe"], "quick")

    def test_a_run_from_a_model_has_the_recipe_of_its_network(self):
        bundled = plan("--data", "mnist:digits", "--init", "mnist")
        self.assertEqual((bundled["net"], bundled["width"], bundled["pad"], bundled["batch"]), ("unet", 32, 0, 32))
        short = ["train", "--data", "mnist:digits", "--width", 4, "--batch", 4, "--steps", 1, "--preview-every", 0]
        run(*short, "--net", "res12", "--out", "papers")
        papers = plan("--data", "mnist:digits", "--init", "papers/00000")
        self.assertEqual((papers["net"], papers["width"], papers["pad"], papers["batch"]), ("res12", 4, -1, 64))
        run(*short, "--out", "first")
        again = plan("--data", "mnist:digits", "--init", "first/00000")
        self.assertEqual((again["net"], again["levels"], again["pad"], again["lr"]), ("unet", 3, 0, 2e-3))

    def test_quick_is_the_default(self):
        self.assertEqual(plan("--data", "mnist:digits"), plan("--data", "mnist:digits", "--recipe", "quick"))
        folder = plan("--data", "images.npy")
        self.assertEqual((folder["net"], folder["width"], folder["weight-power"], folder["lr"]), ("unet", 32, 1, 1.5e-3))
        self.assertEqual(plan("--data", "images.npy", "--steps", 100)["warmup"], 10)
        self.assertEqual(plan("--data", "images.npy", "--objective", "ml")["recipe"], "none")

    def test_paper_is_the_preset(self):
        for name in ("mnist", "fashion-mnist", "cifar10", "celeba"):
            with self.subTest(preset=name):
                preset = plan("--preset", name, "--data", "images.npy")
                self.assertEqual(preset, plan("--preset", name, "--recipe", "paper", "--data", "images.npy"))
                self.assertEqual(preset["recipe"], "paper")
                file = plan("--config", f"{CONFIGS}/{name}.toml", "--data", "images.npy")
                self.assertEqual(compared(preset), compared(file))
        self.assertEqual(compared(plan("--recipe", "paper", "--data", "mnist:digits")),
                         compared(plan("--preset", "mnist", "--data", "mnist:digits")))
        self.assertEqual(plan("--recipe", "paper", "--data", "images.npy")["steps"], 100000)

    def test_a_recipe_cannot_change_on_resume(self):
        small = ["--data", "images.npy", "--resize", 16, "--levels", 1, "--width", 4, "--batch", 4, "--preview-every", 0]
        run("train", *small, "--steps", 4, "--stop-after", 2, "--out", "runs")
        refused = call("train", "--resume", "runs/00000", "--recipe", "paper")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--recipe cannot change on resume", refused.stderr)
        run("train", "--resume", "runs/00000")
        with open("runs/00000-images-unet-w4/options.json", encoding="utf-8") as file:
            self.assertEqual(json.load(file)["recipe"], "quick")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
