"""Problems in predictions, counted by kind over the whole input, so that one message shows them all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clevrhope.runtime.settings import suggestion

EXAMPLES = 3
"""Number of problems of each kind that a message names; all are counted."""

_SINGULAR_AND_PLURAL: Mapping[str, tuple[str, str]] = {
    "hops missing": ("HOP without predictions", "HOPs without predictions"),
    "missing": ("question missing", "questions missing"),
    "doubled": ("prediction doubled", "predictions doubled"),
    "hop": ("prediction for an unknown HOP", "predictions for unknown HOPs"),
    "split": ("prediction for an unknown split", "predictions for unknown splits"),
    "question": ("prediction for an unknown question", "predictions for unknown questions"),
    "answer": ("unknown answer", "unknown answers"),
    "suite": (
        "prediction about other questions than the suite has now",
        "predictions about other questions than the suite has now",
    ),
}
"""Kind -> its name in messages."""


@dataclass
class Problems:
    """Problems in the input, counted by kind, with the first few of each kind."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    """Kinds with more examples than a message names."""
    _unknown: set[tuple[str, ...]] = field(default_factory=set)

    def note(self, kind: str, n: int, examples: Iterable[str]) -> None:
        """Adds n problems of a kind; takes no more of `examples` than a message needs."""
        if not n:
            return
        self.counts[kind] = self.counts.get(kind, 0) + n
        named = self.examples.setdefault(kind, [])
        for example in examples:
            if len(named) >= EXAMPLES:
                self.cut.add(kind)
                return
            named.append(example)

    def note_unknown(self, kind: str, n: int, example: str, *name: str) -> None:
        """Adds n problems with an unknown name, which is an example only once."""
        self.note(kind, n, [] if name in self._unknown else [example])
        self._unknown.add(name)

    def summary(self) -> str:
        """All problems as part of a sentence."""
        return ", ".join(
            f"{n:,} {_SINGULAR_AND_PLURAL[kind][n != 1]} ({'; '.join(self.examples[kind])}"
            f"{'; ...' * (kind in self.cut)})"
            for kind, n in self.counts.items()
        )


def near_name(name: str, known: Iterable[str]) -> str:
    """A suggestion of the known name that is meant, to stand in a list inside brackets."""
    near = suggestion(name, known).strip(" ()")
    return f", {near}" if near else ""
