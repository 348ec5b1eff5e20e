"""Executes programs on scenes: one for its answer, its objects or each of its steps, or many at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from clevrhope import _core
from clevrhope.errors import ProgramError, SceneError
from clevrhope.programs.gaps import check_gaps
from clevrhope.programs.program import Ints, Program, Written, token_rows
from clevrhope.programs.scene import Scene, SceneSet
from clevrhope.programs.steps import Answer, Trace, TracedStep
from clevrhope.runtime.forms import INDEX, Fields, MapOf, check_form
from clevrhope.runtime.json_text import read_json
from clevrhope.runtime.reading import read_utf8
from clevrhope.scenes.forms import several, vocabulary_of
from clevrhope.scenes.vocabulary import default_vocabulary

INVALID = _core.NO_ANSWER
"""Replaces an answer's number where the program has no answer on the scene (`unique` of none or several)."""

ILL_FORMED = _core.NO_PROGRAM
"""Replaces an answer's number where a row of tokens is not a program."""

_MAX_BYTES = 1 << 32
"""The most bytes of a question file or a scene file; CLEVR's largest has 0.8 billion."""


Single: TypeAlias = Scene | SceneSet
"""What a program is executed on at a time."""
Several: TypeAlias = Mapping[str, Any] | _core.SceneBatch | Iterable[Scene | Mapping[str, Any]]
"""A scene in JSON, or scenes on each of which a program is executed by itself."""

Objects: TypeAlias = list[int] | list[tuple[int, int]]
"""The numbers of a scene's objects, or those of an image of a set and of the object in it."""


@overload
def execute(
    program: Program | Written, scene: Single, *, vocabulary: _core.Vocabulary | None = None
) -> Answer: ...
@overload
def execute(
    program: Program | Written, scene: Several, *, vocabulary: _core.Vocabulary | None = None
) -> Any: ...
def execute(
    program: Program | Written,
    scene: Single | Several,
    *,
    vocabulary: _core.Vocabulary | None = None,
) -> Any:
    """Returns a program's answer on a scene or a set: a bool, an int, or the name of a value or relation.

    Texts, tokens and dictionaries, in the forms that `Program` and `Scene` accept, are parsed on every call;
    a `Program`, `Scene` or `SceneSet` is already parsed. A scene without `relationships` has those that
    follow from the `3d_coords` of its objects along its `directions` or, without those, as its `camera` sees
    them or else the camera of CLEVR's scenes.

    Args:
        program: in any form that `Program` takes.
        scene: a scene in any form that `Scene` takes, or a set. For a list of scenes, or what json.load gives
            of a scene file, a list of the answers on each is returned.
        vocabulary: the values that program and scene may name; by default CLEVR's.

    Raises:
        ProgramError: not a program, it ends in objects (see `find`), or it has no answer here (`unique` of
            none or several objects).
        SceneError: not a scene, or it lacks something that the program asks for; says which object lacks
            what.
    """
    return _on_each(_answer, program, scene, vocabulary)


@overload
def find(
    program: Program | Written, scene: Single, *, vocabulary: _core.Vocabulary | None = None
) -> Objects: ...
@overload
def find(
    program: Program | Written, scene: Several, *, vocabulary: _core.Vocabulary | None = None
) -> Any: ...
def find(
    program: Program | Written,
    scene: Single | Several,
    *,
    vocabulary: _core.Vocabulary | None = None,
) -> Any:
    """Returns the objects that a referring expression means, a program that ends in a set or an object.

    `find("filter_color[red](scene)", scene)` finds all red objects, and `unique` the only one. Arguments are
    those of `execute`.

    Returns:
        The numbers of the objects, in the scene's order; of a `SceneSet`, each as (image, object): the
        image's number in the set and the object's in the image. Empty if no object fits. For several scenes,
        a list of these.

    Raises:
        ProgramError: not a program, it does not end in objects (see `execute`), or a step has no result here
            (`unique` of none or several objects).
        SceneError: as for `execute`.
    """
    return _on_each(_found, program, scene, vocabulary)


@overload
def trace(
    program: Program | Written, scene: Single, *, vocabulary: _core.Vocabulary | None = None
) -> Trace: ...
@overload
def trace(
    program: Program | Written, scene: Several, *, vocabulary: _core.Vocabulary | None = None
) -> Any: ...
def trace(
    program: Program | Written,
    scene: Single | Several,
    *,
    vocabulary: _core.Vocabulary | None = None,
) -> Any:
    """Returns the result of each node of a program on a scene or a set, in order, to explain the answer.

    Arguments are those of `execute`, and for several scenes it is a list, too.

    Raises:
        ProgramError: not a program.
        SceneError: as for `execute`.
    """
    return _on_each(_traced, program, scene, vocabulary)


def answer_text(answer: Answer) -> str:
    """Returns an answer as CLEVR's files spell it: "yes", "3", "cylinder"."""
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
    """Returns the answer numbers of many programs, each executed on its own scene, using all cores.

    Args:
        programs: a CLEVR question file, or (N, P) integer rows of prefix tokens, as in a question HDF5.
        scenes: a CLEVR scene file, or scenes that were read or sampled.
        image_idxs: (N,) each program's scene, by `image_index`; a question file has its own. For rows of
            tokens about several scenes each: (N, 5), padded with -1.
        vocab: vocab.json or its content, which numbers tokens and answers. By default, tokens are numbered as
            in every dataset of the vocabulary, and answers as in `vocabulary.answers`, or in
            `vocabulary.set_answers` for several scenes.
        vocabulary: the values that programs and scenes may name; by default CLEVR's.
        mark_ill_formed: return `ILL_FORMED` for a row of tokens that is not a program, instead of raising an
            error; meant for programs that a model predicted, on one scene each.

    Returns:
        (N,) int32: answer numbers; `INVALID` where a program has no answer on its scene.

    Raises:
        ProgramError: an invalid or unreadable question file, vocab or token row; names the place.
        SceneError: an invalid scene file, an `image_index` without a scene, or not one index per program.
    """
    vocabulary = vocabulary or default_vocabulary()
    numbers = None if vocab is None else _read_vocab(vocab)
    texts = vocabulary.answers
    if not isinstance(scenes, _core.SceneBatch):
        scenes = read_scenes(scenes, vocabulary=vocabulary)
    if isinstance(programs, str | Path):
        content = read_utf8(Path(programs), "a question file", error=ProgramError, max_bytes=_MAX_BYTES)
        parsed, own_idxs = _core.Programs.from_questions(vocabulary, content, file=str(programs))
        places = _places(scenes, own_idxs if image_idxs is None else image_idxs, len(parsed))
        every = np.arange(len(parsed), dtype=np.uint32)
        answers = _core.execute_batch(parsed, scenes.graphs, every, places)
    else:
        if image_idxs is None:
            raise SceneError("rows of tokens do not say which scene each is about: give image_idxs")
        token_names = None
        if numbers is not None:
            of_token = numbers["program_token_to_idx"]
            token_names = sorted(of_token, key=of_token.__getitem__)
        tokens = _core.ProgramTokens(vocabulary, token_names)
        rows = token_rows(programs)
        if np.ndim(image_idxs) == 2:
            answers = _execute_on_sets(tokens, rows, scenes, np.asarray(image_idxs))
            texts = vocabulary.set_answers
        else:
            places = _places(scenes, image_idxs, len(rows))
            answers = _core.execute_tokens(
                tokens, rows, scenes.graphs, places, mark_ill_formed=mark_ill_formed
            )
    if numbers is None:
        return answers
    of_answer = numbers["answer_token_to_idx"]
    unknown = of_answer.get("<UNK>", INVALID)
    table = np.array([of_answer.get(text, unknown) for text in texts], dtype=np.int32)
    # INVALID and ILL_FORMED are left as they are.
    return np.where(answers < 0, answers, table[np.maximum(answers, 0)]).astype(np.int32)


def read_scenes(path: Path | str, *, vocabulary: _core.Vocabulary | None = None) -> _core.SceneBatch:
    """Reads the scenes of a CLEVR scene file, published or made by this package.

    Raises:
        SceneError: the file is something else, or cannot be read; names the scene and the place in it.
    """
    content = read_utf8(Path(path), "a scene file", error=SceneError, max_bytes=_MAX_BYTES)
    return _core.SceneBatch.from_json(vocabulary or default_vocabulary(), content, file=str(path))


def _on_each(
    result: Callable[[Program, Single], Any],
    program: Program | Written,
    given: Single | Several,
    vocabulary: _core.Vocabulary | None,
) -> Any:
    """The result of a program on a scene or set, or a list of its results on each of several scenes."""
    listed, vocabulary = several(given), vocabulary or vocabulary_of(given)
    scenes = [_parsed(given, vocabulary)] if listed is None else []
    for number, each in enumerate(listed or ()):
        with _about(number):
            scenes.append(_parsed(each, vocabulary))
    if not isinstance(program, Program):
        program = Program(program, vocabulary=scenes[0]._vocabulary if scenes else vocabulary)
    results = []
    for number, scene in enumerate(scenes):
        with _about(None if listed is None else number):
            if scene._gaps:  # what was filled in must not decide an answer
                check_gaps(program.needs(), scene._gaps)
            results.append(result(program, scene))
    return results[0] if listed is None else results


def _parsed(scene: Any, vocabulary: _core.Vocabulary | None) -> Single:
    return scene if isinstance(scene, Scene | SceneSet) else Scene(scene, vocabulary=vocabulary)


def _answer(program: Program, scene: Single) -> Answer:
    answer = _core.execute(program._handle, 0, scene._handle, 0)
    if answer is None:
        raise _failure(_traced(program, scene))
    return answer


def _traced(program: Program, scene: Single) -> Trace:
    return Trace([TracedStep(*step) for step in _core.trace(program._handle, 0, scene._handle, 0)], scene)


def _found(program: Program, scene: Single) -> Objects:
    steps = _traced(program, scene)
    last = steps[-1]
    if not last.is_of_objects:
        instead = "trace shows the images" if last.type == "Images" else "execute returns the answer"
        raise ProgramError(f'program: "{last.function}" gives {last.type}, not objects; clevrhope.{instead}')
    if last.output is None:
        raise _failure(steps)
    return last.objects


def _failure(steps: Trace) -> ProgramError:
    """The error of the first step without a result, which says what it was given instead."""
    number, step = next((number, step) for number, step in enumerate(steps) if step.output is None)
    inputs = [steps[k] for k in step.inputs]
    if step.function == "subtraction":
        reason = f"{inputs[0].output} less {inputs[1].output} is below 0"
    elif step.function == "choose_relation":
        reason = "this relation or its converse has to hold for exactly one object of the set in the image"
    elif step.function.startswith("choose_"):
        reason = f"the object is neither {step.value} nor {inputs[1].output}"
    else:
        reason = f"it takes one object, but there are {len(inputs[0].objects)}"
    return ProgramError(
        f"program: step {number}, {step.call}, has no result on this scene: {reason}; "
        "clevrhope.trace(program, scene) shows the results before it"
    )


@contextmanager
def _about(number: int | None) -> Iterator[None]:
    """Adds the number of a scene to messages about one of several."""
    try:
        yield
    except (ProgramError, SceneError) as error:
        if number is None:
            raise
        raise type(error)(f"scenes[{number}]: {str(error).removeprefix('scene: ')}") from error


def _execute_on_sets(
    tokens: _core.ProgramTokens, rows: npt.NDArray[np.int32], scenes: _core.SceneBatch, image_idxs: Ints
) -> npt.NDArray[np.int32]:
    """Answer numbers of programs, each on the set in its row of `image_idxs` (N, I), padded with -1."""
    if len(image_idxs) != len(rows) or image_idxs.dtype.kind not in "iu":
        kind = f"an array of {image_idxs.dtype} of shape {image_idxs.shape}"
        raise SceneError(
            f"image_idxs: {kind}; expected a row of whole numbers for each of {len(rows)} programs"
        )
    is_image = image_idxs >= 0
    places = np.full(image_idxs.shape, -1, dtype=np.int32)
    places[is_image] = _places(scenes, image_idxs[is_image], int(is_image.sum()))
    every = np.arange(len(rows), dtype=np.uint32)
    programs = _core.Programs.from_tokens(tokens, rows)
    return _core.execute_batch(programs, _core.SceneSets(scenes.graphs, places), every, every)


def _places(scenes: _core.SceneBatch, image_idxs: Ints, n_programs: int) -> npt.NDArray[np.uint32]:
    """The positions in `scenes` of the scenes with these image indices, (n_programs,)."""
    given = np.asarray(image_idxs)
    if given.shape != (n_programs,) or (given.size and given.dtype.kind not in "iu"):
        kind = f"an array of {given.dtype} of shape {given.shape}"
        raise SceneError(f"image_idxs: {kind}; expected a whole number for each of {n_programs} programs")
    wanted = given.astype(np.uint64)
    order = np.argsort(scenes.indices, kind="stable")
    known = scenes.indices[order]
    places = np.searchsorted(known, wanted)
    missing = (places == len(known)) | (given < 0)
    missing[~missing] = known[places[~missing]] != wanted[~missing]
    if missing.any():
        first = int(np.argmax(missing))
        raise SceneError(f"image_idxs[{first}] is {given[first]}, but there is no scene of that image_index")
    return order[places].astype(np.uint32)


def _read_vocab(vocab: Path | str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(vocab, Mapping):
        place, content = "vocab", dict(vocab)
    else:
        place, content = str(vocab), read_json(Path(vocab), "a vocab.json", error=ProgramError)
    check_form(content, _NUMBERED, place, error=ProgramError, remedy="give the content of a vocab.json")
    numbers = content["program_token_to_idx"].values()
    if sorted(numbers) != list(range(len(numbers))):
        raise ProgramError(
            f"{place}: program_token_to_idx: not the numbers 0 to {len(numbers) - 1}, each once"
        )
    return content


_NUMBERED = Fields(dict.fromkeys(("program_token_to_idx", "answer_token_to_idx"), MapOf(INDEX)))
