"""Calls that make no sense: every one an exception of Python that says what was expected, none a crash."""
import itertools

import numpy as np
import pytest

import mdsm

MODEL = mdsm.load("stacked-mnist")  # a network of one size
X = np.zeros((2, 3, 32, 32), np.float32)
KNOWN = np.ones((32, 32), bool)

# No images at all, for every call that takes some.
BAD_IMAGES = {
    "None": None, "text": "cat.png", "bytes": b"123", "a number": 3, "a list of text": ["a", "b"], "an object": object(),
    "a dictionary": {"a": 1}, "complex": X.astype(complex), "int64": X.astype(np.int64), "bool": X.astype(bool),
    "no axes": np.float32(1), "one axis": np.zeros(1024, np.float32), "five axes": X[None], "one channel": np.zeros((2, 1, 32, 32), np.float32),
    "another size": np.zeros((2, 3, 28, 28), np.float32), "not square": np.zeros((2, 3, 32, 16), np.float32), "none": X[:0],
    "NaN": X * np.nan, "infinite": X + np.inf, "ragged": [[1, 2], [3]], "a set": {1, 2}, "a generator": (i for i in range(3)), "a class": int,
    "dates": np.zeros((2, 3, 32, 32), "datetime64[s]"), "empty rows": np.zeros((2, 3, 0, 32), np.float32),
}
CALLS = {
    "energy": MODEL.energy,
    "energy_and_gradient": MODEL.energy_and_gradient,
    "denoise": MODEL.denoise,
    "inpaint": lambda x: MODEL.inpaint(x, KNOWN, sampler="fast"),
    "sum": (MODEL + MODEL).energy,
    "evaluate": lambda x: mdsm.evaluate(x, 5),
    "train": lambda x: mdsm.train(x, steps=1, resume="absent"),
}
BAD = {f"{call} of {name}": lambda f=f, x=x: f(x) for (call, f), (name, x) in itertools.product(CALLS.items(), BAD_IMAGES.items())}


def bad(name, function, words=""):
    BAD[name] = function
    WORDS[name] = words


WORDS = {}
for name, value in {"absent": "no-such-model", "empty": "", "a folder": "/", "a device": "/dev/null", "a script": __file__}.items():
    bad(f"load {name}", lambda value=value: mdsm.load(value))
for value in (None, 3, b"x", ["fashion-mnist"], X):
    bad(f"load {type(value).__name__}", lambda value=value: mdsm.load(value))
bad("load: engine", lambda: mdsm.load("mnist", engine="steam"), "steam")
bad("load: device", lambda: mdsm.load("mnist", device="moon"))
bad("load: batch", lambda: mdsm.load("mnist", batch=0), "batch")
bad("load: batch of text", lambda: mdsm.load("mnist", batch="many"), "batch")
bad("load: precision", lambda: mdsm.load("mnist", precision="float7"), "float7")
bad("load: tile", lambda: mdsm.load("stacked-mnist", tile=64), "tile")
bad("load: word", lambda: mdsm.load("mnist", colour="red"))
for seeds in ([-1], [2**64], ["a"], [1.5j], 3, [], [[1]], "ab"):
    bad(f"seeds {seeds!r}", lambda seeds=seeds: MODEL.sample(seeds=seeds, sampler="fast"))
for n in (0, -1, "x", 1.5, [1], 2**70):
    bad(f"n {n!r}", lambda n=n: MODEL.sample(n, sampler="fast"))
bad("n and seeds", lambda: MODEL.sample(3, seeds=[1]), "1 seeds for 3")
bad("sampler", lambda: MODEL.sample(1, sampler="magic"), "magic")
bad("option", lambda: MODEL.sample(1, sampler="fast", churn=3), "churn")
bad("unknown option", lambda: MODEL.sample(1, wings=2), "wings")
bad("option out of range", lambda: MODEL.sample(1, sampler="fast", h0=7), "h0")
bad("option of a wrong type", lambda: MODEL.sample(1, sampler="fast", h0="much"), "much")
bad("progress", lambda: MODEL.sample(1, progress=3), "progress")
bad("size of a model of one size", lambda: MODEL.sample(1, size=(40, 40)))
bad("size of text", lambda: MODEL.sample(1, size="4x"), "height")
bad("size below one", lambda: MODEL.set_size(0, 32), "height")
for name, mask in {"floats": KNOWN * 0.5, "another shape": KNOWN[:3], "None": None, "twos": KNOWN * np.uint8(2), "text": "left"}.items():
    bad(f"mask: {name}", lambda mask=mask: MODEL.inpaint(X[0], mask), "mask")
bad("inpaint: several of several", lambda: MODEL.inpaint(X, KNOWN, n=2), "one completion each")
bad("inpaint: no completions", lambda: MODEL.inpaint(X[0], KNOWN, n=0), "n:")
bad("inpaint: a sampler that cannot", lambda: MODEL.inpaint(X[0], KNOWN, sampler="hmc"), "hmc")
for factor in ("2", None, X, float("nan"), float("inf"), True, 1j):
    bad(f"times {type(factor).__name__} {str(factor)[:5]}", lambda factor=factor: MODEL * factor)
bad("an array times", lambda: X * MODEL)
bad("plus a number", lambda: MODEL + 1)
bad("minus text", lambda: MODEL - "b")
bad("divided by 0", lambda: MODEL / 0)
bad("plus another shape", lambda: MODEL + mdsm.energy(lambda x: x, (1, 4, 4)), "cannot be added")
bad("plus another sigma0", lambda: MODEL + mdsm.energy(lambda x: x, (3, 32, 32), 0.5), "sigma0")
bad("energy: no function", lambda: mdsm.energy(3, (1, 4, 4)))
for shape in ((1, 4), (1, 4, 0), (1, 4, -4), "abc", 7, (1, 4, 4.5)):
    bad(f"energy: shape {shape!r}", lambda shape=shape: mdsm.energy(lambda x: x, shape))
for sigma0 in (0, -1, float("nan"), float("inf"), "s"):
    bad(f"energy: sigma0 {sigma0}", lambda sigma0=sigma0: mdsm.energy(lambda x: x, (1, 4, 4), sigma0))
Y = np.zeros((2, 1, 4, 4), np.float32)
for name, result in {"one array": Y, "None": None, "text": ("a", "b"), "three": (1, 2, 3), "wrong energies": (np.zeros(3), Y),
                     "wrong gradients": (np.zeros(2), Y[:1]), "a flat gradient": (np.zeros(2), Y.ravel())}.items():
    bad(f"energy returns {name}", lambda result=result: mdsm.energy(lambda x: result, (1, 4, 4)).energy(Y))
bad("data: absent", lambda: mdsm.data("no/such/place"), "neither")
bad("data: option", lambda: mdsm.data("fashion-mnist", tail=1), "tail")
bad("data: split", lambda: mdsm.data("fashion-mnist", split="half"), "half")
bad("data: number", lambda: mdsm.data(5))
bad("data: index", lambda: mdsm.data("fashion-mnist", limit=3)[3])
bad("data: text index", lambda: mdsm.data("fashion-mnist", limit=3)["a"])
bad("train on nothing", lambda: mdsm.train())
bad("train: unknown option", lambda: mdsm.train(X, wings=2), "wings")
bad("train: net", lambda: mdsm.train(X, net="spider"), "spider")
bad("train: steps", lambda: mdsm.train(X, steps=-1), "steps")
bad("train: callback", lambda: mdsm.train(X, callback=3), "progress")
bad("train: both", lambda: mdsm.train(X, callback=print, progress=True))
bad("train: resume", lambda: mdsm.train(X, resume="absent"), "absent")
bad("train: data's option", lambda: mdsm.train(X, crop=3), "crop")
bad("evaluate nothing", lambda: mdsm.evaluate("absent", "fashion-mnist", classifier="fashion-mnist"), "absent")
bad("evaluate: option", lambda: mdsm.evaluate(X, X, wings=1), "wings")
bad("likelihood: method", lambda: mdsm.likelihood(MODEL, X, method="prayer"), "prayer")
bad("likelihood: model", lambda: mdsm.likelihood(3, X))
bad("detector: too few", lambda: mdsm.Detector.fit(MODEL, X))
bad("detector: rate", lambda: mdsm.Detector.fit(MODEL, X, rate=2), "rate")
bad("detector: absent", lambda: mdsm.Detector.load("absent"), "absent")
bad("run: command", lambda: mdsm.run("sing"), "sing")
bad("run: option", lambda: mdsm.run("models", wings=1), "wings")
bad("run: nothing", lambda: mdsm.run(""))
bad("picture: absent", lambda: mdsm.read_picture("absent.png"), "absent")
bad("picture: no picture", lambda: mdsm.read_picture(__file__))
bad("picture: number", lambda: mdsm.read_picture(4))
bad("write: five channels", lambda: mdsm.write_png("/tmp/x.png", np.zeros((5, 8, 8), np.float32)))
bad("write: into nothing", lambda: mdsm.write_png("/absent/x.png", X[0]), "absent")
bad("write: text", lambda: mdsm.write_png("/tmp/x.png", "picture"))
bad("threads: minus", lambda: mdsm.set_threads(-1), "threads")
bad("threads: text", lambda: mdsm.set_threads("all"))


def test_there_are_enough():
    assert len(BAD) >= 200, len(BAD)


@pytest.mark.parametrize("name", BAD)
def test_it_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError, RuntimeError, OSError, LookupError, ArithmeticError)) as caught:
        BAD[name]()
    assert WORDS.get(name, "") in str(caught.value) and str(caught.value), caught.value
    assert not list(tmp_path.iterdir())
