"""Makes the small files that the fuzzers start from (tests/fuzz/corpus) with a program that is built:

    python3 tests/fuzz/make_corpus.py build/release/bin/mdsm

Files whose names begin with "crash" or "slow" are past problems; of those only the long ones, which are packed (.zz), are
made here. "good" ones must be read without an error."""
import glob
import io
import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import bad_files  # noqa: E402
import formats  # noqa: E402
import serve_tools  # noqa: E402
import tiff_tools  # noqa: E402

MDSM = os.path.abspath(sys.argv[1])


def put(target, name, content):
    os.makedirs(os.path.join(HERE, "corpus", target), exist_ok=True)
    with open(os.path.join(HERE, "corpus", target, name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def put_packed(target, name, content):
    put(target, name + ".zz", zlib.compress(content if isinstance(content, bytes) else content.encode(), 9))


def content(path):
    with open(path, "rb") as file:
        return file.read()


def matrix(kind, dims, name, tag, data):
    body = struct.pack("<IIII", 6, 8, kind, 0) + struct.pack("<II", 5, 4 * len(dims)) + struct.pack(f"<{len(dims)}I", *dims)
    body += bytes(-len(body) % 8) + struct.pack("<HH4s", 1, len(name), name)
    body += struct.pack("<II", tag, len(data)) + data + bytes(-len(data) % 8)
    return struct.pack("<II", 14, len(body)) + body


def arrays():
    small = formats.npy((2, 1, 4, 4), formats.floats([i / 32 for i in range(32)]))
    for target in ("npy", "npy_in_memory", "npy_images"):
        put(target, "float.npy", small)
        put(target, "bytes.npy", formats.npy((2, 4, 4), bytes(range(32)), "|u1"))
        put(target, "double.npy", formats.npy((1, 4, 4), struct.pack("<16d", *[0.5] * 16), "<f8"))
    put("kernel", "kernel.npy", formats.npy((3, 3), formats.floats([1 / 9] * 9)))
    put("kernel_image", "kernel.png", formats.png(3, 3))
    for method, name in ((zipfile.ZIP_STORED, "stored"), (zipfile.ZIP_DEFLATED, "deflated")):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            archive.writestr("mu.npy", formats.npy((2,), struct.pack("<2d", 0, 1), "<f8"))
            archive.writestr("sigma.npy", formats.npy((2, 2), struct.pack("<4d", 1, 0, 0, 1), "<f8"))
        put("npz", name + ".npz", out.getvalue())
        put("zip", name + ".zip", out.getvalue())


def images():
    put("image", "grey.png", formats.png(5, 4))
    put("image", "colour.png", formats.png(3, 3, 3))
    put("image", "grey.jpg", bad_files.JPEG)
    put("picture", "deep.png", formats.deep_png([[0, 257], [65535, 4711]]))
    put("webp", "still.webp", bad_files.WEBP)
    put("webp", "lossy.webp", bad_files.LOSSY_WEBP)
    for name, more in (("plain", {}), ("tiles", {"tile": 16}), ("packed", {"packed": True}), ("separate", {"separate": True, "order": ">"}),
                       ("profile", {"profile": bytes(132), "orientation": 6})):
        put("tiff", name + ".tiff", tiff_tools.write_tiff([i * 5 % 256 for i in range(60)], 5, 4, 3, **more))
    put("tiff", "deep.tiff", tiff_tools.write_tiff([i * 999 for i in range(24)], 4, 3, 2, 16, extra=2))
    put("idx", "plain", formats.idx((2, 4, 4), bytes(range(32))))
    put("idx", "packed.gz", formats.idx_gz((2, 4, 4), bytes(range(32))))
    record = b"\3" + bytes(3072)
    put("cifar10", "two.bin", record * 2)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for i in range(1, 6):
            info = tarfile.TarInfo(f"data_batch_{i}.bin")
            info.size = len(record)
            archive.addfile(info, io.BytesIO(record))
    put("cifar10_archive", "five.tar.gz", out.getvalue())
    put("cifar_pickle", "two", formats.cifar_pickle(bytes(6144), [1, 2]))
    put("cifar_pickle", "python3", pickle.dumps({"data": b"abc", "labels": [1]}, 4))
    put("cifar_names", "meta", pickle.dumps({"fine_label_names": ["apple", "bear"]}, 2))
    small = formats.png(4, 4)
    put("image_tar", "webdataset.tar", formats.tar([("0.png", small), ("0.cls", b"3"), ("1.png", small), ("1.cls", b"1")]))
    put("image_tar", "classes.tar.gz", formats.tar([("./train/a/0.png", small), ("./test/b/1.png", small)], "w:gz"))
    labels = json.dumps({"labels": [["00000/img00000000.png", 6]]})
    put("image_zip", "edm.zip", formats.zipped([("00000/img00000000.png", small), ("dataset.json", labels)]))
    put("image_zip", "deflated.zip", formats.zipped([("a.jpg", bad_files.JPEG), ("b.txt", b"text")], zipfile.ZIP_DEFLATED))
    images, numbers = formats.npy((2, 2, 2, 3), bytes(24), "|u1"), formats.npy((2,), struct.pack("<2q", 1, 0), "<i8")
    for method, name in ((zipfile.ZIP_STORED, "stored"), (zipfile.ZIP_DEFLATED, "deflated")):
        put("npz_images", name + ".npz", formats.zipped([("arr_0.npy", images), ("arr_1.npy", numbers)], method))
    start = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    body = matrix(9, (4, 4, 3, 2), b"X", 2, bytes(96)) + matrix(9, (2, 1), b"y", 2, b"\1\2")
    put("svhn", "plain.mat", start + body)
    packed = b""
    for part in (body[:len(body) - 64], body[len(body) - 64:]):
        squeezed = zlib.compress(part)
        packed += struct.pack("<II", 15, len(squeezed)) + squeezed
    put("svhn", "packed.mat", start + packed)


def texts():
    put("options_toml", "usual.toml", 'count = 3\nrate = 1e-3\n[section]\nflag = true\ntext = "a.b" # words\n')
    put("options_json", "usual.json", '{"count": 3, "section": {"rate": 0.5, "text": "a"}, "flag": false}')
    put("seeds", "usual", "0-63,70,9")
    put("betas", "usual", "0.01\n0.1, 0.5\n")
    put("recipe", "usual.json", json.dumps({
        "title": "a", "about": "b", "needs": ["c"], "scales": {"smoke": {"n": 1}}, "steps": [{"name": "s", "run": "train --steps {n}"}],
        "results": [{"label": "l", "value": "s/a.json#/x", "digits": 2}], "figures": [{"file": "f", "caption": "g"}]}))


def checked(head, data=b""):
    """A safetensors file with the checksum of src/io/checked_safetensors.cpp."""
    value = 0xcbf29ce484222325

    def mix(word):
        nonlocal value
        value = ((value ^ word) * 0x9e3779b97f4a7c15) % 2**64
        value ^= value >> 32

    def add(piece):
        mix(len(piece))
        for at in range(0, len(piece), 8):
            mix(int.from_bytes(piece[at:at + 8], "little"))

    metadata = {key: text for key, text in head["__metadata__"].items() if key != "checksum"}
    for key, text in sorted(metadata.items()):
        add(key.encode())
        add(text.encode())
    tensors = {name: entry for name, entry in head.items() if name != "__metadata__"}
    for name, entry in sorted(tensors.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        add(name.encode())
        add(struct.pack(f"<{len(entry['shape'])}q", *entry["shape"]))
        add(data[begin:end])
    return formats.safetensors({"__metadata__": {**metadata, "checksum": f"{value:016x}"}, **tensors}, data)


def nested():
    """Past crashes of a parser that went as deep as its input."""
    deep = "[" * 150000 + "]" * 150000
    put_packed("safetensors", "crash-nested-header", formats.safetensors(b'{"__metadata__": {"a": ' + deep.encode() + b"}}", b""))
    put_packed("options_toml", "crash-dotted-key", "a." * 40000 + "a = 1")
    put_packed("options_toml", "crash-dotted-section", "[" + "a." * 40000 + "a]")
    put_packed("options_json", "crash-nested", '{"a":' * 100000)
    put_packed("run_statistics", "crash-nested-line", '{"step": 1}\n' + "[" * 300000 + "\n" + '{"step":' * 100000 + "\n")
    put_packed("run_options", "crash-nested", '{"data":' + deep + "}")
    for target in ("samples", "samples_old_part", "samples_run", "samples_source"):
        put_packed(target, "crash-nested", "[" * 300000)
    put_packed("recipe", "crash-nested", '{"title":' * 100000)
    put_packed("peer_options", "crash-nested", struct.pack("<Q", 60000) + b"[" * 60000)


def models(folder):
    def mdsm(*words):
        subprocess.run([MDSM, *map(str, words)], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    with open(folder + "/d.npy", "wb") as file:
        file.write(formats.npy((8, 1, 8, 8), formats.floats([i % 101 / 100 for i in range(512)])))
    mdsm("train", "--data", "d.npy", "--net", "res6", "--width", 4, "--batch", 4, "--steps", 4, "--stats-every", 2, "--preview-every",
         0, "--threads", 1, "--out", "runs")
    run = glob.glob(folder + "/runs/*")[0]
    model = run + "/ema.safetensors"
    # Headers without the values, which the target makes up for: small enough to be kept and changed.
    head, _ = formats.split_safetensors(content(model))
    put("model", "good", formats.safetensors(head, b""))
    for key in ("trained", "spec"):
        nested_head = {**head, "__metadata__": {**head["__metadata__"], key: "[" * 150000 + "]" * 150000}}
        put_packed("model", "crash-nested-" + key, formats.safetensors(nested_head, b""))
    head["__metadata__"]["spec"] = json.dumps({**json.loads(head["__metadata__"]["spec"]), "width": 1e300, "size": -1e300})
    put("model", "huge-numbers", formats.safetensors(head, b""))
    put("safetensors", "head", formats.safetensors(head, b""))  # cut short
    put("safetensors", "good", formats.safetensors({"__metadata__": {"a": "b"}, "x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                                                    "y": {"dtype": "F16", "shape": [1, 2], "data_offsets": [8, 12]}}, bytes(12)))
    state, _ = formats.split_safetensors(content(run + "/state.safetensors"))
    # Without the vectors of the network, which the target adds.
    head = {"__metadata__": state["__metadata__"]}
    put("run_state", "good", checked(head))
    chains = {"dtype": "F32", "shape": [2, 1, 8, 8], "data_offsets": [0, 512]}
    put("run_state", "good-chains", checked({**head, "chains": chains}, formats.floats([0.5] * 128)))
    values = json.loads(head["__metadata__"]["mdsm_state"])
    values["objective"] = {"averaged_steps": 3}
    head = {"__metadata__": {**head["__metadata__"], "mdsm_state": json.dumps(values)}}
    averages = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
    put("run_state", "good-averages", checked({**head, "level_averages": averages}, formats.floats([1, 2, 3, 4])))
    put("run_state", "negative-averages", checked({**head, "level_averages": averages}, formats.floats([1, 2, 3, -4])))
    values["objective"] = {"averaged_steps": 1e300}
    head["__metadata__"]["mdsm_state"] = json.dumps(values)
    put("run_state", "huge-numbers", checked({**head, "level_averages": averages}, formats.floats([1, 2, 3, 4])))
    put("run_options", "good.json", content(run + "/options.json"))
    put("run_statistics", "stats.jsonl", content(run + "/stats.jsonl"))
    spec = {"architecture": "3 x (convolution 3x3, ReLU, maximum 2x2), dense, ReLU, dense, softmax", "input": [1, 8, 8], "width": 2, "features": 6, "classes": 2, "mean": 0.5, "deviation": 0.2}
    put("classifier", "head", formats.safetensors({"__metadata__": {"format": "mdsm-classifier", "spec": json.dumps(spec), "info": "{}",
                                                                    "classes": '["a", "b"]'}}, b""))
    mdsm("sample", "--model", model, "-n", 2, "--sampler", "fast", "--steps", 3, "--out", "samples")
    drawn = json.loads(content(folder + "/samples/samples.json"))
    drawn["parameters"] = {"sampler": "fast"}
    put("samples", "samples.json", json.dumps(drawn))
    put("samples_old_part", "000000.json", json.dumps(drawn))
    put("samples_old_part", "huge-shape.json", json.dumps({**drawn, "shape": [2**54] * 3, "seeds": [], "energy": [], "sigma": [],
                                                           "evaluations": []}))
    put("samples_source", "samples.json", json.dumps(drawn))
    put("samples_run", "run.json", json.dumps({"parameters": {"sampler": "fast"}, "holds_all": True}))
    lists = {key: value for key, value in drawn.items() if key not in ("parameters", "summary")}
    lists.update(shape=[1, 1, 2], draws=0, trace_steps=[], trace_temperature=[])
    put("samples_part", "good", checked({"__metadata__": {"samples": json.dumps(lists), "parameters": '{"sampler":"fast"}'}, "x": {
        "dtype": "F32", "shape": [2, 1, 1, 2], "data_offsets": [0, 16]}}, bytes(16)))
    parts = {name: values for part, d in (("norms", 2), ("spectrum", 6), ("local", 2), ("detail", 2)) for name, values in (
        (part + ".mean", [0] * d), (part + ".scale", [1] * d), (part + ".weight", [1]), (part + ".centre", [0] * d),
        (part + ".factor", [float(i % (d + 1) == 0) for i in range(d * d)]))}
    parts["calibration"] = [0, 1, 2]
    head, data = {"__metadata__": {"format": "mdsm-detector", "more": "{}", "detector": json.dumps(
        {"image": [1, 2, 2], "features": "norms", "levels": [0.1, 0.5], "draws": 1, "seed": 0, "rate": 0.3, "fitted": 40,
         "centre": [0] * 4, "spread": [1] * 4, "heat": [0, 1]})}}, b""
    for name, values in parts.items():
        head[name] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += formats.floats(values)
    put("detector", "good", checked(head, data))
    put("state_dict", "small.pt", formats.state_dict({"layer.weight": ((2, 2), [1, 2, 3, 4])}))


def peers():
    """What another process sends: texts after their length, chains and samples."""
    def sent(*texts):
        return b"".join(struct.pack("<Q", len(text)) + text for text in texts)

    put("peers", "texts", sent(b'{"a": 1}', struct.pack("<2d", 1, 2)) + formats.floats([0]) + sent(b"told", b"own"))
    put("peer_options", "other", sent(b'{"version": "b", "option --width": 16}', bytes(1), b"rank 1 has another"))
    put("peer_options", "list", sent(b'[{"version": "b"}]', bytes(1)))
    put("peers", "short", sent(b"one", bytes(12)))
    put("peers", "long", struct.pack("<Q", 1 << 63) + bytes(64))
    lists = {"direction": "reverse", "seeds": [1, 2], "done": 2, "log_weight": [-1.5, 2], "accepted": [1, 2], "start_energy": [3, 4]}
    images = {"x": {"dtype": "F32", "shape": [2, 1, 2, 2], "data_offsets": [0, 32]}}
    put("peer_chains", "two", formats.safetensors({"__metadata__": {"batch": json.dumps(lists)}, **images}, bytes(32)))
    put("peer_chains", "lists", formats.safetensors({"__metadata__": {"batch": json.dumps(lists)}}, b""))
    put("peer_chains", "unequal", formats.safetensors({"__metadata__": {"batch": json.dumps({**lists, "seeds": [1]})}, **images}, bytes(32)))
    chains = {"log_weight": [1], "start_energy": [2], "accepted": [3], "difference": [1, 2, 3], "acceptance": [0, 0, 1]}
    state = {"eps": [0.1, 0.2, 0.3], "forward": chains, "reverse": chains, "batch": lists}
    head = {"__metadata__": {"parameters": json.dumps({"version": "a"}), "state": json.dumps(state)}, **images}
    put("chains_state", "good", checked(head, bytes(32)))
    drawn = {"seeds": [3], "shape": [1, 1, 2], "energy": [1], "sigma": [0.1], "evaluations": [5], "draws": 0, "trace_steps": [],
             "trace_temperature": []}
    put("peer_samples", "one", formats.safetensors({"__metadata__": {"samples": json.dumps(drawn)}, "x": {
        "dtype": "F32", "shape": [1, 1, 1, 2], "data_offsets": [0, 8]}}, bytes(8)))


def request(first, *fields, body=""):
    fields = ("Host: 127.0.0.1:8080", *fields, *([f"Content-Length: {len(body)}"] if body else []))
    return "\r\n".join((first + " HTTP/1.1", *fields, "", body))


def requests():
    """mdsm serve: @CSRF@ stands for the token."""
    changing = ("Content-Type: application/json", "X-CSRF-Token: @CSRF@")
    new = {"kind": "denoise", "options": {"model": "photos", "n": 2}, "pictures": [serve_tools.text_of(serve_tools.png(3, 2))]}
    put("requests", "get", request("GET /api/jobs"))
    put("requests", "page", request("GET /", "Cookie: a=b; mdsm_token=x") + request("HEAD /main.js"))
    put("requests", "lists", "".join(request("GET /api/" + name) for name in ("session", "kinds", "models", "runs", "detectors", "data")))
    put("requests", "file", request("GET /api/jobs/000001/files/out/%2e%2e/grid.png", "Origin: http://localhost:8080"))
    put("requests", "new-job", request("POST /api/jobs", *changing, body=json.dumps(new)))
    put("requests", "job-and-events", request("POST /api/jobs", *changing, body=json.dumps({"kind": "sample", "options": {"n": 1}})) +
        request("GET /api/jobs/000001/events"))
    put("requests", "cancel", request("POST /api/jobs/000001/cancel", *changing, body="{}") + request("DELETE /api/jobs/000001", *changing))
    put("requests", "chunked", request("POST /api/jobs", *changing, "Transfer-Encoding: chunked") + "2\r\n{}\r\n0\r\n\r\n")
    put("requests", "foreign", request("GET /api/jobs", "Origin: http://evil.example", "Range: bytes=0-1,3-", "Expect: 100-continue"))
    put("job", "usual.json", json.dumps({"id": "000001", "command": "sample", "lane": "native", "words": ["sample", "--n=1"], "options": {"n": 1},
                                         "state": "running", "again": False, "created": 1.5, "started": 2, "ended": 0, "error": "", "progress": ""}))


def main():
    for target in ("arrays", "images", "texts", "nested", "peers", "requests"):
        globals()[target]()
    folder = tempfile.mkdtemp(prefix="mdsm_corpus_")
    try:
        models(folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
