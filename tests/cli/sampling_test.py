"""Sampling, denoising, inpainting and restoring from the outside, with a tiny model that the program trains first:
the same seed gives the same files, hidden pixels are never read, what a signal interrupts can be gone on with."""
import glob
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import formats
from png_tools import chunks, png_text, read_png, write_png
from program import ENVIRONMENT, MDSM, run

SIZE = 16


def read_npy(path):
    with open(path, "rb") as file:
        content = file.read()
    assert content[:6] == b"\x93NUMPY"
    length, = struct.unpack_from("<H", content, 8)
    header = eval(content[10:10 + length], {"__builtins__": {}})
    assert header["descr"] == "<f4" and not header["fortran_order"]
    count = 1
    for extent in header["shape"]:
        count *= extent
    return header["shape"], struct.unpack(f"<{count}f", content[10 + length:])


def files(folder):
    """Relative path -> content of everything below the folder."""
    found = {}
    for path in glob.glob(folder + "/**", recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def draw_pictures(folder, count, width, height, channels=1, seed=0):
    draw = random.Random(seed)
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        left, top, value = draw.randrange(width // 2), draw.randrange(height // 2), draw.randrange(120, 256)
        rows = [[(value - 30 * c) if left <= x < left + width // 2 and top <= y < top + height // 2 else 5 * c
                 for x in range(width) for c in range(channels)] for y in range(height)]
        write_png(f"{folder}/{i}.png", rows, channels)


class Sampling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="mdsm_sampling_")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        draw_pictures(cls.at("pictures"), 6, SIZE, SIZE)
        draw_pictures(cls.at("colours"), 6, SIZE, SIZE, channels=3)
        for data, steps, top in (("pictures", 40, 3), ("colours", 4, 0.5)):
            run("train", "--data", cls.at(data), "--net", "res6", "--width", 4, "--batch", 6, "--steps", steps, "--lr",
                "3e-3", "--ema", 0.9, "--sigma-max", top, "--preview-every", 0, "--threads", 1, "--out", cls.at("run-" + data))
        cls.model, cls.colour_model = (glob.glob(cls.at(f"run-{name}/*/ema.safetensors"))[0]
                                       for name in ("pictures", "colours"))

    @classmethod
    def at(cls, *names):
        return os.path.join(cls.root, *names)

    # What a model file says about sampling

    def with_sampling(self, name, text):
        """The model, with this as "sampling" in its metadata."""
        return self.with_metadata(self.model, name, sampling=text)

    def with_metadata(self, source, name, **entries):
        with open(source, "rb") as file:
            content = file.read()
        length, = struct.unpack_from("<Q", content)
        head = json.loads(content[8:8 + length])
        head["__metadata__"].update(entries)
        written = json.dumps(head).encode()
        with open(self.at(name), "wb") as file:
            file.write(struct.pack("<Q", len(written)) + written + content[8 + length:])
        return self.at(name)

    def test_the_models_own_settings(self):
        own, out = self.at("own.safetensors"), self.at("own-settings")
        run("export", self.model, own, "--sampling", "hot=2,steps=4,churn=1.5")
        run("sample", "--model", own, "-n", 1, "--out", out)
        run("sample", "--model", self.model, "-n", 1, "--hot", 2, "--steps", 4, "--churn", 1.5, "--out", out + "-given")
        self.assertEqual(files(out)["samples.npy"], files(out + "-given")["samples.npy"])
        for named, more in (("odd", []), ("odd-own", ["--sampling", "hot=2,steps=4,churn=1.5"])):  # a file that says nonsense of it
            run("export", self.with_sampling("nonsense.safetensors", "[3]"), self.at(named + ".safetensors"), *more)
            run("sample", "--model", self.at(named + ".safetensors"), "-n", 1, "--out", self.at(named))
        self.assertEqual(files(out)["samples.npy"], files(self.at("odd-own"))["samples.npy"])
        run("sample", "--model", own, "-n", 1, "--steps", 5, "--out", out + "-more")
        self.assertNotEqual(files(out)["samples.npy"], files(out + "-more")["samples.npy"])

    def test_a_guide(self):
        """--guide changes the samples, is noted in the folder, and can be a model file's own."""
        def draw(name, *words, model=self.model):
            out = self.at("guide-" + name)
            run("sample", "--model", model, "-n", 3, "--steps", 6, "--hot", 1, *words, "--out", out)
            with open(out + "/samples.json") as file:
                return files(out)["samples.npy"], json.load(file)["parameters"]
        weak = self.at("guide-weak.safetensors")
        run("export", glob.glob(self.at("run-pictures/*/weights.safetensors"))[0], weak)
        alone, parameters = draw("alone")
        self.assertFalse([name for name in parameters if name.startswith("guid")])
        guided, parameters = draw("given", "--guide", weak, "--guidance", 2)
        self.assertNotEqual(alone, guided)
        self.assertEqual((parameters["guide"], parameters["guidance"]), (weak, 2))
        self.assertIn("guide-hash", parameters)
        self.assertEqual(draw("below", "--guide", weak, "--guidance-min", 0, "--guidance-max", 0.01)[0], alone)
        own = self.at("own-guide.safetensors")
        run("export", self.model, own, "--sampling", "guide=weak,guidance=2")
        refused = subprocess.run([MDSM, "sample", "--model", own, "-n", "1", "--out", self.at("no-guide")], capture_output=True, text=True, env=ENVIRONMENT)
        self.assertEqual(refused.returncode, 1)
        self.assertRegex(refused.stderr, "the model's guide weak is not among .*--guidance 0")
        self.assertEqual(draw("without", "--guidance", 0, model=own)[0], alone)
        folder = self.at("models-with-a-guide")
        os.makedirs(folder)
        shutil.copy(weak, folder + "/weak.safetensors")
        out = self.at("guide-own")
        subprocess.run([MDSM, "sample", "--model", own, "-n", "3", "--steps", "6", "--hot", "1", "--out", out, "--quiet"], check=True,
                       env={**ENVIRONMENT, "MDSM_MODELS": folder}, stdout=subprocess.DEVNULL)
        self.assertEqual(files(out)["samples.npy"], guided)
        refused = subprocess.run([MDSM, "sample", "--model", self.model, "--guide", self.colour_model, "-n", "1", "--out",
                                  self.at("colour-guide")], capture_output=True, text=True, env=ENVIRONMENT)
        self.assertRegex(refused.stderr, "^mdsm: error: the guide .* has images of shape .*same images$")
        self.assertEqual(refused.returncode, 1)

    def classifier(self, name, *words):
        """A classifier of two kinds of small images: bright above, and bright below."""
        for kind in ("above", "below"):
            os.makedirs(self.at("kinds", kind), exist_ok=True)
            for i in range(24):
                shade = 120 + 5 * i
                write_png(self.at("kinds", kind, f"{i}.png"),
                          [[shade if (y < SIZE // 2) == (kind == "above") else 5] * SIZE for y in range(SIZE)], 1)
        path = self.at(name + ".safetensors")
        run("classifier", "--data", self.at("kinds"), "--width", 4, "--hidden", 8, "--epochs", 20, "--batch", 16, "--hold-out", 0,
            "--shift", 0, "--lr", "1e-2", "--out", path, *words)
        return path

    def test_classes(self):
        """--classes says what images show, seed by seed, is noted, and is the same however it is drawn."""
        knows = self.classifier("knows", "--sigma-max", 2)
        run("train", "--data", self.at("kinds"), "--net", "res6", "--width", 4, "--batch", 6, "--steps", 150, "--lr", "3e-3", "--ema", 0.9,
            "--sigma-max", 3, "--preview-every", 0, "--threads", 1, "--out", self.at("run-kinds"))
        model = glob.glob(self.at("run-kinds/*/ema.safetensors"))[0]
        by = ["--model", model, "--class-by", knows, "--class-weight", 100]

        def draw(name, *words):
            out = self.at("class-" + name)
            run("sample", *by, *words, "--out", out)
            with open(out + "/samples.json") as file:
                return files(out)["samples.npy"], read_npy(out + "/samples.npy")[1], json.load(file)

        def above(pixels, i):
            image = pixels[i * SIZE * SIZE:(i + 1) * SIZE * SIZE]
            return sum(image[:len(image) // 2]) > sum(image[len(image) // 2:])
        raw, pixels, noted = draw("all", "--classes", "all", "-n", 20)
        self.assertGreaterEqual(sum(above(pixels, i) == (i % 2 == 0) for i in range(20)), 18)
        self.assertEqual(noted["summary"]["classes"], ["above", "below"])
        self.assertEqual((noted["parameters"]["classes"], noted["parameters"]["class-by"]), ("all", knows))
        self.assertIn("class-hash", noted["parameters"])
        width, _, _, _ = read_png(self.at("class-all", "grid.png"))
        self.assertLess(width, 3 * 2 * (SIZE + 2))  # a column for each class
        self.assertEqual(draw("batch", "--classes", "all", "-n", 20, "--batch", 3, "--threads", 2)[0], raw)
        below = draw("below", "--classes", "below", "-n", 10)[1]
        self.assertGreaterEqual(sum(not above(below, i) for i in range(10)), 9)
        # Part of it, the rest later; another class in the same folder is refused.
        half = self.at("class-half")
        run("sample", *by, "--classes", "all", "-n", 7, "--out", half)
        run("sample", *by, "--classes", "all", "-n", 20, "--resume", "--out", half)
        self.assertEqual(files(half)["samples.npy"], raw)
        for words, message in ((["--classes", "below"], "classes is .all. there, but .below. here"),
                               ([], "--class-by, but no classes"), (["--classes", "beside"], "knows no 'beside'; use all, or some of above,below"),
                               (["--classes", ""], "--class-by, but no classes|--classes is empty"), (["--classes", "above,"], "knows no ''")):
            refused = subprocess.run([MDSM, "sample", *map(str, by), *words, "--resume", "--out", half], capture_output=True, text=True,
                                     env=ENVIRONMENT)
            self.assertRegex(refused.stderr, message)
            self.assertIn(refused.returncode, (1, 2))
            self.assertEqual(refused.stderr.count("\n"), 1)
        # Without one that knows noise, or that fits.
        plain = self.classifier("plain")
        for words, message in ((["--class-by", plain], "was trained without noise"), ([], "no classifier that knows them"),
                               (["--class-by", "nobody"], "nobody: no such classifier"), (["--class-by", self.model], "not a classifier"),
                               (["--class-by", knows, "--model", self.colour_model], "the classifier .* knows images of shape"),
                               (["--class-by", knows, "--class-min", "2"], "--class-min 2 is above --class-max")):
            refused = subprocess.run([MDSM, "sample", "--model", self.model, "--classes", "above", "-n", "1", *words, "--out", self.at("none")],
                                     capture_output=True, text=True, env=ENVIRONMENT)
            self.assertRegex(refused.stderr, message)
            self.assertIn(refused.returncode, (1, 2))
            self.assertFalse(os.path.exists(self.at("none")))
        # The names count as much as the weights, and the noise it knows, and what a terminal would take for orders.
        renamed = self.with_metadata(knows, "renamed.safetensors", classes='["below", "above"]')
        half = self.at("class-renamed")
        shutil.copy(knows, self.at("changes.safetensors"))
        again = ["sample", "--model", model, "--class-by", self.at("changes.safetensors"), "--classes", "all", "--out", half, "-n"]
        run(*again, 1)
        shutil.copy(renamed, self.at("changes.safetensors"))
        info = json.dumps({"trained": {"sigma-max": 0.5}})
        for words, message in (([*again, 2, "--resume"], "class-hash is"),
                               ([*again[:-3], "--out", self.at("none"), "-n", 1, "--class-by",
                                 self.with_metadata(knows, "little.safetensors", info=info)], "knows noise up to 0.5, and --class-max is 1.5"),
                               ([*again[:-3], "--out", self.at("none"), "-n", 1, "--class-by",
                                 self.with_metadata(knows, "orders.safetensors", classes=json.dumps(["a\x1b[31m", "b"]))], "control characters")):
            refused = subprocess.run([MDSM, *map(str, words)], capture_output=True, text=True, env=ENVIRONMENT)
            self.assertRegex(refused.stderr, message)
            self.assertIn(refused.returncode, (1, 2))
        # evaluate --checkpoints draws as sample does.
        def fid(*words):
            report = run("evaluate", "--data", self.at("kinds"), "--no-real", "--classifier", knows, "--json", *words)
            return re.findall(r'"fid": *({[^}]*}|[-0-9.e]+)', re.sub(r"\s+", " ", report))
        folder = os.path.dirname(model)
        for name in glob.glob(folder + "/ema-*"):
            os.remove(name)
        drawn = ["--checkpoints", folder, "-n", 20, "--class-by", knows, "--class-weight", 100, "--classes"]
        self.assertEqual(len(fid(*drawn, "all")), 1)
        self.assertEqual(fid(*drawn, "all"), fid("--samples", self.at("class-all")))
        self.assertNotEqual(fid(*drawn, "above"), fid(*drawn, "all"))
        # A model file can name a bundled one, which only --classes asks for.
        own = self.at("own-classes.safetensors")
        run("export", model, own, "--sampling", "class-by=kinds,class-weight=100")
        os.makedirs(self.at("models-with-classes"))
        shutil.copy(knows, self.at("models-with-classes", "classifier-kinds.safetensors"))
        out = self.at("class-own")
        subprocess.run([MDSM, "sample", "--model", own, "-n", "20", "--classes", "all", "--out", out, "--quiet"], check=True,
                       env={**ENVIRONMENT, "MDSM_MODELS": self.at("models-with-classes")}, stdout=subprocess.DEVNULL)
        self.assertEqual(files(out)["samples.npy"], raw)
        empty = subprocess.run([MDSM, "sample", "--model", own, "-n", "1", "--classes", "", "--out", self.at("none")], capture_output=True,
                               text=True, env=ENVIRONMENT)
        self.assertEqual((empty.returncode, "--classes is empty" in empty.stderr), (2, True), empty)
        run("sample", "--model", own, "-n", 1, "--out", self.at("class-none"))
        with open(self.at("class-none", "samples.json")) as file:
            self.assertFalse([name for name in json.load(file)["parameters"] if name.startswith("class")])

    # One seed, one image: any batch, any number of threads

    def check_same(self, command, name, ways):
        """All ways of running the command give the same files."""
        results = []
        for i, way in enumerate(ways):
            out = self.at(f"same-{name}-{i}")
            run(*command, *way, "--out", out)
            results.append(files(out))
            shutil.rmtree(out)
        self.assertGreater(len(results[0]), 2)
        for way, result in zip(ways, results):
            self.assertEqual(result.keys(), results[0].keys())
            for file in result:
                self.assertEqual(result[file], results[0][file], f"{name}: {file} differs with {way}")

    def test_batch_and_threads_make_no_difference(self):
        all_ways = [("--batch", batch, "--threads", threads) for batch in (1, 7, 64) for threads in (1, 2)]
        for sampler, count, each in (("annealed --steps 27", 64, []), ("fast --steps 30", 64, ["--each"]),
                                     ("langevin --steps 12", 9, []), ("mala --steps 10", 9, []),
                                     ("hmc --steps 6 --leapfrog 3", 9, []), ("ode --steps 5", 9, []),
                                     ("hmc --steps 6 --leapfrog 2 --schedule constant", 9, [])):
            with self.subTest(sampler):
                command = ["sample", "--model", self.model, "-n", count, *each, "--sampler", *sampler.split()]
                self.check_same(command, sampler.replace(" ", "_"), all_ways if count == 64 else all_ways[1:5])
        ways = all_ways[1:4]
        for command in ("denoise --add-noise 0.3", "inpaint --box 3,3,8,8 -n 3 --steps 20",
                        "inpaint --random-missing 0.5 -n 3 --sampler annealed --steps 27",
                        "restore --task superres --degrade -n 3 --steps 20", "restore --task deblur --degrade --steps 20"):
            with self.subTest(command):
                words = command.split()
                command = [words[0], self.at("pictures"), "--model", self.model, *words[1:]]
                self.check_same(command, words[0], ways)

    def test_a_wider_network(self):
        # Other widths and sizes take other kernels.
        draw_pictures(self.at("large"), 4, 32, 32)
        run("train", "--data", self.at("large"), "--net", "res12", "--width", 16, "--batch", 4, "--steps", 2,
            "--preview-every", 0, "--out", self.at("run-large"))
        model = glob.glob(self.at("run-large/*/ema.safetensors"))[0]
        ways = [("--batch", batch, "--threads", threads) for batch in (1, 7, 64) for threads in (1, 2)]
        self.check_same(["sample", "--model", model, "-n", 10, "--sampler", "fast", "--steps", 5], "wide", ways)

    def test_place_and_order_make_no_difference(self):
        first, second = self.at("order-1"), self.at("order-2")
        options = ["sample", "--model", self.model, "--sampler", "fast", "--steps", 20]
        run(*options, "--seeds", "0-9,42", "--out", first)
        run(*options, "--seeds", "42,3", "--out", second)
        shape, values = read_npy(first + "/samples.npy")
        self.assertEqual(shape, (11, 1, SIZE, SIZE))
        self.assertTrue(all(0 <= value <= 1 for value in values))
        per_image = SIZE * SIZE
        _, other = read_npy(second + "/samples.npy")
        self.assertEqual(other[:per_image], values[10 * per_image:])
        self.assertEqual(other[per_image:], values[3 * per_image:4 * per_image])
        self.assertNotEqual(other[:per_image], other[per_image:])

    # What is written

    def test_outputs_of_sample(self):
        out = self.at("outputs")
        text = run("sample", "--model", self.model, "-n", 9, "--sampler", "hmc", "--schedule", "constant", "--steps", 20,
                   "--each", "--trajectory", "--out", out, "--json")
        found = json.loads(text)
        self.assertEqual((found["n"], found["steps"], found["drawn"]), (9, 20, 9))
        self.assertEqual(found["gradient_evaluations"], 9 * (20 * 10 + 1))
        for key in ("acceptance", "r_hat", "ess", "step_size"):
            self.assertGreater(found[key], 0, key)
        self.assertEqual(len(glob.glob(out + "/images/*.png")), 9)
        self.assertFalse(os.path.exists(out + "/parts"))
        _, values = read_npy(out + "/samples.npy")
        width, height, _, rows = read_png(out + "/images/000004.png")
        self.assertEqual((width, height), (SIZE, SIZE))
        expected = [int(value * 255 + 0.5) for value in values[4 * SIZE * SIZE:5 * SIZE * SIZE]]
        self.assertEqual(list(b"".join(rows)), expected)
        parameters = json.loads(png_text(out + "/grid.png")["mdsm"])
        self.assertEqual(parameters["sampler"], "hmc")
        self.assertEqual((parameters["steps"], parameters["leapfrog"], parameters["model"]), (20, 10, self.model))
        self.assertEqual(png_text(out + "/grid.png")["Seeds"], "0-8")
        self.assertEqual(png_text(out + "/images/000004.png")["Seeds"], "4")
        # 3 x 3 images of 16 pixels drawn twice as large, 2 pixels apart
        self.assertEqual(read_png(out + "/grid.png")[:2], (3 * 32 + 4, 3 * 32 + 4))
        with open(out + "/trace.svg", encoding="utf8") as file:
            plot = file.read()
        for word in ("<svg", "energy", "temperature", "noise level", "step"):
            self.assertIn(word, plot)
        # 8 samples, 2 rows each, 12 steps
        self.assertEqual(read_png(out + "/trajectory.png")[:2], (12 * 34 - 2, 16 * 34 - 2))
        with open(out + "/animation.png", "rb") as file:
            animation = chunks(file.read())
        count, = struct.unpack_from(">I", dict(animation)[b"acTL"])
        self.assertEqual(count, sum(kind == b"fcTL" for kind, _ in animation))
        self.assertGreater(count, 20)

    def test_default_sampler(self):
        found = json.loads(run("sample", "--model", self.model, "-n", 2, "--out", self.at("default"), "--json"))
        self.assertEqual(found["sampler"], "multistep")
        self.assertEqual(found["gradient_evaluations_per_sample"], 35)

    def test_schedules(self):
        with open(self.at("temperatures.txt"), "w", encoding="utf8") as file:
            file.write("# two hot steps\n50 50\n5, 1\n0\n")
        for words, steps in (("--schedule linear --steps 27", 27), ("--schedule exp --steps-hot 2 --steps-cool 3 "
                             "--steps-end 1", 6), ("--schedule constant --temperature 2 --steps 7", 7),
                             ("--schedule " + self.at("temperatures.txt"), 5), ("--no-jump --steps 5", 5)):
            with self.subTest(words):
                out = self.at("schedule")
                found = json.loads(run("sample", "--model", self.model, "-n", 2, "--sampler", "annealed", *words.split(), "--out", out,
                                       "--json"))
                self.assertEqual(found["steps"], steps)
                self.assertEqual(found["gradient_evaluations_per_sample"], steps + 1)
                cooling = "linear" in words  # the others have too few temperatures, or one
                self.assertEqual("energy_against_temperature" in found, cooling)
                self.assertEqual(os.path.exists(out + "/energy.svg"), cooling)
                shutil.rmtree(out)

    def test_the_start_is_as_noisy_as_the_training(self):
        for model, words, expected in ((self.model, "", 3), (self.colour_model, "", 0.5),
                                       (self.colour_model, "--sigma-max 0.7", 0.7)):
            for sampler in ("fast", "multistep", "ode"):
                with self.subTest(f"{sampler} {expected}"):
                    out = self.at(f"{sampler}-{expected}")
                    run("sample", "--model", model, "-n", 2, "--sampler", sampler, "--steps", 2, *words.split(), "--out",
                        out)
                    self.assertEqual(json.loads(files(out)["samples.json"])["parameters"]["sigma-max"], expected)

    # Going on

    def options(self, out):
        return ["sample", "--model", self.model, "-n", 40, "--batch", 3, "--sampler", "annealed", "--steps", 200,
                "--threads", 1, "--out", out]

    def interrupted(self, number):
        """Ends the program after its first batches with the signal, goes on, and returns the files."""
        out = self.at(f"signal-{number}")
        process = subprocess.Popen([MDSM, *map(str, self.options(out))], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=ENVIRONMENT)
        deadline = time.time() + 60
        while len(glob.glob(out + "/parts/0*.safetensors")) < 2 and time.time() < deadline and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        self.assertFalse(os.path.exists(out + "/samples.npy"), "it had finished before the signal came")
        done = len(glob.glob(out + "/parts/0*.safetensors"))
        self.assertGreaterEqual(done, 2)
        if number == signal.SIGINT:
            self.assertEqual(process.returncode, 1)
            self.assertRegex(errors.decode(), rf"stopped; {3 * done} of 40 samples are kept.*--resume")
        result = json.loads(run(*self.options(out), "--resume", "--json"))
        self.assertEqual(result["drawn"], 40 - 3 * done)
        return files(out)

    def test_signals(self):
        whole = self.at("whole")
        run(*self.options(whole))
        expected = files(whole)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                self.assertEqual(self.interrupted(number), expected)

    def test_a_signal_ends_completions(self):
        out = self.at("signal-inpaint")
        command = ["inpaint", self.at("pictures"), "--model", self.model, "--box", "2,2,9,9", "-n", 200, "--batch", 2,
                   "--sampler", "annealed", "--steps", 300, "--threads", 1, "--out", out]
        process = subprocess.Popen([MDSM, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=ENVIRONMENT)
        deadline = time.time() + 60
        while len(glob.glob(out + "/*.png")) < 3 and time.time() < deadline and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        done = len(glob.glob(out + "/*.png"))
        self.assertRegex(errors.decode(), rf"stopped after {done} of 1200 completions")

    def test_resume_with_more_seeds(self):
        out, whole = self.at("more"), self.at("more-whole")
        options = ["sample", "--model", self.model, "--sampler", "fast", "--steps", 20]
        run(*options, "--seeds", "4-7", "--out", out)
        self.assertEqual(json.loads(run(*options, "--seeds", "0-9", "--out", out, "--resume", "--json"))["drawn"], 6)
        run(*options, "--seeds", "0-9", "--out", whole)
        self.assertEqual(files(out), files(whole))
        before = files(out)
        self.assertEqual(json.loads(run(*options, "-n", 10, "--out", out, "--resume", "--json"))["drawn"], 0)
        self.assertEqual(files(out), before)
        run(*options, "-n", 3, "--out", out, "--force")
        self.assertEqual(read_npy(out + "/samples.npy")[0][0], 3)

    # Pictures

    def test_hidden_pixels_are_never_read(self):
        for size, model, channels, more in (((SIZE, SIZE), self.model, 1, []), ((SIZE, SIZE), self.colour_model, 3, []),
                                            ((40, 24), self.model, 1, []), ((30, 30), self.model, 1, ["--crop", 20]),
                                            ((9, 12), self.model, 1, [])):
            width, height = size
            draw = random.Random(width)
            rows = [[draw.randrange(256) for _ in range(width * channels)] for _ in range(height)]
            box = (width // 2 - 2, height // 2 - 3, 4, 5)
            mask = [[255 if box[0] <= x < box[0] + box[2] and box[1] <= y < box[1] + box[3] else 0 for x in range(width)]
                    for y in range(height)]
            write_png(self.at("mask.png"), mask)
            hide = (["--box", ",".join(map(str, box))], ["--mask", self.at("mask.png")])
            for how in hide:
                for sampler in ("fast", "annealed"):
                    with self.subTest(f"{size} {more} {how[0]} {sampler}"):
                        self.check_hidden(rows, mask, channels, model, [*how, *more, "--sampler", sampler])

    def check_hidden(self, rows, mask, channels, model, options):
        results = []
        draw = random.Random(5)
        for version in range(2):
            if version == 1:
                rows = [[draw.randrange(256) if mask[y][x // channels] else row[x] for x in range(len(row))]
                        for y, row in enumerate(rows)]
            write_png(self.at("hide.png"), rows, channels)
            out = self.at("hidden")
            run("inpaint", self.at("hide.png"), "--model", model, "-n", 2, "--steps", 27, "--out", out, *options)
            results.append({name: content for name, content in files(out).items() if name.startswith("hide-")})
            for name in results[-1]:
                _, _, _, found = read_png(os.path.join(out, name))
                for y, row in enumerate(rows):
                    for x, value in enumerate(row):
                        if not mask[y][x // channels]:
                            self.assertEqual(found[y][x], value, f"known pixel {x},{y} of {name}")
            shutil.rmtree(out)
        self.assertEqual(sorted(results[0]), ["hide-1.png", "hide-2.png"])
        self.assertNotEqual(results[0]["hide-1.png"], results[0]["hide-2.png"])
        self.assertEqual(results[0], results[1])

    def test_float_arrays_reach_the_network_unrounded(self):
        draw = random.Random(3)
        levels = [draw.randrange(255) for _ in range(SIZE * SIZE)]
        reported = {}
        for name, between in (("float", 0.49), ("rounded", 0)):  # 0.49 of a grey level would be rounded away
            with open(self.at(name + ".npy"), "wb") as file:
                file.write(formats.npy((1, SIZE, SIZE), formats.floats([(k + between) / 255 for k in levels])))
            run("denoise", "--data", self.at(name + ".npy"), "--model", self.model, "--out", self.at("of-" + name))
            run("energy", "--data", self.at(name + ".npy"), "--model", self.model, "--gradient", self.at("g.npy"))
            level = json.loads(files(self.at("of-" + name))["denoise.json"])["pictures"][0]["noise_level"]
            gradient = read_npy(self.at("g.npy"))[1]  # of the array as it is
            wanted = 0.1**2 * (sum(g * g for g in gradient) / SIZE**2)**0.5
            self.assertAlmostEqual(level / wanted, 1, delta=1e-6, msg=name)
            reported[name] = level
        self.assertGreater(abs(reported["float"] / reported["rounded"] - 1), 1e-5)

    def test_denoise(self):
        out = self.at("denoised")
        text = run("denoise", self.at("pictures"), "--model", self.model, "--add-noise", 0.5, "--out", out)
        self.assertRegex(text, r"PSNR noisy +median +Gaussian +denoised\n")
        self.assertRegex(text, r"mean of 6( +[0-9.]+){5}\n")
        self.assertIn("chosen by looking at the truth", text)
        report = json.loads(files(out)["denoise.json"])
        self.assertEqual(len(report["pictures"]), 6)
        for picture in report["pictures"]:
            self.assertAlmostEqual(picture["psnr_before_unclamped"], 6.02, delta=1)  # -20 log10(0.5)
            for better in ("psnr_before", "psnr_median", "psnr_gaussian", "psnr_after"):
                self.assertGreater(picture[better], picture["psnr_before_unclamped"] + 1, better)
            self.assertGreater(picture["noise_level"], 0.1)
        self.assertEqual(sorted(files(out)), sorted([f"{i}.png" for i in range(6)] + ["denoise.json", "figure.png"]))
        summary = report["summary"]
        for key in ("noise_level", "psnr_before", "psnr_median", "psnr_gaussian", "psnr_after"):
            self.assertAlmostEqual(summary[key], sum(picture[key] for picture in report["pictures"]) / 6, places=9)
        self.assertIn(summary["median_size"], (3, 5))
        self.assertGreater(summary["gaussian_width"], 0)
        self.assertEqual(read_png(out + "/figure.png")[:2], (6 * 34 - 2, 5 * 34 - 2))
        self.assertEqual(png_text(out + "/figure.png")["Rows"], "clean, noisy, median, Gaussian, denoised")

    def test_folder_in_folder_out(self):
        draw_pictures(self.at("tree/deep/er"), 2, 50, 20)
        draw_pictures(self.at("tree"), 1, 20, 50)
        out = self.at("tree-out")
        run("denoise", self.at("tree"), "--model", self.model, "--steps", 3, "--out", out)
        self.assertEqual(read_png(out + "/deep/er/1.png")[:3], (50, 20, 1))
        self.assertEqual(read_png(out + "/0.png")[:3], (20, 50, 1))
        draw_pictures(self.at("rgb"), 1, 20, 20, channels=3)
        run("denoise", self.at("rgb/0.png"), "--model", self.model, "--colour", "grey", "--crop", 10, "--out",
            self.at("rgb-out"))
        width, height, channels, rows = read_png(self.at("rgb-out/0.png"))
        self.assertEqual((width, height, channels), (20, 20, 1))
        _, _, _, given = read_png(self.at("rgb/0.png"))
        # Outside the crop the picture stays, in the model's colours.
        r, g, b = given[0][0:3]
        self.assertEqual(rows[0][0], (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16)

    def test_restore(self):
        out = self.at("restored")
        run("restore", self.at("pictures"), "--model", self.model, "--task", "superres", "--degrade", "--out", out)
        report = json.loads(files(out)["restore.json"])
        self.assertEqual(len(report["pictures"]), 6)
        self.assertTrue(all(len(picture["psnr_after"]) == 1 for picture in report["pictures"]))
        rows = [[100 + 3 * x + 2 * y for x in range(SIZE // 2)] for y in range(SIZE // 2)]
        write_png(self.at("small.png"), rows)
        # The model is hardly trained and does not remove noise: with hot steps everything would end clamped.
        run("restore", self.at("small.png"), "--model", self.model, "--task", "superres", "--sigma-max", 1, "--h0", 0.02,
            "--beta", 0.1, "--hot", 0, "--out", self.at("enlarged"))
        width, height, _, found = read_png(self.at("enlarged/small-1.png"))
        self.assertEqual((width, height), (SIZE, SIZE))
        # Every block has the mean that was measured, up to 8-bit rounding; one that was clamped need not.
        whole = 0
        for y in range(SIZE // 2):
            for x in range(SIZE // 2):
                block = [found[2 * y + i][2 * x + k] for i in (0, 1) for k in (0, 1)]
                if 0 < min(block) and max(block) < 255:
                    whole += 1
                    self.assertAlmostEqual(sum(block) / 4, rows[y][x], delta=0.6)
        self.assertGreater(whole, SIZE)
        run("restore", self.at("pictures"), "--model", self.model, "--task", "deblur", "--kernel", "gaussian:1",
            "--degrade", "--out", self.at("deblurred"))
        kernel = formats.npy((3, 3), formats.floats([0, 1, 0, 1, 4, 1, 0, 1, 0]))
        with open(self.at("kernel.npy"), "wb") as file:
            file.write(kernel)
        run("restore", self.at("pictures"), "--model", self.model, "--task", "deblur", "--kernel", self.at("kernel.npy"),
            "--out", self.at("deblurred-2"))
        run("restore", self.at("pictures"), "--model", self.model, "--task", "missing", "--random-missing", 0.5, "--out",
            self.at("completed"))
        self.assertEqual(len(glob.glob(self.at("completed/?-1.png"))), 6)

    def test_nothing_is_replaced_without_force(self):
        for words in (["sample", "-n", 2, "--sampler", "fast", "--steps", 5], ["denoise", self.at("pictures")],
                      ["inpaint", self.at("pictures"), "--box", "1,1,4,4"]):
            out = self.at("kept-" + words[0])
            command = [MDSM, *map(str, words), "--model", self.model, "--out", out]
            run(*command[1:])
            before = files(out)
            result = subprocess.run(command, capture_output=True, env=ENVIRONMENT)
            self.assertEqual(result.returncode, 1)
            self.assertIn(b"--force", result.stderr)
            self.assertEqual(files(out), before)
            run(*command[1:], "--force")
            self.assertEqual(files(out), before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
