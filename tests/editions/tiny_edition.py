"""A made-up edition for tests: two pairs, few questions, and images of 48 x 32 pixels."""

from pathlib import Path

NAME = "tiny-1"
SEED = 11
HOPS = ("large_rubber", "cyan_cylinder")

DEFINITION = """
seed = 11
hops = ["large_rubber", "cyan_cylinder"]
every_image = 1

[settings]
preset = "demo"

[settings.sizes]
train = 90
val_iid = 18
complex_iid = 27
complex_ood = 5
minimal_copies = 1
minimal_places = 3

[settings.rendering]
renderer = "native"
quality = "draft"
width = 48
height = 32
"""


def write_definition(folder: Path, name: str = NAME, text: str = DEFINITION) -> None:
    (folder / f"{name}.toml").write_text(text, "utf-8")
