"""Makes the spoiled files of the bad-input table, all derived from good ones by the smallest change."""
import base64
import copy
import gzip
import io
import json
import math
import os
import struct
import tarfile

import formats

# 4x3 pixels (60 x, 100 y, 30 (x + y)), alpha 255 - 40 x, without loss, with a profile and EXIF orientation 6; and the same without, with loss.
WEBP = base64.b64decode(
    "UklGRg4BAABXRUJQVlA4WAoAAAA4AAAAAwAAAgAASUNDUIQAAAAAAACEAAAAAAQAAABtbnRyUkdCIFhZWiAAAAAAAAAAAAAAAABh"
    "Y3NwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAABWUDhMQQAAAC8DgAAQXyAQSPJnGGhEgUAyWPiDEWTbnKQk9wcZCUG2zXHmT1Obh3YAuM/lclUD"
    "ABAEkCjEksMsK80yaUT/A/cGAEVYSUYaAAAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAA=")
LOSSY_WEBP = base64.b64decode(
    "UklGRloAAABXRUJQVlA4IE4AAADwAQCdASoEAAMAAUAmJbACdEyAAdWhEIAA/sKzL4nUQmiAY/6jtZ8D+sajsh/FXPFh9b7XR9QH"
    "z/+V2pzH29o5MVH/bPexfP/5N2ZAAAA=")
# 16x16 grey, 284 bytes.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxO"
    "UlNSMj5aYVpQYEpRUk//wAALCAAQABABAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EACMQAAICAgEDBQEAAAAAAAAAAAECAxEE"
    "EjEFEyEAFBUiMkH/2gAIAQEAAD8APGxoouhvj4GywzQN3ZjrI2gB3WltVsV9mYcnirCz40XxPtI9o8H6PK41dpRsKG34Sm80Ws0O"
    "LolliRcCJ5i0XWm1eHtqd5VtVO9Dih4Jr8+DyPS5gkinxjhlo+sBwZ44lIDIwJ2ehW11/bIbzYqv/9k=")


def write(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def good_data(folder):
    """8 images of 8x8 as .npy, and a folder of PNGs: what a tiny run trains on."""
    pixels = [(i * 37 % 101) / 100 for i in range(8 * 64)]
    write(folder, "images.npy", formats.npy((8, 1, 8, 8), formats.floats(pixels)))
    for i in range(3):
        write(folder, f"pngs/{i}.png", formats.png(16, 16))
    write(folder, "picture.jpg", JPEG)


def bad_npy(folder):
    values = formats.floats([0.5] * 64)
    good = formats.npy((1, 1, 8, 8), values)
    nan = formats.floats([0.5] * 63 + [math.nan])
    for name, content in {
            "text": b"these are not the numbers you want\n",
            "empty": b"",
            "magic_only": b"\x93NUMPY",
            "truncated": good[:-10],
            "header_cut": good[:40],
            "nan": formats.npy((1, 1, 8, 8), nan),
            "object": formats.npy((1, 1, 8, 8), values, descr="|O"),
            "complex": formats.npy((1, 1, 8, 8), values * 2, descr="<c8"),
            "one_dimension": formats.npy((64,), values),
            "no_images": formats.npy((0, 1, 8, 8), b""),
            "huge": formats.npy((2**40, 2**40, 8, 8), values),
            "negative": formats.npy((-1, 1, 8, 8), values),
            "out_of_range": formats.npy((1, 1, 8, 8), formats.floats([255.0] * 64)),
            "not_square": formats.npy((1, 1, 8, 16), values * 2),
            "five_channels_last": formats.npy((1, 8, 9, 10), formats.floats([0.5] * 720)),
    }.items():
        write(folder, f"npy/{name}.npy", content)


def bad_idx(folder):
    pixels = bytes(3 * 28 * 28)
    good = formats.idx_gz((3, 28, 28), pixels)
    for name, content in {
            "truncated": good[:len(good) // 2],
            "wrong_magic": formats.idx_gz((3, 28, 28), pixels, magic=0x1234),
            "labels_only": formats.idx_gz((3000,), bytes(3000)),
            "short": formats.idx_gz((3, 28, 28), pixels[:-1]),
            "huge": formats.idx_gz((0xffffffff, 0xffffffff, 0xffffffff), pixels),
            "no_images": formats.idx_gz((0, 28, 28), b""),
            "not_gzip": b"\x1f\x8bnothing of the kind",
            "empty": b"",
    }.items():
        write(folder, f"idx/{name}/train-images-idx3-ubyte.gz", content)
    write(folder, "idx/plain_short/train-images-idx3-ubyte", formats.idx((3, 28, 28), pixels[:100]))


def bad_pictures(folder):
    good = formats.png(16, 16)
    spoiled = bytearray(good)
    spoiled[len(good) // 2] ^= 0xff
    for name, content in {
            "spoiled/a.png": bytes(spoiled),
            "cut/a.png": good[:-20],
            "enormous/a.png": formats.png(16, 16, claimed=(2**31 - 1, 2**31 - 1)),
            "text/a.png": b"a picture says more than a thousand words",
            "empty_file/a.png": b"",
            "jpeg_cut/a.jpg": JPEG[:200],
            "jpeg_start/a.jpg": JPEG[:4],
            "unequal/a.png": good,
            "unequal/b.png": formats.png(24, 24),
            "no_pictures/notes.txt": b"nothing to see",
    }.items():
        write(folder, f"pictures/{name}", content)
    os.makedirs(os.path.join(folder, "pictures/empty"), exist_ok=True)


def bad_archives(folder):
    write(folder, "cifar/short/data_batch_1.bin", bytes(3073 * 2 - 5))
    write(folder, "cifar/label/data_batch_1.bin", b"\xff" + bytes(3072))
    write(folder, "cifar/broken.tar.gz", gzip.compress(b"no tar in here" * 50, mtime=0))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("readme.txt")
        info.size = 5
        archive.addfile(info, io.BytesIO(b"hello"))
    write(folder, "cifar/other.tar.gz", out.getvalue())
    write(folder, "svhn/train_32x32.mat", b"MATLAB 5.0 MAT-file, in name only")


def bad_models(folder, good):
    """Every way a model file can be wrong. good: the bytes of a model that mdsm has written."""
    header, data = formats.split_safetensors(good)
    names = [name for name in header if name != "__metadata__"]
    first = names[0]

    def changed(change, body=data):
        copied = copy.deepcopy(header)
        change(copied)
        return formats.safetensors(copied, body)

    def rebuilt(chosen, extra=()):
        """A well-formed file of other tensors."""
        new, body = {"__metadata__": header["__metadata__"]}, b""
        for name in chosen:
            begin, end = header[name]["data_offsets"]
            new[name] = {**header[name], "data_offsets": [len(body), len(body) + end - begin]}
            body += data[begin:end]
        for name in extra:
            new[name] = {"dtype": "F32", "shape": [1], "data_offsets": [len(body), len(body) + 4]}
            body += bytes(4)
        return formats.safetensors(new, body)

    def with_value(value):
        begin = header[first]["data_offsets"][0]
        return data[:begin] + struct.pack("<f", value) + data[begin + 4:]

    def reshape(h):
        h[first]["shape"] = [1] + h[first]["shape"]

    def swap_offsets(h):
        h[first]["data_offsets"].reverse()

    for name, content in {
            "empty": b"",
            "four_bytes": good[:4],
            "text": b"certainly not a model, but long enough to have a header length in it",
            "absurd_length": struct.pack("<Q", 2**63) + good[8:],
            "length_past_end": struct.pack("<Q", len(good)) + good[8:],
            "no_json": formats.safetensors(b"{never closed", data),
            "header_list": formats.safetensors(b"[1, 2, 3]", data),
            "deep_json": formats.safetensors(b"[" * 100000, data),
            "truncated": good[:-100],
            "header_cut": good[:60],
            "nan": formats.safetensors(header, with_value(math.nan)),
            "infinite": formats.safetensors(header, with_value(math.inf)),
            "wrong_shape": changed(reshape),
            "offset_past_end": changed(lambda h: h[first].update(data_offsets=[0, 2**62])),
            "negative_offset": changed(lambda h: h[first].update(data_offsets=[-4, 0])),
            "offsets_swapped": changed(swap_offsets),
            "dtype": changed(lambda h: h[first].update(dtype="I64")),
            "dtype_nonsense": changed(lambda h: h[first].update(dtype=7)),
            "missing_parameter": rebuilt(names[1:]),
            "extra_parameter": rebuilt(names, ["surprise"]),
            "hole": changed(lambda h: h.pop(first)),
            "overlap": changed(lambda h: h.update(again=h[first])),
            "no_metadata": changed(lambda h: h.pop("__metadata__")),
            "metadata_list": changed(lambda h: h.update(__metadata__=[1])),
    }.items():
        write(folder, f"models/{name}.safetensors", content)
    # Whatever the key of the spec is called, spoiling every value of the metadata spoils it.
    write(folder, "models/metadata_spoiled.safetensors", changed(
        lambda h: h.update(__metadata__={key: "{broken" for key in h["__metadata__"]})))


def bad_state_dicts(folder, good, marker):
    """PyTorch files. marker: a file that exists only if somebody ran the hostile pickle."""
    header, data = formats.split_safetensors(good)
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = (entry["shape"], list(struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])))
    first = next(iter(tensors))
    shape, values = tensors[first]
    write(folder, "states/good.pt", formats.state_dict(tensors))

    hostile = formats.hostile_pickle(f"touch {marker}")
    container = formats.state_dict(tensors)
    for name, content in {
            "hostile_legacy": hostile,
            "hostile_zip": formats.container(hostile),
            "empty": b"",
            "text": b"not a pickle at all\n",
            "zip_without_pickle": formats.container(b"", {}).replace(b"data.pkl", b"data.txt"),
            "zip_cut": container[:len(container) // 2],
            "pickle_list": formats.container(b"\x80\x02]q\x00(K\x01K\x02e."),
            "pickle_cut": formats.container(b"\x80\x02}q\x00(X\x05"),
            "pickle_stack": formats.container(b"\x80\x02RRR."),
            "other_names": formats.state_dict({"layer1.weight": ((2, 2), [1, 2, 3, 4])}),
            "missing": formats.state_dict({n: t for n, t in tensors.items() if n != first}),
            "extra": formats.state_dict({**tensors, "surprise.weight": ((1,), [1])}),
            "nan": formats.state_dict({**tensors, first: (shape, [math.nan] + values[1:])}),
            "wrong_shape": formats.state_dict({**tensors, first: ([1] + shape, values)}),
            "short_storage": formats.state_dict(
                {**tensors, first: (shape, values[:-1], formats.contiguous(shape), len(values))}),
            "stride_past_end": formats.state_dict({**tensors, first: (shape, values, [2**40] * len(shape))}),
            "negative_stride": formats.state_dict({**tensors, first: (shape, values, [-9] * len(shape))}),
            "huge_shape": formats.state_dict({**tensors, first: ([2**40, 2**40, 3, 3], values, [0] * 4)}),
    }.items():
        write(folder, f"states/{name}.pt", content)


def bad_configs(folder):
    for name, content in {
            "broken.toml": b"width = = 8\n",
            "unknown.toml": b"widht = 8\n",
            "type.toml": b"width = \"wide\"\n",
            "date.toml": b"width = 2020-01-01\n",
            "broken.json": b"{\"width\": 8",
            "list.json": b"[1, 2]",
            "unknown.json": b"{\"learning-rate\": 0.1}",
    }.items():
        write(folder, f"configs/{name}", content)


def bad_runs(folder, good_run):
    """Run folders that --resume must refuse."""
    os.makedirs(os.path.join(folder, "runs/no_run"), exist_ok=True)
    write(folder, "runs/no_run/readme.txt", b"an ordinary folder")

    def copy_run(name, change):
        for base, _, files in os.walk(good_run):
            for file in files:
                source = os.path.join(base, file)
                with open(source, "rb") as opened:
                    content = opened.read()
                content = change(os.path.relpath(source, good_run), content)
                if content is not None:
                    write(folder, os.path.join("runs", name, os.path.relpath(source, good_run)), content)

    copy_run("options_broken", lambda file, c: c[:-5] if file == "options.json" else c)
    copy_run("options_missing", lambda file, c: None if file == "options.json" else c)
    copy_run("options_unknown", lambda file, c: json.dumps({**json.loads(c), "surprise": 1}).encode()
             if file == "options.json" else c)
    copy_run("state_cut", lambda file, c: c[:len(c) // 2] if "state" in file else c)


def old_results(folder):
    """Folders with results that nobody asked to replace, and a run that was never finished."""
    for name in ("likelihood", "outliers", "neighbours"):
        write(folder, f"done/{name}.json", b"{}")
    write(folder, "unfinished/state.safetensors", b"half a thought")


def make_all(folder, good_model, good_run, marker):
    bad_npy(folder)
    bad_idx(folder)
    bad_pictures(folder)
    bad_archives(folder)
    bad_models(folder, good_model)
    bad_state_dicts(folder, good_model, marker)
    bad_configs(folder)
    bad_runs(folder, good_run)
    old_results(folder)
    write(folder, "a_file", b"in the way")
    os.mkfifo(os.path.join(folder, "pipe"))
