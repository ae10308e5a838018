"""Data, training and measuring: the jobs of the command line on arrays, files and names of data sets."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _arrays, _core, _options, _progress
from ._energy import Model, load

_DATA_OPTIONS = ("split", "limit", "crop", "resize", "pad", "colour", "skip_damaged")


class Data:
    """Images of a data set or a folder, from data(): len(), [i], [a:b], iteration; float32 in [0,1]."""

    def __init__(self, source: _core.Source, name: str):
        self._source, self.name = source, name

    @property
    def shape(self) -> Any:
        """C,H,W of an image."""
        return self._source.shape

    @property
    def class_names(self) -> List[str]:
        """Names of the classes that labels count; none where the source has none."""
        return self._source.class_names

    @property
    def labels(self) -> np.ndarray:
        """Class of each image; -1 where the source has none."""
        return np.array([self._source.label(i) for i in range(len(self))])

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, index: Any) -> np.ndarray:
        numbers = range(len(self))[index]
        found = self._source.read(list(numbers) if isinstance(index, slice) else [numbers])
        return found if isinstance(index, slice) else found[0]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<mdsm.Data {self._source.description}>"


def data(source: Union[str, "os.PathLike[str]"], *, seed: int = 0, **options: Any) -> Data:
    """Opens a data set by name ("fashion-mnist"), or a file or folder of images.

    Options are those of the command line: split="test", limit=100, crop=140, resize=64, pad=0, colour="grey".
    """
    name = os.fspath(source)
    return Data(_core.open_source(name, _options.settings(options), seed), name)


class Run:
    """A training run: its folder, the model file in it, and how far it came."""

    def __init__(self, folder: str, model: str, step: int, steps: int):
        self.folder, self.model_file, self.step, self.steps = folder, model, step, steps

    @property
    def finished(self) -> bool:
        """Whether all steps were made."""
        return self.step >= self.steps

    def load(self, **options: Any) -> Model:
        """The model with averaged weights."""
        return load(self.model_file, **options)

    def __repr__(self) -> str:
        return f"<mdsm.Run {self.folder!r}, step {self.step} of {self.steps}>"


def _array(images: Any) -> np.ndarray:
    """Float32 N,C,H,W of an array, or of an iterable of images."""
    if not _arrays.is_torch(images) and not isinstance(images, np.ndarray):
        images = [_arrays.to_numpy(one) for one in images]
        if not images:
            raise ValueError("no images given")
        images = np.stack(images)
    given = _arrays.to_numpy(images)
    if given.ndim == 3:  # N,H,W: grey
        given = given[:, None]
    if given.ndim != 4 or given.shape[0] == 0:
        raise ValueError(f"images: N,C,H,W, N,H,W,C or N,H,W is wanted, not {given.shape}")
    channels = given.shape[3] if given.shape[3] in (1, 3) and given.shape[1] not in (1, 3) else given.shape[1]
    return _arrays.Images(given, channels).values


def train(
    data: Any = None,
    *,
    callback: Optional[Callable[..., Any]] = None,
    progress: bool = False,
    outdir: str = "runs",
    name: str = "own-images",
    resume: str = "",
    **options: Any,
) -> Run:
    """Trains a model on a data set, a folder of images, an array or an iterable of images.

    Options are those of `mdsm train`: net="unet", width=32, steps=5000, batch=32, lr=2e-3. callback(step, steps, loss) may return False: the
    run is saved and train() returns; resume=run.folder with the same data goes on with it. Ctrl-C saves too.
    """
    if callback is not None and progress:
        raise ValueError("give a callback or progress=True, not both")
    report = _progress.callback(callback if callback is not None else progress, "training")
    if isinstance(data, (str, os.PathLike)):
        name = os.path.basename(os.path.normpath(os.fspath(data))).split(":")[0] if name == "own-images" else name
        chosen = {key: options.pop(key) for key in _DATA_OPTIONS if key in options}
        source = _core.open_source(os.fspath(data), _options.settings(chosen), int(options.get("seed", 0)))
        found = _core.train_on_source(source, None, _options.settings(options), outdir, name, resume, report)
    elif isinstance(data, Data):
        found = _core.train_on_source(data._source, None, _options.settings(options), outdir, name, resume, report)
    elif data is None:
        raise TypeError("train() needs data: a name, a folder, an array or an iterable of images")
    else:
        found = _core.train_on_array(_array(data), _options.settings(options), outdir, name, resume, report)
    return Run(**found)


@contextlib.contextmanager
def _as_source(images: Any, folder: str, name: str) -> Iterator[str]:
    """A data source for a command: names as they are, arrays as a file."""
    if isinstance(images, (str, os.PathLike)):
        yield os.fspath(images)
        return
    path = os.path.join(folder, name + ".npy")
    np.save(path, _array(images))
    yield path


def _name(model: Any) -> str:
    return model.name if isinstance(model, Model) else os.fspath(model)


def evaluate(samples: Any, reference: Any, **options: Any) -> Dict[str, Any]:
    """FID, Inception score, precision, recall of samples against a reference; both arrays, files, folders or data sets.

    Options are those of `mdsm evaluate`: classifier="fashion-mnist", kid=True, limit=1000.
    """
    with tempfile.TemporaryDirectory() as folder:
        with _as_source(samples, folder, "samples") as drawn, _as_source(reference, folder, "reference") as real:
            return _options.run("evaluate", samples=drawn, data=real, **options)


def likelihood(model: Any, images: Any, *, method: str = "denoising", **options: Any) -> Dict[str, Any]:
    """Bounds on the likelihood of images; method: "denoising" or "ais". Options are those of `mdsm likelihood`."""
    with tempfile.TemporaryDirectory() as folder:
        options.setdefault("out", os.path.join(folder, "likelihood"))
        with _as_source(images, folder, "images") as source:
            return _options.run("likelihood", model=_name(model), data=source, method=method, **options)


class Score(NamedTuple):
    """How strange an image is, see docs/score.md."""

    image: str
    score: float
    p: float
    outlier: bool


class Detector:
    """Tells images that do not belong: Detector.fit(model, good_images).score(images)."""

    def __init__(self, path: str, folder: Optional[tempfile.TemporaryDirectory] = None):
        self._path, self._folder = path, folder  # which goes with the detector

    @classmethod
    def fit(cls, model: Any, good: Any, *, rate: float = 0.01, **options: Any) -> "Detector":
        """A detector for images like `good`, which the model was not trained on. rate: of false alarms."""
        folder = tempfile.TemporaryDirectory()
        path = os.path.join(folder.name, "detector.safetensors")
        with _as_source(good, folder.name, "good") as source:
            _options.run("score", fit=True, model=_name(model), data=source, out=path, rate=rate, **options)
        return cls(path, folder)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Detector":
        """A file of save() or of `mdsm score --fit`."""
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{os.fspath(path)}: no such file")
        return cls(os.fspath(path))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a file for Detector.load() and `mdsm score --detector`."""
        shutil.copyfile(self._path, path)

    def score(self, images: Union[Any, Sequence[str]], **options: Any) -> List[Score]:
        """One Score for each image: of an array, a data set, a folder, a file, or a list of files."""
        with tempfile.TemporaryDirectory() as folder:
            if isinstance(images, (list, tuple)) and images and all(isinstance(one, (str, os.PathLike)) for one in images):
                found = _options.run("score", *map(os.fspath, images), detector=self._path, **options)
            else:
                with _as_source(images, folder, "images") as source:
                    found = _options.run("score", detector=self._path, data=source, **options)
        return [Score(one["image"], one["score"], one["p"], one["verdict"] == "outlier") for one in found["images"]]
