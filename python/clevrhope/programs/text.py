"""The text form of programs, `count(filter_color[red](scene))`, and their prefix tokens.

A function is followed by its value in square brackets, if it takes one, and by its inputs in parentheses; a
function without inputs has no parentheses. A result that is used more than once gets a name, so that a text
is no longer than its program:
`x1 = unique(filter_shape[cube](scene)); equal_color(query_color(x1), query_color(x1))`.

Prefix tokens are the functions in the same order without parentheses, as in `vocab.json` and the question
files: `count filter_color[red] scene`. There, a result that is used twice is written twice.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

from clevrhope._core import program_arities
from clevrhope.errors import ProgramError, shown

SPECIAL: Final = ("<NULL>", "<START>", "<END>", "<UNK>")
"""The special tokens, by number; they come before the functions."""

_TOKEN = re.compile(r"(?P<name>[^\s()\[\],;=]+)(?:\[(?P<value>[^\[\]]*)\])?|(?P<mark>[(),;=])|(?P<other>\S)")

MAX_FUNCTIONS = 256
"""The most functions of a program that the engine accepts."""


def is_terms(text: str) -> bool:
    """Whether a text gives functions with inputs in parentheses; otherwise it consists of prefix tokens."""
    return any(mark in text for mark in "(;=")


def program_text(nodes: Sequence[Mapping[str, Any]]) -> str:
    """The text of a program in the published spelling, without nodes that the last one does not need."""
    needed = {len(nodes) - 1}
    for number in range(len(nodes) - 1, -1, -1):
        if number in needed:
            needed.update(nodes[number]["inputs"])
    uses = Counter(source for number in needed for source in nodes[number]["inputs"])
    # A function without inputs is as short as a name, but counts each time that it is written.
    n_written = sum(max(uses[number], 1) for number in needed if not nodes[number]["inputs"])
    n_written += sum(bool(nodes[number]["inputs"]) for number in needed)
    named: list[str] = []
    terms: dict[int, str] = {}
    for number in sorted(needed):
        node = nodes[number]
        inputs = ", ".join(terms[source] for source in node["inputs"])
        term = token_text(node) + (f"({inputs})" if inputs else "")
        if uses[number] > 1 and (inputs or n_written > MAX_FUNCTIONS):
            name = f"x{len(named) + 1}"
            named.append(f"{name} = {term}; ")
            term = name
        terms[number] = term
    return "".join(named) + terms[len(nodes) - 1]


def token_text(node: Mapping[str, Any]) -> str:
    """The token of a node: `count`, `filter_color[red]`."""
    values = node.get("value_inputs")
    return f"{node['function']}[{values[0]}]" if values else str(node["function"])


def text_of_tokens(tokens: Sequence[str]) -> str:
    """The text of a program in prefix tokens, without <START> and <END>.

    Raises:
        ProgramError: the tokens are not exactly one program, or a function is unknown.
    """
    terms: list[str] = []
    for token, arity in zip(reversed(tokens), reversed(program_arities(list(tokens)).tolist()), strict=True):
        if arity > len(terms):
            raise ProgramError(f"program: {shown(token)} takes {arity} inputs, but only {len(terms)} follow")
        inputs = [terms.pop() for _ in range(arity)]
        terms.append(token + (f"({', '.join(inputs)})" if inputs else ""))
    if len(terms) != 1:
        raise ProgramError(f"program: {len(terms)} programs in a row; expected one")
    return terms[0]


@dataclass(frozen=True)
class Terms:
    """A parsed text: nodes in the published spelling, and the character at which each begins.

    Characters are counted from 1.
    """

    nodes: list[dict[str, Any]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def add(self, function: re.Match[str], inputs: list[int]) -> int:
        """Adds a node and returns its number."""
        value = function["value"]
        self.nodes.append(
            {
                "function": function["name"],
                "inputs": inputs,
                "value_inputs": [] if value is None else [value.strip()],
            }
        )
        self.places.append(function.start() + 1)
        return len(self.nodes) - 1


def read_terms(text: str) -> Terms:
    """Parses functions with inputs in parentheses; whether they exist and fit is checked elsewhere.

    Raises:
        ProgramError: something is missing or superfluous; names the character.
    """
    terms = Terms()
    names: dict[str, int] = {}
    waiting: list[tuple[re.Match[str], list[int]]] = []  # functions whose parenthesis is open
    naming: str | None = None
    done: int | None = None  # the last complete term, if no other term may follow
    found = _tokens(text)
    token, following = next(found, None), next(found, None)

    def fault(what: str, at: re.Match[str] | None) -> ProgramError:
        place = len(text) + 1 if at is None else at.start() + 1
        got = "the end" if at is None else shown(at[0])
        return ProgramError(f"program, character {place}: expected {what}, got {got}")

    while token is not None or done is None:
        mark = following["mark"] if following is not None else None
        if done is None:
            if token is None or not token["name"]:
                raise fault("a function", token)
            if mark == "=" and naming is None and not waiting:
                naming, following = token[0], next(found, None)
            elif mark == "(":
                waiting.append((token, []))
                following = next(found, None)
                if following is not None and following["mark"] == ")":  # no inputs: "scene()"
                    following = next(found, None)
                    done = terms.add(*waiting.pop())
            else:
                done = names[token[0]] if token[0] in names else terms.add(token, [])
            if len(terms.nodes) + len(waiting) > MAX_FUNCTIONS:
                raise ProgramError(f"program: more than {MAX_FUNCTIONS} functions")
        elif token is not None and waiting:
            if token["mark"] not in (",", ")"):
                raise fault(f'"," or ")" in the brackets of {shown(waiting[-1][0][0])}', token)
            waiting[-1][1].append(done)
            done = terms.add(*waiting.pop()) if token["mark"] == ")" else None
        elif token is not None and naming is not None and token["mark"] == ";":
            names[naming], naming, done = done, None, None
        else:
            raise fault("the end" if naming is None else f'";" after {shown(naming)}', token)
        token, following = following, next(found, None)
    if waiting:
        raise fault(f'")" to close the brackets of {shown(waiting[-1][0][0])}', None)
    if naming is not None:
        raise fault(f'";" after {shown(naming)}', None)
    return terms


def _tokens(text: str) -> Iterator[re.Match[str]]:
    for token in _TOKEN.finditer(text):
        if token["other"] is not None:
            raise ProgramError(
                f"program, character {token.start() + 1}: {shown(token[0])} does not belong here; a value "
                "stands in square brackets right behind its function, as in filter_color[red]"
            )
        yield token


def text_html(text: str) -> str:
    """A program's text as HTML."""
    return f'<code style="display:block;white-space:pre-wrap">{escape(text)}</code>'
