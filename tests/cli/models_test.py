"""Models that come with the program: their list, their names in place of files, and model files written by export."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import formats

MDSM = os.path.abspath(sys.argv[1])


class Models(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="mdsm_models_")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def run_it(self, *arguments, **environment):
        result = subprocess.run([MDSM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.root,
                                env={**os.environ, "OMP_WAIT_POLICY": "passive", **environment}, timeout=1800)
        return result.returncode, result.stdout, result.stderr

    def good(self, *arguments, **environment):
        code, output, errors = self.run_it(*arguments, **environment)
        self.assertEqual(code, 0, errors)
        return output

    def test_the_list_and_the_names(self):
        listed = json.loads(self.good("models", "--json"))
        self.assertIn("fashion-mnist", [one["name"] for one in listed])
        for one in listed:
            self.assertLess(one["bytes"], 20_000_000)
            self.assertNotIn("classifier", one["name"])
            self.assertNotIn("/", str(one["data"]))
            described = json.loads(self.good("describe", "--model", one["name"], "--json"))
            self.assertEqual(described["parameters"], one["parameters"])
        self.assertIn("fashion-mnist ", self.good("models"))

    def test_memory_of_both_precisions(self):
        described = json.loads(self.good("describe", "--model", "cifar10", "--json"))
        whole, half = described["memory_bytes"], described["memory_bytes_bfloat16"]
        self.assertEqual(whole.keys(), half.keys())
        for what, size in half.items():
            self.assertTrue(0 < size < 0.8 * whole[what], f"{what}: {size} of {whole[what]}")
        self.assertRegex(self.good("describe", "--model", "cifar10"), r"\nfloat32 .*\nbfloat16 ")

    def test_samples_come_from_a_name(self):
        self.good("sample", "--model", "fashion-mnist", "--sampler", "fast", "-n", "2", "--out", "samples")
        self.assertTrue(os.path.getsize(os.path.join(self.root, "samples/grid.png")) > 1000)

    def test_samples_are_clothes(self):
        """What the bundled classifier makes of 200 samples; a model that draws blobs or one thing only fails."""
        self.good("sample", "--model", "fashion-mnist", "-n", "200", "--out", "samples")
        found = json.loads(self.good("evaluate", "--samples", "samples", "--data", "fashion-mnist", "--split", "test", "--json"))
        shares = found["classes"]["shares"]
        self.assertEqual(sum(share > 0 for share in shares), 10, shares)
        self.assertLess(max(shares), 0.25, shares)
        self.assertLess(found["fid"]["value"], 40, found["fid"])

    def test_a_model_of_the_papers_network(self):
        """Three digits as colours: blobs, or the same digits again and again, would show few modes."""
        self.good("sample", "--model", "stacked-mnist", "--sampler", "fast", "-n", "40", "--out", "samples")
        found = json.loads(self.good("modes", "--samples", "samples", "--json"))
        self.assertGreater(found["modes"], 25, found)

    def test_a_file_goes_before_a_name(self):
        with open(os.path.join(self.root, "fashion-mnist"), "w") as file:
            file.write("not a model")
        code, _, errors = self.run_it("describe", "--model", "fashion-mnist")
        self.assertEqual(code, 1)
        self.assertIn("fashion-mnist", errors)

    def test_another_folder(self):
        empty = os.path.join(self.root, "empty")
        os.mkdir(empty)
        code, _, errors = self.run_it("models", MDSM_MODELS=empty)
        self.assertEqual((code, errors.count("\n")), (1, 1))
        self.assertIn("no models were found", errors)
        code, _, errors = self.run_it("describe", "--model", "fashion-mnist", MDSM_MODELS=empty)
        self.assertEqual(code, 1)
        self.assertIn("fashion-mnist: no such file", errors)

    def test_export_writes_model_files(self):
        whole, half = (os.path.join(self.root, name) for name in ("whole.safetensors", "half.safetensors"))
        self.good("export", "fashion-mnist", whole)
        self.good("export", whole, half, "--half")
        self.assertLess(os.path.getsize(half), 0.6 * os.path.getsize(whole))
        # The bundled weights are float16 already, so that nothing is lost.
        again = os.path.join(self.root, "again.safetensors")
        self.good("export", half, again)
        with open(whole, "rb") as a, open(again, "rb") as b:
            self.assertEqual(a.read(), b.read())
        code, _, errors = self.run_it("export", half, os.path.join(self.root, "half.pt"), "--half")
        self.assertEqual(code, 2)
        self.assertIn("--half writes a model file", errors)
        code, _, errors = self.run_it("export", half, whole)
        self.assertEqual(code, 1)
        self.assertIn("--force", errors)

    def test_every_model_is_exported(self):
        """As a model file, a state dict, ONNX, and a folder of the Hugging Face hub."""
        for one in json.loads(self.good("models", "--json")):
            name = one["name"]
            with self.subTest(name):
                whole, folder = (os.path.join(self.root, name + end) for end in (".safetensors", "-hub"))
                self.good("export", name, whole)
                said = self.good("export", name, os.path.join(self.root, name + ".pt"))
                bowl = self.spec(whole).get("bowl", 0) > 0
                self.assertEqual("mdsm_torch.py adds it" in said, bowl, said)
                self.good("export", name, os.path.join(self.root, name + ".onnx"))
                self.good("export", name, folder, "--hub", "--half")
                with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
                    config = json.load(file)
                self.assertEqual(config.pop("model_type"), "mdsm")
                self.assertEqual(config, self.spec(whole))
                self.assertEqual(self.spec(os.path.join(folder, "model.safetensors")), config)
                with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
                    self.assertTrue(file.read().startswith("---\nlibrary_name: mdsm\n"))
                self.assertEqual(self.run_it("export", name, folder, "--hub")[0], 1)  # not without --force

    def test_state_dicts_come_back(self):
        unet = ("--head", "squared-residual")
        for name, more in (("stacked-mnist", ()), ("cifar10", unet), ("fashion-mnist", (*unet, "--size", "28"))):
            whole, dict_, back = (os.path.join(self.root, name + end) for end in (".safetensors", ".pt", "-back.safetensors"))
            self.good("export", name, whole)
            self.good("export", name, dict_)
            self.good("import", dict_, back, *more)
            self.assertEqual(self.spec(back), self.spec(whole))
            energies = [json.loads(self.good("energy", "--model", path, "--data", "fashion-mnist", "--limit", "3", "--json", "--colour",
                                             "grey" if name == "fashion-mnist" else "rgb")) for path in (whole, back)]
            for key in ("n", "mean", "std", "min", "max"):
                self.assertEqual(energies[0][key], energies[1][key])

    def spec(self, path):
        with open(path, "rb") as file:
            return json.loads(formats.split_safetensors(file.read())[0]["__metadata__"]["spec"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
