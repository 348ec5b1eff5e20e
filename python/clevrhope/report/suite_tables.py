"""Tables of paired tests: scores by test, cell and more, coverage, and below them published results."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from pathlib import Path

import numpy as np

from clevrhope.metrics.measures import CROSSINGS, GROUPS, PAIRS, REPLIES, headings
from clevrhope.metrics.pairs import SAME_KIND, coverage, reference_results
from clevrhope.metrics.results import Part, Scores
from clevrhope.metrics.suites.rights import Rights
from clevrhope.metrics.suites.scorer import YES_NO
from clevrhope.metrics.suites.tables import (
    AGREEMENT,
    ALL_CELLS,
    ALL_PAIRS,
    ROBUSTNESS,
)
from clevrhope.metrics.text_tables import constant_text
from clevrhope.pages import render_lines
from clevrhope.report.instances import Instance
from clevrhope.report.page import Block, Heading, Table, Text
from clevrhope.report.results import Result
from clevrhope.report.suites import SuiteResult, count
from clevrhope.report.tables import greyed, models_of, spread, with_uncollapsed
from clevrhope.splits.kinds import SPLITS

_LEGEND = (
    "In per cent, mean \N{PLUS-MINUS SIGN} deviation over held-out pairs of a diversity and runs. D are the "
    "originals, D' their partners. ACC: right answers to both questions of all pairs. CONS: equal answers "
    "where they should be equal, and different ones elsewhere; it needs no right answers, so read it beside "
    "ACC. strict: the pair's relation holds between the answers, and they are of the right kind. C-ACC: both "
    "answers are right. RAD: right partners among the pairs whose original is right; RAD back: the other way "
    "round. Unread: answers outside the vocabulary, summed over runs; they are wrong."
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

_NOTED: Mapping[str, Sequence[int]] = {"carets": (1,), "rad": ()}
"""Paper -> tables of which only the notes are shown: table 1 of CARETS has nothing but the CONS of others."""

_PAPERS = {
    "carets": "CARETS (Jimenez et al., 2022), tables 8 to 12, which have ACC beside the CONS of its table 1",
    "rad": "RAD (Rosenberg et al., 2021), table 2, which has RAD alone",
}

_MOST_COVERED = 12
"""Most rows and columns of a table of coverage; more could not be read."""


def suite_blocks(results: Sequence[SuiteResult], instances: Sequence[Instance] = ()) -> Iterator[Block]:
    """A section for each suite: tables for each split, replies, coverage, then published results.

    `instances` are the runs whose coverage of one another is shown.
    """
    for suite in sorted({each.suite for each in results}):
        own = [each for each in results if each.suite == suite]
        yield Heading(f"Paired tests: {suite}")
        yield Text(_LEGEND)
        yield from _remarks(own)
        for split in SPLITS:
            if on_split := [each for each in own if each.split == split]:
                yield from _tables(on_split, f"{suite} on {split}")
        yield _table(
            f"Replies to the questions of {suite} for yes or no, per cent",
            own,
            [YES_NO],
            {**_same("split"), **_OF, "questions": "n", **headings(REPLIES)},
            note="Originals and partners whose right answer is yes or no. Other: all other answers.",
        )
        yield from coverage_tables(instances, suite)
        yield from _published({part.name for part in _parts(own, "test")})


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
    beyond = dict.fromkeys(test for each in own for test in each.scored.traits["beyond"])
    if beyond:
        yield Text(
            f"Beyond the dataset's own words and functions: {', '.join(beyond)}. A model that was trained on "
            "the dataset alone has never seen these words."
        )
    yield from map(Text, render_lines("scores/trait_notes.md", splits=[each.scored for each in own]))


def _tables(own: Sequence[SuiteResult], where: str) -> Iterator[Table]:
    """The tables of a suite on a split; `where` names both."""
    unread = _same("unread") if any(_unread(scores) for r in own for scores in r.scores.values()) else {}
    pairs = {"pairs": "n", **unread}
    yield _table(
        f"Pairs of {where} by test and cell, per cent",
        own,
        _tests_and_cells(own),
        {"test": "part", **_OF, **_same("cell"), **pairs, **_measures(*AGREEMENT)},
        note="The cell says which question mentions the held-out pair: 00 neither, 01 the partner, "
        "10 the original, 11 both. Compare the cells of one test: other tests are harder or easier.",
    )
    yield _table(
        f"RAD of {where} by test, per cent",
        own,
        _parts(own, "test"),
        {
            **{"test": "part", **_OF, "pairs": "n"},
            **_measures(*ROBUSTNESS[:2]),
            **_same("constant"),
            **_measures(*ROBUSTNESS[2:]),
        },
        note="Constant: where partners are yes/no questions, Acc(D') of the answer that is right most often; "
        "the mean over held-out pairs and runs.",
    )
    if crossings := _parts(own, "crossings"):
        yield _table(
            f"Crossings of {where}, Acc(D') in per cent",
            own,
            crossings,
            {"test": "part", **_OF, "originals": "n", **headings(CROSSINGS), **_same("constant")},
            note="Completing: the partner asks for a value that completes the held-out pair, with what the "
            "original says of its object; control: for another value, about the same object. Both are "
            "answered no; the last column is what a constant answer scores. Where the difference is below 0, "
            "the model says yes to the held-out pair more often.",
        )
    if groups := _parts(own, "groups"):
        yield _table(
            f"Groups of {where}, per cent",
            own,
            groups,
            {"test": "part", **_OF, "originals": "n", **headings(GROUPS)},
            note="Each original has a partner for every value of a type. One yes: the model says yes to one "
            "of them; named: and that is the value that it gives as its answer to the original. Neither "
            "needs right answers; a constant answer has 0.",
        )
    yield _table(
        f"Pairs of {where} by type, tier, what partners ask for, and step, per cent",
        own,
        _parts(own, "", "type", "tier", "asks", "step"),
        {**_same("by", "part"), **_OF, **pairs, **_measures(*AGREEMENT, *ROBUSTNESS[:3])},
    )


def _parts(own: Sequence[SuiteResult], *breakdowns: str) -> list[Part]:
    """The parts of some breakdowns, cells left out, that some result has."""
    there = dict.fromkeys(part for each in own for part in each.scores if not part.cell)
    return [part for by in breakdowns for part in there if part.by == by]


def _tests_and_cells(own: Sequence[SuiteResult]) -> Iterator[Part]:
    """Each test with its cells; before them all of its pairs, unless they are in one cell."""
    for test in _parts(own, "test"):
        cells = sorted({part for each in own for part in each.scores if part[:2] == test[:2] and part.cell})
        if len(cells) != 1:
            yield test
        yield from cells


Group = Sequence[SuiteResult]
"""Results of one model, diversity and train size on one split, which share a row."""


def _table(
    title: str, own: Sequence[SuiteResult], parts: Iterable[Part], columns: Mapping[str, str], note: str = ""
) -> Table:
    """A table with a row for each part, model, diversity, train size and split that has scores.

    The cells of a test follow each other for each model. `columns` maps headings to fields of the scores, or
    to names in `_COLUMNS`.
    """
    rows = []
    for _, of_test in groupby(parts, key=lambda part: part[:2]):
        cells = [*of_test]
        for group in _groups([each for each in own if any(part in each.scores for part in cells)]):
            for part in cells:
                if having := [each for each in group if part in each.scores]:
                    rows.append([_cell(part, having, field) for field in columns.values()])
    return Table(title, [*columns], rows, note)


def _groups(own: Sequence[SuiteResult]) -> Iterator[Group]:
    models, splits = models_of(each.result for each in own), list(SPLITS)

    def key(each: SuiteResult) -> tuple[int, int, int, str, int]:
        result = each.result
        split, model = splits.index(each.split), models.index(result.model)
        return split, model, -result.diversity, result.mode, result.train_size or -1

    return ([*group] for _, group in groupby(sorted(own, key=key), key=key))


def _cell(part: Part, group: Group, field: str) -> str:
    if field in _COLUMNS:
        return _COLUMNS[field](part, group)
    measured = [(each.scores[part][field].value, each.result.collapsed) for each in group]
    defined = [(value, collapsed) for value, collapsed in measured if value is not None]
    if not defined:
        return ""
    values, collapsed = zip(*defined, strict=True)
    return greyed(with_uncollapsed(values, collapsed, spread), [each.result for each in group])


def _count(part: Part, group: Group) -> str:
    """The number of pairs, originals or questions; runs on a held-out pair share theirs, which count once."""
    counts: dict[tuple[Path, str], int] = {}
    for each in group:
        key = (each.result.source.dataset, each.result.hop)
        counts[key] = max(counts.get(key, 0), count(each.scores[part]))
    return f"{sum(counts.values()):,}"


_COLUMNS: Mapping[str, Callable[[Part, Group], str]] = {
    "by": lambda part, group: part.by,
    "part": lambda part, group: part.name or ALL_PAIRS,
    "cell": lambda part, group: part.cell or ALL_CELLS,
    "split": lambda part, group: group[0].split,
    "model": lambda part, group: group[0].result.model,
    "diversity": lambda part, group: f"{group[0].result.diversity or ''} {group[0].result.mode}".strip(),
    "train size": lambda part, group: group[0].result.size or "unknown size",
    "n": _count,
    "unread": lambda part, group: f"{sum(_unread(each.scores[part]) for each in group):,}",
    "constant": lambda part, group: constant_text(each.scored.constants.get(part.name) for each in group),
}
"""Columns that are not the mean of a measure."""


def _same(*names: str) -> dict[str, str]:
    """Columns with their own names as headings."""
    return {name: name for name in names}


def _measures(*names: str) -> dict[str, str]:
    return {PAIRS[name].heading: name for name in names}


_OF = _same("model", "diversity", "train size")


def _unread(scores: Scores) -> int:
    return scores.counts["n_unread"] if PAIRS.keys() <= scores.measures.keys() else 0


def _published(tests: Iterable[str]) -> Iterator[Table]:
    """What the papers printed for tests of the same kinds as these, if there are some."""
    here: dict[tuple[str, str], list[str]] = {}
    for test in sorted(tests):
        for place in SAME_KIND.get(test, ()):
            here.setdefault(place, []).append(test)
    printed: dict[tuple[str, str, str, str], dict[str, str]] = {}
    notes: dict[str, None] = {}
    for each in reference_results():
        if (each.paper, each.test) in here:
            shown = each.table in _TABLES[each.paper] and (each.part, each.measure) in _PRINTED
            if each.note and (shown or each.table in _NOTED[each.paper]):
                notes[each.note] = None
            if shown:
                row = printed.setdefault((each.paper, each.test, each.model, each.dataset), {})
                row[_PRINTED[each.part, each.measure]] = f"{each.value:.1f}"
    if not printed:
        return
    papers = dict.fromkeys(_PAPERS[paper] for paper, *_ in printed)
    yield Table(
        title="Published results on tests of the same kind, of photographs, per cent",
        head=["the paper's test", "tests here", "model", "images", *_PRINTED.values()],
        rows=[
            [test, ", ".join(here[paper, test]), model, f"photographs ({dataset})",
             *(row.get(head, "") for head in _PRINTED.values())]
            for (paper, test, model, dataset), row in printed.items()
        ],
        note=" ".join([
            f"{'; '.join(papers)}. Images, questions and answers are others than here, so the numbers say "
            "what is usual, not what is to be reached.",
            *notes,
        ]),
    )  # fmt: skip


def coverage_tables(instances: Sequence[Instance], suite: str) -> Iterator[Table]:
    """A table for each split on which two runs or more answered the pairs of a suite.

    Runs that dropped types of train questions are left out, since they are many instances of one model.
    """
    for split in SPLITS:
        found = _mean_coverage([
            (each.result, rows)
            for each in instances
            for rows in each.pairs.get(split, ())
            if rows.target.suite == suite and not each.dropped
        ])  # fmt: skip
        names = list(dict.fromkeys(name for name, _ in found))
        if not found or len(names) > _MOST_COVERED:
            continue
        yield Table(
            title=f"Coverage on the pairs of {suite} on {split}, per cent",
            head=["also right, of those right by", *names],
            rows=[[i, *(f"{found[i, j]:.1f}" if (i, j) in found else "" for j in names)] for i in names],
            note="Of the questions that a run of the column's model has right, the share that a run of the "
            "row's model has right too; mean over held-out pairs and pairs of different runs. On the "
            "diagonal, both are runs of one model. Both questions of a pair count. Source: Jimenez et al., "
            "tables 13 to 17, where a model covers itself by 100%.",
        )


def _mean_coverage(own: Sequence[tuple[Result, Rights]]) -> dict[tuple[str, str], float]:
    """Names i, j of models and train sizes -> mean of the coverage of j's runs by i's, in per cent."""
    by_questions: dict[tuple[Path, str], list[tuple[str, Rights]]] = {}
    names: dict[str, None] = {}
    for result, rows in own:
        name = f"{result.model}, {result.size}" if result.size else result.model
        names[name] = None
        by_questions.setdefault(result.sub_dataset, []).append((name, rows))
    shares: dict[tuple[str, str], list[float]] = {}
    for runs in by_questions.values():
        common = np.logical_and.reduce([rows.answered for _, rows in runs])
        right = [rows.right[common] for _, rows in runs]
        found = coverage(np.stack(right))
        for i, j in product(range(len(runs)), repeat=2):
            if i != j and np.isfinite(found[i, j]):
                shares.setdefault((runs[i][0], runs[j][0]), []).append(100 * float(found[i, j]))
    # In the order in which the models come, whichever of them share questions.
    return {(i, j): float(np.mean(shares[i, j])) for i, j in product(names, repeat=2) if (i, j) in shares}
