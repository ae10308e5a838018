"""What a newcomer is told of a wrong file: what it is, which one, what to do, in words of this program. Never what a library says of its insides."""
import os
import re
import sys
import tempfile
import unittest
import zipfile

import numpy as np

import formats
from program import call, run

# Of LibTorch, libarchive, toml++, nlohmann's JSON, libtiff and the standard library.
RAW = re.compile(r"constants\.pkl|PytorchStreamReader|RuntimeError|Traceback|Unrecognized archive|Truncated ZIP|json\.exception|parse_error|"
                 r"Error while parsing|TIFFRead|memory: |std::|basic_string|vector::|stoi|iostream error|archive_read")


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        rng = np.random.default_rng(0)
        np.save("images.npy", rng.random((16, 3, 32, 32), np.float32))
        noise = rng.bytes(4000)
        for name, text in {"empty": b"", "text.txt": b"hello\n", "noise": noise, "noise.tar": noise, "noise.tar.gz": b"\x1f\x8b\x08\0" + noise,
                           "cut.npz": b"PK\3\4" + noise[:300], "noise.png": b"\x89PNG\r\n\x1a\n" + noise, "noise.jpg": b"\xff\xd8\xff\xe0" + noise,
                           "noise.tif": b"II*\0" + noise, "noise.webp": b"RIFF\x10\1\0\0WEBPVP8 " + noise, "noise.npy": b"\x93NUMPY\1\0v\0" + noise,
                           "broken.json": b'{"width": 3,', "list.json": b"[1]", "broken.toml": b"width = = 3\n"}.items():
            with open(name, "wb") as file:
                file.write(text)
        with zipfile.ZipFile("weights.pt", "w") as file:
            file.writestr("archive/data.pkl", b"\x80\2}q\0.")
            file.writestr("archive/version", b"3\n")
        os.mkdir("folder")
        cls.files = sorted(name for name in os.listdir(".") if name != "images.npy")

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def refused(self, words, *parts):
        done = call(*words.split())
        self.assertIn(done.returncode, (1, 2), (words, done.stdout, done.stderr))
        last = done.stderr.strip().splitlines()[-1]
        self.assertTrue(last.startswith("mdsm: error: "), (words, done.stderr))
        self.assertIn("; ", last, f"{words}: what to do? {last}")
        self.assertNotRegex(last, RAW, words)
        for part in parts:
            self.assertIn(part, last, words)

    def test_every_kind_of_file_where_every_other_is_wanted(self):
        self.assertGreater(len(self.files), 14)
        for name in self.files:
            for words in (f"describe --model {name}", f"sample --model {name}", f"energy --data images.npy --model {name}", f"export {name} out.pt --force",
                          f"import {name} out.safetensors --force", f"score images.npy --detector {name}", f"train --data images.npy --init {name}",
                          f"evaluate --samples images.npy --data images.npy --classifier {name}",
                          f"evaluate --samples images.npy --classifier cifar10 --statistics {name}", f"train --resume {name}"):
                with self.subTest(words=words):
                    self.refused(words, name)
            with self.subTest(data=name):
                self.refused(f"data {name}", name)
                self.refused(f"train --data {name} --dry-run", name)
            if not name.endswith(".json"):
                self.refused(f"train --config {name}", name)

    def test_scripts(self):
        if "torch (module installed)" not in run("--version"):
            self.skipTest("built without LibTorch")
        for name in ("text.txt", "weights.pt", "noise", "empty"):
            self.refused(f"evaluate --samples images.npy --data images.npy --features {name}", f"{name}: not a TorchScript file", "torch.jit.save")

    def test_words(self):
        self.refused("sample --model fashon-mnist", "did you mean fashion-mnist?")
        self.refused("sample --model nothing-like-it", "one that comes with mdsm: cifar10")
        self.refused("denoise", "no pictures given", "--data")
        self.refused("export fashion-mnist model.onx", "'.onx' is unknown", ".onnx")
        self.refused("train --config broken.toml", "broken.toml: line 1", "key = value")
        self.refused("data noise.tar", "noise.tar: damaged archive", "another copy")
        self.refused("describe --model noise.png", "not a safetensors file")
        self.refused("describe --model empty", "the file is empty")

    def test_a_folder_of_the_name_of_a_model(self):
        """A folder of images called photos does not hide the bundled model."""
        os.mkdir("photos-grey")
        with open("grey.png", "wb") as file:
            file.write(formats.png(24, 20, 1))
        self.assertIn("residual-denoiser", run("describe", "--model", "photos-grey"))
        run("denoise", "grey.png", "--out", "clean")
        os.rmdir("photos-grey")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
