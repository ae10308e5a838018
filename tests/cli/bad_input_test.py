"""Bad input gives one clear line and the right exit code, never a crash, and leaves good files as they were.

The table is in bad_input_rows.py, the files in bad_files.py. Prints the whole table with the messages."""
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import bad_files
import bad_input_rows

MDSM = os.path.abspath(sys.argv[1])
PREFIX = "mdsm: error: "
CRASH = re.compile(r"terminate called|Traceback|what\(\)|Sanitizer|runtime error:|Segmentation|Assertion|core dumped")
# The sanitizers would otherwise end the program where malloc should answer with no memory.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1:" + os.environ.get("ASAN_OPTIONS", ""),
               "TSAN_OPTIONS": "allocator_may_return_null=1:" + os.environ.get("TSAN_OPTIONS", "")}


def run(arguments, **more):
    """Exit code (below 0: a signal), standard output and standard error."""
    more = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL, "env": ENVIRONMENT, **more}
    result = subprocess.run([MDSM, *arguments], stderr=subprocess.PIPE, timeout=120, **more)
    return result.returncode, (result.stdout or b"").decode(), result.stderr.decode(errors="replace")


def fingerprint(folder):
    """Path -> hash of every file below the folder."""
    found = {}
    for base, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(base, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="mdsm_bad_input_")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.good, cls.bad, cls.out, cls.marker = (
            os.path.join(cls.root, name) for name in ("good", "bad", "out", "marker"))
        cls.run_folder = None
        os.makedirs(cls.out)
        bad_files.good_data(cls.good)
        code, _, errors = run(cls.words("train --data {good}/images.npy --net res6 --width 4 --batch 2 --steps 2 "
                                        "--out {good}/runs"))
        if code != 0:
            raise AssertionError(f"the good run failed with {code}:\n{errors}")
        cls.run_folder = os.path.join(cls.good, "runs", sorted(os.listdir(os.path.join(cls.good, "runs")))[0])
        shutil.copy(os.path.join(cls.run_folder, "weights.safetensors"), os.path.join(cls.good, "model.safetensors"))
        with open(os.path.join(cls.good, "model.safetensors"), "rb") as file:
            bad_files.make_all(cls.bad, file.read(), cls.run_folder, cls.marker)

    @classmethod
    def words(cls, line):
        return line.format(good=cls.good, good_run=cls.run_folder, bad=cls.bad, out=cls.out).split()

    def check_message(self, arguments, code, pattern, **more):
        """Runs, and returns the message after checking everything that is the same for all rows."""
        before = fingerprint(self.good), fingerprint(self.bad), fingerprint(self.out)
        actual, _, errors = run(arguments, **more)
        lines = errors.splitlines()
        said = [line for line in lines if line.startswith(PREFIX)]
        self.assertIsNone(CRASH.search(errors), errors)
        self.assertEqual(actual, code, f"exit code; standard error:\n{errors}")
        self.assertEqual(len(said), 1, f"wants one line starting '{PREFIX}':\n{errors}")
        self.assertEqual(lines[-1], said[0], "the error is not the last line")
        if arguments[0] != "train":  # which may log before it fails
            self.assertEqual(len(lines), 1, errors)
        message = said[0][len(PREFIX):]
        self.assertTrue(re.search(pattern, message), f"message does not match '{pattern}':\n{message}")
        after = fingerprint(self.good), fingerprint(self.bad), fingerprint(self.out)
        self.assertEqual(after, before, "files were changed or left behind")
        return message

    def test_table(self):
        rows = bad_input_rows.ROWS
        self.assertGreaterEqual(len(rows), 40)
        self.assertEqual(len({row[0] for row in rows}), len(rows), "two rows of the same name")
        for name, line, code, pattern in rows:
            with self.subTest(name):
                message = self.check_message(self.words(line), code, pattern)
                shown = message.replace(self.root + "/", "")
                print(f"{name:<36} {code}  {shown}")
        self.assertFalse(os.path.exists(self.marker), "a pickle's command was run")

    def test_the_good_files_are_good(self):
        for line in ("data {good}/images.npy", "data {good}/pngs", "energy --model {good}/model.safetensors "
                     "--data {good}/images.npy", "import {bad}/states/good.pt {out}/imported.safetensors",
                     "export {good}/model.safetensors {out}/exported.pt"):
            with self.subTest(line):
                code, _, errors = run(self.words(line))
                self.assertEqual(code, 0, errors)

    def test_run_folder_in_use(self):
        with open(os.path.join(self.run_folder, "lock"), "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.check_message(["train", "--resume", self.run_folder], 1, "another process")

    def test_instruction_set_that_is_not_here(self):
        energies = self.words("energy --model {good}/model.safetensors --data {good}/images.npy")
        for wanted in ("abacus", "AVX2", "avx2 "):
            with self.subTest(wanted):
                self.check_message(energies, 2, f"MDSM_ISA={wanted}.*generic, avx2 or avx512",
                                   env={**ENVIRONMENT, "MDSM_ISA": wanted})

    def test_no_arguments_shows_the_commands(self):
        code, output, errors = run([])
        self.assertEqual((code, errors), (2, ""))
        self.assertIn("Commands:", output)

    def test_standard_output_full(self):
        with open("/dev/full", "wb") as full:
            self.check_message(["describe"], 1, "standard output", stdout=full)

    def test_standard_output_closed(self):
        before = fingerprint(self.good)
        result = subprocess.run(["/bin/sh", "-c", '"$0" describe >&-', MDSM], stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.decode(), r"\Amdsm: error: .*standard output.*\n\Z")
        self.assertEqual(fingerprint(self.good), before)

    def test_control_characters_in_a_name_stay_on_one_line(self):
        self.check_message(["data", self.bad + "/two\nlines\x1b[31m"], 1, "two lines")

    def test_hidden_gpu(self):
        if os.path.exists("/dev/nvidia0"):
            self.skipTest("this machine has a GPU")
        self.check_message(self.words(bad_input_rows.TRAIN + " --engine torch --device cuda"), 1, "(?i)cuda|torch")

    def test_wrong_device_leaves_no_run_folder(self):
        out = os.path.join(self.root, "unused")
        run(self.words(bad_input_rows.TRAIN.replace("{out}", out) + " --device tpu"))
        self.assertFalse(os.path.exists(out))

    def test_full_disk(self):
        disk = os.path.join(self.root, "disk")
        os.makedirs(disk)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "mdsm_test", disk],
                                               capture_output=True).returncode != 0:
            self.skipTest("cannot mount a small disk")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        with open(os.path.join(disk, "filler"), "wb") as file:
            file.write(bytes(40000))
        old = os.path.join(disk, "model.pt")
        with open(old, "wb") as file:
            file.write(b"the previous file")
        model = os.path.join(self.good, "model.safetensors")
        self.assertGreater(os.path.getsize(model), 30000, "the model would fit")
        before = fingerprint(disk)
        self.check_message(["export", model, old, "--force"], 1, "No space left.*previous file is untouched")
        self.assertEqual(fingerprint(disk), before)
        self.check_message(self.words(bad_input_rows.TRAIN.replace("{out}", disk)), 1, "No space left")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
