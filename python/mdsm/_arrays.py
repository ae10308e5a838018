"""Arrays of users as float32 N,C,H,W in [0,1], and results in the kind and layout they were given."""

from __future__ import annotations

from typing import Any, Callable, Tuple

import numpy as np


def is_torch(array: Any) -> bool:
    return type(array).__module__.split(".")[0] == "torch"


def to_numpy(array: Any, what: str = "images") -> np.ndarray:
    """A NumPy array of the same values; of a tensor on the CPU without a copy."""
    if is_torch(array):
        return array.detach().cpu().numpy()
    if isinstance(array, (str, bytes)) or array is None:
        raise TypeError(f"{what}: an array is wanted, not {type(array).__name__}")
    found = np.asarray(array)
    if found.dtype == object:
        raise TypeError(f"{what}: an array of numbers is wanted, not {type(array).__name__}")
    return found


def _floats(array: np.ndarray, what: str) -> np.ndarray:
    if array.dtype == np.uint8:
        return array.astype(np.float32) / np.float32(255)
    if array.dtype.kind == "f":
        return np.ascontiguousarray(array, np.float32)
    raise TypeError(f"{what}: floats in [0,1] or uint8 in 0..255 are wanted, not {array.dtype}")


def _batch(array: np.ndarray, channels: int, what: str) -> Tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """N,C,H,W, and the way back to the layout given."""
    if array.ndim == 4:
        if array.shape[1] != channels and array.shape[3] == channels:
            return array.transpose(0, 3, 1, 2), lambda found: found.transpose(0, 2, 3, 1)
        return array, lambda found: found
    if array.ndim == 3:
        if array.shape[0] != channels and array.shape[2] == channels:
            return array.transpose(2, 0, 1)[None], lambda found: found[0].transpose(1, 2, 0)
        return array[None], lambda found: found[0]
    if array.ndim == 2:
        return array[None, None], lambda found: found[0, 0]
    raise ValueError(f"{what}: N,C,H,W or N,H,W,C for several, C,H,W or H,W,C or H,W for one; not {array.shape}")


class Images:
    """What a call was given, as `values` (float32 N,C,H,W), and `like`, which turns results back."""

    def __init__(self, array: Any, channels: int, what: str = "images"):
        self._torch = array if is_torch(array) else None
        given = to_numpy(array, what)
        batch, self._back = _batch(given, channels, what)
        self.single = given.ndim < 4
        self._bytes = given.dtype == np.uint8
        self.values = np.ascontiguousarray(_floats(batch, what))

    def _kind(self, array: np.ndarray) -> Any:
        if self._torch is None:
            return array
        import torch

        return torch.from_numpy(np.ascontiguousarray(array)).to(self._torch.device)

    def like(self, found: np.ndarray) -> Any:
        """Images of the kind, layout and number format that were given."""
        return self._kind(self._format(self._back(found)))

    def versions(self, found: np.ndarray) -> Any:
        """N versions of the one image that was given."""
        return self._kind(self._format(np.stack([self._back(one[None]) for one in found])))

    def _format(self, images: np.ndarray) -> np.ndarray:
        return np.rint(images * np.float32(255)).astype(np.uint8) if self._bytes else images

    def floats_like(self, found: np.ndarray) -> Any:
        """The same, but floats: gradients."""
        return self._kind(self._back(found))

    def numbers(self, found: np.ndarray) -> Any:
        """One number for each image; a plain float for a single image."""
        return float(found[0]) if self.single else self._kind(found)


def mask(array: Any, images: np.ndarray) -> np.ndarray:
    """True or 1 where pixels are known: H,W for all images or N,H,W, as bytes."""
    found = to_numpy(array, "mask")
    if found.dtype.kind not in "bui" or found.size and (found.min() < 0 or found.max() > 1):
        raise ValueError("mask: True (known) and False (missing) are wanted" + f", not {found.dtype}" * (found.dtype.kind == "f"))
    n, _, h, w = images.shape
    if found.shape not in ((h, w), (n, h, w), (n, 1, h, w)):
        raise ValueError(f"mask: the shape ({h}, {w}) or ({n}, {h}, {w}) is wanted, not {found.shape}")
    return np.ascontiguousarray(found.astype(np.uint8))
