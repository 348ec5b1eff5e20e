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
from clevrhope.describe.info.overview import KINDS, Overview
from clevrhope.errors import DatasetError
from wording import check_refused, check_words

KEPT = Path(__file__).parents[1] / "data" / "kept_folder"


def spoilt(folder: Path, out: Path, **changes: Any) -> Path:
    """A copy of a folder with these changes of its manifest."""
    path = shutil.copytree(folder, out) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return path.parent


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
    assert set(found) == set(KINDS) - {"episodes with nonce words"}
    files = [path for path in mixed.rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert sum(found.values()) == sum(path.stat().st_size for path in files)
    of_suites = [path for path in files if "suites" in path.parts]
    assert found["suites"] == sum(path.stat().st_size for path in of_suites) > 0


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
    made = Overview(folder).reproduction
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


@pytest.mark.parametrize("minimal_pool", [[], ["--minimal-pool", "own"]], ids=["shared", "own"])
def test_a_folder_by_a_design_is_made_again_by_naming_it(
    minimal_pool: list[str], tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["build", "--hop", "metal_red", "--design", "official", *minimal_pool]
    cli(*words, "--splits", "complex_ood", "--no-render", "--quiet", "--seed", "3", "--out", "made")
    made = info(cli, Path("made"))["reproduction"]
    assert (made["settings"], made["notes"]) == ({}, [])
    (command,) = made["commands"]
    assert " ".join(["--design official", *minimal_pool]) in command
    cli(*command.replace("made", "again").split()[1:], "--quiet")
    assert tree(Path("again")) == tree(Path("made"))


def test_one_command_makes_several_diversities_and_their_combinations_are_named(
    tmp_path: Path, cli: Cli
) -> None:
    out = tmp_path / "set"
    words = ["build", "--hop", "cyan_cylinder", "--diversity", "4,8", *FEW, "--no-render", "--seed", "1"]
    cli(*words, "--out", out)
    (command,) = info(cli, out)["reproduction"]["commands"]
    assert "--diversity 4,8" in command
    (line,) = (line for line in cli("info", out).out.splitlines() if line.startswith("cyan_cylinder-d4 sees"))
    check_words(line)


def test_images_that_an_interrupted_build_left_are_counted(mixed: Path, tmp_path: Path, cli: Cli) -> None:
    pools = json.loads((mixed / "manifest.json").read_text())["pools"]
    n = pools.pop("train")["images"]
    folder = spoilt(mixed, tmp_path / "set", pools=pools, complete=False)
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
    assert info(cli, KEPT)["reproduction"] is not None
    folder = spoilt(KEPT, tmp_path / "kept", version="1")
    found = info(cli, folder)
    assert (found["dataset_version"], found["reproduction"]) == ("1", None)
    assert "which makes version 2 and reads others" in cli("info", folder).out


def test_features_are_found(only_h5: Path, tmp_path: Path, cli: Cli) -> None:
    folder = Path(shutil.copytree(only_h5, tmp_path / "set"))
    cli("features", folder, "--kind", "attributes", "--quiet")
    found = info(cli, folder)
    (store,) = found["features"]
    files = [path for path in (folder / "features").rglob("*") if path.is_file()]
    assert store["kind"] == "attributes"
    assert store["pools"] == ["test_ood"]
    assert store["bytes"] == found["bytes"]["features"] == sum(path.stat().st_size for path in files)


def test_an_unfinished_folder_and_a_part_say_so(limited: Path, tmp_path: Path, cli: Cli) -> None:
    folder = spoilt(limited, tmp_path / "set", complete=False)
    assert "not finished; run the dataset's build again to finish it" in cli("info", folder).out
    cli("build", "--hop", "red_cube", "--no-render", "--seed", "1", "--shard", "1/2", "--out", tmp_path / "1")
    found = info(cli, tmp_path / "1")
    assert (found["part"], found["reproduction"]) == ("1/2", None)
    assert "part 1/2 of a dataset; clevrhope merge joins the parts" in cli("info", tmp_path / "1").out


def test_a_damaged_manifest_is_a_sentence(limited: Path, tmp_path: Path) -> None:
    text = (limited / "manifest.json").read_text()
    for n in (0, 500, len(text) - 3):
        (tmp_path / "manifest.json").write_text(text[:n])
        check_refused(DatasetError, existing_manifest, tmp_path / "manifest.json")
