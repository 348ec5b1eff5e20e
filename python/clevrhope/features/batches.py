"""Runs an extractor on as many images at a time as memory allows, and checks its output."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clevrhope.errors import ConfigError
from clevrhope.features.extractor import Array, Extractor, ImageArray, Scene


class Batches:
    """Calls an extractor's `rows` in batches, whose size is halved whenever memory runs out."""

    def __init__(self, kind: str, extractor: Extractor, *, device: str) -> None:
        """`kind` and `device`, as the user chose them, are for messages."""
        self._kind, self._extractor, self._device = kind, extractor, device
        self.size = extractor.batch_size
        """Images per batch after the last call."""

    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> dict[str, Array]:
        """The rows of n images, joined and checked; arguments as in `Extractor.rows`.

        Raises:
            ConfigError: the rows have another form than the extractor declares, or contain NaN or infinite
                numbers; or there is not enough memory for a single image.
        """
        made: list[Mapping[str, Array]] = []
        first = 0
        while first < len(images):
            part = slice(first, first + self.size)
            try:
                rows = self._extractor.rows(images[part], scenes[part])
            except RuntimeError as error:
                if not ("out of memory" in str(error) or "not enough memory" in str(error)):
                    raise
                if self.size == 1:
                    raise ConfigError(
                        f"--device: {self._device} has not enough memory for one image; choose another"
                    ) from error
                self.size //= 2
                _free_memory()
                continue
            self._check(rows, len(images[part]))
            made.append(rows)
            first += self.size
        return {name: np.concatenate([each[name] for each in made]) for name in self._extractor.arrays}

    def _check(self, rows: Any, n: int) -> None:
        """Checks the rows of n images."""
        arrays, place = self._extractor.arrays, f'features "{self._kind}": its method rows returns'
        if not isinstance(rows, Mapping) or set(rows) != set(arrays):
            given = (
                ", ".join(map(str, rows)) or "no array" if isinstance(rows, Mapping) else type(rows).__name__
            )
            raise ConfigError(f"{place} {given}; its arrays are {', '.join(arrays)}")
        for name, spec in arrays.items():
            array = rows[name]
            if not isinstance(array, np.ndarray):
                raise ConfigError(f"{place} {name} as a {type(array).__name__}; expected a numpy array")
            expected = (n, *spec.shape)
            if array.dtype != spec.dtype or array.shape != expected:
                raise ConfigError(
                    f"{place} {name} as {array.dtype} {array.shape}; expected {spec.dtype} {expected}, "
                    f"as its arrays say, for {n} images"
                )
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ConfigError(f"{place} {name} with NaN or infinite numbers in it")


def _free_memory() -> None:
    """Releases GPU memory that torch caches."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
