"""The sections of a datasheet on the making of a folder, its licence and its maintenance."""

from collections.abc import Collection, Mapping
from typing import Any

from clevrhope.dataset.manifest import Manifest
from clevrhope.describe.markdown import code, escape, listed, number, table
from clevrhope.images.renderers import row_recorded
from clevrhope.images.rendering_record import made_by
from clevrhope.splits.kinds import SPLITS, TRAIN
from clevrhope.version import software_version

PAPER = (
    "Berlot-Attwell, Agrawal, Carrell, Sharma and Saphra, "
    '"Attribute Diversity Determines the Systematicity Gap in VQA" (EMNLP 2024, '
    "doi 10.18653/v1/2024.emnlp-main.537)"
)
"""The paper whose dataset this one follows."""

CLEVR = (
    "Johnson, Hariharan, van der Maaten, Fei-Fei, Zitnick and Girshick, "
    '"CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual Reasoning" (2017)'
)
"""Credit for CLEVR's scenes and images, which their licence, CC BY 4.0, requires."""


def shares_clevr(manifest: Manifest) -> bool:
    """Whether a folder has scenes from CLEVR, which only the train pool can have."""
    return "clevr" in manifest.world and TRAIN.name in _splits(manifest)


def made_from(manifest: Manifest) -> str:
    """A phrase for readers on the dataset's seed, and on its edition if it is one."""
    if manifest.public_seed is None:
        return f"a seed that its owner keeps, as {manifest.edition_in_words}"
    edition = f", as the edition {manifest.edition_in_words}" if manifest.edition else ""
    return f"seed {manifest.public_seed}{edition}"


def provenance_sections(manifest: Manifest) -> str:
    """The sections on making, licence and maintenance, which are the same in all datasheets of a folder."""
    passes, templates, settings = manifest.config.get("passes", ()), manifest.templates, manifest.settings
    rows = [
        ("dataset version", escape(manifest.version)),
        ("clevrhope", escape(software_version())),
        *([("edition", escape(manifest.edition_in_words))] if manifest.edition else []),
        ("seed", manifest.seed_in_words),
        ("world", code(manifest.world["fingerprint"])),
        ("templates", f"{code(manifest.config['templates'])} {code(templates['fingerprint'])}"),
        ("images", _rendering(manifest)),
        *([("`--passes`", listed([code(kind) for kind in passes]))] if passes else []),
        *((code(settings.option(name)), code(getattr(settings, name))) for name in _settings(manifest)),
    ]
    constraints = manifest.world["constraints"].items()
    rows += [(escape(name), escape(value)) for name, value in constraints if _is_plain(value)]
    return "\n\n".join(
        [
            "## How was it made?",
            "Scenes are sampled at random under the constraints below; each depends on world, seed, pool and "
            "index alone. "
            + balancing(_splits(manifest))
            + _binding(manifest)
            + (
                ""
                if manifest.rendering is None
                else f"Images are rendered from the scenes by {escape(made_by(manifest.rendering))}. "
            )
            + "No people took part; "
            + (
                f"{_taken(manifest.world['clevr'])}, nothing else was taken from elsewhere"
                if shares_clevr(manifest)
                else "nothing was taken from elsewhere"
            )
            + ". The settings, the options of the command and the checksum of every file are in "
            "`manifest.json`. The same settings and seed give the same scenes, questions and, by the same "
            "revision of the native renderer, images; Blender's pixels may differ between machines.",
            table(["", "value"], rows),
            "## How is it distributed and kept?",
            "The data are under the Creative Commons Attribution licence, CC BY 4.0; clevrhope, which made "
            "them, is under the MIT licence. "
            + _renderers_licence(manifest)
            + _edition(manifest)
            + "Whoever publishes a folder maintains it. More pairs and larger sizes can be added without "
            "changing what is there; a release that changed it would have another dataset version.",
        ]
    )


def _splits(manifest: Manifest) -> set[str]:
    """Names of all splits in the folder."""
    return {name for splits in manifest.splits.values() for name in splits}


def balancing(splits: Collection[str]) -> str:
    """A paragraph on how questions are selected, for the kinds of splits in the folder."""
    of_groups = sorted(name for name in splits if SPLITS[name].drawn != "stream")
    streamed = len(splits) > len(of_groups)
    parts = []
    if streamed:
        parts.append(
            "Questions are found by a search over templates and balanced over windows of "
            "250 scenes, so that no answer of a template prevails. "
        )
    if of_groups:
        names = listed([code(name) for name in of_groups])
        begin = f"Those of {names} are not balanced: there" if streamed else f"In {names}"
        parts.append(f"{begin} the images of a group decide how frequent each answer is. ")
    return "".join(parts)


def _settings(manifest: Manifest) -> list[str]:
    """The settings that determine the content: those for pairs or several images only if there are any."""
    left_out = [] if manifest.covr else manifest.settings.names_of_sets()
    has_places = any(SPLITS[name].drawn == "places" for splits in manifest.splits.values() for name in splits)
    left_out += [] if has_places else manifest.settings.names_of_pairs()
    return [name for name in manifest.settings.choices() if name not in left_out]


def _binding(manifest: Manifest) -> str:
    """The options to which a folder is bound, including defaults; another choice needs another folder."""
    settings = manifest.settings
    options = {
        name: code(f"{settings.option(name)} {getattr(settings, name)}") for name in _settings(manifest)
    }
    clauses = "; ".join(f"with {option} {settings.effect(name)}" for name, option in options.items())
    text = f"{clauses[0].upper()}{clauses[1:]}. "
    if "clevr" in manifest.world and not shares_clevr(manifest):
        text += (
            "With `--clevr`, a train split would have scenes and images of CLEVR among its own; this folder "
            "has no train split, so nothing in it is CLEVR's. "
        )
    return text + "This also holds for whatever is added to the folder. "


def _taken(clevr: Mapping[str, Any]) -> str:
    return (
        f"scenes of the pool `train`, at a share of {clevr['share']}, and their images are from CLEVR's "
        f"train split ({CLEVR}; CC BY 4.0; {number(clevr['scenes'])} scenes, spread by a seeded "
        "permutation until they are used up)"
    )


def _edition(manifest: Manifest) -> str:
    """A sentence on what an edition is, if the folder is one."""
    if manifest.edition is None:
        return ""
    if manifest.public_seed is not None:
        return (
            f"This is the edition {code(manifest.edition_in_words)} or a part of it, and its content is the "
            "same for everybody; `clevrhope verify` compares a folder with it. "
        )
    return (
        f"This is a private edition of {code(manifest.edition['name'])}: the same design, from a seed that "
        "its owner keeps, so that no model can have been trained on it before it is published. "
    )


def _renderers_licence(manifest: Manifest) -> str:
    """A sentence on what Blender's licence means for images, if it rendered them."""
    return "" if manifest.rendering is None else row_recorded(manifest.rendering).licence


def _rendering(manifest: Manifest) -> str:
    if manifest.rendering is None:
        return "not rendered"
    files = sorted({kind for pool in manifest.pools.values() for kind in pool.get("files", ())})
    settings = ", ".join(f"{name} {value}" for name, value in manifest.rendering.items() if _is_plain(value))
    return escape(f"{listed(files)}: {settings}" if files else settings)


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)
