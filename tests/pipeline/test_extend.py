"""More pairs, larger sizes, other kinds of images: what is finished stays, what is smaller is a prefix."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from building import Make, stamps, tree

from clevrhope.dataset.clevr_json import read_row_lines
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import read_table
from clevrhope.errors import DatasetError
from wording import check_refused

SPLITS = ("train", "val_iid", "complex_iid", "complex_ood", "minimal_iid", "minimal_ood")
LARGER = {"train": 600, "val_iid": 90, "complex_iid": 190, "complex_ood": 31, "minimal_places": 20}


def described(name: str) -> bool:
    """Whether a file describes the folder as a whole, and so has to change with it."""
    return name.endswith(("manifest.json", "measured.json", "DATASHEET.md", "index.html"))


@pytest.mark.slow
def test_larger_sizes_have_the_smaller_ones_as_a_prefix(tmp_path: Path, make: Make) -> None:
    layout = Layout(tmp_path / "out")
    make(layout.root)
    small = {split: read_table(layout.questions_h5("rubber_cylinder", split)) for split in SPLITS}
    rows = {split: list(read_row_lines(layout.questions_json("rubber_cylinder", split))) for split in SPLITS}
    images = {name: stamp for name, stamp in stamps(layout.root).items() if name.endswith(".png")}
    make(layout.root, sizes=LARGER)
    for split in SPLITS:
        large = read_table(layout.questions_h5("rubber_cylinder", split))
        n = len(small[split])
        assert len(large) > n
        for name, values in small[split].arrays().items():
            np.testing.assert_array_equal(large.arrays()[name][:n], values)
        path = layout.questions_json("rubber_cylinder", split)
        assert list(read_row_lines(path))[:n] == rows[split]
    after = stamps(layout.root)
    assert all(after[name] == stamp for name, stamp in images.items())
    make(tmp_path / "at_once", sizes=LARGER)
    assert tree(layout.root) == tree(tmp_path / "at_once")


@pytest.mark.parametrize(("first", "then"), [("png", "h5"), ("h5", "both")])
@pytest.mark.slow
def test_kinds_of_images_can_be_added_without_rendering_again(
    tmp_path: Path, make: Make, first: str, then: str
) -> None:
    make(tmp_path / "out", images=first)
    before = stamps(tmp_path / "out")
    assert make(tmp_path / "out", images=then).n_rendered == 0
    after = stamps(tmp_path / "out")
    assert all(after[name] == stamp for name, stamp in before.items() if name.startswith("images/"))
    make(tmp_path / "both", images="both")
    assert tree(tmp_path / "out") == tree(tmp_path / "both")


def test_a_folder_of_something_else_is_not_touched(tmp_path: Path, make: Make) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    check_refused(DatasetError, make, tmp_path)
    assert tree(tmp_path).keys() == {"thesis.tex"}


def test_the_manifest_lists_every_file_with_size_and_checksum(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    hashes = tree(tmp_path / "out")
    del hashes["manifest.json"]
    assert {name: each["sha256"] for name, each in manifest["files"].items()} == hashes
    for name, each in manifest["files"].items():
        assert (tmp_path / "out" / name).stat().st_size == each["bytes"]
    assert manifest["complete"] is True
    assert str(tmp_path) not in json.dumps(manifest)


@pytest.mark.slow
def test_a_split_with_a_question_file_keeps_it(tmp_path: Path, make: Make) -> None:
    layout = Layout(tmp_path / "out")
    make(layout.root)
    before = stamps(layout.root / "hops")
    make(layout.root, hops=("rubber_cylinder", "cyan_cylinder"), question_json=False)
    after = stamps(layout.root / "hops")
    assert all(after[name] == stamp for name, stamp in before.items() if not described(name))
    assert not list(layout.hop("cyan_cylinder").glob("*_questions.json"))
    make(layout.root, sizes=LARGER, question_json=False)
    rows = list(read_row_lines(layout.questions_json("rubber_cylinder", "train")))
    assert len(rows) == LARGER["train"]


@pytest.mark.slow
def test_smaller_train_sets_are_named_in_the_files(tmp_path: Path, make: Make) -> None:
    layout = Layout(tmp_path / "out")
    make(layout.root, sizes={"train": 25_007}, render=False)
    with h5py.File(layout.questions_h5("rubber_cylinder", "train")) as file:
        assert file.attrs["prefixes"].tolist() == [25_000]
        # An image's questions stay together but at the cut: 25,000 is 2,777 times 9, and 7 more.
        assert len(np.unique(file["image_idxs"][:25_000])) >= 2_778
    with layout.questions_json("rubber_cylinder", "train").open() as rows:
        assert json.loads(rows.readline().rstrip() + "]}")["info"]["prefixes"] == [25_000]
    with h5py.File(layout.questions_h5("rubber_cylinder", "complex_iid")) as file:
        assert "prefixes" not in file.attrs
