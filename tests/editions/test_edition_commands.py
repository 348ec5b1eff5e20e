"""Building, verifying and describing an edition, as a whole, in parts, privately, and damaged."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from building import Cli
from test_content_digests import edit_pixel
from tiny_edition import DEFINITION, HOPS, NAME, SEED, write_definition

from clevrhope.__main__ import run_command
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest, write_manifest
from clevrhope.dataset.question_table import read_table
from clevrhope.editions import edition_names, frozen, read_edition, verify
from clevrhope.editions.content import PARTS, whole_digest
from clevrhope.images.renderers import RENDERERS
from wording import check_words

PRIVATE_SEED = 17_364_209_581_736_402_911


def check_refused(cli: Cli, *words: object) -> None:
    """A command line is refused, with the sentence of the snapshot."""
    check_words(cli(*words, code=2).err.splitlines()[-1])


@pytest.fixture(scope="session")
def private(frozen: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("private") / "own"
    words = ["build", "--edition", NAME, "--seed", str(PRIVATE_SEED), "--passes", "mask", "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clevrhope.editions.definition.FOLDER", frozen)
        assert run_command(words) == 0
    return out


def test_the_whole_edition(built: Path, editions: Path, cli: Cli) -> None:
    text = cli("verify", built).out
    check_words(text)
    of_all = frozen.read_frozen(read_edition(NAME)).splits
    assert f"Digest of text and images: {whole_digest(of_all, PARTS)}\n" in text
    assert f"Digest of the text:        {whole_digest(of_all, PARTS[:2])}\n" in text


@pytest.mark.slow
def test_a_part_made_by_several_runs(editions: Path, built: Path, tmp_path: Path, cli: Cli) -> None:
    words = ("build", "--edition", NAME, "--out", tmp_path / "part")
    text = cli(*words, "--hop", "cylinder_cyan", "--splits", "train,complex_ood", "--no-render").out
    assert f"is that of everybody's {NAME}: 2 of 12 splits, 95 questions, " in text
    assert "no images\n" in text
    assert "Digest of text and images" not in text
    assert "6 of 12 splits, " in cli(*words, "--hop", "cyan_cylinder").out
    found = json.loads(cli(*words, "--json").out)["edition"]
    assert found["ok"]
    assert found["splits_of_edition"] == 12
    assert found["digest"] == verify(built).digest


def test_the_folder_says_which_edition_it_is(built: Path, editions: Path, tmp_path: Path, cli: Cli) -> None:
    out = Path(shutil.copytree(built, tmp_path / "same"))
    same = cli("build", "--hop", "large_rubber", "--out", out).out
    assert f"is that of everybody's {NAME}: 12 splits" in same
    check_refused(cli, "build", "--hop", "red_cube", "--out", out)
    check_refused(cli, "build", "--hop", "large_rubber", "--seed", SEED + 1, "--out", out)


@pytest.mark.parametrize(
    "options",
    [
        "--train-questions 100",
        "--preset small",
        "--minimal-pool shared",
        "--strictness implied",
        "--renderer native --quality high",
        "--renderer blender",
        "--covr",
        "--prelim cyan",
        "--diversity 8",
        "--hop none",
        "--hold-out color=red,shape=cube",
    ],
)
def test_what_contradicts_an_edition_is_refused(
    options: str, editions: Path, tmp_path: Path, cli: Cli
) -> None:
    check_refused(cli, "build", "--edition", NAME, *options.split(), "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_agrees_with_an_edition_is_taken(editions: Path, tmp_path: Path, cli: Cli) -> None:
    plan = ("plan", "--edition", NAME, "--no-render", "--out", tmp_path / "out")
    options = ("--train-questions", 90, "--minimal-pool", "own", "--seed", SEED)
    check_refused(cli, *plan, *options, "--preset", "demo")  # the other sizes of the preset differ
    cli(*plan, *options)


def test_an_unknown_edition(editions: Path, tmp_path: Path, cli: Cli) -> None:
    check_refused(cli, "build", "--edition", "tiny-2", "--out", tmp_path / "out")


def test_a_folder_of_another_dataset(editions: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "other"
    cli("build", "--hop", "cyan_cylinder", "--no-render", "--seed", SEED, "--out", out)
    check_refused(cli, "build", "--edition", NAME, "--out", out)


@pytest.mark.slow
def test_two_folders_that_are_no_edition_compare(tmp_path: Path, cli: Cli) -> None:
    texts = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        words = ("build", "--hop", "cyan_cylinder", "--no-render", "--seed", seed, "--out", tmp_path / name)
        cli(*words, "--quiet")
        text = cli("verify", tmp_path / name, "--quiet").out
        assert "Two folders with the same digest have the same content." in text
        texts.append(text.replace(str(tmp_path / name), ""))
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.slow
def test_questions_over_several_images_count(tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "sets"
    cli("build", "--hop", "none", "--covr", "--no-render", "--seed", 3, "--out", out)
    found = verify(out)
    assert found.ok
    assert {"train", "covr_train"} <= found.splits["none"].keys()
    assert len({each["questions"] for each in found.splits["none"].values()}) == len(found.splits["none"])


def test_a_private_edition(private: Path, built: Path, editions: Path, cli: Cli) -> None:
    check_words(cli("verify", private).out)
    assert verify(private).digest != verify(built).digest
    assert existing_manifest(Layout(private).manifest).edition == {"name": NAME, "private": True}
    told = f"Edition    a private edition of {NAME}; keep its seed to yourself"
    assert told in cli("info", private).out


@pytest.mark.slow
def test_what_is_published_of_a_private_edition_has_no_seed(
    private: Path, editions: Path, tmp_path: Path, cli: Cli
) -> None:
    seed = str(PRIVATE_SEED).encode()
    holders = {path.relative_to(private).parts[0] for path in private.rglob("*") if holds(path, seed)}
    assert holders == {"manifest.json", "scenes"}
    pytest.importorskip("pyarrow")
    for form in ("clevr", "parquet", "coco", "webdataset", "official"):
        out = tmp_path / form
        cli("export", private, "--format", form, "--hop", "large_rubber", "--out", out)
        assert not [path for path in out.rglob("*") if holds(path, seed)]
        assert json.loads((out / "source.json").read_text("utf-8"))["seed"] is None


def test_an_export_of_a_public_edition_has_the_seed(
    built: Path, editions: Path, tmp_path: Path, cli: Cli
) -> None:
    out = tmp_path / "clevr"
    cli("export", built, "--format", "clevr", "--hop", "large_rubber", "--out", out)
    assert json.loads((out / "source.json").read_text("utf-8"))["seed"] == SEED
    assert f"seed {SEED}, as the edition {NAME}" in (out / "README.md").read_text("utf-8")
    scenes = next(iter(sorted((out / "scenes").glob("*.json"))))
    assert json.loads(scenes.read_bytes())["scenes"][0]["stream"]["seed"] == SEED


def holds(path: Path, text: bytes) -> bool:
    return path.is_file() and text in path.read_bytes()


def test_info_and_datasheets_name_the_edition(built: Path, editions: Path, cli: Cli) -> None:
    text = cli("info", built).out
    assert f"Edition    {NAME}\n" in text
    assert f"--edition {NAME} --out {built}" in text
    assert "--preset" not in text
    for path in (built / "DATASHEET.md", built / "hops/cyan_cylinder/DATASHEET.md"):
        assert f"This is the edition `{NAME}` or a part of it" in path.read_text("utf-8")


@pytest.mark.slow
def test_what_info_says_makes_it_again(private: Path, editions: Path, tmp_path: Path, cli: Cli) -> None:
    (command,) = json.loads(cli("info", private, "--json").out)["reproduction"]["commands"]
    again = tmp_path / "again"
    cli(*command.replace(str(private), str(again)).split()[1:])
    assert verify(again).digest == verify(private).digest


@pytest.mark.slow
def test_parts_of_several_machines(editions: Path, built: Path, tmp_path: Path, cli: Cli) -> None:
    for number in (1, 2):
        cli("build", "--edition", NAME, "--shard", f"{number}/2", "--out", tmp_path / str(number), "--quiet")
    merged = cli("merge", tmp_path / "1", tmp_path / "2", "--edition", NAME, "--out", tmp_path / "all").out
    assert f"is that of everybody's {NAME}: 12 splits" in merged
    assert verify(tmp_path / "all").digest == verify(built).digest


def test_damaged_files_are_named_and_the_rest_is_compared(copy: Path, cli: Cli) -> None:
    questions, scenes = copy / "hops/cyan_cylinder/train.h5", copy / "scenes/val_iid/0000.json"
    questions.write_bytes(questions.read_bytes()[:3000])
    scenes.write_bytes(scenes.read_bytes()[:2000])
    index = read_table(copy / "hops/cyan_cylinder/complex_ood.h5").scenes[0]
    image = Layout(copy).image("test_ood", int(index))
    image.unlink()
    (copy / "images/test_ood.h5").unlink()
    check_words(cli("verify", copy, code=1).out)
    found = verify(copy).splits["cyan_cylinder"]
    assert "train" not in found
    assert found["val_iid"].keys() == {"questions", "images"}
    assert found["complex_ood"].keys() == {"questions", "scenes"}
    assert found["complex_iid"].keys() == set(PARTS)


def test_other_content_fails_verify_and_build(copy: Path, cli: Cli) -> None:
    edit_pixel(copy, "test_ood")
    check_words(cli("verify", copy, code=1).out)
    layout = Layout(copy)
    manifest = existing_manifest(layout.manifest)
    kept = {name: each for name, each in manifest.files.items() if not name.startswith("images/")}
    write_manifest(layout.manifest, replace(manifest, files=kept))
    for options in ([], ["--quiet"]):
        said = cli("build", "--edition", NAME, "--out", copy, *options, code=1)
        assert "other images, first image" in said.out + said.err


def test_an_unfinished_build_is_not_compared(copy: Path, cli: Cli) -> None:
    layout = Layout(copy)
    write_manifest(layout.manifest, replace(existing_manifest(layout.manifest), complete=False))
    check_words(cli("verify", copy, code=1).err)
    cli("build", "--edition", NAME, "--out", copy)


@pytest.mark.slow
def test_an_engine_with_other_pixels_says_so(
    editions: Path, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setitem(RENDERERS, "native", replace(RENDERERS["native"], revision=99))
    edit_frozen(editions, monkeypatch)
    check_refused(cli, "build", "--edition", NAME, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    cli("verify", built)
    cli("build", "--edition", NAME, "--no-render", "--out", tmp_path / "out")


def edit_frozen(editions: Path, monkeypatch: pytest.MonkeyPatch, **engine: object) -> None:
    """Changes what was frozen of the edition, which version 9.0 has made, while this version is 9.1."""
    monkeypatch.setattr(frozen, "software_version", lambda: "9.1")
    path = editions / f"{NAME}.json"
    raw = json.loads(path.read_text("utf-8"))
    raw["engine"].update(engine)
    path.write_text(json.dumps({**raw, "clevrhope": "9.0"}), "utf-8")


@pytest.mark.parametrize("name", ["version", "world", "templates"])
def test_an_engine_with_other_text_says_so(
    name: str, editions: Path, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    edit_frozen(editions, monkeypatch, **{name: "0"})
    check_refused(cli, "build", "--edition", NAME, "--no-render", "--out", tmp_path / "out")
    cli("verify", built)


def test_a_kind_of_split_that_is_newer_than_an_edition_changes_nothing(
    editions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    plan = ("plan", "--edition", NAME, "--no-render", "--out", tmp_path / "out")
    questions = dict(frozen.read_frozen(read_edition(NAME)).engine["questions"])
    older = {name: n for name, n in questions["an_image"].items() if name != "val_iid"}
    edit_frozen(editions, monkeypatch, questions={**questions, "an_image": older})
    cli(*plan)
    edit_frozen(editions, monkeypatch, questions={**questions, "an_image": {**older, "train": 10}})
    check_refused(cli, *plan)


def test_a_broken_definition_is_named(editions: Path, tmp_path: Path, cli: Cli) -> None:
    write_definition(editions, "odd", DEFINITION.replace("train = 90", 'train = "many"'))
    check_refused(cli, "plan", "--edition", "odd", "--out", tmp_path / "out")
    assert edition_names() == ["odd", NAME]
    assert read_edition(NAME).hops == HOPS
