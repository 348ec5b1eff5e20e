"""The pools of images that a suite made for a split: their names, and the indices of their images.

The name is `<HOP>.<suite>.<split>`; no other pool's name has a dot. The files of such a pool are in the
suite's folder, not with the pools of `build`.

The question in row k of the split has the images 8 k + 1 to 8 k + 7, one for each visual test. Image 8 k is a
copy of the image that the question is about, unless an earlier question has such a copy. So the index of an
edited image does not depend on which other questions have visual tests.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

VISUAL = "visual"
"""The suite of edited images."""

PIXEL_TESTS = ("blur_1", "blur_2", "blur_3", "fill", "crop")
"""The visual tests whose images are edited pixel by pixel, so that no scene describes them."""

VISUAL_TESTS = (*PIXEL_TESTS, "removal", "edit")
"""All visual tests, in the order of their images."""

IMAGES_A_QUESTION = 1 + len(VISUAL_TESTS)
"""Number of indices reserved for each question of the split."""

EDIT = "edit"
"""The key under which a scene of such a pool records its source and its edit."""

COPY = "copy"
"""The kind of edit that leaves a scene as its source."""


class SuitePool(NamedTuple):
    """The HOP, suite and split that a suite's pool belongs to."""

    hop: str
    suite: str
    split: str

    @property
    def name(self) -> str:
        """The pool's name."""
        return ".".join(self)


def parse_suite_pool(pool: str) -> SuitePool | None:
    """Parses the name of a suite's pool; None for a pool of the dataset's own."""
    parts = pool.split(".")
    return SuitePool(*parts) if len(parts) == len(SuitePool._fields) else None


def visual_index(row: int, test: str | None = None) -> int:
    """The index of a question's image for a visual test; without a test, the index of the unedited copy."""
    return IMAGES_A_QUESTION * row + (0 if test is None else 1 + VISUAL_TESTS.index(test))


def is_pixel_edit(indices: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """(n,) whether each of a visual pool's images (n,) was edited pixel by pixel."""
    edited: npt.NDArray[np.bool_] = np.isin(
        indices % IMAGES_A_QUESTION, [visual_index(0, test) for test in PIXEL_TESTS]
    )
    return edited
