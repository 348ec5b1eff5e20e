"""Types of the engine's binding; `help(clevrhope._core)` says what each name is for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "NO_ANSWER",
    "NO_PROGRAM",
    "AbsentReader",
    "AuditFindings",
    "AuditReader",
    "AuditScenes",
    "AuditSetFindings",
    "AuditSetRows",
    "AuditViolation",
    "CountingPool",
    "MinimalPool",
    "NativeStudio",
    "Pairs",
    "Phrasings",
    "PoolScenes",
    "ProgramTokens",
    "Programs",
    "QuestionBatch",
    "QuestionStream",
    "RenderStop",
    "SceneBatch",
    "SceneGraphs",
    "SceneSets",
    "SplitQuestions",
    "Suite",
    "Templates",
    "TextReader",
    "Vocabulary",
    "World",
    "covr_properties",
    "covr_property_names",
    "covr_template_names",
    "covr_term_names",
    "deflate_chunks",
    "edit_scenes",
    "encode_png",
    "engine_version",
    "execute",
    "execute_batch",
    "execute_tokens",
    "find_windows",
    "inflate_chunks",
    "instantiate_questions",
    "number_texts",
    "object_ids",
    "plan_levels",
    "plan_runs",
    "program_arities",
    "sample_scenes",
    "takes_an",
    "trace",
    "vector_instructions",
    "write_steps",
]

_Values: TypeAlias = Sequence[tuple[str, str]]  # (attribute type, value) each, of different types
_Rule: TypeAlias = Literal["any", "without", "with"]
_QuestionRule: TypeAlias = Literal["any", "without", "unimplied", "with"]
_Value: TypeAlias = bool | int | str
_Numbers: TypeAlias = npt.NDArray[np.int64]
_Tokens: TypeAlias = npt.NDArray[np.int32]
_Truths: TypeAlias = npt.NDArray[np.bool_]
_TokenRows: TypeAlias = tuple[_Tokens, npt.NDArray[np.int32]]
_Word: TypeAlias = tuple[str, int | None, bool, bool]
_NodePlan: TypeAlias = tuple[_Numbers, _Numbers, _Numbers, _Numbers, _Numbers]
_Counted: TypeAlias = tuple[list[tuple[int, AuditViolation]], dict[AuditViolation, int]]
_Output: TypeAlias = list[int] | list[tuple[int, int]] | tuple[int, int] | _Value | None
_TracedStep: TypeAlias = tuple[str, str | None, tuple[int, ...], str, _Output]

NO_ANSWER: Final[int]
NO_PROGRAM: Final[int]

@final
class Vocabulary:
    def __new__(cls, properties: bytes, *, file: str, largest_count: int = 10) -> Vocabulary: ...
    @property
    def attribute_types(self) -> list[tuple[str, list[str]]]: ...
    @property
    def answers(self) -> list[str]: ...
    @property
    def set_answers(self) -> list[str]: ...

@final
class RenderStop:
    def __new__(cls) -> RenderStop: ...
    def set(self) -> None: ...

@final
class NativeStudio:
    def __new__(cls, look: bytes, *, file: str) -> NativeStudio: ...
    def render(
        self,
        placement: bytes,
        *,
        width: int,
        height: int,
        quality: Literal["draft", "standard", "high"],
        stop: RenderStop | None = None,
    ) -> npt.NDArray[np.uint8]: ...
    def path_trace(
        self, placement: bytes, *, width: int, height: int, samples: int
    ) -> npt.NDArray[np.uint8]: ...
    def passes(
        self, placement: bytes, *, width: int, height: int, stop: RenderStop | None = None
    ) -> tuple[
        npt.NDArray[np.uint8], npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.uint32]
    ]: ...

@final
class World:
    def __new__(
        cls,
        properties: bytes,
        look: bytes,
        config: str,
        *,
        properties_file: str,
        look_file: str,
        config_file: str = "constraints",
    ) -> World: ...
    def with_palette(self, data: bytes, *, name: str, file: str) -> World: ...
    def with_clevr(self, path: Path, *, share: float) -> World: ...
    @property
    def clevr(self) -> tuple[str, list[int]] | None: ...
    def n_objects(
        self, indices: npt.NDArray[np.uint64], *, seed: int, pool: str
    ) -> npt.NDArray[np.uint32]: ...
    def clevr_indices(
        self, indices: npt.NDArray[np.uint64], *, seed: int, pool: str
    ) -> npt.NDArray[np.int64]: ...
    @property
    def palette_json(self) -> str | None: ...
    def seen_palette(
        self, held_out: _Values, *, diversity: int, mode: Literal["nested", "grid"], seed: int
    ) -> str: ...
    def check_seen(self, held_out: _Values) -> None: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def config_json(self) -> str: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def attribute_types(self) -> list[tuple[str, list[str]]]: ...
    @property
    def answers(self) -> list[str]: ...

@final
class SceneBatch:
    @staticmethod
    def from_json(vocabulary: Vocabulary, data: bytes, *, file: str) -> SceneBatch: ...
    def __len__(self) -> int: ...
    @property
    def indices(self) -> npt.NDArray[np.uint64]: ...
    @property
    def n_objects(self) -> npt.NDArray[np.uint8]: ...
    @property
    def graphs(self) -> SceneGraphs: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    def take(self, positions: npt.NDArray[np.uint32]) -> SceneBatch: ...
    def json_rows(self) -> list[bytes]: ...
    def to_json(self) -> bytes: ...

@final
class SceneGraphs:
    @staticmethod
    def joined(vocabulary: Vocabulary, handles: Sequence[SceneGraphs]) -> SceneGraphs: ...
    @staticmethod
    def from_json(vocabulary: Vocabulary, data: bytes, *, file: str) -> SceneGraphs: ...
    def __len__(self) -> int: ...
    @property
    def n_objects(self) -> npt.NDArray[np.uint8]: ...

@final
class SceneSets:
    def __new__(cls, scenes: SceneGraphs, scene_idxs: npt.NDArray[np.int32]) -> SceneSets: ...
    def __len__(self) -> int: ...

@final
class Programs:
    @staticmethod
    def from_json(
        vocabulary: Vocabulary, data: bytes, *, file: str, any_ending: bool = False
    ) -> Programs: ...
    @staticmethod
    def from_covr_json(
        vocabulary: Vocabulary, data: bytes, *, file: str, any_ending: bool = False
    ) -> Programs: ...
    @staticmethod
    def from_questions(
        vocabulary: Vocabulary, data: bytes, *, file: str
    ) -> tuple[Programs, npt.NDArray[np.uint64]]: ...
    @staticmethod
    def from_tokens(tokens: ProgramTokens, rows: _Tokens, *, any_ending: bool = False) -> Programs: ...
    def __len__(self) -> int: ...
    def to_json(self, number: int) -> bytes: ...
    def to_covr_json(self, number: int) -> bytes: ...
    def to_tokens(self, tokens: ProgramTokens, width: int) -> _Tokens: ...

@final
class ProgramTokens:
    def __new__(cls, vocabulary: Vocabulary, names: Sequence[str] | None = None) -> ProgramTokens: ...
    def extended(self, functions: Sequence[str]) -> ProgramTokens: ...
    @property
    def names(self) -> list[str]: ...

@final
class Templates:
    def __new__(
        cls,
        files: Sequence[tuple[str, bytes]],
        order: Sequence[str],
        synonyms: bytes,
        vocabulary: Vocabulary,
        *,
        synonyms_file: str = "synonyms.json",
    ) -> Templates: ...
    @property
    def n_families(self) -> int: ...
    @property
    def families(self) -> list[tuple[str, int, int]]: ...
    @property
    def words(self) -> list[str]: ...
    @property
    def functions(self) -> list[str]: ...
    @property
    def not_asked(self) -> dict[str, int]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def question_width(self) -> int: ...
    @property
    def program_width(self) -> int: ...
    def families_that_can_mention(self, held_out: _Values) -> list[int]: ...

@final
class QuestionBatch:
    def __len__(self) -> int: ...
    def take(self, start: int, stop: int) -> QuestionBatch: ...
    @property
    def columns(self) -> list[str]: ...
    def column(self, name: str) -> npt.NDArray[Any]: ...
    @property
    def texts(self) -> list[str]: ...
    def question_tokens(self, names: Sequence[str], width: int) -> _TokenRows: ...
    def clevr_program_tokens(self, names: ProgramTokens, width: int) -> _TokenRows: ...
    def program_tokens(self, names: ProgramTokens, width: int) -> _TokenRows: ...
    def json_rows(self, *, split: str, start_index: int = 0) -> list[bytes]: ...
    def to_json(self, *, split: str, start_index: int = 0) -> bytes: ...

@final
class PoolScenes:
    def __new__(cls, world: World, *, seed: int, pool: str) -> PoolScenes: ...
    @property
    def n_kept(self) -> int: ...
    def scenes(self, indices: npt.NDArray[np.uint64]) -> SceneBatch: ...
    def eligible(
        self, held_out: _Values | None, *, scenes: _Rule, split: str, n: int
    ) -> npt.NDArray[np.uint64]: ...

@final
class Phrasings:
    def __new__(cls, content: bytes, vocabulary: Vocabulary, *, file: str) -> Phrasings: ...
    @property
    def words(self) -> list[str]: ...
    @property
    def question_width(self) -> int: ...
    @property
    def program_width(self) -> int: ...
    @property
    def functions(self) -> list[str]: ...
    @property
    def fingerprint(self) -> str: ...

@final
class QuestionStream:
    @staticmethod
    def about_images(
        pool_scenes: PoolScenes,
        templates: Templates,
        *,
        split: str,
        held_out: _Values | None,
        scenes: _Rule,
        questions: _QuestionRule,
        questions_per_scene: int,
        in_chains: bool = False,
    ) -> QuestionStream: ...
    @staticmethod
    def about_sets(
        pool_scenes: PoolScenes,
        phrasings: Phrasings,
        *,
        split: str,
        held_out: _Values | None,
        scenes: _Rule,
        places: Sequence[Literal["nowhere", "question", "distractor"]],
        implied: bool,
        distractors: Literal["edited", "random"],
        half: int | None,
        paraphrased: bool,
    ) -> QuestionStream: ...
    def next(self, n_windows: int) -> QuestionBatch: ...
    def time_attempts(self, n_windows: int) -> npt.NDArray[np.uint64]: ...
    def prepare(self, n_windows: int) -> None: ...
    @property
    def work(self) -> dict[str, int]: ...
    @property
    def skipped(self) -> dict[str, int]: ...

@final
class MinimalPool:
    def __new__(cls, world: World, *, held_out: _Values, shared: bool = False) -> MinimalPool: ...
    @property
    def name(self) -> str: ...
    @property
    def n_places(self) -> int: ...
    @property
    def n_grids(self) -> int: ...
    @property
    def n_combinations(self) -> int: ...
    @property
    def copies(self) -> int: ...
    @property
    def corners(self) -> int: ...
    def has_held_out(self, place: int) -> bool: ...
    def questions(
        self,
        templates: Templates,
        *,
        seed: int,
        kind: Literal["iid", "ood"],
        places: npt.NDArray[np.uint64],
    ) -> QuestionBatch: ...

@final
class CountingPool:
    def __new__(cls, world: World, *, value: tuple[str, str]) -> CountingPool: ...
    @property
    def name(self) -> str: ...
    @property
    def images(self) -> int: ...
    @property
    def positions(self) -> list[tuple[float, float]]: ...
    def questions(self, templates: Templates, *, seed: int, first: int, n: int) -> QuestionBatch: ...

@final
class AbsentReader:
    def __new__(
        cls,
        vocabulary: Vocabulary,
        *,
        question_tokens: Sequence[str],
        program_tokens: Sequence[str],
        types: tuple[str, str],
        seen: Sequence[tuple[str, str]],
        words: Sequence[_Word],
    ) -> AbsentReader: ...
    def violations(self, questions: _Tokens, programs: _Tokens, most: int) -> _Counted: ...

@final
class AuditReader:
    NO_ANSWER: Final[int]
    NO_PROGRAM: Final[int]
    UNKNOWN_ANSWER: Final[int]
    NO_SCENE: Final[int]
    UNANSWERED: Final[int]
    TEMPLATES: Final[list[str]]
    def __new__(
        cls,
        vocabulary: Vocabulary,
        *,
        question_tokens: Sequence[str],
        program_tokens: Sequence[str],
        answers: Sequence[str],
        held_out: _Values,
        words: Sequence[_Word],
        in_chains: bool = False,
    ) -> AuditReader: ...
    def encode(
        self, rows: Sequence[bytes], question_width: int, program_width: int
    ) -> tuple[
        _TokenRows,
        _TokenRows,
        tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]],
        list[str],
    ]: ...
    def read(
        self,
        questions: _Tokens,
        programs: _Tokens,
        scenes: AuditScenes,
        scene_idxs: npt.NDArray[np.int64],
    ) -> AuditFindings: ...
    def relations_needed(
        self,
        programs: _Tokens,
        scenes: AuditScenes,
        scene_idxs: npt.NDArray[np.int64],
        width: int,
    ) -> npt.NDArray[np.int8]: ...
    def encode_sets(
        self, rows: Sequence[bytes], split: str, templates: Sequence[str], structures: Sequence[str]
    ) -> AuditSetRows: ...
    def read_sets(
        self,
        questions: _Tokens,
        programs: _Tokens,
        scenes: AuditScenes,
        scene_idxs: npt.NDArray[np.int64],
    ) -> AuditSetFindings: ...

@final
class AuditSetRows:
    def __len__(self) -> int: ...
    def questions(self, width: int) -> _TokenRows: ...
    def programs(self, width: int) -> _TokenRows: ...
    @property
    def answers(self) -> npt.NDArray[np.int32]: ...
    @property
    def image_idxs(self) -> npt.NDArray[np.int64]: ...
    @property
    def numbers(self) -> npt.NDArray[np.int64]: ...
    def are_named(self, scenes: AuditScenes, scene_idxs: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]: ...

@final
class AuditSetFindings:
    def __len__(self) -> int: ...
    @property
    def asked(self) -> AuditFindings: ...
    @property
    def cut(self) -> npt.NDArray[np.int8]: ...
    @property
    def templates(self) -> npt.NDArray[np.int8]: ...
    @property
    def variants(self) -> npt.NDArray[np.int8]: ...
    @property
    def structures(self) -> npt.NDArray[np.int8]: ...
    @property
    def matches(self) -> npt.NDArray[np.int8]: ...

@final
class SplitQuestions:
    def __new__(
        cls,
        templates: Templates,
        questions: _Tokens,
        programs: _Tokens,
        families: npt.NDArray[np.int32],
        answers: npt.NDArray[np.int32],
        *,
        words: Sequence[str],
        tokens: ProgramTokens,
        answer_names: Sequence[str],
    ) -> SplitQuestions: ...
    def __len__(self) -> int: ...
    def foregrounds(
        self, scenes: SceneGraphs, scene_rows: npt.NDArray[np.uint32]
    ) -> npt.NDArray[np.uint32]: ...
    def touches(
        self, scenes: SceneGraphs, scene_rows: npt.NDArray[np.uint32], held_out: _Values
    ) -> npt.NDArray[np.uint8]: ...
    def value_edits(
        self,
        world: World,
        scenes: SceneBatch,
        scene_rows: npt.NDArray[np.uint32],
        *,
        rows: _Numbers,
        seed: int,
        hop: str,
        split: str,
        held_out: _Values | None,
        rule: _Rule,
    ) -> npt.NDArray[np.int32]: ...
    def on(
        self,
        scenes: SceneGraphs,
        scene_rows: npt.NDArray[np.uint32],
        image_idxs: _Numbers,
        *,
        pool: str,
    ) -> QuestionBatch: ...

@final
class Suite:
    def __new__(
        cls,
        name: str,
        *,
        files: Sequence[tuple[str, bytes]],
        subjects: Mapping[str, Sequence[str]],
        templates: Templates,
        template_files: Sequence[tuple[str, bytes]],
    ) -> Suite: ...
    @property
    def tests(self) -> list[tuple[str, Literal["in", "beyond"], str]]: ...
    @property
    def controls(self) -> list[str]: ...
    @property
    def templates(self) -> Templates: ...
    def pairs(
        self,
        questions: _Tokens,
        programs: _Tokens,
        families: npt.NDArray[np.int32],
        answers: npt.NDArray[np.int32],
        image_idxs: npt.NDArray[np.int32],
        scenes: SceneGraphs,
        scene_rows: _Numbers,
        *,
        words: Sequence[str],
        tokens: ProgramTokens,
        answer_names: Sequence[str],
        seed: int,
        hop: str,
        split: str,
        pool: str,
        held_out: _Values | None,
        palette: bytes | None,
        rule: _QuestionRule,
        per_cell: int,
        search: bool,
        every: int | None = None,
    ) -> Pairs: ...

@final
class Pairs:
    def __len__(self) -> int: ...
    @property
    def questions(self) -> QuestionBatch: ...
    @property
    def tests(self) -> npt.NDArray[np.int32]: ...
    @property
    def rows(self) -> npt.NDArray[np.int32]: ...
    @property
    def swapped(self) -> _Truths: ...
    @property
    def cells(self) -> npt.NDArray[np.int8]: ...
    @property
    def relations(self) -> npt.NDArray[np.int8]: ...
    @property
    def values(self) -> npt.NDArray[np.int32]: ...
    @property
    def touches(self) -> npt.NDArray[np.uint8]: ...
    @property
    def searches(self) -> list[tuple[int, list[bool], list[int]]]: ...
    @property
    def skipped(self) -> list[tuple[int, str, int]]: ...

@final
class AuditFindings:
    def __len__(self) -> int: ...
    @property
    def by_program(self) -> _Truths: ...
    @property
    def by_words(self) -> _Truths: ...
    @property
    def implied(self) -> _Truths: ...
    @property
    def answers(self) -> npt.NDArray[np.int32]: ...
    def violations(
        self,
        answers: npt.NDArray[np.int32],
        asked: Literal["anywhere", "always", "never", "never implied"],
        most: int,
    ) -> _Counted: ...

@final
class AuditViolation:
    WRONG_ANSWER: Final[AuditViolation]
    NO_ANSWER: Final[AuditViolation]
    PROGRAM_MENTIONS: Final[AuditViolation]
    WORDS_MENTION: Final[AuditViolation]
    IMPLIES: Final[AuditViolation]
    PROGRAM_LACKS_MENTION: Final[AuditViolation]
    WORDS_LACK_MENTION: Final[AuditViolation]
    PROGRAM_UNSEEN: Final[AuditViolation]
    WORDS_UNSEEN: Final[AuditViolation]
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class AuditScenes:
    @staticmethod
    def read(vocabulary: Vocabulary, paths: Sequence[Path]) -> AuditScenes: ...
    def __len__(self) -> int: ...
    @property
    def indices(self) -> npt.NDArray[np.int64]: ...
    @property
    def filenames(self) -> list[str]: ...
    @property
    def looks(self) -> npt.NDArray[np.uint64]: ...
    @property
    def places(self) -> npt.NDArray[np.uint64]: ...
    @property
    def cameras(self) -> npt.NDArray[np.float64]: ...
    @property
    def behind(self) -> npt.NDArray[np.float64]: ...
    @property
    def left(self) -> npt.NDArray[np.float64]: ...
    @property
    def misrelated(self) -> list[tuple[int, str]]: ...
    @property
    def n_objects(self) -> npt.NDArray[np.uint8]: ...
    @property
    def attributes(self) -> npt.NDArray[np.uint8]: ...
    def holding(self, values: _Values) -> _Truths: ...

@final
class TextReader:
    UNREAD: Final[int]
    OTHER_PROGRAM: Final[int]
    OTHER_FAMILY: Final[int]
    OTHER_ANSWER: Final[int]
    SEVERAL: Final[int]
    AMBIGUOUS: Final[int]
    def __new__(
        cls,
        vocabulary: Vocabulary,
        *,
        question_tokens: Sequence[str],
        program_tokens: Sequence[str],
        answers: Sequence[str],
        templates: Sequence[tuple[str, bytes]],
        synonyms: bytes,
    ) -> TextReader: ...
    @property
    def answers_by_family(self) -> list[list[int]]: ...
    def read(
        self,
        questions: _Tokens,
        programs: _Tokens,
        families: npt.NDArray[np.int32],
        answers: npt.NDArray[np.int32],
        scenes: AuditScenes,
        scene_idxs: npt.NDArray[np.int64],
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]: ...
    def meanings(
        self, questions: _Tokens, program_width: int
    ) -> tuple[npt.NDArray[np.int32], _TokenRows, npt.NDArray[np.int32]]: ...

def number_texts(texts: Sequence[str], words: Sequence[str]) -> tuple[_TokenRows, list[str]]: ...
def find_windows(
    families: npt.NDArray[np.int32],
    answers: npt.NDArray[np.int32],
    images: npt.NDArray[np.int32],
    answers_by_family: Sequence[Sequence[int]],
    *,
    window: int,
    unseen: int,
) -> tuple[int | None, int | None]: ...
def deflate_chunks(
    rows: npt.NDArray[np.uint8], *, item_size: int, chunk_rows: int, level: int
) -> list[bytes]: ...
def sample_scenes(world: World, *, seed: int, pool: str, indices: npt.NDArray[np.uint64]) -> SceneBatch: ...
def instantiate_questions(
    scenes: SceneBatch,
    templates: Templates,
    *,
    seed: int,
    held_out: _Values | None,
    questions: _QuestionRule,
    questions_per_scene: int,
) -> QuestionBatch: ...
def edit_scenes(
    world: World,
    scenes: SceneBatch,
    scene_rows: npt.NDArray[np.uint32],
    kept: npt.NDArray[np.uint32],
    changes: npt.NDArray[np.int32],
    indices: npt.NDArray[np.uint64],
    *,
    pool: str,
) -> tuple[SceneBatch, _Truths]: ...
def object_ids(world: World, scenes: SceneBatch) -> npt.NDArray[np.uint8]: ...
def inflate_chunks(chunks: Sequence[bytes], *, item_size: int, chunk_size: int) -> npt.NDArray[np.uint8]: ...
def encode_png(pixels: npt.NDArray[np.uint8]) -> bytes: ...
def engine_version() -> str: ...
def takes_an(words: str) -> bool: ...
def vector_instructions() -> Literal["AVX2", "none"]: ...
def execute(
    programs: Programs, program: int, scenes: SceneGraphs | SceneSets, scene: int
) -> _Value | None: ...
def trace(
    programs: Programs, program: int, scenes: SceneGraphs | SceneSets, scene: int
) -> list[_TracedStep]: ...
def write_steps(
    programs: Programs, scenes: SceneBatch, rows: npt.NDArray[np.int32], *, width: int, height: int
) -> list[bytes]: ...
def execute_batch(
    programs: Programs,
    scenes: SceneGraphs | SceneSets,
    program_idxs: npt.NDArray[np.uint32],
    scene_idxs: npt.NDArray[np.uint32],
) -> npt.NDArray[np.int32]: ...
def execute_tokens(
    tokens: ProgramTokens,
    rows: _Tokens,
    scenes: SceneGraphs,
    scene_idxs: npt.NDArray[np.uint32],
    *,
    mark_ill_formed: bool = False,
) -> npt.NDArray[np.int32]: ...
def covr_property_names() -> list[str]: ...
def covr_template_names() -> list[str]: ...
def covr_term_names(vocabulary: Vocabulary) -> list[str]: ...
def covr_properties(
    programs: Programs, templates: npt.NDArray[np.uint32], answers: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int64]]: ...
def program_arities(names: Sequence[str]) -> npt.NDArray[np.int8]: ...
def plan_levels(rows: npt.NDArray[np.int64], arities: npt.NDArray[np.int8]) -> _NodePlan: ...
def plan_runs(rows: npt.NDArray[np.int64], arities: npt.NDArray[np.int8]) -> _NodePlan: ...
