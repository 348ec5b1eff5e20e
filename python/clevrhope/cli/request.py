"""The options that `build`, `merge` and `plan` share in, a Request out."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clevrhope.cli.arguments import (
    PATH,
    Whole,
    only_splits,
    passes_option,
    read_names,
    read_whole,
    rendering_options,
)

if TYPE_CHECKING:
    from clevrhope.pipeline import Request

_Command = TypeVar("_Command", bound=Callable[..., Any])


def dataset_options(command: _Command) -> _Command:
    """The choices that `build`, `merge` and `plan` share."""
    options = [
        click.option(
            "--hop",
            "hops",
            multiple=True,
            metavar="NAME",
            help="Held-out pair, such as rubber_cylinder, or none; several with commas, or repeated.",
        ),
        click.option(
            "--hops",
            "groups",
            multiple=True,
            type=click.Choice(["first6", "all"]),
            help="The paper's first six pairs, or all 29; they share images.",
        ),
        click.option(
            "--hold-out",
            "held_out",
            multiple=True,
            metavar="TYPE=VALUE,...",
            help="Any values to hold out together, such as color=red,shape=cube,material=metal; repeatable.",
        ),
        click.option(
            "--prelim",
            "prelim",
            multiple=True,
            metavar="VALUES",
            help="Existence and counting questions on single values, such as cyan,rubber; or all of them.",
        ),
        click.option(
            "--diversity",
            "diversities",
            multiple=True,
            metavar="K",
            help="Train on K - 1 combinations of the pair's types, K with the pair; commas, or repeated.",
        ),
        click.option(
            "--diversity-mode",
            type=click.Choice(["nested", "grid"]),
            default="nested",
            help="Lower diversities within higher ones, or a sub-grid of values.  [default: nested]",
        ),
        click.option(
            "--palette",
            type=PATH,
            metavar="FILE",
            help="Combinations that objects have, such as CoGenT's; of a pair, those that are seen.",
        ),
        click.option(
            "--test-palette",
            type=PATH,
            metavar="FILE",
            help="With --hop none --palette: val_b and test_b, of this palette's images.",
        ),
        click.option(
            "--preset",
            type=click.Choice(["demo", "small", "paper"]),
            help="demo: some 60 images; small: a hundredth of paper; paper: the paper's.  "
            "[default: the folder's own; of a new one demo]",
        ),
        click.option(
            "--out",
            type=PATH,
            help="Folder of the dataset; one that is there is extended.  [default: out/PRESET]",
        ),
        click.option(
            "--seed",
            type=Whole(0, 2**64 - 1),
            help="Decides the dataset; drawn, printed and recorded when left out, by plan too.",
        ),
        click.option(
            "--config",
            "config_file",
            type=PATH,
            metavar="FILE.toml",
            help="Settings: preset, images, templates, properties, [sizes], [world], [rendering].",
        ),
        *rendering_options,
        passes_option,
        click.option("--no-render", is_flag=True, help="Leave the images out; a later run can add them."),
        click.option(
            "--match",
            type=click.Choice(["none", "objects"]),
            help="objects: thin scenes until all splits have the same numbers of objects.  "
            "[default: the folder's own; of a new one none]",
        ),
        click.option(
            "--strictness",
            type=click.Choice(["description", "implied"]),
            help="implied: train and IID questions ask for the pair by no likeness either.  "
            "[default: the folder's own; of a new one description]",
        ),
        click.option(
            "--no-json",
            is_flag=True,
            help="Leave CLEVR's JSON question files out, HDF5 says it all; a later run can add them.",
        ),
        only_splits,
        click.option("--train-questions", type=Whole(1), metavar="N", help="Questions in train."),
        click.option(
            "--test-questions",
            type=Whole(1),
            metavar="N",
            help="Questions in each of complex_iid and complex_ood (none: val and test).",
        ),
        click.option(
            "--prelim-sets",
            type=Whole(1),
            metavar="N",
            help="With --prelim: groups of existence (2 images) and sets of counting (6), each value.",
        ),
        click.option(
            "--templates",
            type=PATH,
            metavar="DIR",
            help="Question templates in CLEVR's format, the original's own included.",
        ),
        click.option(
            "--properties",
            type=PATH,
            metavar="FILE",
            help="Sizes, colors, materials and shapes, as CLEVR's properties.json.",
        ),
        click.option(
            "--images",
            type=click.Choice(["png", "h5", "both"]),
            help="How images are stored.  [default: both; paper: png]",
        ),
        click.option(
            "--clevr",
            type=PATH,
            metavar="CLEVR_DIR",
            help="A CLEVR_v1.0 folder: its train scenes and images are part of the train pool.  "
            "Not beside --palette or --diversity.",
        ),
        click.option(
            "--clevr-share",
            type=click.FloatRange(1e-6, 1),
            metavar="X",
            help="The part of the train pool that is CLEVR's, above 0, up to 1.  "
            "[default: the folder's own; of a new one 0.21]",
        ),
        click.option("--quiet", is_flag=True, help="Say nothing but errors."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _check_forms(names: Sequence[str], held_out: Sequence[str]) -> None:
    """Passes where names are names, and values come with their types."""
    for name in names:
        if "=" in name:
            raise click.UsageError(
                f'--hop: "{name}" is no name of a pair, such as red_cube; '
                "types with values go with --hold-out: --hold-out color=red,shape=cube"
            )
    for values in held_out:
        if "=" not in values:
            raise click.UsageError(
                f'--hold-out: "{values}" is no list of types with values, such as color=red,shape=cube; '
                "names of pairs, such as red_cube, go with --hop"
            )


def _check_sizes(choices: Mapping[str, Any], names: Sequence[str]) -> None:
    """Passes where each size that was given is that of a split which some name has."""
    from clevrhope.splits.hops import PRELIM

    alone = [name.startswith(f"{PRELIM}_") for name in names]
    if choices["prelim_sets"] is not None and not any(alone):
        raise click.UsageError(
            "--prelim-sets: the number of sets of what --prelim names; give that too, such as --prelim cyan"
        )
    for option in ("train_questions", "test_questions"):
        if choices[option] is not None and all(alone):
            raise click.UsageError(
                f"--{option.replace('_', '-')}: values that are asked for alone have no such questions; "
                "--prelim-sets gives their number, --hop names a pair"
            )


def _before(out: Path, parts: Sequence[Path]) -> dict[str, Any]:
    """What the parts to be joined, and over them the folder that is there, decide where no option does."""
    from clevrhope.dataset.layout import Layout
    from clevrhope.dataset.manifest import choices_of, read_manifest

    part = read_manifest(Layout(parts[0]).manifest) if parts else None
    there = read_manifest(Layout(out).manifest)
    # A folder without question files may get them later; what parts are joined to is like them.
    kept = ("question_json", "passes")
    files = {name: each for name, each in part.config.items() if name in kept} if part else {}
    return {
        **(choices_of(part) if part else {}),
        **files,
        **(choices_of(there) if there else {}),
    }


def _out(choices: Mapping[str, Any]) -> Path:
    """The folder to write; without `--out`, one named by the preset."""
    from clevrhope.config.sources import resolve_config

    if choices["out"]:
        return Path(choices["out"])
    return Path("out") / resolve_config(preset=choices["preset"], file=choices["config_file"]).preset


_OF_SIZES_AND_RENDERING = (
    "train_questions",
    "test_questions",
    "prelim_sets",
    "renderer",
    "quality",
    "samples",
    "device",
)
"""Options that say a part of `Config.sizes` or `Config.rendering`; others have the names of its fields."""


def read_request(choices: dict[str, Any], *, parts: Sequence[Path] = ()) -> "Request":
    """What the options ask for; without a seed, one is drawn, unless the folder has its own.

    Without a preset the sizes are those that the folder was made with, or the parts that are to be joined.
    """
    from clevrhope.config.presets import Config
    from clevrhope.config.sources import resolve_config
    from clevrhope.dataset.layout import Layout
    from clevrhope.images.passes import parse_passes
    from clevrhope.pipeline import Limits, Request
    from clevrhope.splits.hops import HOP_GROUPS, PRELIM

    asked = read_names(choices["hops"])
    _check_forms(asked, choices["held_out"])
    names = [
        *asked,
        *choices["held_out"],
        *(name for group in choices["groups"] for name in HOP_GROUPS[group]),
    ]
    prelim = read_names(choices["prelim"])
    if not names and not prelim:
        raise click.UsageError(
            "no HOP given; name one or more with --hop, such as --hop rubber_cylinder, or --hops all"
        )
    _check_sizes(choices, [*names, *(f"{PRELIM}_{value}" for value in prelim)])
    out = _out(choices)
    before = _before(out, parts)
    passes = tuple(read_names(choices["passes"]))
    named = {each.name for each in fields(Config)} | set(_OF_SIZES_AND_RENDERING)
    chosen = {name: choices[name] for name in named & choices.keys()}
    chosen["passes"] = parse_passes(passes, "--passes") or None
    chosen["question_json"] = False if choices["no_json"] else None
    config = resolve_config(file=choices["config_file"], before=before, **chosen)
    if before and not (choices["preset"] or choices["config_file"] or choices["quiet"]):
        click.echo(f"preset {config.preset}, with the sizes that are there already", err=True)
    seed = choices["seed"]
    if seed is None and not Layout(out).manifest.exists():
        seed = secrets.randbelow(2**32)
    splits = read_names(choices["splits"])
    return Request(
        out=out,
        hops=tuple(names),
        config=config,
        seed=seed,
        splits=tuple(splits) or None,
        render=not choices["no_render"],
        workers=choices["workers"],
        engine=choices["engine"],
        address=choices["address"],
        limits=Limits(
            diversities=tuple(read_whole("--diversity", name) for name in read_names(choices["diversities"])),
            mode=choices["diversity_mode"],
            palette=choices["palette"],
            test_palette=choices["test_palette"],
        ),
        prelim=tuple(prelim),
    )
