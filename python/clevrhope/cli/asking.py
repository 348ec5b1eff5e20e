"""The commands that ask models and people, and read their replies."""

import secrets
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    repeated,
    show_result,
    shown_progress,
)
from clevrhope.errors import command_line, shown
from clevrhope.runtime.terminal import say

if TYPE_CHECKING:
    from clevrhope.metrics.people import Agreement

_OUT = "--out FILE!: The JSON Lines file to write."
_MOST_FAILED = 10
"""The most requests that failed to be named in text."""
_MOST_UNREADABLE = 3
"""The most replies that cannot be read to be quoted."""


@click.command(cls=Command, short_help="Writes requests for a model that only answers questions.")
@click.argument("folder", metavar="DIR", type=DATASET)
@options(f"""
    {QUIET}
    {JSON}
Which questions
    --split SPLIT... -> splits: Only this split, such as covr_test, or train with its right answers;
        repeatable.  [default: all test sets about one image]
    {HOPS}
    --limit N: Only N questions of each split, about images that are drawn; with --suite evenly from its
        tests.
    --half-width POINTS: In place of --limit, as many questions of each split as give 95% intervals of this
        half-width, in points, at an accuracy of 50%.
    --level LEVEL... -> levels: Only questions on this level of difficulty, 1 to 4; repeatable.
    --seed N0: With --limit or --half-width, seed of the images; if left out, one is drawn and printed.
    {SUITE}
    --nonce: Episodes with new words in place of the test sets, in both conditions: all of them, and about
        200 of each condition with --control words and real. --limit then counts those of each condition.
    --control none|words|real|text|bare|told... -> controls: With --nonce, ask only in these ways. none: the
        test itself; words: about single words; real: in real words; text: without images; bare: without
        what teaches the words; told: say which words are colors, where this is to be found. Repeatable.
    --support message|turns = message: With --nonce, the images that teach the words are in the message with
        the question, or each in a turn of its own.  [default: message]
What is written
    {_OUT}
    --format requests|batch|vlmeval|html = requests -> form: requests: for a program; batch: files beside the
        requests for OpenAI's batches and vLLM; vlmeval: a table for VLMEvalKit; html: a page for people.
        [default: requests]
    --instruction NAME: What follows each question: short, think, or a text file; with html, what stands above
        all questions, in paragraphs.  [default: short for batch and vlmeval; none for requests; for html a
        description of CLEVR's objects]
    --model NAME: With --format batch, the model that answers.
    --max-tokens N: With --format batch, the most tokens of a reply, thoughts included.  [default:
        1024]
    --jpeg QUALITY: With --format batch or vlmeval, images as JPEG, which is smaller and changes pixels.
""")
def ask(
    folder: Path,
    out: Path,
    splits: tuple[str, ...],
    limit: int | None,
    half_width: float | None,
    seed: int | None,
    form: str,
    instruction: str | None,
    model: str | None,
    max_tokens: int | None,
    jpeg: int | None,
    nonce: bool,
    controls: tuple[str, ...],
    support: str,
    quiet: bool,
    as_json: bool,
    **choices: Any,
) -> None:
    """Writes requests (image, question, possible answers) for a model that is not trained here.

    With another --format than requests, it also writes what that program, or people, are given.
    """
    from clevrhope.metrics.request_files import write_requests
    from clevrhope.replies.instructions import find_instruction

    if form == "batch" and model is None:
        raise click.UsageError("--format batch needs --model, the model that answers")
    if form != "batch" and model is not None:
        raise click.UsageError("--model needs --format batch, whose lines name the model")
    if form != "batch" and max_tokens is not None:
        raise click.UsageError("--max-tokens needs --format batch, whose lines have it")
    ending = {"vlmeval": ".tsv", "html": ".html"}.get(form, ".jsonl")
    if form != "requests" and out.suffix != ending:
        raise click.UsageError(f"--out: {out} should end in {ending}, as --format {form} writes it")
    if jpeg is not None and form not in ("batch", "vlmeval"):
        raise click.UsageError("--jpeg needs --format batch or vlmeval, whose files contain images")
    others = splits or choices["hops"] or half_width is not None or choices["suite"] or choices["levels"]
    if nonce and others:
        raise click.UsageError("--nonce does not go with --split, --hop, --half-width, --suite or --level")
    if not nonce and (controls or support != "message"):
        raise click.UsageError("--control and --support need --nonce, which asks about episodes")
    if form in ("html", "vlmeval") and support != "message":
        raise click.UsageError(f"--support does not go with --format {form}, which shows the images together")
    if half_width is not None and (limit is not None or choices["suite"] or choices["levels"]):
        raise click.UsageError(
            "--half-width chooses how many questions are asked; leave out --limit, --level and --suite"
        )
    if seed is not None and limit is None and half_width is None:
        raise click.UsageError("--seed needs --limit or --half-width, which draw images")
    if instruction is None and form in ("batch", "vlmeval"):
        instruction = "short"
    found = None if instruction is None else find_instruction(instruction)
    drawn = secrets.randbelow(2**32) if seed is None else seed
    choices |= {"splits": read_names(splits), "limit": limit}
    if half_width is not None:
        choices["limit"] = _limits(folder, choices, half_width, as_json)
    requests = out if form == "requests" else out.with_suffix(".jsonl")
    same: dict[str, Any] = {"seed": drawn, "form": form, "instruction": found, "jpeg": jpeg}
    pages: tuple[str, ...] = ("",)
    if nonce:
        from clevrhope.metrics.nonce_requests import PAGES, NonceRequests

        asked = NonceRequests(folder, controls=controls, limit=limit, support=support, **same)
        if not as_json:
            say(f"{len(asked.chosen):,} requests with {asked.n_images:,} images")
        n, pages = asked.write(requests), PAGES
    else:
        n = write_requests(folder, requests, progress=shown_progress({"quiet": quiet}), **same, **choices)
    if seed is None and choices["limit"] is not None:
        say(f"Seed {drawn} was drawn; to reproduce: {repeated({'--seed': drawn})}", err=True)
    said, replies, predictions = f"{n:,} requests", ["REPLIES.jsonl"], "predictions.jsonl"
    files = [requests]
    lines: list[str] = []
    if form == "html":
        from clevrhope.dataset.folder import Folder
        from clevrhope.metrics.survey import paragraphs, write_survey

        world = Folder.open(folder, finished=False).attributes
        above = [] if found is None else paragraphs(found.text)
        for page in pages:
            path = out.with_stem(f"{out.stem}_{page}") if page else out
            of_page = write_survey(requests, path, instructions=above, page=page, attributes=world)
            files.append(path)
            lines.append(f"{path}: a page with {of_page:,} questions; people open it and save a file each.")
        lines.append("Give nobody both pages. Then run" if nonce else "Then run")
        replies, predictions = ["FILES..."], f"answered_{requests.name}"
    elif form == "vlmeval":
        from clevrhope.metrics.harness_files import write_table

        write_table(requests, out, jpeg=jpeg)
        files.append(out)
        lines.append(f"{out}: {said}; answer them with VLMEvalKit and PRED_FORMAT=tsv, then run")
        replies = ["RESULTS.tsv"]
    elif model is not None:
        from clevrhope.metrics.harness_files import write_batch

        batch = write_batch(requests, model=model, max_tokens=max_tokens or 1024, jpeg=jpeg)
        files += batch
        lines += [f"{path}: a file for a batch" for path in batch]
        lines.append(f"{requests}: {said}; send what is above, save the results, then run")
        replies = ["RESULTS.jsonl..."]
    else:
        lines.append(f'{requests}: {said}; answer each with a line {{"id": ..., "reply": ...}}, then run')
    of_dataset = ["--dataset", folder] if nonce else []
    then = command_line("answers", *replies, "--requests", requests, *of_dataset, "--out", predictions)
    lines.append(then)
    if jpeg is not None:
        lines.append(f"Images are JPEG of quality {jpeg}, so their pixels are not those of the dataset.")
    result = {"files": [*map(str, files)], "requests": n, "seed": drawn, "next": then}
    show_result({"as_json": as_json}, result, lines)


def _limits(
    folder: Path, choices: dict[str, Any], half_width: float, as_json: bool
) -> dict[tuple[str, str], int]:
    """How many questions of each split `--half-width` chooses; it says so, and names those with too few."""
    from clevrhope.dataset.layout import Layout
    from clevrhope.metrics.request_files import chosen_splits
    from clevrhope.metrics.sample_sizes import sample_sizes

    chosen = chosen_splits(Layout(folder), choices["hops"], choices["splits"])
    sizes = sample_sizes(folder, chosen, half_width)
    for (hop, split), size in sizes.items():
        is_enough = size.half_width <= half_width
        part = f"{size.n:,} of {size.of:,} questions" if is_enough else f"only {size.of:,} questions"
        say(
            f"{hop} {split}: {part}, a half-width of {size.half_width:.2f} points "
            f"(design effect of images: {size.design_effect:.2f})",
            err=as_json or not is_enough,
        )
    return {place: size.n for place, size in sizes.items()}


@click.command(cls=Command, short_help="Turns free-text replies into predictions.")
@click.argument("replies", metavar="REPLIES.jsonl...", nargs=-1, required=True, type=PATH)
@options(f"""
    {JSON}
    {_OUT}
What is read
    --requests FILE!: The file that `ask` wrote.
    --dataset DATASET -> folder: The dataset, if its values are not CLEVR's.
    --properties WORLD: With --dataset, its properties file, whose colors tell what "silver" or "teal" means.
    --partial: Read the replies that there are, and say how many are missing or failed.
Whose replies they are
    --model NAME: The model's name in reports.  [default: that in a batch's results, or the name of REPLIES;
        people, if several answered]
    --run NAME: A name or number that tells the model from others of its kind, such as a training seed.
    --train-size 25k|N: The number of questions that the model was trained on.
    --trained-on SPLIT: The train set on which the model was trained, such as train; the predictions are
        marked with it, in place of "not trained on the splits".
    --no-note: Do not mark the predictions with a note.
""")
def answers(
    replies: tuple[Path, ...],
    requests: Path,
    train_size: str | None,
    trained_on: str | None,
    no_note: bool,
    folder: Path | None,
    properties: Path | None,
    out: Path,
    as_json: bool,
    **choices: Any,
) -> None:
    """Turns replies in free text into predictions; a reply that holds no answer counts as wrong.

    REPLIES are lines {"id": ..., "reply": ...}, results of batches, or VLMEvalKit's results as a table with
    tabs. If several people answered, each in a file of their own, the answer of most of them counts.
    """
    from clevrhope.dataset.vocab import NOT_TRAINED
    from clevrhope.metrics.answer_key import is_trained_on
    from clevrhope.metrics.answers import write_answers
    from clevrhope.training.request import parse_size

    if properties is not None and folder is None:
        raise click.UsageError("--properties needs --dataset, the dataset that was made with them")
    if trained_on is not None and no_note:
        raise click.UsageError("--no-note does not go with --trained-on, which marks the predictions")
    if trained_on is not None and not is_trained_on(trained_on):
        raise click.UsageError(f'--trained-on: "{trained_on}" should be a train set, such as train')
    note = "" if no_note else NOT_TRAINED if trained_on is None else f"trained on {trained_on}"
    found = write_answers(
        replies,
        requests,
        out,
        train_size=None if train_size is None else parse_size(train_size, option="--train-size"),
        note=note,
        folder=folder,
        properties=properties,
        **choices,
    )
    counts = found.counts
    marked = f', all marked "{note}"' if note else ""
    lines = [f"{out}: {counts['replies']:,} predictions{marked}"]
    if counts["samples"] > 1:
        lines.append(f"There are {counts['samples']} replies to each request: runs 1 to {counts['samples']}")
    if counts["left_out"]:
        lines.append(
            f"Replies left out, since other requests have fewer than {counts['samples'] + 1}: "
            f"{counts['left_out']:,}"
        )
    if counts["cut_off"]:
        lines.append(
            f"Replies cut off at the most tokens: {counts['cut_off']:,}; ask again with a larger --max-tokens"
        )
    lines += found.failed[:_MOST_FAILED]
    if len(found.failed) > _MOST_FAILED:
        lines.append(f"... and {len(found.failed) - _MOST_FAILED:,} more that failed (--json lists all)")
    if found.missing:
        n = counts["replies"] // counts["samples"] + counts["missing"]
        lines.append(f"{counts['missing']:,} of {n:,} requests lack a reply (first {found.missing[0]})")
    if found.unreadable:
        lines += [
            f"Replies that cannot be read: {_of(counts['unreadable'], counts['replies'])} "
            f"(to questions for yes or no: {_of(counts['unreadable_yes_no'], counts['yes_no'])}), such as",
            *(f"  {name}: {shown(reply)}" for name, reply in found.unreadable[:_MOST_UNREADABLE]),
            "They count as wrong; clevrhope score also prints the accuracy if all of them were right.",
        ]
    agreed = {} if found.agreement is None else asdict(found.agreement)
    if found.agreement is not None:
        lines.append(_agreement_text(found.agreement))
    said = {"predictions": str(out), **counts, **agreed, "failed": [*found.failed], "note": note}
    said["unread"] = [name for name, _ in found.unreadable]
    show_result({"as_json": as_json}, said, lines)


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
