"""Programs and scenes in, answers out: the ground truth of a question, of one or of millions.

Functions mean what they mean in CLEVR's question engine (Johnson et al. 2017, appendix A). Programs are read
in both of CLEVR's spellings (`function` and `value_inputs`, `type` and `side_inputs`), scenes as CLEVR's
scene files hold them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from clevrhope import _core
from clevrhope.errors import ProgramError, SceneError, VocabularyError, shown
from clevrhope.runtime.assets import blender_assets
from clevrhope.runtime.json_text import read_json
from clevrhope.runtime.reading import read_bytes

Answer: TypeAlias = bool | int | str
Nodes: TypeAlias = Sequence[Mapping[str, Any]]
Ints: TypeAlias = npt.NDArray[np.integer[Any]]

INVALID = _core.NO_ANSWER
"""In place of an answer's number: the program has no answer on the scene (`unique` of none or several)."""

ILL_FORMED = _core.NO_PROGRAM
"""In place of an answer's number: a row of tokens that is no program."""

_MAX_BYTES = 1 << 32
"""Of a question file or a scene file; the largest of CLEVR's has 0.8 billion."""


@cache
def default_vocabulary() -> _core.Vocabulary:
    """CLEVR's attribute types and values, from the properties file that comes with the package."""
    return read_vocabulary(blender_assets() / "properties.json")


def read_vocabulary(path: Path | str) -> _core.Vocabulary:
    """The vocabulary of a properties file as CLEVR writes it.

    Raises:
        VocabularyError: not such a file, or one that cannot be read; says where.
    """
    content = read_bytes(Path(path), "a properties file", error=VocabularyError)
    return _core.Vocabulary(content, file=str(path))


class Scene:
    """A scene, checked once, to execute many programs on.

    Args:
        scene: a scene of a CLEVR scene file, as it comes out of json.load.
        vocabulary: whose values the scene has; CLEVR's if not given.

    Raises:
        SceneError: not a scene of this vocabulary, or not one alone; names the place in it.
    """

    __slots__ = ("_handle", "_vocabulary")

    def __init__(self, scene: Mapping[str, Any], *, vocabulary: _core.Vocabulary | None = None) -> None:
        self._vocabulary = vocabulary or default_vocabulary()
        content = _dump(_single(scene), "scene")
        self._handle = _core.SceneGraphs.from_json(self._vocabulary, content, file="scene")

    def __len__(self) -> int:
        """Number of objects."""
        return int(self._handle.n_objects[0])


class Program:
    """A program, parsed and type-checked once, to execute on many scenes.

    Args:
        program: a list of nodes, or a question that has one under "program", as they come out of json.load.
        vocabulary: whose values the program names; CLEVR's if not given.

    Raises:
        ProgramError: not a program; names the node.
    """

    __slots__ = ("_handle", "_vocabulary")

    def __init__(
        self, program: Nodes | Mapping[str, Any], *, vocabulary: _core.Vocabulary | None = None
    ) -> None:
        if isinstance(program, Mapping):
            if "program" not in program:
                raise ProgramError('question: no "program"; give a list of nodes or a question that has one')
            program = program["program"]
        self._vocabulary = vocabulary or default_vocabulary()
        self._handle = _core.Programs.from_json(self._vocabulary, _dump(program, "program"), file="program")

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes in the published spelling: `inputs`, `function`, `value_inputs`."""
        nodes: list[dict[str, Any]] = json.loads(self._handle.to_json(0))
        return nodes


@dataclass(frozen=True)
class TracedStep:
    """What one node of a program gave."""

    function: str
    value: str | None
    """The attribute value or relation that the function takes, if any."""
    inputs: tuple[int, ...]
    """Earlier nodes, by number."""
    type: str
    """ObjectSet, Object, Integer, Bool, or an attribute type."""
    output: list[int] | Answer | None
    """Object numbers of a set, an object's number, or a value; None from a failed `unique` on."""


def execute(
    program: Program | Nodes | Mapping[str, Any],
    scene: Scene | Mapping[str, Any],
    *,
    vocabulary: _core.Vocabulary | None = None,
) -> Answer:
    """The answer of a program on a scene: a bool, an int, or an attribute value's name.

    Dictionaries are taken as json.load gives them, and checked on every call; `Program` and `Scene` are
    checked once.

    Raises:
        ProgramError: not a program, or one without an answer here (a `unique` of none or several objects).
        SceneError: not a scene.
    """
    program, scene = _parsed(program, scene, vocabulary)
    return _core.execute(program._handle, 0, scene._handle, 0)


def trace(
    program: Program | Nodes | Mapping[str, Any],
    scene: Scene | Mapping[str, Any],
    *,
    vocabulary: _core.Vocabulary | None = None,
) -> list[TracedStep]:
    """What each node of a program gives on a scene, in order; for looking into an answer.

    Raises:
        ProgramError: not a program.
        SceneError: not a scene.
    """
    program, scene = _parsed(program, scene, vocabulary)
    return [TracedStep(*step) for step in _core.trace(program._handle, 0, scene._handle, 0)]


def answer_text(answer: Answer) -> str:
    """An answer as CLEVR's files spell it: "yes", "3", "cylinder"."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return str(answer)


def execute_batch(
    programs: Path | str | Ints,
    scenes: Path | str | _core.SceneBatch,
    *,
    image_idxs: Ints | None = None,
    vocab: Path | str | Mapping[str, Any] | None = None,
    vocabulary: _core.Vocabulary | None = None,
    mark_ill_formed: bool = False,
) -> npt.NDArray[np.int32]:
    """The answers' numbers of many programs, each on the scene of its image, made on all cores.

    Args:
        programs: a CLEVR question file; or (N, P) rows of prefix tokens, as a question HDF5 holds them.
        scenes: a CLEVR scene file, or scenes that were read or sampled.
        image_idxs: (N,) each program's scene, by `image_index`; a question file has its own.
        vocab: vocab.json, or its content: which token is which function, and how answers are numbered.
            Without it, tokens are those of every dataset of the vocabulary, and answers are numbered as
            `vocabulary.answers` lists them.
        vocabulary: whose values programs and scenes name; CLEVR's if not given.
        mark_ill_formed: whether a row of tokens that is no program gets `ILL_FORMED` rather than an error;
            for programs that a model made.

    Returns:
        (N,) int32: numbers of answers; `INVALID` where a program has no answer on its scene.

    Raises:
        ProgramError: a question file, vocab or token row that is none, or a file that cannot be read; names
            the place.
        SceneError: no scene file, no scene of an `image_index`, or not an index for each program.
    """
    vocabulary = vocabulary or default_vocabulary()
    names = None if vocab is None else _read_vocab(vocab)
    if not isinstance(scenes, _core.SceneBatch):
        scenes = read_scenes(scenes, vocabulary=vocabulary)
    if isinstance(programs, str | Path):
        content = read_bytes(Path(programs), "a question file", error=ProgramError, max_bytes=_MAX_BYTES)
        parsed, own_idxs = _core.Programs.from_questions(vocabulary, content, file=str(programs))
        places = _places(scenes, own_idxs if image_idxs is None else image_idxs, len(parsed))
        every = np.arange(len(parsed), dtype=np.uint32)
        answers = _core.execute_batch(parsed, scenes.graphs, every, places)
    else:
        if image_idxs is None:
            raise SceneError("rows of tokens do not say which scene each is about: give image_idxs")
        token_names = None if names is None else _by_number(names["program_token_to_idx"])
        tokens = _core.ProgramTokens(vocabulary, token_names)
        rows = _token_rows(programs)
        places = _places(scenes, image_idxs, len(rows))
        answers = _core.execute_tokens(tokens, rows, scenes.graphs, places, mark_ill_formed=mark_ill_formed)
    return answers if names is None else _renumbered(answers, vocabulary, names["answer_token_to_idx"])


def read_scenes(path: Path | str, *, vocabulary: _core.Vocabulary | None = None) -> _core.SceneBatch:
    """The scenes of a CLEVR scene file, published or made here.

    Raises:
        SceneError: not such a file, or one that cannot be read; names the scene and the place in it.
    """
    content = read_bytes(Path(path), "a scene file", error=SceneError, max_bytes=_MAX_BYTES)
    return _core.SceneBatch.from_json(vocabulary or default_vocabulary(), content, file=str(path))


def _parsed(
    program: Program | Nodes | Mapping[str, Any],
    scene: Scene | Mapping[str, Any],
    vocabulary: _core.Vocabulary | None,
) -> tuple[Program, Scene]:
    if not isinstance(scene, Scene):
        scene = Scene(scene, vocabulary=vocabulary)
    if not isinstance(program, Program):
        program = Program(program, vocabulary=scene._vocabulary)
    return program, scene


def _single(scene: object) -> object:
    """The scene, which is no whole scene file and no list of scenes."""
    scenes = scene.get("scenes") if isinstance(scene, Mapping) else scene
    if not isinstance(scenes, Sequence) or isinstance(scenes, str | bytes):
        return scene
    what, first = ("list", "scenes[0]") if scenes is scene else ("scene file", 'file["scenes"][0]')
    if not scenes:
        raise SceneError(f"scene: a {what} without a scene; expected one scene")
    n = "one scene" if len(scenes) == 1 else f"{len(scenes):,} scenes"
    raise SceneError(f"scene: a {what} of {n}; give a single scene, such as {first}")


def _dump(content: object, what: str) -> bytes:
    """JSON of what came out of json.load; anything else is named."""
    try:
        return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        kind = SceneError if what == "scene" else ProgramError
        raise kind(f"{what}: not what json.load gives ({shown(str(error))[1:-1]})") from error


def _token_rows(programs: object) -> npt.NDArray[np.int32]:
    """Rows of tokens as the core takes them."""
    try:
        rows = np.asarray(programs)
    except ValueError as error:
        raise ProgramError("programs: rows of different lengths; expected (N, P) tokens") from error
    if rows.ndim != 2 or rows.shape[1] == 0 or rows.dtype.kind not in "iu":
        kind = f"an array of {rows.dtype} of shape {rows.shape}"
        raise ProgramError(f"programs: {kind}; expected (N, P) tokens, which are whole numbers")
    limits = np.iinfo(np.int32)
    if rows.size and not (limits.min <= int(rows.min()) and int(rows.max()) <= limits.max):
        raise ProgramError("programs: a token outside of 32 bits, which stands for no function")
    return np.ascontiguousarray(rows, dtype=np.int32)


def _places(scenes: _core.SceneBatch, image_idxs: Ints, n_programs: int) -> npt.NDArray[np.uint32]:
    """Where the scenes of image indices, one for each program, stand among `scenes`."""
    given = np.asarray(image_idxs)
    if given.shape != (n_programs,) or (given.size and given.dtype.kind not in "iu"):
        kind = f"an array of {given.dtype} of shape {given.shape}"
        raise SceneError(f"image_idxs: {kind}; expected a whole number for each of {n_programs} programs")
    if given.dtype.kind == "i" and (given < 0).any():
        first = int(np.argmax(given < 0))
        raise SceneError(f"image_idxs[{first}] is {given[first]}, but there is no scene of that image_index")
    wanted = given.astype(np.uint64)
    order = np.argsort(scenes.indices, kind="stable")
    known = scenes.indices[order]
    places = np.searchsorted(known, wanted)
    missing = places == len(known)
    missing[~missing] = known[places[~missing]] != wanted[~missing]
    if missing.any():
        first = int(np.argmax(missing))
        raise SceneError(f"image_idxs[{first}] is {wanted[first]}, but there is no scene of that image_index")
    return order[places].astype(np.uint32)


def _read_vocab(vocab: Path | str | Mapping[str, Any]) -> Mapping[str, Any]:
    place = "vocab" if isinstance(vocab, Mapping) else vocab
    content = (
        vocab if isinstance(vocab, Mapping) else read_json(Path(vocab), "a vocab.json", error=ProgramError)
    )
    for key in ("program_token_to_idx", "answer_token_to_idx"):
        if not isinstance(content, Mapping) or key not in content:
            raise ProgramError(f'{place}: no "{key}"; expected the content of a vocab.json')
        _check_numbers(content[key], f"{place}: {key}")
    numbers = content["program_token_to_idx"].values()
    if sorted(numbers) != list(range(len(numbers))):
        raise ProgramError(
            f"{place}: program_token_to_idx: not the numbers 0 to {len(numbers) - 1}, each once"
        )
    return content


def _check_numbers(numbers: object, place: str) -> None:
    """Passes for an object that gives tokens numbers of 32 bits."""
    if not isinstance(numbers, Mapping):
        raise ProgramError(f"{place} is {shown(numbers)}; expected an object from tokens to numbers")
    for name, number in numbers.items():
        if not isinstance(name, str) or type(number) is not int or not 0 <= number < 1 << 31:
            raise ProgramError(
                f"{place}: {shown(name)} has {shown(number)}; expected a token with its number"
            )


def _by_number(numbers: Mapping[str, int]) -> list[str]:
    return sorted(numbers, key=numbers.__getitem__)


def _renumbered(
    answers: npt.NDArray[np.int32], vocabulary: _core.Vocabulary, numbers: Mapping[str, int]
) -> npt.NDArray[np.int32]:
    """Answers with the numbers of a vocab.json; marks below 0 stay."""
    unknown = numbers.get("<UNK>", INVALID)
    table = np.array([numbers.get(text, unknown) for text in vocabulary.answers], dtype=np.int32)
    return np.where(answers < 0, answers, table[np.maximum(answers, 0)]).astype(np.int32)
