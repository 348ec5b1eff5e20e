"""Possible additions to a dataset, each with the command that makes it."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from clevrhope.config.presets import PRESETS
from clevrhope.dataset.contents import suite_command
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.suite_pools import VISUAL
from clevrhope.describe.info.reproduction import Reproduction, suites_of
from clevrhope.editions.definition import edition_names, read_edition
from clevrhope.images.passes import PASSES
from clevrhope.questions.suites import suite_names
from clevrhope.splits.hops import HOP_GROUPS, NONE, PRELIM
from clevrhope.splits.palettes import MARK


@dataclass(frozen=True)
class Addition:
    """Something that a folder lacks.

    Attributes:
        what: the addition in words.
        command: the command line that adds it.
    """

    what: str
    command: str


def additions(
    folder: Path, manifest: Manifest, made: Reproduction, *, features: Sequence[str]
) -> list[Addition]:
    """Everything that the dataset in `folder` lacks; `features` are the stores that it has."""
    builds = _builds if manifest.edition is None else _builds_of_edition
    found = [*builds(folder, manifest, made), *_suites(folder, manifest)]
    if manifest.rendering is not None and not features:
        command = shlex.join(["clevrhope", "features", str(folder), "--kind", "pixels"])
        found.append(Addition("features, which models read", command))
    return found


def _builds(folder: Path, manifest: Manifest, made: Reproduction) -> Iterator[Addition]:
    """The additions that `build` can make. A folder whose palettes limit its values cannot get more pairs."""
    names = [name for name in manifest.splits if not name.startswith(f"{PRELIM}_")]
    plain = [name for name in names if MARK not in name]
    there, own = _hop_options(plain), ["--out", str(folder)]
    config, rendered = manifest.config, manifest.rendering is not None

    def build(what: str, *options: str) -> Addition:
        render = [] if rendered or what.startswith("images") else ["--no-render"]
        return Addition(what, shlex.join(["clevrhope", "build", *options, *made.needed, *render, *own]))

    if plain:
        if not rendered:
            yield build("images (for Blender's, leave out --renderer native)", *there, "--renderer", "native")
        missing = [name for name in HOP_GROUPS["all"] if name not in plain]
        if missing and _is_clevrs(manifest):
            n = f"{len(missing)} of the" if len(missing) < len(HOP_GROUPS["all"]) else "the"
            yield build(f"{n} paper's {len(HOP_GROUPS['all'])} pairs", "--hops", "all")
        if NONE not in plain:
            yield build("train, val and test sets with nothing held out", "--hop", NONE)
        larger = [*PRESETS][[*PRESETS].index(config.get("preset", "demo")) + 1 :]
        # A settings file that is needed again would override the preset's sizes.
        has_file_of_sizes = any("[sizes]" in made.settings.get(word, "") for word in made.needed)
        for preset in () if has_file_of_sizes else larger:
            yield build(f"questions up to the sizes of preset {preset}", *there, "--preset", preset)
        lacking = [kind for kind in PASSES if kind not in config.get("passes", ())]
        if rendered and lacking:
            yield build(f"passes ({', '.join(lacking)})", *there, "--passes", ",".join(lacking))
        if not manifest.covr:
            yield build("questions about several images (COVR)", *there, "--covr")
        if not config.get("question_json", True):
            yield build("JSON question files", *there)
    if not any(name.startswith(f"{PRELIM}_") for name in manifest.splits):
        yield build("questions about single values", "--prelim", "all")


def _builds_of_edition(folder: Path, manifest: Manifest, made: Reproduction) -> Iterator[Addition]:
    """The additions that `build` can make to an edition: missing pairs, images or passes."""
    command = ["clevrhope", "build", *made.needed, "--out", str(folder)]
    there, rendered = _hop_options(list(manifest.splits)), manifest.rendering is not None
    if not rendered:
        yield Addition("images", shlex.join([*command, *there]))
    if manifest.edition and _lacks_pairs(manifest, str(manifest.edition["name"])):
        whole = shlex.join([*command, *["--no-render"] * (not rendered)])
        yield Addition("all pairs of the edition", whole)
    lacking = [kind for kind in PASSES if kind not in manifest.config.get("passes", ())]
    if rendered and lacking:
        what = f"passes ({', '.join(lacking)})"
        yield Addition(what, shlex.join([*command, *there, "--passes", ",".join(lacking)]))


def _hop_options(names: Sequence[str]) -> list[str]:
    """The options that name pairs: one of the paper's groups if they form it, or else each pair."""
    for group, members in sorted(HOP_GROUPS.items()):  # "all" comes before "first6"
        if set(members) <= set(names):
            rest = ",".join(name for name in names if name not in members)
            return ["--hops", group, *(["--hop", rest] if rest else [])]
    return ["--hop", ",".join(names)] if names else []


def _lacks_pairs(manifest: Manifest, name: str) -> bool:
    """Whether the folder lacks pairs of an edition that this version knows."""
    return name in edition_names() and not set(read_edition(name).hops) <= manifest.splits.keys()


def _suites(folder: Path, manifest: Manifest) -> Iterator[Addition]:
    made = suites_of(manifest)
    for suite in suite_names():
        if suite not in made:
            yield Addition(f"paired tests ({suite})", suite_command(folder, suite))
    if manifest.rendering is not None and VISUAL not in made:
        yield Addition("paired tests on edited images (visual)", suite_command(folder, VISUAL))


def _is_clevrs(manifest: Manifest) -> bool:
    """Whether the dataset has all values that the paper's pairs use."""
    values = {value for of_type in manifest.world["attributes"].values() for value in of_type}
    return all(value in values for name in HOP_GROUPS["all"] for value in name.split("_"))
