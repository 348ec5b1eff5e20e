"""The language of `--covr-split`, which says which questions are held out: `compscope & has-quant-all`.

An expression consists of names of properties, `!` (not), `&` (and), `|` (or) and parentheses; `!` binds most
tightly and `|` least. `lexical-1` to `lexical-3` stand for drawn pairs of terms, `lexical:red+cube` for a
given pair.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clevrhope.errors import ConfigError, shown
from clevrhope.runtime.settings import join_or, suggestion
from clevrhope.splits.covr.description import TermPair

LEXICAL_DRAWS = (1, 2, 3)
"""Numbers of the lexical splits; the paper reports the mean of three draws."""

MOST_NESTED = 50
"""The deepest nesting of parentheses and `!`: far more than anybody needs."""

_TOKEN = re.compile(r"\s*(?P<token>[&|!()]|[\w:+-]+|\S)")
_NAME = re.compile(r"[\w:+-]+")
_DRAW = re.compile(r"lexical-(\d+)")


@dataclass(frozen=True)
class Property:
    """Questions with a property."""

    name: str


@dataclass(frozen=True)
class Draw:
    """Questions that name both terms of one of the pairs of a draw."""

    number: int


@dataclass(frozen=True)
class NamedPair:
    """Questions that name both terms of a pair."""

    pair: TermPair


@dataclass(frozen=True)
class Not:
    """Questions that do not match another expression."""

    inner: "Expression"


@dataclass(frozen=True)
class Both:
    """Questions that match all parts."""

    parts: "tuple[Expression, ...]"


@dataclass(frozen=True)
class Either:
    """Questions that match at least one part."""

    parts: "tuple[Expression, ...]"


Expression = Property | Draw | NamedPair | Not | Both | Either


def parse_expression(text: str, *, property_names: Sequence[str], term_names: Sequence[str]) -> Expression:
    """Parses an expression.

    Raises:
        ConfigError: the text is not an expression, or a name is unknown; says where, and suggests a similar
            name.
    """
    return _Parser(text, property_names, term_names).whole()


def leaves(expression: Expression) -> Iterator[Property | Draw | NamedPair]:
    """The names in an expression, from left to right."""
    match expression:
        case Not(inner):
            yield from leaves(inner)
        case Both(parts) | Either(parts):
            for part in parts:
                yield from leaves(part)
        case leaf:
            yield leaf


class _Parser:
    """Reads tokens from left to right."""

    def __init__(self, text: str, property_names: Sequence[str], term_names: Sequence[str]) -> None:
        self.text = text
        self.property_names = property_names
        self.term_names = term_names
        self.tokens = [(match.start("token"), match["token"]) for match in _TOKEN.finditer(text)]
        self.at = 0

    def whole(self) -> Expression:
        expression = self.either(0)
        if self.peek() == ")":
            raise self.error('there is no "(" for this ")"')
        if self.peek():
            raise self.error(f'expected "&" or "|" before {shown(self.peek())}')
        return expression

    def either(self, depth: int) -> Expression:
        parts = [self.both(depth)]
        while self.take("|"):
            parts.append(self.both(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def both(self, depth: int) -> Expression:
        parts = [self.operand(depth)]
        while self.take("&"):
            parts.append(self.operand(depth))
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def operand(self, depth: int) -> Expression:
        if depth > MOST_NESTED:
            raise self.error(f"more than {MOST_NESTED} parentheses and negations inside each other")
        if self.take("!"):
            return Not(self.operand(depth + 1))
        if self.take("("):
            inner = self.either(depth + 1)
            if not self.take(")"):
                raise self.error('a "(" has no ")"' if not self.peek() else 'expected "&", "|" or ")"')
            return inner
        if not _NAME.fullmatch(self.peek()):
            got = shown(self.peek()) if self.peek() else "the end"
            raise self.error(f"expected a property, got {got}")
        expression = self.name(self.peek())
        self.at += 1
        return expression

    def name(self, name: str) -> Expression:
        if name.startswith("lexical:"):
            return NamedPair(self.pair(name.removeprefix("lexical:")))
        if draw := _DRAW.fullmatch(name):
            return Draw(self.draw(name, draw[1]))
        if name not in self.property_names:
            known = [*self.property_names, *(f"lexical-{number}" for number in LEXICAL_DRAWS)]
            hint = suggestion(name, known) or f"; there are: {', '.join(known)}"
            raise self.error(f"unknown property {shown(name)}{hint}")
        return Property(name)

    def draw(self, name: str, digits: str) -> int:
        known = [str(number) for number in LEXICAL_DRAWS]
        if digits not in known:
            raise self.error(
                f"no draw {shown(name)}; there are {join_or([f'lexical-{each}' for each in known])}"
            )
        return int(digits)

    def pair(self, text: str) -> TermPair:
        terms = text.split("+")
        if len(terms) != 2:
            raise self.error(f"expected two terms, as in lexical:red+cube, got {shown(text)}")
        for term in terms:
            if term not in self.term_names:
                hint = suggestion(term, self.term_names) or f"; there are: {', '.join(self.term_names)}"
                raise self.error(f"unknown term {shown(term)}{hint}")
        first, second = sorted(terms)
        if first == second:
            raise self.error(f"a pair of {shown(first)} and itself; expected two terms")
        return first, second

    def peek(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, token: str) -> bool:
        """Whether the next token is this one; if so, consumes it."""
        taken = self.peek() == token
        self.at += taken
        return taken

    def error(self, problem: str) -> ConfigError:
        """The error for a problem at the next token."""
        place = self.tokens[self.at][0] if self.at < len(self.tokens) else len(self.text)
        return ConfigError(f"--covr-split {shown(self.text)}, character {place + 1}: {problem}")
