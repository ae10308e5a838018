"""Energy-based image models by multiscale denoising score matching.

    import mdsm

    model = mdsm.load("fashion-mnist")
    images = model.sample(16)                        # float32 16,1,32,32 in [0,1]
    energies, gradients = model.energy_and_gradient(images)
    clean, noise = model.denoise(noisy)
    run = mdsm.train("photos/", net="unet", width=32, steps=5000)
    detector = mdsm.Detector.fit(model, good_images)

Images are float32 N,C,H,W in [0,1], NumPy arrays or PyTorch tensors; uint8 counts as 0 to 255. Options are those of the command
line by keyword, with _ in place of -. Errors are ValueError (what was asked makes no sense) and RuntimeError (it could not be
done), with what to do about it.
"""

from os import fspath as _path
from typing import Any, List

from . import _core
from ._arrays import Images as _Images, to_numpy as _to_numpy
from ._energy import Energy, Model, Samples, energy, load
from ._jobs import Data, Detector, Run, Score, data, evaluate, likelihood, train
from ._options import run

__version__ = _core.version
__all__ = [
    "Data", "Detector", "Energy", "Model", "Run", "Samples", "Score", "data", "energy", "evaluate", "likelihood", "load", "models",
    "read_picture", "run", "set_threads", "thread_count", "train", "write_png",
]


def models() -> List[str]:
    """Names of the models that come with mdsm."""
    return _core.model_names()


def thread_count() -> int:
    """Threads that mdsm computes with."""
    return _core.thread_count()


def set_threads(threads: int) -> None:
    """Sets the number of threads for all models of this process; 0: one for each core. Results do not depend on it."""
    _core.set_thread_count(threads)


def read_picture(path: Any) -> Any:
    """A picture file (PNG, JPEG, TIFF, WebP) as float32 C,H,W in [0,1], upright."""
    return _core.read_picture(_path(path))[0]


def write_png(path: Any, image: Any) -> None:
    """Writes one image, H,W, C,H,W or H,W,C with 1 or 3 channels."""
    given = _to_numpy(image, "image")
    channels = 3 if given.ndim == 3 and 3 in (given.shape[0], given.shape[2]) else 1
    _core.write_png(_path(path), _Images(given, channels, "image").values)
