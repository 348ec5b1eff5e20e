"""Results in; what has to be known with them out: sentences, and tables of single runs."""

from collections.abc import Iterator, Mapping, Sequence

from clevrhope.metrics.predictions import NOT_TRAINED
from clevrhope.report.page import Block, Cell, Table, Text
from clevrhope.report.results import QUESTION_ONLY, Result
from clevrhope.report.runs import LAST
from clevrhope.report.setups import Setup, differences
from clevrhope.splits.kinds import IID


def remarks(results: Sequence[Result]) -> Iterator[Block]:
    """What italics mean here, what is missing, what features and models have to be told of."""
    floors = {each.floor_from for each in results if each.floor_from}
    if floors - {QUESTION_ONLY}:
        yield Text(
            "Where there is no run of question_only, the most frequent answer of each question family of the "
            "train set stands for it: the least that reading the question alone gives."
        )
    if floors:
        yield Text(
            f"In italics: the mean {IID} accuracy does not beat that of reading the question alone, so "
            "the gap says nothing."
        )
    missing = [each for each in results if each.n_missing]
    if missing:
        n = sum(each.n_missing for each in missing)
        yield Text(f"{n:,} questions have no prediction and are left out (first: {missing[0].model}, "
                   f"{missing[0].hop}).")  # fmt: skip
    for note, names in _models_by_note(results).items():
        told = f"{note[:1].upper()}{note[1:]}: {', '.join(names)}."
        if note == NOT_TRAINED:
            told += (
                " What such a model met before is not known, so its gaps are no systematicity gaps."
                if len(names) == 1
                else " What such models met before is not known, so their gaps are no systematicity gaps."
            )
        yield Text(told)


def notes_of(results: Sequence[Result], model: str) -> Iterator[Block]:
    """What has to be said with all that is made from a model's predictions."""
    notes = sorted({each.note for each in results if each.model == model and each.note})
    if notes:
        yield Text(f"{model}: {'; '.join(notes)}.")


def apart_tables(results: Sequence[Result]) -> Iterator[Table]:
    """For each model whose runs were trained in different ways, what each of its names stands for."""
    groups: dict[str, dict[str, Result]] = {}
    for each in results:
        if each.source.group:
            groups.setdefault(each.source.model, {})[each.source.name] = each
    for model in groups:
        named = {each.source.name: each for each in results if each.source.model == model and each.source.hop}
        told = differences([_without_folder(each.source.setup) for each in named.values()])
        yield Table(
            title=f"Runs of {model} that were trained in different ways, and are no seeds of each other",
            head=["name here", "what is not the same in all"],
            rows=[[Cell(name), Cell(each)] for name, each in zip(named, told, strict=True)],
        )


def collapsed_table(results: Sequence[Result]) -> Table | None:
    """The runs that collapsed; None where none did."""
    fallen = [each for each in results if each.collapsed]
    if not fallen:
        return None
    return Table(
        title=f"Runs that collapsed: {IID} below who reads the question alone",
        head=["model", "held-out pair", "train size", "run", IID, "question alone", "from"],
        rows=[
            [Cell(e.model), Cell(e.hop), Cell(e.size), Cell(e.run),
             Cell(f"{e.accuracies[IID]:.1f}"), Cell(f"{e.floor:.1f}"), Cell(e.floor_from)]
            for e in fallen
        ],
        note="Never judged on an OOD set. Cells with such runs give the mean without them behind a slash.",
    )  # fmt: skip


def unanswered_table(results: Sequence[Result]) -> Table | None:
    """Questions that got no answer, a row a run and a column a test set; None where all got one."""
    some = [each for each in results if any(each.n_unanswered.values())]
    if not some:
        return None
    splits = [*dict.fromkeys(split for each in some for split, n in each.n_unanswered.items() if n)]
    return Table(
        title="Questions without an answer",
        head=["model", "held-out pair", "train size", "run", *splits],
        rows=[
            [Cell(each.model), Cell(each.hop), Cell(each.size), Cell(_run_name(each)),
             *(_unanswered_cell(each, split) for split in splits)]
            for each in some
        ],
        note="An ill-formed program, or words that cannot be read as an answer. They count as wrong.",
    )  # fmt: skip


def _unanswered_cell(result: Result, split: str) -> Cell:
    if split not in result.n_unanswered:
        return Cell()
    n, n_asked = result.n_unanswered[split], result.n_asked[split]
    return Cell(f"{n:,} of {n_asked:,} ({100 * n / n_asked:.1f}%)" if n else "0")


def _run_name(result: Result) -> str:
    return result.run if result.checkpoint == LAST else f"{result.run}, {result.checkpoint}".lstrip(", ")


def _models_by_note(results: Sequence[Result]) -> Mapping[str, Sequence[str]]:
    found: dict[str, dict[str, None]] = {}
    for each in results:
        if each.note:
            found.setdefault(each.note, {})[each.model] = None
    return {note: [*names] for note, names in found.items()}


def _without_folder(setup: Setup) -> Setup:
    """A setup without the dataset's whole path, which names have where nothing else tells datasets apart."""
    return {name: value for name, value in setup.items() if name != "dataset.folder"}
