"""What was frozen of an edition, from a JSON file: the engine that made it and the digests of its content."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clevrhope.dataset.manifest import Manifest
from clevrhope.editions import definition
from clevrhope.editions.content import PARTS, Tree
from clevrhope.editions.definition import Edition
from clevrhope.errors import ConfigError
from clevrhope.runtime.forms import NAME, OBJECT, SHA256, TEXT, Fields, MapOf, check_form
from clevrhope.runtime.json_text import as_json_values, read_object
from clevrhope.version import software_version

SHORT = 8
"""Digits of an image's digest that are kept, enough to find images that differ."""

_WORDS = {
    "version": "the version of datasets",
    "world": "the fingerprint of the world",
    "templates": "the fingerprint of the question templates",
    "questions": "what is recorded of questions",
    "rendering": "the rendering",
    "revision": "the renderer's revision",
}
"""Everything besides an edition's definition that decides content, as messages name it."""


@dataclass(frozen=True)
class Frozen:
    """The engine and the digests that were frozen of an edition.

    Attributes:
        clevrhope: the version of the package that made it.
        engine: everything besides the definition that decides content; see `engine_of`.
        splits: the digests.
        images: pool -> index -> the first digits of the digest of each image that was compared.
    """

    clevrhope: str
    engine: Mapping[str, Any]
    splits: Tree
    images: Mapping[str, Mapping[int, str]]


def engine_of(manifest: Manifest, rendering: Mapping[str, Any]) -> dict[str, Any]:
    """Everything besides seed, pairs and sizes that decides the content of a folder, in JSON values."""
    found = {
        "version": manifest.version,
        "world": manifest.world["fingerprint"],
        "templates": manifest.templates["fingerprint"],
        "questions": manifest.questions,
        "rendering": rendering,
    }
    return dict(as_json_values(found))


def check_engine(edition: Edition, manifest: Manifest) -> None:
    """Checks that this version of the package makes an edition as it was frozen.

    Args:
        edition: the edition.
        manifest: the manifest that this version would write for a new folder of it. Without a rendering, the
            renderer is not compared.

    Raises:
        ConfigError: it would make something else; names the difference and the version that makes the
            edition.
    """
    frozen = read_frozen(edition)
    here = engine_of(manifest, manifest.rendering or frozen.engine["rendering"])
    # Kinds of splits that are newer than the edition do not affect it.
    known = frozen.engine["questions"]["an_image"].keys()
    numbers = here["questions"]["an_image"]
    here["questions"]["an_image"] = {name: n for name, n in numbers.items() if name in known}
    for name, there in frozen.engine.items():
        if there == here[name]:
            continue
        words, was, now = _WORDS[name], there, here[name]
        if name == "rendering" and was | {"revision": now.get("revision")} == now:
            words, was, now = _WORDS["revision"], was["revision"], now["revision"]
        raise ConfigError(
            f"this version of clevrhope, {software_version()}, cannot make the edition {edition.name} any "
            f"more: {words} is {_short(was)} there and {_short(now)} here; install the version that made it, "
            f"{frozen.clevrhope}: pip install clevrhope=={frozen.clevrhope}"
        )


def read_frozen(edition: Edition) -> Frozen:
    """Reads what was frozen of an edition.

    Raises:
        ConfigError: the file is missing or broken.
    """
    path = definition.FOLDER / f"{edition.name}.json"
    raw = read_object(path, "what was frozen of an edition", error=ConfigError)
    check_form(raw, _FORM, path, error=ConfigError)
    images = {
        pool: {int(index): digest for index, digest in (each.split(":") for each in row.split())}
        for pool, row in raw["images"].items()
    }
    return Frozen(raw["clevrhope"], raw["engine"], raw["splits"], images)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_FORM = Fields(
    {
        "clevrhope": TEXT,
        "engine": Fields(
            {"version": TEXT, "world": TEXT, "templates": TEXT, "questions": OBJECT, "rendering": OBJECT}
        ),
        "splits": MapOf(MapOf(Fields(dict.fromkeys(PARTS, SHA256)), keys=NAME), keys=NAME),
        "images": MapOf(TEXT, keys=NAME),
    }
)
