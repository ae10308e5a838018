"""Folders that commands go on with: two processes never work in one, kills leave nothing wrong behind, and what is
missing or changed is refused instead of replaced."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import formats
from program import ENVIRONMENT, MDSM, call, run


def content(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


class Folders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="mdsm_folders_")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.data = cls.images("images.npy", 37)
        cls.trained = cls.train("runs")
        cls.model = cls.trained + "/ema.safetensors"

    @classmethod
    def at(cls, *names):
        return os.path.join(cls.root, *names)

    @classmethod
    def images(cls, name, factor):
        pixels = [(i * factor % 101) / 100 for i in range(8 * 64)]
        with open(cls.at(name), "wb") as file:
            file.write(formats.npy((8, 1, 8, 8), formats.floats(pixels)))
        return cls.at(name)

    @classmethod
    def train(cls, outdir, *more):
        run("train", "--data", cls.data, "--net", "res6", "--width", 4, "--batch", 4, "--steps", 8, "--lr", "1e-3",
            "--save-every", 2, "--stats-every", 2, "--preview-every", 0, "--threads", 1, "--out", cls.at(outdir), *more)
        return glob.glob(cls.at(outdir, "*"))[0]

    def start(self, *arguments):
        process = subprocess.Popen([MDSM, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True, env=ENVIRONMENT)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def refused(self, words, *arguments):
        result = call(*arguments)
        self.assertEqual(result.returncode, 1, result.stderr + result.stdout)
        self.assertRegex(result.stderr, words)
        return result.stderr

    def wait_for(self, pattern, process):
        deadline = time.time() + 300  # the machine may be busy
        while not glob.glob(self.at(pattern)):
            self.assertIsNone(process.poll(), "it ended too early")
            self.assertLess(time.time(), deadline, f"no {pattern}")
            time.sleep(0.005)

    def ended(self, process, number=signal.SIGKILL):
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
        return errors

    # Two at once

    def sample(self, out, seeds, *more):
        return ["sample", "--model", self.model, "--seeds", seeds, "--batch", 1, "--sampler", "annealed", "--steps", 400,
                "--threads", 1, "--out", self.at(out), *more]

    def test_one_sampling_at_a_time(self):
        first = self.start(*self.sample("shared", "0-19"))
        self.wait_for("shared/parts/0*", first)
        for more in ("--resume", "--force"):
            self.refused("another process is drawing samples", *self.sample("shared", "100-101", more))
        self.assertIsNone(first.poll(), "it ended before the others were refused")
        self.ended(first)
        run(*self.sample("shared", "100-101", "--resume"))
        run(*self.sample("shared", "0-19", "--resume"))
        run(*self.sample("apart", "0-19,100-101"))
        for name in ("samples.npy", "samples-trace.npy"):
            self.assertEqual(content(self.at("shared"), name), content(self.at("apart"), name))
        self.assertEqual(sorted(os.listdir(self.at("shared"))), sorted(os.listdir(self.at("apart"))))

    def test_two_at_once_in_a_folder_that_is_new_to_both(self):
        ranges = {"0-9": list(range(10)), "100-109": list(range(100, 110))}
        for trial in range(6):
            out = f"new{trial}"
            both = {seeds: self.start(*self.sample(out, seeds)) for seeds in ranges}
            errors = {seeds: process.communicate(timeout=300)[1] for seeds, process in both.items()}
            done = [seeds for seeds, process in both.items() if process.returncode == 0]
            self.assertEqual(len(done), 1, errors)
            with open(self.at(out, "samples.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["seeds"], ranges[done[0]])
            refused = errors[next(seeds for seeds in ranges if seeds != done[0])]
            self.assertRegex(refused, "another process (is drawing|has written) samples|holds samples already")
            self.assertFalse({"parts", "lock"} & set(os.listdir(self.at(out))))

    def test_parts_without_their_options_are_refused(self):
        process = self.start(*self.sample("optionless", "0-19"))
        self.wait_for("optionless/parts/000001*", process)
        self.ended(process)
        os.remove(self.at("optionless/parts/run.json"))
        before = sorted(name for name in os.listdir(self.at("optionless/parts")) if ".tmp" not in name)
        self.refused("run.json", *self.sample("optionless", "0-19", "--resume"))
        self.refused("holds samples already", *self.sample("optionless", "0-19"))
        self.assertEqual(sorted(os.listdir(self.at("optionless/parts"))), before)

    def test_a_part_is_one_file(self):
        process = self.start(*self.sample("parts", "0-19"))
        self.wait_for("parts/parts/000001*", process)
        self.ended(process)
        names = {name.split(".tmp")[0] for name in os.listdir(self.at("parts/parts"))} - {"run.json"}
        self.assertEqual(len(names), len({name.split(".")[0] for name in names}), names)

    def test_one_likelihood_at_a_time(self):
        words = ["likelihood", "--model", self.model, "--data", self.data, "--chains", 3, "--pilot", 2, "--leapfrog", 3,
                 "--batch", 2, "--distributions", 2000, "--save-seconds", 0.5, "--out", self.at("like")]
        first = self.start(*words)
        self.wait_for("like/state.safetensors", first)
        for more in ("--resume", "--force"):
            self.refused("another process is computing a likelihood", *words, more)
        self.assertIsNone(first.poll(), "it ended before the others were refused")
        self.ended(first)
        run(*words, "--resume")
        self.assertEqual(sorted(os.listdir(self.at("like"))), ["likelihood.json", "likelihood.svg"])

    def test_temporary_files_of_a_killed_process(self):
        process = self.start(*self.sample("litter", "0-19"))
        self.wait_for("litter/parts/0*", process)
        self.ended(process)
        for name in ("litter/samples.npy.tmp77", "litter/parts/000001.safetensors.tmp77", "litter/grid.png.tmp1"):
            with open(self.at(name), "wb"):
                pass
        run(*self.sample("litter", "0-19", "--resume"))
        self.assertEqual([name for name in os.listdir(self.at("litter")) if ".tmp" in name or name == "lock"], [])

    # What a run goes on from

    def copy_of(self, run_folder, name):
        shutil.copytree(run_folder, self.at(name))
        return self.at(name)

    def unchanged_and_refused(self, folder, words, *more):
        """Refuses to go on, and leaves every file but the log as it was."""
        def state():
            return {name: content(folder, name) for name in os.listdir(folder) if name not in ("log.txt", "lock")}
        before = state()
        message = self.refused(words, "train", "--resume", folder, "--steps", 12, *more)
        self.assertEqual(state(), before)
        return message

    def test_a_run_without_its_state_is_not_started_again(self):
        folder = self.copy_of(self.trained, "no-state")
        os.remove(folder + "/state.safetensors")
        self.unchanged_and_refused(folder, "state.safetensors: missing.*rename state-earlier.safetensors")
        os.rename(folder + "/state-earlier.safetensors", self.at("kept"))
        self.unchanged_and_refused(folder, "trained for 8 steps")
        os.remove(folder + "/stats.jsonl")
        self.unchanged_and_refused(folder, "trained for 8 steps")
        # The earlier state leads to the same end.
        os.rename(self.at("kept"), folder + "/state.safetensors")
        run("train", "--resume", folder)
        self.assertEqual(content(folder, "weights.safetensors"), content(self.trained, "weights.safetensors"))

    def test_a_run_killed_before_its_first_checkpoint(self):
        """Weights of step 0 are all that such a run has; it starts again."""
        folder = self.train("early", "--stop-after", 1)
        shutil.copyfile(self.trained + "/weights.safetensors", self.at("weights"))
        for name in os.listdir(folder):
            if name not in ("options.json", "version.txt"):
                os.remove(os.path.join(folder, name))
        run("train", "--resume", folder)
        self.assertEqual(content(folder, "weights.safetensors"), content(self.trained, "weights.safetensors"))

    def test_a_flipped_bit(self):
        folder = self.copy_of(self.trained, "flipped")
        state = content(folder, "state.safetensors")
        for place in (9, 200, len(state) // 3, len(state) // 2, len(state) - 1):
            for bit in (0, 5):
                with self.subTest(place=place, bit=bit):
                    spoiled = bytearray(state)
                    spoiled[place] ^= 1 << bit
                    with open(folder + "/state.safetensors", "wb") as file:
                        file.write(spoiled)
                    message = self.unchanged_and_refused(folder, "not a usable training state")
                    self.assertIn("state-earlier.safetensors", message)

    def test_other_images_of_the_same_number(self):
        folder, kept = self.copy_of(self.trained, "swapped"), content(self.data)
        self.addCleanup(self.images, "images.npy", 37)
        self.images("images.npy", 41)
        self.unchanged_and_refused(folder, "other images than the run was started with")
        self.images("images.npy", 37)
        self.assertEqual(content(self.data), kept)
        run("train", "--resume", folder, "--steps", 12)

    def test_a_damaged_line_of_statistics(self):
        folder = self.copy_of(self.trained, "damaged-line")
        with open(folder + "/stats.jsonl", "ab") as file:
            file.write(b'[1]\n"text"\nnull\n{"step": {}}\n{"step": 1e300}\n\xff\xfe\n{"loss": 1}\n' + b"[" * 200000 + b"\n")
        run("train", "--resume", folder, "--steps", 12)
        for line in content(folder, "stats.jsonl").decode().splitlines():
            self.assertIsInstance(json.loads(line)["step"], int)

    # Signals and limits

    def test_a_lost_terminal(self):
        process = self.start("train", "--data", self.data, "--net", "res6", "--width", 4, "--batch", 4, "--steps", 100000,
                             "--save-every", 0, "--stats-every", 2, "--preview-every", 0, "--threads", 1, "--out", self.at("hangup"))
        self.wait_for("hangup/*/stats.jsonl", process)
        while not os.path.getsize(glob.glob(self.at("hangup/*/stats.jsonl"))[0]):
            time.sleep(0.01)
        errors = self.ended(process, signal.SIGHUP)
        self.assertEqual(process.returncode, 0, errors)
        self.assertRegex(errors, "stopped after step [1-9].*all is saved")

    def test_a_limit_on_the_size_of_files(self):
        command = [MDSM, "train", "--data", self.data, "--net", "res6", "--width", "4", "--batch", "4", "--steps", "2",
                   "--preview-every", "0", "--threads", "1", "--out", self.at("limited")]
        result = subprocess.run(["sh", "-c", 'ulimit -f 40; exec "$@"', "sh", *command], capture_output=True, text=True,
                                env=ENVIRONMENT, timeout=120, check=False)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, "safetensors: writing failed: File too large; .*ulimit")

    def test_a_run_that_cannot_begin_leaves_nothing(self):
        with open(MDSM, "rb") as program:
            if b"__tsan_init" in program.read():
                self.skipTest("the thread sanitizer writes a file before main(), which this limit ends")
        command = [MDSM, "train", "--data", self.data, "--net", "res6", "--width", "4", "--batch", "4", "--steps", "2",
                   "--preview-every", "0", "--threads", "1", "--out", self.at("deep", "unwritten")]
        for there in (False, True):
            if there:
                os.makedirs(self.at("deep", "unwritten"))
            result = subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *command], capture_output=True, text=True,
                                    env=ENVIRONMENT, timeout=120, check=False)
            self.assertEqual(result.returncode, 1, result)
            self.assertIn("options.json: writing failed", result.stderr)
            self.assertEqual(os.path.exists(self.at("deep")), there)
        self.assertEqual(os.listdir(self.at("deep", "unwritten")), [])

    def test_a_pipe_that_nobody_reads(self):
        """Training goes on without somebody who reads its lines; results that nobody gets are an error."""
        command = [MDSM, "train", "--data", self.data, "--net", "res6", "--width", "4", "--batch", "4", "--steps", "40",
                   "--stats-every", "1", "--preview-every", "0", "--threads", "1", "--out", self.at("piped")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=120), 0)
        self.assertTrue(glob.glob(self.at("piped/*/ema.safetensors")))
        reading, writing = os.pipe()
        os.close(reading)
        result = subprocess.run([MDSM, "describe", "--model", self.model], stdout=writing, stderr=subprocess.PIPE, text=True,
                                env=ENVIRONMENT, timeout=120, check=False)
        os.close(writing)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, "writing to standard output failed: Broken pipe")

    # Names that are not UTF-8

    def test_paths_that_are_not_utf8(self):
        odd = os.fsencode(self.root) + b"/\xff\xfe"
        os.makedirs(odd, exist_ok=True)
        shutil.copy(self.data, odd + b"/data.npy")
        shutil.copy(self.model, odd + b"/model.safetensors")

        def bytes_call(*arguments):
            return subprocess.run([MDSM.encode(), *arguments], capture_output=True, env=ENVIRONMENT, timeout=120, check=False)
        result = bytes_call(b"train", b"--data", odd + b"/data.npy", b"--net", b"res6", b"--width", b"4", b"--batch", b"4",
                            b"--steps", b"2", b"--out", self.at("odd-runs").encode())
        self.assertEqual((result.returncode, b"--data" in result.stderr, b"not UTF-8" in result.stderr), (2, True, True), result)
        self.assertFalse(os.path.exists(self.at("odd-runs")))
        for _ in range(2):
            result = bytes_call(b"sample", b"--model", odd + b"/model.safetensors", b"-n", b"2", b"--sampler", b"fast",
                                b"--steps", b"4", b"--resume", b"--out", odd + b"/out")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(b"json.exception", result.stderr)

    # Images that cannot be read

    def test_damaged_images(self):
        good = formats.png(8, 8)
        for i in range(6):
            with open(self.picture("some", i), "wb") as file:
                file.write(good if i not in (0, 3) else good[:40])
        message = self.refused("2 of 6 images cannot be read", "data", self.at("some"))
        for i in (0, 3):
            self.assertIn(f"{i}.png", message)
        result = call("data", self.at("some"), "--skip-damaged")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("4 images", result.stdout)
        for word in ("2 of 6", "left out", "0.png", "3.png"):
            self.assertIn(word, result.stderr)
        message = self.refused("2 of 6 pictures cannot be read", "denoise", self.at("some"), "--model", self.model, "--out",
                               self.at("denoised"))
        for i in (0, 3):
            self.assertIn(f"{i}.png", message)
        self.assertEqual(sorted(os.listdir(self.at("denoised"))),
                         ["1.png", "2.png", "4.png", "5.png", "denoise.json", "figure.png"])

    def test_many_damaged_images_are_all_named(self):
        for i in range(100, 140):
            with open(self.picture("many", i), "wb") as file:
                file.write(formats.png(8, 8) if i == 117 else b"no image")
        for options in ((), ("--skip-damaged",)):
            result = call("data", self.at("many"), *options)
            self.assertEqual(result.returncode, 0 if options else 1, result.stderr)
            for i in range(100, 140):
                self.assertEqual(f"{i}.png" in result.stderr, i != 117, i)
            self.assertIn("39 of 40", result.stderr.splitlines()[-1])

    def test_a_picture_of_other_colours_keeps_no_others_back(self):
        files = {"a": formats.png(8, 8), "b": formats.png(8, 8, 3), "c": formats.png(8, 8), "d": formats.png(8, 8)[:40]}
        for name, content_of_it in files.items():
            with open(self.picture("mixed", name), "wb") as file:
                file.write(content_of_it)
        for command, results, words in (("denoise", ["a.png", "c.png"], ()), ("inpaint", ["a-1.png", "c-1.png"], ("--box", "1,1,2,2", "-n", 1)),
                                        ("restore", ["a-1.png", "c-1.png"], ("--task", "superres", "--degrade", "-n", 1))):
            out = self.at("of-" + command)
            message = self.refused("2 of 4 pictures cannot be used", command, self.at("mixed"), "--model", self.model, "--out", out, *words)
            self.assertIn("b.png: 3 channels, but the model takes 1", message)
            self.assertIn("d.png: damaged PNG", message)
            self.assertEqual([one for one in sorted(os.listdir(out)) if one not in ("figure.png", command + ".json")], results)
        for name in "acd":
            os.remove(self.picture("mixed", name))
        for _ in range(2):
            result = call("denoise", self.at("mixed"), "--model", self.model, "--out", self.at("none"))
            self.assertEqual((result.returncode, os.path.exists(self.at("none"))), (2, False), result.stderr)
            self.assertIn("use --colour grey", result.stderr)
            shutil.copy(self.picture("mixed", "b"), self.picture("mixed", "e"))

    def picture(self, folder, number):
        os.makedirs(self.at(folder), exist_ok=True)
        return self.at(folder, f"{number}.png")

    # Words instead of silence

    def test_many_threads(self):
        result = call("energy", "--model", self.model, "--data", self.data, "--threads", 1000)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, "warning: --threads 1000")

    def test_a_noise_level_that_vanishes(self):
        result = call("train", "--data", self.data, "--net", "res6", "--width", 4, "--sigma0", "1e-320", "--dry-run")
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertRegex(result.stderr, "sigma0")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
