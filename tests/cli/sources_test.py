"""Data as other programs distribute it, made to the formats' own descriptions and read by `mdsm data`: CIFAR in its Python
version, zip files of EDM, WebDataset shards, packed folders, .npz files in and out. And what is not read is said."""
import json
import os
import pickle
import random
import shutil
import sys
import tempfile
import unittest
import zipfile

import numpy

import formats
import png_tools
from program import call, run

DRAW = random.Random(7)
CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


class Sources(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="mdsm_sources_")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def at(self, *names):
        return os.path.join(self.root, *names)

    def put(self, name, content):
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        with open(self.at(name), "wb") as file:
            file.write(content)
        return self.at(name)

    def pixels(self, n, shape=(3, 32, 32)):
        return numpy.frombuffer(DRAW.randbytes(n * shape[0] * shape[1] * shape[2]), numpy.uint8).reshape(n, *shape)

    def png(self, image):
        """image: (C,H,W)."""
        path = self.at("one.png")
        png_tools.write_png(path, [bytes(row) for row in image.transpose(1, 2, 0).reshape(image.shape[1], -1)], image.shape[0])
        with open(path, "rb") as file:
            content = file.read()
        os.remove(path)
        return content

    def expect(self, source, pixels, labels=None, *more):
        """What mdsm reads from the source, through the .npz file that it writes."""
        found = json.loads(run("data", source, "--pad", 0, "--json", "--npz", self.at("out.npz"), "--force", *more))
        self.assertEqual(found["count"], len(pixels))
        with numpy.load(self.at("out.npz")) as arrays:
            self.assertEqual(arrays["arr_0"].dtype, numpy.uint8)
            numpy.testing.assert_array_equal(arrays["arr_0"].transpose(0, 3, 1, 2), pixels)
            if labels is None:
                self.assertNotIn("arr_1", arrays)
            else:
                self.assertEqual(list(arrays["arr_1"]), list(labels))
        return found

    def batches(self, *names, classes=10, rows=4, key="labels"):
        files, pixels, labels = [], [], []
        for name in names:
            pixels.append(self.pixels(rows))
            labels += [DRAW.randrange(classes) for _ in range(rows)]
            files.append((name, formats.cifar_pickle(pixels[-1].tobytes(), labels[-rows:], key)))
            again = pickle.loads(files[-1][1], encoding="latin1")  # as torchvision reads it
            numpy.testing.assert_array_equal(again["data"].reshape(-1, 3, 32, 32), pixels[-1])
        return files, numpy.concatenate(pixels), labels

    def test_cifar10_python(self):
        train, pixels, labels = self.batches(*[f"cifar-10-batches-py/data_batch_{i}" for i in range(1, 6)])
        test, test_pixels, test_labels = self.batches("cifar-10-batches-py/test_batch")
        meta = [("cifar-10-batches-py/batches.meta", pickle.dumps({"label_names": ["a"]}, 2)),
                ("cifar-10-batches-py/readme.html", b"<html>")]
        self.put("set/cifar-10-python.tar.gz", formats.tar(meta + train[::-1] + test, "w:gz"))
        found = self.expect("cifar10:" + self.at("set"), pixels, labels)
        self.assertEqual({one["name"] for one in found["classes"]}, {CIFAR10[label] for label in labels})
        self.expect(self.at("set/cifar-10-python.tar.gz"), test_pixels, test_labels, "--split", "test")
        for name, content in meta + train + test:
            self.put("unpacked/" + name, content)
        self.expect(self.at("unpacked"), pixels, labels)
        self.expect(self.at("unpacked/cifar-10-batches-py"), pixels[:5], labels[:5], "--limit", 5)
        self.expect(self.at("unpacked/cifar-10-batches-py/data_batch_1"), pixels[:4], labels[:4])
        self.put("renamed.tar", formats.tar(train + test))
        self.expect(self.at("renamed.tar"), pixels, labels)

    def test_cifar_pickled_by_python_3(self):
        pixels = self.pixels(3)
        self.put("data_batch_1", pickle.dumps({"data": pixels.reshape(3, -1), "labels": [1, 2, 3]}, 4))
        self.expect(self.at("data_batch_1"), pixels, [1, 2, 3])

    def test_cifar100_python(self):
        train, pixels, labels = self.batches("cifar-100-python/train", classes=100, rows=9, key="fine_labels")
        test, test_pixels, test_labels = self.batches("cifar-100-python/test", classes=100, rows=5, key="fine_labels")
        names = [f"class{i}" for i in range(100)]
        meta = [("cifar-100-python/meta", pickle.dumps({"fine_label_names": names}, 2))]
        self.put("set/cifar-100-python.tar.gz", formats.tar(train + meta + test, "w:gz"))
        found = self.expect(self.at("set/cifar-100-python.tar.gz"), pixels, labels)
        self.assertEqual({one["name"] for one in found["classes"]}, {f"class{i}" for i in labels})
        self.expect(self.at("set"), test_pixels, test_labels, "--split", "test")
        records = b"".join(bytes([1, label]) + image.tobytes() for label, image in zip(labels, pixels))
        self.put("binary/train.bin", records)
        self.expect(self.at("binary"), pixels, labels)

    def test_pickles_that_are_something_else(self):
        pixels = self.pixels(2)
        for content, words in (
                (formats.hostile_pickle("touch " + self.at("ran")), "posix.system', which is refused"),
                (pickle.dumps([1, 2], 2), "it has no 'data'"),
                (formats.cifar_pickle(pixels.tobytes(), [1, 2])[:-2000], "ends in the middle"),
                (formats.cifar_pickle(pixels.tobytes()[:-1], [1, 2]), "another length"),
                (formats.cifar_pickle(pixels.tobytes(), [1, 10]), "image 1 has the label 10"),
                (pickle.dumps({"data": pixels.astype(float).reshape(2, -1), "labels": [1, 2]}, 4), "not of type uint8")):
            result = call("data", self.put("data_batch_1", content))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(words, result.stderr)
        self.assertFalse(os.path.exists(self.at("ran")))

    def test_zip_of_edm(self):
        """dataset_tool.py: stored PNG files in folders of up to 1,000, labels in dataset.json."""
        pixels, labels = self.pixels(6, (3, 16, 16)), [4, 0, 1, 1, 2, 9]
        names = [f"{i // 3:05d}/img{i:08d}.png" for i in range(6)]
        files = [(name, self.png(image)) for name, image in zip(names, pixels)]
        for listed, expected in (([list(pair) for pair in zip(names, labels)], labels), (None, None)):
            self.put("edm.zip", formats.zipped(files + [("dataset.json", json.dumps({"labels": listed}))]))
            self.expect(self.at("edm.zip"), pixels, expected)
        self.put("edm.zip", formats.zipped(files + [("dataset.json", b'{"labels": [["a", -1]]}')]))
        self.assertIn("dataset.json: a label below 0", call("data", self.at("edm.zip")).stderr)

    def test_webdataset(self):
        pixels, labels = self.pixels(7, (1, 16, 16)), [3, 1, 4, 1, 5, 9, 2]
        files = []
        for i, (image, label) in enumerate(zip(pixels, labels)):
            files += [(f"{i:06d}.png", self.png(image)), (f"{i:06d}.cls", str(label).encode()), (f"{i:06d}.json", b"{}")]
        self.put("shards/train-000000.tar", formats.tar(files[:9]))
        self.put("shards/train-000001.tar", formats.tar(files[9:]))
        self.expect(self.at("shards"), pixels, labels)
        self.expect(self.at("shards/train-000001.tar"), pixels[3:], labels[3:])
        self.assertIn("4 files are left out", call("data", self.at("shards/train-000001.tar")).stderr)
        self.put("bad.tar", formats.tar([files[0], ("000000.cls", b"cat")]))
        self.assertIn("000000.cls: no class in it", call("data", self.at("bad.tar")).stderr)

    def test_packed_folders(self):
        pixels = self.pixels(5, (3, 8, 8))
        names = ["./train/cat/1.png", "./train/dog/1.png", "./train/dog/2.png", "./test/cat/1.png", "./test/dog/x.png"]
        files = [(name, self.png(image)) for name, image in zip(names, pixels)]
        for name, content in (("a.tar", formats.tar(files)), ("a.tar.gz", formats.tar(files, "w:gz")),
                              ("a.tar.xz", formats.tar(files, "w:xz")), ("a.zip", formats.zipped(files, zipfile.ZIP_DEFLATED))):
            self.put(name, content)
            found = self.expect(self.at(name), pixels[:3], [0, 1, 1])
            self.assertEqual([one["name"] for one in found["classes"]], ["cat", "dog"])
            self.expect(self.at(name), pixels[3:], [0, 1], "--split", "test")
            self.expect(self.at(name), pixels[:2], [0, 1], "--limit", 2)
        self.put("flat.zip", formats.zipped([("b.png", self.png(pixels[0])), ("a.png", self.png(pixels[1]))]))
        self.expect(self.at("flat.zip"), pixels[:2])
        spoiled = self.png(pixels[2])[:-20]
        self.put("spoiled.zip", formats.zipped([("a.png", self.png(pixels[0])), ("b.png", spoiled)]))
        self.assertIn("spoiled.zip: b.png: damaged PNG", call("data", self.at("spoiled.zip")).stderr)
        self.expect(self.at("spoiled.zip"), pixels[:1], None, "--skip-damaged")
        for name, content, words in (("none.tar", formats.tar([("readme.txt", b"hello")]), "no images in this archive; 1 other"),
                                     ("text.tar", b"no archive at all", "text.tar: damaged archive"),
                                     ("text.zip", b"no archive at all", "text.zip: damaged archive")):
            result = call("data", self.put(name, content))
            self.assertEqual(result.returncode, 1)
            self.assertIn(words, result.stderr)

    def test_npz(self):
        pixels, labels = self.pixels(4, (3, 16, 16)), numpy.array([5, 0, 3, 3])
        last = pixels.transpose(0, 2, 3, 1)
        numpy.savez(self.at("adm.npz"), last)  # guided-diffusion, image_sample.py without classes
        self.expect(self.at("adm.npz"), pixels)
        numpy.savez(self.at("classes.npz"), last, labels)
        self.expect(self.at("classes.npz"), pixels, labels)
        self.expect(self.at("classes.npz"), pixels[:2], labels[:2], "--limit", 2)
        numpy.savez_compressed(self.at("small.npz"), images=pixels)
        self.expect(self.at("small.npz"), pixels)
        numpy.savez(self.at("two.npz"), a=last, b=last)
        self.assertIn("2 arrays and none is arr_0: a, b", call("data", self.at("two.npz")).stderr)
        numpy.savez(self.at("short.npz"), last, labels[:3])
        self.assertIn("arr_1: an array of (3) for 4 images", call("data", self.at("short.npz")).stderr)
        result = call("data", self.at("adm.npz"), "--npz", self.at("two.npz"))
        self.assertIn("exists already", result.stderr)

    def test_what_is_not_read_is_said(self):
        self.put("folder/a.png", self.png(self.pixels(1, (3, 8, 8))[0]))
        for name in ("b.gif", "c.gif", "notes"):
            self.put("folder/" + name, b"something")
        self.put("elsewhere/d.png", self.png(self.pixels(1, (3, 8, 8))[0]))
        os.symlink(self.at("elsewhere"), self.at("folder/linked"))
        result = call("data", self.at("folder"))
        self.assertEqual(result.returncode, 0)
        self.assertIn("3 files are left out, whose names are not those of images (2 .gif, 1 without ending; b.gif, ...)",
                      result.stderr)
        self.assertIn("1 linked folder is not followed: linked", result.stderr)
        os.remove(self.at("folder/a.png"))
        result = call("data", self.at("folder"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no images in this folder; 3 files of other kinds, as b.gif; a link to a folder, linked", result.stderr)

    def test_more_than_the_memory(self):
        """A folder of links to one large picture, more than half of the free memory in all: the sizes are said and nothing is kept."""
        side = 4096
        png_tools.write_png(self.at("one.png"), [bytes(3 * side)] * side, 3)
        with open("/proc/meminfo", encoding="ascii") as file:
            free, = [1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable")]
        os.mkdir(self.at("many"))
        for i in range(int(0.7 * free / (3 * side * side))):
            os.link(self.at("one.png"), self.at("many", f"{i}.png"))
        started = "train", "--net", "unet", "--width", 4, "--batch", 1, "--steps", 1, "--dry-run", "--out", self.at("runs"), "--data"
        said = r"many: \d+ images would need [0-9.]+ [MGT]B of memory, [0-9.]+ [MGT]B are available: they are read from the disk"
        self.assertRegex(call(*started, self.at("many")).stderr, said)
        self.assertNotRegex(call(*started, self.at("many"), "--limit", 1).stderr, said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
