"""mdsm bench from the outside, on a network so small that its times mean nothing: the whole way with the real PyTorch
peer, and with peers that are missing, wrong, dying, silent or babbling. Exit code 77 = no torch."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import torch  # noqa: F401
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(77)

MDSM, PEERS = (os.path.abspath(path) for path in sys.argv[1:3])
TINY = "--net res6 --width 4 --size 8 --batch 2 --rounds 2 --threads 1".split()
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive"}

# The real peer with one thing changed; {} is that change, a statement after `import peer`.
CHANGED = "import sys\nsys.path.insert(0, {peers!r})\nimport peer\n{change}\npeer.main()\n"

# A peer that is our own worker under another name, with times of its own, which dies of an illegal instruction in
# bfloat16. It stands for an interpreter, whose arguments it ignores.
PRETENDER = """#!{python}
import json, os, signal, subprocess, sys
worker = subprocess.Popen([{mdsm!r}, "bench", "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for line in sys.stdin:
    if json.loads(line).get("precision") == "bfloat16":
        os.kill(os.getpid(), signal.SIGILL)
    worker.stdin.write(line)
    worker.stdin.flush()
    answer = json.loads(worker.stdout.readline())
    answer.update({{key: value for key, value in dict(name={name!r}, seconds={seconds}).items() if key in answer}})
    print(json.dumps(answer), flush=True)
"""


def bench(*arguments):
    result = subprocess.run([MDSM, "bench", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, stdin=subprocess.DEVNULL, env=ENVIRONMENT, timeout=300)
    return result.returncode, result.stdout, result.stderr


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def peer(self, text):
        path = os.path.join(self.folder, "fake_peer.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return ["--peer", path, "--python", sys.executable]

    def pretender(self, name, seconds):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(PRETENDER.format(python=sys.executable, mdsm=MDSM, name="PyTorch " + name, seconds=seconds))
        os.chmod(path, 0o755)
        return path

    def fails(self, code, pattern, *arguments):
        actual, _, errors = bench(*arguments)
        last = errors.splitlines()[-1]
        self.assertEqual(actual, code, errors)
        self.assertRegex(last, "mdsm: error: .*" + pattern)
        self.assertNotIn("Traceback", last)
        self.assertNotIn("terminate called", errors)

    def test_whole_way(self):
        out, page = (os.path.join(self.folder, name) for name in ("bench.json", "bench.md"))
        code, printed, errors = bench(*TINY, "--python", sys.executable, "--out", out, "--markdown", page)
        self.assertEqual(code, 0, errors)
        with open(out, encoding="utf-8") as file:
            values = json.load(file)
        with open(page, encoding="utf-8") as file:
            self.assertEqual(printed, file.read() + "\n")
        self.assertTrue(values["verified"])
        self.assertIn("PyTorch", values["peer"])
        for row in values["verifications"]:
            for what in ("energy", "grad_x", "residual", "gradient"):
                self.assertLess(row["relative_errors"][what], 5e-2 if row["kernels"] == "bfloat16" else 1e-4)
        self.assertEqual(values["verifications"][-1]["relative_errors"]["second run"], 0)
        self.assertEqual([step["task"] for step in values["steps"]], ["training", "langevin"])
        for step in values["steps"]:
            for side in ("ours", "peer"):
                self.assertEqual(len(step[side]["seconds"]), 2)
                self.assertGreater(step[side]["min"], 0)
                self.assertGreater(step[side]["peak_memory"], 1e6)
            self.assertTrue(step["profile"]["layers"])
        self.assertIsNotNone(values["steps"][1]["peer_by_x_only"])
        self.assertGreater(min(peak["gflops"] for peak in values["peaks"]), 0)
        self.assertIn("round 2 of 2", errors)

    def test_bfloat16_where_the_cpu_has_it(self):
        code, printed, errors = bench(*TINY, "--no-peer", "--json")
        self.assertEqual(code, 0, errors)
        values = json.loads(printed)
        units = "amx, bfloat16" in [peak["isa"] for peak in values["peaks"]]
        version = subprocess.run([MDSM, "--version"], capture_output=True, text=True, check=True).stdout
        has = "bfloat16 by" in version
        self.assertEqual(units, "bfloat16 by AMX" in version)
        self.assertEqual(has, "bfloat16" in [row["kernels"] for row in values["verifications"]])
        for step in values["steps"]:
            rounded = step["ours_bfloat16"]
            self.assertEqual(rounded is not None, has)
            if has:
                self.assertEqual(len(rounded["seconds"]), 2)
                self.assertAlmostEqual(rounded["float32_over_bfloat16"], step["ours"]["median"] / rounded["median"])
            if units:
                self.assertGreater(rounded["share_of_tile_peak"], 0)
                self.assertLess(rounded["share_of_tile_peak"], 1)

    def test_the_fastest_mode_is_the_peer(self):
        slow, fast = self.pretender("slow", 0.5), self.pretender("fast", 0.25)
        code, printed, errors = bench(*TINY, "--python", slow, "--python", fast, "--json")
        self.assertEqual(code, 0, errors)
        values = json.loads(printed)
        self.assertEqual(values["peer"], "PyTorch slow; PyTorch fast")
        self.assertEqual({mode["python"] for mode in values["peer_modes"]}, {slow, fast})
        for mode in values["peer_modes"]:
            if mode["mode"] == "float32":
                self.assertIsNone(mode["problem"])
            else:
                self.assertEqual(mode["problem"], "was ended by signal 4 (Illegal instruction)")
                self.assertIsNone(mode["seconds"])
        for step in values["steps"]:
            self.assertEqual(step["peer_mode"], "PyTorch fast, float32")
            self.assertEqual(step["peer"]["median"], 0.25)
            self.assertEqual([mode["seconds"] for mode in step["peer_modes"]], [0.5, 0.25])
        self.assertEqual(values["verifications"][0]["reference"], "PyTorch slow")

    def test_every_interpreter_has_to_run_float32(self):
        self.fails(1, "no/such/python: No such file", *TINY, "--python", self.pretender("good", 0.25), "--python",
                   "/no/such/python")

    def test_busy_neighbours(self):
        words = "--net res6 --width 4 --size 8 --batch 2 --rounds 1 --threads 2 --no-peer --busy"
        code, printed, errors = bench(*words.split(), "--json")
        self.assertEqual(code, 0, errors)
        rows = json.loads(printed)["busy"]
        self.assertEqual([(row["task"], row["neighbours"]) for row in rows],
                         [("training", 0), ("training", 2), ("langevin", 0), ("langevin", 2)])
        for row in rows:
            self.assertAlmostEqual(row["all_threads_over_one"],
                                   row["all_threads"]["median"] / row["one_thread"]["median"])

    def test_other_networks_verify(self):
        for words in ("--net res12 --width 8 --size 16 --channels 3 --head linear --batch 3",
                      "--net res34 --width 4 --size 16 --batch 1"):
            code, printed, errors = bench(*words.split(), "--threads", 2, "--verify-only", "--json")
            self.assertEqual(code, 0, errors)
            values = json.loads(printed)
            self.assertTrue(values["verified"])
            self.assertEqual(values["steps"], [])

    def test_without_a_peer(self):
        code, printed, errors = bench(*TINY, "--no-peer", "--likelihood", "--json")
        self.assertEqual(code, 0, errors)
        values = json.loads(printed)
        self.assertEqual(len(values["steps"][0]["likelihood"]["seconds"]), 2)
        self.assertGreater(values["steps"][0]["likelihood_over_ours"], 2)  # 30 Langevin steps in every update
        self.assertIsNone(values["steps"][1]["likelihood"])
        self.assertIsNone(values["steps"][0]["peer"])
        self.assertEqual(values["verifications"][0]["reference"], "generic")

    def test_a_wrong_peer_is_not_timed(self):
        change = ("original = peer.Peer.load\n"
                  "def load(self, flat):\n    original(self, flat * 1.001)\n"
                  "peer.Peer.load = load")
        out = os.path.join(self.folder, "bench.json")
        arguments = [*TINY, *self.peer(CHANGED.format(peers=PEERS, change=change)), "--out", out]
        self.fails(1, "differ", *arguments)
        self.assertFalse(os.path.exists(out))
        self.assertNotIn("round", bench(*arguments)[2])

    def test_peers_that_misbehave(self):
        self.fails(1, "no/such/python: No such file", *TINY, "--python", "/no/such/python")
        self.fails(1, "no-such-peer.py: no such file", *TINY, "--peer", "no-such-peer.py")
        self.fails(1, "exit code 3: out of luck",
                   *TINY, *self.peer("import sys\ninput()\nprint('out of luck', file=sys.stderr)\nsys.exit(3)"))
        self.fails(1, "signal 9.*memory", *TINY, *self.peer("import os\ninput()\nos.kill(os.getpid(), 9)"))
        self.fails(1, "answered 'setup' with 'hello'", *TINY, *self.peer("input()\nprint('hello')"))
        self.fails(1, "no answer within 0.5 s", *TINY, "--timeout", "0.5",
                   *self.peer("import time\ninput()\ntime.sleep(1000)"))
        self.fails(1, "cannot import torch.*python3-torch", *TINY,
                   *self.peer("import sys\nsys.modules['torch'] = None\n"
                              + CHANGED.format(peers=PEERS, change="")))
        self.fails(1, "does not hold .* float32 values|no such file", *TINY,
                   *self.peer(CHANGED.format(peers=PEERS, change="peer.Peer.verify = lambda self, folder: None")))

    def test_dry_run_measures_nothing(self):
        self.assertEqual(bench("--suite", "full", "--dry-run")[1].count("\n"), 7)
        self.assertEqual(bench(*TINY, "--dry-run"), (0, "res6 width 4, 2 images 1x8x8\n", ""))

    def test_wrong_options(self):
        self.fails(2, "--suite and the options of one network", "--suite", "full", "--width", "4")
        self.fails(2, "--no-peer excludes", *TINY, "--no-peer", "--python", sys.executable)
        self.fails(2, "--busy compares", *TINY, "--busy")
        self.fails(2, "--batch: '0'", "--batch", "0")
        self.fails(2, "--rounds: '-1'", "--rounds", "-1")
        self.fails(2, "--timeout: '0'", "--timeout", "0")
        self.fails(1, "needs about .* GB of memory", "--width", "4096", "--batch", "100000")
        self.fails(2, "width 6", "--width", "6")
        self.fails(1, "its folder does not exist", *TINY, "--out", "/no/such/folder/bench.json")

    def test_no_process_is_left_behind(self):
        script = self.peer("import os\ninput()\nopen(os.path.join(os.path.dirname(__file__), 'pid'), 'w')"
                           ".write(str(os.getpid()))\nprint('hello', flush=True)\nimport time\ntime.sleep(1000)")
        self.assertEqual(bench(*TINY, *script)[0], 1)
        with open(os.path.join(self.folder, "pid"), encoding="ascii") as file:
            self.assertFalse(os.path.exists(f"/proc/{file.read()}"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
