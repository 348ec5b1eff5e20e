"""Palettes of the experiments hour and partners, as files: `python -m benchmarks.palette_files experiments`.

A file has the combinations of color and shape that are seen in training, without the held-out cyan cylinder.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clevrhope.scenes import read_world
from clevrhope.splits.palettes import palette_from_json

Combination = tuple[str, ...]

PAIR = ("cyan", "cylinder")

DRAWS = 8
"""Draws of partners: half of them show cyan cubes, half cyan spheres, each half with colors of its own."""

SECOND_DRAWS = {101: 1, 104: 4}
"""Seed of a second draw of data -> the palette of hour that it has again."""


def partner_palettes(draw: int) -> dict[str, list[Combination]]:
    """The palettes of a draw, numbered from 1, by the names of their files.

    `base` has the three combinations that all others contain: cyan with the only other shape that it has,
    cylinders in one color, and this shape in this color. `k8_one` and `k16_one` have cylinders in that color
    alone, `k8_five` and `k16_five` in five; all others of their 8 or 16 combinations, the pair included, are
    cubes and spheres of other colors, in one order.
    """
    types = dict(read_world().vocabulary.attribute_types)
    colors = [each for each in types["color"] if each != PAIR[0]]
    shapes = [each for each in types["shape"] if each != PAIR[1]]
    half, place = (draw - 1) % 2, (draw - 1) // 2
    shape = shapes[half]
    color = colors[int(np.random.default_rng([51, half]).permutation(len(colors))[place])]
    rng = np.random.default_rng([51, 2, draw])
    more = [colors[k] for k in rng.permutation(len(colors)) if colors[k] != color][:4]
    base: list[Combination] = [(PAIR[0], shape), (color, PAIR[1]), (color, shape)]
    free: list[Combination] = [(a, b) for a in colors for b in shapes if (a, b) not in base]
    others = [free[k] for k in rng.permutation(len(free))]
    cylinders: list[Combination] = [(each, PAIR[1]) for each in more]
    found = {"base": base}
    for k in (8, 16):
        n = k - 1 - len(base)
        found[f"k{k}_one"] = [*base, *others[:n]]
        found[f"k{k}_five"] = [*base, *cylinders, *others[: n - len(cylinders)]]
    return found


def nested_palettes(seed: int) -> dict[str, list[Combination]]:
    """The palettes of hour with a seed, by the names of their files: the first 4, 8 and 16 combinations."""
    world = read_world()
    found = {}
    for k in (4, 8, 16):
        pair = [("color", PAIR[0]), ("shape", PAIR[1])]
        seen = palette_from_json(json.loads(world.seen_palette(pair, diversity=k, mode="nested", seed=seed)))
        found[f"k{k}"] = [*seen.combinations]
    return found


def palette_files() -> dict[str, str]:
    """All files: path below the folder of experiments -> content."""
    palettes = {f"partners/{draw}": partner_palettes(draw) for draw in range(1, DRAWS + 1)}
    palettes |= {f"hour/{seed}": nested_palettes(of) for seed, of in SECOND_DRAWS.items()}
    return {
        f"{folder}/{name}.json": json.dumps({"types": ["color", "shape"], "rows": [seen]}) + "\n"
        for folder, by_name in palettes.items()
        for name, seen in by_name.items()
    }


def main(arguments: Sequence[str]) -> None:
    """Writes the files below a folder."""
    (folder,) = arguments
    for name, content in palette_files().items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


if __name__ == "__main__":
    main(sys.argv[1:])
