"""Rules of the questions of pairs: programs, mentions, and the texts of those that were made."""

from collections.abc import Iterator, Sequence
from functools import cache, partial

import numpy as np

from clevrhope._core import TextReader
from clevrhope.audit.checks.questions import END, START, ColumnCheck, int32, misread, wrong_answers
from clevrhope.audit.leaks.report import VIOLATIONS
from clevrhope.audit.report import Found, where
from clevrhope.audit.suites.pairs import Flags, SuitePairs
from clevrhope.dataset.native_reader import Ints
from clevrhope.dataset.scene_files import MISSING
from clevrhope.errors import with_article
from clevrhope.splits.kinds import SPLITS

BEYOND = ("and", "or", "not", "verify_", "offer_", "count_is")
"""Prefixes of the names of functions that CLEVR does not have."""

WITHOUT_EQUIVALENT = ("and", "not", "count_is")
"""The ones among these that have no equivalent in CLEVR's functions."""


def programs(pairs: SuitePairs) -> Iterator[Found]:
    """Every program gives the stored answer; lengths, padding and needed relations fit it."""
    arrays = pairs.arrays
    pairs.counted["pair programs"] += len(arrays)
    problem = f"its scene is not among those of {pairs.pool.name}"
    yield from where(pairs.scenes == MISSING, problem, arrays.columns["image_idxs"])
    yield from wrong_answers(pairs.findings.answers, arrays.columns["answers"], pairs.vocab.answer_names)
    tokens = {name: pairs.tokens(name) for name in ("questions", "programs")}
    yield from ColumnCheck(pairs.vocab).of_rows(arrays, 0, tokens, pairs.pool, pairs.scenes)


def equivalents(pairs: SuitePairs) -> Iterator[Found]:
    """A program with functions that CLEVR lacks has an equivalent in CLEVR's, with the same answer.

    There is none if it combines truth values by `and` or `not`, or compares with a number.
    """
    if pairs.arrays.is_paraphrased:
        return  # their programs are the dataset's own
    functions = [(number, token.partition("[")[0]) for token, number in pairs.vocab.functions.items()]
    beyond = [number for number, name in functions if name.startswith(BEYOND)]
    without = [number for number, name in functions if name in WITHOUT_EQUIVALENT]
    programs = pairs.tokens("programs")
    wanted = np.isin(programs, beyond).any(axis=1) & ~np.isin(programs, without).any(axis=1)
    in_clevr = pairs.tokens("clevr_programs")
    has_equivalent: Flags = (in_clevr != 0).any(axis=1)
    rows = np.flatnonzero(has_equivalent & (pairs.scenes != MISSING))
    read = pairs.reader.read(_no_words(len(rows)), in_clevr[rows], pairs.pool.native, pairs.scenes[rows])
    has_other_answer = np.zeros(len(programs), bool)
    has_other_answer[rows] = read.answers != pairs.arrays.columns["answers"][rows]
    for flags, problem in (
        (has_equivalent != wanted, "clevr_programs is not there exactly where a program has an equivalent"),
        (np.isin(in_clevr, beyond).any(axis=1), "clevr_programs has a function that CLEVR lacks"),
        (has_other_answer, "clevr_programs does not give the answer"),
    ):
        yield from where(flags, problem, pairs.text)


def mentions(pairs: SuitePairs) -> Iterator[Found]:
    """`cell` and `touches` are what programs and images show; made questions obey the split's rule."""
    hop = pairs.place.hop
    findings = pairs.findings
    scenes = pairs.scenes[: 2 * pairs.n : 2]
    is_known = scenes != MISSING
    shows_pair = np.zeros(pairs.n, bool)
    if hop.held_out:
        shows_pair[is_known] = pairs.pool.holding(hop.held_out)[scenes[is_known]]
    by_program = findings.by_program[: 2 * pairs.n].reshape(-1, 2)
    completes = completed(pairs, pairs.arrays.columns["answers"][pairs.given])
    for name, expected in (
        ("cell", by_program @ np.asarray([2, 1])),
        (
            "touches",
            np.zeros(pairs.n, np.int8) if pairs.arrays.is_paraphrased else shows_pair + 2 * completes,
        ),
    ):
        stored = pairs.of_pair(name)
        for k in np.flatnonzero((stored != expected) & is_known).tolist():
            yield 2 * k, f"{name} is not {expected[k]}, by its programs and image", stored[k]
    if hop.held_out and SPLITS[pairs.place.split.name].asked == "never":
        broken = [
            (findings.by_program, f"mentions {hop.words} in its program"),
            (findings.by_words, f"mentions {hop.words} in its words"),
        ]
        if pairs.folder.manifest.settings.strictness == "implied":
            implied = findings.implied & ~findings.by_program
            broken.append((implied, f"asks for {with_article(hop.words)} through likenesses"))
    else:
        # In texts beyond CLEVR's, a value may follow its object: "is the matte thing a cylinder".
        may_be_apart = (pairs.arrays.columns["tier"] != 0) & findings.by_program
        differs = (findings.by_words != findings.by_program) & ~may_be_apart
        broken = [(differs, f"mentions {hop.words} in its words or in its program, but not in both")]
    is_own = np.isin(np.arange(len(pairs.arrays)), pairs.own)
    for flags, problem in broken:
        yield from where(flags & is_own, problem, pairs.text)


def unseen(pairs: SuitePairs) -> Iterator[Found]:
    """No made question asks for a combination that is not in the palette."""
    reader = pairs.palette.reader(pairs.place.split.name)
    if reader is None or not len(pairs.own):
        return
    texts, programs = (pairs.tokens(name)[pairs.own] for name in ("questions", "programs"))
    violations, _ = reader.violations(texts, programs, len(VIOLATIONS) * len(pairs.own))
    for k, violation in violations:
        yield int(pairs.own[k]), VIOLATIONS[violation][1], pairs.text(int(pairs.own[k]))


def completed(pairs: SuitePairs, values: Ints) -> Flags:
    """(K,) whether values complete the held-out pair, given how the split's question describes it.

    For a program `query_color unique ...`, a value does so if `filter_color[value] ...` mentions the pair and
    `...` does not, both without their parts about other objects. `values` (K,) are answer numbers.
    """
    functions = pairs.vocab.functions
    answers = pairs.vocab.answers
    filters = {
        (functions.get(f"query_{kind}", -1), answers.get(value, -1)): functions[f"filter_{kind}[{value}]"]
        for kind, value in pairs.vocab.values()
    }
    of_object = cache(partial(_of_object, pairs))
    rows: list[int] = []
    alone: list[list[int]] = []
    together: list[list[int]] = []
    for k, program in enumerate(pairs.tokens("programs")[pairs.given].tolist()):
        _, query, unique, *described = program
        adds = filters.get((query, int(values[k])))
        if adds is not None and unique == functions.get("unique", -1):
            tokens = of_object(tuple(described))
            rows.append(k)
            alone.append([START, *tokens, END])
            together.append([START, adds, *tokens, END])
    completes = np.zeros(pairs.n, bool)
    completes[rows] = _mention(pairs, together) & ~_mention(pairs, alone)
    return completes


def _of_object(pairs: SuitePairs, tokens: Sequence[int]) -> list[int]:
    """The program of a set, without its parts about other objects.

    A part that begins with a relation or a likeness to other objects is replaced by the whole scene.
    """
    functions = pairs.vocab.functions
    n_inputs = {functions["scene"]: 0, functions["union"]: 2, functions["intersect"]: 2}
    others = {number for name, number in functions.items() if name.startswith(("relate", "same_"))}
    kept: list[int] = []
    left = 1  # number of inputs still to come
    hidden = 0  # number of those of the omitted part
    for token in tokens:
        if not left:
            break
        n = n_inputs.get(token, 1)
        left += n - 1
        if hidden:
            hidden += n - 1
        elif token in others:
            kept.append(functions["scene"])
            hidden = n
        else:
            kept.append(token)
    return kept


def _mention(pairs: SuitePairs, programs: Sequence[Sequence[int]]) -> Flags:
    """(K,) whether programs mention the held-out pair."""
    rows = np.zeros((len(programs), max(map(len, programs), default=2)), dtype=np.int32)
    for row, program in zip(rows, programs, strict=True):
        row[: len(program)] = program
    no_scenes = np.full(len(rows), MISSING, dtype=np.int64)
    return pairs.reader.read(_no_words(len(rows)), rows, pairs.pool.native, no_scenes).by_program


def _no_words(n: int) -> Ints:
    """(n, 2) texts without a word."""
    return np.full((n, 2), [START, END], dtype=np.int32)


def texts(pairs: SuitePairs, reader: TextReader, *, n_families: int) -> Iterator[Found]:
    """The texts that were made mean their programs, except those of families beyond `n_families`.

    Those families come from a suite whose files are unknown.
    """
    counted = pairs.counted
    questions = pairs.tokens("questions")
    same = (questions[pairs.given] == questions[pairs.made]).all(axis=1)
    for row in pairs.made[same].tolist():
        yield row, "it is worded exactly like its original", pairs.text(row)
    families, answers = (int32(pairs.arrays.columns[name]) for name in ("question_families", "answers"))
    rows = pairs.own[families[pairs.own] < n_families]
    counted["pair texts"] += len(rows)
    counted["unread"] += len(pairs.own) - len(rows)
    programs = pairs.tokens("programs")[rows]
    flags, _ = reader.read(
        questions[rows], programs, families[rows], answers[rows], pairs.pool.native, pairs.scenes[rows]
    )
    counted["several"] += int(np.count_nonzero(flags & TextReader.SEVERAL))
    counted["ambiguous"] += int(np.count_nonzero(flags & TextReader.AMBIGUOUS))
    yield from misread(flags, lambda k: pairs.text(int(rows[k])), rows)
