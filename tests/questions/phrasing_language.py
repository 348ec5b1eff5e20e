"""The sentences that each phrasing of the templates can give, as automata.

Written apart from the engine, so that the templates are checked against what their format means and not
against one reader of it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Attribute values of CLEVR by the letter that their parameters begin with.
VALUES = {
    "Z": ("small", "large"),
    "C": ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"),
    "M": ("rubber", "metal"),
    "S": ("cube", "sphere", "cylinder"),
    "R": ("left", "right", "behind", "front"),
}
# CLEVR's rule for "other" looks at questions that have exactly these parameters.
TWO_OBJECTS = {f"<{letter}{number}>" for letter in "ZCMS" for number in ("", "2")}


@dataclass(frozen=True)
class Phrasing:
    """One text of a family: what its sentences are made of."""

    name: str  # file, family and text: "one_hop[2].text[0]"
    text: str
    family: dict[str, Any]
    synonyms: dict[str, list[str]]

    @property
    def null_params(self) -> set[str]:
        """Parameters that a constraint keeps unset."""
        return {p for c in self.family["constraints"] if c["type"] == "NULL" for p in c["params"]}

    def items(self) -> Iterator[tuple[str, bool]]:
        """The text's words and slots in order, each with whether it may be left out."""
        optional = False
        for item in re.findall(r"[\[\]]|<\w+>s?|\w+|[;,?]", self.text):
            if item in "[]":
                optional = item == "["
            else:
                yield item, optional

    def choices(self, item: str) -> list[list[str]]:
        """What a word or slot can become, each as a list of words; [] is nothing at all."""
        if not item.startswith("<"):
            drop = item in ("other", "another") and {p["name"] for p in self.family["params"]} == TWO_OBJECTS
            return [[item.lower()]] + ([[]] if drop and item == "other" else [["a"]] if drop else [])
        letter, plural = item[1], item.endswith("s")
        param = item.removesuffix("s")
        values = () if param in self.null_params else VALUES[letter]
        words = [word for value in values for word in self.synonyms.get(value, [value])]
        if letter == "S" and not self._always_set(param):
            words += self.synonyms["thing"]
        choices = [(word + "s" * plural).split() for word in words]
        may_be_unset = letter in "ZCM" and not self._always_set(param)
        return choices + [[]] * may_be_unset

    def _always_set(self, param: str) -> bool:
        """Whether the one node that takes the parameter is a plain filter, whose value is never left out."""
        plain = ("filter_size", "filter_color", "filter_material", "filter_shape")
        return any(
            n["type"] in plain and param in n.get("side_inputs", ()) and len(n["side_inputs"]) == 1
            for n in self.family["nodes"]
        )


def read_phrasings(folder: Path, *, synonyms_of: Path | None = None, prefix: str = "") -> list[Phrasing]:
    """All phrasings of a folder of template files, in order of file name, family and text.

    The words for values are those of another folder if that is given; `prefix` begins the phrasings' names.
    """
    synonyms = json.loads(((synonyms_of or folder) / "synonyms.json").read_text())
    return [
        Phrasing(f"{prefix}{path.stem}[{i}].text[{j}]", text, family, synonyms)
        for path in sorted(folder.glob("*.json"))
        if path.name not in ("synonyms.json", "families.json", "covr.json", "nonce.json")
        for i, family in enumerate(json.loads(path.read_text()))
        for j, text in enumerate(family["text"])
    ]


class Automaton:
    """A phrasing's sentences as a nondeterministic automaton; case and white space do not count."""

    def __init__(self, phrasing: Phrasing) -> None:
        self.steps: list[dict[str, set[int]]] = [{}]  # by state: word -> next states
        self.skips: list[set[int]] = [set()]  # by state: next states without a word
        self.end = 0
        open_at: int | None = None
        for item, optional in phrasing.items():
            if optional and open_at is None:
                open_at = self.end
            if not optional and open_at is not None:
                self.skips[open_at].add(self.end)
                open_at = None
            self._append(phrasing.choices(item))

    def _state(self) -> int:
        self.steps.append({})
        self.skips.append(set())
        return len(self.steps) - 1

    def _append(self, choices: list[list[str]]) -> None:
        start, end = self.end, self._state()
        for words in choices:
            at = start
            for word in words[:-1]:
                after = self._state()
                self.steps[at].setdefault(word, set()).add(after)
                at = after
            if words:
                self.steps[at].setdefault(words[-1], set()).add(end)
            else:
                self.skips[start].add(end)
        self.end = end

    def closure(self, state: int) -> set[int]:
        """The states that can be reached without a word."""
        reached, todo = {state}, [state]
        while todo:
            for after in self.skips[todo.pop()] - reached:
                reached.add(after)
                todo.append(after)
        return reached


def shared_sentences(phrasings: list[Phrasing]) -> dict[tuple[str, str], str]:
    """Pairs of phrasings (by name) that can give the same sentence, with one such sentence each.

    Walks all automata at once, word by word, as long as two of them can still agree.
    """
    automata = [Automaton(p) for p in phrasings]
    closures: list[dict[int, frozenset[int]]] = [{} for _ in automata]

    def close(which: int, state: int) -> frozenset[int]:
        if state not in closures[which]:
            closures[which][state] = frozenset(automata[which].closure(state))
        return closures[which][state]

    start = frozenset((i, s) for i in range(len(automata)) for s in close(i, 0))
    seen, todo = {start}, [(start, "")]
    found: dict[tuple[str, str], str] = {}
    while todo:
        states, sentence = todo.pop()
        ended = sorted({i for i, s in states if s == automata[i].end})
        for k, i in enumerate(ended):
            for j in ended[k + 1 :]:
                found.setdefault((phrasings[i].name, phrasings[j].name), sentence.strip())
        after: dict[str, set[tuple[int, int]]] = {}
        for i, s in states:
            for word, targets in automata[i].steps[s].items():
                after.setdefault(word, set()).update((i, c) for t in targets for c in close(i, t))
        for word, targets in after.items():
            if len({i for i, _ in targets}) < 2:
                continue
            key = frozenset(targets)
            if key not in seen:
                seen.add(key)
                todo.append((key, f"{sentence} {word}"))
    return found
