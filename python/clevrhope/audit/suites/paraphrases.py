"""Rules of paraphrases, which people or another model wrote: no template need have their words."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from clevrhope._core import TextReader, number_texts
from clevrhope.audit.report import Found, where
from clevrhope.audit.suites.pairs import Flags, SuitePairs
from clevrhope.dataset.native_reader import Ints, known_words
from clevrhope.dataset.vocab import by_number
from clevrhope.sources.source import MOST_PROGRAM_TOKENS
from clevrhope.splits.kinds import SPLITS

SCENES = 2_000
"""The most scenes on which two programs are compared."""


def paraphrases(pairs: SuitePairs, reader: TextReader) -> Iterator[Found]:
    """Each text has its tokens, is new to its question and test, and brings no word of the held-out pair.

    If the templates have a text, possibly but for a capital letter at its beginning, the program that it
    means has the same answers as its own on scenes of the pool.
    """
    made, words = pairs.made, by_number(pairs.vocab.words)
    texts = [
        bytes(row).rstrip(b"\0").decode(errors="replace")
        for row in pairs.tokens("texts")[made].astype(np.uint8)
    ]
    questions = pairs.tokens("questions")[made]
    other = _other(_numbered(texts, words), questions)
    yield from where(other, "its tokens are not those of its text", texts, made)
    seen: set[tuple[int, int, bytes]] = set()
    for k, tests in enumerate(pairs.of_pair("test").tolist()):
        key = (tests, int(pairs.originals[k]), questions[k].tobytes())
        if key in seen:
            yield int(made[k]), "the same text again for its question and test", texts[k]
        seen.add(key)
    if pairs.place.hop.held_out and SPLITS[pairs.place.split.name].asked == "never":
        brings = (
            ~pairs.findings.by_words[made]
            & _names_pair(pairs, texts)
            & ~_names_pair(pairs, [pairs.text(row) for row in pairs.given.tolist()])
        )
        problem = f"names {pairs.place.hop.words} apart, which its question does not"
        yield from where(brings, problem, texts, made)
    capital = _numbered([f"{text[:1].upper()}{text[1:]}" for text in texts], words)
    families, answers = (
        np.ascontiguousarray(pairs.arrays.columns[name][made], dtype=np.int32)
        for name in ("question_families", "answers")
    )
    programs = np.ascontiguousarray(pairs.tokens("programs")[made])
    scenes = pairs.scenes[made]
    flags, _ = reader.read(capital, programs, families, answers, pairs.pool.native, scenes)
    pairs.counted["pair texts"] += len(made)
    pairs.counted["beyond templates"] += int(np.count_nonzero(flags & TextReader.UNREAD))
    others = np.flatnonzero(flags & TextReader.OTHER_PROGRAM)
    _, (read, _), _ = reader.meanings(capital[others], MOST_PROGRAM_TOKENS)
    for k, program in zip(others.tolist(), read, strict=True):
        if _differ(pairs, program, programs[k]):
            yield int(made[k]), "by the templates, it asks something else than its question", texts[k]
        else:
            pairs.counted["other programs"] += 1


def _numbered(texts: Sequence[str], words: Sequence[str]) -> Ints:
    """Rows of tokens of texts; words without a number follow the others."""
    return number_texts(texts, words)[0][0]


def _other(mine: Ints, stored: Ints) -> Flags:
    """(K,) whether rows of tokens differ, but for their padding."""
    width = max(mine.shape[1], stored.shape[1])
    padded = [np.pad(rows, ((0, 0), (0, width - rows.shape[1]))) for rows in (mine, stored)]
    return np.asarray((padded[0] != padded[1]).any(axis=1))


def _names_pair(pairs: SuitePairs, texts: Sequence[str]) -> Flags:
    """(N,) whether a text has a word, or its plural, for each held-out value, wherever they stand."""
    held_out = pairs.place.hop.target
    words: list[list[str]] = [[] for _ in held_out]
    for word, place, _, _ in known_words(pairs.vocab, pairs.folder.templates.words, held_out):
        if place is not None:
            words[place].append(re.escape(word))
    patterns = [re.compile(rf"\b(?:{'|'.join(each)})s?\b", re.IGNORECASE) for each in words]
    return np.asarray([all(pattern.search(text) for pattern in patterns) for text in texts], dtype=np.bool_)


def _differ(pairs: SuitePairs, program: Ints, other: Ints) -> bool:
    """Whether two programs (P,) have different answers on a scene of the pool."""
    n = min(SCENES, len(pairs.pool.indices))
    scenes, texts = np.arange(n, dtype=np.int64), np.full((n, 2), [1, 2], dtype=np.int32)
    mine, theirs = (
        pairs.reader.read(texts, np.tile(each, (n, 1)), pairs.pool.native, scenes).answers
        for each in (program, other)
    )
    return bool((mine != theirs).any())
