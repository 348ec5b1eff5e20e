"""Runs as instances of their models: what each has right, and whether RAD predicts its accuracy elsewhere.

Source: RAD's section 4; the fits on held-out pairs are this project's.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle, product
from typing import Any, NamedTuple

import numpy as np

from clevrhope.dataset.question_kinds import PAIRS, TIERS
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.bootstrap import Floats
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers, Collector
from clevrhope.metrics.estimates import mean_of
from clevrhope.metrics.pairs import Booleans
from clevrhope.metrics.published import reference_results, same_kinds
from clevrhope.metrics.regression import least_squares
from clevrhope.metrics.rows import Target
from clevrhope.metrics.suites import answers_to_pairs
from clevrhope.report.page import Figure, Table, file_name
from clevrhope.report.results import Keys, Result, grouped
from clevrhope.report.setups import dropped
from clevrhope.report.tables import MINUS
from clevrhope.splits.kinds import IID, OOD

HALVES = _FROM, _ON = (0, 1)
"""Features are measured on the images with even numbers, and what they predict on those with odd ones: noise
that they share would look like a connection. RAD splits the validation set in two as well."""

FEWEST = 12
"""Fewest instances of a regression: three for each of its coefficients."""

FEATURES = {
    "Accuracy(D), RAD(D,D'), RAD(D',D)": [0, 1, 2],
    "Accuracy(D)": [0],
    "RAD(D,D')": [1],
    "RAD(D',D)": [2],
}
"""Features of a fit, as RAD's table 4 names them -> their columns."""

_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#444444")
_MARKERS = "o^sDPvX"
"""Of each group in a figure, in Okabe and Ito's colours; they begin anew after the last."""

_HEAD = ["predicted", "instances", "n", "from", "R\N{SUPERSCRIPT TWO}", "left out", "without intercept"]


class Rights(NamedTuple):
    """Whether a run answers each of N questions correctly, of a split or of a suite on it."""

    questions: QuestionTable
    answered: Booleans
    """(N,); of pairs, whether both questions have an answer."""
    right: Booleans
    """(N,) false where there is no answer."""

    @classmethod
    def of(cls, questions: QuestionTable, given: AnswerNumbers) -> "Rights":
        """From (N,) answers."""
        answered = given != NOT_GIVEN
        if questions.kind is PAIRS:
            answered = answered.reshape(-1, 2).all(axis=1).repeat(2)
        return cls(questions, answered, answered & (given == questions.answers))


def _augmentation(test: str) -> str | None:
    """RAD's name of the questions that a test changes, such as Y/N<-C; None for other papers' tests."""
    return next((kind for paper, kind in same_kinds().get(test, ()) if paper == "rad"), None)


@dataclass(frozen=True, eq=False)
class Instance:
    """A run, the questions that it has right, and the pairs of which it has either question right."""

    result: Result
    own: Rights
    """The questions of complex_iid."""
    pairs: Sequence[Rights]
    """The pairs of each suite on it."""

    @property
    def model(self) -> str:
        """The model that it is an instance of, however it was trained, with its way of answering."""
        source = self.result.source
        return f"{source.model}, {source.way.replace('_', ' ')}" if source.way else source.model

    @property
    def dropped(self) -> tuple[str, ...]:
        """The types of train questions of which it left out some."""
        return dropped(self.result.source.setup)

    def accuracy(self, half: int) -> float:
        """Accuracy on a half of complex_iid in per cent; not a number without answers."""
        chosen = self.own.answered & (self.own.questions.image_idxs % 2 == half)
        return 100 * float(self.own.right[chosen].mean()) if chosen.any() else float("nan")

    def pairs_of(self, kinds: Container[str], *, half: int) -> tuple[Booleans, Booleans]:
        """(P,) whether the originals and the partners of P answered pairs are right.

        The pairs are of some of RAD's kinds of questions, in one half of complex_iid, and in the dataset's
        own words and functions.
        """
        original, partner = [np.zeros(0, dtype=bool)], [np.zeros(0, dtype=bool)]
        for rows in self.pairs:
            pairs = rows.questions
            tests = [number for number, test in enumerate(pairs.tests) if _augmentation(test) in kinds]
            chosen = rows.answered & (pairs.tier == TIERS.index("in"))
            chosen &= (pairs.image_idxs % 2 == half) & np.isin(pairs.test, tests)
            original.append(rows.right[::2][chosen[::2]])
            partner.append(rows.right[1::2][chosen[1::2]])
        return np.concatenate(original), np.concatenate(partner)


def measure_instances(results: Sequence[Result], *, keys: Keys) -> list[Instance]:
    """The runs with predictions about suites, by their last weights, except those that cannot be read."""
    found = []
    for each in results:
        if not (each.suites and each.source.is_last and IID in each.answers):
            continue
        key, pairs = keys(each.source.dataset), []
        for suite, collected in each.suites.items():
            with suppress(ClevrhopeError):  # measure_suites says why
                if isinstance(collected, Collector) and IID in key.suite_splits(each.hop, suite):
                    collected.finish(partial=True, what=suite)
                    questions = key.pairs(each.hop, suite, IID)
                    target = Target(each.hop, IID, *each.as_in_rows, suite)
                    pairs.append(Rights.of(questions, answers_to_pairs(collected.given, target, questions)))
        if pairs:
            found.append(Instance(each, Rights.of(key.test_set(each.hop, IID), each.answers[IID]), pairs))
    return found


def regressions(instances: Sequence[Instance], *, draws: bool = False) -> list[dict[str, Any]]:
    """Of each model with enough instances: tables of what is predicted, and if it `draws`, a figure."""
    found = []
    for model, own in grouped(instances, lambda run: run.model).items():
        groups = _groups(own)
        unseen = [row for name, group in groups.items() for row in _unseen(name, group)]
        gaps = [row for name, group in groups.items() for row in _gaps(name, group)]
        if unseen or gaps:
            found.append({
                "model": model,
                "kinds": ", ".join(_kinds(own)),
                "unseen": Table(_HEAD, [*unseen, *_published()] if unseen else []),
                "gaps": Table(_HEAD, gaps),
                "figures": [_figure(_held_out_points(own), model)] if gaps and draws else [],
            })  # fmt: skip
    return found


def _groups(own: Sequence[Instance]) -> dict[str, Sequence[Instance]]:
    """The instances of RAD's kind, the others, and all, by what the instances of each group differ in."""
    kinds: dict[str, Sequence[Instance]] = {
        "train questions of a type dropped": [each for each in own if each.dropped],
        "pairs, train sizes and seeds": [each for each in own if not each.dropped],
    }
    found = {name: group for name, group in kinds.items() if group}
    return {**found, "all": own} if len(found) > 1 else found


def _unseen(name: str, group: Sequence[Instance]) -> Iterator[list[str]]:
    """RAD's section 4: a regression for each set of pairs, which is its target; needs three sets."""
    kinds = _kinds(group)
    if len(kinds) < 3:
        return
    rest = [[kind for kind in kinds if kind != target] for target in kinds]
    x = np.array([[_features(each, others) for each in group] for others in rest])  # (C, M, 3)
    partners = [[each.pairs_of([kind], half=_ON)[1] for each in group] for kind in kinds]
    y = np.array([[100 * right.mean() for right in of_kind] for of_kind in partners])  # (C, M)
    there = np.isfinite(x).all(axis=(0, 2)) & np.isfinite(y).all(axis=0)
    if there.sum() >= FEWEST:
        configurations = [*zip(x[:, there], y[:, there], strict=True)]
        yield from _rows("accuracy on the target set", name, configurations)


def _gaps(name: str, group: Sequence[Instance]) -> Iterator[list[str]]:
    """OOD accuracy and the gap, from what is known in distribution."""
    points = _held_out_points(group)
    if len(points) >= FEWEST:
        found = np.array([*points.values()])
        yield from _rows("OOD accuracy", name, [(found[:, :3], found[:, 3])])
        yield from _rows("systematicity gap", name, [(found[:, :3], found[:, 4])])


def _held_out_points(group: Sequence[Instance]) -> dict[Instance, Sequence[float]]:
    """The instances of which all of this is defined, in per cent and points.

    Of images with even numbers: IID accuracy, and RAD(D, D') and RAD(D', D) of all sets on it. Then OOD
    accuracy, and its difference to the IID accuracy on images with odd numbers.
    """
    kinds = _kinds(group)
    found: dict[Instance, Sequence[float]] = {}
    for each in group if kinds else ():
        if OOD not in each.result.accuracies:
            continue
        ood = each.result.accuracies[OOD].value
        point = (each.accuracy(_FROM), *_features(each, kinds)[1:], ood, ood - each.accuracy(_ON))
        if np.isfinite(point).all():
            found[each] = point
    return found


def _features(each: Instance, kinds: Sequence[str]) -> tuple[float, float, float]:
    """Accuracy(D), RAD(D, D') and RAD(D', D) of some sets together, in distribution.

    In per cent; not a number where a share is undefined.
    """

    def percent(part: int, of: int) -> float:
        return 100 * part / of if of else float("nan")

    original, partner = each.pairs_of(kinds, half=_FROM)
    both, n_right = np.count_nonzero(original & partner), np.count_nonzero(original)
    return percent(n_right, len(original)), percent(both, n_right), percent(both, np.count_nonzero(partner))


def _kinds(group: Sequence[Instance]) -> list[str]:
    """The sets of pairs that all instances have in both halves, by RAD's names."""
    return [
        kind
        for kind in sorted(kind for kind in {*map(_augmentation, same_kinds())} if kind)
        if all(len(each.pairs_of([kind], half=half)[0]) for each in group for half in HALVES)
    ]


def _rows(
    predicted: str, instances: str, configurations: Sequence[tuple[Floats, Floats]]
) -> Iterator[list[str]]:
    """Rows of a table; `configurations` are (M, 3) features and (M,) targets for each choice of D, D'."""
    for name, columns in FEATURES.items():
        fits = [least_squares(x[:, columns], y, intercept=True) for x, y in configurations]
        through_0 = [least_squares(x[:, columns], y, intercept=False) for x, y in configurations]
        r2s = [each.r2 for each in fits], [each.left_out_r2 for each in fits], [each.r2 for each in through_0]
        yield [predicted, instances, str(len(configurations[0][1])), name, *map(_r2, r2s)]


def _r2(of_each: Sequence[float | None]) -> str:
    """The mean and deviation of R2 over configurations; "" where one has none."""
    found = [each for each in of_each if each is not None]
    if len(found) < len(of_each):
        return ""
    mean = mean_of(found)
    return _with_deviation(mean.value, mean.deviation if mean.n > 1 else None).replace("-", MINUS)


def _with_deviation(value: float, deviation: float | None) -> str:
    return f"{value:.3f}" + ("" if deviation is None else f" \N{PLUS-MINUS SIGN} {deviation:.3f}")


def _published() -> Iterator[list[str]]:
    """RAD's figures; it does not say whether the fits have an intercept."""
    for each in reference_results():
        if each.paper == "rad" and each.measure.startswith("R2 of "):
            instances, r2 = (
                f"published: {each.model} ({each.dataset})",
                _with_deviation(each.value, each.deviation),
            )
            features = each.measure.removeprefix("R2 of ")
            yield ["accuracy on the target set", instances, "45", features, r2, "", ""]


def _figure(points: Mapping[Instance, Sequence[float]], model: str) -> Figure:
    """OOD accuracy and the gap over IID accuracy and RAD, a marker for each run. Needs matplotlib."""
    from clevrhope.describe.stats.charts import FAINT, GRID, figure, svg

    groups: dict[str, list[Sequence[float]]] = {}
    for each, point in points.items():
        name = f"trained on {each.result.size or 'an unknown number'}"
        if each.dropped:
            name = f"questions dropped: {', '.join(each.dropped)}"
        groups.setdefault(name, []).append(point)
    with figure(
        f"{model}: the held-out pair and what is known in distribution", width_in=9, height_in=8
    ) as drawn:
        panels = drawn.subplots(2, 2, sharex="col", sharey="row")
        for (name, own), colour, marker in zip(
            groups.items(), cycle(_COLOURS), cycle(_MARKERS), strict=False
        ):
            iid, rad, _, ood, gap = np.transpose(own)
            for (row, y), (column, x) in product(enumerate((ood, gap)), enumerate((iid, rad))):
                label = name if (row, column) == (0, 0) else None
                panels[row, column].scatter(x, y, s=34, color=colour, marker=marker, alpha=0.8, linewidths=0,
                                            label=label)  # fmt: skip
        for axes in panels.ravel():
            axes.grid(color=GRID, linewidth=0.8)
        for axes, label in zip(panels[:, 0], ("OOD accuracy, %", "gap, points"), strict=True):
            axes.set_ylabel(label)
        for axes, label in zip(panels[1], ("accuracy", "RAD(D,D')"), strict=True):
            axes.axhline(0, color=FAINT, linewidth=1.2, zorder=0)
            axes.set_xlabel(f"{label} on {IID}, %")
        drawn.legend(loc="outside lower left", ncols=2)
        return Figure(
            f"instances_{file_name(model)}",
            f"Runs of {model}: the held-out pair and what is known in distribution",
            *svg(drawn),
        )
