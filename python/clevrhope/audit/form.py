"""A manifest in; an error that names file and key out where it is not of the form that checks rely on."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from clevrhope.dataset.manifest import Manifest
from clevrhope.errors import DatasetError
from clevrhope.hops import Hop

_SHARE = "a number above 0, up to 1"
_OBJECT, _TEXT, _COUNT = "a JSON object", "a text", "a whole number, 0 or more"
_TEXTS = "a list of texts"

_CONSTRAINTS = ("min_objects", "max_objects", "height", "width", "min_pixels")

Wanted = tuple[tuple[str, ...], str]


def check_form(manifest: Manifest, path: Path) -> None:
    """Passes when all that the checks look up in a manifest is there and of its kind.

    What values mean, and whether they fit the files, is for the checks to say.

    Raises:
        DatasetError: something is missing or of another kind; one sentence, with the first such key.
    """
    _check(manifest, path, _wanted(manifest))


def check_groups(manifest: Manifest, path: Path, hops: Iterable[Hop]) -> None:
    """Passes when splits whose questions come in places or sets say how many; `hops` are all of the manifest.

    Raises:
        DatasetError: one does not; says which.
    """
    for hop in hops:
        for split in manifest.splits[hop.name]:
            # As the checks tell them apart.
            names = [*(["places"] if split.startswith("minimal") else []), *(["sets"] if hop.value else [])]
            _check(manifest, path, [(("splits", hop.name, split, name), _COUNT) for name in names])


def shard_of(manifest: Manifest, path: Path) -> str:
    """Which part of a dataset a manifest's `shard` says the folder is: "3/16".

    Raises:
        DatasetError: it does not say so.
    """
    shard: Any = manifest.shard
    _check(manifest, path, [(("shard",), _OBJECT), (("shard", "number"), _COUNT), (("shard", "of"), _COUNT)])
    if not 1 <= shard["number"] <= shard["of"]:
        said = f"{shard['number']} of {shard['of']}"
        raise DatasetError(f"{path}: shard is {said}; expected a part's number and how many there are")
    return f"{shard['number']}/{shard['of']}"


def _check(manifest: Manifest, path: Path, wanted: Iterable[Wanted]) -> None:
    for keys, kind in wanted:
        there: Any = getattr(manifest, keys[0])
        for key in keys[1:]:  # what holds a key was wanted before it, so it is an object
            if key not in there:
                raise DatasetError(f"{path}: {'.'.join(keys)} is missing; expected {kind}")
            there = there[key]
        if not _is(kind, there):
            raise DatasetError(f"{path}: {'.'.join(keys)} is {there!r:.60}; expected {kind}")


def _wanted(manifest: Manifest) -> Iterator[Wanted]:
    """Keys and what they hold; each after the key of the object that it is in."""
    for name in ("world", "templates", "questions", "config", "splits", "pools", "palettes"):
        yield (name,), _OBJECT
    yield ("world", "constraints"), _OBJECT
    for name in _CONSTRAINTS:
        yield ("world", "constraints", name), _COUNT
    if "clevr" in manifest.world:
        yield ("world", "clevr"), _OBJECT
        yield ("world", "clevr", "scenes"), _COUNT
        yield ("world", "clevr", "share"), _SHARE
    yield ("questions", "window"), _COUNT
    yield ("templates", "files"), _TEXTS
    for pool in manifest.pools:
        yield ("pools", pool), _OBJECT
        yield ("pools", pool, "pictures"), _COUNT
    for hop, splits in manifest.splits.items():
        yield ("splits", hop), _OBJECT
        for split in splits:
            place = ("splits", hop, split)
            yield place, _OBJECT
            yield (*place, "pool"), _TEXT
            for name in ("questions", "pictures"):
                yield (*place, name), _COUNT


def _is(kind: str, value: object) -> bool:
    if kind == _OBJECT:
        return isinstance(value, Mapping)
    if kind == _TEXT:
        return isinstance(value, str)
    if kind == _TEXTS:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if kind == _SHARE:
        return isinstance(value, int | float) and not isinstance(value, bool) and 1e-6 <= value <= 1
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
