"""Rules of paraphrases, which people or another model wrote: no template need have their words."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from clevrhope._core import TextReader, number_texts
from clevrhope.audit.report import Found, where
from clevrhope.audit.suites.pairs import Flags, SuitePairs
from clevrhope.audit.suites.structure import differing
from clevrhope.dataset.native_reader import Ints, known_words
from clevrhope.dataset.vocab import bare_text, by_number
from clevrhope.sources.source import MOST_PROGRAM_TOKENS
from clevrhope.splits.covr.kinds import COVR_KINDS
from clevrhope.splits.kinds import SPLITS

SCENES = 2_000
"""The most scenes on which two programs are compared."""


def words(pairs: SuitePairs) -> Iterator[Found]:
    """Each text has its tokens, is new to its question and test, and brings no word of the held-out pair."""
    made, texts, questions = pairs.made, _texts(pairs), pairs.tokens("questions")
    other = differing(_numbered(texts, pairs), questions[made])
    yield from where(other, "its tokens are not those of its text", texts, made)
    bare = [bare_text(text) for text in texts]
    same = ~differing(questions[made], questions[pairs.given])
    same |= [text == bare_text(pairs.text(row)) for text, row in zip(bare, pairs.given.tolist(), strict=True)]
    yield from where(same, "it is worded exactly like its original", texts, made)
    seen: set[tuple[int, int, str]] = set()
    for k, test in enumerate(pairs.of_pair("test").tolist()):
        key = (test, int(pairs.originals[k]), bare[k])
        if key in seen:
            yield int(made[k]), "the same text again for its question and test", texts[k]
        seen.add(key)
    hop, split = pairs.place.hop, pairs.place.split
    kind = COVR_KINDS.get(split.name)
    is_without = not kind.mentions if kind else SPLITS[split.name].asked == "never"
    if hop.held_out and is_without:
        own = _names_pair(pairs, [pairs.text(row) for row in pairs.given.tolist()])
        brings = _names_pair(pairs, texts) & ~own
        yield from where(brings, f"names {hop.words}, which its question does not", texts, made)


def meanings(pairs: SuitePairs, reader: TextReader) -> Iterator[Found]:
    """A text that templates have means a program with the same answers as its own on scenes of the pool.

    The text may lack the capital letter at its beginning.
    """
    made, texts = pairs.made, _texts(pairs)
    tokens = _numbered([f"{text[:1].upper()}{text[1:]}" for text in texts], pairs)
    families, answers = (
        np.ascontiguousarray(pairs.arrays.columns[name][made], dtype=np.int32)
        for name in ("question_families", "answers")
    )
    programs = np.ascontiguousarray(pairs.tokens("programs")[made])
    flags, _ = reader.read(tokens, programs, families, answers, pairs.pool.native, pairs.scenes[made])
    pairs.counted["pair texts"] += len(made)
    pairs.counted["beyond templates"] += int(np.count_nonzero(flags & TextReader.UNREAD))
    others = np.flatnonzero(flags & TextReader.OTHER_PROGRAM)
    _, (read, _), _ = reader.meanings(tokens[others], MOST_PROGRAM_TOKENS)
    for k, program in zip(others.tolist(), read, strict=True):
        if (_answers(pairs, program) != _answers(pairs, programs[k])).any():
            yield int(made[k]), "by the templates, it asks something else than its question", texts[k]
        else:
            pairs.counted["other programs"] += 1


def _texts(pairs: SuitePairs) -> list[str]:
    """(K,) the partners' texts."""
    rows = pairs.tokens("texts")[pairs.made].astype(np.uint8)
    return [bytes(row).rstrip(b"\0").decode(errors="replace") for row in rows]


def _numbered(texts: Sequence[str], pairs: SuitePairs) -> Ints:
    """Rows of tokens of texts; words without a number follow the others."""
    return number_texts(texts, by_number(pairs.vocab.words))[0][0]


def _names_pair(pairs: SuitePairs, texts: Sequence[str]) -> Flags:
    """(N,) whether a text has a word, or its plural, for each held-out value, wherever they stand."""
    held_out = pairs.place.hop.target
    words: list[list[str]] = [[] for _ in held_out]
    for word, place, _, _ in known_words(pairs.vocab, pairs.folder.templates.words, held_out):
        if place is not None:
            words[place].append(re.escape(word))
    patterns = [re.compile(rf"\b(?:{'|'.join(each)})s?\b", re.IGNORECASE) for each in words]
    return np.asarray([all(pattern.search(text) for pattern in patterns) for text in texts], dtype=np.bool_)


def _answers(pairs: SuitePairs, program: Ints) -> Ints:
    """The answers of a program (P,), or why it has none, on scenes of the pool."""
    n = min(SCENES, len(pairs.pool.indices))
    texts, programs = np.full((n, 2), [1, 2], dtype=np.int32), np.tile(program, (n, 1))
    return pairs.reader.read(texts, programs, pairs.pool.native, np.arange(n, dtype=np.int64)).answers
