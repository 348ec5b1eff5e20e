"""The commands about paired tests and captions: suite, captions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clevrhope.cli.arguments import PATH, Command, options, read_names, show_result, shown_progress

if TYPE_CHECKING:
    from clevrhope.pipeline.suite_maker import SuiteSplit


@click.command(
    cls=Command, short_help="Makes paired tests (RAD, CARETS, edited images) of a dataset's questions."
)
@click.argument("name", metavar="SUITE")
@click.argument("folder", type=PATH, metavar="DIR")
@options("""
What to make
    --hop HOP... -> hops: Only this HOP; repeatable.
    --train: Make train sets with questions of the suite, such as train_carets, in place of pairs.
    --remove: Remove the suite from DIR, or from the HOPs that are named.
    --templates FOLDER: The folder of a suite of your own, or one of templates with it in suites/SUITE;
        docs/suites.md describes its files. With visual, the dataset's question templates, if they are not the
        package's.
    --texts FILE... -> texts: Paraphrases, as JSON lines or a .csv file of id and text; repeatable. SUITE is a
        name of your own.
Searched originals
    --from questions|search = questions -> origin: Take originals from the dataset's questions alone, or also
        search the images for them.  [default: questions]
    --per-cell N0: Pairs of a test by a search, for each cell: 00, 01, 10 and 11 say which of the two
        questions mention the held-out pair.  [default: 10, 50 or 2500, by the dataset's preset]
The suite visual
    --visual N -> n_visual: With visual, the most questions of a split whose images are edited.  [default: by
        the dataset's preset, demo 20, small 200, paper 5,000]
    --properties WORLD: With visual, the dataset's properties file, if it is not the package's.
""")
@options("""
    --quiet: Print nothing but errors.
    --json -> as_json: Print one JSON object instead of text.
""")
def suite(name: str, folder: Path, **choices: Any) -> None:
    """Makes the paired tests of SUITE (carets, rad, holdout, visual) for the questions of a finished dataset.

    A pair is a question of the dataset and a partner whose answer follows from its answer; in visual, the
    partner is the same question about an edited image. The pairs are written to hops/HOP/suites/SUITE in DIR.
    Questions that no dataset has, and with --from search others that are rare in it, are searched for on the
    images of each split. With --texts, partners are paraphrases that people or another model wrote.

    With --train, the questions of train stay in their order, and after every ten of them comes a question of
    the suite: the partner of one of the questions before it, or, in tests on questions that no dataset has,
    one that was searched for on their images. The tests of the suite take turns, and none of its questions
    mentions the held-out pair.
    """
    from clevrhope.dataset.suite_pools import VISUAL
    from clevrhope.pipeline.suites import make_suite, remove_suite, suite_lines

    _check_choices(name, choices)
    hops, progress = read_names(choices["hops"]) or None, shown_progress(choices)
    about = {"folder": str(folder), "suite": name}
    if choices["remove"]:
        removed = remove_suite(folder, name, hops=hops)
        show_result(
            choices, {**about, "removed": removed}, [f"{folder}: {name} of {', '.join(removed)} was removed"]
        )
        return
    made: Sequence[SuiteSplit]
    if choices["texts"]:
        from clevrhope.pipeline.paraphrases import make_paraphrases

        made = make_paraphrases(folder, name, choices["texts"], progress=progress)
    elif name == VISUAL:
        from clevrhope.pipeline.visual.suite import make_visual_suite

        files = {key: choices[key] for key in ("templates", "properties")}
        made = make_visual_suite(folder, choices["n_visual"], hops=hops, progress=progress, **files)
    else:
        more = {key: choices[key] for key in ("train", "origin", "per_cell")}
        files = {"suite_files": choices["templates"]}
        made = make_suite(folder, name, hops=hops, progress=progress, **files, **more)
    show_result(choices, {**about, "splits": list(map(asdict, made))}, suite_lines(made))


@click.command(cls=Command, short_help="Makes images and captions for CLIP and its kin.")
@click.argument("folder", type=PATH, metavar="DIR")
@options("""
    --hop HOP... -> hops: Only this HOP; repeatable.
    --groups N -> n: The most groups of a split.  [default: by the dataset's preset, demo 20, small 200, paper
        2,000]
    --properties WORLD: The dataset's properties file, if it is not the package's.
    --out FOLDER!: The new folder.
    --quiet: Print nothing but errors.
    --json -> as_json: Print one JSON object instead of text.
""")
def captions(folder: Path, out: Path, **choices: Any) -> None:
    """Makes groups of images with a caption each, for models that compare images with texts.

    In the groups of matching_ood and matching_iid, two objects exchange a value, with the held-out pair or
    without it. Those of minimal_ood and minimal_iid are the dataset's. Tables are Parquet; clevrhope audit
    checks them, and clevrhope score scores a model's similarities.
    """
    from clevrhope.pipeline.captions import make_captions

    given = {name: choices[name] for name in ("n", "properties")}
    hops, progress = read_names(choices["hops"]) or None, shown_progress(choices)
    made = make_captions(folder, out, hops=hops, progress=progress, **given)
    lines = [f"{each.path(out)}: {each.groups:,} groups of {each.group_size} images" for each in made]
    show_result(choices, {"folder": str(out), "tables": list(map(asdict, made))}, lines)


def _check_choices(name: str, choices: Mapping[str, Any]) -> None:
    """Checks that the given options make sense together."""
    from clevrhope.dataset.suite_pools import VISUAL

    of_visual = {"--visual", "--properties"}
    values = {
        "--visual": choices["n_visual"],
        "--properties": choices["properties"],
        "--templates": choices["templates"],
        "--per-cell": choices["per_cell"],
        "--from search": choices["origin"] == "search" or None,
        "--train": choices["train"] or None,
        "--remove": choices["remove"] or None,
        "--texts": choices["texts"] or None,
        "--hop": choices["hops"] or None,
    }
    given = {option for option, value in values.items() if value is not None}
    if name != VISUAL and given & of_visual:
        raise click.UsageError(f"{min(given & of_visual)} goes with the suite visual alone")
    for first, allowed in (
        ("--texts", set()),
        ("--remove", {"--hop"}),
        ("--train", {"--templates", "--hop"}),
        (VISUAL, {*of_visual, "--templates", "--remove", "--hop"}),
    ):
        others = given - allowed - {first}
        if (first in given or first == name) and others:
            raise click.UsageError(f"{first} does not go with {min(others)}")
