"""Figures of made results: the paper's own gaps among them, hollow, and said to be the paper's."""

from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install clevrhope[plots]")

from matplotlib.figure import Figure
from simulated import exactly, made_result

from clevrhope.metrics.published import paper_results
from clevrhope.metrics.results import Interval, Measure, PredicateScores, Results, Scores, Training
from clevrhope.report import Result, accuracy_figures, figures, learning_curves
from clevrhope.splits.hops import parse_hop

VALUES = [
    ("size", ["small", "large"]),
    ("color", ["gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"]),
    ("material", ["rubber", "metal"]),
    ("shape", ["cube", "sphere", "cylinder"]),
]
HOPS = ("large_cylinder", "rubber_cylinder", "cyan_cylinder")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that were drawn, in place of their files."""
    found: list[Figure] = []

    def keep(figure: Figure) -> tuple[str, list[str]]:
        found.append(figure)
        return "", []

    for module in (figures, accuracy_figures, learning_curves):
        monkeypatch.setattr(module, "svg", keep)
    return found


def results(of: str = "lxmert_p", **changes: Any) -> list[Result]:
    """Of a model of the paper's: half of all answers right, a quarter of the OOD ones."""
    found = []
    for hop in HOPS:
        pair = parse_hop(hop, VALUES)
        splits = ("complex_iid", "complex_ood", "minimal_iid", "minimal_ood")
        plain = {
            "model": "ours",
            "types": tuple(kind for kind, _ in pair.held_out or ()),
            "diversity": pair.diversity,
            "train_size": 200_000,
            "accuracies": {split: exactly(50.0 if split.endswith("iid") else 25.0) for split in splits},
        }
        found.append(made_result(of, hop, **{**plain, **changes}))
    return found


def hollow(figure: Figure) -> list[list[tuple[float, float]]]:
    """The points of the hollow lines of each panel."""
    return [
        [
            (float(x), float(y))
            for line in axes.get_lines()
            if line.get_markerfacecolor() == "none"
            for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
        ]
        for axes in figure.axes
    ]


def said(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_a_pairs_curve_is_over_the_runs_that_answered_the_test_set(drawn: list[Figure]) -> None:
    half = {"complex_iid": exactly(70.0), "complex_ood": exactly(25.0)}  # no minimal sets
    assert figures.hop_curves([*results(), *results(run="2", accuracies=half)], "ours")
    curves = [[line.get_ydata().tolist() for line in axes.get_lines()]
              for axes in drawn[0].axes]  # fmt: skip
    assert curves == [[[y]] * len(HOPS) for y in (60.0, 25.0, 50.0, 25.0)]


def test_the_triangle_has_the_gap_of_each_two_types(drawn: list[Figure]) -> None:
    made = [figure.name for figure in accuracy_figures.type_triangles(results(), "ours")]
    assert made == ["types_ours", "types_accuracy_ours"]
    gaps, accuracies = ([text.get_text() for axes in each.axes for text in axes.texts] for each in drawn)
    assert gaps == ["\N{MINUS SIGN}25.0"] * 2 * len(HOPS)
    assert sorted(accuracies) == ["25.0"] * 2 * len(HOPS) + ["50.0"] * 2 * len(HOPS)


def test_gap_curves_show_the_papers_means_over_the_same_pairs(drawn: list[Figure]) -> None:
    assert figures.gap_curves(results(), "ours")
    percent = {
        (each.hop, each.split, each.train_size): each.mean_percent
        for each in paper_results()
        if (each.model, each.metric) == ("lxmert_p", "accuracy")
    }
    means = [
        mean(percent[hop, "complex_ood", size] - percent[hop, "complex_iid", size] for hop in hops)
        for hops in (HOPS[:2], HOPS[2:])  # of diversity 6 and 24
        for size in ("25k", "200k", "560k")
    ]
    assert sorted(y for _, y in hollow(drawn[0])[0]) == pytest.approx(sorted(means))
    assert said(drawn[0]) == ["diversity 24", "diversity 6", "the paper's"]


@pytest.mark.parametrize("changes", [{"of": "film"}, {"train_size": None}])
def test_where_the_paper_has_nothing_nothing_of_it_is_shown(drawn: list[Figure], changes: Any) -> None:
    assert len(list(figures.figures_of(results(**changes), "ours"))) == 7
    for figure in drawn:
        assert not any(hollow(figure))
        assert not any("paper" in text for text in said(figure))


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", ["somebody", "tensor_nmn, after stage engine (channels=32, pixels)", "a_name_in_one_word_" * 9]
)
def test_titles_are_no_wider_than_the_figures(drawn: list[Figure], model: str) -> None:
    assert len(list(figures.figures_of(results(model=model, train_size=None), model))) == 7
    for figure in drawn:
        (title,) = figure.texts
        assert title.get_text().replace("\n", " ").startswith(f"{model}: ")
        figure.canvas.draw()
        assert title.get_window_extent().x1 <= figure.bbox.x1


def test_a_single_point_has_no_figure_of_its_own(drawn: list[Figure]) -> None:
    assert list(figures.figures_of(results(train_size=None)[:1], "ours")) == []
    assert not drawn


def test_axes_of_gaps_span_ten_points_and_no_panel_is_empty(drawn: list[Figure]) -> None:
    even = {"complex_iid": exactly(0.0), "complex_ood": exactly(0.0)}
    assert figures.gap_curves(results("film", accuracies=even), "ours")
    (axes,) = drawn[0].axes
    low, high = axes.get_ylim()
    assert high - low >= 10


def of_property(predicate: str, shots: int, **percent: float | None) -> PredicateScores:
    """A model's row, on questions that have a property."""
    accuracies = {
        name: Scores({"accuracy": Measure(value, 100, Interval(value - 1, value + 1) if value else None)}, {})
        for name, value in percent.items()
    }
    return PredicateScores(
        *("none", 2000, "ours", Training("split", predicate, shots)),
        **{"split": "covr_test", "filtered": 300, "n_questions": 100},
        accuracies=accuracies,
        generalisation={},
    )


def test_few_shot_accuracy_is_drawn_over_shots_for_each_property(drawn: list[Figure]) -> None:
    rows = (
        of_property("has-quant", 250, held_out=60.0, text=50.0, iid_size=80.0),
        of_property("has-quant", 0, held_out=40.0, text=50.0),
        of_property("has-quant", 50, held_out=55.0, text=None, iid_size=79.0),
        of_property("num-3", 250, held_out=60.0),
        of_property("ans-num", 0, held_out=1.0),
        of_property("ans-num", 1000, held_out=30.0),
        replace(of_property("ans-num", 9, held_out=99.0), split="covr_test_ood"),
    )
    scores = Results(Path("data"), 0, 0, (), predicates=rows)
    (made,) = learning_curves.shots_curves(scores, 2)
    assert made.name == "shots_2_ours_none_2000"
    panels = drawn[0].axes
    assert [axes.get_title("left") for axes in panels] == [
        "has-quant",
        "ans-num",
    ]  # num-3 has one number of shots
    assert [[tick.get_text() for tick in axes.get_xticklabels()] for axes in panels] == [
        ["0", "50", "250"],
        ["0", "1,000"],
    ]
    lines = [[[*zip(*line.get_data(), strict=True)] for line in axes.get_lines()] for axes in panels]
    assert lines == [
        [[(0, 50), (2, 50)], [(0, 40), (1, 55), (2, 60)], [(1, 79), (2, 80)]],
        [[(0, 1), (1, 30)]],
    ]
    assert said(drawn[0]) == ["text", "model", "iid-size"]
    assert not [*learning_curves.shots_curves(replace(scores, predicates=rows[:1]), 1)]
