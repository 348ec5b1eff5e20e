"""The audit's report beside single faults: its lines, samples, prefixes, published scenes, even numbers."""

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from clevr_making import make_clevr
from spoiling import LINES, TRAIN, Spoilt, failed

from clevrhope._core import AuditScenes
from clevrhope.audit import audit
from clevrhope.audit.captions import CHECKS as CHECKS_OF_CAPTIONS
from clevrhope.audit.checks import scenes
from clevrhope.audit.imported import reasons
from clevrhope.audit.report import check_rows
from clevrhope.audit.run import BESIDE_CLEVR
from clevrhope.config.presets import PRESETS
from clevrhope.pipeline import Request, build
from clevrhope.scenes import read_world


def test_nothing_is_wrong_with_a_dataset_as_it_was_built(clean: Path) -> None:
    report = audit(clean)
    assert report.ok
    assert failed(report) == {}
    looked_at = {each.name: each.n_checked for each in report.checks if each.done}
    assert min(looked_at.values()) > 0
    n_questions = looked_at["text"]
    assert looked_at["programs"] == looked_at["duplicates"] == looked_at["HDF5 and JSON"] == n_questions


@pytest.fixture(scope="module")
def clevr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CLEVR folder with scenes of val, which is all that is asked of one."""
    return make_clevr(tmp_path_factory.mktemp("clevr") / "CLEVR_v1.0", 3, split="val").root


@pytest.mark.slow
def test_every_line_of_the_report_has_a_stage(clean: Path, clevr: Path) -> None:
    everything = ["readable", *(name for lines in LINES.values() for name in lines)]
    assert list(check_rows()) == [*everything, *BESIDE_CLEVR, *reasons(), *CHECKS_OF_CAPTIONS]
    assert [each.name for each in audit(clean, against=clevr).checks] == [*everything, *BESIDE_CLEVR]
    assert [each.name for each in audit(clean).checks] == everything


@pytest.mark.slow
def test_no_line_is_lost_where_a_file_cannot_be_read(spoilt: Spoilt, clevr: Path) -> None:
    names = [each.name for each in audit(spoilt.root, against=clevr).checks]
    whole = {each.name: each.n_checked for each in audit(spoilt.root).checks}
    path = spoilt.path(TRAIN)
    path.write_bytes(path.read_bytes()[:1000])
    found = {each.name: each for each in audit(spoilt.root, against=clevr).checks}
    assert list(found) == names
    for name in ("counts", "text", "arrays", "programs", "held-out pair", "HDF5 and JSON", "train and test"):
        assert found[name].result == "in part"
        assert found[name].note.endswith(f"whatever needs {TRAIN} was left out"), name
        assert whole[name] / 2 < found[name].n_checked < whole[name]
    for name in BESIDE_CLEVR:
        assert (found[name].result, found[name].n_checked) == ("in part", found["twin scenes"].n_checked)


def test_of_many_scenes_a_sample_is_drawn_by_the_seed(monkeypatch: pytest.MonkeyPatch, clean: Path) -> None:
    pools = {"train": 40, "none": 0, "test_iid": 7, "test_ood": 60}
    assert {pool: places.tolist() for pool, places in scenes.sampled(pools, 3).items()} == {
        pool: list(range(n)) for pool, n in pools.items()
    }
    monkeypatch.setattr(scenes, "MOST_SCENES", 20)
    drawn = scenes.sampled(pools, 3)
    assert sum(map(len, drawn.values())) == 20
    assert all((np.diff(places) > 0).all() for places in drawn.values())
    assert all(0 <= place < pools[pool] for pool, places in drawn.items() for place in places)
    again, other = scenes.sampled(pools, 3), scenes.sampled(pools, 4)
    assert all(np.array_equal(drawn[pool], again[pool]) for pool in pools)
    assert any(not np.array_equal(drawn[pool], other[pool]) for pool in pools)
    (line,) = (each for each in audit(clean).checks if each.name == "visible objects")
    assert line.n_checked == 20
    assert line.note.startswith("a sample of 20 of ")


@pytest.mark.slow
def test_a_train_set_names_the_smaller_ones_that_it_begins_with(tmp_path: Path) -> None:
    config = replace(PRESETS["demo"], question_json=False)
    config = replace(config, sizes=replace(config.sizes, train=25_010))
    data = Spoilt(tmp_path / "out")
    request = Request(out=data.root, hops=("rubber_cylinder",), splits=("train",), config=config, seed=3)
    build(replace(request, render=False))
    report = audit(data.root)
    assert report.ok
    # A folder with nothing but train has no line that passed on nothing.
    assert all(each.n_checked for each in report.checks if each.result == "passed")
    with h5py.File(data.h5("train"), "r+") as file:
        del file.attrs["prefixes"]
    data.sign()
    (fault,) = failed(audit(data.root))["arrays"].faults
    assert str(fault) == f"{TRAIN}: attribute prefixes is not [25000]: []"


@pytest.mark.parametrize("split", ["train", "val"])
def test_published_scenes_relationships_follow_from_places(test_data: Path, split: str) -> None:
    path = test_data / "real_clevr" / f"CLEVR_{split}_scenes.json"
    published = AuditScenes.read(read_world().vocabulary, [path])
    assert len(published) >= 20
    assert published.misrelated == []


LEAST, MOST = 3, 10


def uneven_of(*counts: int) -> list[tuple[str, str]]:
    return scenes.uneven(np.repeat(np.arange(LEAST, MOST + 1), counts), LEAST, MOST)


def test_even_numbers_pass_and_none_at_all() -> None:
    assert uneven_of(*[20] * 8) == []
    assert uneven_of(*[0] * 8) == []
    assert uneven_of(1, 0, 0, 0, 0, 0, 0, 0) == []


def test_a_number_may_lack_the_last_run_and_a_few_scenes_without_questions() -> None:
    assert uneven_of(15, 20, 20, 20, 20, 20, 20, 20) == []
    ((problem, shown),) = uneven_of(14, 20, 20, 20, 20, 20, 20, 20)
    assert problem == "the images have some numbers of objects more often than others"
    assert shown == "3 to 10 objects: 14, 20, 20, 20, 20, 20, 20, 20"
    # Of many scenes, more may give none.
    assert uneven_of(1_800, *[1_850] * 7) == []
    assert len(uneven_of(1_780, *[1_850] * 7)) == 1


def test_what_a_filter_leaves_is_found() -> None:
    counts = [int(1_000 * (5 / 6) ** n) for n in range(LEAST, MOST + 1)]
    assert len(uneven_of(*counts)) == 1
