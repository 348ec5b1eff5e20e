"""Does RAD predict what a model gets right elsewhere? RAD's section 4, and the same of unseen pairs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clevrhope.metrics.means import Mean
from clevrhope.metrics.pairs import (
    Instances,
    R2Means,
    Regression,
    r2_over_configurations,
    reference_results,
    regress,
)
from clevrhope.report.instances import HALVES, Counts, Instance
from clevrhope.report.page import Block, Cell, Heading, Table, Text
from clevrhope.splits.kinds import IID, OOD

FEWEST = 12
"""Fewest instances of a regression, three for each of its coefficients."""

FEATURES = {
    "together": "Accuracy(D), RAD(D,D'), RAD(D',D)",
    "accuracy": "Accuracy(D)",
    "rad": "RAD(D,D')",
    "rad_backward": "RAD(D',D)",
}
"""Field of `Regression` -> the features, as RAD's table 4 has them."""

_FROM, _ON = HALVES

_HEAD = ["predicted", "instances", "n", "from", "R\N{SUPERSCRIPT TWO}", "left out", "without intercept"]

_LEGEND = (
    f"An instance is a trained run. Its features are Accuracy(D), RAD(D,D') and RAD(D',D) on pairs of {IID} "
    "whose images have even numbers; what is predicted is measured on other images. Only pairs "
    "in the dataset's own words and functions count. The fits are least squares with an intercept. "
    "R\N{SUPERSCRIPT TWO} is the share of the variance between instances that a fit gives back. It never "
    "falls with one more feature, so the column left out has the same of instances that were left out of "
    "the fit one by one; that is below 0 where the prediction is worse than the others' mean. Without an "
    "intercept, R\N{SUPERSCRIPT TWO} is about 0 and not about the mean, and cannot be compared with the "
    "others; RAD's equations show no intercept."
)


@dataclass(frozen=True)
class _Row:
    """A predicted quantity and the regressions for it on each configuration."""

    predicted: str
    instances: str
    n: int
    regressions: Sequence[Regression]


def regression_blocks(instances: Sequence[Instance], *, draws: bool = False) -> Iterator[Block]:
    """A section with two tables and, if it `draws`, a figure, for models with enough instances."""
    blocks = [block for model in _models(instances) for block in _of_model(model, instances, draws=draws)]
    if blocks:
        yield Heading("Does RAD predict accuracy?")
        yield Text(_LEGEND)
        yield from blocks


def _of_model(model: str, instances: Sequence[Instance], *, draws: bool) -> Iterator[Block]:
    own = [each for each in instances if each.model == model]
    unseen: list[_Row] = []
    gaps: list[_Row] = []
    for name, group in _groups(own):
        unseen += _unseen(name, group)
        gaps += _gaps(name, group)
    if unseen:
        kinds = ", ".join(_kinds(own))
        yield Table(
            title=f"Accuracy of {model} on questions changed in another way",
            head=_HEAD,
            rows=[*_rows(unseen), *_published()],
            note="In each configuration one of the sets of pairs is the target: the accuracy on its changed "
            f"questions is predicted from D and D' of all other sets ({kinds}). Mean \N{PLUS-MINUS SIGN} "
            "deviation over configurations (ddof 1). Source: Rosenberg et al., section 4. The published rows "
            "are of photographs, and their instances differ in dropped questions alone.",
        )
    if gaps and draws:
        from clevrhope.report.instance_figure import instances_plot

        yield instances_plot(held_out_points(own), model)
    if gaps:
        yield Table(
            title=f"Accuracy of {model} on the held-out pair",
            head=_HEAD,
            rows=[*_rows(gaps)],
            note=f"Accuracy(D) is here the accuracy on {IID}, and D and D' of RAD are all sets of "
            f"pairs on {IID} together. The gap is OOD minus IID accuracy. It contains IID accuracy "
            "with a minus sign, so what predicts the gap may still say nothing about OOD accuracy: read "
            "both.",
        )


def _groups(own: Sequence[Instance]) -> Iterator[tuple[str, Sequence[Instance]]]:
    """The instances of RAD's kind, the others, and all, where there are enough."""
    dropped = [each for each in own if each.drops]
    others = [each for each in own if not each.drops]
    if dropped and others:
        yield "train questions of a type dropped", dropped
        yield "pairs, train sizes and seeds", others
        yield "all", own
    else:
        yield "train questions of a type dropped" if dropped else "pairs, train sizes and seeds", own


def _unseen(name: str, group: Sequence[Instance]) -> Iterator[_Row]:
    """RAD's section 4: one regression a set of pairs, which is the target; needs three sets."""
    kinds = _kinds(group)
    if len(kinds) < 3:
        return
    rows = []
    for target in kinds:
        rest = [kind for kind in kinds if kind != target]
        rows.append([(_features(each, rest), _partner_accuracy(each, target)) for each in group])
    there = [k for k in range(len(group)) if all(_finite(row[k]) for row in rows)]
    if len(there) >= FEWEST:
        regressions = [regress(_instances(row[k] for k in there)) for row in rows]
        yield _Row("accuracy on the target set", name, len(there), regressions)


def _gaps(name: str, group: Sequence[Instance]) -> Iterator[_Row]:
    """OOD accuracy and the gap, from what is known in distribution."""
    there = held_out_points(group)
    if len(there) < FEWEST:
        return
    for predicted in ("OOD accuracy", "systematicity gap"):
        points = [(each.features, each.ood if predicted == "OOD accuracy" else each.gap) for each in there]
        yield _Row(predicted, name, len(there), [regress(_instances(points))])


@dataclass(frozen=True)
class HeldOutPoint:
    """What is known of an instance in distribution, and what it does beyond it; in per cent and points."""

    instance: Instance
    features: tuple[float, float, float]
    """IID accuracy, RAD(D, D') and RAD(D', D) of all sets on it, on images with even numbers."""
    ood: float
    gap: float
    """OOD minus IID accuracy, on images with odd numbers."""


def held_out_points(group: Sequence[Instance]) -> list[HeldOutPoint]:
    """The instances of which all of this is defined."""
    kinds, found = _kinds(group), []
    for each in group if kinds else ():
        _, rad, backward = _features(each, kinds)
        features = (_number(each.accuracy(IID, half=_FROM)), rad, backward)
        ood = _number(each.accuracy(OOD))
        gap = ood - _number(each.accuracy(IID, half=_ON))
        if _finite((features, gap)):
            found.append(HeldOutPoint(each, features, ood, gap))
    return found


_Point = tuple[tuple[float, float, float], float]
"""The features of an instance, and its target, in per cent; not a number where a share is undefined."""


def _features(each: Instance, kinds: Sequence[str]) -> tuple[float, float, float]:
    """Accuracy(D), RAD(D, D') and RAD(D', D) of some sets together, in distribution."""
    counts = each.counts(IID, half=_FROM)
    total = sum((counts[kind] for kind in kinds), Counts())
    return (
        _percent(total.originals, total.pairs),
        _percent(total.both, total.originals),
        _percent(total.both, total.partners),
    )


def _partner_accuracy(each: Instance, kind: str) -> float:
    counts = each.counts(IID, half=_ON)[kind]
    return _percent(counts.partners, counts.pairs)


def _kinds(group: Sequence[Instance]) -> list[str]:
    """The sets of pairs that all instances have in both halves, by RAD's names."""
    there = [each.counts(IID, half=half).keys() for each in group for half in HALVES]
    return sorted(set.intersection(*map(set, there))) if there else []


def _instances(points: Iterable[_Point]) -> Instances:
    features, target = zip(*points, strict=True)
    accuracy, rad, backward = np.asarray(features).T
    return Instances(accuracy, rad, backward, np.asarray(target))


def _finite(point: _Point) -> bool:
    return bool(np.isfinite([*point[0], point[1]]).all())


def _percent(part: int, of: int) -> float:
    return 100 * part / of if of else float("nan")


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _models(instances: Sequence[Instance]) -> list[str]:
    return [*dict.fromkeys(each.model for each in instances)]


def _rows(rows: Sequence[_Row]) -> Iterator[list[Cell]]:
    for row in rows:
        for name, features in FEATURES.items():
            found = [
                r2_over_configurations(row.regressions, intercept=True),
                r2_over_configurations(row.regressions, intercept=True, left_out=True),
                r2_over_configurations(row.regressions, intercept=False),
            ]
            yield [
                Cell(row.predicted),
                Cell(row.instances),
                Cell(str(row.n)),
                Cell(features),
                *(Cell(_r2(_of(each, name), several=len(row.regressions) > 1)) for each in found),
            ]


def _of(means: R2Means, name: str) -> Mean | None:
    found: Mean | None = getattr(means, name)
    return found


def _r2(mean: Mean | None, *, several: bool) -> str:
    if mean is None:
        return ""
    deviation = f" \N{PLUS-MINUS SIGN} {mean.deviation:.3f}" if several else ""
    return f"{mean.value:.3f}{deviation}".replace("-", "\N{MINUS SIGN}")


def _published() -> Iterator[list[Cell]]:
    """RAD's figures; it does not say whether the fits have an intercept."""
    for each in reference_results():
        if each.paper == "rad" and each.measure.startswith("R2 of "):
            deviation = f" \N{PLUS-MINUS SIGN} {each.deviation:.3f}" if each.deviation is not None else ""
            yield [
                Cell("accuracy on the target set"),
                Cell(f"published: {each.model} ({each.dataset})"),
                Cell("45"),
                Cell(each.measure.removeprefix("R2 of ")),
                Cell(f"{each.value:.3f}{deviation}"),
                Cell(),
                Cell(),
            ]
