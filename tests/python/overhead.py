"""What the module adds to a call: energies of 64 images by mdsm.Model and by the C function it ends in, in turns; medians of the
seconds on the clock, which mean little on a busy machine, and of those of the CPU.

    PYTHONPATH=build/release/lib/python python3 tests/python/overhead.py build/release/lib/libmdsm.so
"""
import ctypes as ct
import statistics
import sys
import time

import numpy as np

import mdsm

lib = ct.CDLL(sys.argv[1])
handle = ct.c_void_p()
assert lib.mdsm_model_load(b"fashion-mnist", None, ct.byref(handle)) == 0
mdsm.set_threads(1)
lib.mdsm_set_threads(1)
model = mdsm.load("fashion-mnist")
x = np.random.default_rng(0).random((64, 1, 32, 32), np.float32)
energies = np.empty(64, np.float32)


def timed(call):
    begin, used = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - begin, time.process_time() - used


def by_c():
    lib.mdsm_energy(handle, x.ctypes.data_as(ct.c_void_p), ct.c_int64(64), energies.ctypes.data_as(ct.c_void_p), None)


pairs = [(timed(by_c), timed(lambda: model.energy(x))) for _ in range(60)][10:]
assert np.array_equal(energies, model.energy(x))
for kind, what in enumerate(("clock", "CPU")):
    c, python = (statistics.median(times[kind] for times in side) for side in zip(*pairs))
    print(f"64 energies at width 16, {what}: C {1e3 * c:.2f} ms, Python {1e3 * python:.2f} ms, {100 * (python / c - 1):+.1f} %")
