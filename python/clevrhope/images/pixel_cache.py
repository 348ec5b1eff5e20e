"""A cache of images from one epoch to the next, with one file for each window of images.

A file is named by a digest of everything that decides its images (world, seed, pool, renderer, size) and of
the indices of their scenes, so other images are never found. The file begins with a digest of its pixels, so
a damaged file is detected and written again. Files appear whole, whichever process writes them.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import renamed_file
from clevrhope.runtime.reading import os_reason

SUFFIX = ".pixels"

_DIGEST_BYTES = 32  # of SHA-256

Pixels = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int32]


class PixelCache:
    """A folder of images, which several processes and datasets share; a DatasetError if it cannot be made."""

    def __init__(self, folder: Path, binding: Mapping[str, Any]) -> None:
        """`binding` is everything that decides the images besides the indices of their scenes."""
        self.folder = folder
        self._binding = json.dumps(binding, sort_keys=True).encode()
        with self._errors():
            folder.mkdir(parents=True, exist_ok=True)

    def path(self, indices: Indices) -> Path:
        """The file with the images of these scenes."""
        return self.folder / f"{self._key(indices).hex()[:32]}{SUFFIX}"

    def read(self, indices: Indices, shape: tuple[int, int, int]) -> Pixels | None:
        """The images of these scenes, (n, height, width, 3), read-only; None if the file is missing or bad.

        Raises:
            DatasetError: the file cannot be read.
        """
        with self._errors():
            try:
                content = self.path(indices).read_bytes()
            except FileNotFoundError:
                return None
        digest, pixels = content[:_DIGEST_BYTES], memoryview(content)[_DIGEST_BYTES:]
        if digest != self._digest(indices, pixels):
            return None
        return np.frombuffer(pixels, np.uint8).reshape(len(indices), *shape)

    def write(self, indices: Indices, pixels: Pixels) -> None:
        """Stores the images of these scenes, (n, height, width, 3).

        Raises:
            DatasetError: no space is left, or the folder may not be written to.
        """
        content = memoryview(pixels.tobytes())
        # Several processes, even on several machines, may write the same file at once.
        writer = f"{platform.node()}-{os.getpid()}"
        with (
            self._errors(),
            renamed_file(self.path(indices), writer=writer) as temporary,
            temporary.open("wb") as file,
        ):
            file.write(self._digest(indices, content))
            file.write(content)

    def _key(self, indices: Indices) -> bytes:
        return hashlib.sha256(self._binding + indices.astype("<i4").tobytes()).digest()

    def _digest(self, indices: Indices, pixels: memoryview) -> bytes:
        digest = hashlib.sha256(self._key(indices))
        digest.update(pixels)
        return digest.digest()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DatasetError(
                f"{error.filename or self.folder}: the cache of images cannot be used ({os_reason(error)}); "
                "choose another folder for it, or leave it out"
            ) from error
