"""Damaged files, folders that change or go away, and indexes that are damaged or cannot be written."""

import errno
import json
import re
import shutil
from pathlib import Path
from typing import Any

import h5py
import pytest
from site_client import HOP, TOKEN, SiteClient, make_client, text_of

from clevrhope.__main__ import run_command
from clevrhope.browse.folder import SiteFolder, SplitKey
from clevrhope.browse.index import Index, read_index
from clevrhope.browse.indexes import Indexes, Making
from clevrhope.dataset.layout import Layout
from clevrhope.errors import DatasetError, PredictionsError
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.reading import reading
from waiting import wait_until
from wording import check_words, refused


def fault(page: str) -> str:
    found = re.search(r'<p class="fault" role="note">(.*?)</p>', page, re.DOTALL)
    assert found, text_of(page)
    assert "Traceback" not in page
    return text_of(found[1])


def spoil_first_questions(path: Path) -> None:
    """Damages the tokens of the first 256 questions; the other columns of all stay whole."""
    with h5py.File(path, "r") as file:
        place, size = file["questions"].id.get_chunk_info(0)[2:4]
    content = bytearray(path.read_bytes())
    content[place + size // 2 : place + size] = bytes(size - size // 2)
    path.write_bytes(content)


@pytest.fixture
def spoilt(copy: Path) -> SiteClient:
    """A client of a dataset that a test spoils before it looks."""
    return make_client(copy)


def test_a_damaged_split_fails_alone(copy: Path, spoilt: SiteClient) -> None:
    path = Layout(copy).questions_h5(HOP, "complex_ood")
    path.write_bytes(path.read_bytes()[:2000])
    assert str(path) in fault(spoilt.get(f"question/{HOP}/complex_ood/0", status=500))
    spoilt.get(f"question/{HOP}/complex_iid/0")
    page = spoilt.get(f"questions?hop={HOP}")
    assert f"{path}:" in fault(page)
    assert "its questions are left out" in fault(page)
    assert "complex_ood" not in re.findall(r'<option value="(\w+)"', page)


def test_an_index_is_made_again_once_what_it_lacks_can_be_read(
    copy: Path, spoilt: SiteClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, address = Layout(copy).questions_h5(HOP, "complex_iid"), f"questions?hop={HOP}&split=complex_iid"
    whole, found = path.read_bytes(), text_of(make_client(copy).get(f"{address}&words=is"))
    spoil_first_questions(path)
    made = []

    def make(*given: Any) -> Index:
        made.append(given)
        return read_index(*given)

    monkeypatch.setattr("clevrhope.browse.indexes.read_index", make)
    for _ in range(2):
        assert f"{path}:" in fault(spoilt.get(address))
    assert len(made) == 1
    whole_again = path.with_name("again")
    whole_again.write_bytes(whole)
    whole_again.replace(path)
    assert "fault" not in spoilt.get(address)
    assert text_of(spoilt.get(f"{address}&words=is")) == found
    assert len(made) == 2


def test_where_the_system_has_no_files_left_no_file_is_blamed(copy: Path, spoilt: SiteClient) -> None:
    real, lacks = SiteFolder._reader, [True]

    def out_of_files(folder: SiteFolder, place: SplitKey) -> object:
        if lacks:
            with reading(copy / "some.h5", "an HDF5 file"):
                raise OSError(errno.EMFILE, "too many")
        return real(folder, place)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SiteFolder, "_reader", out_of_files)
        client = make_client(copy)
        assert "too many open files" in fault(client.get(f"questions?hop={HOP}", status=500))
        lacks.clear()
        assert "fault" not in client.get(f"questions?hop={HOP}")


def test_a_damaged_block_of_questions_fails_alone(copy: Path, spoilt: SiteClient) -> None:
    path = Layout(copy).suite_h5(HOP, "carets", "complex_iid")
    spoil_first_questions(path)
    assert str(path) in fault(spoilt.get(f"pair/{HOP}/carets/complex_iid/3", status=500))
    spoilt.get(f"pair/{HOP}/carets/complex_iid/200")
    page = spoilt.get(f"pairs/{HOP}/carets/complex_iid?page=6")  # pairs 125 to 149: rows 250 to 299
    assert page.count('class="fault"') == 256 - 250
    assert page.count('<p class="text">') == 300 - 256


def test_words_of_a_damaged_block_are_not_found_but_its_answers_are(copy: Path, spoilt: SiteClient) -> None:
    path = Layout(copy).questions_h5(HOP, "complex_iid")
    spoil_first_questions(path)
    page = spoilt.get(f"questions?hop={HOP}&split=complex_iid")
    assert f"{path}:" in fault(page)
    assert "of 72 questions" in text_of(page)
    assert page.count('class="fault"') == 1 + 25  # words and mention are not known


def test_a_damaged_image_or_mask_fails_alone(copy: Path, spoilt: SiteClient) -> None:
    layout = Layout(copy)
    png = min(layout.images("test_iid").glob("*.png"))
    index = int(png.stem.rpartition("_")[2])
    png.write_bytes(b"not an image")
    answer = spoilt.raw.get(f"/{TOKEN}/image/test_iid/{index}.png")
    assert answer.status_code == 500
    assert answer.text.startswith(f"{png}: not a whole PNG file")
    passes = layout.passes_h5("test_iid")
    passes.write_bytes(passes.read_bytes()[:1000])
    answer = spoilt.raw.get(f"/{TOKEN}/mask/test_iid/{index}.png")
    assert answer.status_code == 500
    assert str(passes) in answer.text
    spoilt.get(f"question/{HOP}/complex_iid/0")


def test_without_its_scene_a_question_is_still_shown(copy: Path, spoilt: SiteClient) -> None:
    path = Layout(copy).scene_shard("test_iid", 0)
    path.write_text(path.read_text().replace('"objects":[', '"objects":3,"other":['))
    broken = spoilt.get(f"question/{HOP}/complex_iid/0")
    assert str(path) in fault(broken)
    path.unlink()
    page = spoilt.get(f"question/{HOP}/covr_test/0")
    assert str(path) in fault(page)
    assert 'class="step' in page
    page = spoilt.get(f"questions?hop={HOP}&split=complex_iid")
    assert "of 72 questions" in text_of(page)


def test_scenes_whose_values_make_no_sense_are_a_sentence(copy: Path, spoilt: SiteClient) -> None:
    path = Layout(copy).scene_shard("test_iid", 0)
    path.write_text(re.sub(r'"bbox":\[[^]]*\]', '"bbox":"<b>"', path.read_text()))
    page = spoilt.get(f"question/{HOP}/complex_iid/0")
    assert "scenes/test_iid" in fault(page)
    assert "<b>" not in fault(page)
    assert 'class="step' in page


def test_a_folder_that_goes_away_comes_back(copy: Path, spoilt: SiteClient, tmp_path: Path) -> None:
    spoilt.get(f"question/{HOP}/complex_iid/0")
    copy.rename(tmp_path / "moved")
    for address in ("", f"questions?hop={HOP}", f"question/{HOP}/complex_iid/0"):
        assert "is no longer there" in fault(spoilt.get(address, status=500))
    assert spoilt.raw.get(f"/{TOKEN}/image/test_iid/1.png").status_code == 500
    assert spoilt.raw.get(f"/{TOKEN}/style.css").status_code == 200
    (tmp_path / "moved").rename(copy)
    spoilt.get(f"question/{HOP}/complex_iid/0")


@pytest.mark.slow
def test_a_folder_that_grows_is_read_again(copy: Path, spoilt: SiteClient) -> None:
    assert "carets" in spoilt.get("")
    before = text_of(spoilt.get(f"questions?hop={HOP}"))
    assert run_command(["suite", "carets", str(copy), "--hop", HOP, "--remove", "--quiet"]) == 0
    assert "carets" not in spoilt.get("")
    spoilt.get(f"pairs/{HOP}/carets/complex_iid", status=404)
    assert text_of(spoilt.get(f"questions?hop={HOP}")) == before


def test_a_manifest_that_is_damaged_is_a_sentence(copy: Path, spoilt: SiteClient) -> None:
    content = Layout(copy).manifest.read_bytes()
    Layout(copy).manifest.write_bytes(content[:500])
    assert "put a whole copy there" in fault(spoilt.get("", status=500))
    Layout(copy).manifest.write_bytes(content)
    spoilt.get("")


def test_an_index_of_a_folder_that_changes_meanwhile_is_not_kept(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(folder: SiteFolder, hop: str, progress: Progress) -> Index:
        manifest = Layout(copy).manifest
        manifest.write_bytes(manifest.read_bytes() + b"\n")
        return read_index(folder, hop, progress)

    monkeypatch.setattr("clevrhope.browse.indexes.read_index", change)
    indexes = Indexes(SiteFolder(copy), Silent())
    with refused(DatasetError):
        made_index(indexes, HOP)
    assert indexes.ready(HOP) is None


def made_index(indexes: Indexes, hop: str) -> Index:
    """The index of a sub-dataset once it is made."""
    found: list[Index | Making] = []

    def is_made() -> bool:
        found.append(indexes.get(hop))
        return isinstance(found[-1], Index)

    wait_until(is_made, "the index is made")
    assert isinstance(found[-1], Index)
    return found[-1]


def test_only_the_latest_indexes_stay_in_memory(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.browse.indexes.INDEXES_KEPT", 1)
    indexes = Indexes(SiteFolder(dataset), Silent())
    made = made_index(indexes, HOP)
    assert indexes.get(HOP) is made
    made_index(indexes, "none")
    assert made_index(indexes, HOP) is not made


@pytest.mark.parametrize(
    "row",
    [
        {"hop": "red_cube"},
        {"split": "nothing"},
        {"question_index": 72},
        {"suite": "carets", "suite_sha256": "0" * 12},
    ],
    ids=["hop", "split", "question_index", "suite"],
)
def test_predictions_about_other_questions_are_named(dataset: Path, tmp_path: Path, row: dict) -> None:
    first = {"hop": HOP, "split": "complex_iid", "question_index": 0, "answer": "yes"}
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps({**first, **row}) + "\n")
    with refused(PredictionsError):
        make_client(dataset, [str(path)])
    path.write_text("\n".join(json.dumps({**first, **each}) for each in ({}, row)))
    check_words(fault(make_client(dataset, [str(path)]).get("")))


def test_a_run_that_cannot_be_used_is_named(dataset: Path, tmp_path: Path, predictions: list[str]) -> None:
    (tmp_path / "run" / "predictions").mkdir(parents=True)
    (tmp_path / "run" / "run.json").write_text("{}")
    with refused(PredictionsError):
        make_client(dataset, [str(tmp_path / "run")])
    client = make_client(dataset, [str(tmp_path / "run"), predictions[0]])
    assert "run.json" in fault(client.get(""))


def test_other_folders_are_sentences(tmp_path: Path, copy: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with refused(DatasetError):
            make_client(path)
    shutil.rmtree(copy / "hops")
    shutil.rmtree(copy / "covr", ignore_errors=True)
    shutil.rmtree(copy / "nonce")
    with refused(DatasetError):
        make_client(copy)


def test_a_damaged_file_of_images_costs_the_images_alone(copy: Path, spoilt: SiteClient) -> None:
    layout = Layout(copy)
    shutil.rmtree(layout.images("test_iid"))
    packed = layout.images_h5("test_iid")
    packed.write_bytes(packed.read_bytes()[:1000])
    page = spoilt.get(f"question/{HOP}/complex_iid/0")
    assert str(packed) in fault(page)
    assert page.count('<g class="box') > 0
    assert 'class="step' in page
    assert "fault" not in spoilt.get(f"questions?hop={HOP}&split=complex_iid")


def test_an_index_that_fails_for_another_reason_is_a_sentence(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("color")

    monkeypatch.setattr("clevrhope.browse.indexes.read_index", fail)
    client = make_client(dataset)
    for _ in range(50):
        answer = client.raw.get(f"/{TOKEN}/questions?hop={HOP}")
        if answer.status_code == 500:
            break
    assert '"color" is missing' in fault(answer.text)
    monkeypatch.undo()
    client.get(f"questions?hop={HOP}")
