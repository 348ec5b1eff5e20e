"""The engine's binding; private: use the modules of `clevrhope` that wrap it.

Handles are opaque, frozen and safe to share between threads. What can take long releases the GIL, uses all
cores and stops at Ctrl-C. Errors are those of `clevrhope.errors`. Arrays have exactly the types given here.
"""

from collections.abc import Sequence
from typing import TypeAlias, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "ProgramTokens",
    "Programs",
    "SceneBatch",
    "SceneGraphs",
    "Vocabulary",
    "World",
    "execute",
    "execute_batch",
    "execute_tokens",
    "sample_scenes",
    "trace",
]

_Value: TypeAlias = bool | int | str
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

def sample_scenes(world: World, *, seed: int, pool: str, indices: npt.NDArray[np.uint64]) -> SceneBatch:
    """The scenes of (N,) indices of a pool; each depends on world, seed, pool and its index alone.

    Raises:
        SceneError: constraints that a scene could not meet; says which, and how often it failed.
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
