"""Programs, read from text, tokens or JSON and checked."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from clevrhope import _core
from clevrhope.errors import ProgramError, VocabularyError
from clevrhope.programs.gaps import Needs, needs_of
from clevrhope.programs.graph import program_svg
from clevrhope.programs.text import SPECIAL, is_terms, program_text, read_terms, text_html
from clevrhope.runtime.json_text import json_bytes
from clevrhope.scenes.vocabulary import default_vocabulary

Nodes: TypeAlias = Sequence[Mapping[str, Any]]
Ints: TypeAlias = npt.NDArray[np.integer[Any]]

Written: TypeAlias = str | Sequence[str] | Ints | Nodes | Mapping[str, Any]
"""The forms from which a program can be read."""

# How the engine names a place. Matched only at the ends of a message: a name in the middle may look like one.
_NODE = re.compile(r"^program\[(\d+)\]|\(node (\d+)\)$")
_TOKEN = re.compile(r"^programs\[0\]\[(\d+)\]")
_NAME = re.compile(r"^program token (\d+)")


class Program:
    """A program, parsed and type-checked once, to be executed on many scenes.

    It ends in an answer, or, as a referring expression, in objects (`find`).

    `str(program)` is its text, from which it can be read again. A notebook shows it as a graph.

    Args:
        program: one of

            - a text, `count(filter_color[red](scene))`, see `programs.text`;
            - prefix tokens: names in a text or a list, `count filter_color[red] scene`, with or without
              <START> and <END>; or a row of token numbers, (P,) integers as in a question HDF5, over the
              functions of CLEVR's questions (`ProgramTokens`);
            - a list of nodes with CLEVR's keys or COVR's, or a question that has such a list under "program",
              as json.load returns them.
        vocabulary: the values that the program may name; by default CLEVR's.

    Raises:
        ProgramError: not a program; names the character, the token or the node.
    """

    __slots__ = ("_handle", "_needs", "_vocabulary")

    def __init__(self, program: Written, *, vocabulary: _core.Vocabulary | None = None) -> None:
        if isinstance(program, Mapping):
            if "program" not in program:
                raise ProgramError('question: no "program"; give a list of nodes or a question that has one')
            program = program["program"]
        self._vocabulary = vocabulary or default_vocabulary()
        self._needs: Needs | None = None
        if isinstance(program, str) and is_terms(program):
            self._handle = _of_terms(program, self._vocabulary)
        elif isinstance(program, str):
            self._handle = _of_names(program.split(), self._vocabulary)
        elif isinstance(program, np.ndarray):
            self._handle = _of_numbers(program, self._vocabulary)
        elif _is_names(program):
            self._handle = _of_names(program, self._vocabulary)  # type: ignore[arg-type]
        else:
            read = _core.Programs.from_covr_json if _is_of_covr(program) else _core.Programs.from_json
            content = json_bytes(program, "program", error=ProgramError)
            self._handle = read(self._vocabulary, content, file="program", any_ending=True)

    def covr_nodes(self) -> list[dict[str, Any]]:
        """The nodes in COVR's spelling: `operation`, `dependencies`, `arguments`.

        Raises:
            ProgramError: COVR has no operation for one of the functions.
        """
        nodes: list[dict[str, Any]] = json.loads(self._handle.to_covr_json(0))
        return nodes

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes in the published spelling: `inputs`, `function`, `value_inputs`."""
        nodes: list[dict[str, Any]] = json.loads(self._handle.to_json(0))
        return nodes

    def needs(self) -> Needs:
        """The attributes and relations that the program reads, each with the token that reads it."""
        if self._needs is None:
            self._needs = needs_of(self.nodes())
        return self._needs

    def __str__(self) -> str:
        return program_text(self.nodes())

    def __repr__(self) -> str:
        return f"Program({self})"

    def _repr_svg_(self) -> str:
        return program_svg(self.nodes())

    def _repr_html_(self) -> str:
        return f"<div>{text_html(str(self))}{self._repr_svg_()}</div>"


def _of_terms(text: str, vocabulary: _core.Vocabulary) -> _core.Programs:
    terms = read_terms(text)

    def character(found: re.Match[str]) -> str:
        if found[1]:
            return f"program, character {terms.places[int(found[1])]}"
        return f"(character {terms.places[int(found[2])]})"

    try:
        nodes = json.dumps(terms.nodes).encode()
        return _core.Programs.from_json(vocabulary, nodes, file="program", any_ending=True)
    except ProgramError as error:
        raise ProgramError(_NODE.sub(character, str(error))) from None


def _of_names(tokens: Sequence[str], vocabulary: _core.Vocabulary) -> _core.Programs:
    """The program of prefix tokens, given by name."""
    names = list(tokens)
    while names and names[-1] in ("<END>", "<NULL>"):
        names.pop()
    names = names[1:] if names[:1] == ["<START>"] else names
    if not names:
        raise ProgramError('program: no functions; expected a text such as "count(filter_color[red](scene))"')
    known = list(dict.fromkeys(names))
    try:
        numbered = _core.ProgramTokens(vocabulary, [*SPECIAL, *known])
    except (VocabularyError, ValueError) as error:

        def place(found: re.Match[str]) -> str:
            return f"program, token {names.index(known[int(found[1]) - len(SPECIAL)]) + 1}"

        raise ProgramError(_NAME.sub(place, str(error))) from None
    row = [1, *(known.index(name) + len(SPECIAL) for name in names), 2]
    return _of_row(np.asarray([row], np.int32), numbered)


def _of_numbers(row: Ints, vocabulary: _core.Vocabulary) -> _core.Programs:
    if row.ndim != 1:
        kind = f"an array of {row.dtype} of shape {row.shape}"
        raise ProgramError(f"program: {kind}; expected one row of tokens, (P,), which are whole numbers")
    return _of_row(token_rows(row[np.newaxis]), _core.ProgramTokens(vocabulary))


def _of_row(row: npt.NDArray[np.int32], tokens: _core.ProgramTokens) -> _core.Programs:
    try:
        return _core.Programs.from_tokens(tokens, row, any_ending=True)
    except ProgramError as error:
        raise ProgramError(_TOKEN.sub(r"program, token \1", str(error))) from None


def token_rows(programs: object) -> npt.NDArray[np.int32]:
    """Converts rows of tokens to (N, P) int32, the type that the core takes.

    Raises:
        ProgramError: the array has another shape or type, or a number does not fit into 32 bits.
    """
    try:
        rows = np.asarray(programs)
    except ValueError as error:
        raise ProgramError("programs: rows of different lengths; expected (N, P) tokens") from error
    if rows.ndim != 2 or rows.shape[1] == 0 or rows.dtype.kind not in "iu":
        kind = f"an array of {rows.dtype} of shape {rows.shape}"
        raise ProgramError(f"programs: {kind}; expected (N, P) tokens, which are whole numbers")
    limits = np.iinfo(np.int32)
    if rows.size and not (limits.min <= int(rows.min()) and int(rows.max()) <= limits.max):
        raise ProgramError("programs: a token beyond 32 bits, which no function has")
    return np.ascontiguousarray(rows, dtype=np.int32)


def _is_names(program: object) -> bool:
    return (
        isinstance(program, Sequence)
        and not isinstance(program, bytes)
        and len(program) > 0
        and all(isinstance(token, str) for token in program)
    )


def _is_of_covr(nodes: object) -> bool:
    """Whether nodes have COVR's keys."""
    first = nodes[0] if isinstance(nodes, Sequence) and nodes else None
    return isinstance(first, Mapping) and "operation" in first
