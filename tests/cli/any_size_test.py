"""A U-Net trained on small images works on pictures of any size, as they are and in tiles; the paper's networks keep theirs."""
import json
import os
import shutil
import sys
import tempfile
import unittest

import numpy as np

from png_tools import read_png, write_png
from program import call, run


def pixels(path):
    width, height, channels, rows = read_png(path)
    return np.frombuffer(b"".join(rows), np.uint8).reshape(height, width, channels)


def picture(path, width, height, seed=0):
    """Soft waves, the same for a seed at any size."""
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x * (0.11 + 0.02 * c) + seed) * np.cos(y * 0.07 + c) for c in range(3)]
    values = np.stack([(wave * 100 + 128).astype(np.uint8) for wave in waves], axis=2)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_png(path, [row.tobytes() for row in values.reshape(height, -1)], 3)


class AnySize(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        os.chdir(cls.folder)
        draw = np.random.default_rng(1)
        np.save("train.npy", draw.integers(0, 256, (32, 3, 16, 16), np.uint8))
        common = ["--recipe", "none", "--data", "train.npy", "--width", 4, "--steps", 20, "--batch", 8, "--preview-every", 0, "--out", "runs"]
        run("train", "--net", "unet", "--levels", 2, *common)
        run("train", "--net", "res6", *common)
        cls.unet, cls.fixed = sorted("runs/" + name for name in os.listdir("runs"))
        for name, size in {"a/wide": (50, 37), "b/wide": (50, 37), "b/tall": (21, 70)}.items():
            picture(name + ".png", *size, seed=len(name))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def refused(self, pattern, *arguments):
        done = call(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, pattern)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_a_network_of_one_size_blends_tiles(self):
        """The middle of a picture that is one tile three times over, and every command on a picture of its own size."""
        said = run("denoise", "a/wide.png", "--model", self.fixed, "--tile", 16, "--out", "blended")
        self.assertNotRegex(said, "resized|padded|cropped")
        given, found = pixels("a/wide.png").astype(int), pixels("blended/wide.png").astype(int)
        self.assertEqual(given.shape, found.shape)
        self.assertLess(np.abs(found - given).mean(), 30)
        # By hand: the denoised tiles, weighed by squared ramps.
        starts = {37: [0, 7, 14, 21], 50: [0, 6, 13, 20, 27, 34]}
        ramp = np.minimum(np.arange(16) + 1, 16 - np.arange(16)).astype(float) ** 2
        weights = {size: np.zeros((len(at), size)) for size, at in starts.items()}
        for size, at in starts.items():
            for row, start in zip(weights[size], at):
                row[start:start + 16] = ramp
            weights[size] /= weights[size].sum(0)
        tiles = np.stack([given[y:y + 16, x:x + 16].transpose(2, 0, 1) for y in starts[37] for x in starts[50]]).astype(np.float32) / np.float32(255)
        np.save("tiles.npy", tiles)
        run("energy", "--model", self.fixed, "--data", "tiles.npy", "--gradient", "tile-gradient.npy", "--out", "tile-energy.npy")
        sigma0 = json.loads(run("describe", "--model", self.fixed, "--json"))["spec"]["sigma0"]
        clean, wanted = tiles - sigma0**2 * np.load("tile-gradient.npy"), np.zeros((3, 37, 50))
        for k, (y, x) in enumerate((y, x) for y in range(4) for x in range(6)):
            top, left = starts[37][y], starts[50][x]
            share = np.outer(weights[37][y, top:top + 16], weights[50][x, left:left + 16])
            wanted[:, top:top + 16, left:left + 16] += share * clean[k]
        wanted = np.clip(wanted, 0, 1).transpose(1, 2, 0) * 255
        self.assertLess(np.abs(found - wanted).max(), 0.6)
        run("inpaint", "a/wide.png", "--model", self.fixed, "--tile", 16, "--box", "20,10,8,9", "-n", 1, "--steps", 4, "--out", "blended-box")
        filled = pixels("blended-box/wide-1.png").astype(int)
        filled[10:19, 20:28] = given[10:19, 20:28]
        self.assertTrue(np.array_equal(filled, given))
        run("restore", "a/wide.png", "--model", self.fixed, "--tile", 16, "--task", "superres", "--steps", 4, "--out", "blended-large")
        self.assertEqual(pixels("blended-large/wide-1.png").shape, (74, 100, 3))

    def test_a_picture_is_denoised_as_it_is(self):
        said = run("denoise", "a/wide.png", "--model", self.unet, "--out", "clean")
        self.assertNotRegex(said, "resized|padded|cropped")
        run("energy", "--model", self.unet, "--data", "a", "--gradient", "gradient.npy", "--out", "energy.npy")
        gradient = np.load("gradient.npy")
        self.assertEqual(gradient.shape, (1, 3, 37, 50))
        given = pixels("a/wide.png").transpose(2, 0, 1).astype(np.float32) / np.float32(255)
        sigma0 = json.loads(run("describe", "--model", self.unet, "--json"))["spec"]["sigma0"]
        wanted = np.clip(given - np.float32(sigma0**2) * gradient[0], 0, 1)
        wanted = np.floor(wanted * 255 + 0.5).astype(int).transpose(1, 2, 0)
        found = pixels("clean/wide.png").astype(int)
        self.assertEqual(found.shape, (37, 50, 3))
        self.assertLessEqual(np.abs(found - wanted).max(), 1)
        self.assertLess((found != wanted).mean(), 1e-3)
        self.assertGreater((found != pixels("a/wide.png")).mean(), 0.5)

    def test_images_of_28_pixels_stay_so_for_a_model_of_such(self):
        np.save("small.npy", np.random.default_rng(2).integers(0, 256, (8, 3, 28, 28), np.uint8))
        run("train", "--net", "unet", "--levels", 2, "--data", "small.npy", "--pad", 0, "--width", 4, "--steps", 2, "--batch", 4,
            "--preview-every", 0, "--out", "small")
        for model, side in (("small/" + os.listdir("small")[0], 28), (self.unet, 32)):
            run("energy", "--model", model, "--data", "small.npy", "--gradient", "small-gradient.npy", "--out", "small-energy.npy")
            self.assertEqual(np.load("small-gradient.npy").shape, (8, 3, side, side))

    def test_tiles_change_nothing(self):
        for tile in (0, 44):
            run("energy", "--model", self.unet, "--data", "a", "--tile", tile, "--gradient", f"gradient{tile}.npy", "--out",
                f"energy{tile}.npy")
        np.testing.assert_allclose(np.load("energy44.npy"), np.load("energy0.npy"), rtol=1e-6)
        np.testing.assert_allclose(np.load("gradient44.npy"), np.load("gradient0.npy"), atol=1e-3)
        self.refused(r"--tile 30: .* sees 20 pixels", "denoise", "a", "--model", self.unet, "--out", "x", "--tile", 30)

    def test_pictures_of_several_sizes(self):
        run("denoise", "b", "--model", self.unet, "--out", "several", "--add-noise", 0.1)
        run("denoise", "b/tall.png", "--model", self.unet, "--out", "one", "--add-noise", 0.1)
        self.assertEqual(pixels("several/wide.png").shape, (37, 50, 3))
        np.testing.assert_array_equal(pixels("several/tall.png"), pixels("one/tall.png"))
        with open("several/denoise.json", encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["pictures"]), 2)

    def test_completions_and_restorations_keep_the_size(self):
        run("inpaint", "b", "--model", self.unet, "--box", "3,4,9,11", "-n", 2, "--steps", 5, "--out", "filled")
        given, found = pixels("b/tall.png"), pixels("filled/tall-2.png")
        known = np.ones(given.shape[:2], bool)
        known[4:15, 3:12] = False
        np.testing.assert_array_equal(found[known], given[known])
        self.assertTrue((found[~known] != given[~known]).any())
        run("restore", "b", "--model", self.unet, "--task", "superres", "--factor", 3, "--steps", 5, "--out", "larger")
        self.assertEqual(pixels("larger/tall-1.png").shape, (210, 63, 3))
        run("restore", "b", "--model", self.unet, "--task", "deblur", "--degrade", "--steps", 5, "--out", "sharper")
        self.assertEqual(pixels("sharper/wide-1.png").shape, (37, 50, 3))
        self.refused("--factor 2: images of 21x70", "restore", "b/tall.png", "--model", self.unet, "--task", "superres",
                     "--degrade", "--out", "y")

    def test_pictures_larger_than_the_training_are_completed_from_coarse_to_fine(self):
        """A hole in soft waves is filled with waves; at the picture's own scale the model paints what fills a picture of its training."""
        picture("c/waves.png", 96, 96)
        given = pixels("c/waves.png").astype(float)
        errors = {}
        for option in ("--coarse", "--no-coarse"):
            out = "scales" + option
            run("inpaint", "c/waves.png", "--model", "cifar10", "--box", "40,40,16,16", "-n", 2, "--out", out, option)
            found = [pixels(f"{out}/waves-{i}.png")[40:56, 40:56] for i in (1, 2)]
            errors[option] = np.sqrt(np.mean((np.array(found) - given[40:56, 40:56]) ** 2))
            with open(f"{out}/inpaint.json", encoding="utf-8") as file:
                self.assertEqual(json.load(file)["pictures"][0]["scales"], 2 if option == "--coarse" else 0)
        self.assertLess(errors["--coarse"], 30, errors)  # of 255, root mean square
        self.assertLess(errors["--coarse"], errors["--no-coarse"], errors)
        self.refused("--coarse has no meaning for --sampler annealed", "inpaint", "c/waves.png", "--model", self.unet, "--box", "1,1,4,4",
                     "--sampler", "annealed", "--coarse", "--out", "x")

    def test_large_pictures_in_windows(self):
        """Two boxes far apart are filled in by windows of their own, nearly as in the whole picture; what is known stays."""
        picture("large/waves.png", 340, 150, seed=3)
        given = pixels("large/waves.png")
        mask = np.zeros(given.shape[:2], np.uint8)
        mask[60:75, 30:50] = mask[80:90, 300:315] = 255
        write_png("mask.png", [row.tobytes() for row in mask], 1)
        fill = ["inpaint", "large/waves.png", "--model", self.unet, "--mask", "mask.png", "-n", 2, "--sampler", "annealed", "--steps", 40]
        run(*fill, "--window", 0, "--out", "whole")
        run(*fill, "--window", 140, "--out", "windows")
        for version in (1, 2):
            whole, found = pixels(f"whole/waves-{version}.png").astype(int), pixels(f"windows/waves-{version}.png").astype(int)
            np.testing.assert_array_equal(found[mask == 0], given[mask == 0])
            self.assertLessEqual(np.abs(found - whole).max(), 1)
            self.assertGreater(np.abs(found - given)[mask > 0].max(), 5)
        ratios = []
        for name in ("whole", "windows"):
            with open(f"{name}/inpaint.json", encoding="utf-8") as file:
                ratios.append(json.load(file)["pictures"][0]["psnr"])
        np.testing.assert_allclose(*ratios, atol=0.1)
        self.refused("--window 50: .* use 104", *fill, "--window", 50, "--out", "x")

    def test_large_pictures_are_enlarged_in_windows(self):
        enlarge = ["restore", "a/wide.png", "--model", self.unet, "--task", "superres"]
        said = run(*enlarge, "--window", 72, "--out", "large-windows", "--json")
        self.assertEqual(json.loads(said)["parameters"]["start"], "measured")
        given, found = pixels("a/wide.png").astype(int), pixels("large-windows/wide-1.png").astype(float)
        self.assertEqual(found.shape, (74, 100, 3))
        means = found.reshape(37, 2, 50, 2, 3).mean((1, 3))
        inside = (found > 0).all((2,)) & (found < 255).all((2,))  # values that were not cut off
        inside = inside.reshape(37, 2, 50, 2).all((1, 3))
        self.assertGreater(inside.mean(), 0.5)
        self.assertLessEqual(np.abs(means - given)[inside].max(), 0.51)
        run(*enlarge, "--window", 0, "--start", "measured", "--out", "large-whole")
        self.assertLess(np.abs(found - pixels("large-whole/wide-1.png")).mean(), 3)
        picture("even/even.png", 100, 74, seed=4)
        report = json.loads(run(*enlarge[:1], "even/even.png", *enlarge[2:], "--degrade",
                                "--window", 72, "--out", "large-degraded", "--json"))
        one = report["pictures"][0]
        self.assertGreater(one["psnr_before"], 10)
        self.assertEqual(len(one["psnr_after"]), 1)
        self.refused("--start has no meaning for --task missing", "restore", "a", "--model", self.unet, "--task", "missing", "--box", "1,1,2,2",
                     "--start", "noise", "--out", "x")

    def test_samples_of_any_size(self):
        draw = ["sample", "--model", self.unet, "-n", 3, "--sampler", "fast", "--steps", 5]
        run(*draw, "--size", "48x40", "--out", "samples")
        self.assertEqual(np.load("samples/samples.npy").shape, (3, 3, 40, 48))
        with open("samples/samples.json", encoding="utf-8") as file:
            self.assertEqual(json.load(file)["parameters"]["size"], "48x40")
        run(*draw, "--size", "48x40", "--batch", 1, "--out", "alone")
        np.testing.assert_array_equal(np.load("alone/samples.npy"), np.load("samples/samples.npy"))
        done = call(*draw, "--size", "40x48", "--out", "samples", "--resume")
        self.assertRegex(done.stderr, "48x40.* there, but .*40x48.* here")
        run(*draw, "--out", "own")
        self.assertEqual(np.load("own/samples.npy").shape, (3, 3, 16, 16))
        for size in ("48", "48x", "0x8", "48x40x3", "axb", "", "-4x8", "99999x8"):
            self.refused("size|pixels", *draw, f"--size={size}", "--out", "z")

    def test_the_papers_networks_have_one_size(self):
        said = run("denoise", "a/wide.png", "--model", self.fixed, "--out", "shrunk")
        self.assertIn("50x37, resized to 16x16", said)
        self.refused("res6 takes images of 16x16", "sample", "--model", self.fixed, "--size", "48x40", "--out", "q")
        self.refused("--tile is for models of --net unet", "energy", "--data", "train.npy", "--model", self.fixed, "--tile", 16)
        self.refused("--tile 64.*use --tile 16", "denoise", "a", "--model", self.fixed, "--tile", 64, "--out", "q")
        done = call("energy", "--model", self.fixed, "--data", "a")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "3x37x50.*do not fit a model for 3x16x16")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
