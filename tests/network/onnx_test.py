"""mdsm export to ONNX against onnxruntime: energies and denoised images of the models that come with the program and of
small networks of every head, with random weights.

Usage: onnx_test.py PATH_OF_MDSM FOLDER. onnxruntime-node is installed into FOLDER by npm, once; without npm or a
registry the test is skipped (77). What can be checked without it is checked before."""
import array
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "../cli"))
import formats
import png_tools
from program import call, run

FOLDER = os.path.abspath(sys.argv[2])
MODULES = os.path.join(FOLDER, "node_modules")
PACKAGE = "onnxruntime-node@1"
TOLERANCE = 1e-4
NETWORKS = [
    ("res6", 8, 1, 16, ("--head", "quadratic")),
    ("res12", 4, 3, 16, ("--head", "linear", "--bowl", "0.7")),
    ("res18", 4, 3, 24, ("--head", "quadratic", "--bowl", "1")),
    ("res34", 4, 1, 16, ("--head", "quadratic")),
    ("unet", 8, 3, 16, ("--head", "squared-residual", "--levels", "3", "--activation", "elu")),
    ("unet", 8, 1, 16, ("--head", "inner-product", "--levels", "2", "--blocks", "2")),
    ("unet", 8, 1, 16, ("--head", "predicted-noise", "--levels", "4", "--denoiser-steps", "1")),
    ("unet", 4, 3, 16, ("--head", "squared-residual", "--levels", "1")),
]
DENOISERS = {head: ("unet", 8, 1, 16, ("--head", head, "--levels", "3")) for head in ("denoiser", "residual-denoiser")}


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def runtime():
    if os.path.isdir(os.path.join(MODULES, "onnxruntime-node")):
        return
    if not shutil.which("npm"):
        skip("npm is missing, which would install onnxruntime-node")
    os.makedirs(FOLDER, exist_ok=True)
    # Its install script only fetches libraries for GPUs.
    made = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries", "0", "--prefix", FOLDER,
                           PACKAGE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
    if made.returncode != 0:
        skip(f"npm could not install {PACKAGE}: {made.stdout.strip().splitlines()[-1]}")


def varint(content, at):
    value, shift = 0, 0
    while True:
        value, shift, at = value | (content[at] & 127) << shift, shift + 7, at + 1
        if content[at - 1] < 128:
            return value, at


def fields(content):
    """[(number, value)] of a message of Protocol Buffers."""
    found, at = [], 0
    while at < len(content):
        key, at = varint(content, at)
        if key & 7 == 0:
            value, at = varint(content, at)
        else:
            assert key & 7 == 2, key & 7
            length, at = varint(content, at)
            assert at + length <= len(content)
            value, at = content[at:at + length], at + length
        found.append((key >> 3, value))
    return found


def texts(message, number):
    return [value.decode() for field, value in fields(message) if field == number]


def check_file(path):
    """Every input of every operator is made before, every name once, and weights are stored once."""
    with open(path, "rb") as file:
        model = fields(file.read())
    graph = fields(dict(model)[7])
    made = [name for field, value in graph if field in (5, 11) for name in texts(value, 8 if field == 5 else 1)]
    weights = sum(len(body) for field, value in graph if field == 5 for number, body in fields(value) if number == 9)
    for field, node in graph:
        if field == 1:
            for name in texts(node, 1):
                assert name == "" or name in made, f"{name} is used before it is made"
            made += texts(node, 2)
    assert len(set(made)) == len(made)
    assert set(name for field, value in graph if field == 12 for name in texts(value, 1)) <= set(made)
    return weights


def random_model(folder, name, network, width, channels, size, options):
    """A model file whose weights are all random: those of a fresh network are zero here and there."""
    draw = random.Random(name)
    data, runs = os.path.join(folder, "data.npy"), os.path.join(folder, name + "-run")
    with open(data, "wb") as file:
        file.write(formats.npy((2, channels, size, size), formats.floats([draw.random() for _ in range(2 * channels * size * size)])))
    run("train", "--data", data, "--net", network, "--width", width, "--steps", 2, "--batch", 2, "--out", runs, "--threads", 1, *options)
    model = os.path.join(folder, name + ".safetensors")
    with open(os.path.join(runs, os.listdir(runs)[0], "ema.safetensors"), "rb") as file:
        header, content = formats.split_safetensors(file.read())
    values = array.array("f", content)
    for key, entry in header.items():
        if key != "__metadata__":
            begin, end = (offset // 4 for offset in entry["data_offsets"])
            gain = {4: 2, 2: 20, 1: 0.1}[len(entry["shape"])]  # convolutions, heads, biases
            reach = gain * (entry["shape"][0] / (end - begin)) ** 0.5
            values[begin:end] = array.array("f", [draw.uniform(-reach, reach) for _ in range(end - begin)])
    with open(model, "wb") as file:
        file.write(formats.safetensors(header, values.tobytes()))
    return model


def read_npy(path):
    with open(path, "rb") as file:
        content = file.read()
    return array.array("f", content[10 + int.from_bytes(content[8:10], "little"):])


def read_floats(path):
    with open(path, "rb") as file:
        return array.array("f", file.read())


def distance(found, wanted, what):
    assert len(found) == len(wanted), what
    worst = max(abs(a - b) for a, b in zip(found, wanted)) / max(1, max(map(abs, wanted)))
    assert worst <= TOLERANCE, f"{what}: {worst:.1e}"
    return worst


class Comparison:
    """Gathers what is to run, so that node starts once."""

    def __init__(self, folder):
        self.folder, self.requests, self.wanted = folder, [], []

    def add(self, name, model, shape, images, energy, denoised):
        onnx = os.path.join(self.folder, name + ".onnx")
        if not os.path.exists(onnx):
            run("export", model, onnx)
            check_file(onnx)
        out = os.path.join(self.folder, f"{name}-{len(self.requests)}")
        with open(out + ".x", "wb") as file:
            images.tofile(file)
        self.requests.append({"model": onnx, "images": out + ".x", "shape": shape, "out": out})
        # What the network does to the images must be more than rounding.
        assert max(abs(a - b) for a, b in zip(images, denoised)) > 0.05, name
        self.wanted.append((name, shape, out, energy, denoised))

    def add_energy(self, name, model, sigma0, shape):
        draw, count = random.Random(name), shape[0] * shape[1] * shape[2] * shape[3]
        images = array.array("f", [draw.random() for _ in range(count)])
        data, energy, gradient = (os.path.join(self.folder, end + ".npy") for end in ("x", "energy", "gradient"))
        with open(data, "wb") as file:
            file.write(formats.npy(tuple(shape), images.tobytes()))
        run("energy", "--model", model, "--data", data, "--out", energy, "--gradient", gradient, "--pad", 0, "--threads", 1)
        denoised = [x - sigma0**2 * g for x, g in zip(images, read_npy(gradient))]
        self.add(name, model, shape, images, read_npy(energy), denoised)

    def add_denoiser(self, name, model, height, width):
        draw, picture, out = random.Random(name), os.path.join(self.folder, "deep.png"), os.path.join(self.folder, name + "-denoised")
        rows = [[draw.randrange(65536) for _ in range(width)] for _ in range(height)]
        with open(picture, "wb") as file:
            file.write(formats.deep_png(rows))
        run("denoise", picture, "--model", model, "--out", out, "--threads", 1)
        wanted = [value / 65535 for row in png_tools.read_deep_png(os.path.join(out, "deep.png")) for value in row]
        self.add(name, model, [1, 1, height, width], array.array("f", [value / 65535 for row in rows for value in row]), None, wanted)

    def compare(self):
        request = os.path.join(self.folder, "request.json")
        with open(request, "w", encoding="utf-8") as file:
            json.dump(self.requests, file)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx_run.js")
        result = subprocess.run(["node", script, MODULES, request], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900,
                                check=False)
        assert result.returncode == 0, result.stdout
        for name, shape, out, energy, denoised in self.wanted:
            found = read_floats(out + ".denoised")
            if energy is None:  # the picture was cut to what PNG can hold
                found = [min(1, max(0, value)) for value in found]
            print(name, shape, f"denoised {distance(found, denoised, name + ' denoised'):.1e}", end="")
            with open(out + ".denoised.shape", encoding="utf-8") as file:
                assert json.load(file) == shape
            assert os.path.exists(out + ".energy") == (energy is not None)
            print(f", energy {distance(read_floats(out + '.energy'), energy, name + ' energy'):.1e}" if energy is not None else "")


def main():
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(folder)
        for one in json.loads(run("models", "--json")):
            if one["name"] in ("fashion-mnist", "stacked-mnist", "cifar10"):
                size, channels = (28, 1) if one["name"] == "fashion-mnist" else (32, 3)
                comparison.add_energy(one["name"], one["name"], 0.1, [3, channels, size, size])
        comparison.add_energy("cifar10", "cifar10", 0.1, [2, 3, 21, 34])
        for network, width, channels, size, options in NETWORKS:
            name = "-".join([network, options[1], options[3] if len(options) > 3 else ""])
            model = random_model(folder, name, network, width, channels, size, (*options, "--sigma0", 0.2))
            comparison.add_energy(name, model, 0.2, [3, channels, size, size])
            if network == "unet":
                comparison.add_energy(name, model, 0.2, [1, channels, 19, 9])
        for head, made in DENOISERS.items():
            comparison.add_denoiser(head, random_model(folder, head, *made), 18, 23)
        half = call("export", "cifar10", os.path.join(folder, "half.onnx"), "--half")
        assert half.returncode == 2 and "--half" in half.stderr, half.stderr
        runtime()
        comparison.compare()


if __name__ == "__main__":
    main()
