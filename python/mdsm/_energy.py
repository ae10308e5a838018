"""Energies: trained models, functions of one's own, and their sums."""

from __future__ import annotations

import inspect
import json
import os
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _arrays, _core, _options, _progress

Number = Union[int, float]


class Samples(NamedTuple):
    """What sample(details=True) returns."""

    images: np.ndarray  # N,C,H,W
    energy: np.ndarray  # N, before the last jump
    evaluations: List[int]  # N, of the gradient


class Energy:
    """An energy of images: something that can be evaluated and sampled.

    Energies can be added and scaled: `a + 0.5 * b` is an energy, and so are `-a` and `a / 2`. Images are float32 N,C,H,W in [0,1],
    as NumPy arrays or PyTorch tensors; H,W,C and single images are understood too, uint8 counts as 0 to 255, and results come back
    in the kind and layout that was given.
    """

    __array_ufunc__ = None  # NumPy's numbers and arrays leave * to this class

    def __init__(self, core: _core.Energy, parts: Optional[List[Tuple[float, "Energy"]]] = None):
        self._core = core
        self._sum = parts

    @property
    def _parts(self) -> List[Tuple[float, "Energy"]]:
        return self._sum or [(1.0, self)]

    @property
    def shape(self) -> Tuple[int, int, int]:
        """C,H,W of an image."""
        return self._core.shape

    @property
    def sigma0(self) -> float:
        """x - sigma0**2 * gradient(x) is the denoised image."""
        return self._core.sigma0

    def energy(self, images: Any) -> Any:
        """Energies, one for each image; a float for a single image."""
        given = self._given(images)
        return given.numbers(self._core.energy(given.values))

    def energy_and_gradient(self, images: Any) -> Tuple[Any, Any]:
        """Energies and their gradients dE/dx."""
        given = self._given(images)
        energies, gradient = self._core.energy_and_gradient(given.values)
        return given.numbers(energies), given.floats_like(gradient)

    def sample(
        self,
        n: Optional[int] = None,
        *,
        sampler: Optional[str] = None,
        seeds: Optional[Iterable[int]] = None,
        progress: _progress.Progress = None,
        batch: int = 64,
        details: bool = False,
        **options: Any,
    ) -> Any:
        """Draws n images (or one for each of `seeds`), float32 N,C,H,W.

        A seed always gives the same image. sampler and options are those of `mdsm sample`: sampler="fast", churn=8. progress: True
        for a line on the terminal, or a function (done, total, noise level) that may return False to stop. details: Samples
        instead of the images alone. batch: images at a time (a model has its own, see load()).
        """
        report = _progress.callback(progress, "drawing")
        found = self._core.sample(
            _options.seeds_of(n, seeds), _options.settings({"sampler": sampler, **options}), report, _positive(batch, "batch")
        )
        return Samples(*found) if details else found[0]

    def as_torch(self) -> Callable[[Any], Any]:
        """The energy as a function of PyTorch tensors with autograd: N energies, differentiable once with respect to the images."""
        import torch

        core = self._core

        class Function(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, images: Any) -> Any:
                given = _arrays.Images(images, core.shape[0])
                energies, gradient = core.energy_and_gradient(given.values)
                ctx.save_for_backward(given.floats_like(gradient))
                return torch.from_numpy(energies).to(images.device)

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx: Any, weights: Any) -> Any:
                (gradient,) = ctx.saved_tensors
                return weights.reshape(-1, *[1] * (gradient.ndim - 1)) * gradient

        return Function.apply

    def _given(self, images: Any) -> _arrays.Images:
        return _arrays.Images(images, self.shape[0])

    def __add__(self, other: "Energy") -> "Energy":
        return _sum(self._parts + other._parts) if isinstance(other, Energy) else NotImplemented

    def __mul__(self, factor: Number) -> "Energy":
        if isinstance(factor, bool) or not isinstance(factor, (int, float, np.number)):
            return NotImplemented
        if not np.isfinite(factor):
            raise ValueError(f"an energy times {factor}")
        return _sum([(weight * float(factor), part) for weight, part in self._parts])

    __rmul__ = __mul__

    def __truediv__(self, divisor: Number) -> "Energy":
        return self * (1 / divisor) if isinstance(divisor, (int, float, np.number)) else NotImplemented

    def __neg__(self) -> "Energy":
        return self * -1

    def __sub__(self, other: "Energy") -> "Energy":
        return self + -other if isinstance(other, Energy) else NotImplemented

    def __repr__(self) -> str:
        if self._sum is None:
            return f"<mdsm.{type(self).__name__} of {'x'.join(map(str, self.shape))} images>"
        return " + ".join(f"{weight:g} * {part!r}" for weight, part in self._parts)


def _positive(number: Any, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
        raise ValueError(f"{what}: a whole number of at least 1 is wanted, not {number!r}")
    return int(number)


def _sum(parts: List[Tuple[float, Energy]]) -> Energy:
    first = parts[0][1]
    for _, part in parts:
        if part.shape != first.shape:
            raise ValueError(f"energies of images of {first.shape} and {part.shape} cannot be added; set_size() may help")
        if part.sigma0 != first.sigma0:
            raise ValueError(f"energies with sigma0 {first.sigma0:g} and {part.sigma0:g} cannot be added")
    return Energy(_core.sum_energy([(weight, part._core) for weight, part in parts]), parts)


def energy(function: Callable[[np.ndarray], Tuple[Any, Any]], shape: Sequence[int], sigma0: float = 0.1) -> Energy:
    """An energy of one's own: function(images N,C,H,W) returns energies (N) and gradients dE/dx (N,C,H,W).

    shape: C,H,W of an image. Samplers take x - sigma0**2 * gradient for the denoised image.
    """
    if not callable(function):
        raise TypeError("an energy is a function of images that returns energies and gradients")
    sizes = [_positive(size, "shape") for size in shape]
    if len(sizes) != 3:
        raise ValueError(f"shape: C,H,W is wanted, not {tuple(shape)}")
    if not 0 < float(sigma0) < float("inf"):
        raise ValueError(f"sigma0: a number above 0 is wanted, not {sigma0}")
    channels, height, width = sizes
    return Energy(_core.function_energy(function, channels, height, width, float(sigma0)))


class Model(Energy):
    """A trained model, from load()."""

    def __init__(self, core: _core.Energy, name: str):
        super().__init__(core)
        self.name = name  # as it was loaded

    @property
    def any_size(self) -> bool:
        """Whether it takes images of any height and width."""
        return self._core.any_size

    @property
    def info(self) -> Dict[str, Any]:
        """What the model file says: network, training, defaults for sampling."""
        return json.loads(self._core.info)

    def sample(self, n: Optional[int] = None, *, size: Optional[Tuple[int, int]] = None, **options: Any) -> Any:
        """As Energy.sample(); size: height and width of the images, for models of any size."""
        if size is not None:
            self.set_size(*size)
        return super().sample(n, **options)

    sample.__doc__ = f"{sample.__doc__}\n\n{inspect.getdoc(Energy.sample)}"

    def set_size(self, height: int, width: int) -> None:
        """Models of any size: the size of the images that sample() draws from now on."""
        self._core.set_size(_positive(height, "height"), _positive(width, "width"))

    def fit(self, picture: Any) -> Any:
        """A picture (array or file) as an image that the model takes: its colours, and its size where it has one."""
        if isinstance(picture, (str, os.PathLike)):
            return self._core.fit(_core.read_picture(os.fspath(picture)))
        given = _arrays.to_numpy(picture)
        channels = given.shape[-1] if given.ndim == 3 and given.shape[-1] in (1, 3) else given.shape[-3] if given.ndim > 2 else 1
        return self._core.fit(_arrays.Images(picture, channels).values)

    def denoise(self, images: Any, *, progress: _progress.Progress = None) -> Tuple[Any, Any]:
        """Removes noise of any strength. Returns the images and the standard deviation of the noise seen in each."""
        given = self._given(images)
        clean, noise = self._core.denoise(given.values, _progress.callback(progress, "denoising"))
        return given.like(clean), given.numbers(noise)

    def inpaint(
        self,
        images: Any,
        mask: Any,
        n: int = 1,
        *,
        seeds: Optional[Iterable[int]] = None,
        sampler: Optional[str] = None,
        progress: _progress.Progress = None,
        **options: Any,
    ) -> Any:
        """Fills in missing pixels. mask: True known, False missing; H,W, or N,H,W.

        Of one image: n completions, n times the image. Of several: one completion each.
        """
        given = self._given(images)
        count = given.values.shape[0]
        if not given.single and n != 1:
            raise ValueError("several images get one completion each; call it for one image to get n")
        known = _arrays.mask(mask, given.values)
        chosen = _options.seeds_of(_positive(n, "n") if given.single else count, seeds)
        values = np.repeat(given.values, n, axis=0) if given.single else given.values
        report = _progress.callback(progress, "filling in")
        settings = _options.settings({"sampler": sampler, **options})
        found, _, _ = self._core.inpaint(values, known, chosen, settings, report)
        return given.versions(found) if given.single else given.like(found)

    def __repr__(self) -> str:
        return f"<mdsm.Model {self.name!r} of {'x'.join(map(str, self.shape))} images>"


def load(
    name: Union[str, "os.PathLike[str]"],
    *,
    engine: str = "native",
    device: str = "cpu",
    batch: int = 64,
    tile: int = 0,
    precision: str = "float32",
) -> Model:
    """A model that comes with mdsm ("fashion-mnist", see models()), a model file, or a run folder.

    engine: "native", "torch" or "check"; device: "cpu", or "cuda" with torch; batch: images computed at a time, which sets the memory; tile: side of the
    parts in which larger images are computed, 0: chosen by itself; precision: "float32", "bfloat16" or, with torch, "tf32".
    """
    path = os.fspath(name)
    return Model(_core.load(path, engine, device, _positive(batch, "batch"), int(tile), precision), path)
