"""Command lines in, exit codes out: 0 done, 1 failed, 2 wrong input, 130 stopped with Ctrl-C.

Commands only translate; what they do is in the modules that they import when they run, so that `--help` is
quick. Results go to standard output, all else to standard error; an error is one sentence.
"""

import json
import secrets
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clevrhope.errors import ClevrhopeError

if TYPE_CHECKING:
    from clevrhope.build import PartSummary, Request, Summary
    from clevrhope.progress import Progress

_Command = TypeVar("_Command", bound=Callable[..., Any])


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="clevrhope")
def commands() -> None:
    """Makes datasets that test systematic generalisation in visual question answering (CLEVR-HOPE)."""


def _dataset_options(command: _Command) -> _Command:
    """The choices that `build` and `plan` share."""
    path = click.Path(path_type=Path)
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
            help="The paper's first six pairs, or all 29; they share pictures.",
        ),
        click.option(
            "--hold-out",
            "held_out",
            multiple=True,
            metavar="TYPE=VALUE,...",
            help="Any values to hold out together, such as color=red,shape=cube,material=metal; repeatable.",
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
            type=path,
            metavar="FILE",
            help="Combinations that objects have, such as CoGenT's; of a pair, those that are seen.",
        ),
        click.option(
            "--test-palette",
            type=path,
            metavar="FILE",
            help="With --hop none --palette: val_b and test_b, of this palette's pictures.",
        ),
        click.option(
            "--preset",
            type=click.Choice(["demo", "small", "paper"]),
            help="demo: some 60 pictures; small: a hundredth of paper; paper: the paper's.  [default: demo]",
        ),
        click.option(
            "--out",
            type=path,
            help="Folder of the dataset; one that is there is extended.  [default: out/PRESET]",
        ),
        click.option(
            "--seed",
            type=click.IntRange(0, 2**64 - 1),
            help="Decides the dataset; drawn, printed and recorded when left out.",
        ),
        click.option(
            "--config",
            "config_file",
            type=path,
            metavar="FILE.toml",
            help="Settings: preset, images, templates, properties, [sizes], [world], [rendering].",
        ),
        click.option(
            "--workers", type=click.IntRange(1), help="Render processes.  [default: one for two cores]"
        ),
        click.option(
            "--samples",
            type=int,
            help="Samples a pixel; from 512 on without denoiser, as the original.  [default: 16]",
        ),
        click.option("--no-render", is_flag=True, help="Leave the pictures out; a later run can add them."),
        click.option(
            "--match",
            type=click.Choice(["none", "objects"]),
            help="objects: thin scenes until all splits have the same numbers of objects.  [default: none]",
        ),
        click.option(
            "--no-json",
            is_flag=True,
            help="Leave CLEVR's JSON question files out, HDF5 says it all; a later run can add them.",
        ),
        click.option(
            "--splits", multiple=True, metavar="NAMES", help="Only these splits, commas between them."
        ),
        click.option("--train-questions", type=int, metavar="N", help="Questions in train."),
        click.option(
            "--test-questions",
            type=int,
            metavar="N",
            help="Questions in each of complex_iid and complex_ood (none: val and test).",
        ),
        click.option(
            "--templates",
            type=path,
            metavar="DIR",
            help="Question templates in CLEVR's format, the original's own included.",
        ),
        click.option(
            "--properties",
            type=path,
            metavar="FILE",
            help="Sizes, colors, materials and shapes, as CLEVR's properties.json.",
        ),
        click.option(
            "--images",
            type=click.Choice(["png", "h5", "both"]),
            help="How pictures are stored.  [default: both; paper: png]",
        ),
        click.option("--quiet", is_flag=True, help="Say nothing but errors."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@commands.command()
@_dataset_options
@click.option(
    "--shard",
    metavar="I/N",
    help="Only the I-th of N parts, each for a machine and a folder of its own; merge joins them.",
)
def build(**choices: Any) -> None:
    """Makes a dataset, or extends the one in the folder; run it again after any stop to go on."""
    from clevrhope.build import build as run
    from clevrhope.build import build_part, parse_shard

    request = _request(choices)
    if choices["shard"] is None:
        _tell(choices, run(request, progress=_progress(choices)))
    else:
        # A seed that was drawn would be another one on each machine.
        given = replace(request, seed=choices["seed"])
        part = build_part(given, parse_shard(choices["shard"]), progress=_progress(choices))
        if choices["as_json"]:
            click.echo(json.dumps(_part_json(part)))
        elif not choices["quiet"]:
            click.echo(
                f"\n{part.folder}: part {part.shard}, {part.n_splits} splits, {part.n_pictures:,} pictures\n"
                f"When all {part.shard.of} are there: clevrhope merge PART... --out DIR, with build's options"
            )


@commands.command()
@click.argument("parts", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PART...")
@_dataset_options
def merge(parts: tuple[Path, ...], **choices: Any) -> None:
    """Joins what `build --shard` made into --out, the same bytes as one machine's; takes build's options."""
    from clevrhope.build import merge as run

    request = replace(_request(choices), seed=choices["seed"])
    _tell(choices, run(parts, request, progress=_progress(choices)))


def _tell(choices: dict[str, Any], summary: "Summary") -> None:
    """Prints what a run left behind."""
    if choices["as_json"]:
        click.echo(json.dumps(_summary_json(summary)))
    elif not choices["quiet"]:
        _show_summary(summary)


@commands.command()
@_dataset_options
def plan(**choices: Any) -> None:
    """Says what the same `build` would make, how large it is and how long it takes here; writes nothing."""
    from clevrhope.plan import make_plan, plan_json, plan_lines

    made = make_plan(_request(choices))
    if choices["as_json"]:
        click.echo(json.dumps(plan_json(made)))
    else:
        click.echo("\n".join(plan_lines(made)))


@commands.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--format",
    "format_name",
    required=True,
    metavar="NAME",
    help="parquet (Hugging Face), webdataset, clevr (CLEVR_v1.0's folders) or iep (its models' HDF5).",
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="New folder; it appears when it is whole."
)
@click.option(
    "--hop", "hops", multiple=True, metavar="NAME", help="Only this HOP; can be repeated.  [default: all]"
)
@click.option("--splits", multiple=True, metavar="NAMES", help="Only these splits, commas between them.")
@click.option(
    "--train-questions",
    type=int,
    metavar="N",
    help="Only the first so many of train; 25000 and 200000 are the paper's smaller sets.",
)
@click.option("--no-pictures", is_flag=True, help="Text only.")
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
def export(folder: Path, **choices: Any) -> None:
    """Writes a finished dataset once more, for Hugging Face datasets, WebDataset or readers of CLEVR."""
    from clevrhope.export import export as run

    splits = _names(choices["splits"])
    made = run(
        folder,
        choices["out"],
        format=choices["format_name"],
        hops=choices["hops"] or None,
        splits=splits or None,
        train_questions=choices["train_questions"],
        pictures=not choices["no_pictures"],
        progress=_progress(choices),
    )
    if choices["as_json"]:
        click.echo(json.dumps(made.as_json()))
    elif not choices["quiet"]:
        from clevrhope.display import size

        pictures = f"{made.n_pictures:,} pictures" if made.pictures else "text only, no pictures"
        click.echo(f"{made.folder}: {made.n_questions:,} questions, {pictures}, {size(made.n_bytes)}")


@commands.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list instead of words.")
def hops(as_json: bool) -> None:
    """Lists the paper's 29 held-out pairs; any other pair of values can be built too."""
    from clevrhope.hops import paper_hops

    if as_json:
        rows = [
            {"hop": hop.name, "values": dict(hop.pair or ()), "diversity": hop.diversity}
            for hop in paper_hops()
        ]
        click.echo(json.dumps(rows))
        return
    click.echo(f"{'HOP':<18} {'types':<20} diversity")
    for hop in paper_hops():
        types = ", ".join(kind for kind, _ in hop.pair or ())
        click.echo(f"{hop.name:<18} {types:<20} {hop.diversity:>9}")


@commands.command()
@click.option("--full", is_flag=True, help="More repetitions, and all sixteen reference pictures.")
@click.option("--no-pictures", is_flag=True, help="Leave rendering out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
def bench(full: bool, no_pictures: bool, as_json: bool) -> None:
    """Measures questions, programs, scenes and pictures a second on this machine, in under a minute."""
    from clevrhope.bench import run, text_rows

    result = run(
        full=full,
        pictures=not no_pictures,
        advance=lambda what: None if as_json else click.echo(f"measuring {what} ...", err=True),
    )
    if as_json:
        click.echo(json.dumps(result.as_json()))
        return
    click.echo(f"{result.machine}, {result.cores} cores")
    for name, value in text_rows(result):
        click.echo(f"{name:<38} {value:>14}")
    for note in result.notes:
        click.echo(note)


@commands.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument(
    "predictions", metavar="PREDICTIONS...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--hop", "hops", multiple=True, metavar="NAME", help="Only this HOP; can be repeated.  [default: all]"
)
@click.option(
    "--by",
    metavar="NAMES",
    default="family,answer,objects",
    show_default=True,
    help="Breakdowns, commas between them; none leaves them out.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(0),
    metavar="N",
    default=1000,
    show_default=True,
    help="Draws of the pictures behind the 95% intervals; 0 leaves them out.",
)
@click.option(
    "--seed", type=click.IntRange(0), help="Decides the draws; drawn itself and printed when left out."
)
@click.option("--partial", is_flag=True, help="Score what is there, and say how much is missing.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def score(
    folder: Path, predictions: tuple[Path, ...], hops: tuple[str, ...], by: str, as_json: bool, **choices: Any
) -> None:
    """Scores predictions (JSON lines or Parquet) on the test sets of a dataset, with gaps and intervals."""
    from clevrhope.metrics import score as run
    from clevrhope.metrics.show import scores_json, scores_lines

    seed = choices["seed"]
    scores = run(
        folder,
        predictions,
        seed=secrets.randbelow(2**32) if seed is None else seed,
        bootstrap=choices["bootstrap"],
        by=() if by == "none" else [name.strip() for name in by.split(",")],
        hops=hops or None,
        partial=choices["partial"],
        progress=_progress(choices),
    )
    if as_json:
        click.echo(json.dumps(scores_json(scores)))
    else:
        click.echo("\n".join(scores_lines(scores)))


@commands.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--hop", "hops", multiple=True, metavar="NAME", help="Only this HOP; can be repeated.")
@click.option("--splits", multiple=True, metavar="NAMES", help="Only these splits, commas between them.")
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Another dataset of clevrhope, or a CLEVR_v1.0 folder, to set beside it.",
)
@click.option(
    "--plots",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write PNG plots below this folder, one folder a HOP.",
)
@click.option("--full", is_flag=True, help="Families and pairs of values one by one, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def stats(
    folder: Path,
    hops: tuple[str, ...],
    splits: tuple[str, ...],
    against: Path | None,
    plots: Path | None,
    full: bool,
    as_json: bool,
) -> None:
    """Shows what is in a dataset: answers, families, lengths, objects, relations, and how far splits differ.

    DIR is a dataset of clevrhope or a CLEVR_v1.0 folder.
    """
    from clevrhope.statistics.as_json import as_json as sheets_as_json
    from clevrhope.statistics.compare import measure_folder
    from clevrhope.statistics.plots import check_plots, write_plots

    if plots is not None:
        check_plots()
    sheets = measure_folder(
        folder,
        hops=_names(hops),
        splits=_names(splits),
        against=against,
        progress=_progress({"quiet": as_json}),
    )
    written = [] if plots is None else write_plots(plots, sheets)
    if as_json:
        click.echo(json.dumps(sheets_as_json(folder, against, sheets, written)))
        return
    from rich.console import Console

    from clevrhope.display import show_table
    from clevrhope.statistics.tables import tables

    console = Console()
    for sheet in sheets:
        console.rule(sheet.group, align="left")
        for table in tables(sheet, full=full):
            show_table(console, table.title, table.head, table.rows, table.note)
    if plots is not None:
        click.echo(f"{len(written)} plots in {plots}")


@commands.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="CLEVR_DIR",
    help="A CLEVR_v1.0 folder: nothing of its val or test may be in the dataset.",
)
@click.option(
    "--templates",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The dataset's question templates, where they are not the package's.",
)
@click.option(
    "--properties",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The dataset's properties, where they are not the package's.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def audit(folder: Path, against: Path | None, as_json: bool, **choices: Any) -> int:
    """Proves a finished dataset from nothing but its files; exits with 1 where any check fails."""
    from clevrhope.audit import audit as run

    report = run(
        folder,
        against=against,
        templates=choices["templates"],
        properties=choices["properties"],
        progress=_progress(choices),
    )
    if as_json:
        click.echo(json.dumps(report.as_json()))
    else:
        from rich.console import Console

        from clevrhope.audit.show import show_report

        show_report(Console(), report)
    return 0 if report.ok else 1


def main() -> None:
    """Runs the command line and exits."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """Runs one command line; gives its exit code, with any error told in one sentence on standard error."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        code = commands.main(args=arguments, prog_name="clevrhope", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        return _fail(error.format_message(), 2)
    except (KeyboardInterrupt, click.Abort):
        return _fail("stopped; run the same command to resume", 130)
    except ClevrhopeError as error:
        # Errors that are also a ValueError are about what was asked for; the others about doing it.
        return _fail(str(error), 2 if isinstance(error, ValueError) else 1)
    except BrokenPipeError:
        sys.stdout = None  # the reader of our output left; Python would complain at exit otherwise
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(*_: object) -> None:
    raise KeyboardInterrupt


def _fail(sentence: str, code: int) -> int:
    click.echo(f"clevrhope: {sentence}", err=True)
    return code


def _request(choices: dict[str, Any]) -> "Request":
    from clevrhope.build import Limits, Request
    from clevrhope.config import resolve_config
    from clevrhope.dataset.layout import Layout
    from clevrhope.hops import HOP_GROUPS

    asked = _names(choices["hops"])
    names = [
        *asked,
        *choices["held_out"],
        *(name for group in choices["groups"] for name in HOP_GROUPS[group]),
    ]
    if not names:
        raise click.UsageError(
            "no HOP given; name one or more with --hop, such as --hop rubber_cylinder, or --hops all"
        )
    config = resolve_config(
        preset=choices["preset"],
        file=choices["config_file"],
        train_questions=choices["train_questions"],
        test_questions=choices["test_questions"],
        samples=choices["samples"],
        images=choices["images"],
        question_json=False if choices["no_json"] else None,
        match=choices["match"],
        templates=choices["templates"],
        properties=choices["properties"],
    )
    out = choices["out"] or Path("out") / config.preset
    seed = choices["seed"]
    if seed is None and not Layout(out).manifest.exists():
        seed = secrets.randbelow(2**32)
    splits = _names(choices["splits"])
    return Request(
        out=out,
        hops=tuple(names),
        config=config,
        seed=seed,
        splits=tuple(splits) or None,
        render=not choices["no_render"],
        workers=choices["workers"],
        limits=Limits(
            diversities=tuple(_whole("--diversity", name) for name in _names(choices["diversities"])),
            mode=choices["diversity_mode"],
            palette=choices["palette"],
            test_palette=choices["test_palette"],
        ),
    )


def _names(options: Sequence[str]) -> list[str]:
    """The names in options that can be repeated and can hold several, with commas between them."""
    return [name.strip() for names in options for name in names.split(",")]


def _whole(option: str, text: str) -> int:
    if not text.isdecimal():
        raise click.UsageError(f'{option}: "{text}" is no whole number')
    return int(text)


def _progress(choices: dict[str, Any]) -> "Progress":
    from clevrhope.progress import Silent

    if choices["quiet"]:
        return Silent()
    from rich.console import Console

    from clevrhope.display import TerminalProgress

    return TerminalProgress(Console(stderr=True))


def _summary_json(summary: "Summary") -> dict[str, Any]:
    return {
        "folder": str(summary.folder),
        "seed": summary.seed,
        "questions": summary.n_questions,
        "scenes": summary.n_pictures,
        "pictures_rendered": summary.n_rendered,
        "bytes": summary.n_bytes,
        "seconds": round(summary.seconds, 3),
        "splits": summary.splits,
        "contact_sheet": str(summary.contact_sheet),
    }


def _part_json(part: "PartSummary") -> dict[str, Any]:
    return {
        "folder": str(part.folder),
        "shard": str(part.shard),
        "splits": part.n_splits,
        "pictures": part.n_pictures,
        "seconds": round(part.seconds, 3),
    }


def _show_summary(summary: "Summary") -> None:
    from clevrhope.display import duration, size

    click.echo(
        f"\n{summary.folder}: {summary.n_questions:,} questions about {summary.n_pictures:,} scenes, "
        f"{size(summary.n_bytes)}, seed {summary.seed}; {summary.n_rendered:,} pictures rendered, "
        f"{duration(summary.seconds)}"
    )
    for hop, splits in summary.splits.items():
        counts = ", ".join(f"{split} {entry['questions']:,}" for split, entry in splits.items())
        click.echo(f"  {hop}: {counts}")
    for sentence in summary.kept:
        click.echo(f"  {sentence}")
    click.echo(f"The same again: --seed {summary.seed}")
    click.echo(f"Look at it:     {summary.contact_sheet}")
    for hop in summary.hops[:3]:
        click.echo(f"Its numbers:    {summary.folder / 'hops' / hop / 'DATASHEET.md'}")
    if len(summary.hops) > 3:
        click.echo(f"                and {len(summary.hops) - 3} more")
    images = summary.folder / "images"
    pictures = f", {images} (pictures)" if images.is_dir() else "; no pictures yet, left out with --no-render"
    click.echo(f"Read it from:   {summary.folder / 'hops'} (questions){pictures}")
