"""What the measuring commands must not say: training images taken for held-out ones, training accuracy called test
accuracy, the first class of a sorted set taken for the set, one chain taken for certainty, an edited schedule for the
one that was begun, and files that are replaced without --force."""
import glob
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import formats
import png_tools
from program import ENVIRONMENT, MDSM, call, run


class Guards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="mdsm_guards_")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.training = cls.images("training.npy", 1200, 1)
        cls.images("inside.npy", 40, 2)
        run("train", "--data", cls.at("training.npy"), "--net", "res6", "--width", 4, "--batch", 8, "--steps", 10,
            "--preview-every", 0, "--threads", 1, "--out", cls.at("runs"))
        cls.model = glob.glob(cls.at("runs/*/ema.safetensors"))[0]

    @classmethod
    def at(cls, *names):
        return os.path.join(cls.root, *names)

    @classmethod
    def images(cls, name, n, seed, contrast=0.25):
        draw = random.Random(seed)
        values = [min(1, max(0, 0.5 + contrast * draw.gauss(0, 1))) for _ in range(64 * n)]
        with open(cls.at(name), "wb") as file:
            file.write(formats.npy((n, 1, 8, 8), formats.floats(values)))
        return values

    @classmethod
    def class_folders(cls, name, images):
        """images: (class, brightness of the left half, of the right half); 16x16 with noise."""
        draw = random.Random(name)
        for i, (label, left, right) in enumerate(images):
            os.makedirs(cls.at(name, label), exist_ok=True)
            rows = [[min(255, max(0, int((left if x < 8 else right) + draw.gauss(0, 25)))) for x in range(16)]
                    for _ in range(16)]
            png_tools.write_png(cls.at(name, label, f"{i:04}.png"), rows)
        return cls.at(name)

    def assert_refused(self, code, words, *arguments, **more):
        result = call(*arguments, **more)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        self.assertIn(words, result.stderr)

    def test_training_images_are_not_held_out(self):
        """More images than --held-out-limit: the description of the limited set differs, the images do not."""
        with open(self.at("copies.npy"), "wb") as file:
            file.write(formats.npy((20, 1, 8, 8), formats.floats(self.training[:20 * 64])))
        arguments = ["neighbours", self.at("copies.npy"), "--data", self.at("training.npy"), "-k", 1, "--out",
                     self.at("none")]
        self.assert_refused(2, "no test images of its own", *arguments)
        self.assert_refused(2, "no test images of its own", *arguments, "--held-out",
                            self.at("runs", "..", "training.npy"))
        self.assertFalse(os.path.exists(self.at("none")))
        # The same images in another file: the answer says that there is none.
        shutil.copy(self.at("training.npy"), self.at("again.npy"))
        text = run(*arguments, "--held-out", self.at("again.npy"), "--held-out-limit", 50)
        self.assertIn("no answer", text)

    def test_neighbours_in_feature_space(self):
        folder = self.class_folders("bars", [("dark", 40, 40) if i % 2 else ("light", 40, 210) for i in range(80)])
        network = self.at("bars.safetensors")
        run("classifier", "--data", folder, "--width", 2, "--hidden", 6, "--epochs", 4, "--batch", 16, "--out", network)
        arguments = ["neighbours", folder, "--data", folder, "--no-held-out", "-k", 2, "--subset", 50, "--seed", 3,
                     "--classifier", network, "--out", self.at("features")]
        found = json.loads(run(*arguments, "--json"))
        self.assertEqual(found["features"]["network"]["dimensions"], 6)
        self.assertIn("50 drawn at random (seed 3)", found["training"])
        with open(self.at("features", "neighbours.json"), encoding="utf-8") as file:
            whole = json.load(file)
        for space in (whole, whole["features"]):
            self.assertEqual(len(space["neighbours"]), 80)
            zero = [i for i, lists in enumerate(space["neighbours"]) if lists["distance"][0] == 0]
            self.assertEqual(len(zero), 50)
            for i in zero:  # an image of the subset finds itself, under its number in the source
                self.assertEqual(space["neighbours"][i]["index"][0], i)
        for name in ("figure", "histogram"):
            self.assertTrue(os.path.getsize(self.at("features", name + "-features.svg")) > 0)
        self.assertIn("6 dimensions", run(*arguments, "--force"))

    def test_seeds_of_samples_are_said(self):
        run("sample", "--model", self.model, "--seeds", "3-6", "--sampler", "fast", "--steps", 2, "--out",
            self.at("drawn"))
        arguments = ["neighbours", self.at("drawn"), "--data", self.at("training.npy"), "--no-held-out", "-k", 1,
                     "--out", self.at("seeds")]
        self.assertIn(", seeds 3-6", run(*arguments))
        self.assertEqual(json.loads(run(*arguments, "--force", "--json"))["seeds"], "3-6")

    def test_classifier_holds_images_out(self):
        """Labels that follow no rule: what is learnt by heart is of no use on images that were kept away."""
        draw = random.Random(5)
        folder = self.class_folders("chance", [(draw.choice("ab"), 120, 120) for _ in range(60)])
        arguments = ["classifier", "--data", folder, "--width", 8, "--hidden", 64, "--epochs", 40, "--batch", 10,
                     "--lr", 5e-3, "--shift", 0, "--json"]
        held = json.loads(run(*arguments, "--hold-out", 0.5, "--out", self.at("held.safetensors")))
        self.assertEqual((held["accuracy_of"], held["accuracy"]["n"]), ("held-out images", 30))
        self.assertEqual(held["test"], held["accuracy"])
        self.assertLess(held["accuracy"]["rate"], 0.85)
        learnt = json.loads(run(*arguments, "--hold-out", 0, "--out", self.at("learnt.safetensors")))
        self.assertEqual((learnt["accuracy_of"], learnt["accuracy"]["n"]), ("training images", 60))
        self.assertNotIn("test", learnt)
        self.assertGreater(learnt["accuracy"]["rate"], 0.9)
        measured = run("classifier", "--data", folder, "--measure", self.at("learnt.safetensors"))
        self.assertIn("of all images, n 60", measured)

    def test_classes_are_compared_by_name(self):
        looks = {"a": (40, 40), "b": (40, 210), "c": (210, 40)}
        train = self.class_folders("abc", [(name, *looks[name]) for _ in range(40) for name in looks])
        test = self.class_folders("bc", [(name, *looks[name]) for _ in range(10) for name in "bc"])
        other = self.class_folders("bd", [(name, 40, 40) for name in "bd"])
        network = self.at("abc.safetensors")
        run("classifier", "--data", train, "--width", 4, "--hidden", 8, "--epochs", 5, "--batch", 10, "--lr", 5e-3,
            "--out", network)
        found = json.loads(run("classifier", "--data", test, "--measure", network, "--json"))
        self.assertGreater(found["accuracy"]["rate"], 0.9)
        self.assert_refused(1, "has the class d", "classifier", "--data", other, "--measure", network)

    def test_limits_are_drawn_by_chance(self):
        found = json.loads(run("outliers", "--model", self.model, "--data", self.at("inside.npy"), "--against",
                               self.at("training.npy"), "--noise-levels", 0.1, "--components", 1, "-k", 1, "--subset", 30,
                               "--seed", 7, "--out", self.at("limited"), "--json"))
        self.assertIn("30 drawn at random (seed 7) of 40 images", found["in"])
        self.assertIn("30 drawn at random (seed 7) of 1200 images", found["out"][0])

    def likelihood(self, *more):
        return ["likelihood", "--model", self.model, "--data", self.at("inside.npy"), "--leapfrog", 1, *more]

    def test_one_chain_is_not_certain(self):
        arguments = self.likelihood("--distributions", 3, "--chains", 1, "--pilot", 1, "--out", self.at("one"))
        found = json.loads(run(*arguments, "--json"))
        upper = found["result"]["log_z_upper"]
        for key in ("bound_se", "estimate_se", "std"):
            self.assertIsNone(upper[key])
        self.assertIsNone(found["result"]["log_p_paired"]["bits_per_dim_se"])
        self.assertEqual(len(found["leapfrog_steps"]), 3)
        text = run(*arguments, "--force")
        self.assertIn("(no error)", text)
        self.assertNotIn("nan", text)

    def test_the_upper_bound_has_a_condition(self):
        arguments = self.likelihood("--distributions", 3, "--chains", 2, "--pilot", 0, "--out", self.at("bound"))
        text = run(*arguments)
        self.assertIn("<= holds if these starts are samples of the model, which data are not", text)
        self.assertIn("at most this, if its starts are samples of the model", text)
        upper = json.loads(run(*arguments, "--force", "--json"))["result"]["log_z_upper"]
        self.assertEqual(upper["starts_at_model_samples"], False)
        self.assertIn("if its chains start at samples", upper["bounds_log_z"])

    def test_an_edited_schedule_or_start_is_refused(self):
        betas, start = self.at("betas.txt"), self.at("start.npy")
        self.images("start.npy", 6, 9)
        with open(betas, "w", encoding="utf-8") as file:
            file.write("\n".join(str(i / 4000) for i in range(1, 4000)))
        arguments = ["likelihood", "--model", self.model, "--data", start, "--schedule", betas, "--chains", 6,
                     "--pilot", 0, "--leapfrog", 5, "--save-seconds", 0.05, "--reference-std", 0.3, "--out",
                     self.at("edited")]
        process = subprocess.Popen([MDSM, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env=ENVIRONMENT)
        time.sleep(0.1)
        while not os.path.exists(self.at("edited", "state.safetensors")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1)
        for path, key, spoil in ((betas, "betas-hash", lambda text: text.replace(b"0.5\n", b"0.50001\n")),
                                 (start, "start-hash", lambda text: text[:-4] + struct.pack("<f", 0.123))):
            with open(path, "rb") as file:
                good = file.read()
            self.assertNotEqual(spoil(good), good)
            with open(path, "wb") as file:
                file.write(spoil(good))
            self.assert_refused(1, key, *arguments, "--resume")
            with open(path, "wb") as file:
                file.write(good)

    def test_no_file_is_replaced_without_force(self):
        inside = self.at("inside.npy")
        commands = {
            "likelihood": (self.likelihood("--distributions", 2, "--chains", 1, "--pilot", 0), ["likelihood.svg"]),
            "outliers": (["outliers", "--model", self.model, "--data", inside, "--against", inside, "--noise-levels", 0.1,
                          "--components", 1, "-k", 1], ["roc-1.svg", "histogram-mixture.svg"]),
            "neighbours": (["neighbours", inside, "--data", inside, "--no-held-out", "-k", 1],
                           ["figure.png", "figure.svg", "histogram.svg"])}
        for name, (arguments, files) in commands.items():
            for file in files:
                folder = self.at("kept", name, file)
                os.makedirs(folder)
                with open(os.path.join(folder, file), "wb") as kept:
                    kept.write(b"mine")
                self.assert_refused(1, f"{file}: exists already", *arguments, "--out", folder)
                self.assertEqual(os.listdir(folder), [file])
                with open(os.path.join(folder, file), "rb") as kept:
                    self.assertEqual(kept.read(), b"mine")

    def test_a_folder_named_mnist_hides_no_classifier(self):
        os.makedirs(self.at("here", "mnist"))
        draw = random.Random(1)
        with open(self.at("here", "x.npy"), "wb") as file:
            file.write(formats.npy((2, 3, 32, 32), bytes(draw.randrange(256) for _ in range(2 * 3 * 1024)), "|u1"))
        for more in ([], ["--classifier", "mnist"]):
            found = json.loads(run("modes", "--samples", "x.npy", *more, "--json", cwd=self.at("here")))
            self.assertEqual(found["classifier"]["file"], "classifier-mnist.safetensors")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
