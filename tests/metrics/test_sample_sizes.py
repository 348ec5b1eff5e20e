"""How many questions `--half-width` chooses: against simulated questions, and what it says of a dataset."""

from pathlib import Path

import numpy as np
import pytest
from building import Cli
from made_folder import make_folder, write_lines

from clevrhope.metrics import score
from clevrhope.metrics.sample_sizes import design_effect, sample_sizes

HOP = "rubber_cylinder"


@pytest.mark.parametrize(("n_an_image", "rho"), [(1, 0.5), (9, 0.0), (9, 0.1), (3, 1.0)])
def test_the_design_effect_of_equal_images_is_kishs(n_an_image: int, rho: float) -> None:
    generator = np.random.default_rng(1)
    shared = generator.random((40_000, 1)) < 0.5
    own = generator.random((40_000, n_an_image)) < 0.5
    # A question copies the image's result with a probability of the root of rho.
    is_right = np.where(generator.random(own.shape) < np.sqrt(rho), shared, own)
    units = np.repeat(np.arange(40_000, dtype=np.int32), n_an_image)
    found = design_effect(is_right.ravel(), units)
    assert found == pytest.approx(1 + (n_an_image - 1) * rho, rel=0.03)


def test_accuracies_without_errors_have_no_effect() -> None:
    assert design_effect(np.ones(4, dtype=bool), np.zeros(4, dtype=np.int32)) == 1


def test_the_width_is_that_of_scores_interval(tmp_path: Path) -> None:
    """A model that guesses as the text baseline does has the half-width that is promised."""
    generator = np.random.default_rng(1)
    images = [(image, generator.random() < 0.5) for image in range(400)]
    # Each image has five questions of one family; answers to one image agree more often than by chance.
    asked = [
        (image, 0, "yes" if (shared if generator.random() < 0.6 else generator.random() < 0.52) else "no")
        for image, shared in images
        for _ in range(5)
    ]
    hops = {HOP: {"complex_iid": asked, "complex_ood": asked}}
    folder = make_folder(tmp_path / "data", hops)
    size = sample_sizes(folder, [(HOP, "complex_iid")], 1.0)[HOP, "complex_iid"]
    assert size.n == size.of == 2000
    assert size.design_effect > 1.5
    most = max("yes", "no", key=[answer for *_, answer in asked].count)
    rows = [
        {"hop": HOP, "split": "complex_iid", "question_index": k, "answer": most} for k in range(len(asked))
    ]
    path = write_lines(tmp_path / "p.jsonl", rows)
    (condition,) = score(folder, path, by=[], seed=1, partial=True, bootstrap=4000).conditions
    interval = condition.splits["complex_iid"].mean["accuracy"].interval
    assert interval is not None
    assert (interval.high - interval.low) / 2 == pytest.approx(size.half_width, rel=0.05)


def test_a_point_needs_over_9600_questions_and_small_splits_are_named(tmp_path: Path, cli: Cli) -> None:
    generator = np.random.default_rng(1)
    answers = generator.choice(["yes", "no"], 12_000)
    hops = {
        HOP: {
            "complex_iid": [(k // 4, 0, answer) for k, answer in enumerate(answers)],
            "complex_ood": [(k, 0, answer) for k, answer in enumerate(answers[:600])],
        }
    }
    folder = make_folder(tmp_path / "data", hops)
    places = [(HOP, "complex_iid"), (HOP, "complex_ood")]
    large, small = sample_sizes(folder, places, 1).values()
    assert 9_604 <= large.n <= 10_300
    assert large.half_width == pytest.approx(1, rel=1e-3)
    assert small.n == small.of == 600
    assert small.half_width == pytest.approx(4.0, abs=0.2)
    said = cli("ask", folder, "--half-width", 1, "--seed", 1, "--out", "r.jsonl", code=1)  # it has no images
    assert f"{HOP} complex_ood: only 600 questions" in said.err
    assert f"{HOP} complex_iid: {large.n:,} of 12,000 questions" in said.out
