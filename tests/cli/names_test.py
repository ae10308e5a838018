"""One name for one thing: an option of the same name takes the same kind of value in every command. What every command has. Defaults
from the environment, help that fits the terminal, and the names of before."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from program import ENVIRONMENT, MDSM, call, run

# The same thing, written in other ways: a folder, or a file where a command makes one; a run, or "the one in the folder"; one side or two.
TWO_WAYS = {"--out": {"FOLDER", "FILE"}, "--resume": {"RUN|latest", ""}, "--size": {"WIDTHxHEIGHT", "INT"},
            "--schedule": {"exp|linear|constant|FILE", "exp|linear|FILE"}}  # of temperatures, and of their inverses
# Choices among the same names, of which a command has some.
SOME_OF = {"--colour", "--engine", "--head", "--sampler", "--preset"}


def table():
    """{option: {value: [commands]}} of the whole command line."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for part in run("--reference").split("\n## mdsm ")[1:]:
        command = part.split("\n")[0]
        for name, value in re.findall(r"^\| `(--[\w-]+)` \| (.*?) \| ", part.replace("\\|", "!"), re.MULTILINE):
            kind = re.sub(r" \(.*\)$", "", value.strip().replace("!", "|"))
            found[name][re.sub(r"^FILE\..*", "FILE", kind)].append(command)
    return found


def commands():
    return re.findall(r"^## mdsm (\w+)$", run("--reference"), re.MULTILINE)


class Names(unittest.TestCase):
    def test_a_name_has_one_kind_of_value(self):
        found = table()
        self.assertGreater(len(found), 100)
        for name, kinds in found.items():
            if len(kinds) > 1 and name not in SOME_OF:
                self.assertEqual(set(kinds), TWO_WAYS.get(name), f"{name} means different things: {dict(kinds)}")
            if name in SOME_OF:
                widest = max((set(kind.split("|")) for kind in kinds), key=len)
                for kind in kinds:
                    self.assertLessEqual(set(kind.split("|")), widest, name)

    def test_every_command_has_the_general_options(self):
        found = table()
        for name in ("--json", "--quiet", "--config", "--set"):
            self.assertEqual(found[name][{"--config": "FILE", "--set": "KEY=VALUE"}.get(name, "")], commands())

    def test_commands_print_json(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            np.save("images.npy", np.random.default_rng(0).random((128, 1, 16, 16), np.float32))
            small = ["--data", "images.npy", "--net", "unet", "--levels", 1, "--width", 4, "--batch", 4, "--preview-every", 0]
            plan = json.loads(run("train", *small, "--dry-run", "--json"))
            self.assertEqual(plan["options"]["width"], 4)
            done = json.loads(run("train", *small, "--steps", 2, "--json"))
            self.assertEqual((done["step"], done["finished"]), (2, True))
            self.assertTrue(os.path.exists(done["model"]))
            self.assertEqual(json.loads(run("export", "runs/00000", "m.pt", "--json"))["format"], "state-dict")
            self.assertEqual(json.loads(run("import", "m.pt", "m.safetensors", "--size", 16, "--json"))["network"]["network"], "unet")
            names = {one["name"] for one in json.loads(run("reproduce", "--json"))}
            self.assertIn("modes", names)
            self.assertEqual(json.loads(run("reproduce", "model-fashion", "--dry-run", "--json"))[-1]["name"], "model-fashion")
            run("score", "--fit", "--data", "images.npy", "--model", "runs/00000", "--out", "d.safetensors", "--rate", 0.1, "--quiet")
            self.assertEqual(len(json.loads(run("score", "--detector", "d.safetensors", "--data", "images.npy", "--subset", 3, "--json"))["images"]), 3)
            self.assertEqual(call("energy", "--model", "runs/00000", "--data", "images.npy", "--quiet").stderr, "")
            os.chdir("/")

    def test_names_of_before(self):
        """They work, and say what they are called now."""
        done = call("energy", "--noise", "nothing")
        self.assertIn("--noise is called --add-noise now", done.stderr)
        self.assertIn("--add-noise: 'nothing' is not a valid value", done.stderr)
        for command, before, now in (("outliers", "in", "data"), ("outliers", "levels", "noise-levels"), ("outliers", "fit", "fit-images"),
                                     ("outliers", "features", "measures"), ("evaluate", "limit", "subset"), ("evaluate", "neighbours", "k"),
                                     ("classifier", "features", "hidden"), ("reproduce", "scale", "budget"), ("reproduce", "data", "source"),
                                     ("likelihood", "noise", "add-noise"), ("likelihood", "save-every", "save-seconds"),
                                     ("train", "outdir", "out"), ("sample", "method", "integrator"), ("score", "levels", "noise-levels")):
            with self.subTest(command=command, name=before):
                done = call(command, f"--{before}", "1", "--wings")
                self.assertIn("unknown option 'wings'", done.stderr)
                self.assertIn(f"--{before} is called --{now} now", done.stderr)
                self.assertNotRegex(run(command, "--help"), rf"--{before}\s")
        done = call("energy", "--color", "gray", "--wings")
        self.assertNotIn("called", done.stderr)

    def test_defaults_from_the_environment(self):
        def said(*words, **variables):
            return subprocess.run([MDSM, *words], env={**ENVIRONMENT, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, stdin=subprocess.DEVNULL).stdout

        for command in commands():
            if re.search(r"--threads ", run(command, "--help")):
                self.assertIn("[3 from MDSM_THREADS]", said(command, "--help", MDSM_THREADS="3"), command)
        plan = ["train", "--data", "fashion-mnist", "--recipe", "none", "--dry-run", "--json"]
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            np.save("images.npy", np.zeros((8, 1, 16, 16), np.float32))
            plan[2] = "images.npy"
            self.assertEqual(json.loads(said(*plan, MDSM_WIDTH="8"))["options"]["width"], 8)
            self.assertEqual(json.loads(said(*plan, "--width", "12", MDSM_WIDTH="8"))["options"]["width"], 12)
            os.chdir("/")
        self.assertIn("MDSM_WIDTH in the environment: --width: 'wide' is not a valid value", said(*plan, MDSM_WIDTH="wide"))

    def test_help_fits_the_terminal(self):
        for columns in (60, 80, 100):
            text = subprocess.run([MDSM, "help", "train"], env={**ENVIRONMENT, "COLUMNS": str(columns)}, stdout=subprocess.PIPE,
                                  text=True, check=True).stdout
            for line in text.splitlines():
                if len(line) > columns:
                    self.assertLessEqual(len(line.split()), 2, line)  # one word that cannot be broken


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
