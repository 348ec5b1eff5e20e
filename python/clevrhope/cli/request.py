"""The options that `build`, `merge` and `plan` share, and the request that they describe."""

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clevrhope.cli.arguments import PASSES, PROPERTIES, options, read_names, rendering_options, with_options
from clevrhope.config.question_settings import QuestionSettings
from clevrhope.errors import shown
from clevrhope.runtime.digits import MOST_DIGITS, read_digits
from clevrhope.runtime.terminal import say

if TYPE_CHECKING:
    from clevrhope.dataset.manifest import Manifest
    from clevrhope.editions import Edition
    from clevrhope.pipeline import Request

dataset_options = with_options(
    options(
        """
What to build
    --edition EDITION: A dataset whose content is fixed, such as hope-1; --hop and --splits choose a part of
        it, and a --seed of your own makes it a private one.
    --hop HOP... -> hops: Held-out pair, such as rubber_cylinder, or none to hold nothing out; separated by
        commas, or repeated.
    --hops first6|all... -> groups: The paper's first six pairs, or all 29 of them; pairs share images.
    --hold-out VALUES... -> held_out: Values to hold out together, such as
        color=red,shape=cube,material=metal; repeatable.
    --prelim VALUES...: Existence and counting questions about single values: cyan,rubber, for example, or
        all.
    --diversity K... -> diversities: Train on K - 1 combinations of the pair's attribute types (K with the
        pair itself); separated by commas, or repeated.
    --diversity-mode nested|grid = nested: nested: a lower diversity is part of a higher one; grid: a sub-grid
        of values.  [default: nested]
    --palette FILE: The combinations of values that objects may have, such as CoGenT's; for a pair, those seen
        in training.
    --test-palette FILE: With --hop none --palette: also make a second validation and test set, with this
        palette.
    --covr: Also make questions over sets of up to five images (COVR), with splits of their own.
    --nonce N: Make N episodes in which images and statements teach new words, and a question asks about two
        of them together; without a pair, nothing else is made.
    --nonce-types told|found: told: an episode tells which words are colors, shapes and so on; found: its
        images show it.  [default: the folder's own, or told for a new folder]
    --clevr CLEVR_DIR: A CLEVR_v1.0 folder, whose train scenes and images become part of the train pool; does
        not go with --palette or --diversity.
    --clevr-share X: CLEVR's share of the train pool, above 0 and at most 1.  [default: the folder's own, or
        0.06 for a new folder]
    --clevr-order even|first: even: CLEVR's scenes are spread evenly, at their share; first: they come first,
        until those of a number of objects run out, as in the original.  [default: even]
    --splits SPLITS...: Only these splits, separated by commas.
Folder and sizes
    --out PATH: Folder of the dataset; an existing dataset is extended.  [default: out/PRESET, or out/NAME of
        an edition]
    --seed SEED: Seed of the dataset; if left out, one is drawn, printed, and recorded by build.
    --preset demo|small|paper: demo: about 60 images; small: a hundredth of paper; paper: the paper's sizes.
        [default: the folder's own, or demo for a new folder]
    --design NAME: official: the rules of the original CLEVR-HOPE where they differ, see docs/official.md;
        other options change single ones.
    --train-questions N: Number of questions in train.
    --test-questions N: Number of questions in each complex test set and in the set for tuning.
    --prelim-sets N: With --prelim, for each value: number of existence groups (2 images each) and of counting
        sets (6 images each).
Questions
"""
        + "\n".join(
            f"    {QuestionSettings.option(each.name)} {'|'.join(each.metadata['effects'])}: "
            f"{each.metadata['help']}  [default: the folder's own, or {each.default} for a new folder]"
            for each in fields(QuestionSettings)
        )
        + """
    --templates DIR: Question templates in CLEVR's format, such as CLEVR's own.
    --no-json: Write no JSON question files beside the HDF5 files, which hold the same; a later run can add
        them.
"""
    ),
    rendering_options,
    options(f"""
Images
    {PASSES}
    --images png|h5|both: How images are stored.  [default: both; with preset paper: png]
    --no-render: Make no images; a later run can add them.
    {PROPERTIES}
"""),
    options("""
    --config FILE.toml -> config_file: Settings: preset, images, templates, properties, [sizes], [world],
        [look], [rendering].
    --quiet: Print nothing but errors.
    --json -> as_json: Print one JSON object instead of text.
"""),
)
"""Gives a command the options that describe a dataset; `read_request` reads them."""


SETTINGS = (
    "preset",
    "design",
    "train_questions",
    "test_questions",
    "prelim_sets",
    "images",
    "renderer",
    "quality",
    "samples",
    "device",
    "templates",
    "properties",
    "clevr",
    "clevr_share",
    "clevr_order",
)
"""Options that are settings of `resolve_config`, beside those of questions."""


def read_request(choices: Mapping[str, Any], *, parts: Sequence[Path] = ()) -> "Request":
    """The request that the options describe.

    Without a preset, sizes are those of the folder or of the parts to merge. Without a seed, one is drawn,
    unless the folder has a seed already.

    Raises:
        UsageError: a name or size does not go with its option.
        ClevrhopeError: settings or files cannot be read.
    """
    from clevrhope.cli.editions import check_choices
    from clevrhope.config.sources import resolve_config
    from clevrhope.dataset.layout import Layout
    from clevrhope.dataset.manifest import read_manifest
    from clevrhope.editions import read_edition
    from clevrhope.images.passes import parse_passes
    from clevrhope.pipeline import Limits, Request

    edition = read_edition(choices["edition"]) if choices["edition"] else None
    out = _folder(choices, edition)
    there = read_manifest(Layout(out).manifest, repairs=True)
    part = read_manifest(Layout(parts[0]).manifest) if parts else None
    of_folder = there or part
    if edition is None and of_folder and of_folder.edition:
        edition = read_edition(of_folder.edition["name"])
    names, prelim = _names(choices, edition, there)
    before = _settings_before(there, part)
    if edition:
        before |= edition.settings
    config = resolve_config(
        file=choices["config_file"],
        before=before,
        passes=parse_passes(read_names(choices["passes"]), "--passes") or None,
        question_json=False if choices["no_json"] else None,
        **{name: choices[name] for name in (*SETTINGS, *QuestionSettings.choices())},
    )
    if before and not (edition or choices["preset"] or choices["config_file"] or choices["quiet"]):
        say(f"Using preset {config.preset} with the sizes of the existing dataset.", err=True)
    _check_kinds(choices, there)
    seed = choices["seed"]
    if seed is None and there is None:
        seed = edition.seed if edition and not parts else secrets.randbelow(2**32)
    of_nonce_alone = is_of_nonce_alone(choices) or bool(edition and edition.nonce)
    request = Request(
        out=out,
        hops=names,
        config=config,
        seed=seed,
        splits=() if of_nonce_alone else tuple(read_names(choices["splits"])) or None,
        render=not choices["no_render"],
        workers=choices["workers"],
        engine=choices["engine"],
        address=choices["address"],
        limits=Limits(
            diversities=tuple(map(_parse_diversity, read_names(choices["diversities"]))),
            mode=choices["diversity_mode"],
            palette=choices["palette"],
            test_palette=choices["test_palette"],
        ),
        covr=choices["covr"],
        nonce=choices["nonce"] or (edition.nonce if edition else 0),
        nonce_types=choices["nonce_types"],
        prelim=prelim,
        edition=edition,
        options=_recorded(choices),
    )
    if edition:
        check_choices(request, edition)
    return request


def _folder(choices: Mapping[str, Any], edition: "Edition | None") -> Path:
    """The folder that is asked for: --out, or that of the edition or preset in the folder out."""
    from clevrhope.config.sources import resolve_config
    from clevrhope.dataset.layout import Layout

    if choices["out"]:
        return Path(choices["out"])
    if edition:
        return Path("out") / edition.name
    out = Path("out") / resolve_config(preset=choices["preset"], file=choices["config_file"]).preset
    if Layout(out).manifest.exists() and not choices["quiet"]:
        say(f"Without --out, this is about {out}, which is there already.", err=True)
    return out


def _names(
    choices: Mapping[str, Any], edition: "Edition | None", there: "Manifest | None"
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sub-datasets and the single values that are asked for, each with a split for every given size."""
    from clevrhope.splits.hops import HOP_GROUPS, NONE, PRELIM

    hops, prelim = read_names(choices["hops"]), tuple(read_names(choices["prelim"]))
    groups = [name for group in choices["groups"] for name in HOP_GROUPS[group]]
    names = (*hops, *choices["held_out"], *groups)
    if edition and choices["edition"] and not names:
        names = edition.hops
    if choices["covr"] and not names:
        of_folder = there.splits if there else ()
        names = tuple(name for name in of_folder if not name.startswith(f"{PRELIM}_")) or (NONE,)
    if is_of_nonce_alone(choices) and not names:
        names = (NONE,)
    if not names and not prelim:
        if choices["nonce"] is not None and choices["splits"]:
            raise click.UsageError(
                "--splits: it names splits of HOPs, which --nonce alone does not make; leave it out, or name "
                "a HOP with --hop"
            )
        raise click.UsageError(
            "no HOP given; name one or more with --hop, such as --hop rubber_cylinder, or --hops all"
        )
    _check_sizes(choices, [*(name.startswith(f"{PRELIM}_") for name in names), *(True for _ in prelim)])
    return names, prelim


def is_of_nonce_alone(choices: Mapping[str, Any]) -> bool:
    """Whether a request is for episodes with nonce words and for no other questions."""
    others = ("hops", "held_out", "groups", "prelim", "covr", "edition", "splits")
    return choices["nonce"] is not None and not any(choices[name] for name in others)


OF_A_RUN = ("out", "seed", "blender_python", "workers", "engine", "address", "quiet", "as_json")
"""Options that decide nothing that a folder holds, or, like the seed, are recorded elsewhere."""


def _recorded(choices: Mapping[str, Any]) -> dict[str, Any]:
    """The given options that decide content, by name; machines agree on them, as they hold no whole path."""
    from clevrhope.runtime.toml import read_toml

    found: dict[str, Any] = {}
    for each in _options():
        name = str(each.name)
        value = choices.get(name)
        if name in OF_A_RUN or value in (None, False, (), each.default):
            continue
        if name == "config_file":
            table = read_toml(value, "settings of a dataset")
            value = {key: Path(entry).name if key in PATHS else entry for key, entry in table.items()}
        elif name == "device":
            value = value.partition(":")[0]
        elif isinstance(value, Path):
            value = Path(os.path.realpath(value)).name
        found[each.opts[0].removeprefix("--")] = list(value) if isinstance(value, tuple) else value
    return found


PATHS = ("properties", "templates", "clevr")
"""Keys of a settings file whose values are paths."""


def _options() -> list[click.Option]:
    """The options of `dataset_options`, in the order of the help."""

    def command() -> None: ...

    dataset_options(command)
    return list(reversed(vars(command)["__click_params__"]))


def _check_kinds(choices: Mapping[str, Any], there: "Manifest | None") -> None:
    """Checks that settings of one kind of questions are given only with questions of this kind."""
    given = [name for name in QuestionSettings.names_of_sets() if choices[name] is not None]
    if given and not choices["covr"] and not (there and there.covr):
        name = QuestionSettings.option(given[0])
        raise click.UsageError(f"{name}: this is a setting of questions over several images; add --covr")
    if choices["nonce_types"] and not choices["nonce"] and not (there and there.nonce):
        raise click.UsageError("--nonce-types: this is a setting of episodes with nonce words; add --nonce")


def _check_sizes(choices: Mapping[str, Any], preliminary: Sequence[bool]) -> None:
    """Checks that each given size belongs to a split of some sub-dataset, preliminary or not."""
    if choices["prelim_sets"] is not None and not any(preliminary):
        raise click.UsageError(
            "--prelim-sets: this is the number of sets of each value of --prelim; give that too, such as "
            "--prelim cyan"
        )
    for size in ("train_questions", "test_questions"):
        if choices[size] is not None and all(preliminary):
            raise click.UsageError(
                f"--{size.replace('_', '-')}: no pair was given, and questions about single values are "
                "counted by --prelim-sets; give that, or a pair with --hop"
            )


def _parse_diversity(text: str) -> int:
    number = read_digits(text.strip())
    if number is None:
        raise click.UsageError(
            f"--diversity: {shown(text)} is not a whole number of at most {MOST_DIGITS} digits"
        )
    return number


def _settings_before(there: "Manifest | None", part: "Manifest | None") -> dict[str, Any]:
    """Settings of a part to merge, overridden by those of the existing folder; options override both."""
    from clevrhope.dataset.manifest import choices_of

    settings = choices_of(part) if part else {}
    if part:
        # A folder can get question files and annotations later; a merged folder has those of its parts.
        settings |= {name: each for name, each in part.config.items() if name in ("question_json", "passes")}
    return settings | (choices_of(there) if there else {})
