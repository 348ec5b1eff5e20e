"""`clevrhope info`: what a folder holds, and commands that make it again with its bytes."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from building import Cli, tree
from folders_made import FEW

from clevrhope.__main__ import run_command
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.describe.info import overview
from clevrhope.describe.info.overview import KINDS, read_overview
from wording import refused

KEPT = Path(__file__).parents[1] / "data" / "kept_folder"


def info(cli: Cli, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli("info", folder, "--json").out)
    return found


def test_numbers_are_those_of_the_manifest(mixed: Path, cli: Cli) -> None:
    found = info(cli, mixed)
    manifest = existing_manifest(mixed / "manifest.json")
    for name in ("seed", "rendering", "config", "splits", "covr", "suites", "pools"):
        assert found[name] == getattr(manifest, name), name
    assert found["complete"] is True
    assert found["images"] == len(list(mixed.glob("images/*/*.png"))) > 20
    assert set(found["splits"]) == {"none", "prelim_cyan", "rubber_cylinder"}


def test_bytes_are_those_on_disk(mixed: Path, cli: Cli) -> None:
    """And each file is counted under one kind."""
    found = info(cli, mixed)["bytes"]
    assert set(found) == set(KINDS)
    files = [path for path in mixed.rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert sum(found.values()) == sum(path.stat().st_size for path in files)
    of_suites = [path for path in files if "suites" in path.parts]
    assert found["suites"] == sum(path.stat().st_size for path in of_suites) > 0


def test_a_link_to_nothing_in_a_store_of_features_has_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("four")
    (tmp_path / "link").symlink_to("nowhere")
    assert overview._bytes_below(tmp_path) == 4


def test_text_says_what_json_says(mixed: Path, cli: Cli) -> None:
    found = info(cli, mixed)
    text = cli("info", mixed).out
    for command in found["reproduction"]["commands"]:
        assert command in text
    assert f"{found['questions']:,} questions in 3 sub-datasets, {found['images']:,} images; complete" in text
    assert "3 to 6 objects in a scene" in text
    assert "96 x 64 pixels, by clevrhope's native renderer (quality draft), revision" in text


@pytest.mark.parametrize("name", ["mixed", "limited", "only_h5"])
@pytest.mark.slow
def test_the_commands_make_the_folder_again(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder: Path = request.getfixturevalue(name)
    made = read_overview(folder).reproduction
    assert made is not None
    assert made.notes == ()
    monkeypatch.chdir(tmp_path)
    for file, text in made.settings.items():
        Path(file).write_text(text)
    for command in made.commands:
        program, *words = (word if word != str(folder) else "again" for word in shlex.split(command))
        assert program == "clevrhope"
        assert run_command([*words, "--quiet"]) == 0, command
    assert tree(tmp_path / "again") == tree(folder)


def test_a_folder_by_a_design_is_made_again_by_naming_it(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--splits", "complex_ood", "--no-render", "--quiet", "--seed", "3", "--out"]
    asked = ["build", "--hop", "metal_red", "--design", "official", "--minimal-pool", "own", *options]
    assert run_command([*asked, "made"]) == 0
    (command,) = info(cli, Path("made"))["reproduction"]["commands"]
    assert "--design official --minimal-pool own" in command
    asked = ["build", "--hop", "metal_red", "--design", "official", *options]
    assert run_command([*asked, "made_by_all_rules"]) == 0
    made = read_overview(Path("made_by_all_rules")).reproduction
    assert made is not None
    assert (made.settings, made.notes) == ({}, ())
    assert "--design official" in made.commands[0]
    words = made.commands[0].replace("made_by_all_rules", "again").split()[1:]
    assert run_command([*words, "--quiet"]) == 0
    assert tree(Path("again")) == tree(Path("made_by_all_rules"))


@pytest.mark.slow
def test_one_command_makes_several_diversities_and_their_combinations_are_named(
    tmp_path: Path, cli: Cli
) -> None:
    out = tmp_path / "set"
    words = ["build", "--hop", "cyan_cylinder", "--diversity", "4,8", *FEW, "--no-render", "--seed", "1"]
    cli(*words, "--out", out)
    (command,) = info(cli, out)["reproduction"]["commands"]
    assert "--diversity 4,8" in command
    (line,) = (line for line in cli("info", out).out.splitlines() if line.startswith("cyan_cylinder-d4 sees"))
    seen, held_out = line.removeprefix("cyan_cylinder-d4 sees ").split("; not ")
    assert held_out == "cyan cylinder"
    seen = seen.split(", ")
    assert len(set(seen)) == 3
    assert f"Train images show only {seen[0]}, {seen[1]} and {seen[2]}." in (out / "index.html").read_text()
    checked = {
        each["name"]: each["checked"]
        for each in json.loads(cli("audit", out, "--json", "--quiet").out)["checks"]
    }
    n_scenes = sum(len(json.loads(path.read_text())["scenes"]) for path in out.glob("scenes/*/*.json"))
    assert checked["palette"] == checked["apart"] == n_scenes  # those of both minimal sets count once


def test_images_that_an_interrupted_build_left_are_counted(mixed: Path, tmp_path: Path, cli: Cli) -> None:
    folder = Path(shutil.copytree(mixed, tmp_path / "set"))
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    n = manifest["pools"].pop("train")["images"]
    path.write_text(json.dumps({**manifest, "complete": False}))
    found = info(cli, folder)
    assert found["images_waiting"] == n > 0
    assert f"{found['images'] + n:,} images so far; not finished" in cli("info", folder).out


def test_settings_that_no_option_sets_come_as_a_file(cli: Cli) -> None:
    made = info(cli, KEPT)["reproduction"]
    (command,) = made["commands"]
    assert "--config settings.toml" in command
    assert "--splits train,complex_iid,complex_ood,minimal_iid,minimal_ood" in command
    sizes = "[sizes]\ntrain = 18\ncomplex_iid = 9\ncomplex_ood = 3\nminimal_places = 1\n"
    assert made["settings"] == {"settings.toml": sizes}


def test_a_folder_of_another_dataset_version_has_no_commands(tmp_path: Path, cli: Cli) -> None:
    folder = shutil.copytree(KEPT, tmp_path / "kept")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert info(cli, folder)["reproduction"] is not None
    (folder / "manifest.json").write_text(json.dumps({**manifest, "version": "1"}))
    found = info(cli, folder)
    assert (found["dataset_version"], found["reproduction"]) == ("1", None)
    assert "which makes version 2 and reads others" in cli("info", folder).out


def test_features_and_exports_are_found(only_h5: Path, tmp_path: Path, cli: Cli) -> None:
    folder = Path(shutil.copytree(only_h5, tmp_path / "set"))
    assert run_command(["features", str(folder), "--kind", "attributes", "--quiet"]) == 0
    for out, form in ((tmp_path / "beside", "clevr"), (folder / "inside", "iep")):
        words = ["export", str(folder), "--format", form, "--no-images", "--quiet", "--out", str(out)]
        assert run_command(words) == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other/source.json").write_text('{"format": "iep", "seed": 1}')
    found = info(cli, folder)
    (store,) = found["features"]
    files = [path for path in (folder / "features").rglob("*") if path.is_file()]
    assert store["kind"] == "attributes"
    assert store["pools"] == ["test_ood"]
    assert store["bytes"] == found["bytes"]["features"] == sum(path.stat().st_size for path in files)
    assert {each["format"]: each["folder"] for each in found["exports"]} == {
        "iep": str(folder / "inside"),
        "clevr": str(tmp_path / "beside"),
    }


def test_an_unfinished_folder_and_a_part_say_so(limited: Path, tmp_path: Path, cli: Cli) -> None:
    folder = Path(shutil.copytree(limited, tmp_path / "set"))
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete": true', '"complete": false'))
    assert "not finished; run the dataset's build again to finish it" in cli("info", folder).out
    part = tmp_path / "part"
    words = ["build", "--hop", "red_cube", "--no-render", "--seed", "1", "--quiet", "--shard", "1/2"]
    cli(*words, "--out", part)
    found = info(cli, part)
    assert (found["part"], found["reproduction"]) == ("1/2", None)
    assert "part 1/2 of a dataset; clevrhope merge joins the parts" in cli("info", part).out


def test_a_damaged_manifest_is_a_sentence(limited: Path, tmp_path: Path) -> None:
    from clevrhope.errors import DatasetError

    text = (limited / "manifest.json").read_text()
    for n in (0, 500, len(text) - 3):
        (tmp_path / "manifest.json").write_text(text[:n])
        with refused(DatasetError):
            existing_manifest(tmp_path / "manifest.json")
        if n < 1000:
            with refused(DatasetError):
                read_overview(tmp_path)
