"""What binds a folder: seed, world, templates, question settings and, once there are images, rendering."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.manifest import Manifest
from clevrhope.errors import DatasetError
from clevrhope.images.renderers import other_revision, rendering_in_words, rendering_of_folder

_BOUND = {
    "version": "another dataset version",
    "seed": "another seed",
    "world": "another world",
    "templates": "another set of templates",
    "questions": "other question settings",
}
"""The fields that always bind a folder, and how a message names a difference in them."""


class BindingError(DatasetError, ValueError):
    """A folder was made with settings that differ from the requested ones."""


def check_binding(existing: Manifest, wanted: Manifest, root: Path) -> None:
    """Checks that `wanted` extends the folder that `existing` describes.

    Raises:
        BindingError: they differ in something that decides content; says where, with both values.
    """
    remedy = "choose another --out, or use the folder's own settings"

    def check_equal(name: str, there: Any, here: Any) -> None:
        if there != here:
            raise BindingError(f"{root}: made with {name} ({difference(there, here)}); {remedy}")

    if existing.source:
        raise BindingError(
            f"{root}: imported from published files, to which nothing can be added; choose another --out"
        )
    if existing.edition != wanted.edition:
        raise BindingError(
            f"{root}: holds {existing.edition_in_words}, but {wanted.edition_in_words} was asked for; "
            "choose another --out"
        )
    if existing.raster_px != wanted.raster_px:
        # A folder without images has no size of its own; the raster then stands for its shape.
        given = [each.rendering or each.world["constraints"] for each in (existing, wanted)]
        old, new = (f"{size['width']} x {size['height']}" for size in given)
        raise BindingError(
            f"{root}: its scenes were sampled for images of another shape ({old}, not {new}); choose another "
            "--out, or [rendering] width and height of its shape"
        )
    for key, name in _BOUND.items():
        check_equal(name, getattr(existing, key), getattr(wanted, key))
    if existing.rendering is None or wanted.rendering is None:
        return
    rendering = rendering_of_folder(existing.rendering, wanted.rendering)
    if existing.rendering["renderer"] != rendering["renderer"]:
        raise BindingError(
            f"{root}: its images were made with {rendering_in_words(existing.rendering)}, not with "
            f"{rendering_in_words(rendering)}; {remedy}"
        )
    if reason := other_revision(existing.rendering, rendering):
        raise BindingError(f"{root}: {reason}")
    check_equal("other rendering settings", existing.rendering, rendering)


def difference(there: Any, here: Any, *, sides: tuple[str, str] = ("there", "asked for")) -> str:
    """The first few settings in which two values differ; fingerprints only if nothing else differs.

    `sides` are the words that follow the first and the second value.
    """
    if not (isinstance(there, Mapping) and isinstance(here, Mapping)):
        return f"{_short(there)} {sides[0]}, {_short(here)} {sides[1]}"
    every = list(_differing_leaves(there, here, ""))
    named = [leaf for leaf in every if not leaf[0].endswith("fingerprint")] or every
    shown = "; ".join(f"{place} is {a} {sides[0]}, {b} {sides[1]}" for place, a, b in named[:3])
    return shown + (f"; and {len(named) - 3} more" if len(named) > 3 else "")


def _differing_leaves(
    there: Mapping[str, Any], here: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, str, str]]:
    """Path, existing value and requested value of each setting that differs."""
    for key in dict.fromkeys([*there, *here]):
        left_out = QuestionSettings.choices().get(key, ["none"])[0]
        a, b = there.get(key, left_out), here.get(key, left_out)
        if _are_named(a) and _are_named(b):
            a, b = ({str(item["name"]): item for item in items} for items in (a, b))
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from _differing_leaves(a, b, f"{prefix}{key}.")
        elif isinstance(a, list) and isinstance(b, list) and set(map(str, a)) != set(map(str, b)):
            # Long lists usually differ in only a few members.
            only_a, only_b = [x for x in a if x not in b], [x for x in b if x not in a]
            with_a = f"with {_short(only_a)}" if only_a else f"without {_short(only_b)}"
            with_b = f"with {_short(only_b)}" if only_b else f"without {_short(only_a)}"
            yield f"{prefix}{key}", with_a, with_b
        elif a != b:
            yield f"{prefix}{key}", _short(a), _short(b)


def _are_named(value: Any) -> bool:
    """Whether a value is a list of objects with names."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, Mapping) and "name" in item for item in value)
    )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=not str(value).isprintable(), default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
