"""The commands that make predictions without training, score predictions, and report on them."""

import secrets
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clevrhope.cli.arguments import DATASET, PATH, Command, options, read_names, show_result, shown_progress
from clevrhope.runtime.terminal import say, say_json

if TYPE_CHECKING:
    from clevrhope.metrics.people import Agreement

_SUITE = "--suite NAME: The questions of this suite of paired tests, in place of the test sets."
_HOPS = "--hop HOP... -> hops: Only this HOP; repeatable."
_OUT = "--out FILE!: The JSON Lines file to write."
_QUIET = "--quiet: Show no progress."
_JSON = "--json -> as_json: Print one JSON object instead of text."


@click.command(cls=Command, short_help="Writes the predictions of a simple baseline.")
@click.argument("folder", metavar="DIR", type=DATASET)
@options(f"""
    --kind NAME!: majority or majority_by_family (of the train set), always_no, coin, or symbolic, which
        executes the true programs.
    {_HOPS}
    --size 25k|N: Use only the first N questions of train.  [default: all]
    {_SUITE}
    {_OUT}
    {_QUIET}
""")
def baseline(folder: Path, kind: str, size: str | None, out: Path, quiet: bool, **choices: Any) -> None:
    """Writes the predictions of a simple baseline, or of the symbolic oracle, on the test sets of DIR."""
    from clevrhope.dataset.contents import find_hop
    from clevrhope.dataset.folder import Folder
    from clevrhope.metrics.baselines import baseline as run
    from clevrhope.metrics.predictions import write_predictions
    from clevrhope.training.request import parse_size

    n_train = None if size is None else parse_size(size)
    n = write_predictions(
        out, run(folder, kind, size=n_train, progress=shown_progress({"quiet": quiet}), **choices)
    )
    opened = Folder.open(folder, finished=False)
    only = "".join(f" --hop {find_hop(opened.layout, hop)}" for hop in choices["hops"])
    say(f"{out}: {n:,} predictions of {kind}")
    with_suite = f" --suite {choices['suite']}" if choices["suite"] else ""
    say(f"To score them: clevrhope score {opened.title} {out}{only}{with_suite}")


@click.command(cls=Command, short_help="Writes requests for a model that only answers questions.")
@click.argument("folder", metavar="DIR", type=DATASET)
@options(f"""
    --split SPLIT... -> splits: Only this test set, such as covr_test; repeatable.  [default: all about one
        image]
    {_HOPS}
    --limit N: Only N questions of each split, about images that are drawn; with --suite evenly from its
        tests.
    --seed N0: With --limit, seed of the images; if left out, one is drawn and printed.
    {_SUITE}
    --format requests|html = requests -> form: requests: for a program; html: for people, a page beside the
        requests.
    --instructions FILE: With --format html, a text file with the instructions, in paragraphs.  [default:
        a description of CLEVR's objects]
    {_OUT}
    {_QUIET}
""")
def ask(
    folder: Path,
    out: Path,
    splits: tuple[str, ...],
    seed: int | None,
    form: str,
    instructions: Path | None,
    quiet: bool,
    **choices: Any,
) -> None:
    """Writes requests (image, question, possible answers) for a model that is not trained here.

    With --format html it also writes a page on which people answer them.
    """
    from clevrhope.metrics.request_files import write_requests
    from clevrhope.metrics.survey import INSTRUCTIONS, read_instructions, write_survey

    if instructions is not None and form != "html":
        raise click.UsageError("--instructions needs --format html, the page that shows them")
    paragraphs = INSTRUCTIONS if instructions is None else read_instructions(instructions)
    page = out.with_suffix(".html")
    if form == "html":
        out = out.with_suffix(".jsonl")
    if seed is not None and choices["limit"] is None:
        raise click.UsageError("--seed needs --limit, which draws images")
    drawn = secrets.randbelow(2**32) if seed is None else seed
    progress = shown_progress({"quiet": quiet})
    choices |= {"with_asked": form == "html", "progress": progress}
    n = write_requests(folder, out, splits=read_names(splits), seed=drawn, **choices)
    if seed is None and choices["limit"] is not None:
        say(f"Seed {drawn} was drawn; to reproduce: --seed {drawn}", err=True)
    if form == "html":
        write_survey(out, page, title=f"{n:,} questions about images", instructions=paragraphs)
        say(f"{page}: a page with {n:,} questions; people open it and save a file each. Then run")
        say(f"clevrhope answers FILES... --requests {out} --out people.jsonl")
        return
    say(f'{out}: {n:,} requests; answer each with a line {{"id": ..., "reply": ...}}, then run')
    say(f"clevrhope answers REPLIES.jsonl --requests {out} --out predictions.jsonl")


@click.command(cls=Command, short_help="Turns free-text replies into predictions.")
@click.argument("replies", metavar="REPLIES.jsonl...", nargs=-1, required=True, type=PATH)
@options(f"""
    --requests FILE!: The file that `ask` wrote.
    --model NAME: The model's name in reports.  [default: the name of REPLIES; people, if several answered]
    --dataset DATASET -> folder: The dataset, if its values are not CLEVR's.
    --properties FILE: With --dataset, its properties file, whose colors tell what "silver" or "teal" means.
    --partial: Read the replies that there are, and say how many are missing.
    {_JSON}
    {_OUT}
""")
def answers(
    replies: tuple[Path, ...],
    requests: Path,
    model: str | None,
    folder: Path | None,
    properties: Path | None,
    partial: bool,
    out: Path,
    **choices: Any,
) -> None:
    """Turns replies in free text into predictions; a reply that holds no answer counts as wrong.

    If several people answered, each in a file of their own, the answer of most of them counts.
    """
    from clevrhope.dataset.vocab import NOT_TRAINED
    from clevrhope.metrics.request_files import write_answers

    if properties is not None and folder is None:
        raise click.UsageError("--properties needs --dataset, the dataset that was made with them")
    found = write_answers(
        replies,
        requests,
        out,
        model=model or (replies[0].stem if len(replies) == 1 else "people"),
        folder=folder,
        properties=properties,
        partial=partial,
    )
    counts = found.counts
    lines = [f'{out}: {counts["replies"]:,} predictions, all marked "{NOT_TRAINED}"']
    if found.missing:
        n = counts["replies"] + counts["missing"]
        lines.append(f"{counts['missing']:,} of {n:,} requests lack a reply (first {found.missing[0]})")
    if found.unreadable:
        lines += [
            f"Replies that cannot be read: {_of(counts['unreadable'], counts['replies'])} "
            f"(first {found.unreadable[0]}); to questions for yes or no: "
            f"{_of(counts['unreadable_yes_no'], counts['yes_no'])}.",
            "They count as wrong; clevrhope score also prints the accuracy if all of them were right.",
        ]
    agreed = {} if found.agreement is None else asdict(found.agreement)
    if found.agreement is not None:
        lines.append(_agreement_text(found.agreement))
    show_result(choices, {"predictions": str(out), **counts, **agreed, "note": NOT_TRAINED}, lines)


def _agreement_text(agreed: "Agreement") -> str:
    alpha = "not defined" if agreed.alpha is None else f"{agreed.alpha:.2f}"
    return (
        f"{agreed.n_people} people gave {agreed.n_answers:,} answers; ambiguous: "
        f"{_of(agreed.n_ambiguous, agreed.n_answers)}; Krippendorff's alpha: {alpha}. "
        f"Questions without a majority: {agreed.n_undecided:,}."
    )


def _of(part: int, whole: int) -> str:
    """A part of a whole with its share: 3 of 60, 5.0%."""
    return f"{part:,} of {whole:,}{f', {part / whole:.1%}' if whole else ''}"


@click.command(cls=Command, short_help="Scores predictions on the test sets.")
@click.argument("folder", metavar="DIR", type=DATASET)
@click.argument("predictions", metavar="PREDICTIONS...", nargs=-1, required=True, type=PATH)
@options(f"""
Which questions
    {_HOPS}
    --suite NAME: Score the pairs of this suite (carets, rad, holdout, visual) instead: accuracy, consistency
        and RAD.
    --covr: Score the answers to questions about sets of images (COVR) instead.
    --covr-split PREDICATE... -> predicates: With --covr, also score questions with and without properties,
        such as has-quant; repeatable.
    --partial: Score incomplete predictions, and say how many are missing.
Tables and intervals
    --by NAMES: Breakdowns, separated by commas, or none.  [default: answer,objects; with --families or --json
        also family]
    --families: Also break down by question family: about 90 lines per pair.
    --bootstrap N0 = 1000: Number of bootstrap samples of the images behind the 95% intervals; 0 gives no
        intervals.  [default: 1000]
    --seed N0: Seed of the bootstrap; if left out, one is drawn and printed.
""")
@options(f"""
    {_QUIET}
    {_JSON}
""")
def score(
    folder: Path, predictions: tuple[Path, ...], by: str | None, families: bool, partial: bool, **choices: Any
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
        if suite is not None or choices["covr"] or partial or families or by is not None:
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
    if choices["covr"]:
        if by is not None or families or suite is not None:
            raise click.UsageError(
                "--covr does not go with --by, --families or --suite: questions about sets of images have "
                "breakdowns of their own"
            )
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
        from clevrhope.metrics.answer_key import AnswerKey

        if by is None:
            with_families = families or choices["as_json"]
            known = AnswerKey(folder).breakdowns
            breakdowns = [name for name in known if name != "family" or with_families]
        else:
            breakdowns = ["family"] * families + [name.strip() for name in by.split(",") if by != "none"]
        results = run(folder, predictions, by=breakdowns, partial=partial, **options)
    from clevrhope.metrics.score_tables import scores_lines
    from clevrhope.metrics.scores_json import scores_json

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
""")
def report(
    runs: tuple[str, ...],
    out: Path,
    ways: tuple[str, ...],
    hops: tuple[str, ...],
    quiet: bool,
    **choices: Any,
) -> None:
    """Makes the paper's tables and figures for RUNS, beside the paper's numbers, as HTML and Markdown.

    RUNS are folders of clevrhope train, folders of them, or files of predictions (NAME=FILE, with --dataset).
    """
    from clevrhope.report import report as run
    from clevrhope.report.tables import counted

    choices |= {"ways": read_names(ways), "hops": read_names(hops)}
    made = run(runs, out, **choices, progress=shown_progress({"quiet": quiet}))
    for sentence in made.skipped:
        say(f"left out: {sentence}", err=True)
    if not quiet:
        n, n_figures = counted(made.n_results, "set"), counted(len(made.figures), "figure")
        say(f"{made.html}: {n} of predictions, {n_figures}")
        if made.without:
            say(made.without)
        say(f"As Markdown: {made.markdown}; as numbers: {made.csv}")
