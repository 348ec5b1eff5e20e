"""The rules that the entries of a suite's files set for its pairs, and the templates of their own families.

This is the audit's own reading of these files (docs/suites.md describes them). A family that an entry defines
becomes a template in CLEVR's format, so the audit's parser reads its texts like those of any other family.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clevrhope.errors import DatasetError
from clevrhope.questions import template_files
from clevrhope.questions.hypernyms import HYPERNYMS, hypernym_entries, read_hypernyms
from clevrhope.questions.suites import ORIGINALS, SUBJECTS, suite_fingerprint
from clevrhope.runtime.json_text import parse_json

UNSEEN, SEEN, EACH = "unseen", "seen", "each"
"""What entries can ask for in place of an answer, besides the answer itself and an arbitrary foil."""

SAME, FLIP, IS, POSITIVE = range(4)
"""Relations by their number in files."""

_RELATIONS = {"same": SAME, "flip": FLIP, "positive": POSITIVE}


@dataclass
class TestRules:
    """The rules that the entries of a test set."""

    __test__ = False  # pytest would collect a class with this name as tests

    tier: str
    kind: str
    """The type of question; "" for none."""
    swaps: bool
    """Whether a coin decides which question of a pair is called the original."""
    is_balanced: bool = True
    """Whether, in every IS entry, a coin decides if the partner asks for the answer or another value."""
    control_of: str = ""
    """The test for which this one is the control, on the same originals; "" for none."""
    cells: set[int] = field(default_factory=set)
    """The cells that its pairs can have."""
    foils: dict[tuple[int, int], str] = field(default_factory=dict)
    """(family of the dataset's question, family of the other) -> UNSEEN, SEEN or EACH."""
    relations: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    """(family of the dataset's question, family of the other) -> relations that their answers can have."""

    @property
    def has_groups(self) -> bool:
        """Whether an original has a partner for every value of an attribute."""
        return EACH in self.foils.values()


@dataclass(frozen=True)
class SuiteSource:
    """A suite's entries, read for the templates of a dataset."""

    tests: Mapping[str, TestRules]
    """The rules of each test, in the order of the tests' numbers."""
    templates: Sequence[tuple[str, bytes]]
    """Template files of the families that entries define, which are numbered after the dataset's."""
    places: Sequence[tuple[str, int]]
    """(file, number of the entry) of each of these families, as question files name them."""


def find_source(
    suite: str, fingerprint: str, folders: Sequence[Path], templates: Sequence[tuple[str, bytes]]
) -> SuiteSource | None:
    """The source of a suite, from the first folder whose files have the given fingerprint.

    Args:
        suite: the suite's name.
        fingerprint: fingerprint of the files from which the pairs were made.
        folders: folders that may hold these files.
        templates: the dataset's template files, by name and in the order of their families.

    Raises:
        DatasetError: the files are not a suite.
    """
    for path in folders:
        if any(path.glob("*.json")) and suite_fingerprint(path) == fingerprint:
            try:
                return _Reader(suite, path, templates).read()
            except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
                raise DatasetError(f"{path}: not a suite of paired tests ({error!r})") from error
    return None


class _Reader:
    """Reads the entries of one suite."""

    def __init__(self, suite: str, folder: Path, templates: Sequence[tuple[str, bytes]]) -> None:
        self._suite = suite
        self._files = {
            name: parse_json(content, folder / f"{name}.json") for name, content in template_files(folder)
        }
        if self._files.pop(Path(HYPERNYMS).stem, None) is not None:
            self._files[Path(HYPERNYMS).stem] = hypernym_entries(read_hypernyms(folder / HYPERNYMS))
        self._subjects: Mapping[str, Sequence[str]] = self._files.pop(Path(SUBJECTS).stem, {})
        self._known: list[tuple[str, str, Mapping[str, Any]]] = [
            (file, f"{file} {place}", template)
            for file, content in templates
            for place, template in enumerate(parse_json(content, f"{file}.json"))
        ]
        """File, name and template of each family of the dataset, and behind them of the suite's originals."""
        self._n_of_dataset = len(self._known)
        file = Path(ORIGINALS).stem
        self._originals: Sequence[Mapping[str, Any]] = self._files.pop(file, [])
        self._known += [(file, f"{file} {place}", each) for place, each in enumerate(self._originals)]
        self._tests: dict[str, TestRules] = {}
        self._places = [(f"suites/{suite}/{ORIGINALS}", place) for place in range(len(self._originals))]

    def read(self) -> SuiteSource:
        derived = [(f"suites/{self._suite}/{Path(ORIGINALS).stem}", json.dumps(self._originals).encode())]
        for file, entries in self._files.items():
            name = f"suites/{self._suite}/{file}"
            own: list[Mapping[str, Any]] = []
            for number, entry in enumerate(entries):
                for template in self._add(entry):
                    own.append(template)
                    self._places.append((f"{name}.json", number))
            derived.append((name, json.dumps(own).encode()))
        return SuiteSource(self._tests, derived, self._places)

    def _add(self, entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Records an entry's rules, and yields the templates that it defines."""
        rules = self._tests.setdefault(
            entry["test"], TestRules(entry["tier"], entry.get("type", ""), entry.get("sides") == "coin")
        )
        rules.control_of = entry.get("control_of", "")
        rules.cells |= {int(cell, 2) for cell in entry.get("cell", ()) or ("00", "01", "10", "11")}
        changes = entry.get("change", {}).values()
        foil = next((name for name in (UNSEEN, SEEN, EACH) if name in changes), "")
        relation = entry["relation"]
        number = _RELATIONS[relation] if isinstance(relation, str) else IS
        if number == IS:
            rules.is_balanced &= any(isinstance(change, dict) and "coin" in change for change in changes)
        makes_one = bool(entry.get("text") or entry.get("then"))
        for name in entry["source"]:
            for source in self._named(name):
                (base,) = self._named(entry["family"]) if entry.get("family") else [source]
                target = self._n_of_dataset + len(self._places) if makes_one else base
                rules.relations.setdefault((source, target), set()).add(number)
                if foil:
                    rules.foils[source, target] = foil
                if makes_one:
                    yield self._derived(entry, self._known[base][2], self._known[source][1])

    def _named(self, name: str) -> list[int]:
        """The families with a name: "one_hop 3", all of the file "one_hop", or "all" of the dataset."""
        if name == "all":
            return list(range(self._n_of_dataset))
        return [number for number, (file, family, _) in enumerate(self._known) if name in (file, family)]

    def _derived(self, entry: Mapping[str, Any], base: Mapping[str, Any], source: str) -> Mapping[str, Any]:
        """The template of the family that an entry derives from a known family."""
        nodes = list(base["nodes"])
        then = entry.get("then", [])
        last = len(nodes) - 1
        asked = next(iter(nodes[last]["inputs"]), None)
        # The last node asks the question; it is kept only if a following node takes its output.
        if then and not any("last" in node["inputs"] for node in then):
            nodes.pop()
        for node in then:
            numbers = {"last": last, "asked": asked, "previous": len(nodes) - 1}
            inputs = [numbers[name] if isinstance(name, str) else name for name in node["inputs"]]
            nodes.append({"type": node["type"], "inputs": inputs, "side_inputs": node.get("side_inputs", [])})
        return {
            "text": [
                text.replace("{X}", subject)
                for text in entry["text"]
                for subject in (self._subjects[source] if "{X}" in text else ("",))
            ],
            "nodes": nodes,
            "params": [*base["params"], *entry.get("params", [])],
            "constraints": base.get("constraints", []),
        }
