"""The commands that look at data: info, show, audit, verify, stats, browse."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import (
    DATASET,
    PATH,
    Command,
    dataset_at,
    json_option,
    no_progress_option,
    options,
    read_names,
    show_result,
    shown_progress,
)
from clevrhope.runtime.paths import check_links
from clevrhope.runtime.terminal import say, say_json


@click.command(cls=Command, short_help="Shows what a folder holds and how to make it again.")
@click.argument("folder", metavar="DIR", type=DATASET)
@json_option
def info(folder: Path, as_json: bool) -> None:
    """Shows what a dataset's folder holds, and the commands that made it."""
    from clevrhope.describe.info.overview import Overview

    overview = Overview(folder)
    if as_json:
        say_json(overview.as_json())
        return
    from clevrhope.describe.info.display import show_overview
    from clevrhope.runtime.display import Terminal

    show_overview(Terminal(), overview)


@click.command(cls=Command, short_help="Shows one question with its program and images.")
@click.argument("folder", metavar="DIR", type=DATASET)
@options("""
    --hop HOP!: The question's HOP.
    --split SPLIT!: Its split, such as train.
    --question N0 -> number: Its number, from 0 on.
    --save FILE.png: Also write its image here; several images as FILE-0.png, FILE-1.png and so on.
    --json -> as_json: Print one JSON object instead of text.
""")
def show(folder: Path, hop: str, split: str, number: int | None, save: Path | None, **choices: Any) -> None:
    """Shows a question: text, answer, family, and its program with what each step returns on the scene."""
    from clevrhope.describe.question_view import save_images, view_question

    view = view_question(folder, hop, split, number)
    saved = [] if save is None else save_images(folder, view, save)
    lines = [*view.lines(), *(f"Saved     {path}" for path in saved)]
    show_result(choices, {**view.as_json(), "saved": list(map(str, saved))}, lines)


@click.command(cls=Command, short_help="Checks a finished dataset from its files alone.")
@click.argument("folder", metavar="DIR", type=PATH)
@options("""
    --against CLEVR_DIR: A CLEVR_v1.0 folder, to check that nothing of its val and test is in the dataset.
    --templates DIR: The question templates, if not the package's; or a folder of your own suite; or, of
        published files, those by which programs are read from texts.
    --properties WORLD: The properties, if not the package's.
    --pixels: Of an imported dataset, also compare the images of train and tests by their pixels.
    --quiet: Show no progress.
    --json -> as_json: Print one JSON object instead of text.
""")
def audit(folder: Path, quiet: bool, as_json: bool, **choices: Any) -> int:
    """Checks a finished dataset from its files alone; exits with 1 if any check fails."""
    from clevrhope.audit import audit as run

    dataset = dataset_at(folder, templates=choices["templates"])
    if dataset != folder:  # published files, whose texts were read with the templates
        choices["templates"] = None
    report = run(dataset, **choices, progress=shown_progress({"quiet": quiet}))
    if as_json:
        say_json(report.as_json())
    else:
        from clevrhope.audit.report import show_report
        from clevrhope.runtime.display import Terminal

        show_report(Terminal(), report)
    return 0 if report.ok else 1


@click.command(cls=Command, short_help="Checks whether a folder's content is that of its edition.")
@click.argument("folder", metavar="DIR", type=DATASET)
@no_progress_option
@json_option
def verify(folder: Path, quiet: bool, **choices: Any) -> int:
    """Computes the digests of a finished dataset, and compares an edition's with those that everybody has.

    The digests are of what the files say, not of their bytes: of questions, scenes and pixels. Those of a
    private edition, or of any other dataset, are printed, so that two people can compare them. The exit code
    is 1 if something differs from the edition, or if a file is damaged or missing.
    """
    from clevrhope.editions import verify as run

    found = run(folder, shown_progress({"quiet": quiet}))
    show_result(choices, found.as_json(), found.lines())
    return 0 if found.ok else 1


@click.command(cls=Command, short_help="Shows what is in a dataset.")
@click.argument("folder", metavar="DIR", type=DATASET)
@options("""
    --hop HOP... -> hops: Only this HOP; repeatable.
    --splits SPLITS...: Only these splits, separated by commas.
    --against DATASET -> other_root: Another dataset, such as CLEVR_v1.0, to compare with.
    --plots FOLDER: Write PNG plots here, in a subfolder per HOP.
    --full: Also list every question family and every pair of values.
    --objects WORDS... -> objects: Also count the images that show such objects, as "small red metal cube"
        or "two or more cubes and no sphere", and the questions about them; repeatable.
    --covr-split PREDICATE... -> predicates: Also count the questions over several images with a property, as
        for train --covr-split; repeatable.
    --json -> as_json: Print one JSON object instead of text.
""")
def stats(folder: Path, plots: Path | None, **choices: Any) -> None:
    """Shows a dataset's answers, families, lengths, objects and relations, and how far its splits differ."""
    from clevrhope.dataset.layout import Layout
    from clevrhope.describe.covr import count_predicates
    from clevrhope.describe.episodes import count_episodes
    from clevrhope.describe.stats.comparison import as_json as sheets_as_json
    from clevrhope.describe.stats.comparison import measure_folder
    from clevrhope.describe.stats.objects import count_shown
    from clevrhope.runtime.extras import check_extra

    other_root = choices["other_root"]
    progress = shown_progress({"quiet": choices["as_json"]})
    hops, splits = read_names(choices["hops"]), read_names(choices["splits"])
    full = choices["full"]
    if plots is not None:
        check_extra("plots need", "matplotlib", "plots")
        from clevrhope.dataset.folder_check import check_outside
        from clevrhope.describe.stats.plots import KINDS, write_plots

        check_outside(plots, option="--plots")
    sheets = measure_folder(folder, hops=hops, splits=splits, against=other_root)
    counts = {
        each.group: count_predicates(Layout(folder), each.group, list(each.covr), choices["predicates"])
        for each in sheets
        if each.covr and choices["predicates"]
    }
    if choices["predicates"] and not counts:
        raise click.UsageError(f"--covr-split: {folder} has no questions over several images")
    shown_objects = count_shown(folder, sheets, choices["objects"]) if choices["objects"] else {}
    written = []
    if plots is not None:
        check_links(plots, (each.group for each in sheets), deep=False)
        n_plots = len(KINDS) * len(sheets)
        with progress.stage("Drawing", total=n_plots, unit="plots") as advance:
            for each in sheets:
                written += write_plots(plots / each.group, each, advance=advance)
    episodes = count_episodes(Layout(folder)) if any(each.episodes for each in sheets) else {}
    if choices["as_json"]:
        shown = sheets_as_json(folder, other_root, sheets, written)
        shown |= {"nonce": episodes} if episodes else {}
        for hop, of_hop in counts.items():
            shown["hops"][hop]["predicates"] = of_hop
        for hop, of_texts in shown_objects.items():
            shown["hops"][hop]["objects"] = of_texts
        say_json(shown)
        return
    from clevrhope.describe.stats.tables import tables
    from clevrhope.runtime.display import Terminal, show_table

    console = Terminal()
    for sheet in sheets:
        console.rule(sheet.group, align="left")
        for table in tables(sheet, full=full):
            show_table(console, table.title, table.head, table.rows, table.note)
        for text, of_splits in shown_objects.get(sheet.group, {}).items():
            rows = [[split, *(f"{n:,}" for n in each.values())] for split, each in of_splits.items()]
            head = ["", "images", "of all images", "questions about them"]
            show_table(console, f"Images that show {text}", head, rows, "")
        if sheet.group in counts:
            of_hop = counts[sheet.group]
            rows = [[text, *(f"{n:,}" for n in of_text.values())] for text, of_text in of_hop.items()]
            show_table(console, "Questions over several images with a property", ["", *sheet.covr], rows)
        if sheet.suites or sheet.covr:
            of_group = Layout(folder).hop_datasheet(sheet.group)
            say(f"Paired tests and questions over several images are in {of_group} and in --json.")
    rows = [
        [form, by, ", ".join(f"{name}{' objects' * (by == 'objects')}: {n:,}" for name, n in counted.items())]
        for form, of_form in episodes.items()
        for by, counted in of_form.items()
    ]
    if rows:
        show_table(console, "Episodes with nonce words, in either condition", ["form", "", "episodes"], rows)
    if plots is not None:
        say(f"{len(written)} plots in {plots}")


@click.command(cls=Command, short_help="Shows a dataset in a browser.")
@click.argument("folder", metavar="DIR", type=DATASET)
@options("""
    --predictions RUN_OR_FILE...: Predictions to show with the questions: a run's folder, or a file as for
        score; NAME=FILE names its model; repeatable.
    --question HOP/SPLIT/NUMBER: Open the page of this question; numbers begin with 0.
    --port PORT = 8765: The port on this machine; if it is in use, a free one is taken instead.  [default:
        8765]
    --no-browser: Do not open a browser; only print the address.
    --quiet: Show no progress.
""")
def browse(folder: Path, **choices: Any) -> None:
    """Shows a dataset's questions, images, programs and tests in a browser on this machine.

    Nothing is written into DIR. Only those who have the printed address can open the pages.
    """
    from clevrhope.runtime.extras import check_extra

    for module in ("jinja2", "starlette", "uvicorn"):
        check_extra("browse needs", module, "browse")
    from clevrhope.browse.serving import serve

    serve(
        folder,
        predictions=choices["predictions"],
        question=choices["question"],
        port=choices["port"],
        open_browser=not choices["no_browser"],
        progress=shown_progress(choices),
        say=partial(say, err=True),
    )
