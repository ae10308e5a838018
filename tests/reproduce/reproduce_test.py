"""mdsm reproduce from the outside, with recipes of its own: order, going on after a stop, steps that fail, changed
commands, missing data, the report. And the recipes that ship must be complete at every scale."""
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

MDSM, SHIPPED = os.path.abspath(sys.argv[1]), sys.argv[2]
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive"}
TRAIN = ("train --data {data:pictures} --net res6 --width 4 --batch 8 --steps {steps} --save-every 5 --preview-every 0 "
         "--threads 1 --quiet --out {here}")
MODEL = {"title": "A model", "data": ["pictures"], "scales": {"smoke": {"steps": 10}},
         "steps": [{"name": "train", "run": TRAIN, "resume": "train --resume {model:train} --quiet"}],
         "results": [{"label": "step", "value": "{model:train}/stats.jsonl#/step", "digits": 0}]}
SAMPLES = {"title": "Samples", "needs": ["model"], "data": ["pictures"], "scales": {"smoke": {"n": 4}},
           "steps": [{"name": "draw", "run": "sample --model {model:model/train} --n {n} --sampler ode --steps 2 "
                                             "--hot 0 --threads 1 --out {here} --json"}],
           "results": [{"label": "drawn", "value": "draw.out#/n", "paper": "8,000", "digits": 0}],
           "figures": [{"file": "draw/grid.png", "caption": "samples"}]}


class Reproduce(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="mdsm_reproduce_")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        os.mkdir(self.at("recipes"))
        self.out = self.at("out")
        values = bytes((i * 37 + i // 64 * 11) % 256 for i in range(64 * 32))  # 32 images of 8x8
        header = "{'descr': '|u1', 'fortran_order': False, 'shape': (32, 1, 8, 8), }"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        with open(self.at("pictures.npy"), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + values)
        self.recipe("model", MODEL)
        self.recipe("samples", SAMPLES)

    def at(self, *names):
        return os.path.join(self.root, *names)

    def recipe(self, name, values):
        with open(self.at("recipes", name + ".json"), "w") as file:
            json.dump(values, file)

    def command(self, *arguments, data=True):
        return [MDSM, "reproduce", "--recipes", self.at("recipes"), "--out", self.out,
                *(["--source", "pictures=" + self.at("pictures.npy")] if data else []), *arguments]

    def run_it(self, *arguments, data=True):
        result = subprocess.run(self.command(*arguments, data=data), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, stdin=subprocess.DEVNULL, env=ENVIRONMENT, timeout=120)
        return result.returncode, result.stdout, result.stderr

    def report(self):
        with open(os.path.join(self.out, "report.html")) as file:
            return file.read()

    def test_runs_what_is_needed_and_nothing_twice(self):
        code, output, errors = self.run_it("samples")
        self.assertEqual(code, 0, errors)
        self.assertLess(output.index("model/train:"), output.index("samples/draw:"))
        page = self.report()
        self.assertIn("<td>4</td><td>8,000</td>", page)
        self.assertIn("data:image/png;base64,iVBORw0KGgo", page)
        weights = glob.glob(os.path.join(self.out, "model/train/*/ema.safetensors"))[0]
        before = os.stat(weights).st_mtime_ns
        code, output, errors = self.run_it("all")
        self.assertEqual(code, 0, errors)
        self.assertIn("model/train: done before", output)
        self.assertIn("samples/draw: done before", output)
        self.assertEqual(os.stat(weights).st_mtime_ns, before)

    def test_a_changed_command_needs_force(self):
        self.assertEqual(self.run_it("samples")[0], 0)
        code, _, errors = self.run_it("samples", "--with", "n=5")
        self.assertEqual(code, 1)
        self.assertIn("was done by another command", errors)
        self.assertIn("<td>4</td>", self.report())
        code, output, errors = self.run_it("samples", "--with", "n=5", "--force")
        self.assertEqual(code, 0, errors)
        self.assertIn("model/train: done before", output)
        self.assertIn("<td>5</td>", self.report())

    def test_a_stop_is_gone_on_with(self):
        self.recipe("model", {**MODEL, "scales": {"smoke": {"steps": 100000}}})
        process = subprocess.Popen(self.command("model"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   stdin=subprocess.DEVNULL, env=ENVIRONMENT)
        deadline = time.time() + 60
        while not glob.glob(os.path.join(self.out, "model/train/*/state.safetensors")) and time.time() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn("stopped in step train of model; the same call goes on here", errors)
        state = glob.glob(os.path.join(self.out, "model/train/*/state.safetensors"))
        self.assertEqual(len(state), 1)
        # The same command, whose run now ends soon: it must go on with the run, not begin anew.
        resume = MODEL["steps"][0]["resume"] + " --steps 1 --stop-after 1"
        self.recipe("model", {**MODEL, "scales": {"smoke": {"steps": 100000}},
                              "steps": [{**MODEL["steps"][0], "resume": resume}]})
        code, output, _ = self.run_it("model")
        self.assertIn("train --resume", output)
        self.assertEqual(glob.glob(os.path.join(self.out, "model/train/*/state.safetensors")), state)

    def test_a_failing_step_spares_the_others(self):
        self.recipe("broken", {"title": "Broken", "scales": {"smoke": {}},
                               "steps": [{"name": "bad", "run": "sample --model nothing --out {here}"}]})
        code, output, errors = self.run_it("all")
        self.assertEqual(code, 1)
        self.assertIn("1 of 3 experiments failed, the first is broken", errors)
        self.assertIn("samples/draw:", output)
        self.assertIn("step bad failed, exit code 1", self.report())
        self.assertIn("<td>4</td><td>8,000</td>", self.report())

    def test_missing_data_is_said(self):
        code, output, errors = self.run_it("samples", data=False)
        self.assertEqual(code, 1)
        self.assertIn("no pictures data", errors)
        self.assertEqual(errors.count("\n"), 1)

    def test_bad_calls(self):
        for arguments, message, status in (
                (("none",), "no recipe none", 2), (("all", "--budget", "huge"), "huge", 2),
                (("all", "--with", "n"), "--with: 'n'", 2), (("all", "--source", "=x"), "--source: '=x'", 2),
                (("all", "--recipes", self.at("nowhere")), "nowhere", 1)):
            code, _, errors = self.run_it(*arguments)
            self.assertEqual(code, status, arguments)
            self.assertIn(message, errors)
            self.assertEqual(errors.count("\n"), 1, errors)

    def test_shipped_recipes_are_complete(self):
        names = {os.path.splitext(name)[0] for name in os.listdir(SHIPPED)}
        sets = [word for name in ("mnist", "stacked-mnist", "fashion-mnist", "cifar10", "svhn", "celeba")
                for word in ("--source", f"{name}=x")]
        for scale in ("smoke", "cpu", "paper"):
            result = subprocess.run([MDSM, "reproduce", "all", "--dry-run", "--budget", scale, "--recipes", SHIPPED, *sets],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
            self.assertEqual(result.returncode, 0, result.stderr)
            shown = {line[2:].split(":")[0] for line in result.stdout.splitlines() if line.startswith("# ")}
            self.assertEqual(shown, names)
            self.assertNotIn("{", result.stdout)
            # Every word that begins with -- is an option of its command.
            for line in result.stdout.splitlines():
                if line.startswith("mdsm "):
                    words = line.split()
                    text = helps(words[1])
                    for word in words[2:]:
                        if word.startswith("--"):
                            self.assertIn(word + " ", text, line)


KNOWN = {}


def helps(command):
    if command not in KNOWN:
        KNOWN[command] = subprocess.run([MDSM, command, "--help"], stdout=subprocess.PIPE, text=True).stdout.replace("\n", " ")
    return KNOWN[command]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
