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
        self._file = file
        self._palettes = palettes
        self._hop = hop
        self._values: dict[str, list[str]] = {}
        for kind, value in vocab.values():
            self._values.setdefault(kind, []).append(value)
        self._readers: dict[bool, AbsentReader] = {}
        if hop.held_out is not None and hop.palette:
            palette = self._palette(hop.name)
            with_pair = (*palette.combinations, self._pair(palette))
            self._readers[False] = self._reader(vocab, words, palette.types, palette.combinations)
            self._readers[True] = self._reader(vocab, words, palette.types, with_pair)

    def reader(self, split: str) -> AbsentReader | None:
        """The reader that finds unseen combinations in a split's questions; None if there is no palette."""
        return self._readers.get(SPLITS[split].asked != "never")

    def unseen_images(self, split: str, pool: PoolScenes, used: Rows) -> Iterator[tuple[int, str, str]]:
        """Index, problem and values of each image that shows an unseen combination."""
        if not self._hop.palette:
            return
        has_pair = self._hop.held_out is not None
        palette = self._palette(self._hop.name if has_pair else parse_pool_name(pool.name)[1])
        allowed = set(palette.combinations)
        if has_pair and SPLITS[split].shown != "never":
            allowed.add(self._pair(palette))
        for values in product(*(self._values[kind] for kind in palette.types)):
            if values in allowed:
                continue
            holds = pool.holding(list(zip(palette.types, values, strict=True)))[used]
            for index in pool.indices[used[holds]].tolist():
                yield index, f"an image of {split} shows an unseen combination", " ".join(values)

    def _palette(self, name: str) -> Palette:
        """A palette, of which objects can have all combinations."""
        palette = read_palette(self._file, self._palettes, name)
        possible = set(product(*(self._values.get(kind, ()) for kind in palette.types)))
        unknown = [values for values in palette.combinations if values not in possible]
        if unknown or not palette.combinations:
            value = " ".join(unknown[0]) if unknown else "nothing"
            raise DatasetError(f'{self._file}: palette "{name}" has {value}, which no object can have')
        return palette

    def _pair(self, palette: Palette) -> Combination:
        """The pair in the order of the attributes; it must be unseen, and each of its values seen."""
        _check_types(self._file, self._hop, palette)
        pair = tuple(dict(self._hop.held_out or ())[kind] for kind in palette.types)
        seen = palette.combinations
        both_seen = all(any(values[k] == value for values in seen) for k, value in enumerate(pair))
        if pair in seen or not both_seen:
            raise DatasetError(
                f"{self._file}: the palette of {self._hop.name} contains the pair, or lacks one of its values"
            )
        return pair

    def _reader(
        self,
        vocab: Vocab,
        words: Mapping[str, Sequence[str]],
        types: Sequence[str],
        seen: Sequence[Combination],
    ) -> AbsentReader:
        counted = [(kind, value) for kind in types for value in self._values[kind]]
        try:
            return AbsentReader(
                vocabulary_of(vocab),
                question_tokens=by_number(vocab.words),
                program_tokens=by_number(vocab.functions),
                types=(types[0], types[1]),
                seen=[(first, second) for first, second in seen],
                words=known_words(vocab, words, counted),
            )
        except VocabularyError as error:
            raise DatasetError(f"a palette and vocab.json do not fit each other: {error}") from error


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
