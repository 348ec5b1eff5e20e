"""A rectangle in an image, as a page draws it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """A rectangle in an image, in per cent of its width and height."""

    left: float
    top: float
    width: float
    height: float
