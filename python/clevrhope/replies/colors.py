"""Names of colors that a world lacks, and which of its colors they mean, judged by RGB values."""

from collections.abc import Mapping, Sequence
from math import dist

Color = Sequence[float]
"""Red, green and blue from 0 to 255."""


def _table(rows: str) -> dict[str, Color]:
    """Name -> color, from rows "name RRGGBB"."""
    return {name: tuple(bytes.fromhex(code)) for name, code in map(str.split, rows.split(","))}


BASIC = _table(
    "red ad2323, green 1d6914, blue 2a4bd7, brown 814a19, purple 8126c0, cyan 29d0d0, yellow ffee33,"
    "gray 808080, orange ff8c00, pink ff9fb8, black 101010, white ffffff"
)
"""Names that mean themselves; in a world that lacks one, the only color that is much like it, if any."""
_NEAR = 20
"""The distance in CIELAB below which colors are much alike: basic colors are at least 26 apart."""
SHADES = _table(
    "silver aaa9ad, silvery aaa9ad, pewter 96a8a1, slate 708090,"
    "gold ffd700, golden ffd700, lemon fff44f, mustard ffdb58,"
    "turquoise 40e0d0, teal 008b8b, aqua 00ffff, aquamarine 5fe0c8,"
    "violet 8f30d0, magenta c020c0, lavender a068d8, lilac a066c8, indigo 5b0fa8, amethyst 9966cc,"
    "maroon 800000, crimson b8102c, scarlet d01c10, burgundy 800020,"
    "bronze 8c5a2b, copper 9a5530, tan a0723c, chocolate 7b3f00, mahogany 6a3010,"
    "navy 182890, azure 1060e0, cobalt 0047ab, sapphire 0f52ba,"
    "lime 32b020, olive 556b1f, emerald 10a040, jade 00a060,"
    "peach ffcba4, salmon fa9080, coral ff7f50, rose ff80a0, amber ff9a00, beige f5f5dc, cream fffdd0,"
    "ivory fffff0"
)
"""Names that mean the world's color that they are nearest to."""


def color_named(name: str) -> Color | None:
    """The color that a name usually means, if known."""
    return BASIC.get(name) or SHADES.get(name)


def meanings(world: Mapping[str, Color]) -> dict[str, str | None]:
    """Name -> the world's color that it means; None if it is nearer to a basic color that the world lacks."""
    own = {name: _lab(color) for name, color in world.items()}
    basic: dict[str, str | None] = {}
    for name, color in BASIC.items():
        near = [each for each, lab in own.items() if dist(lab, _lab(color)) < _NEAR]
        basic[name] = name if name in world else near[0] if len(near) == 1 else None
    known = [(lab, name) for name, lab in own.items()] + [(_lab(BASIC[name]), basic[name]) for name in BASIC]
    nearest = {
        name: min(known, key=lambda each: dist(each[0], _lab(color)))[1] for name, color in SHADES.items()
    }
    return {name: value for name, value in (basic | nearest).items() if name not in world}


def _lab(color: Color) -> tuple[float, float, float]:
    """A color in CIELAB, where distances are about as large as they look.

    Source: CIE 15:2004, with sRGB's white (D65).
    """
    linear = [c / 3294.6 if c <= 10.31 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
    rows = ((0.4339, 0.3762, 0.1899), (0.2126, 0.7152, 0.0722), (0.0178, 0.1095, 0.8728))
    xyz = [sum(weight * c for weight, c in zip(row, linear, strict=True)) for row in rows]
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)
