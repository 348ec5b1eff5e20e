"""The commands that would make a dataset again, and those that would add to it, from its manifest."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.config.presets import PRESETS
from clevrhope.dataset.contents import suite_command
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.suite_pools import VISUAL
from clevrhope.dataset.suite_questions import augmented_split
from clevrhope.editions.definition import edition_names, read_edition
from clevrhope.images.passes import PASSES
from clevrhope.questions.suites import suite_names
from clevrhope.runtime.toml import toml_text
from clevrhope.splits.hops import HOP_GROUPS, NONE, PRELIM
from clevrhope.splits.palettes import MARK

SETTINGS_FILE = "settings.toml"
"""The file for the settings of a request; those of a second request would be in settings-2.toml."""

NAMED_FILES: Mapping[str, str] = {
    "clevr": "the folder of CLEVR, whose train scenes are part of the dataset",
    "properties": "the file of properties that was used",
    "templates": "the folder of question templates that was used",
    "palette": "a file of the combinations of values, which are in manifest.json under palettes",
    "test-palette": "a file of the combinations of values, which are in manifest.json under palettes",
}
"""Options of `build` that name a file, of which the manifest has only the last part of its path."""

NOT_STORED = ("edition", "design", "clevr", "properties", "templates")
"""Options of `build` that every later build of the folder needs again, beside a settings file with these."""

TABLES_NOT_STORED = ("world", "look")


@dataclass(frozen=True)
class Addition:
    """Something that a folder lacks.

    Attributes:
        what: the addition in words.
        command: the command line that adds it.
    """

    what: str
    command: str


@dataclass(frozen=True)
class Reproduction:
    """How to make a dataset again.

    Attributes:
        commands: command lines, in order.
        settings: name of a settings file -> its content, for files that the commands name.
        notes: sentences on files that the commands need but that the manifest only names.
        needed: the options that any later build of the folder also needs, because the folder does not store
            them.
    """

    commands: tuple[str, ...]
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    needed: tuple[str, ...]


def reproduction(folder: Path, manifest: Manifest) -> Reproduction:
    """The commands that make the dataset in `folder` again, each with the same options."""
    names: dict[str, str] = {}
    requests = []
    for request in manifest.requests:
        if "config" in request:
            text = toml_text(request["config"])
            name = SETTINGS_FILE.replace(".", f"-{len(names) + 1}.") if names else SETTINGS_FILE
            request = {**request, "config": names.setdefault(text, name)}
        requests.append(request)
    is_public = manifest.edition is not None and not manifest.edition["private"]
    seed = [] if is_public else ["--seed", str(manifest.seed)]
    commands = [["clevrhope", "build", *_words(request), *seed, "--out", str(folder)] for request in requests]
    notes = [
        f"{value} stands for {what}."
        for name, what in NAMED_FILES.items()
        for value in dict.fromkeys(str(request[name]) for request in requests if name in request)
    ]
    needed: dict[str, Any] = {}
    for recorded, request in zip(manifest.requests, requests, strict=True):
        tables = [name for name in TABLES_NOT_STORED if name in recorded.get("config", {})]
        kept = (*NOT_STORED, "config") if tables else NOT_STORED
        needed |= {name: request[name] for name in kept if name in request}
    return Reproduction(
        tuple(map(shlex.join, (*commands, *_suites(folder, manifest)))),
        {name: text for text, name in names.items()},
        tuple(notes),
        (*_words(needed), *(seed if manifest.edition else ())),
    )


def suites_of(manifest: Manifest) -> dict[str, list[str]]:
    """The suites of a dataset, each with its HOPs."""
    found: dict[str, list[str]] = {}
    for hop, suites in manifest.suites.items():
        for suite in suites:
            found.setdefault(suite, []).append(hop)
    return dict(sorted(found.items()))


def _words(options: Mapping[str, Any]) -> list[str]:
    """Options by name as words of a command line: a switch alone, a list as the option repeated."""
    words = []
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{name}"] if each is True else [f"--{name}", str(each)]
    return words


def _suites(folder: Path, manifest: Manifest) -> Iterator[list[str]]:
    """The commands that make the suites and the train sets with questions from them."""
    layout = Layout(folder)
    for suite, hops in suites_of(manifest).items():
        made = {hop: manifest.suites[hop][suite] for hop in hops}
        train = augmented_split(suite)
        for is_train in (False, True):
            files = {hop: [split for split in made[hop] if (split == train) == is_train] for hop in hops}
            chosen = [hop for hop in hops if files[hop]]
            if not chosen:
                continue
            every = {hop for hop in manifest.splits if not hop.startswith(f"{PRELIM}_")} == set(chosen)
            named = [] if every else [word for hop in chosen for word in ("--hop", hop)]
            options = ["--train"] if is_train else []
            path = layout.suite_h5(chosen[0], suite, files[chosen[0]][0])
            if not is_train and path.is_file() and "origin" in (search := read_table(path, PAIRS).attributes):
                origin, per_cell = search["origin"], search["per_cell"]
                options = [*(["--from", origin] if origin == "search" else []), "--per-cell", str(per_cell)]
            if most := max(made[hop][split].get("visual", 0) for hop in chosen for split in files[hop]):
                options = ["--visual", str(most)]
            yield ["clevrhope", "suite", suite, str(folder), *named, *options]


def additions(
    folder: Path, manifest: Manifest, made: Reproduction, *, features: Sequence[str]
) -> list[Addition]:
    """Everything that the dataset in `folder` lacks; `features` are the stores that it has."""
    builds = _builds if manifest.edition is None else _builds_of_edition
    found = [*builds(folder, manifest, made), *_more_suites(folder, manifest)]
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


def _more_suites(folder: Path, manifest: Manifest) -> Iterator[Addition]:
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
