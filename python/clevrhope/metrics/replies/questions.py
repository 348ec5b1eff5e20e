"""What a question asks for, and about which object, according to its wording."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from clevrhope.metrics.replies.words import Phrase, Words

YES_NO, COUNT, RELATION = "yes/no", "count", "relation"

_ASKS_WHETHER = re.compile(r"(?:is|are|do|does|did|has|have|can|was|were)\b")
_ASKS_HOW_MANY = re.compile(r"\bhow many\b|\bwhat(?: is|'s)?(?: the)?(?: total)? number\b")
_ASKS_FOR = re.compile(r".*\b(?:what|how|which)\b")
_KINDS = re.compile(
    r"(?P<size>size|(?<=how )(?:big|large|small))|(?P<color>colou?r)|(?P<shape>shape)"
    r"|(?P<material>material|made of)"
)
_ASKS_FOR_EXISTENCE = re.compile(
    r"\bany\b|\banything\b|^(?:is|are) there (?!more|fewer|exactly|an equal|as many|the|at)|\bvisible$"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, parsed from its words."""

    kind: str | None
    """"yes/no", "count", "relation" or an attribute; None if the wording does not say."""
    target: Phrase
    """The description of the object or objects that the question is about."""
    landmarks: tuple[Phrase, ...]
    """The other objects that it names."""
    clause: str
    """The last clause, which asks the question, as in "there is a red cube; what size is it?"."""
    clause_tokens: Sequence[str]
    tokens: Sequence[str]
    """The words of the whole question; `clause_tokens` has those of its last clause."""

    @property
    def asks_for_existence(self) -> bool:
        """Whether it only asks if an object of some description exists."""
        return self.kind == YES_NO and _ASKS_FOR_EXISTENCE.search(self.clause) is not None

    def restatement_end(self, tokens: Sequence[str], words: Words) -> int | None:
        """Where a statement has finished repeating the question's whole description; None if it does not."""
        missing = {*words.content(self.tokens)}
        if len(missing) > 1:
            for k, token in enumerate(tokens):
                missing -= {*words.content([token])}
                if not missing:
                    return k + 1
        return None

    def is_about(self, phrase: Phrase) -> bool:
        """Whether a phrase of a reply may be about the question's object."""
        is_landmark = any(
            phrase.values and phrase.values <= landmark.values and not phrase.values <= self.target.values
            for landmark in self.landmarks
        )
        return not is_landmark and not phrase.contradicts(self.target, self.kind)


def read_question(question: str, words: Words, *, asked: Collection[str] = ()) -> Question:
    """Parses a question in plain lower case; `asked` are the answers that it asks for, if known."""
    clause = question.rpartition(";")[2].strip(" ?.")
    kind = _kind_of_answers(asked, words) if asked else _kind(clause)
    tokens = words.tokens(question)
    asking = _ASKS_FOR.match(clause)
    parts = (clause[asking.end() :] if asking else "", clause, question)
    named = [each for part in parts for each in words.phrases(words.tokens(part)) if each.noun]
    objects = [
        *_asked_shape(words.tokens(parts[0]), words),
        *(each for each in named if each.noun == "object"),
    ]
    target = next(iter(named if kind == COUNT else objects), Phrase(0, 0, frozenset(), ""))
    is_other = (
        each.values != target.values and not {value for _, value in each.values} <= {*asked}
        for each in objects
    )
    landmarks = tuple(
        {each.values: each for each, other in zip(objects, is_other, strict=True) if other}.values()
    )
    return Question(kind, target, landmarks, clause, words.tokens(clause), tokens)


def _asked_shape(tokens: Sequence[str], words: Words) -> Iterator[Phrase]:
    """The object of "what large matte shape is behind the cube?", which asks for the object's noun."""
    for phrase in islice(words.phrases(tokens), 1):
        if phrase.begin == 0 and not phrase.noun and tokens[phrase.end : phrase.end + 1] == ["shape"]:
            yield replace(phrase, noun="object")


def _kind_of_answers(asked: Collection[str], words: Words) -> str:
    answer = next(iter(asked))
    value = words.value(answer)
    return (
        value[0]
        if value
        else YES_NO
        if answer in ("yes", "no")
        else COUNT
        if answer.isdecimal()
        else RELATION
    )


def _kind(clause: str) -> str | None:
    if _ASKS_WHETHER.match(clause):
        return YES_NO
    if _ASKS_HOW_MANY.search(clause):
        return COUNT
    asking = _ASKS_FOR.match(clause)
    if not asking:
        return None
    if clause.endswith(("made of", "made of what")):
        return "material"
    found = _KINDS.search(clause, asking.end()) or _KINDS.search(clause)  # "the color of the cube is what?"
    return found.lastgroup if found else None
