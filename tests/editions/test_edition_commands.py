"""Building, verifying and describing an edition, as a whole, in parts, privately, and damaged."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_content_digests import edit_pixel
from tiny_edition import DEFINITION, HOPS, NAME, SEED, write_definition

from clevrhope.__main__ import run_command
from clevrhope.dataset.clevr_json import read_rows
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest, write_manifest
from clevrhope.dataset.question_table import read_scenes_in_use
from clevrhope.editions import edition_names, frozen, read_edition, verify
from clevrhope.editions.content import PARTS, whole_digest
from clevrhope.images.renderers import RENDERERS

PRIVATE_SEED = 17_364_209_581_736_402_911


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command line; gives its exit code, and what it printed to both streams."""

    def command(*words: object) -> tuple[int, str]:
        capsys.readouterr()
        code = run_command([str(word) for word in words])
        seen = capsys.readouterr()
        return code, seen.out + seen.err

    return command


@pytest.fixture(scope="session")
def private(frozen: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("private") / "own"
    words = ["build", "--edition", NAME, "--seed", str(PRIVATE_SEED), "--passes", "mask", "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clevrhope.editions.definition.FOLDER", frozen)
        assert run_command(words) == 0
    return out


def test_the_whole_edition(built: Path, editions: Path, run: Any) -> None:
    code, text = run("verify", built)
    assert code == 0
    assert f"{built}: the content is that of everybody's {NAME}: 12 splits, " in text
    of_all = frozen.read_frozen(read_edition(NAME)).splits
    assert f"Digest of text and images: {whole_digest(of_all, PARTS)}\n" in text
    assert f"Digest of the text:        {whole_digest(of_all, PARTS[:2])}\n" in text


@pytest.mark.slow
def test_a_part_made_by_several_runs(editions: Path, built: Path, tmp_path: Path, run: Any) -> None:
    out = tmp_path / "part"
    words = ("build", "--edition", NAME, "--out", out)
    code, text = run(*words, "--hop", "cylinder_cyan", "--splits", "train,complex_ood", "--no-render")
    assert code == 0
    assert f"is that of everybody's {NAME}: 2 of 12 splits, 95 questions, " in text
    assert "no images\n" in text
    assert "Digest of text and images" not in text
    code, text = run(*words, "--hop", "cyan_cylinder")
    assert code == 0
    assert "6 of 12 splits, " in text
    code, text = run(*words, "--json")
    assert code == 0
    (line,) = (line for line in text.splitlines() if line.startswith("{"))
    found = json.loads(line)["edition"]
    assert found["ok"]
    assert found["splits_of_edition"] == 12
    assert found["digest"] == verify(built).digest


def test_the_folder_says_which_edition_it_is(built: Path, editions: Path, tmp_path: Path, run: Any) -> None:
    out = Path(shutil.copytree(built, tmp_path / "same"))
    code, text = run("build", "--hop", "large_rubber", "--out", out)
    assert code == 0
    assert f"is that of everybody's {NAME}: 12 splits" in text
    code, text = run("build", "--hop", "red_cube", "--out", out)
    assert code == 2
    assert "red_cube is not one of its pairs, which are large_rubber, cyan_cylinder" in text
    code, text = run("build", "--hop", "large_rubber", "--seed", SEED + 1, "--out", out)
    assert code == 2
    assert f"{out}: holds {NAME}, but a private edition of {NAME} was asked for; choose another --out" in text


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--train-questions", "100"], "sizes.train is 90 in the edition, 100 asked for"),
        (["--preset", "small"], "sizes.train is 90 in the edition, 5600 asked for"),
        (["--minimal-pool", "shared"], 'minimal_pool is "own" in the edition, "shared" asked for'),
        (["--strictness", "implied"], "strictness"),
        (
            ["--renderer", "native", "--quality", "high"],
            'rendering.quality is "draft" in the edition, "high"',
        ),
        (["--renderer", "blender"], "rendering."),
        (["--covr"], "--covr"),
        (["--prelim", "cyan"], "--prelim"),
        (["--diversity", "8"], "--diversity"),
        (["--hop", "none"], "none is not one of its pairs"),
        (["--hold-out", "color=red,shape=cube"], "color=red,shape=cube is not one of its pairs"),
    ],
)
def test_what_contradicts_an_edition_is_refused(
    options: list[str], named: str, editions: Path, tmp_path: Path, run: Any
) -> None:
    code, text = run("build", "--edition", NAME, *options, "--out", tmp_path / "out")
    assert code == 2
    assert f"clevrhope: --edition {NAME}: " in text
    assert named in text
    assert not (tmp_path / "out").exists()


def test_what_agrees_with_an_edition_is_taken(editions: Path, tmp_path: Path, run: Any) -> None:
    options = ("--preset", "demo", "--train-questions", 90, "--minimal-pool", "own", "--seed", SEED)
    code, text = run("plan", "--edition", NAME, *options, "--no-render", "--out", tmp_path / "out")
    assert code == 2  # the sizes of the preset are others
    assert "sizes.val_iid" in text
    code, text = run("plan", "--edition", NAME, *options[2:], "--no-render", "--out", tmp_path / "out")
    assert code == 0, text


def test_an_unknown_edition(editions: Path, tmp_path: Path, run: Any) -> None:
    code, text = run("build", "--edition", "tiny-2", "--out", tmp_path / "out")
    assert code == 2
    assert f'no edition "tiny-2" (did you mean "{NAME}"?); there are: {NAME}' in text


def test_a_folder_of_another_dataset(editions: Path, tmp_path: Path, run: Any) -> None:
    out = tmp_path / "other"
    assert run("build", "--hop", "cyan_cylinder", "--no-render", "--seed", SEED, "--out", out)[0] == 0
    code, text = run("build", "--edition", NAME, "--out", out)
    assert code == 2
    assert (
        f"{out}: holds a dataset that is no edition, but {NAME} was asked for; choose another --out" in text
    )


@pytest.mark.slow
def test_two_folders_that_are_no_edition_compare(tmp_path: Path, run: Any) -> None:
    texts = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        words = ("build", "--hop", "cyan_cylinder", "--no-render", "--seed", seed, "--out", tmp_path / name)
        assert run(*words, "--quiet")[0] == 0
        code, text = run("verify", tmp_path / name, "--quiet")
        assert code == 0
        assert "Two folders with the same digest have the same content." in text
        texts.append(text.replace(str(tmp_path / name), ""))
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.slow
def test_questions_over_several_images_count(tmp_path: Path, run: Any) -> None:
    out = tmp_path / "sets"
    assert run("build", "--hop", "none", "--covr", "--no-render", "--seed", 3, "--out", out)[0] == 0
    found = verify(out)
    assert found.ok
    assert {"train", "covr_train"} <= found.splits["none"].keys()
    assert len({each["questions"] for each in found.splits["none"].values()}) == len(found.splits["none"])


def test_a_private_edition(private: Path, built: Path, editions: Path, run: Any) -> None:
    code, text = run("verify", private)
    assert code == 0
    assert "everybody" not in text
    assert f"This is a private edition of {NAME}: two folders with the same digest" in text
    assert verify(private).digest != verify(built).digest
    assert existing_manifest(Layout(private).manifest).edition == {"name": NAME, "private": True}
    code, text = run("info", private)
    assert f"Edition    a private edition of {NAME}; keep its seed to yourself" in text


@pytest.mark.slow
def test_what_is_published_of_a_private_edition_has_no_seed(
    private: Path, editions: Path, tmp_path: Path, run: Any
) -> None:
    seed = str(PRIVATE_SEED).encode()
    holders = {path.relative_to(private).parts[0] for path in private.rglob("*") if holds(path, seed)}
    assert holders == {"manifest.json", "scenes"}
    pytest.importorskip("pyarrow")
    for form in ("clevr", "parquet", "coco", "webdataset", "iep"):
        out = tmp_path / form
        code, text = run("export", private, "--format", form, "--hop", "large_rubber", "--out", out)
        assert code == 0, text
        assert not [path for path in out.rglob("*") if holds(path, seed)]
        assert json.loads((out / "source.json").read_text("utf-8"))["seed"] is None


def test_an_export_of_a_public_edition_has_the_seed(
    built: Path, editions: Path, tmp_path: Path, run: Any
) -> None:
    out = tmp_path / "clevr"
    assert run("export", built, "--format", "clevr", "--hop", "large_rubber", "--out", out)[0] == 0
    assert json.loads((out / "source.json").read_text("utf-8"))["seed"] == SEED
    assert f"seed {SEED}, as the edition {NAME}" in (out / "README.md").read_text("utf-8")
    scenes = next(iter(sorted((out / "scenes").glob("*.json"))))
    assert next(read_rows(scenes))["stream"]["seed"] == SEED


def holds(path: Path, text: bytes) -> bool:
    return path.is_file() and text in path.read_bytes()


def test_info_and_datasheets_name_the_edition(built: Path, editions: Path, run: Any) -> None:
    code, text = run("info", built)
    assert code == 0
    assert f"Edition    {NAME}\n" in text
    assert f"--edition {NAME} --out {built}" in text
    assert "--preset" not in text
    for path in (built / "DATASHEET.md", built / "hops/cyan_cylinder/DATASHEET.md"):
        assert f"This is the edition `{NAME}` or a part of it" in path.read_text("utf-8")


@pytest.mark.slow
def test_what_info_says_makes_it_again(private: Path, editions: Path, tmp_path: Path, run: Any) -> None:
    code, text = run("info", private, "--json")
    (command,) = json.loads(text)["reproduction"]["commands"]
    again = tmp_path / "again"
    code, text = run(*command.replace(str(private), str(again)).split()[1:])
    assert code == 0
    assert verify(again).digest == verify(private).digest


@pytest.mark.slow
def test_parts_of_several_machines(editions: Path, built: Path, tmp_path: Path, run: Any) -> None:
    for number in (1, 2):
        words = ("build", "--edition", NAME, "--shard", f"{number}/2", "--out", tmp_path / str(number))
        assert run(*words, "--quiet")[0] == 0
    code, text = run("merge", tmp_path / "1", tmp_path / "2", "--edition", NAME, "--out", tmp_path / "all")
    assert code == 0
    assert f"is that of everybody's {NAME}: 12 splits" in text
    assert verify(tmp_path / "all").digest == verify(built).digest


def test_damaged_files_are_named_and_the_rest_is_compared(copy: Path, run: Any) -> None:
    questions, scenes = copy / "hops/cyan_cylinder/train.h5", copy / "scenes/val_iid/0000.json"
    questions.write_bytes(questions.read_bytes()[:3000])
    scenes.write_bytes(scenes.read_bytes()[:2000])
    index = read_scenes_in_use(copy / "hops/cyan_cylinder/complex_ood.h5")[1][0]
    image = Layout(copy).image("test_ood", int(index))
    image.unlink()
    (copy / "images/test_ood.h5").unlink()
    code, text = run("verify", copy)
    assert code == 1
    assert f"{copy}: 3 files damaged or missing:" in text
    for path in (questions, scenes, image):
        assert path.name in text
    assert f"{copy}: what could be read is that of everybody's {NAME}" in text
    assert "Digest" not in text
    found = verify(copy).splits["cyan_cylinder"]
    assert "train" not in found
    assert found["val_iid"].keys() == {"questions", "images"}
    assert found["complex_ood"].keys() == {"questions", "scenes"}
    assert found["complex_iid"].keys() == set(PARTS)


def test_other_content_fails_verify_and_build(copy: Path, run: Any) -> None:
    edit_pixel(copy, "test_ood")
    code, text = run("verify", copy)
    assert code == 1
    assert f"{copy}: the content is not that of everybody's {NAME}:\n" in text
    layout = Layout(copy)
    manifest = existing_manifest(layout.manifest)
    kept = {name: each for name, each in manifest.files.items() if not name.startswith("images/")}
    write_manifest(layout.manifest, replace(manifest, files=kept))
    code, text = run("build", "--edition", NAME, "--out", copy)
    assert code == 1
    assert "other images, first image" in text
    code, text = run("build", "--edition", NAME, "--out", copy, "--quiet")
    assert code == 1
    assert "other images, first image" in text


def test_an_unfinished_build_is_not_compared(copy: Path, run: Any) -> None:
    layout = Layout(copy)
    write_manifest(layout.manifest, replace(existing_manifest(layout.manifest), complete=False))
    code, text = run("verify", copy)
    assert code == 1
    assert "not finished yet; run the dataset's build again to finish it" in text
    assert run("build", "--edition", NAME, "--out", copy)[0] == 0


@pytest.mark.slow
def test_an_engine_with_other_pixels_says_so(
    editions: Path, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any
) -> None:
    monkeypatch.setitem(RENDERERS, "native", replace(RENDERERS["native"], revision=99))
    monkeypatch.setattr(frozen, "software_version", lambda: "9.1")
    code, text = run("build", "--edition", NAME, "--out", tmp_path / "out")
    assert code == 2
    version = json.loads((editions / f"{NAME}.json").read_text("utf-8"))["clevrhope"]
    revision = existing_manifest(Layout(built).manifest).rendering["revision"]  # type: ignore[index]
    assert f"this version of clevrhope, 9.1, cannot make the edition {NAME} any more" in text
    assert f"the renderer's revision is {revision} there and 99 here" in text
    assert f"pip install clevrhope=={version}" in text
    assert not (tmp_path / "out").exists()
    assert run("verify", built)[0] == 0
    assert run("build", "--edition", NAME, "--no-render", "--out", tmp_path / "out")[0] == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("version", "the version of datasets is 0 there and 2 here"),
        ("world", "the fingerprint of the world is 0 there"),
        ("templates", "the fingerprint of the question templates is 0 there"),
    ],
)
def test_an_engine_with_other_text_says_so(
    name: str, words: str, editions: Path, built: Path, tmp_path: Path, run: Any
) -> None:
    path = editions / f"{NAME}.json"
    raw = json.loads(path.read_text("utf-8"))
    raw["engine"][name] = "0"
    path.write_text(json.dumps(raw), "utf-8")
    code, text = run("build", "--edition", NAME, "--no-render", "--out", tmp_path / "out")
    assert code == 2
    assert words in text
    assert run("verify", built)[0] == 0


def test_a_kind_of_split_that_is_newer_than_an_edition_changes_nothing(
    editions: Path, tmp_path: Path, run: Any
) -> None:
    path = editions / f"{NAME}.json"
    raw = json.loads(path.read_text("utf-8"))
    del raw["engine"]["questions"]["an_image"]["val_iid"]
    path.write_text(json.dumps(raw), "utf-8")
    assert run("plan", "--edition", NAME, "--no-render", "--out", tmp_path / "out")[0] == 0
    raw["engine"]["questions"]["an_image"]["train"] += 1
    path.write_text(json.dumps(raw), "utf-8")
    code, text = run("plan", "--edition", NAME, "--no-render", "--out", tmp_path / "out")
    assert code == 2
    assert "what is recorded of questions" in text


def test_a_broken_definition_is_named(editions: Path, tmp_path: Path, run: Any) -> None:
    write_definition(editions, "odd", DEFINITION.replace("train = 90", 'train = "many"'))
    code, text = run("plan", "--edition", "odd", "--out", tmp_path / "out")
    assert code == 2
    assert "odd.toml" in text
    assert edition_names() == ["odd", NAME]
    assert read_edition(NAME).hops == HOPS
