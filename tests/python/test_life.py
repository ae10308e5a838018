"""Long use: Ctrl-C, threads, memory."""
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest

import mdsm


def interrupted(code, tmp_path):
    """Runs Python code that prints "go", interrupts it then, and returns what it printed after that."""
    code = "import mdsm, numpy, os\nmdsm.set_threads(1)\n" + textwrap.dedent(code)
    process = subprocess.Popen([sys.executable, "-u", "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout.readline() == "go\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    return said


@pytest.mark.parametrize("call", [
    "mdsm.load('fashion-mnist').sample(100000)",
    "mdsm.energy(lambda x: (x.sum((1, 2, 3)), x), (1, 8, 8)).sample(10, sampler='langevin', steps=10000000)",
    "mdsm.train('fashion-mnist', width=8, net='res6', steps=1000000)",
    "mdsm.run('sample', model='fashion-mnist', n=100000)",
    "mdsm.load('cifar10').denoise(numpy.zeros((15000, 3, 32, 32), numpy.float32))",
])
def test_ctrl_c(call, tmp_path):
    said = interrupted(f"""
        print("go")
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted")
        print(mdsm.load("fashion-mnist").sample(1, sampler="fast", steps=1).shape)
        """, tmp_path)
    assert said == "interrupted\n(1, 1, 28, 28)\n"


def test_a_progress_function_stops_and_may_raise():
    model = mdsm.load("fashion-mnist")
    with pytest.raises(RuntimeError, match="stopped"):
        model.sample(2, progress=lambda done, total, noise: False)
    with pytest.raises(LookupError):
        model.sample(2, progress=lambda *report: {}[1])
    reports = []
    model.sample(2, sampler="fast", steps=5, progress=lambda *report: reports.append(report))
    assert reports[-1][:2] == (2, 2)


def test_other_threads_run_meanwhile():
    """Python's lock is free while images are drawn: a thread of Python goes on counting."""
    counted, done = 0, threading.Event()
    model = mdsm.load("fashion-mnist")

    def draw():
        model.sample(16, sampler="fast", steps=10)
        done.set()

    threading.Thread(target=draw).start()
    while not done.is_set():
        counted += 1
        time.sleep(0.001)
    assert counted > 5


def test_two_threads_with_a_model_each_and_with_one():
    wanted = mdsm.load("fashion-mnist").sample(2, sampler="fast", steps=8)
    shared, found = mdsm.load("fashion-mnist"), []

    def draw(model):
        for _ in range(4):
            found.append(model.sample(2, sampler="fast", steps=8))

    models = [mdsm.load("fashion-mnist"), mdsm.load("fashion-mnist"), shared, shared]
    threads = [threading.Thread(target=draw, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16 and all(numpy.array_equal(one, wanted) for one in found)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_does_not_grow(unet, clothes):
    """1,000 loads and samples; what the first hundred take is allowed for."""
    def use():
        model = mdsm.load(unet)
        model.sample(1, sampler="fast", steps=1)
        (model + model).energy(clothes[:1])

    for _ in range(100):
        use()
    before = resident()
    for _ in range(900):
        use()
    assert resident() - before < 4 << 20
