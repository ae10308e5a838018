"""Writers of the file formats mdsm reads, in plain Python, so that tests can make good files and then spoil
them. Nothing here comes from the library under test."""
import collections
import gzip
import io
import json
import pickle
import random
import struct
import sys
import tarfile
import types
import zipfile
import zlib


def npy(shape, data, descr="<f4", fortran=False):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def grey_noise(n, contrast, seed, pixels=64):
    """n lists of pixels about 0.5, in [0,1]."""
    draw = random.Random(seed)
    return [[min(1, max(0, 0.5 + contrast * draw.gauss(0, 1))) for _ in range(pixels)] for _ in range(n)]


def idx(dims, data, magic=None):
    magic = 0x800 + len(dims) if magic is None else magic
    return struct.pack(f">{1 + len(dims)}I", magic, *dims) + data


def idx_gz(dims, data, magic=None):
    return gzip.compress(idx(dims, data, magic), mtime=0)


def png(width, height, channels=1, claimed=None):
    """A gradient. `claimed`: (width, height) written to the header instead of the true size."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + bytes((x * 7 + y * 5 + c * 40) % 256 for x in range(width) for c in range(channels))
                    for y in range(height))
    header = struct.pack(">IIBBBBB", *(claimed or (width, height)), 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def deep_png(rows):
    """Grey, 16 bits."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    data = b"".join(b"\0" + struct.pack(f">{len(row)}H", *row) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 16, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def safetensors(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def split_safetensors(content):
    """(header, data) of a good file."""
    length, = struct.unpack_from("<Q", content)
    return json.loads(content[8:8 + length]), content[8 + length:]


class _Rebuilt:
    """Pickles like a tensor of a state dict: torch._utils._rebuild_tensor_v2(storage, ...)."""

    def __init__(self, key, shape, stride, numel):
        self.key, self.shape, self.stride, self.numel = key, tuple(shape), tuple(stride), numel

    def __reduce__(self):
        return (sys.modules["torch._utils"]._rebuild_tensor_v2,
                (_Storage(self.key, self.numel), 0, self.shape, self.stride, False, collections.OrderedDict()))


class _Storage:
    def __init__(self, key, numel):
        self.key, self.numel = key, numel


def _stand_ins():
    """Names that the pickle may refer to, so that no PyTorch is needed to write one."""
    modules = {name: types.ModuleType(name) for name in ("torch", "torch._utils")}
    modules["torch"].FloatStorage = type("FloatStorage", (), {"__module__": "torch"})

    def _rebuild_tensor_v2(*_):
        raise NotImplementedError
    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    modules["torch._utils"]._rebuild_tensor_v2 = _rebuild_tensor_v2
    return modules


def contiguous(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return strides


def state_dict(tensors):
    """The zip container of torch.save. tensors: name -> (shape, values[, stride[, numel claimed]])."""
    modules = _stand_ins()
    saved = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        class Pickler(pickle.Pickler):
            def persistent_id(self, value):
                if not isinstance(value, _Storage):
                    return None
                return ("storage", modules["torch"].FloatStorage, value.key, "cpu", value.numel)

        entries, storages = collections.OrderedDict(), {}
        for number, (name, (shape, values, *rest)) in enumerate(tensors.items()):
            stride = rest[0] if rest else contiguous(shape)
            numel = rest[1] if len(rest) > 1 else len(values)
            entries[name] = _Rebuilt(str(number), shape, stride, numel)
            storages[str(number)] = floats(values)
        out = io.BytesIO()
        Pickler(out, protocol=2).dump(entries)
    finally:
        for name, module in saved.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return container(out.getvalue(), storages)


def container(data_pkl, storages=None):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", data_pkl)
        for key, data in (storages or {}).items():
            archive.writestr(f"archive/data/{key}", data)
        archive.writestr("archive/version", "3\n")
    return out.getvalue()


def hostile_pickle(command):
    """What `pickle.load` would answer by running a shell command."""
    text = command.encode()
    return b"\x80\x02cposix\nsystem\nq\x00X" + struct.pack("<I", len(text)) + text + b"q\x01\x85q\x02Rq\x03."


def cifar_pickle(pixels, labels, label_key="labels", split=b"training batch 1 of 5"):
    """A batch of CIFAR as its authors' Python 2 wrote it: protocol 2, short texts as U, the array's bytes as T."""
    def text(value):
        return b"U" + bytes([len(value)]) + value

    def integer(value):
        return b"K" + bytes([value]) if value < 256 else b"M" + struct.pack("<H", value)

    rows = len(labels)
    dtype = (b"cnumpy\ndtype\n" + text(b"u1") + integer(0) + integer(1) + b"\x87R(" + integer(3) + text(b"|") + b"NNN" +
             b"J\xff\xff\xff\xff" * 2 + integer(0) + b"tb")
    array = (b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + integer(0) + b"\x85" + text(b"b") + b"\x87R(" +
             integer(1) + integer(rows) + integer(3072) + b"\x86" + dtype + b"\x89T" + struct.pack("<I", len(pixels)) + pixels +
             b"tb")
    return (b"\x80\x02}q\x01(" + text(b"batch_label") + text(split) + text(label_key.encode()) + b"](" +
            b"".join(map(integer, labels)) + b"e" + text(b"data") + array + text(b"filenames") + b"](" +
            b"".join(text(b"img_%d.png" % i) for i in range(rows)) + b"eu.")


def tar(files, mode="w"):
    """files: [(name, content)]."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zipped(files, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return out.getvalue()
