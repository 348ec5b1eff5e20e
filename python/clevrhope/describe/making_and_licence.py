"""What the sections on the making of a folder, its licence and its maintenance say, from its manifest."""

from collections.abc import Collection
from typing import Any

from clevrhope.dataset.manifest import Manifest
from clevrhope.images.renderers import made_by, row_recorded
from clevrhope.pages import render_markdown
from clevrhope.pages.markdown import listed
from clevrhope.splits.kinds import SPLITS, TRAIN
from clevrhope.version import software_version


def shares_clevr(manifest: Manifest) -> bool:
    """Whether a folder has scenes from CLEVR, which only the train pool can have."""
    return "clevr" in manifest.world and TRAIN.name in _splits(manifest)


def made_from(manifest: Manifest) -> str:
    """A phrase for readers on the dataset's seed, and on its edition if it is one."""
    if manifest.source:
        return f"published files (form {manifest.source['form']})"
    if manifest.public_seed is None:
        return f"a seed that its owner keeps, as {manifest.edition_in_words}"
    edition = f", as the edition {manifest.edition_in_words}" if manifest.edition else ""
    return f"seed {manifest.public_seed}{edition}"


def making_and_licence(manifest: Manifest) -> dict[str, Any]:
    """The values of the template parts/making_and_licence.md."""
    rendering, settings = manifest.rendering, manifest.settings
    return {
        "manifest": manifest,
        "software": software_version(),
        "rendering": _rendering(manifest),
        "rendered_by": made_by(rendering) if rendering is not None else "",
        "licence": "" if rendering is None else row_recorded(rendering).licence,
        "passes": manifest.config.get("passes", ()),
        "settings": [
            {
                "option": settings.option(name),
                "value": getattr(settings, name),
                "effect": settings.effect(name),
            }
            for name in _settings(manifest)
        ],
        "constraints": [
            (name, value) for name, value in manifest.world["constraints"].items() if _is_plain(value)
        ],
        "bound_to_clevr": "clevr" in manifest.world,
        "has_clevr": shares_clevr(manifest),
        **_selection(_splits(manifest)),
    }


def balancing(splits: Collection[str]) -> str:
    """A paragraph on how questions are selected, for these kinds of splits."""
    return render_markdown("parts/balancing.md", **_selection(splits)).strip()


def _selection(splits: Collection[str]) -> dict[str, Any]:
    """The splits whose questions are balanced, if there are any, and those with groups of images."""
    grouped = sorted(name for name in splits if name in SPLITS and SPLITS[name].drawn != "stream")
    return {"streamed": len(splits) > len(grouped), "grouped": grouped}


def _splits(manifest: Manifest) -> set[str]:
    """Names of all splits in the folder."""
    return {name for splits in manifest.splits.values() for name in splits}


def _settings(manifest: Manifest) -> list[str]:
    """The settings that determine the content: those for pairs or several images only if there are any."""
    left_out = [] if manifest.covr else manifest.settings.names_of_sets()
    has_places = any(name in SPLITS and SPLITS[name].drawn == "places" for name in _splits(manifest))
    left_out += [] if has_places else manifest.settings.names_of_pairs()
    return [name for name in manifest.settings.choices() if name not in left_out]


def _rendering(manifest: Manifest) -> str:
    if manifest.rendering is None:
        return "not rendered"
    files = sorted({kind for pool in manifest.pools.values() for kind in pool.get("files", ())})
    settings = ", ".join(f"{name} {value}" for name, value in manifest.rendering.items() if _is_plain(value))
    return f"{listed(files)}: {settings}" if files else settings


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)
