"""The matched gap: cells worked out by hand, simulated models of known gap, and a dataset's questions."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from building import request
from simulated import exactly

from clevrhope.dataset.mentions import mentions_together
from clevrhope.dataset.native_reader import CLEVR_WORDS, question_reader, vocabulary_of
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.scene_files import AuditScenes
from clevrhope.dataset.split_files import read_vocab
from clevrhope.errors import DatasetError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.collector import NOT_GIVEN
from clevrhope.metrics.estimates import estimates
from clevrhope.metrics.matched_gap import Matcher, Questions, match_cells
from clevrhope.pipeline import build
from wording import check_refused

HOP = "rubber_cylinder"
TYPES = ("material", "shape")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("matched") / "data"
    sizes = {"train": 100, "complex_iid": 4_000, "complex_ood": 1_500}
    build(request(out, sizes=sizes, render=False, question_json=False))
    return out


def flags(*values: int) -> npt.NDArray[np.bool_]:
    return np.array(values, dtype=bool)


def cells(*values: tuple[int, int]) -> npt.NDArray[np.int32]:
    return np.array(values, dtype=np.int32).reshape(-1, 2)


def asked(right: npt.NDArray[np.bool_], of_cells: npt.NDArray[np.int32]) -> Questions:
    """Questions that all count, each about an image of its own."""
    images = np.arange(len(right), dtype=np.int32)
    return Questions(right, np.ones(len(right), dtype=bool), of_cells, images, seed=(5, len(right)))


def test_cells_worked_out_by_hand() -> None:
    # OOD: family 0 with 3 objects three times (2 right), family 1 with 5 once (right), family 2 once (wrong).
    ood = cells((0, 3), (0, 3), (0, 3), (1, 5), (2, 5))
    # IID: the first cell 3 of 4 right, the second 1 of 2; another that OOD has not.
    iid = cells((0, 3), (0, 3), (0, 3), (0, 3), (1, 5), (1, 5), (1, 4), (1, 4))
    gap = match_cells(
        asked(flags(1, 1, 0, 1, 0), ood), asked(flags(1, 1, 1, 0, 1, 0, 0, 0), iid), exactly(50.0)
    )
    # 3 of the 4 OOD questions in matched cells; of IID 3 * 0.75 + 1 * 0.5 of 4.
    assert gap.points.value == pytest.approx(75 - 68.75)
    assert gap.plain.value == pytest.approx(75 - 50), "on the same OOD questions"
    assert (gap.n_cells, gap.n_cells_unmatched, gap.n_ood, gap.n_ood_unmatched, gap.n_iid) == (3, 1, 5, 1, 6)


def test_without_any_match_there_is_no_gap() -> None:
    gap = match_cells(asked(flags(1), cells((0, 3))), asked(flags(1), cells((0, 4))), exactly(50.0))
    assert (gap.points, gap.plain) == (None, None)
    assert (gap.n_cells, gap.n_cells_unmatched, gap.n_iid) == (1, 1, 0)
    none = match_cells(asked(flags(), cells()), asked(flags(1), cells((0, 4))), exactly(50.0))
    assert none.points is None


def test_questions_that_mention_a_pair_are_those_that_mention_one_of_its_pairs(folder: Path) -> None:
    path = folder / "hops" / HOP / "complex_iid.h5"
    rows = read_table(path)
    vocab = read_vocab(folder / "vocab.json")
    vocabulary = vocabulary_of(vocab)
    pool = AuditScenes.read(vocabulary, [])
    nowhere = np.full(len(rows), -1)
    one_by_one = np.zeros(len(rows), dtype=bool)
    values = dict(vocabulary.attribute_types)
    for material in values["material"]:
        for shape in values["shape"]:
            reader = question_reader(
                vocab, [("material", material), ("shape", shape)], CLEVR_WORDS, vocabulary
            )
            one_by_one |= reader.read(rows.questions, rows.programs, pool, nowhere).by_program
    found = mentions_together(path, folder / "vocab.json", TYPES)
    assert (found == one_by_one).all()
    assert 0.2 < found.mean() < 0.8
    assert mentions_together(folder / "hops" / HOP / "complex_ood.h5", folder / "vocab.json", TYPES).all()


def test_types_that_there_are_none_of_are_named(folder: Path) -> None:
    path = folder / "hops" / HOP / "complex_ood.h5"
    check_refused(DatasetError, mentions_together, path, folder / "vocab.json", ("weight", "shape"))


def test_matched_gaps_of_answers_to_a_dataset(folder: Path) -> None:
    # Wrong about a fifth of what mentions a pair, and of OOD about another fifth: the matched gap is the
    # latter alone, the plain one has both.
    key = AnswerKey(folder)
    draws = np.random.default_rng(3)
    given = {}
    for split in ("complex_ood", "complex_iid"):
        right = key.test_set(HOP, split).answers.astype(np.int16)
        mentions = key.mentions_together(HOP, split, TYPES)
        wrong = mentions & (draws.random(len(right)) < (0.4 if split == "complex_ood" else 0.2))
        given[split] = np.where(wrong, -2, right).astype(np.int16)
    plain = np.subtract(
        *(
            100 * (given[each] == key.test_set(HOP, each).answers).mean()
            for each in ("complex_ood", "complex_iid")
        )
    )
    all_iid = estimates(key, HOP, given)["accuracy"]["complex_iid"]
    found = Matcher(key).gap(HOP, given, all_iid)
    assert found.points.value == pytest.approx(-20, abs=6)
    assert found.points.interval.low < found.points.value < found.points.interval.high
    assert plain < -25
    assert found.n_cells_unmatched < found.n_cells / 2
    assert found.n_ood == 1_500

    # What was not answered is no part of it.
    given["complex_ood"][:500] = NOT_GIVEN
    fewer = Matcher(key).gap(HOP, given, all_iid)
    assert fewer.n_ood == 1_000

    assert Matcher(key).gap(HOP, {"complex_iid": given["complex_iid"]}, all_iid) is None


def test_an_interval_is_that_of_the_questions_with_a_match() -> None:
    """The interval depends on the number of matched questions alone."""
    one, many = cells((0, 3)), cells((0, 3), *[(1, k) for k in range(60)])
    alone = match_cells(asked(flags(1), one), asked(flags(1), one), exactly(50.0)).points
    beside = match_cells(asked(flags(*[1] * 61), many), asked(flags(1), one), exactly(50.0)).points
    assert alone is not None
    assert beside is not None
    assert (beside.value, beside.n) == (alone.value, alone.n)
    assert beside.interval is not None
    assert beside.interval.high - beside.interval.low > 50
