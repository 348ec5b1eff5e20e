"""What a question asks for, and about which object, as its wording says."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from clevrhope.metrics.replies.words import Phrase, Words

YES_NO, COUNT, RELATION = "yes/no", "count", "relation"

_ASKS_WHETHER = re.compile(r"(?:is|are|do|does|did|has|have|can|was|were)\b")
_ASKS_HOW_MANY = re.compile(r"\bhow many\b|\bwhat number\b|\bwhat(?: is|'s) the (?:total )?number\b")
_ASKS_FOR = re.compile(r"\b(?:what|how|which)\b")
_AFTER_WHAT: Mapping[str, tuple[str, ...]] = {
    "size": ("size",),
    "color": ("color", "colour"),
    "material": ("material", "made of"),
    "shape": ("shape",),
}
_AFTER_HOW: Mapping[str, tuple[str, ...]] = {"size": ("big", "large", "small")}
"""Attribute type -> what a question asks for it with."""
_ASKS_FOR_EXISTENCE = re.compile(
    r"\bany\b|\banything\b|^(?:is|are) there (?!more|fewer|exactly|an equal|as many|the|at)|\bvisible$"
)

_EMPTY = Phrase(0, 0, frozenset(), "")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, read from its words."""

    kind: str | None
    """"yes/no", "count", "relation" or an attribute type; None where the wording does not say."""
    target: Phrase
    """What is said of the object, or the objects, that the question is about."""
    landmarks: tuple[Phrase, ...]
    """The other objects that it names."""
    clause: str
    """Its last clause, which asks: "there is a red cube; what size is it?"."""

    @property
    def asks_for_existence(self) -> bool:
        """Whether it only asks if there is something of a description."""
        return self.kind == YES_NO and _ASKS_FOR_EXISTENCE.search(self.clause) is not None

    def is_about(self, phrase: Phrase) -> bool:
        """Whether a phrase of a reply may be about the question's object."""
        is_landmark = any(
            phrase.values and phrase.values <= landmark.values and not phrase.values <= self.target.values
            for landmark in self.landmarks
        )
        return not is_landmark and not phrase.contradicts(self.target, self.kind)


def read_question(question: str, words: Words, *, asked: Collection[str] = ()) -> Question:
    """Reads a question in plain lower case; `asked` are the answers that it asks for, where that is known."""
    clause = question.rpartition(";")[2].strip(" ?.")
    kind = _kind_of_answers(asked, words) if asked else _kind(clause)
    whole = [each for each in words.phrases(words.tokens(question)) if each.noun]
    asking = list(_ASKS_FOR.finditer(clause))
    rest = clause[asking[-1].end() :] if asking else clause
    near = [each for part in (rest, clause) for each in words.phrases(words.tokens(part)) if each.noun]
    objects = [each for each in whole if each.noun == "object"]
    first = near if kind == COUNT else [*(each for each in near if each.noun == "object"), *objects]
    target = Phrase(0, 0, first[0].values, first[0].noun) if first else _EMPTY
    landmarks = [
        each
        for each in objects
        if each.values != target.values and not {value for _, value in each.values} <= set(asked)
    ]
    return Question(kind, target, tuple(landmarks), clause)


def _kind_of_answers(asked: Collection[str], words: Words) -> str:
    answer = next(iter(asked))
    value = words.value(answer)
    if value:
        return value[0]
    if answer in ("yes", "no"):
        return YES_NO
    return COUNT if answer.isdecimal() else RELATION


def _kind(clause: str) -> str | None:
    if _ASKS_WHETHER.match(clause):
        return YES_NO
    if _ASKS_HOW_MANY.search(clause):
        return COUNT
    asking = list(_ASKS_FOR.finditer(clause))
    if not asking:
        return None
    if clause.endswith(("made of", "made of what")):
        return "material"
    rest = clause[asking[-1].end() :] or clause  # "the color of the cube is what?"
    found = {
        match.start(): kind
        for kind, names in (_AFTER_HOW if asking[-1][0] == "how" else _AFTER_WHAT).items()
        for name in names
        if (match := re.search(rf"\b{name}\b", rest))
    }
    return found[min(found)] if found else None
