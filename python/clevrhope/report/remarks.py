"""What a reader must know about results: sentences, tables of single runs, and where numbers come from."""

from collections.abc import Iterator, Sequence
from hashlib import file_digest
from pathlib import Path

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.paper import size_name
from clevrhope.metrics.predictions import NOT_TRAINED
from clevrhope.report.page import Block, Heading, Table, Text
from clevrhope.report.results import QUESTION_ONLY, Result
from clevrhope.report.runs import LAST, Source
from clevrhope.report.setups import differences
from clevrhope.splits.kinds import IID
from clevrhope.version import software_version

_SHORT = 12
"""Letters of a digest that are shown."""


def remarks(results: Sequence[Result]) -> Iterator[Block]:
    """Sentences on baselines, missing predictions, and notes of features and models."""
    floors = {each.floor_from for each in results if each.floor_from}
    if floors - {QUESTION_ONLY}:
        yield Text(
            "Where there is no run of question_only, the question-only baseline answers each question with "
            "the most frequent answer of its family in the train set, which is the least that question_only "
            "can reach."
        )
    if floors:
        yield Text(
            f"In italics: the mean {IID} accuracy does not beat the question-only baseline, so the gap says "
            "nothing."
        )
    other = {
        f"{each.size} ({size_name(each.blind.train_size)})": None
        for each in results
        if each.blind is not None and each.blind.train_size != each.train_size
    }
    if other:
        yield Text(
            f"There are no runs of {QUESTION_ONLY} at some train sizes; the nearest one (in brackets) stands "
            f"in for it: {', '.join(other)}."
        )
    missing = [each for each in results if each.n_missing]
    if missing:
        n = sum(each.n_missing for each in missing)
        yield Text(f"{n:,} questions have no prediction and are left out (first: {missing[0].model}, "
                   f"{missing[0].hop}).")  # fmt: skip
    for note in dict.fromkeys(each.note for each in results if each.note):
        names = dict.fromkeys(each.model for each in results if each.note == note)
        sentence = f"The predictions of {', '.join(names)} come with this note: {note}."
        if note == NOT_TRAINED:
            sentence += " Since it is not known what was seen in training, these are not systematicity gaps."
        yield Text(sentence)


def notes_of(results: Sequence[Result], model: str) -> Iterator[Block]:
    """The notes to show with everything that is made from a model's predictions."""
    notes = sorted({each.note for each in results if each.model == model and each.note})
    if notes:
        yield Text(f"The predictions of {model} come with this note: {'; '.join(notes)}.")


def setup_tables(results: Sequence[Result]) -> Iterator[Table]:
    """For each model whose runs were trained in different ways, a table of what its names mean."""
    for model in dict.fromkeys(each.source.model for each in results if each.source.group):
        named = {each.source.name: each for each in results if each.source.model == model and each.source.hop}
        # Names contain the dataset's path only if nothing else distinguishes datasets.
        setups = [{**each.source.setup, "dataset.folder": None} for each in named.values()]
        title = f"Runs of {model} that were trained in different ways, and are not seeds of each other"
        rows = list(zip(named, differences(setups), strict=True))
        yield Table(title, ["name in this report", "settings that differ"], rows)


def collapsed_table(results: Sequence[Result]) -> Iterator[Table]:
    """A table of the collapsed runs, if there are some."""
    rows = [
        [e.model, e.hop, e.size, e.run, f"{e.accuracies[IID].value:.1f}", f"{e.floor:.1f}", e.floor_from]
        for e in results
        if e.collapsed
    ]
    if rows:
        yield Table(
            title=f"Collapsed runs: {IID} below the question-only baseline",
            head=["model", "held-out pair", "train size", "run", IID, "question-only baseline", "from"],
            rows=rows,
            note="No run is judged on an OOD set. Means without them are after a slash, or in their own row.",
        )


def unanswered_table(results: Sequence[Result]) -> Iterator[Table]:
    """A table of questions without an answer, by run and test set, if there are some."""
    incomplete = [each for each in results if any(each.n_unanswered.values())]
    if not incomplete:
        return
    splits = [*dict.fromkeys(split for each in incomplete for split, n in each.n_unanswered.items() if n)]
    yield Table(
        title="Questions without an answer",
        head=["model", "held-out pair", "train size", "run", *splits],
        rows=[
            [
                e.model,
                e.hop,
                e.size,
                e.run if e.checkpoint == LAST else f"{e.run}, {e.checkpoint}".lstrip(", "),
                *(_unanswered(e, split) for split in splits),
            ]
            for e in incomplete
        ],
        note="The program is ill-formed, or the reply cannot be read as an answer. They count as wrong.",
    )


def _unanswered(result: Result, split: str) -> str:
    if split not in result.n_unanswered:
        return ""
    n, n_asked = result.n_unanswered[split], result.n_asked[split]
    return f"{n:,} of {n_asked:,} ({100 * n / n_asked:.1f}%)" if n else "0"


def provenance_blocks(sources: Sequence[Source]) -> Iterator[Block]:
    """The section on datasets and files."""
    yield Heading("Provenance")
    yield Text(
        f"Written by clevrhope {software_version()}. Digests are the first {_SHORT} letters of SHA-256."
    )
    datasets = dict.fromkeys(each.dataset.resolve() for each in sources)
    heads = ["folder", "seed", "world", "templates", "manifest"]
    yield Table("Datasets", heads, list(map(_dataset_cells, datasets)))
    files = [
        [_short_path(each), each.name, each.after or each.checkpoint, _digest(each.path)] for each in sources
    ]
    yield Table("Files of predictions", ["file", "model", "checkpoint", "digest"], files)


def _dataset_cells(folder: Path) -> list[str]:
    layout = Layout(folder)
    try:
        manifest = existing_manifest(layout.manifest)
    except ClevrhopeError:
        return [folder.name, "", "", "", ""]
    prints = [str(each["fingerprint"])[:_SHORT] for each in (manifest.world, manifest.templates)]
    return [folder.name, manifest.seed_in_words, *prints, _digest(layout.manifest)]


def _short_path(source: Source) -> str:
    """The file's path from the folder with the runs; only its name where a link leads out of that folder."""
    path, runs = source.path.resolve(), source.origin.resolve().parent
    return str(path.relative_to(runs) if path.is_relative_to(runs) else path.name)


def _digest(path: Path) -> str:
    """The digest of a file; "" where it cannot be read, which the report says elsewhere."""
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()[:_SHORT]
    except OSError:
        return ""
