"""Whether a question mentions a held-out pair, by its program and by its words, in plain Python.

A plain reading of what mentioning means, that the audit's is held against; written apart from it and from the
generator's, and the two readings here share nothing either.

By program: a node that gives a set has a description, a list of alternatives, each a set of values that its
members are asked to have. `scene` has one empty alternative, a filter adds its value to each, `intersect`
joins each with each, and `union` takes both lists. An object has the description of the set that it is the
only member of, to which `verify_<type>` and `offer_<type>` add their value. All else starts anew. The pair is
mentioned when an alternative of any node holds both of its values.

By words: a noun phrase is a run of words for values ("small matte"), up to and with the noun that ends it: a
shape, "thing", "object", or "shape" as in "what matte shape". It asks for the values that it names. A noun
phrase of which others are said ("how many of the matte things are either cubes or red cylinders") asks, with
each of these, for what both name. The pair is mentioned when values asked for so hold both of its values.
Synonyms and plurals count, case does not. Not covered, since no template in CLEVR's format says it: a value
as a predicate ("is the cylinder matte?") and a value that is denied ("not matte").
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from clevrhope.dataset.native_reader import CLEVR_WORDS
from clevrhope.dataset.split_files import Value

Step = tuple[str, str, tuple[int, ...]]
"""A function, the value, relation or number that it takes ("" for none), and the numbers of its inputs."""

TOKEN = re.compile(r"[^\s;,?.]+|[;,]")
"""The tokens that the public CLEVR models read."""

_ANEW = frozenset({0})  # no alternative but the empty one
_ADDS_ITS_VALUE = ("filter_", "verify_", "offer_")
_SAYS_OF = frozenset({"are", "there", "that", "either"})  # nothing else between a subject and what it is


def program_mentions(steps: Sequence[Step], held_out: Sequence[Value]) -> bool:
    """Whether some set of the program is asked to have all values of the pair.

    Alternatives are bit masks over the pair's values: no other value matters.
    """
    bits = {
        (verb + kind, value): 1 << k for k, (kind, value) in enumerate(held_out) for verb in _ADDS_ITS_VALUE
    }
    whole = (1 << len(held_out)) - 1
    descriptions: list[frozenset[int]] = []
    for function, argument, inputs in steps:
        alternatives = _ANEW
        if function == "unique":
            alternatives = descriptions[inputs[0]]
        elif function.startswith(_ADDS_ITS_VALUE) and function != "verify_relation":
            alternatives = descriptions[inputs[0]]
            bit = bits.get((function, argument), 0)
            if bit:
                alternatives = frozenset(each | bit for each in alternatives)
        elif function == "union":
            alternatives = descriptions[inputs[0]] | descriptions[inputs[1]]
        elif function == "intersect":
            alternatives = frozenset(a | b for a in descriptions[inputs[0]] for b in descriptions[inputs[1]])
        if whole in alternatives:
            return True
        descriptions.append(alternatives)
    return False


def program_implies(steps: Sequence[Step], held_out: Sequence[Value]) -> bool:
    """Whether the program mentions the pair, or asks for it by way of a relation.

    As `program_mentions`, but that an object keeps what was asked of its set, what is like it in an attribute
    has its value of that, and of two objects asked to be alike in one each may have the other's value.
    """
    whole = frozenset(held_out)
    known: list[list[frozenset[Value]]] = []
    for function, argument, inputs in steps:
        verb, _, kind = function.partition("_")
        given = [known[i] for i in inputs]
        alternatives = [frozenset[Value]()]
        if f"{verb}_" in _ADDS_ITS_VALUE and kind != "relation":
            alternatives = [each | {(kind, argument)} for each in given[0]]
        elif verb == "union":
            alternatives = given[0] + given[1]
        elif verb == "intersect":
            alternatives = [a | b for a in given[0] for b in given[1]]
        elif verb in ("unique", "query"):
            alternatives = given[0]
        elif verb == "same":
            alternatives = [frozenset(v for v in each if v[0] == kind) for each in given[0]]
        elif verb == "equal" and kind not in ("integer", "object"):
            for a in given[0]:
                for b in given[1]:
                    shared = {v for v in a | b if v[0] == kind}
                    if whole <= a | shared or whole <= b | shared:
                        return True
        if any(whole <= each for each in alternatives):
            return True
        known.append(alternatives)
    return False


class WordReader:
    """Reads English questions; knows which word names which value."""

    def __init__(
        self,
        values: Sequence[Value],
        held_out: Sequence[Value],
        words: Mapping[str, Sequence[str]] = CLEVR_WORDS,
    ) -> None:
        """`values` are all values of the world; `words` those for a value or for "thing"."""
        named = {**CLEVR_WORDS, **words}
        self._pair = frozenset(held_out)
        self._of: dict[tuple[str, ...], tuple[Value | None, bool]] = {}  # words -> value, whether a noun
        for noun in named["thing"]:
            self._add(noun, None, noun=True)
        for value in values:
            for word in named.get(value[1], (value[1],)):
                self._add(word, value, noun=value[0] == "shape")
        self._longest = max(len(key) for key in self._of)
        # A question that lacks the words of one value altogether needs no reading.
        self._needed = [
            tuple(word.lower() for word in named.get(name, (name,))) for _, name in sorted(self._pair)
        ]

    def mentions(self, question: str) -> bool:
        """Whether the question mentions the pair in words."""
        lowered = question.lower()
        for words in self._needed:
            if not any(word in lowered for word in words):
                return False
        return any(self._pair <= asked for asked in self.asked(question))

    def asked(self, question: str) -> Iterator[frozenset[Value]]:
        """What each noun phrase asks for; what is said of another one is joined with that one."""
        tokens = [token.lower() for token in TOKEN.findall(question)]
        subject: frozenset[Value] | None = None
        previous: frozenset[Value] | None = None
        previous_end = 0
        for begin, end, named in self._noun_phrases(tokens):
            between = tokens[previous_end:begin]
            says_of_previous = "are" in between and _SAYS_OF.issuperset(between)
            if says_of_previous:
                subject = previous
            elif ";" in between:
                subject = None
            joined = says_of_previous or between[-1:] == ["or"]
            yield named | subject if joined and subject is not None else named
            previous, previous_end = named, end

    def _noun_phrases(self, tokens: Sequence[str]) -> Iterator[tuple[int, int, frozenset[Value]]]:
        """First token, end and named values of each noun phrase, in order."""
        at = begin = 0
        named: set[Value] = set()
        while at < len(tokens):
            length, value, noun = self._word_at(tokens, at)
            if value is not None:
                named.add(value)
            ends = noun or not length  # a noun ends its phrase, and so does any word that names nothing
            at += max(length, 1)
            if ends:
                if length:
                    yield begin, at, frozenset(named)
                elif named:
                    with_noun = tokens[at - 1] in ("shape", "shapes")
                    yield begin, at if with_noun else at - 1, frozenset(named)
                named, begin = set(), at
        if named:
            yield begin, at, frozenset(named)

    def _word_at(self, tokens: Sequence[str], at: int) -> tuple[int, Value | None, bool]:
        """Length, value and nounhood of the longest known word that starts here; length 0 for none."""
        for length in range(min(self._longest, len(tokens) - at), 0, -1):
            found = self._of.get(tuple(tokens[at : at + length]))
            if found is not None:
                return length, *found
        return 0, None, False

    def _add(self, word: str, value: Value | None, *, noun: bool) -> None:
        for form in (word, f"{word}s") if noun else (word,):
            self._of[tuple(form.lower().split())] = (value, noun)
