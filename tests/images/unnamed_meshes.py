"""The meshes of the package's world without English names, by the formulas that made its files.

    python tests/images/unnamed_meshes.py

writes them anew. Each surface is a distance from the origin in every direction, with a flat foot.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

FOLDER = Path(__file__).parents[2] / "blender_assets" / "worlds" / "unnamed"
"""The folder of the meshes."""

ROWS, COLUMNS = 28, 40
FOOT_Z = -0.62
"""Where the surface is cut off below, before it is scaled."""

Numbers = npt.NDArray[np.float64]


def _bump(x: Numbers, width: float) -> Numbers:
    return np.exp(-((x / width) ** 2))


def _horned(polar: Numbers, round: Numbers) -> Numbers:
    """A low body with three horns."""
    return 0.62 + 0.75 * np.clip(np.cos(3 * round), 0, None) ** 1.5 * _bump(polar - 0.75, 0.3)


def _screwed(polar: Numbers, round: Numbers) -> Numbers:
    """Two knobs of four ridges, screwed against each other about a narrow waist."""
    ridges = 1 + 0.3 * np.cos(4 * round + 2.5 * np.cos(polar))
    return ridges * (1.05 - 0.6 * _bump(polar - 1.5, 0.45))


def _finned(polar: Numbers, round: Numbers) -> Numbers:
    """A spindle with five thin fins, wide below."""
    fins = np.abs(np.cos(2.5 * round)) ** 6
    return 0.42 + 0.5 * _bump(polar, 0.45) + 0.75 * fins * _bump(polar - 1.9, 0.45)


def _leaning(polar: Numbers, round: Numbers) -> Numbers:
    """A ball with one arm that leans out, and a dent opposite."""
    return (
        0.72
        + 0.7 * _bump(polar - 0.7, 0.4) * _bump(round - np.pi, 0.5)
        - 0.5 * _bump(polar - 1.1, 0.6) * (_bump(round, 0.7) + _bump(round - 2 * np.pi, 0.7))
    )


SHAPES = {"gobu": _horned, "mepi": _screwed, "tiku": _finned, "rodo": _leaning}


def obj(name: str) -> str:
    """The mesh of a shape as an OBJ file, in which Y is up."""
    polar = np.linspace(0, np.pi, ROWS + 1)[1:-1, None]
    round = np.linspace(0, 2 * np.pi, COLUMNS, endpoint=False)[None, :]
    distance = SHAPES[name](polar, round)
    x, y, z = (
        distance * np.sin(polar) * np.cos(round),
        distance * np.sin(polar) * np.sin(round),
        distance * np.cos(polar),
    )
    tips = [np.full(1, SHAPES[name](np.full(1, at), np.zeros(1))[0] * np.cos(at)) for at in (0.0, np.pi)]
    x, y = (np.concatenate([[0.0], each.ravel(), [0.0]]) for each in (x, y))
    z = np.maximum(np.concatenate([tips[0], z.ravel(), tips[1]]), FOOT_Z)
    middle = (z.max() + z.min()) / 2
    points = np.stack([x, y, z - middle], axis=1)
    points *= [*[0.98 / np.abs(points[:, :2]).max()] * 2, 1 / (middle - z.min())]
    lines = [f"# {SHAPES[name].__doc__}"]
    lines += [f"v {a:.4f} {c:.4f} {-b:.4f}" for a, b, c in points + 0.0]
    corner = 2 + np.arange((ROWS - 1) * COLUMNS).reshape(ROWS - 1, COLUMNS)
    beside = np.roll(corner, -1, axis=1)
    last = corner[-1, -1] + 1
    faces = [(1, a, b) for a, b in zip(corner[0], beside[0], strict=True)]
    faces += [
        each
        for a, b, c, d in zip(
            corner[:-1].flat, corner[1:].flat, beside[1:].flat, beside[:-1].flat, strict=True
        )
        for each in ((a, b, c), (a, c, d))
    ]
    faces += [(last, b, a) for a, b in zip(corner[-1], beside[-1], strict=True)]
    return "\n".join([*lines, *(f"f {a} {b} {c}" for a, b, c in faces), ""])


if __name__ == "__main__":
    for name in SHAPES:
        (FOLDER / f"{name}.obj").write_text(obj(name), "utf-8")
