"""The commands that would make a dataset again, from its manifest."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.suite_questions import augmented_split
from clevrhope.errors import command_line
from clevrhope.runtime.toml import toml_text
from clevrhope.splits.hops import PRELIM

SETTINGS_FILE = "settings.toml"
"""The file for the settings of a request; those of a second request would be in settings-2.toml."""

NAMED_FILES: Mapping[str, str] = {
    "clevr": "the folder of CLEVR, whose train scenes are part of the dataset",
    "properties": "the file of properties that was used",
    "templates": "the folder of question templates that was used",
    "palette": "a file of the combinations of values, which are in manifest.json under palettes",
    "test-palette": "a file of the combinations of values, which are in manifest.json under palettes",
}
"""Options of `build` that name a file, of which the manifest has only the last part of its path."""


@dataclass(frozen=True)
class Reproduction:
    """How to make a dataset again.

    Attributes:
        commands: command lines, in order.
        settings: name of a settings file -> its content, for files that the commands name.
        notes: sentences on files that the commands need but that the manifest only names.
    """

    commands: tuple[str, ...]
    settings: Mapping[str, str]
    notes: tuple[str, ...]


def reproduction(folder: Path, manifest: Manifest) -> Reproduction:
    """The commands that make the dataset in `folder` again, each with the same options."""
    names: dict[str, str] = {}
    requests = []
    for request in manifest.requests:
        if "config" in request:
            text = toml_text(request["config"])
            name = SETTINGS_FILE.replace(".", f"-{len(names) + 1}.") if names else SETTINGS_FILE
            request = {**request, "config": names.setdefault(text, name)}
        requests.append(request)
    is_public = manifest.edition is not None and not manifest.edition["private"]
    seed = [] if is_public else ["--seed", str(manifest.seed)]
    commands = [["build", *_words(request), *seed, "--out", str(folder)] for request in requests]
    notes = [
        f"{value} stands for {what}."
        for name, what in NAMED_FILES.items()
        for value in dict.fromkeys(str(request[name]) for request in requests if name in request)
    ]
    return Reproduction(
        tuple(command_line(*words) for words in (*commands, *_suites(folder, manifest))),
        {name: text for text, name in names.items()},
        tuple(notes),
    )


def _words(options: Mapping[str, Any]) -> list[str]:
    """Options by name as words of a command line: a switch alone, a list as the option repeated."""
    words = []
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{name}"] if each is True else [f"--{name}", str(each)]
    return words


def _suites(folder: Path, manifest: Manifest) -> Iterator[list[str]]:
    """The commands that make the suites and the train sets with questions from them."""
    every = {hop for hop in manifest.splits if not hop.startswith(f"{PRELIM}_")}
    for suite in sorted({suite for suites in manifest.suites.values() for suite in suites}):
        train = augmented_split(suite)
        for is_train in (False, True):
            made = {
                (hop, split): entry
                for hop, suites in manifest.suites.items()
                for split, entry in suites.get(suite, {}).items()
                if (split == train) == is_train
            }
            if not made:
                continue
            hops = list(dict.fromkeys(hop for hop, _ in made))
            options = [] if every == set(hops) else [word for hop in hops for word in ("--hop", hop)]
            if is_train:
                options.append("--train")
            elif most := max(entry.get("visual", 0) for entry in made.values()):
                options += ["--visual", str(most)]
            else:
                hop, split = next(iter(made))
                search = _search_options(Layout(folder).suite_h5(hop, suite, split))
                options = search if "--texts" in search else [*options, *search]
            yield ["suite", suite, str(folder), *options]


def _search_options(path: Path) -> list[str]:
    """The options by which the pairs in a file were searched for or read; none if the file is gone."""
    search = read_table(path, PAIRS).attributes if path.is_file() else {}
    if "files" in search:
        return [word for name in search["files"] for word in ("--texts", name)]
    if "origin" not in search:
        return []
    return [
        *(["--from", "search"] if search["origin"] == "search" else []),
        "--per-cell",
        str(search["per_cell"]),
    ]
