"""The check that a split neither shows nor asks for combinations of values that are not in the palette.

The palette comes from the manifest and the images' objects from their scenes. The native reader, which shares
no code with the generator, reads programs and words.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from clevrhope._core import AbsentReader
from clevrhope.dataset.native_reader import known_words, vocabulary_of
from clevrhope.dataset.scene_files import PoolScenes, Rows
from clevrhope.dataset.split_files import Vocab
from clevrhope.dataset.vocab import by_number
from clevrhope.errors import DatasetError, VocabularyError
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS
from clevrhope.splits.palettes import Palette, palette_from_json, parse_pool_name

Combination = tuple[str, ...]
"""One value of each of a palette's attributes."""


class PaletteCheck:
    """The palette of a sub-dataset, and the search for combinations outside it."""

    def __init__(
        self,
        file: Path,
        palettes: Mapping[str, Any],
        hop: Hop,
        vocab: Vocab,
        words: Mapping[str, Sequence[str]],
    ) -> None:
        """Reads the palettes in the manifest `file`; without one for the HOP, there is nothing to search for.

        Raises:
            DatasetError: the manifest lacks the HOP's palette, or it is malformed or does not fit the HOP.
        """
        self._file, self._palettes, self._hop = file, palettes, hop
        self._values: dict[str, list[str]] = {}
        for kind, value in vocab.values():
            self._values.setdefault(kind, []).append(value)
        self._readers: dict[bool, AbsentReader] = {}
        if hop.held_out is None or not hop.palette:
            return
        for with_pair in (False, True):
            types, allowed = self._allowed(hop.name, with_pair)
            counted = [(kind, value) for kind in types for value in self._values[kind]]
            try:
                self._readers[with_pair] = AbsentReader(
                    vocabulary_of(vocab),
                    question_tokens=by_number(vocab.words),
                    program_tokens=by_number(vocab.functions),
                    types=(types[0], types[1]),
                    seen=[(first, second) for first, second in allowed],
                    words=known_words(vocab, words, counted),
                )
            except VocabularyError as error:
                raise DatasetError(f"a palette and vocab.json do not fit each other: {error}") from error

    def reader(self, split: str) -> AbsentReader | None:
        """The reader that finds unseen combinations in a split's questions; None if there is no palette."""
        return self._readers.get(SPLITS[split].asked != "never")

    def unseen_images(self, split: str, pool: PoolScenes, used: Rows) -> Iterator[tuple[int, str, str]]:
        """Index, problem and values of each image that shows an unseen combination."""
        if not self._hop.palette:
            return
        name = self._hop.name if self._hop.held_out else parse_pool_name(pool.name)[1]
        types, allowed = self._allowed(name, SPLITS[split].shown != "never")
        for values in product(*(self._values[kind] for kind in types)):
            if values not in allowed:
                holds = pool.holding(list(zip(types, values, strict=True)))[used]
                for index in pool.indices[used[holds]].tolist():
                    yield index, f"an image of {split} shows an unseen combination", " ".join(values)

    def _allowed(self, name: str, with_pair: bool) -> tuple[Sequence[str], list[Combination]]:
        """The attributes of a palette, and the combinations that may occur, also the pair if it may.

        The pair must be unseen, and each of its values seen.
        """
        palette = read_palette(self._file, self._palettes, name)
        seen = list(palette.combinations)
        if not self._values.keys() >= set(palette.types):
            raise DatasetError(f'{self._file}: palette "{name}" has attribute types that vocab.json lacks')
        if self._hop.held_out is None:
            return palette.types, seen
        _check_types(self._file, self._hop, palette)
        pair = tuple(dict(self._hop.held_out)[kind] for kind in palette.types)
        both_seen = all(any(values[k] == value for values in seen) for k, value in enumerate(pair))
        if pair in seen or not both_seen:
            raise DatasetError(
                f"{self._file}: the palette of {self._hop.name} contains the pair, or lacks one of its values"
            )
        return palette.types, [*seen, pair] if with_pair else seen


def read_palette(file: Path, palettes: Mapping[str, Any], name: str) -> Palette:
    """One of the palettes in the manifest `file`.

    Raises:
        DatasetError: there is no such palette, or it is malformed.
    """
    try:
        return palette_from_json(palettes[name])
    except (KeyError, TypeError) as error:
        raise DatasetError(f'{file}: no palette "{name}" ({error!r})') from error


def seen_values(file: Path, palettes: Mapping[str, Any], hop: Hop) -> frozenset[Combination] | None:
    """The combinations of the pair's attributes that were seen; None if all but the pair were seen.

    Raises:
        DatasetError: the manifest `file` has no palette for the pair, or its attributes differ.
    """
    if not hop.palette or hop.held_out is None:
        return None
    palette = read_palette(file, palettes, hop.name)
    _check_types(file, hop, palette)
    places = [palette.types.index(kind) for kind, _ in hop.held_out]
    return frozenset(tuple(values[place] for place in places) for values in palette.combinations)


def _check_types(file: Path, hop: Hop, palette: Palette) -> None:
    if {kind for kind, _ in hop.held_out or ()} != set(palette.types) or len(palette.types) != 2:
        raise DatasetError(f"{file}: the palette of {hop.name} has other attribute types than the pair")
