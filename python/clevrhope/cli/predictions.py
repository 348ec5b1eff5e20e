"""The commands that make predictions without training, score predictions, and report on them."""

import secrets
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import (
    DATASET,
    HOPS,
    JSON,
    PATH,
    QUIET,
    SUITE,
    Command,
    options,
    read_names,
    show_result,
    shown_progress,
)
from clevrhope.errors import command_line, counted
from clevrhope.runtime.terminal import say, say_json


@click.command(cls=Command, short_help="Writes the predictions of a simple baseline.")
@click.argument("folder", metavar="DIR", type=DATASET)
@options(f"""
    --kind NAME!: majority or majority_by_family (of the train set), always_no, coin, or symbolic, which
        executes the true programs; for episodes with nonce words one of the strategies, or strategies,
        which prints what all of them score and writes nothing.
    {HOPS}
    --size 25k|N: Use only the first N questions of train.  [default: all]
    {SUITE}
    --out FILE: The JSON Lines file to write; strategies needs none.
    {QUIET}
    {JSON}
""")
def baseline(
    folder: Path, kind: str, size: str | None, out: Path | None, quiet: bool, as_json: bool, **choices: Any
) -> None:
    """Writes the predictions of a simple baseline, or of the symbolic oracle, on the test sets of DIR."""
    from clevrhope.dataset.contents import find_hop
    from clevrhope.dataset.folder import Folder
    from clevrhope.metrics.baselines import baseline as run
    from clevrhope.metrics.nonce_strategies import ALL, STRATEGIES, accuracies, play, table_of
    from clevrhope.metrics.predictions import write_predictions
    from clevrhope.metrics.text_tables import table_lines
    from clevrhope.training.request import parse_size

    found = accuracies(play(folder, kind)) if kind in (ALL, *STRATEGIES) else {}
    if kind == ALL:
        if out is not None:
            raise click.UsageError("--out: strategies are many; name one of them, whose predictions it gets")
        show_result({"as_json": as_json}, {"accuracies": found}, table_lines([*table_of(found)]))
        return
    if out is None:
        raise click.UsageError("--out: name the file of predictions to write")
    n_train = None if size is None else parse_size(size)
    n = write_predictions(
        out, run(folder, kind, size=n_train, progress=shown_progress({"quiet": quiet}), **choices)
    )
    opened = Folder.open(folder, finished=False)
    score = ["score", opened.title, out]
    score += [word for hop in choices["hops"] for word in ("--hop", find_hop(opened.layout, hop))]
    score += ["--suite", choices["suite"]] if choices["suite"] else []
    lines = [f"{out}: {n:,} predictions of {kind}"]
    result: dict[str, Any] = {"predictions": str(out), "model": kind, "n": n}
    if kind in STRATEGIES:
        score += ["--nonce", "--partial"]
        lines, result = [*table_lines([*table_of(found)]), *lines], {**result, "accuracies": found}
    then = command_line(*score)
    show_result({"as_json": as_json}, {**result, "next": then}, [*lines, f"To score them: {then}"])


@click.command(cls=Command, short_help="Scores predictions on the test sets.")
@click.argument("folder", metavar="DIR", type=DATASET)
@click.argument("predictions", metavar="PREDICTIONS...", nargs=-1, required=True, type=PATH)
@options(f"""
Which questions
    {HOPS}
    --suite NAME: Score the pairs of this suite (carets, rad, holdout, visual) instead: accuracy, consistency
        and RAD.
    --covr: Score the answers to questions about sets of images (COVR) instead.
    --nonce: Score the answers to episodes with new words instead: both conditions, their gap, and controls.
    --covr-split PREDICATE... -> predicates: With --covr, also score questions with and without properties,
        such as has-quant; repeatable.
    --partial: Score incomplete predictions, and say how many are missing.
Tables and intervals
    --by NAMES: Breakdowns (family, answer, objects, level), separated by commas, or none.  [default:
        answer,objects; with --families or --json also family]
    --families: Also break down by question family: about 90 lines per pair.
    --bootstrap N0 = 1000: Number of bootstrap samples of the images behind the 95% intervals; 0 gives no
        intervals.  [default: 1000]
    --seed N0: Seed of the bootstrap; if left out, one is drawn and printed.
    --csv FILE -> csv_file: Also write all measures to this file, one a row.
""")
@options(f"""
    {QUIET}
    {JSON}
""")
def score(
    folder: Path,
    predictions: tuple[Path, ...],
    by: str | None,
    families: bool,
    partial: bool,
    csv_file: Path | None,
    nonce: bool,
    **choices: Any,
) -> None:
    """Scores predictions (JSON Lines or Parquet) on the test sets of DIR, with gaps and intervals.

    If DIR is a folder of captions, PREDICTIONS are similarities of images and captions (.npy, .npz or JSON
    lines).
    """
    from clevrhope.dataset.captions import is_captions

    options = {
        "seed": secrets.randbelow(2**32) if choices["seed"] is None else choices["seed"],
        "bootstrap": choices["bootstrap"],
        "hops": choices["hops"] or None,
        "progress": shown_progress(choices),
    }
    suite, predicates = choices["suite"], choices["predicates"]
    if is_captions(folder):
        others = suite is not None or choices["covr"] or nonce or predicates or csv_file is not None
        if others or partial or families or by is not None:
            raise click.UsageError(
                f"{folder} has captions, which go with --hop, --bootstrap and --seed alone"
            )
        from clevrhope.metrics.matching import score_captions

        del options["progress"]
        matching = score_captions(folder, predictions, **options)
        show_result(choices, matching.as_json(), matching.lines())
        return
    if predicates and not choices["covr"]:
        raise click.UsageError("--covr-split needs --covr, which scores questions about sets of images")
    if (nonce or choices["covr"]) and (by is not None or families or suite is not None):
        raise click.UsageError(
            f"--{'nonce' if nonce else 'covr'} does not go with --by, --families or --suite: these questions "
            "have breakdowns of their own"
        )
    if nonce:
        from clevrhope.metrics.nonce import score_nonce

        results = score_nonce(folder, predictions, partial=partial, **options)
    elif choices["covr"]:
        from clevrhope.metrics.covr import score_covr

        results = score_covr(folder, predictions, predicates=predicates, partial=partial, **options)
    elif suite is not None:
        if by is not None or families or partial:
            raise click.UsageError(
                "--suite does not go with --by, --families or --partial: pairs have breakdowns of their own, "
                "and those that lack an answer are always left out and counted"
            )
        from clevrhope.metrics.suites import score_suite

        results = score_suite(folder, suite, predictions, **options)
    else:
        from clevrhope.metrics import score as run
        from clevrhope.metrics.answer_key import ON_REQUEST, AnswerKey

        if by is None:
            with_families = families or choices["as_json"]
            known = AnswerKey(folder).breakdowns
            left_out = {ON_REQUEST} if with_families else {ON_REQUEST, "family"}
            breakdowns = [name for name in known if name not in left_out]
        else:
            breakdowns = ["family"] * families + [name.strip() for name in by.split(",") if by != "none"]
        results = run(folder, predictions, by=breakdowns, partial=partial, **options)
    from clevrhope.metrics.score_tables import scores_lines
    from clevrhope.metrics.scores_json import scores_csv, scores_json

    if csv_file is not None:
        scores_csv(results, csv_file)
    if choices["as_json"]:
        say_json(scores_json(results))
        return
    say("\n".join(scores_lines(results)))
    if results.kind == "single" and by is None and not families:
        say("For the breakdown by question family, add --families.")


@click.command(cls=Command, short_help="Makes the paper's tables and figures.")
@click.argument("runs", metavar="RUNS...", nargs=-1, required=True)
@options("""
    --out DIR = out/report: Folder of the report.  [default: out/report]
    --model NAME: The model's name, for files that do not say it; or write NAME=FILE.
    --dataset DATASET: The dataset that files of predictions are about.
    --title TEXT: Title of the page.
    --question TEXT: The research question, shown at the top of the page.  [default: the paper's]
    --hop HOP... -> hops: Only runs on this HOP; repeatable.
    --way NAME... -> ways: For models that answer in several ways, report only this way; repeatable.
    --quiet: Print nothing but errors.
    --json -> as_json: Print one JSON object instead of text.
""")
def report(
    runs: tuple[str, ...],
    out: Path,
    ways: tuple[str, ...],
    hops: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    **choices: Any,
) -> None:
    """Makes the paper's tables and figures for RUNS, beside the paper's numbers, as HTML and Markdown.

    RUNS are folders of clevrhope train, folders of them, or files of predictions (NAME=FILE, with --dataset).
    """
    from clevrhope.report import report as run

    choices |= {"ways": read_names(ways), "hops": read_names(hops)}
    made = run(runs, out, **choices, progress=shown_progress({"quiet": quiet}))
    for sentence in made.skipped:
        say(f"left out: {sentence}", err=True)
    n, n_figures = counted(made.n_results, "set"), counted(len(made.figures), "figure")
    lines = [f"{made.html}: {n} of predictions, {n_figures}"]
    lines += [made.without] if made.without else []
    lines.append(f"As Markdown: {made.markdown}; as numbers: {made.csv}")
    result: dict[str, Any] = {name: str(getattr(made, name)) for name in ("html", "markdown", "csv")}
    result |= {"figures": list(map(str, made.figures)), "sets": made.n_results, "left_out": [*made.skipped]}
    show_result({"as_json": as_json, "quiet": quiet}, result, lines)
