"""Small files made to take all memory, all stack or all time: each is refused with one clear line, and before that
little memory is used."""
import gzip
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
import zlib

import formats
from program import ENVIRONMENT, MDSM, run

MAX_MEMORY = 200  # MB
# Sanitizers keep freed memory and shadow it.
MEASURED = "sanitize" not in " ".join(sys.argv[2:])


# A small process of its own starts the program: the peak of a child begins with that of its parent.
WATCH = """import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024)
"""


def peak(arguments):
    """(exit code, errors, MB)"""
    result = subprocess.run([sys.executable, "-S", "-c", WATCH, MDSM, *map(str, arguments)], capture_output=True, env=ENVIRONMENT,
                            timeout=300, check=True)
    code, memory = result.stdout.split()
    return int(code), result.stderr.decode(errors="replace"), float(memory)


def chunk(kind, body, length=None):
    return struct.pack(">I", len(body) if length is None else length) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(*chunks):
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def header(width, height, bits=8, colour=0):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))


def tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def tar_of(name, size):
    return tar([(name, bytes(size))])


def npz(name, start, zeros_after):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, start + bytes(zeros_after))
    return out.getvalue()


def tiff(**changes):
    """8-bit grey, nothing but its directory."""
    tags = {256: 10, 257: 10, 258: 8, 259: 1, 262: 1, 277: 1, **{int(tag[1:]): value for tag, value in changes.items()}}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in sorted(tags.items()))
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4)


def jpeg(side, blocks):
    """Three colours, of whose every 8x8 block both codes are one bit, 0."""
    sizes = b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", side, side) + b"\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00"
    codes = b"".join(b"\xff\xc4\x00\x14" + bytes([kind, 1]) + bytes(16) for kind in (0, 16))
    scan = b"\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x3f\x00"
    return b"\xff\xd8\xff\xdb\x00\x43\x00" + b"\x01" * 64 + sizes + codes + scan + bytes(blocks * 3 * 2 // 8) + b"\xff\xd9"


def webp(side, end):
    data = b"\x2f" + struct.pack("<I", side - 1 | side - 1 << 14) + end
    return b"RIFF" + struct.pack("<I", 12 + len(data)) + b"WEBPVP8L" + struct.pack("<I", len(data)) + data


def zeros(count):
    return zlib.compress(bytes(count), 9)


def matrix(kind, dims, name, data=b"\x02\x00\x00\x00\x00\x00\x00\x00"):
    body = struct.pack("<IIII", 6, 8, kind, 0) + struct.pack("<II", 5, 4 * len(dims)) + struct.pack(f"<{len(dims)}I", *dims)
    body += bytes(-len(body) % 8) + struct.pack("<HH4s", 1, len(name), name) + data
    return struct.pack("<II", 14, len(body)) + body


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="mdsm_hostile_")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.data = cls.write("images.npy", formats.npy((8, 1, 8, 8), formats.floats([i % 101 / 100 for i in range(512)])))
        run("train", "--data", cls.data, "--net", "res6", "--width", 4, "--batch", 4, "--steps", 4, "--stats-every", 2,
            "--preview-every", 0, "--threads", 1, "--out", cls.at("runs"))
        cls.trained = cls.at("runs", os.listdir(cls.at("runs"))[0])
        cls.model = cls.trained + "/ema.safetensors"

    @classmethod
    def at(cls, *names):
        return os.path.join(cls.root, *names)

    @classmethod
    def write(cls, name, content):
        path = cls.at(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def refused(self, words, *arguments, codes=(1, 2)):
        code, errors, memory = peak(arguments)
        self.assertIn(code, codes, f"{arguments}: {code} {errors[-300:]}")
        self.assertEqual(errors.strip().count("\n"), 0, errors[:500])
        self.assertRegex(errors, words)
        self.assertNotIn("json.exception", errors)
        if MEASURED:
            self.assertLess(memory, MAX_MEMORY, f"{arguments}: MB")

    def model_with(self, name, **metadata):
        with open(self.model, "rb") as file:
            head, data = formats.split_safetensors(file.read())
        head["__metadata__"].update(metadata)
        return self.write(name, formats.safetensors(head, data))

    # Nesting

    def test_nested_metadata(self):
        deep = "[" * 150000 + "]" * 150000
        spec = self.model_with("deep-spec.safetensors", spec=deep)
        self.refused("'spec' is nested too deeply", "energy", "--model", spec, "--data", self.data)
        for name in ("trained", "note"):
            model = self.model_with(f"deep-{name}.safetensors", **{name: deep})
            self.refused(f"'{name}' is nested too deeply", "energy", "--model", model, "--data", self.data)
        note = self.model_with("a-note.safetensors", note="[x] {y")  # no JSON: only a text
        code, errors, _ = peak(["describe", "--model", note])
        self.assertEqual((code, errors), (0, ""))

    def test_nested_header(self):
        for text in (b"[" * 100000, b'{"a":' * 100000, b'{"x": ' + b"[" * 90 + b"]" * 90 + b"}"):
            self.refused("nest.safetensors", "energy", "--model", self.write("nest.safetensors", formats.safetensors(text, b"")), "--data", self.data)

    def test_a_header_of_many_objects(self):
        for name, one, words in (("empty", b"{}", "'dtype' is missing"),
                                 ("tensors", b'{"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}', "not an mdsm model")):
            with self.subTest(name):
                text = b"{" + b",".join(b'"%d": %s' % (i, one) for i in range(100_000)) + b"}"
                self.refused(words, "energy", "--model", self.write(name + ".safetensors", formats.safetensors(text, b"")), "--data", self.data)

    def test_a_header_of_many_values(self):
        text = b'{"x": {"dtype": "F32", "data_offsets": [0, 0], "shape": [' + b"1," * 4_000_000 + b"1]}}"
        self.refused("list of more than", "energy", "--model", self.write("wide.safetensors", formats.safetensors(text, b"")), "--data", self.data)

    def test_nested_configuration(self):
        for name, text in (("dots.toml", "a." * 40000 + "a = 1"), ("table.toml", "[" + "a." * 40000 + "a]"),
                           ("quoted.toml", "\"=\"." * 20000 + "a = 1"), ("inline.toml", "x = { " + "b." * 40000 + "b = 1 }"),
                           ("lists.toml", "x = " + "[" * 100000), ("lists.json", "[" * 100000), ("objects.json", '{"a":' * 100000)):
            with self.subTest(name):
                self.refused(name, "train", "--config", self.write(name, text.encode()), "--dry-run", codes=(2,))

    def test_nested_run_files(self):
        folder = self.at("deep-run")
        shutil.copytree(self.trained, folder)
        with open(folder + "/stats.jsonl", "a", encoding="utf-8") as file:
            file.write("[" * 300000 + "\n" + '{"step":' * 100000 + "\n")
        code, errors, _ = peak(["train", "--resume", folder, "--steps", 6])
        self.assertEqual(code, 0, errors)
        with open(folder + "/options.json", "w", encoding="utf-8") as file:
            file.write('{"data":' + "[" * 200000 + "]" * 200000 + "}")
        self.refused("options.json", "train", "--resume", folder, "--steps", 7)

    # Numbers beyond their type

    def spec(self, **changes):
        with open(self.model, "rb") as file:
            head, _ = formats.split_safetensors(file.read())
        return json.dumps({**json.loads(head["__metadata__"]["spec"]), **changes})

    def test_numbers_of_a_spec(self):
        for key, value in (("width", 1e300), ("size", -1e300), ("channels", 2**64 - 1), ("width", 1.5), ("size", "8"), ("size", None)):
            with self.subTest(key=key, value=value):
                model = self.model_with("spec.safetensors", spec=self.spec(**{key: value}))
                self.refused(f"bad network spec: .*{key}", "energy", "--model", model, "--data", self.data)

    def test_samples_that_cannot_be(self):
        out, command = self.at("samples"), ["sample", "--model", self.model, "-n", 2, "--sampler", "fast", "--steps", 4]
        run(*command, "--out", out)
        with open(out + "/samples.json", encoding="utf-8") as file:
            good = json.load(file)
        for key, value in (("shape", [2**54] * 3), ("shape", [1e300, 8, 8]), ("shape", [0, 0, 0]), ("seeds", [1e300, 2]),
                           ("seeds", [-1, 2]), ("draws", 1e300), ("energy", [1e300, 1]), ("energy", "none"), ("seeds", [])):
            with self.subTest(key=key, value=value):
                with open(out + "/samples.json", "w", encoding="utf-8") as file:
                    json.dump({**good, key: value}, file)
                self.refused("samples.*damaged", *command, "--resume", "--out", out)
        with open(out + "/samples.json", "w", encoding="utf-8") as file:
            file.write("[" * 300000)
        self.refused("samples.json: damaged", *command, "--resume", "--out", out)
        shutil.rmtree(out)
        self.write("samples/parts/run.json", json.dumps({"parameters": good["parameters"]}).encode())
        self.write("samples/parts/000000.json", json.dumps({**good, "shape": [2**54] * 3, "seeds": [], "energy": [], "sigma": [],
                                                            "evaluations": []}).encode())
        self.refused("damaged", *command, "--resume", "--out", out)

    # A little that becomes much

    def test_png(self):
        grey = header(16, 16)
        rows = chunk(b"IDAT", zeros(16 * 17))
        end = chunk(b"IEND", b"")
        for name, content, words in (
                ("claimed text", png(header(5, 7, 1), chunk(b"tEXt", b"a\0b", 1526726663)), "damaged PNG"),
                ("many pixels", png(header(32000, 32000, 1), chunk(b"IDAT", zeros(32000 * 4001)), end), "too many"),
                ("claimed pixels", png(header(8000, 8000, 16, 6), rows, end), "damaged PNG"),
                ("long IDAT", png(grey, chunk(b"IDAT", b"xyz", 2**31 - 1)), "damaged PNG")):
            with self.subTest(name):
                self.refused(words, "data", os.path.dirname(self.write(f"png/{name}/a.png", content)))
        # Text, comments and profiles are not even looked at.
        text = chunk(b"zTXt", b"a\0\0" + zeros(8_000_000))
        path = self.write("png/text/a.png", png(grey, text * 700, rows, end))
        code, errors, memory = peak(["data", os.path.dirname(path)])
        self.assertEqual(code, 0, errors)
        if MEASURED:
            self.assertLess(memory, MAX_MEMORY)

    def test_archives(self):
        inner = gzip.compress(tar_of("data_batch_1.bin", 30_000_000), mtime=0)
        self.refused("no whole number of CIFAR-10 records", "data", self.write("many.tar.gz", inner))
        batches = tar([(f"data_batch_{i}", bytes(100_000_000)) for i in range(1, 6)])  # a real one has 31 MB
        self.refused("more than", "data", self.write("large.tar.gz", gzip.compress(batches, 1, mtime=0)))
        twice = gzip.compress(gzip.compress(inner, mtime=0), mtime=0)
        self.refused("compressed more than once", "data", self.write("nested.tar.gz", twice))

    def test_archives_of_images(self):
        side = 4096
        image = png(header(side, side), chunk(b"IDAT", zeros(side * (side + 1))), chunk(b"IEND", b""))
        files = tar([("a.png", image)] + [(f"b{i}.png", b"x") for i in range(19)])
        self.refused("19 of 20 images cannot be read", "data", self.write("one.tar.gz", gzip.compress(files, mtime=0)))
        names = [f"{i}.png" for i in range(6)]
        for size, start, words in ((120_000_000, b"", "0.png of 120 MB"), (60_000_000, b"", "neither PNG"), (60_000_000, image[:33], "damaged PNG")):
            content = start + bytes(size - len(start))
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                for name in names:
                    archive.writestr(name, content)
            for end, archive in ((".zip", packed.getvalue()), (".tar.gz", gzip.compress(tar((name, content) for name in names), 1, mtime=0))):
                with self.subTest(end=end, size=size, words=words):
                    path = self.write("large" + end, archive)
                    self.refused(words, "data", path)
                    self.refused("none of 6 images can be read", "data", path, "--skip-damaged")

    def test_labels_of_an_archive(self):
        image = png(header(1, 1), chunk(b"IDAT", zeros(2)), chunk(b"IEND", b""))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.png", image)
            archive.writestr("dataset.json", b'{"labels": [' + b"[]," * 10_000_000 + b"[]]}")
        self.refused("more than", "data", self.write("labels.zip", packed.getvalue()))

    def test_idx(self):
        os.mkfifo(self.at("b-images-idx3-ubyte"))
        self.refused("not a regular file", "data", self.at("b-images-idx3-ubyte"))
        images = bytes(300_000 * 784)
        for claimed, words in ((2_000_000, "too many for"), (310_000, "the file holds 300000"), (290_000, "goes on")):
            with self.subTest(claimed=claimed):
                path = self.write("a-images-idx3-ubyte.gz", gzip.compress(struct.pack(">IIII", 0x803, claimed, 28, 28) + images, mtime=0))
                if claimed > 300_000:
                    self.refused(words, "data", path)
                else:
                    self.assertIn(words, peak(["data", path])[1])
        self.refused("the file holds 6;", "data", self.write("a-images-idx3-ubyte", struct.pack(">IIII", 0x803, 2**31 - 1, 28, 28) + bytes(5000)))

    def test_npz(self):
        size, shape = 250_000_000, (250_000, 1, 25, 40)
        more = formats.npy((260_000, 1, 25, 40), b"", "|u1")
        self.refused("the header says", "data", self.write("images.npz", npz("arr_0.npy", more, size)))
        # The archive says that there are as many bytes as the array's header does, and has fewer.
        whole = len(more) + 260_000_000
        lying = npz("arr_0.npy", more, size).replace(struct.pack("<I", len(more) + size), struct.pack("<I", whole))
        self.refused("damaged archive|the file ends", "data", self.write("images.npz", lying))
        good = npz("arr_0.npy", formats.npy(shape, b"", "|u1"), size)
        directory = good.rindex(b"PK\1\2")
        wrong = good[:14] + b"abcd" + good[18:directory + 16] + b"abcd" + good[directory + 20:]  # the checksum
        self.refused("damaged archive", "data", self.write("images.npz", wrong))
        out = io.BytesIO(npz("arr_0.npy", formats.npy((2, 1, 8, 8), b"", "|u1"), 128))
        with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("arr_1.npy", formats.npy((size // 8,), b"", "<f8") + bytes(size))
        self.refused("one label for each image", "data", self.write("images.npz", out.getvalue()))

    def test_pictures(self):
        side = 8192
        rows = zeros((side // 8 + 1) * side)
        palette = header(side, side, 1, 3) + chunk(b"PLTE", bytes(6))
        blocks = (side // 8) ** 2
        files = (("palette.png", png(palette, chunk(b"IDAT", rows[:-200]), chunk(b"IEND", b"")), "damaged PNG"),
                 ("a.jpg", jpeg(side, 80), "cannot hold 8192x8192"), ("most.jpg", jpeg(side, blocks * 99 // 100), "damaged JPEG"),
                 ("a.webp", webp(side, b"\xff" * 19 + b"\0"), "damaged WebP"),
                 ("tile.tif", tiff(t322=16384, t323=16384, t324=8, t325=100), "tiles of 16384x16384"),
                 ("rows.tif", tiff(t256=8192, t257=8000, t273=8, t278=1, t279=100), "damaged TIFF"))
        for name, content, words in files:
            with self.subTest(name):
                self.refused(words, "data", self.write("pictures/" + name, content))
        # What is whole is read, with one copy beside it; libwebp keeps one of its own.
        for name, content in (("whole.png", png(palette, chunk(b"IDAT", rows), chunk(b"IEND", b""))), ("whole.jpg", jpeg(side, blocks)),
                              ("whole.webp", webp(side, b"\x88\x88\x08" + bytes(15)))):
            with self.subTest(name):
                code, errors, memory = peak(["data", self.write("pictures/" + name, content)])
                self.assertEqual((code, errors), (0, ""))
                if MEASURED:
                    self.assertLess(memory, 500)

    def refused_statistics(self, words, start, zeros_after):
        """Of mu, 4,096 zeros, and this sigma."""
        size = 4096
        out = io.BytesIO(npz("sigma.npy", start, zeros_after))
        with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("mu.npy", formats.npy((size,), bytes(8 * size), "<f8"))
        fixtures = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures")
        self.refused(words, "evaluate", "--samples", fixtures + "/images.npy", "--classifier",
                     fixtures + "/classifier.safetensors", "--statistics", self.write("s.npz", out.getvalue()))

    def test_statistics_that_are_not_symmetric(self):
        first = bytes(8 * 4095) + struct.pack("<d", 1)
        self.refused_statistics("not symmetric", formats.npy((4096, 4096), b"", "<f8") + first, 8 * 4096 * 4095)

    def test_statistics_of_small_values(self):
        self.refused_statistics("134217728 values, 16793600 at most", formats.npy((8 * 4096, 4096), b"", "|i1"), 8 * 4096**2)

    def test_statistics(self):
        size = 6000
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("mu.npy", formats.npy((size,), bytes(8 * size), "<f8"))
            with archive.open("sigma.npy", "w", force_zip64=True) as file:
                file.write(formats.npy((size, size), b"", "<f8"))
                for _ in range(size):
                    file.write(bytes(8 * size))
        path = self.write("s.npz", out.getvalue())
        fixtures = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures")
        self.refused("s.npz", "evaluate", "--samples", fixtures + "/images.npy", "--classifier", fixtures + "/classifier.safetensors",
                     "--statistics", path)

    def test_matlab(self):
        start = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
        pixels = bytes(60_000 * 3072)
        packed = zlib.compress(matrix(9, (32, 32, 3, 60_000), b"X", struct.pack("<II", 2, len(pixels)) + pixels))
        self.refused("has no variable y", "data", self.write("m/x.mat", start + struct.pack("<II", 15, len(packed)) + packed))
        for name, content in (("cells", matrix(1, (0x07000040, 4, 3, 2), b"X")), ("numbers", matrix(9, (2**30, 2**30, 3, 2), b"X")),
                              ("struct", matrix(2, (2**31 - 1, 2**31 - 1), b"X"))):
            with self.subTest(name):
                packed = zlib.compress(content)
                for body in (content, struct.pack("<II", 15, len(packed)) + packed):
                    self.refused("no plain array", "data", self.write("m/test_32x32.mat", start + body), "--split", "test")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
