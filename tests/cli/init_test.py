"""mdsm train --init: a new run from the weights of a model, its network, and what is refused."""
import json
import os
import shutil
import sys
import tempfile
import unittest

import numpy as np

import formats
from program import call, run

UNET = ["--net", "unet", "--levels", 2, "--width", 4, "--activation", "elu"]
COMMON = ["--batch", 8, "--preview-every", 0, "--stats-every", 1, "--threads", 1]
STILL = [*COMMON, "--steps", 1, "--lr", 1e-30, "--lr-final", 0]  # a step that moves no weight


def only_run(outdir):
    name, = os.listdir(outdir)
    return os.path.join(outdir, name)


def weights(path):
    """Name -> values of a model file."""
    with open(path, "rb") as file:
        header, data = formats.split_safetensors(file.read())
    types = {"F32": np.float32, "F16": np.float16}
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], types[entry["dtype"]]).astype(np.float32)
            for name, entry in header.items() if name != "__metadata__"}


def trained(path):
    with open(path, "rb") as file:
        return json.loads(formats.split_safetensors(file.read())[0]["__metadata__"]["trained"])


def options(folder):
    with open(folder + "/options.json", encoding="utf-8") as file:
        return json.load(file)


def content(path):
    with open(path, "rb") as file:
        return file.read()


class Init(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="mdsm_init_")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        os.chdir(cls.folder)
        draw = np.random.default_rng(1)
        for name, channels, size in (("small", 1, 16), ("large", 1, 24), ("colour", 3, 16)):
            np.save(name + ".npy", draw.integers(0, 256, (32, channels, size, size), np.uint8))
        run("train", "--data", "small.npy", *UNET, *COMMON, "--steps", 8, "--lr", 1e-3, "--out", "unet")
        run("train", "--data", "small.npy", "--net", "res6", "--width", 4, "--bowl", 1, "--sigma0", 0.2, *COMMON, "--steps", 8,
            "--lr", 1e-3, "--out", "res6")
        cls.unet, cls.res6 = only_run("unet"), only_run("res6")

    def start(self, outdir, *arguments):
        run("train", "--out", outdir, *arguments)
        return only_run(outdir)

    def same(self, found, wanted, tolerance=0):
        found, wanted = weights(found), weights(wanted)
        self.assertEqual(sorted(found), sorted(wanted))
        for name, values in wanted.items():
            np.testing.assert_allclose(found[name], values, rtol=tolerance, atol=1e-25, err_msg=name)

    def refused(self, code, pattern, *arguments):
        done = call("train", "--out", "refused", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertRegex(done.stderr, r"\Amdsm: error: .*" + pattern)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse(os.path.exists("refused"))

    def test_starts_from_the_weights_and_their_average(self):
        for name, model in (("folder", self.unet), ("slash", self.unet + "/"), ("file", self.unet + "/ema.safetensors")):
            made = self.start(name, "--data", "small.npy", "--init", model, *STILL)
            self.same(made + "/weights.safetensors", self.unet + "/ema.safetensors")
            self.same(made + "/ema.safetensors", self.unet + "/ema.safetensors", 1e-6)
            recorded = options(made)
            self.assertEqual(recorded["init"], model)
            self.assertEqual([recorded[key] for key in ("net", "levels", "width", "activation")], ["unet", 2, 4, "elu"])
            said = trained(made + "/ema.safetensors")
            self.assertEqual((said["init"], said["step"]), (os.path.basename(model.rstrip("/")), 1))
        self.assertNotIn("init", trained(self.unet + "/ema.safetensors"))

    def test_takes_sigma0_and_bowl(self):
        made = self.start("taken", "--data", "small.npy", "--init", self.res6, "--sigma-max", 2, *STILL)
        self.same(made + "/weights.safetensors", self.res6 + "/ema.safetensors")
        recorded = options(made)
        self.assertEqual([recorded[key] for key in ("net", "sigma0", "bowl", "sigma-max")], ["res6", 0.2, 1, 2])
        # Nor do a preset's network and the one level of an objective go before the model's.
        for name, more in (("preset", ["--preset", "mnist"]), ("single", ["--objective", "single", "--sigma", 0.6])):
            made = self.start(name, "--data", "small.npy", "--init", self.res6, *more, *STILL)
            self.assertEqual([options(made)[key] for key in ("net", "width", "sigma0")], ["res6", 4, 0.2])

    def test_half_and_bundled(self):
        run("export", self.unet, "half.safetensors", "--half")
        made = self.start("half", "--data", "small.npy", "--init", "half.safetensors", *STILL)
        self.same(made + "/weights.safetensors", "half.safetensors")
        plan = run("train", "--data", "small.npy", "--pad", 28, "--init", "fashion-mnist", *STILL, "--dry-run")
        described = json.loads(run("describe", "--model", "fashion-mnist", "--json"))
        self.assertIn(f"parameters: {described['parameters']}\n", plan)
        self.assertIn('"init": "fashion-mnist"', plan)

    def test_other_sizes(self):
        made = self.start("larger", "--data", "large.npy", "--init", self.unet, *STILL)
        self.same(made + "/weights.safetensors", self.unet + "/ema.safetensors")
        described = json.loads(run("describe", "--model", made, "--json"))
        self.assertEqual(described["spec"]["size"], 24)
        self.refused(2, r"res6.* is for images of 16x16 pixels, the data has 24x24", "--data", "large.npy", "--init", self.res6,
                     *STILL)
        for model in (self.unet, self.res6):
            for more in ([], ["--dry-run"]):
                self.refused(2, r"is for images of 1 channels, the data has 3", "--data", "colour.npy", "--init", model, *STILL,
                             *more)

    def test_another_network_is_refused(self):
        asked = [("net", "res6", "unet"), ("levels", 3, 2), ("blocks", 2, 1), ("activation", "silu", "elu"),
                 ("sigma0", 0.2, 0.1)]
        for name, value, has in asked:
            self.refused(2, f"--{name} cannot change with --init: {self.unet} has {has}, asked for {value};.*--{name}",
                         "--data", "small.npy", "--init", self.unet, f"--{name}", value, *STILL)
        self.refused(2, "--width cannot change with --init: .* has 4, asked for 8", "--data", "small.npy", "--init", self.res6,
                     "--width", 8, *STILL)
        self.refused(2, "--bowl cannot change with --init: .* has 1.0, asked for 0.0", "--data", "small.npy", "--init", self.res6,
                     "--bowl", 0, *STILL)
        self.refused(2, "--head cannot change with --init: .* has quadratic, asked for linear", "--data", "small.npy", "--init",
                     self.res6, "--head", "linear", *STILL)
        self.start("agrees", "--data", "small.npy", "--init", self.unet, *UNET, "--sigma0", 0.1, *STILL)

    def test_another_head_of_a_unet(self):
        made = self.start("denoiser", "--data", "small.npy", "--init", self.unet, "--head", "denoiser", *STILL)
        self.same(made + "/weights.safetensors", self.unet + "/ema.safetensors")
        self.assertEqual(json.loads(run("describe", "--model", made, "--json"))["spec"]["head"], "denoiser")
        back = self.start("energy", "--data", "small.npy", "--init", made, "--head", "squared-residual", *STILL)
        self.same(back + "/weights.safetensors", made + "/ema.safetensors")

    def test_a_wider_unet_starts_as_the_same_function(self):
        made = self.start("wider", "--data", "small.npy", "--init", self.unet, "--width", 12, *STILL)
        self.assertEqual(json.loads(run("describe", "--model", made, "--json"))["spec"]["width"], 12)
        narrow, wide = (json.loads(run("energy", "--model", model, "--data", "small.npy", "--json"))["mean"]
                        for model in (self.unet, made))
        self.assertAlmostEqual(wide / narrow, 1, delta=1e-5)
        self.refused(2, "--width cannot change with --init: .* has 12, asked for 8", "--data", "small.npy", "--init", made,
                     "--width", 8, *STILL)

    def test_bad_models_leave_no_run_folder(self):
        with open("text.safetensors", "w", encoding="utf-8") as file:
            file.write("not a model")
        with open("cut.safetensors", "wb") as file:
            file.write(content(self.unet + "/ema.safetensors")[:-100])
        for name in ("none", "text.safetensors", "cut.safetensors", self.folder, "small.npy"):
            self.refused(1, os.path.basename(name), "--data", "small.npy", "--init", name, *STILL)

    def test_resuming_does_not_read_the_model(self):
        train = ["--data", "small.npy", "--init", "first.safetensors", *COMMON, "--steps", 6, "--lr", 1e-3,
                 "--optimizer", "muon"]
        shutil.copy(self.unet + "/weights.safetensors", "first.safetensors")
        whole, part = self.start("whole", *train), self.start("part", *train, "--stop-after", 3)
        done = call("train", "--resume", part, "--init", "first.safetensors")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("--init and --resume exclude each other", done.stderr)
        begun = self.start("begun", *train, "--stop-after", 1)
        for name in set(os.listdir(begun)) - {"options.json", "version.txt"}:  # as if killed before the first checkpoint
            os.remove(os.path.join(begun, name))
        os.rename("first.safetensors", "elsewhere.safetensors")
        done = call("train", "--resume", begun)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("first.safetensors: no such file", done.stderr)
        run("train", "--resume", part)
        os.rename("elsewhere.safetensors", "first.safetensors")
        run("train", "--resume", begun)
        for made in (part, begun):
            for name in ("weights", "ema"):
                self.assertEqual(content(f"{made}/{name}.safetensors"), content(f"{whole}/{name}.safetensors"), (made, name))
        self.assertEqual(trained(part + "/ema.safetensors")["init"], "first.safetensors")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
