"""What a reader has to know about results: sentences, and tables of single runs."""

from collections.abc import Iterator, Mapping, Sequence

from clevrhope.metrics.paper import size_name
from clevrhope.metrics.predictions import NOT_TRAINED
from clevrhope.report.page import Block, Cell, Table, Text
from clevrhope.report.results import QUESTION_ONLY, Result
from clevrhope.report.runs import LAST
from clevrhope.report.setups import differences
from clevrhope.splits.kinds import IID


def remarks(results: Sequence[Result]) -> Iterator[Block]:
    """Sentences on italics, on missing predictions, and on notes of features and models."""
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
    yield from _other_sizes(results)
    missing = [each for each in results if each.n_missing]
    if missing:
        n = sum(each.n_missing for each in missing)
        yield Text(f"{n:,} questions have no prediction and are left out (first: {missing[0].model}, "
                   f"{missing[0].hop}).")  # fmt: skip
    for note, names in _models_by_note(results).items():
        sentence = f"{note[:1].upper()}{note[1:]}: {', '.join(names)}."
        if note == NOT_TRAINED:
            sentence += " Since it is not known what was seen in training, these are not systematicity gaps."
        yield Text(sentence)


def _other_sizes(results: Sequence[Result]) -> Iterator[Block]:
    """A sentence on results beside which question-only runs of another train size stand."""
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


def notes_of(results: Sequence[Result], model: str) -> Iterator[Block]:
    """The notes that belong to everything made from a model's predictions."""
    notes = sorted({each.note for each in results if each.model == model and each.note})
    if notes:
        yield Text(f"{model}: {'; '.join(notes)}.")


def setup_tables(results: Sequence[Result]) -> Iterator[Table]:
    """For each model whose runs were trained in different ways, a table of what its names mean."""
    for model in dict.fromkeys(each.source.model for each in results if each.source.group):
        named = {each.source.name: each for each in results if each.source.model == model and each.source.hop}
        # Names contain the dataset's path only if nothing else distinguishes datasets.
        setups = [{**each.source.setup, "dataset.folder": None} for each in named.values()]
        yield Table(
            title=f"Runs of {model} that were trained in different ways, and are not seeds of each other",
            head=["name in this report", "settings that differ"],
            rows=[[Cell(name), Cell(each)] for name, each in zip(named, differences(setups), strict=True)],
        )


def collapsed_table(results: Sequence[Result]) -> Iterator[Table]:
    """A table of the collapsed runs, if there are some."""
    collapsed = [each for each in results if each.collapsed]
    if not collapsed:
        return
    yield Table(
        title=f"Collapsed runs: {IID} below the question-only baseline",
        head=["model", "held-out pair", "train size", "run", IID, "question-only baseline", "from"],
        rows=[
            [Cell(e.model), Cell(e.hop), Cell(e.size), Cell(e.run),
             Cell(f"{e.accuracies[IID].value:.1f}"), Cell(f"{e.floor:.1f}"), Cell(e.floor_from)]
            for e in collapsed
        ],
        note="No run is judged on an OOD set. Means without them are after a slash, or in their own row.",
    )  # fmt: skip


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
            [Cell(each.model), Cell(each.hop), Cell(each.size), Cell(_run_name(each)),
             *(_unanswered_cell(each, split) for split in splits)]
            for each in incomplete
        ],
        note="The program is ill-formed, or the reply cannot be read as an answer. They count as wrong.",
    )  # fmt: skip


def _unanswered_cell(result: Result, split: str) -> Cell:
    if split not in result.n_unanswered:
        return Cell()
    n, n_asked = result.n_unanswered[split], result.n_asked[split]
    return Cell(f"{n:,} of {n_asked:,} ({100 * n / n_asked:.1f}%)" if n else "0")


def _run_name(result: Result) -> str:
    return result.run if result.checkpoint == LAST else f"{result.run}, {result.checkpoint}".lstrip(", ")


def _models_by_note(results: Sequence[Result]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for note, model in dict.fromkeys((each.note, each.model) for each in results if each.note):
        found.setdefault(note, []).append(model)
    return found
