"""Tables of paired tests: the scores on each split by test and by cell, and below them published results."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from clevrhope.metrics.pairs import (
    SAME_KIND,
    CrossingScores,
    PairScores,
    ReferenceRow,
    ValueScores,
    reference_results,
)
from clevrhope.metrics.suites.tables import (
    CROSSING_MEASURES,
    GROUP_MEASURES,
    MEASURES,
    NOTABLE_CONSTANT,
)
from clevrhope.report.coverage_tables import coverage_tables
from clevrhope.report.document import Block, Cell, Heading, Table, Text
from clevrhope.report.instances import Instance
from clevrhope.report.results import Result
from clevrhope.report.suites import SuiteResult
from clevrhope.report.tables import is_grey, models_of, spread, with_uncollapsed
from clevrhope.splits.kinds import SPLITS

REPORTED = ("ACC", "CONS", "strict", "C-ACC", "RAD", "Acc(D')")
"""The measures that are shown, by their headings. Consistency never stands without accuracy."""

_LEGEND = (
    "In per cent, mean \N{PLUS-MINUS SIGN} deviation over held-out pairs of a diversity and runs. ACC: right "
    "answers to both questions of all pairs. CONS: equal answers where they should be equal, and different "
    "ones elsewhere; it needs no right answers, so read it beside ACC. strict: the pair's relation holds "
    "between the answers, and they are of the right kind. C-ACC: both answers are right. RAD: right partners "
    "among the pairs whose original is right. Acc(D'): right answers to partners."
)

_PRINTED = {
    ("", "ACC"): "ACC",
    ("", "CONS"): "CONS",
    ("", "C-ACC"): "C-ACC",
    ("", "RAD(D,D')"): "RAD",
    ("perturbed", "ACC"): "Acc(D')",
}
"""Part and measure as a paper has them -> heading here."""

_TABLES: Mapping[str, Sequence[int]] = {"carets": range(8, 13), "rad": (2,)}
"""Paper -> the tables that are shown."""

_NOTED: Mapping[str, Sequence[int]] = {"carets": (1,)}
"""Paper -> tables of which only the notes are shown: table 1 of CARETS has nothing but the CONS of others."""

_PAPERS = {
    "carets": "CARETS (Jimenez et al., 2022), tables 8 to 12, which have ACC beside the CONS of its table 1",
    "rad": "RAD (Rosenberg et al., 2021), table 2, which has RAD alone",
}

_REPORTED_FIELDS = {head: MEASURES[head] for head in REPORTED}

Scores = PairScores | CrossingScores | ValueScores

Parts = Callable[[SuiteResult], Mapping[str, Scores]]
"""Test or cell -> scores, of a result."""


def suite_blocks(results: Sequence[SuiteResult], instances: Sequence[Instance] = ()) -> Iterator[Block]:
    """A section for each suite: tables by test and by cell for each split, coverage, then published results.

    `instances` are the runs whose coverage of one another is shown.
    """
    for suite in sorted({each.suite for each in results}):
        own = [each for each in results if each.suite == suite]
        yield Heading(f"Paired tests: {suite}")
        yield Text(_LEGEND)
        yield from _remarks(own)
        for split in SPLITS:
            on_split = [each for each in own if each.split == split]
            if on_split:
                yield from _tables(on_split, suite, split)
        yield from coverage_tables(instances, suite)
        published = _published({test for each in own for test in each.tests})
        if published:
            yield published


def _remarks(own: Sequence[SuiteResult]) -> Iterator[Text]:
    """Sentences on notes, on what is left out, and on tests that mean little for some models."""
    for model in models_of(each.result for each in own):
        of_model = [each for each in own if each.result.model == model]
        notes = dict.fromkeys(note for each in of_model for note in each.notes)
        if notes:
            yield Text(f"{model}: {'; '.join(notes)}.")
    n_missing = sum(each.n_missing for each in own)
    if n_missing:
        are = "pair lacks an answer and is" if n_missing == 1 else "pairs lack an answer and are"
        yield Text(f"{n_missing:,} {are} left out, summed over runs.")
    beyond = dict.fromkeys(test for each in own for test in each.beyond)
    if beyond:
        yield Text(
            f"Beyond the dataset's own words and functions: {', '.join(beyond)}. A model that was trained on "
            "the dataset alone has never seen these words."
        )
    fixed = dict.fromkeys(
        f"{test} {each.percent:.1f} ({each.answer})"
        for each_result in own
        for test, each in each_result.constants.items()
        if each.percent >= NOTABLE_CONSTANT
    )
    if fixed:
        yield Text(f"Acc(D') of a constant answer: {', '.join(fixed)}.")
    same = dict.fromkeys(test for each in own for test in each.same_programs)
    if same:
        yield Text(
            f"Both questions of every pair of {', '.join(same)} have the same program, so a model that is "
            "given programs has CONS 100 there by construction."
        )


def _tables(own: Sequence[SuiteResult], suite: str, split: str) -> Iterator[Table]:
    yield Table(
        title=f"Pairs of {suite} on {split} by test, per cent",
        head=["test", "model", "diversity", "train size", "pairs", *REPORTED],
        rows=[*_rows(own, lambda each: each.tests)],
    )
    if any(each.crossings for each in own):
        yield Table(
            title=f"Crossings of {suite} on {split}, Acc(D') in per cent",
            head=["test", "model", "diversity", "train size", "originals", *CROSSING_MEASURES, "constant"],
            rows=[*_rows(own, lambda each: each.crossings, CROSSING_MEASURES, _constant)],
            note="Completing: the partner asks for a value that completes the held-out pair, with what the "
            "original says of its object; control: for another value, about the same object. Both are "
            "answered no; the last column is what a constant answer scores. Where the difference is below 0, "
            "the model says yes to the held-out pair more often.",
        )
    if any(each.groups for each in own):
        yield Table(
            title=f"Groups of {suite} on {split}, per cent",
            head=["test", "model", "diversity", "train size", "originals", *GROUP_MEASURES],
            rows=[*_rows(own, lambda each: each.groups, GROUP_MEASURES)],
            note="Each original has a partner for every value of a type. One yes: the model says yes to one "
            "of them; named: and that is the value that it gives as its answer to the original. Neither "
            "needs right answers; a constant answer has 0.",
        )
    if len({cell for each in own for cell in each.cells}) > 1:
        yield Table(
            title=f"Pairs of {suite} on {split} by cell, per cent",
            head=["cell", "model", "diversity", "train size", "pairs", *REPORTED],
            rows=[*_rows(own, lambda each: each.cells, sort=True)],
            note="The cell says which question mentions the held-out pair: 00 neither, 01 the partner, "
            "10 the original, 11 both.",
        )


def _constant(each: SuiteResult, test: str) -> str:
    """What a constant answer scores on the partners of a test, and which."""
    found = each.constants.get(test)
    return f"{found.percent:.1f} ({found.answer})" if found else ""


def _rows(
    own: Sequence[SuiteResult],
    parts: Parts,
    measures: Mapping[str, str] = _REPORTED_FIELDS,
    beside: Callable[[SuiteResult, str], str] | None = None,
    *,
    sort: bool = False,
) -> Iterator[list[Cell]]:
    """A row for each test or cell, model, diversity and train size that has pairs.

    `measures` maps headings to fields of the scores; `beside` gives one more cell.
    """
    names = [*dict.fromkeys(name for each in own for name in parts(each))]
    for name in sorted(names) if sort else names:
        with_part = [each for each in own if name in parts(each)]
        for model in models_of(each.result for each in with_part):
            groups: dict[tuple[int, str, int], list[SuiteResult]] = {}
            for each in with_part:
                result = each.result
                if result.model == model:
                    key = (-result.diversity, result.mode, result.train_size or -1)
                    groups.setdefault(key, []).append(each)
            for _, cell in sorted(groups.items()):
                row = _row(name, model, [(each.result, parts(each)[name]) for each in cell], measures)
                yield [*row, Cell(beside(cell[0], name))] if beside else row


def _row(
    name: str, model: str, cell: Sequence[tuple[Result, Scores]], measures: Mapping[str, str]
) -> list[Cell]:
    results = [result for result, _ in cell]
    first, grey = results[0], is_grey(results)
    n_pairs: dict[tuple[Path, str], int] = {}
    for result, scores in cell:  # runs on a held-out pair have the same pairs, which count once
        key = (result.source.dataset, result.hop)
        n_pairs[key] = max(n_pairs.get(key, 0), _n(scores))
    row = [
        Cell(name),
        Cell(model),
        Cell(" ".join([str(first.diversity or ""), first.mode]).strip()),
        Cell(first.size or "unknown size"),
        Cell(f"{sum(n_pairs.values()):,}"),
    ]
    for field in measures.values():
        measured = [(result, getattr(scores, field).value) for result, scores in cell]
        defined = [(result.collapsed, value) for result, value in measured if value is not None]
        values, collapsed = [value for _, value in defined], [each for each, _ in defined]
        row.append(Cell(with_uncollapsed(values, collapsed, spread), grey) if values else Cell())
    return row


def _n(scores: Scores) -> int:
    """What the scores are of: pairs, or originals."""
    match scores:
        case CrossingScores():
            return scores.n_originals
        case ValueScores():
            return scores.n_groups
        case PairScores():
            return scores.n_pairs


def _published(tests: Iterable[str]) -> Table | None:
    """What the papers printed for tests of the same kinds as these; None if they have none."""
    here: dict[tuple[str, str], list[str]] = {}
    for test in sorted(tests):
        for place in SAME_KIND.get(test, ()):
            here.setdefault(place, []).append(test)
    printed: dict[tuple[str, str, str, str], dict[str, ReferenceRow]] = {}
    notes: dict[str, None] = {}
    for each in reference_results():
        shown = each.table in _TABLES[each.paper] and (each.part, each.measure) in _PRINTED
        if (each.paper, each.test) not in here:
            continue
        if each.note and (shown or each.table in _NOTED.get(each.paper, ())):
            notes[each.note] = None
        if shown:
            row = printed.setdefault((each.paper, each.test, each.model, each.dataset), {})
            row[_PRINTED[each.part, each.measure]] = each
    if not printed:
        return None
    papers = dict.fromkeys(_PAPERS[paper] for paper, *_ in printed)
    return Table(
        title="Published results on tests of the same kind, of photographs, per cent",
        head=["the paper's test", "tests here", "model", "images", *REPORTED],
        rows=[
            [
                Cell(test),
                Cell(", ".join(here[paper, test])),
                Cell(model),
                Cell(f"photographs ({dataset})"),
                *(Cell(f"{row[head].value:.1f}" if head in row else "") for head in REPORTED),
            ]
            for (paper, test, model, dataset), row in printed.items()
        ],
        note=" ".join([
            f"{'; '.join(papers)}. Images, questions and answers are others than here, so the numbers say "
            "what is usual, not what is to be reached.",
            *notes,
        ]),
    )  # fmt: skip
