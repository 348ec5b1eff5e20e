"""The commands that would make a dataset again, from its manifest."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from clevrhope.config.presets import PRESETS, Config, splits_of
from clevrhope.config.question_settings import QuestionSettings
from clevrhope.config.sources import DESIGNS, SIZES_OF_TESTS, resolve_config
from clevrhope.dataset.augmented_h5 import augmented_split
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.pairs_h5 import read_search
from clevrhope.images.renderers import default_settings
from clevrhope.questions import read_templates
from clevrhope.runtime.toml import toml_text
from clevrhope.scenes import read_world
from clevrhope.splits.hops import HOP_GROUPS, PRELIM, Hop, parse_hop
from clevrhope.splits.kinds import SECOND_SPLITS, TRAIN
from clevrhope.splits.palettes import MARK, parse_diversity

SETTINGS_FILE = "settings.toml"
"""The file for settings that cannot be set by an option of `build`."""


@dataclass(frozen=True)
class Reproduction:
    """How to make a dataset again.

    Attributes:
        commands: command lines, in order.
        settings: the content of `SETTINGS_FILE`, which the commands name; "" if options suffice.
        notes: sentences on files that the commands need but that the manifest only names.
        needed: the options that any later build of the folder also needs, because the folder does not store
            them.
    """

    commands: tuple[str, ...]
    settings: str
    notes: tuple[str, ...]
    needed: tuple[str, ...]


@dataclass(frozen=True)
class _Group:
    """The properties shared by sub-datasets that one command makes."""

    limits: tuple[str, ...]
    splits: tuple[str, ...]
    """Empty for all."""
    covr: bool


def reproduction(folder: Path, manifest: Manifest) -> Reproduction:
    """The commands that make the dataset in `folder` again, each with the same options."""
    bound, needed, settings, notes = _bound(manifest) if manifest.edition is None else _of_edition(manifest)
    commands = [
        ["clevrhope", "build", *_names(hops), *group.limits, *_listed("--splits", group.splits)]
        + ["--covr"] * group.covr
        + [*bound, "--out", str(folder)]
        for group, hops in _joined(_groups(manifest))
    ]
    commands += _suites(folder, manifest)
    if any(hop for hop in manifest.splits if _palette_file(hop)):
        notes.append(
            "The combinations of values in the palettes' files are in manifest.json, under palettes."
        )
    text = toml_text(settings) if settings else ""
    return Reproduction(tuple(map(shlex.join, commands)), text, tuple(notes), tuple(needed))


def suites_of(manifest: Manifest) -> dict[str, list[str]]:
    """The suites of a dataset, each with its HOPs."""
    found: dict[str, list[str]] = {}
    for hop, suites in manifest.suites.items():
        for suite in suites:
            found.setdefault(suite, []).append(hop)
    return dict(sorted(found.items()))


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
            if not is_train and path.is_file() and (search := read_search(path)):
                origin, per_cell = search
                options = [*(["--from", origin] if origin == "search" else []), "--per-cell", str(per_cell)]
            if most := max(made[hop][split].get("visual", 0) for hop in chosen for split in files[hop]):
                options = ["--visual", str(most)]
            yield ["clevrhope", "suite", suite, str(folder), *named, *options]


def hop_options(names: Sequence[str]) -> list[str]:
    """The options that name pairs: one of the paper's groups if they form it, or else each pair."""
    for group, members in sorted(HOP_GROUPS.items()):  # "all" comes before "first6"
        if set(members) <= set(names):
            rest = [name for name in names if name not in members]
            return ["--hops", group, *_listed("--hop", rest)]
    return _listed("--hop", names)


def parse_manifest_hop(manifest: Manifest, name: str) -> Hop:
    """The HOP with that name in the dataset's vocabulary."""
    return parse_hop(name, list(manifest.world["attributes"].items()))


def _bound(manifest: Manifest) -> tuple[list[str], list[str], dict[str, Any], list[str]]:
    """The options of all commands, those that later builds need, other settings, and notes."""
    config, needed, notes = manifest.config, [], []
    world = read_world()
    constraints = _changed(manifest.world["constraints"], json.loads(world.config_json))
    design, start = _design(manifest, constraints)
    options = ["--preset", start.preset, "--seed", str(manifest.seed)]
    if design:
        needed += ["--design", design]
        constraints = {}
    settings: dict[str, Any] = {}
    sizes = _changed(config.get("sizes", {}), asdict(start.sizes))
    if TRAIN.size in sizes:
        options += ["--train-questions", str(sizes.pop(TRAIN.size))]
    of_tests = {config["sizes"].get(name) for name in SIZES_OF_TESTS} if sizes else set()
    if len(of_tests) == 1 and sizes.keys() & SIZES_OF_TESTS:
        options += ["--test-questions", str(of_tests.pop())]
        sizes = {name: n for name, n in sizes.items() if name not in SIZES_OF_TESTS}
    settings |= {"sizes": sizes} if sizes else {}
    for name, value in manifest.settings.changed_settings().items():
        if value != getattr(start, name):
            options += [QuestionSettings.option(name), value]
    clevr = manifest.world.get("clevr")
    if clevr:
        needed += ["--clevr", "CLEVR_v1.0"]
        if clevr["share"] != 1:
            options += ["--clevr-share", str(clevr["share"])]
        elif not design:
            options += ["--clevr-order", "first"]
        notes.append("CLEVR_v1.0 stands for the folder of CLEVR, whose train scenes are part of the dataset.")
    settings |= {"world": constraints} if constraints else {}
    look = manifest.world.get("look")
    settings |= {"look": look} if look else {}
    properties = str(config.get("properties", "properties.json"))
    values = {kind: list(names) for kind, names in world.attribute_types}
    if properties != "properties.json" or values != manifest.world["attributes"]:
        needed += ["--properties", properties]
        notes.append(f"{properties} stands for the file of properties that was used.")
    if read_templates(world).fingerprint != manifest.templates["fingerprint"]:
        name = str(config.get("templates", "templates"))
        needed += ["--templates", name]
        notes.append(
            f"{name} stands for the folder of question templates that was used; they are not this version's."
        )
    if not config.get("question_json", True):
        options.append("--no-json")
    options += _image_options(manifest, settings)
    if constraints or look:
        needed += ["--config", SETTINGS_FILE]
    elif settings:
        options += ["--config", SETTINGS_FILE]
    return [*options, *needed], needed, settings, notes


def _design(manifest: Manifest, constraints: Mapping[str, Any]) -> tuple[str, Config]:
    """The design that gives a folder's rules, or "", and the configuration of its preset with it.

    Args:
        manifest: the folder's manifest.
        constraints: the constraints of its world that differ from the defaults.
    """
    preset = manifest.config.get("preset", "demo")
    changed = manifest.settings.changed_settings()
    for name in DESIGNS:
        config = resolve_config(preset=preset, design=name)
        if config.world == constraints and config.changed_settings().items() <= changed.items():
            return name, config
    return "", PRESETS[preset]


def _image_options(manifest: Manifest, settings: dict[str, Any]) -> list[str]:
    """The options for images; settings without an option are added to `settings`."""
    config, rendering = manifest.config, manifest.rendering
    if rendering is None:
        return ["--no-render"]
    name = rendering.get("renderer", "blender")
    changed = _changed(rendering, asdict(default_settings(name)))
    own = ("quality", "samples", "device")
    if changed.keys() <= {*own}:
        options = ["--renderer", name]
        options += [word for each in own if each in changed for word in (f"--{each}", str(changed[each]))]
    else:
        options, settings["rendering"] = [], {"renderer": name, **changed}
    usual = PRESETS[config.get("preset", "demo")].images
    if (kinds := config.get("images", usual)) != usual:
        options += ["--images", kinds]
    return options + _listed("--passes", config.get("passes", ()))


def _of_edition(manifest: Manifest) -> tuple[list[str], list[str], dict[str, Any], list[str]]:
    """Like `_bound`, for an edition, which fixes most of the settings."""
    edition = manifest.edition or {}
    needed = [
        "--edition",
        str(edition["name"]),
        *(["--seed", str(manifest.seed)] if edition["private"] else []),
    ]
    options = [] if manifest.config.get("question_json", True) else ["--no-json"]
    images = [word for word in _image_options(manifest, {}) if word not in ("--renderer", "native")]
    return [*needed, *options, *images], needed, {}, []


def _groups(manifest: Manifest) -> dict[_Group, list[Hop]]:
    """The sub-datasets, grouped by the properties that one command shares."""
    groups: dict[_Group, list[Hop]] = {}
    for name, splits in manifest.splits.items():
        hop = parse_manifest_hop(manifest, name)
        every = set(splits_of(hop)) <= set(splits)
        own = tuple(each for each in splits if each not in SECOND_SPLITS)
        group = _Group(_limits(hop, splits), () if every else own, name in manifest.covr)
        if hop.value is not None and every:  # can be part of any other command
            group = next((each for each in groups if not each.splits), group)
        groups.setdefault(group, []).append(hop)
    return groups


def _joined(groups: Mapping[_Group, list[Hop]]) -> list[tuple[_Group, list[Hop]]]:
    """The groups; those that differ only in --diversity are joined, as one command can make them."""
    joined: dict[object, tuple[_Group, list[Hop]]] = {}
    for group, hops in groups.items():
        is_diversity = group.limits[:1] == ("--diversity",)
        rest = replace(group, limits=group.limits[2:])
        key = (rest, tuple(_names(hops))) if is_diversity else group
        if key in joined:
            found, _ = joined[key]
            option, numbers, *mode = found.limits
            group = replace(found, limits=(option, f"{numbers},{group.limits[1]}", *mode))
        joined[key] = group, hops
    return list(joined.values())


def _limits(hop: Hop, splits: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The options that limit the combinations of values of a sub-dataset."""
    if not hop.palette:
        return ()
    if found := parse_diversity(hop.palette):
        diversity, mode = found
        return ("--diversity", str(diversity), *(("--diversity-mode", mode) if mode != "nested" else ()))
    second = {splits[name]["pool"].partition(MARK)[2] for name in SECOND_SPLITS if name in splits}
    others = [word for palette in sorted(second) for word in ("--test-palette", f"{palette}.json")]
    return ("--palette", f"{hop.palette}.json", *others)


def _palette_file(hop: str) -> bool:
    palette = hop.partition(MARK)[2]
    return bool(palette) and parse_diversity(palette) is None


def _names(hops: Sequence[Hop]) -> list[str]:
    """The options that name sub-datasets."""
    pairs = [hop.name.partition(MARK)[0] for hop in hops if hop.value is None]
    values = [hop.value[1] for hop in hops if hop.value is not None]
    return [*hop_options(pairs), *_listed("--prelim", values)]


def _listed(option: str, names: Iterable[str]) -> list[str]:
    joined = ",".join(names)
    return [option, joined] if joined else []


def _changed(there: Mapping[str, Any], default: Mapping[str, Any]) -> dict[str, Any]:
    """The known settings that differ from their defaults."""
    return {name: each for name, each in there.items() if name in default and each != default[name]}
