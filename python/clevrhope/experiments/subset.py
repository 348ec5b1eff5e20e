"""Subsets of the package's templates and values, for worlds that are simpler than CLEVR's."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from clevrhope.dataset.clevr_folder import TYPES
from clevrhope.errors import ConfigError
from clevrhope.questions import FAMILIES, SYNONYMS
from clevrhope.runtime import assets
from clevrhope.runtime.settings import suggestion


def subset_templates(
    names: Sequence[str], asks: Sequence[str], mentions: Sequence[str], where: str
) -> dict[str, bytes]:
    """The chosen template files and the synonyms, as file name -> content.

    Args:
        names: of the package's template files, without .json; empty for all.
        asks: functions that templates may end with, such as count and query_color; empty for all.
        mentions: attribute types that descriptions may name, such as color; empty for all.
        where: the place of these names, for messages.

    Raises:
        ConfigError: there is no such file or type, or no template that ends with such a function.
    """
    package = assets.question_templates()
    known = sorted(path.stem for path in package.glob("*.json") if path.name not in (SYNONYMS, FAMILIES))
    files = {SYNONYMS: (package / SYNONYMS).read_bytes()}
    ends: set[str] = set()
    for name in names or known:
        if name not in known:
            raise ConfigError(_unknown(where, "templates", name, known))
        content = (package / f"{name}.json").read_bytes()
        if asks or mentions:
            templates = json.loads(content)
            ends |= {_final_function(each) for each in templates}
            kept = [
                _mentioning(each, mentions) for each in templates if not asks or _final_function(each) in asks
            ]
            if not kept:
                continue
            content = json.dumps(kept, indent=2).encode()
        files[f"{name}.json"] = content
    for name in asks:
        if name not in ends:
            raise ConfigError(_unknown(where, "question that asks", name, sorted(ends)))
    for name in mentions:
        if name not in TYPES:
            raise ConfigError(_unknown(where, "type that is mentioned", name, TYPES))
    return files


def subset_values(wanted: Mapping[str, Sequence[str]], where: str) -> dict[str, dict[str, Any]]:
    """The package's properties with these values only; types without names keep all values.

    Raises:
        ConfigError: there is no such type or value.
    """
    source = assets.blender_assets() / "properties.json"
    properties: dict[str, dict[str, Any]] = json.loads(source.read_bytes())
    for kind, names in wanted.items():
        if kind not in properties:
            raise ConfigError(_unknown(where, "values", kind, list(properties)))
        for name in names:
            if name not in properties[kind]:
                raise ConfigError(_unknown(where, kind, name, list(properties[kind])))
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


def _unknown(where: str, what: str, name: str, known: Sequence[str]) -> str:
    return f'{where}: no {what} "{name}"{suggestion(name, known)}; there are: {", ".join(known)}'
