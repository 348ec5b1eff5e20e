"""The files of episodes with nonce words as their audit reads them: a condition's rows, and their scenes."""

from collections.abc import Mapping
from typing import Any

from clevrhope.audit.folder import SplitFile
from clevrhope.dataset.split_files import SplitArrays, Vocab
from clevrhope.errors import DatasetError

Scene = Mapping[str, Any]
Value = tuple[str, str]
"""Attribute type and value."""

_COMPLEX = "complex"
"""What a form's name begins with whose questions are those of templates."""


class Condition:
    """The file of a condition, with its scenes."""

    def __init__(
        self, file: SplitFile, arrays: SplitArrays, vocab: Vocab, scenes: Mapping[str, Mapping[int, Scene]]
    ) -> None:
        self.file, self.vocab = file.file, vocab
        wide = ("questions", "programs", "statements", "support_idxs", "words", "pairs")
        self.columns = {**arrays.columns, **{name: arrays.tokens(name, 0, len(arrays)) for name in wide}}
        self.attributes, self.n = arrays.attributes, len(arrays)
        self._scenes, self._functions = scenes, {number: name for name, number in vocab.functions.items()}
        kinds = {value: kind for kind, value in vocab.values()}
        names = [str(name) for name in self.attributes["value_names"]]
        self.values: list[Value] = [(kinds.get(name, ""), name) for name in names]
        pairs = self.columns["pairs"]
        if pairs.min() < 0 or pairs.max() >= len(names):
            raise DatasetError(f"{file.h5}: pairs holds numbers of no value; expected 0 to {len(names) - 1}")

    def scene(self, row: int) -> Scene:
        """The query scene of a row."""
        return self._of("pool", int(self.columns["image_idxs"][row]))

    def support(self, row: int) -> list[Scene]:
        """The scenes of a row's support."""
        return [
            self._of("support_pool", index)
            for index in self.columns["support_idxs"][row].tolist()
            if index >= 0
        ]

    def _of(self, pool: str, index: int) -> Scene:
        name = str(self.attributes[pool])
        if index not in self._scenes[name]:
            raise DatasetError(f"scenes/{name}: it has no scene {index}, which {self.file} names")
        return self._scenes[name][index]

    def named(self, row: int) -> dict[Value, str]:
        """The nonce word of each value that has one."""
        words = self.columns["words"][row].tolist()
        return {
            value: self.vocab.text([word]) for value, word in zip(self.values, words, strict=True) if word
        }

    def pair(self, row: int) -> tuple[Value, Value]:
        """The values of A and B that are asked about."""
        a, b = (self.values[number] for number in self.columns["pairs"][row].tolist())
        return a, b

    def is_complex(self, row: int) -> bool:
        """Whether a row's question is a template's."""
        return self.form_and_grid(row)[0].startswith(_COMPLEX)

    def form_and_grid(self, row: int) -> tuple[str, str]:
        """The names of a row's form and grid, as the file says."""
        form, grid = (
            self.attributes[names][self.columns[column][row]]
            for names, column in (("forms", "question_families"), ("grid_names", "grids"))
        )
        return str(form), str(grid)

    def found_form_and_grid(self, row: int) -> tuple[str, str]:
        """The same, as a row's program, pair and words have it."""
        (of_a, _), (of_b, _) = self.pair(row)
        program = self.program(row)
        rest = [name for name in program if not name.startswith("filter_")]
        asks = rest[0].partition("_")[0]
        is_simple = rest[1:] == (["unique", "scene"] if asks == "query" else ["scene"])
        if not is_simple or len(program) - len(rest) != 2:
            asks = _COMPLEX
        n_b = sum(kind == of_b for kind, _ in self.named(row))
        return f"{asks}_3x{n_b}", f"{of_a}_{of_b}"

    def program(self, row: int) -> list[str]:
        """The functions of a program in prefix order."""
        return [
            self._functions.get(token, f"[{token}]")
            for token in self.columns["programs"][row].tolist()
            if token > 2
        ]
