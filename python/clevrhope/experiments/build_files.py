"""What an experiment's dataset is built with: its command line, settings, templates and properties.

Templates and values can be subsets of the package's, for worlds that are simpler than CLEVR's.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clevrhope.dataset.clevr_folder import TYPES
from clevrhope.errors import ConfigError
from clevrhope.experiments.config import BuildConfig, DatasetConfig
from clevrhope.questions import NO_TEMPLATES, SYNONYMS, template_files
from clevrhope.questions.suites import ORIGINALS, SUBJECTS, suite_folder, suite_names
from clevrhope.runtime import assets
from clevrhope.runtime.atomic import write_own
from clevrhope.runtime.settings import check_known
from clevrhope.runtime.toml import toml_text


class Places:
    """The paths of a dataset and of the files that it is built with.

    Attributes:
        dataset: the dataset.
        data: its folder.
        config: the file for build's `--config`.
        templates: the folder of its templates, where it uses a subset of the package's.
        properties: the file of its properties, where it uses a subset of the package's values.
    """

    def __init__(self, out: Path, dataset: DatasetConfig) -> None:
        """The paths in an experiment's folder; an existing dataset keeps its own."""
        config, name = out / "config", dataset.name
        self.dataset = dataset
        self.data = dataset.folder or out / "data" / name
        self.config = config / f"{name}.toml"
        self.templates = config / f"{name}_templates"
        self.properties = config / f"{name}_properties.json"

    def own_suite(self, suite: str) -> Path | None:
        """The folder of a suite that is a part of one of the package's; None where all of it is taken."""
        if not (self.dataset.templates or self.dataset.suites[suite]):
            return None
        return self.templates / "suites" / f"{suite}_{self.dataset.name}"

    def suite_name(self, suite: str) -> str:
        """The name of a suite in the dataset's folder; a part of one of the package's suites has its own."""
        own = self.own_suite(suite)
        return suite if own is None else own.name


def build_arguments(build: BuildConfig, places: Places) -> list[str]:
    """The command line of a build."""
    dataset = places.dataset
    options = command_options(
        out=places.data,
        seed=dataset.seed,
        hop=build.hops,
        diversity=",".join(map(str, build.diversity)),
        diversity_mode=build.mode if build.diversity else None,
        palette=build.palette,
        splits=",".join(dataset.splits),
        templates=places.templates if dataset.has_templates else None,
        properties=places.properties if dataset.values else None,
    )
    flags = [*(["--covr"] if dataset.covr else []), *([] if dataset.render else ["--no-render"])]
    return ["build", *options, *flags, "--config", str(places.config)]


def command_options(**values: Any) -> list[str]:
    """Options of a command line: lists repeat theirs; None and "" leave one out."""
    options = []
    for name, value in values.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            if each not in (None, ""):
                options += [f"--{name.replace('_', '-')}", str(each)]
    return options


def write_settings(places: Places, where: str) -> None:
    """Writes the settings that a build reads, and templates and properties where it uses subsets.

    `where` is the dataset's place in the experiment's file, for messages.

    Raises:
        ConfigError: there are no such templates, questions or values.
        DatasetError: a user's file is in the way, or a file was edited.
    """
    dataset = places.dataset
    files = {places.config.name: toml_text(dataset.config).encode()}
    if dataset.values:
        files[places.properties.name] = json.dumps(subset_values(dataset.values, where), indent=2).encode()
    write_own(places.config.parent, files)
    if dataset.has_templates:
        templates = subset_templates(dataset.templates, dataset.asks, dataset.mentions, where)
        write_own(places.templates, templates, alone="*.json")
    for suite, tests in dataset.suites.items():
        own = places.own_suite(suite)
        content = subset_suite(suite, dataset.templates, tests, where)
        if own is not None:
            write_own(own, content, alone="*.json")


def subset_templates(
    names: Sequence[str], asks: Sequence[str], mentions: Sequence[str], where: str
) -> dict[str, bytes]:
    """The chosen template files and the synonyms, as file name -> content; see `DatasetConfig`.

    Raises:
        ConfigError: there is no such file or type, or no template that ends with such a function.
    """
    package = assets.question_templates()
    known = sorted(path.stem for path in package.glob("*.json") if path.name not in NO_TEMPLATES)
    files = {SYNONYMS: (package / SYNONYMS).read_bytes()}
    ends: set[str] = set()
    check_known(names, known, f"{where}: no templates")
    for name in names or known:
        content = (package / f"{name}.json").read_bytes()
        if asks or mentions:
            templates = json.loads(content)
            ends |= {_final_function(each) for each in templates}
            kept = [_mentioning(e, mentions) for e in templates if not asks or _final_function(e) in asks]
            if not kept:
                continue
            content = json.dumps(kept, indent=2).encode()
        files[f"{name}.json"] = content
    check_known(asks, sorted(ends), f"{where}: no question that asks")
    check_known(mentions, TYPES, f"{where}: no type that is mentioned")
    return files


def subset_suite(suite: str, names: Sequence[str], tests: Sequence[str], where: str) -> dict[str, bytes]:
    """The files of one of the package's suites with the chosen tests (empty for all) of the chosen templates.

    They are given as file name -> content.

    Raises:
        ConfigError: there is no such suite or test, or no template that the chosen tests take.
    """
    check_known([suite], suite_names(), f"{where}: no suite")
    known: dict[str, None] = {}
    files, whole = {}, {}
    for name, content in template_files(suite_folder(suite)):
        if f"{name}.json" in (SUBJECTS, ORIGINALS):
            whole[f"{name}.json"] = content
            continue
        entries = json.loads(content)
        known |= dict.fromkeys(entry["test"] for entry in entries)
        kept = [_of_templates(entry, names) for entry in entries if not tests or entry["test"] in tests]
        if any(kept):
            files[f"{name}.json"] = json.dumps([each for each in kept if each], indent=2).encode()
    check_known(tests, known, f"{where}.suites: no test of {suite}")
    if not files:
        raise ConfigError(f"{where}.suites: no test of {suite} is about these templates")
    return {**files, **whole}


def _of_templates(entry: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any] | None:
    """A test's entry for the chosen template files and the suite's own; None if it needs others."""
    if not names:
        return {**entry}
    known = (*names, Path(ORIGINALS).stem)
    source = [family for family in entry["source"] if family == "all" or family.split()[0] in known]
    if not source or ("family" in entry and entry["family"].split()[0] not in known):
        return None
    return {**entry, "source": source}


def subset_values(wanted: Mapping[str, Sequence[str]], where: str) -> dict[str, dict[str, Any]]:
    """The package's properties with these values only; types without names keep all values.

    Raises:
        ConfigError: there is no such type or value.
    """
    source = assets.blender_assets() / "properties.json"
    properties: dict[str, dict[str, Any]] = json.loads(source.read_bytes())
    check_known(wanted, properties, f"{where}: no values")
    for kind, names in wanted.items():
        check_known(names, properties[kind], f"{where}: no {kind}")
        if names:
            properties[kind] = {name: properties[kind][name] for name in names}
    return properties


def _mentioning(template: Mapping[str, Any], mentions: Sequence[str]) -> dict[str, Any]:
    """The template with the parameters of all other types set to be empty."""
    others = [kind.capitalize() for kind in TYPES if mentions and kind not in mentions]
    held = {each["params"][0] for each in template["constraints"] if each["type"] == "NULL"}
    empty = [
        {"type": "NULL", "params": [each["name"]]}
        for each in template["params"]
        if each["type"] in others and each["name"] not in held
    ]
    return {**template, "constraints": [*template["constraints"], *empty]}


def _final_function(template: Mapping[str, Any]) -> str:
    """The function that a template ends with, taken out of a macro if it is in one."""
    end = str(template["nodes"][-1]["type"])
    return next((name for name in ("count", "exist") if end.endswith(f"_{name}")), end)
