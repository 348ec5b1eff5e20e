"""The engine's binding; private: use the modules of `clevrhope` that wrap it.

Handles are opaque, frozen and safe to share between threads. What can take long releases the GIL, uses all
cores and stops at Ctrl-C. Errors are those of `clevrhope.errors`. Arrays have exactly the types given here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "AbsentReader",
    "AuditReader",
    "AuditScenes",
    "CountingPool",
    "MinimalPool",
    "NativeStudio",
    "PoolScan",
    "ProgramTokens",
    "Programs",
    "QuestionBatch",
    "SceneBatch",
    "SceneGraphs",
    "SplitStream",
    "Templates",
    "TextReader",
    "Vocabulary",
    "World",
    "deflate_chunks",
    "encode_png",
    "execute",
    "execute_batch",
    "execute_tokens",
    "find_windows",
    "inflate_chunks",
    "instantiate_questions",
    "object_ids",
    "plan_levels",
    "plan_runs",
    "program_arities",
    "sample_scenes",
    "trace",
]

_Pair: TypeAlias = Sequence[tuple[str, str]]  # (attribute type, value) each, of different types
_Rule: TypeAlias = Literal["any", "without", "with"]
_QuestionRule: TypeAlias = Literal["any", "without", "unimplied", "with"]
_Value: TypeAlias = bool | int | str
_Numbers: TypeAlias = npt.NDArray[np.int64]
_NodePlan: TypeAlias = tuple[_Numbers, _Numbers, _Numbers, _Numbers, _Numbers]
_TracedStep: TypeAlias = tuple[str, str | None, tuple[int, ...], str, list[int] | _Value | None]

@final
class Vocabulary:
    """Attribute types with their values, the relations and the answers of a world."""

    def __new__(cls, properties: bytes, *, file: str, largest_count: int = 10) -> Vocabulary:
        """Reads a properties file as CLEVR writes it; `file` names it in messages.

        Raises:
            VocabularyError: no JSON, or no usable vocabulary; says where.
        """

    @property
    def attribute_types(self) -> list[tuple[str, list[str]]]:
        """Each attribute type with its values, in the order of their numbers."""

    @property
    def relations(self) -> list[str]:
        """Left, right, behind, front."""

    @property
    def answers(self) -> list[str]:
        """All answers as CLEVR spells them, in the order of their numbers: yes, no, integers, values."""

@final
class NativeStudio:
    """A look, ready to render placed objects without Blender."""

    def __new__(cls, look: bytes, *, file: str) -> NativeStudio:
        """Reads a look's JSON; `file` is for messages.

        Raises:
            SceneError: a shape or material that the native renderer has no formula for.
        """

    def render(self, placement: bytes, *, width: int, height: int, quality: str) -> npt.NDArray[np.uint8]:
        """The image of a placement (JSON), (height, width, 3) uint8 sRGB.

        Args:
            placement: `{"camera", "lights", "things"}` as images/placement.py has them.
            width: pixels.
            height: pixels.
            quality: draft, standard or high.

        Raises:
            SceneError: a name that the look does not know, or more objects than the renderer holds.
            ValueError: another quality.
        """

    def path_trace(self, placement: bytes, *, width: int, height: int, samples: int) -> npt.NDArray[np.uint8]:
        """The image of a placement by plain path tracing: slow, and what `render` is held against.

        Args:
            placement: as `render` has it.
            width: pixels.
            height: pixels.
            samples: paths a pixel; evenest for a square.

        Raises:
            SceneError: as `render`.
        """

    def passes(
        self, placement: bytes, *, width: int, height: int
    ) -> tuple[
        npt.NDArray[np.uint8], npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.uint32]
    ]:
        """What each pixel of a placement's image shows at its centre: mask, depth, normal, pixels alone.

        The mask, (height, width), has the number of the pixel's thing, from 0 on, or 255. The depth,
        (height, width), is along the camera's axis in Blender units, the ground's too, and 0 for nothing. The
        normal, (height, width, 3), is the thing's in the world, of length 1, and 0 where none is. Last is, of
        each thing, how many pixels it would have alone on the ground.

        Raises:
            SceneError: as `render`.
        """

@final
class World:
    """Everything that decides a scene but seed, pool and index: vocabulary, look and constraints."""

    def __new__(
        cls,
        properties: bytes,
        look: bytes,
        config: str,
        *,
        properties_file: str,
        look_file: str,
        config_file: str = "constraints",
    ) -> World:
        """Joins a properties file, a look file and constraints (JSON; what is left out has its default).

        Raises:
            VocabularyError: no usable vocabulary.
            SceneError: an impossible constraint, or an asset that is not in the look.
        """

    def with_palette(self, data: bytes, *, name: str, file: str) -> World:
        """The same world with objects of a palette only, whose minimal pools are called after `name`.

        `data` is JSON: value -> values of another type that go with it, as CoGenT's files have it, or
        `{"types": [...], "rows": [[[value, ...], ...], ...]}`. An object's values are those of a row, of
        one of its combinations, each uniform; of the other types they are uniform. `file` is for messages.

        Raises:
            SceneError: unknown values, combinations of different types, nothing allowed; says where.
        """

    def with_clevr(self, path: Path, *, share: float) -> World:
        """The same world with CLEVR's train scenes at a share of the places of its pool `train`.

        `path` is a `CLEVR_train_scenes.json` as published. Of each run of 1 / `share` places one, drawn, has
        the next scene of a seeded permutation. Behind the last scene the pool has its own again. Other pools
        stay as they are.

        Raises:
            SceneError: a world whose directions are not CLEVR's; a file that cannot be read, scenes of
                another split or not CLEVR's, a share that is none; says which scene, and where in it.
        """

    @property
    def clevr(self) -> tuple[str, int, int] | None:
        """Digest and number of CLEVR's scenes, and how many places of the pool have their share; or None."""

    def clevr_indices(
        self, indices: npt.NDArray[np.uint64], *, seed: int, pool: str
    ) -> npt.NDArray[np.int64]:
        """The published index of the CLEVR scene at each index of a pool; -1 for the pool's own scenes."""

    @property
    def palette_json(self) -> str | None:
        """The palette with types and rows; None where all combinations occur."""

    def seen_palette(self, pair: _Pair, *, diversity: int, mode: Literal["nested", "grid"], seed: int) -> str:
        """What a train set sees of a pair's types: `diversity` - 1 combinations, as types and rows.

        Raises:
            SplitError: no pair, or a diversity that the pair's types cannot have; says which they can.
        """

    def check_seen(self, pair: _Pair) -> None:
        """Passes when the world's palette, as what a train set sees, lets the pair be held out.

        Raises:
            SplitError: it has the pair, or never shows one of its values; says which.
        """

    @property
    def fingerprint(self) -> str:
        """The same for files that say the same; 64 hexadecimal digits."""

    @property
    def config_json(self) -> str:
        """All constraints, defaults included, as JSON."""

    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def attribute_types(self) -> list[tuple[str, list[str]]]:
        """As the vocabulary's."""

    @property
    def relations(self) -> list[str]:
        """As the vocabulary's."""

    @property
    def answers(self) -> list[str]:
        """As the vocabulary's."""

@final
class SceneBatch:
    """Scenes, with everything that is known of them."""

    @staticmethod
    def from_json(vocabulary: Vocabulary, data: bytes, *, file: str) -> SceneBatch:
        """Reads a CLEVR scene file, a list of scenes, or one scene; `file` names it in messages.

        Raises:
            SceneError: not such a file; names the scene and the place in it.
        """

    def __len__(self) -> int: ...
    @property
    def indices(self) -> npt.NDArray[np.uint64]:
        """(N,) each scene's index in its pool; `image_index` in its file."""

    @property
    def n_objects(self) -> npt.NDArray[np.uint8]:
        """(N,) objects of each scene."""

    @property
    def graphs(self) -> SceneGraphs:
        """What programs see of the scenes; made once."""

    def take(self, positions: npt.NDArray[np.uint32]) -> SceneBatch:
        """The scenes at these places, in this order.

        Raises:
            IndexError: there is no such place.
        """

    def json_rows(self) -> list[bytes]:
        """Each scene as a JSON object in one line: CLEVR's keys, and what CLEVR never recorded."""

    def to_json(self) -> bytes:
        """The same as a JSON list."""

@final
class SceneGraphs:
    """What programs see of scenes: attribute values and relations."""

    @staticmethod
    def from_json(vocabulary: Vocabulary, data: bytes, *, file: str) -> SceneGraphs:
        """Reads scenes as `SceneBatch.from_json` does, but needs no more than values and relations.

        Relations may also follow from `3d_coords` and `directions`.

        Raises:
            SceneError: not such a file; names the scene and the place in it.
        """

    def __len__(self) -> int: ...
    @property
    def n_objects(self) -> npt.NDArray[np.uint8]:
        """(N,) objects of each scene."""

@final
class Programs:
    """Checked programs, in order."""

    @staticmethod
    def from_json(vocabulary: Vocabulary, data: bytes, *, file: str) -> Programs:
        """Reads one program, a list of nodes in either of CLEVR's spellings.

        Raises:
            ProgramError: not a program; names the node.
        """

    @staticmethod
    def from_questions(
        vocabulary: Vocabulary, data: bytes, *, file: str
    ) -> tuple[Programs, npt.NDArray[np.uint64]]:
        """Reads the programs of a question file, and (N,) the `image_index` of each.

        Raises:
            ProgramError: not such a file, or a question without a program; names the question and the node.
        """

    @staticmethod
    def from_tokens(tokens: ProgramTokens, rows: npt.NDArray[np.int32]) -> Programs:
        """Reads (N, P) rows of prefix tokens, as a question HDF5 holds them.

        Raises:
            ProgramError: a row that is no program; names the row and the position in it.
        """

    def __len__(self) -> int: ...
    def to_json(self, number: int) -> bytes:
        """One program as a list of nodes in the published spelling.

        Raises:
            IndexError: there is no such program.
        """

    def to_tokens(self, tokens: ProgramTokens, width: int) -> npt.NDArray[np.int32]:
        """(N, width) rows of prefix tokens, padded with 0.

        Raises:
            ProgramError: a program that needs more room, or a function that has no token.
        """

@final
class ProgramTokens:
    """The tokens that rows of a question HDF5 can hold, by number."""

    def __new__(cls, vocabulary: Vocabulary, names: Sequence[str] | None = None) -> ProgramTokens:
        """The tokens of a vocab.json by number; without names, those of every dataset of this vocabulary.

        Raises:
            ProgramError: a name that is no function with a value of its type.
        """

    @property
    def names(self) -> list[str]:
        """Token names by number, the special ones included."""

@final
class Templates:
    """The question families of a folder of templates."""

    def __new__(
        cls,
        files: Sequence[tuple[str, bytes]],
        order: Sequence[str],
        synonyms: bytes,
        world: World,
        *,
        synonyms_file: str = "synonyms.json",
    ) -> Templates:
        """Reads template files, given as (name without folder or suffix, content).

        Families are numbered through the files in `order`; files that it does not name follow by name.

        Raises:
            TemplateError: not CLEVR's template format; names the file, the template and the place in it.
        """

    @property
    def n_families(self) -> int: ...
    @property
    def families(self) -> list[tuple[str, int, int]]:
        """File name, place in the file, and global index of each family, by global index."""

    @property
    def words(self) -> list[str]:
        """Every token that a question can hold, sorted, without the special ones."""

    @property
    def fingerprint(self) -> str:
        """Two sets with the same one give the same questions; 64 hexadecimal digits."""

    @property
    def question_width(self) -> int:
        """Most tokens of a question, <START> and <END> included."""

    @property
    def program_width(self) -> int:
        """Most tokens of a program, <START> and <END> included."""

    def families_that_can_mention(self, pair: _Pair) -> list[int]:
        """Global indices of the families that can name all the values for one set of objects."""

@final
class QuestionBatch:
    """Questions on the scenes of one pool, in order."""

    def __len__(self) -> int: ...
    def take(self, start: int, stop: int) -> QuestionBatch:
        """The questions from `start` up to `stop`; shares them.

        Raises:
            IndexError: there are not so many.
        """

    @property
    def image_idxs(self) -> npt.NDArray[np.int64]:
        """(N,) each question's scene, by its index in the pool."""

    @property
    def answers(self) -> npt.NDArray[np.int32]:
        """(N,) numbers of `Vocabulary.answers`."""

    @property
    def question_families(self) -> npt.NDArray[np.int32]:
        """(N,) global indices of families."""

    @property
    def texts(self) -> list[str]:
        """The questions in English."""

    def relation_needed(self, width: int = 3) -> npt.NDArray[np.int8]:
        """(N, width) for each `relate` of the program: 1 needed for the answer, 0 not, -1 no relation.

        Raises:
            ValueError: a question with more relations than that.
        """

    def question_tokens(
        self, names: Sequence[str], width: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """(N, width) rows of words by number in `names`, padded with 0; (N,) tokens of each.

        Raises:
            TemplateError: a word that is not in `names`, or a question that needs more room.
        """

    def program_tokens(
        self, tokens: ProgramTokens, width: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """(N, width) rows of functions in prefix order, padded with 0; (N,) tokens of each.

        Raises:
            ProgramError: a program that needs more room, or a function that has no token.
        """

    def json_rows(self, *, split: str, start_index: int = 0) -> list[bytes]:
        """Each question as a JSON object in one line: CLEVR's keys, and template, place and needed relations.

        `question_index` counts from `start_index`.
        """

    def to_json(self, *, split: str, start_index: int = 0) -> bytes:
        """The same as a JSON list."""

@final
class PoolScan:
    """The scenes of a pool as programs see them; made once for all splits over the pool."""

    def __new__(cls, world: World, *, seed: int, pool: str) -> PoolScan: ...
    @property
    def scanned(self) -> int:
        """How many scenes have been looked at."""

    def scenes(self, indices: npt.NDArray[np.uint64]) -> SceneBatch:
        """Scenes of the pool by index, (N,), in that order; those that were looked at are not made again.

        Raises:
            SceneError: constraints that a scene could not meet.
        """

    def look_at(self, n_scenes: int) -> None:
        """Looks at so many scenes from the first on, if that was not done yet.

        Raises:
            SceneError: constraints that a scene could not meet.
        """

@final
class SplitStream:
    """A split of a pool: its questions, window after window of 250 eligible scenes."""

    def __new__(
        cls,
        scan: PoolScan,
        templates: Templates,
        *,
        split: str,
        pair: _Pair | None,
        scenes: _Rule,
        questions: _QuestionRule,
        questions_per_scene: int,
        match_objects: bool = False,
    ) -> SplitStream:
        """A split by name, its held-out values, and which scenes and questions it takes.

        Raises:
            SplitError: no template can mention the values, though questions have to.
        """

    def next(self, n_windows: int) -> QuestionBatch:
        """The questions of the next windows. After an error or Ctrl-C the stream is of no more use.

        Raises:
            SplitError: no more eligible scenes, or no question on them; says which predicate starves it.
        """

    def skip(self, n_windows: int) -> npt.NDArray[np.uint64]:
        """Passes over windows without asking; gives the indices of their scenes, in order.

        Raises:
            SplitError: as `next`.
        """

    def time_attempts(self, n_windows: int) -> npt.NDArray[np.uint64]:
        """Nanoseconds of each attempt at a question in the next windows, kept or not; for benchmarks."""

    def prepare(self, n_windows: int) -> None:
        """Looks for the scenes of the next windows, so that `next` has only to ask.

        Raises:
            SplitError: no more eligible scenes.
        """

    @property
    def usable_families(self) -> list[int]:
        """Global indices of the families that can ask what the split wants."""

    @property
    def work(self) -> dict[str, int]:
        """So far: scenes (asked about), scanned, attempts, states, options, found, exhausted."""

@final
class MinimalPool:
    """The pool of one-object images of a pair's attribute types, and the questions on it.

    Scene `place * corners + corner`; place `(grid * n_combinations + combination) * copies + copy`.
    """

    def __new__(cls, world: World, *, pair: _Pair) -> MinimalPool:
        """The pool of the types of a pair, and which of its images show the pair; of a single value, too.

        Raises:
            SplitError: not values of different types, or a type with one value.
        """

    @property
    def name(self) -> str:
        """`minimal_<type>_<type>`, the name under which `sample_scenes` gives its scenes.

        In a world with a palette `-<palette>` follows.
        """

    @property
    def n_places(self) -> int: ...
    @property
    def n_grids(self) -> int: ...
    @property
    def n_combinations(self) -> int:
        """Combinations of the other types' values."""

    @property
    def copies(self) -> int:
        """Places of each grid and combination, as many as in the paper."""

    @property
    def corners(self) -> int:
        """Images of a place: 4 for a pair, 2 for a single value."""

    def has_pair(self, place: int) -> bool:
        """Whether a place's grid holds the held-out values."""

    def has_unseen(self, place: int) -> bool:
        """Whether a corner of a place's grid shows what is not seen: the held-out values, or no palette's."""

    def questions(
        self,
        templates: Templates,
        *,
        seed: int,
        kind: Literal["iid", "ood"],
        places: npt.NDArray[np.uint64],
    ) -> QuestionBatch:
        """The questions of a minimal set on (N,) places, group by group.

        Raises:
            SplitError: no template asks for existence alone.
            IndexError: there is no such place.
        """

@final
class CountingPool:
    """The pool of sets of six images in which 0, 1, ... 5 of five objects have a value of a type.

    Scene `(set * values of the type + value) * images + objects with the value`.
    """

    def __new__(cls, world: World, *, value: tuple[str, str]) -> CountingPool:
        """The pool of the type of (type, value), and which of its sets count the value.

        Raises:
            SplitError: no such value, or a type with one value.
        """

    @property
    def name(self) -> str:
        """`counting_<type>`, the name under which `sample_scenes` gives its scenes."""

    @property
    def images(self) -> int:
        """Images of a set: 6."""

    @property
    def positions(self) -> list[tuple[float, float]]:
        """X and y of the five objects, in Blender units, the same in every image."""

    def questions(self, templates: Templates, *, seed: int, first: int, n: int) -> QuestionBatch:
        """The questions of n sets from set `first` on: each set's images in order, asked the same.

        Raises:
            SplitError: no template asks for a count alone, or more sets than a pool has room for.
        """

@final
class AbsentReader:
    """Reads finished questions for combinations of values that were not seen, with code of its own."""

    def __new__(
        cls,
        vocabulary: Vocabulary,
        *,
        question_tokens: Sequence[str],
        program_tokens: Sequence[str],
        types: tuple[str, str],
        seen: Sequence[tuple[str, str]],
        words: Sequence[tuple[str, int | None, bool, bool]],
    ) -> AbsentReader:
        """`types` are two, `seen` their values that objects had together; tokens are given by number.

        `words` are (text, number of the value that it names, whether it names some value, whether it ends a
        noun phrase); values of the first type have the first numbers, those of the second follow.

        Raises:
            VocabularyError: a type or value that the vocabulary has not, or too many of them.
        """

    def read(
        self, questions: npt.NDArray[np.int32], programs: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """(N,) whether programs, and whether words, ask for values that no object had, alone or together."""

@final
class AuditReader:
    """Reads finished questions with code of its own, to be held against what made them."""

    def __new__(
        cls,
        vocabulary: Vocabulary,
        *,
        question_tokens: Sequence[str],
        program_tokens: Sequence[str],
        answers: Sequence[str],
        pair: _Pair,
        words: Sequence[tuple[str, int | None, bool, bool]],
    ) -> AuditReader:
        """For the names of a `vocab.json`, each by number, and held-out values as (type, value), or none.

        `words` are those for values and for objects of any kind: the text of one or more words, the place
        in `pair` of the value that it names (None for any other), whether it names a value, whether it is a
        noun.

        Raises:
            VocabularyError: held-out values that the vocabulary has not, or over four.
        """

    def say(
        self, rows: Sequence[bytes], question_width: int, program_width: int
    ) -> tuple[
        tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
        tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
        tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]],
        list[str],
    ]:
        """What rows of a question file, JSON objects, say in numbers; -1 for what has none. Uses all cores.

        Words (N, question_width) cut or padded with 0, and how many (N,); the same of programs; answers,
        image indices and families (N,); names of images.

        Raises:
            ValueError: a row that is no question; says which.
        """

    def read(
        self,
        questions: npt.NDArray[np.int32],
        programs: npt.NDArray[np.int32],
        scenes: AuditScenes,
        scene_idxs: npt.NDArray[np.int64],
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.int32]]:
        """For rows of tokens (N, Q) and (N, P), and each row's place among `scenes` (N,): four columns (N,).

        Whether the program mentions all held-out values; whether the words do; whether the program mentions
        them or asks for them by way of a relation; the answer's number, -1 where a `unique` met a set of none
        or several or a row's scene is -1, -2 where the tokens are no program, -3 where what comes out is not
        among the answers. Uses all cores.

        Raises:
            IndexError: a scene that is not there, or arrays of different lengths.
        """

    def relations_needed(
        self,
        programs: npt.NDArray[np.int32],
        scenes: AuditScenes,
        scene_idxs: npt.NDArray[np.int64],
        width: int,
    ) -> npt.NDArray[np.int8]:
        """(N, width) for each relation of rows (N, P) 1 where the answer needs it and 0 where not; -1 behind.

        A relation is needed when the program with the whole scene in its place has another answer, or none.
        A row is -2 throughout where the program has no answer, its scene is -1, or its relations are more.
        Uses all cores.

        Raises:
            IndexError: arrays of different lengths.
        """

@final
class AuditScenes:
    """Scenes of finished files, read with code of its own: S of them, in the files' order."""

    @staticmethod
    def read(vocabulary: Vocabulary, paths: Sequence[Path]) -> AuditScenes:
        """Reads CLEVR scene files; uses all cores.

        Raises:
            SceneError: a file that cannot be read or is none; says where.
        """

    def __len__(self) -> int: ...
    @property
    def indices(self) -> npt.NDArray[np.int64]:
        """(S,) `image_index` of each."""

    @property
    def filenames(self) -> list[str]:
        """`image_filename` of each."""

    @property
    def looks(self) -> npt.NDArray[np.uint64]:
        """(S,) digests of objects, places and rotations: the same but for camera and lights."""

    @property
    def places(self) -> npt.NDArray[np.uint64]:
        """(S,) digests of places (x and y) and rotations alone."""

    @property
    def cameras(self) -> npt.NDArray[np.float64]:
        """(S, 3) where cameras stood; NaN where a scene does not say."""

    @property
    def behind(self) -> npt.NDArray[np.float64]:
        """(S, 3) the direction that scenes call behind; NaN where a scene does not say."""

    @property
    def left(self) -> npt.NDArray[np.float64]:
        """(S, 3) the one that they call left."""

    @property
    def misrelated(self) -> list[tuple[int, str]]:
        """Scenes, by number here, whose relationships contradict places and directions; how."""

    @property
    def n_objects(self) -> npt.NDArray[np.uint8]:
        """(S,) objects of each."""

    @property
    def attributes(self) -> npt.NDArray[np.uint8]:
        """(O, 4) the numbers of each object's size, color, material and shape, scene by scene."""

    def holding(self, values: _Pair) -> npt.NDArray[np.bool_]:
        """(S,) whether one object has all these values.

        Raises:
            VocabularyError: values that the vocabulary has not.
        """

@final
class TextReader:
    """Reads questions' words backwards through their templates, apart from what worded them."""

    def __new__(
        cls,
        vocabulary: Vocabulary,
        *,
        question_tokens: Sequence[str],
        program_tokens: Sequence[str],
        answers: Sequence[str],
        templates: Sequence[tuple[str, bytes]],
        synonyms: bytes,
    ) -> TextReader:
        """For the names of a `vocab.json`, each by number.

        `templates` are template files by name without suffix, in the order in which families are numbered;
        `synonyms` is the JSON object of words for values.

        Raises:
            TemplateError: a file that is none, or a phrasing that cannot be read backwards; names the place.
        """

    @property
    def answers_by_family(self) -> list[list[int]]:
        """Numbers of the answers that each family can have."""

    def readings(self, text: Sequence[int]) -> list[tuple[int, list[str]]]:
        """All that a text's tokens can mean: family, and functions in prefix order. For messages."""

    def read(
        self,
        questions: npt.NDArray[np.int32],
        programs: npt.NDArray[np.int32],
        families: npt.NDArray[np.int32],
        answers: npt.NDArray[np.int32],
        scenes: AuditScenes,
        scene_idxs: npt.NDArray[np.int64],
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]:
        """Holds the words of rows (N, Q) against their programs (N, P), families and answers (N,).

        Flags (N,): 1 no template says this; 2 the words do not mean the program; 4 they mean it in another
        family; 8 what they mean has another answer; 16 they mean several programs; 32 these have different
        answers on this image. And (N,) numbers, equal for rows of equal words. `scene_idxs` (N,) are places
        among `scenes`, -1 for a scene that is not there: its row is read without answers. Uses all cores.

        Raises:
            ValueError: columns of different lengths.
        """

def find_windows(
    families: npt.NDArray[np.int32],
    answers: npt.NDArray[np.int32],
    images: npt.NDArray[np.int32],
    answers_by_family: Sequence[Sequence[int]],
    *,
    window: int,
    unseen: int,
) -> tuple[int | None, int | None]:
    """Whether a split's questions (N,), in order, can have come from balanced windows of `window` scenes.

    At most `unseen` scenes of a window gave no question. `answers_by_family` holds the numbers of the answers
    that each family can have. The number of windows and None, or None and the row that came when the rule
    forbade it, however windows are laid.
    """

def deflate_chunks(
    rows: npt.NDArray[np.uint8], *, item_size: int, chunk_rows: int, level: int
) -> list[bytes]:
    """Rows of bytes (N, row size) as HDF5 chunks of `chunk_rows`: shuffled by `item_size`, then deflated.

    The last chunk is filled up with zeros. Uses all cores; the bytes depend on the input alone.

    Raises:
        ValueError: a level outside 1 to 12, or rows that are no whole number of items.
    """

def sample_scenes(world: World, *, seed: int, pool: str, indices: npt.NDArray[np.uint64]) -> SceneBatch:
    """The scenes of (N,) indices of a pool; each depends on world, seed, pool and its index alone.

    The pools `minimal_<type>_<type>` are those of `MinimalPool`.

    Raises:
        SceneError: constraints that a scene could not meet; says which, and how often it failed.
    """

def instantiate_questions(
    scenes: SceneBatch,
    templates: Templates,
    *,
    seed: int,
    pair: _Pair | None,
    questions: _QuestionRule,
    questions_per_scene: int,
) -> QuestionBatch:
    """Questions on scenes from anywhere, balanced over windows of 250 of them.

    Raises:
        SplitError: not values of different types.
        VocabularyError: templates and scenes of two vocabularies.
    """

def object_ids(world: World, scenes: SceneBatch) -> npt.NDArray[np.uint8]:
    """(N, height, width) which object each pixel shows: 0 none, i + 1 object i; as visibility was counted.

    Raises:
        SceneError: a scene does not say where its camera stands.
    """

def inflate_chunks(chunks: Sequence[bytes], *, item_size: int, chunk_size: int) -> npt.NDArray[np.uint8]:
    """Chunks as `deflate_chunks` makes them, each of `chunk_size` bytes, unpacked end to end. Uses all cores.

    Raises:
        ValueError: a chunk that is cut off, or of another size.
    """

def encode_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """The PNG file of (height, width, 3) uint8 sRGB pixels that lie in one piece.

    Raises:
        ValueError: another shape, or no pixels.
    """

def execute(programs: Programs, program: int, scenes: SceneGraphs, scene: int) -> _Value:
    """The answer of one program on one scene.

    Raises:
        ProgramError: the program has no answer on this scene.
        IndexError: there is no such program or scene.
    """

def trace(programs: Programs, program: int, scenes: SceneGraphs, scene: int) -> list[_TracedStep]:
    """Function, value, inputs, type and output of each step; output None from a failed `unique` on.

    Raises:
        IndexError: there is no such program or scene.
    """

def execute_batch(
    programs: Programs,
    scenes: SceneGraphs,
    program_idxs: npt.NDArray[np.uint32],
    scene_idxs: npt.NDArray[np.uint32],
) -> npt.NDArray[np.int32]:
    """(N,) answer numbers of (N,) pairs of program and scene; -1 where there is no answer.

    Raises:
        IndexError: a number beyond the programs or scenes.
        ValueError: the two arrays differ in length.
    """

def execute_tokens(
    tokens: ProgramTokens,
    rows: npt.NDArray[np.int32],
    scenes: SceneGraphs,
    scene_idxs: npt.NDArray[np.uint32],
    *,
    mark_ill_formed: bool = False,
) -> npt.NDArray[np.int32]:
    """(N,) answer numbers of (N, P) rows of prefix tokens, each on a scene; -1 where there is no answer.

    Raises:
        ProgramError: a row that is no program, unless these are to be marked with -2.
        IndexError: a number beyond the scenes.
        ValueError: rows that are not contiguous, or not as many as scene numbers.
    """

def program_arities(names: Sequence[str]) -> npt.NDArray[np.int8]:
    """How many inputs each program token of a vocab.json takes, by number; -1 for the special ones.

    Raises:
        ProgramError: a name whose function is none.
    """

def plan_levels(rows: npt.NDArray[np.int64], arities: npt.NDArray[np.int8]) -> _NodePlan:
    """The nodes of (B, P) rows of prefix tokens, sorted by level, number of inputs, token and row.

    A node's level is 0 where it takes no input, and one more than that of its highest input elsewhere. Types
    are not looked at; a row that is no tree between <START> and <END> has no nodes.

    Args:
        rows: as a question HDF5 holds them.
        arities: of each token, as `program_arities` gives them.

    Returns:
        (N,) tokens, (N,) rows and (N, 2) operands of the nodes, operands being earlier nodes or -1; where
        each level begins, and last N; and (B,) the node that gives each row's answer, -1 for a row that is no
        program.

    Raises:
        ValueError: rows that are not contiguous, or have no columns.
    """

def plan_runs(rows: npt.NDArray[np.int64], arities: npt.NDArray[np.int8]) -> _NodePlan:
    """As `plan_levels`, but in runs of nodes of one token, which wait for others of it: few, large runs.

    Returns:
        As `plan_levels`; where each run begins in place of each level.
    """
