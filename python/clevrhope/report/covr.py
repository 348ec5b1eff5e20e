"""The report's section on questions about sets of images: splits by predicates, test sets, templates."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.covr import score_covr
from clevrhope.metrics.published import covr_results
from clevrhope.metrics.results import Condition, Results, SplitScores
from clevrhope.metrics.text_tables import (
    MODELS,
    NO_SCORE,
    ROW_HEADS,
    SCORES,
    WHY_NO_SCORE,
    described,
    is_undefined,
    row_cells,
    text_with_interval_and_n,
    value_text,
)
from clevrhope.report.page import Figure, Table
from clevrhope.report.results import Keys, check_dataset, grouped
from clevrhope.report.runs import Source
from clevrhope.runtime.progress import Progress
from clevrhope.splits.covr.aliases import covr_paper

SEED = 0
"""Of the bootstrap behind the intervals, so that reports of the same runs are the same."""

_BY_TEMPLATE = {"covr_test": 12, "covr_test_paraphrased": 13}
"""The test sets with accuracy by template -> COVR's tables of it."""


def measure_covr(
    sources: Sequence[Source], *, hops: Sequence[str] | None = None, progress: Progress, keys: Keys
) -> tuple[tuple[Results, ...], tuple[str, ...]]:
    """The scores of runs by dataset, and a sentence for each file or dataset that cannot be scored."""
    skipped: list[str] = []
    usable: dict[Path, list[Source]] = {}
    for source in sources:
        if source.is_last:
            try:
                check_dataset(source, keys(source.dataset))
                usable.setdefault(source.dataset.resolve(), []).append(source)
            except ClevrhopeError as error:
                skipped.append(str(error))
    found = []
    for own in usable.values():
        paths, names = [each.path for each in own], [each.name for each in own]
        try:
            scores = score_covr(
                own[0].dataset, paths, hops=hops, names=names, seed=SEED, partial=True, progress=progress
            )
            found.append(scores)
        except ClevrhopeError as error:
            skipped.append(str(error))
    return tuple(found), tuple(skipped)


def covr_tables(scores: Results, number: int, *, draws: bool) -> dict[str, Any]:
    """The tables of a dataset: splits by predicates, test sets, and their parts; and its figures.

    `number` is of the dataset in the report. Without `draws` there are no figures.
    """
    parts = [
        *((split, "template") for split in _BY_TEMPLATE),
        ("covr_test", "structure"),
        ("covr_test_ood", "place"),
    ]
    figures: list[Figure] = []
    if draws:
        from clevrhope.report.learning_curves import shots_curves

        figures += shots_curves(scores, number)
    return {
        "figures": figures,
        "predicates": _predicates_table(scores),
        "why_no_score": f"{NO_SCORE}: {WHY_NO_SCORE}" if any(map(is_undefined, scores.predicates)) else "",
        "published": published_table() if scores.predicates else Table([], []),
        "test_sets": _sets_table(scores.conditions),
        "parts": [
            {"split": split, "name": by, "table": _parts_table(scores.conditions, by, split)}
            for split, by in parts
        ],
    }


def _predicates_table(scores: Results) -> Table:
    """In the form of COVR's tables 7 and 8."""
    rows = []
    for row in scores.predicates:
        cells = row_cells(row)
        for column, name in enumerate(SCORES, len(cells) - len(SCORES)):
            if name in row.generalisation and (interval := row.generalisation[name]["score"].interval):
                cells[column] += f" ({interval.low:.0f} to {interval.high:.0f})"
        split_by, shots = row.training.predicate, f"{row.training.shots:,}"
        rows.append([split_by, row.hop, row.split, row.model, shots, *cells])
    return Table(["split", "HOP", "test set", "model", "shots", *ROW_HEADS], rows)


def published_table() -> Table:
    """COVR's tables 7 and 8, with the score that follows from them; its model saw 250 questions or none."""
    rows, here = [], covr_paper()["splits"]
    for name, of in {**covr_results()[7], **covr_results()[8]}.items():
        shots = "250" if "VB_250" in of else "0"
        model = of[f"VB_{shots}"]
        gained = float(of["VB_iid-size"]) - float(of["VB_TEXT"])
        score = f"{100 * (float(model) - float(of['VB_TEXT'])) / gained:.0f}"
        cells = [of["VB_TEXT"], model, of["VB_iid-size"], of["VB_iid"], score]
        rows.append([name, here[name][0], shots, of["Filtered"], *cells])
    heads = ["COVR's split", "here", "shots", "filtered", *(MODELS[each] for each in ("text", "held_out"))]
    return Table([*heads, MODELS["iid_size"], MODELS["iid"], SCORES["generalisation_score"]], rows)


def _sets_table(conditions: Sequence[Condition]) -> Table:
    splits = list(dict.fromkeys(split for condition in conditions for split in condition.splits))

    def row(name: Sequence[str], condition: Condition, text_of: Callable[[SplitScores], str]) -> list[str]:
        scores = [condition.splits.get(split) for split in splits]
        return [*name, *("" if each is None else text_of(each) for each in scores)]

    rows = [
        row(_name(each), each, lambda of: text_with_interval_and_n(of.mean["accuracy"]))
        for each in conditions
    ]
    first = [of_hop[0] for of_hop in grouped(conditions, lambda condition: condition.hop).values()]
    rows += [row(["Maj", each.hop, ""], each, lambda of: _percent(of, "maj")) for each in first]
    rows += [row(["MajTempl", each.hop, ""], each, lambda of: _percent(of, "maj_templ")) for each in first]
    return Table(["model", "HOP", "trained", *splits], rows)


def _percent(scores: SplitScores, baseline: str) -> str:
    return f"{scores.constants[baseline].percent:.1f}"


def _parts_table(conditions: Sequence[Condition], by: str, split: str) -> Table:
    answered = [(each, each.splits[split].by(by)) for each in conditions if split in each.splits]
    parts = list(dict.fromkeys(part for _, of in answered for part in of))
    rows = [
        [*_name(condition), *(value_text(of[part].mean["accuracy"]) if part in of else "" for part in parts)]
        for condition, of in answered
    ]
    if by == "template" and rows:
        table = {name.replace("-", ""): of for name, of in covr_results()[_BY_TEMPLATE[split]].items()}
        theirs = [table.get(_covr_name(part), {}) for part in parts]
        for model in ("VB_TEXT", "VB_iid"):
            rows.append([f"COVR's {model}", "", "on all", *(of.get(model, "") for of in theirs)])
    return Table(["model", "HOP", "trained", *parts], rows)


def _covr_name(template: str) -> str:
    """The name of a template in COVR's tables 12 and 13, without dashes: CHOOSEREL for choose_relation."""
    return template.replace("_", "").replace("relation", "rel").upper()


def _name(condition: Condition) -> list[str]:
    return [condition.model, condition.hop, described(condition.training)]
