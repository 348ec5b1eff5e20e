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
    terms, tokens = Terms(), list(_tokens(text))
    names: dict[str, int] = {}
    at = n_functions = 0

    def fault(what: str) -> ProgramError:
        place, got = len(text) + 1, "the end"
        if at < len(tokens):
            place, got = tokens[at].start() + 1, shown(tokens[at][0])
        return ProgramError(f"program, character {place}: expected {what}, got {got}")

    def take(mark: str) -> bool:
        nonlocal at
        is_next = at < len(tokens) and tokens[at]["mark"] == mark
        at += is_next
        return is_next

    def term() -> int:
        """Reads a function with its inputs, or a name; returns the number of its node."""
        nonlocal at, n_functions
        if at == len(tokens) or not tokens[at]["name"]:
            raise fault("a function")
        function, inputs = tokens[at], list[int]()
        at += 1
        has_brackets = take("(")
        if not has_brackets and function[0] in names:
            return names[function[0]]
        n_functions += 1
        if n_functions > MAX_FUNCTIONS:
            raise ProgramError(f"program: more than {MAX_FUNCTIONS} functions")
        if has_brackets and not take(")"):  # with them, too, a function may have no inputs: "scene()"
            inputs.append(term())
            while take(","):
                inputs.append(term())
            if not take(")"):
                what = '")" to close' if at == len(tokens) else '"," or ")" in'
                raise fault(f"{what} the brackets of {shown(function[0])}")
        return terms.add(function, inputs)

    while len(tokens) > at + 1 and tokens[at]["name"] and tokens[at + 1]["mark"] == "=":
        name, at = tokens[at][0], at + 2
        done = term()
        if not take(";"):
            raise fault(f'";" after {shown(name)}')
        names[name] = done
    term()
    if at < len(tokens):
        raise fault("the end")
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
