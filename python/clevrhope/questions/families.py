"""Question families as in their files, for authors of suites: phrasings, parameters and nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.errors import TemplateError
from clevrhope.questions import template_files
from clevrhope.runtime import assets
from clevrhope.runtime.forms import INDEX, TEXT, Fields, ListOf, check_form
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.settings import suggestion


@dataclass(frozen=True)
class Family:
    """A question family."""

    name: str
    """The name by which entries of suites refer to it: its file and number, such as "one_hop 3"."""
    texts: tuple[str, ...]
    params: tuple[tuple[str, str], ...]
    """Name and type of each parameter."""
    nodes: tuple[str, ...]
    """Each node in words, such as "relate_filter_count(1; <R>, <Z2>)": its inputs, then its parameters."""


_NODE = Fields({"type": TEXT, "inputs": ListOf(INDEX)}, {"side_inputs": ListOf(TEXT)})
_FORM = ListOf(
    Fields(
        {
            "text": ListOf(TEXT, least=1),
            "nodes": ListOf(_NODE),
            "params": ListOf(Fields({"type": TEXT, "name": TEXT})),
        }
    )
)


def read_families(folder: Path | None = None, names: Sequence[str] = ()) -> list[Family]:
    """Reads the families of a folder of templates, or of the package's, in the order of files and numbers.

    Args:
        folder: a folder of templates; None for the package's.
        names: names of files ("one_hop") or families ("one_hop 3"); all if empty.

    Raises:
        TemplateError: there are no templates, one is malformed, or no family has a given name.
    """
    folder = folder or assets.question_templates()
    found = []
    for stem, content in template_files(folder):
        raw = parse_json(content, folder / f"{stem}.json", error=TemplateError)
        check_form(raw, _FORM, folder / f"{stem}.json", error=TemplateError)
        found += [_family(f"{stem} {number}", each) for number, each in enumerate(raw)]
    known = [family.name for family in found]
    files = list(dict.fromkeys(name.rpartition(" ")[0] for name in known))
    for name in names:
        if name not in known and name not in files:
            raise TemplateError(
                f'no family "{name}"{suggestion(name, [*files, *known])}; the files are: {", ".join(files)}'
            )
    return [
        family
        for family in found
        if not names or family.name in names or family.name.rpartition(" ")[0] in names
    ]


def _family(name: str, raw: dict[str, Any]) -> Family:
    nodes = [
        f"{node['type']}({'; '.join(filter(None, (', '.join(map(str, node['inputs'])), _listed(node))))})"
        for node in raw["nodes"]
    ]
    params = tuple((each["name"], each["type"]) for each in raw["params"])
    return Family(name, tuple(raw["text"]), params, tuple(nodes))


def _listed(node: dict[str, Any]) -> str:
    return ", ".join(node.get("side_inputs", ()))


def family_lines(families: Sequence[Family]) -> list[str]:
    """Families as text: the name with the first phrasing, then parameters and nodes."""
    lines = []
    for family in families:
        n = len(family.texts)
        more = f"  [{n} phrasings]" if n > 1 else ""
        lines.append(f"{family.name}: {family.texts[0]}{more}")
        lines.append(f"  parameters: {', '.join(f'{name} {kind}' for name, kind in family.params) or 'none'}")
        lines.append(f"  nodes: {', '.join(f'{k} {node}' for k, node in enumerate(family.nodes))}")
    return lines
