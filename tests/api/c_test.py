"""The C functions of libmdsm.so, called from another language, against the command line: the same bits.

    c_test.py LIBMDSM MDSM
"""
import ctypes as ct
import os
import subprocess
import sys
import tempfile

import numpy as np

LIBRARY, PROGRAM = sys.argv[1:]
lib = ct.CDLL(LIBRARY)
OK, FAILURE, USAGE, CANCELLED = range(4)
FLOATS, SEEDS, BYTES = (np.ctypeslib.ndpointer(t, flags="C_CONTIGUOUS") for t in (np.float32, np.uint64, np.uint8))
PROGRESS = ct.CFUNCTYPE(ct.c_int, ct.c_void_p, ct.c_int64, ct.c_int64)
READ = ct.CFUNCTYPE(ct.c_int, ct.c_void_p, ct.c_int64, ct.POINTER(ct.c_float))


class Shape(ct.Structure):
    _fields_ = [("channels", ct.c_int64), ("height", ct.c_int64), ("width", ct.c_int64)]


class Dataset(ct.Structure):
    _fields_ = [("size", ct.c_int64), ("shape", Shape), ("read", READ), ("user", ct.c_void_p)]


lib.mdsm_error.restype = lib.mdsm_version.restype = ct.c_char_p
lib.mdsm_model_shape.restype, lib.mdsm_model_shape.argtypes = Shape, [ct.c_void_p]
lib.mdsm_model_sigma0.restype, lib.mdsm_model_sigma0.argtypes = ct.c_double, [ct.c_void_p]
lib.mdsm_model_load.argtypes = [ct.c_char_p, ct.c_void_p, ct.POINTER(ct.c_void_p)]
lib.mdsm_model_free.argtypes = [ct.c_void_p]
lib.mdsm_energy.argtypes = [ct.c_void_p, FLOATS, ct.c_int64, ct.c_void_p, ct.c_void_p]
lib.mdsm_sample.argtypes = [ct.c_void_p, SEEDS, ct.c_int64, ct.c_void_p, PROGRESS, ct.c_void_p, FLOATS]
lib.mdsm_denoise.argtypes = [ct.c_void_p, FLOATS, ct.c_int64, FLOATS, ct.c_void_p]
lib.mdsm_inpaint.argtypes = [ct.c_void_p, FLOATS, BYTES, SEEDS, ct.c_int64, ct.c_void_p, PROGRESS, ct.c_void_p, FLOATS]
lib.mdsm_read_picture.argtypes = [ct.c_void_p, ct.c_char_p, FLOATS]
lib.mdsm_picture_shape.argtypes = [ct.c_char_p, ct.POINTER(Shape)]
lib.mdsm_model_set_size.argtypes = [ct.c_void_p, ct.c_int64, ct.c_int64]
lib.mdsm_write_png.argtypes = [ct.c_char_p, FLOATS, Shape]
lib.mdsm_train.argtypes = [ct.POINTER(Dataset), ct.c_char_p, ct.c_char_p, ct.c_void_p, PROGRESS, ct.c_void_p, ct.c_char_p,
                           ct.c_int64]
NO_PROGRESS = PROGRESS(0)


def settings(*words):
    return (ct.c_char_p * (len(words) + 1))(*[word.encode() for word in words], None)


def ok(code):
    assert code == OK, (code, lib.mdsm_error())


def refused(code, kind, words):
    text = lib.mdsm_error().decode()
    assert code == kind and words in text and "\n" not in text, (code, text)


def load(name, *words):
    model = ct.c_void_p()
    ok(lib.mdsm_model_load(name.encode(), settings(*words), ct.byref(model)))
    return model


def run(*words):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (words, done.stderr)


def bar(_, index, out):
    for k in range(64):
        out[k] = 0.9 if (k % 8 + index) % 4 < 2 else 0.1
    return 0


root = tempfile.TemporaryDirectory()
os.chdir(root.name)
lib.mdsm_set_threads(1)
model = load("fashion-mnist", "batch=3")
shape = lib.mdsm_model_shape(model)
assert (shape.channels, shape.height, shape.width) == (1, 28, 28) and lib.mdsm_model_sigma0(model) > 0

# Samples and energies are those of the command line.
run("sample", "--model", "fashion-mnist", "--sampler", "fast", "--steps", 6, "-n", 4, "--threads", 1, "--out", "cli")
seeds, images = np.arange(4, dtype=np.uint64), np.zeros((4, 1, 28, 28), np.float32)
ok(lib.mdsm_sample(model, seeds, 4, settings("sampler=fast", "steps=6"), NO_PROGRESS, None, images))
assert np.array_equal(images, np.load("cli/samples.npy")), np.abs(images - np.load("cli/samples.npy")).max()
np.save("images.npy", images)
run("energy", "--model", "fashion-mnist", "--data", "images.npy", "--out", "energy.npy", "--gradient", "gradient.npy", "--threads", 1)
energy, gradient = np.zeros(4, np.float32), np.zeros_like(images)
ok(lib.mdsm_energy(model, images, 4, energy.ctypes.data, gradient.ctypes.data))
assert np.array_equal(energy, np.load("energy.npy")) and np.array_equal(gradient, np.load("gradient.npy"))
ok(lib.mdsm_energy(model, images, 4, energy.ctypes.data, None))
ok(lib.mdsm_energy(model, images, 4, None, gradient.ctypes.data))
assert np.array_equal(energy, np.load("energy.npy"))

# Denoising in place, and the picture that mdsm denoise writes.
noisy = np.clip(images[:1] + 0.2 * np.sin(np.arange(784)).reshape(1, 1, 28, 28), 0, 1).astype(np.float32)
ok(lib.mdsm_write_png(b"noisy.png", noisy, shape))
run("denoise", "noisy.png", "--model", "fashion-mnist", "--threads", 1, "--out", "denoised")
read, noise = np.zeros((1, 1, 28, 28), np.float32), np.zeros(1, np.float32)
ok(lib.mdsm_read_picture(model, b"noisy.png", read))
found = Shape()
ok(lib.mdsm_picture_shape(b"noisy.png", ct.byref(found)))
assert (found.channels, found.height, found.width) == (1, 28, 28)
ok(lib.mdsm_model_set_size(model, 28, 28))
fixed = load("stacked-mnist")
ok(lib.mdsm_model_set_size(fixed, 32, 32))
refused(lib.mdsm_model_set_size(fixed, 40, 48), USAGE, "32x32")
lib.mdsm_model_free(fixed)
ok(lib.mdsm_denoise(model, read, 1, read, noise.ctypes.data))
assert 0.05 < noise[0] < 0.4, noise
ok(lib.mdsm_write_png(b"own.png", read, shape))
ours, theirs = np.zeros_like(read), np.zeros_like(read)
ok(lib.mdsm_read_picture(model, b"own.png", ours))
ok(lib.mdsm_read_picture(model, b"denoised/noisy.png", theirs))
assert np.array_equal(ours, theirs)

# Completions, as mdsm inpaint makes them.
known = np.ones((1, 28, 28), np.uint8)
known[:, 8:24, 8:24] = 0
ok(lib.mdsm_read_picture(model, b"noisy.png", read))
ok(lib.mdsm_inpaint(model, read, known, seeds[2:3].copy(), 1, settings("steps=6"), NO_PROGRESS, None, ours))
ok(lib.mdsm_write_png(b"filled.png", ours, shape))
run("inpaint", "noisy.png", "--box", "8,8,16,16", "--model", "fashion-mnist", "-n", 1, "--seed", 2, "--steps", 6, "--threads", 1,
    "--out", "filled")
written = [os.path.join("filled", name) for name in os.listdir("filled") if name.startswith("noisy")]
ok(lib.mdsm_read_picture(model, b"filled.png", ours))
ok(lib.mdsm_read_picture(model, written[0].encode(), theirs))
assert np.array_equal(ours, theirs), written

# Progress and cancelling.
calls = []


def count(_, done, total):
    calls.append((done, total))
    return 1 if len(calls) == 4 else 0


refused(lib.mdsm_sample(model, seeds, 4, settings("sampler=fast", "steps=6"), PROGRESS(count), None, images), CANCELLED, "stopped")
assert len(calls) in (4, 5) and calls[0][1] == 4, calls

# Training: stopped, resumed, and loaded.
data = Dataset(64, Shape(1, 8, 8), READ(bar), None)
small = settings("net=res6", "width=4", "steps=12", "batch=8", "preview-every=0", "save-every=5")
path = ct.create_string_buffer(4096)
stop = PROGRESS(lambda _, done, total: int(done == 7))
refused(lib.mdsm_train(ct.byref(data), b"runs", None, small, stop, None, path, 4096), CANCELLED, "step 7 of 12")
folder = os.path.dirname(path.value)
ok(lib.mdsm_train(ct.byref(data), None, folder, None, NO_PROGRESS, None, path, 4096))
ok(lib.mdsm_train(ct.byref(data), b"whole", None, small, NO_PROGRESS, None, None, 0))
whole = os.path.join(b"whole", os.listdir(b"whole")[0], b"ema.safetensors")
with open(path.value, "rb") as a, open(whole, "rb") as b:
    a, b = a.read(), b.read()
    assert a == b, (len(a), len(b), a[:900], b[:900])
lib.mdsm_model_free(load(path.value.decode()))
bad = Dataset(64, Shape(1, 8, 8), READ(lambda *_: 7), None)
refused(lib.mdsm_train(ct.byref(bad), b"runs", None, small, NO_PROGRESS, None, None, 0), FAILURE, "code 7")

# What makes no sense is refused, in words, and nothing crashes.
nothing = ct.c_void_p()
refused(lib.mdsm_model_load(b"no-such-model", None, ct.byref(nothing)), FAILURE, "no-such-model")
assert not nothing
refused(lib.mdsm_model_load(None, None, ct.byref(nothing)), USAGE, "name is NULL")
refused(lib.mdsm_model_load(b"mnist", None, None), USAGE, "model is NULL")
refused(lib.mdsm_model_load(b"mnist", settings("batch"), ct.byref(nothing)), USAGE, "name=value")
refused(lib.mdsm_model_load(b"mnist", settings("batch=0"), ct.byref(nothing)), USAGE, "batch")
refused(lib.mdsm_model_load(b"mnist", settings("colour=red"), ct.byref(nothing)), USAGE, "colour")
refused(lib.mdsm_energy(None, images, 4, None, None), USAGE, "model is NULL")
refused(lib.mdsm_energy(model, images, 0, None, None), USAGE, "0 images")
refused(lib.mdsm_sample(model, seeds, -1, None, NO_PROGRESS, None, images), USAGE, "-1 seeds")
refused(lib.mdsm_sample(model, seeds, 1, settings("sampler=slow"), NO_PROGRESS, None, images), USAGE, "slow")
refused(lib.mdsm_write_png(b"x.png", read, Shape(1, -3, 4)), USAGE, "-3")
refused(lib.mdsm_write_png(b"no/such/folder/x.png", read, shape), FAILURE, "no/such/folder")
refused(lib.mdsm_train(None, b"runs", None, None, NO_PROGRESS, None, None, 0), USAGE, "images is NULL")
refused(lib.mdsm_train(ct.byref(data), None, None, None, NO_PROGRESS, None, None, 0), USAGE, "outdir is NULL")
images[0, 0, 3, 3] = np.nan
refused(lib.mdsm_energy(model, images, 4, energy.ctypes.data, None), FAILURE, "not finite")
lib.mdsm_model_free(model)
lib.mdsm_model_free(None)
print(f"C functions of mdsm {lib.mdsm_version().decode()}: all is as it should be")
