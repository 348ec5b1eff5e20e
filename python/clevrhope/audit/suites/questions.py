"""Rules of the questions of pairs: programs, mentions, and the texts of those that were made."""

from collections.abc import Iterator, Sequence

import numpy as np

from clevrhope._core import TextReader
from clevrhope.audit.checks.questions import END, PROBLEMS, START, ColumnCheck, int32, wrong_answers
from clevrhope.audit.leaks.report import VIOLATIONS
from clevrhope.audit.report import Found, where
from clevrhope.audit.suites.pairs import Flags, SuitePairs
from clevrhope.dataset.native_reader import Ints
from clevrhope.dataset.scene_files import MISSING
from clevrhope.splits.kinds import SPLITS

BEYOND = ("and", "or", "not", "verify_", "offer_", "count_is")
"""Prefixes of the names of functions that CLEVR does not have."""

WITHOUT_EQUIVALENT = ("and", "not", "count_is")
"""The ones among these that have no equivalent in CLEVR's functions."""


def programs(pairs: SuitePairs) -> Iterator[Found]:
    """Every program gives the stored answer; lengths, padding and needed relations fit it."""
    arrays, scenes = pairs.arrays, pairs.scenes
    pairs.counted["pair programs"] += len(arrays)
    problem = f"its scene is not among those of {pairs.pool.name}"
    yield from where(scenes == MISSING, problem, arrays.columns["image_idxs"])
    yield from wrong_answers(pairs.findings.answers, arrays.columns["answers"], pairs.vocab.answer_names)
    tokens = {name: pairs.tokens(name) for name in ("questions", "programs")}
    yield from ColumnCheck(pairs.vocab).of_rows(arrays, 0, tokens, pairs.pool, scenes)


def equivalents(pairs: SuitePairs) -> Iterator[Found]:
    """A program with functions that CLEVR lacks has an equivalent in CLEVR's, with the same answer.

    There is none if it combines truth values by `and` or `not`, or compares with a number.
    """
    functions = [(number, token.partition("[")[0]) for token, number in pairs.vocab.functions.items()]
    beyond = [number for number, name in functions if name.startswith(BEYOND)]
    without = [number for number, name in functions if name in WITHOUT_EQUIVALENT]
    programs, stored = pairs.tokens("programs"), pairs.arrays.columns["answers"]
    clevr = pairs.tokens("clevr_programs")
    there: Flags = (clevr != 0).any(axis=1)
    wanted = np.isin(programs, beyond).any(axis=1) & ~np.isin(programs, without).any(axis=1)
    rows = np.flatnonzero(there & (pairs.scenes != MISSING))
    read = pairs.reader.read(_no_words(len(rows)), clevr[rows], pairs.pool.native, pairs.scenes[rows])
    other = np.zeros(len(stored), bool)
    other[rows] = read.answers != stored[rows]
    for flags, problem in (
        (there != wanted, "clevr_programs is not there exactly where a program has an equivalent"),
        (np.isin(clevr, beyond).any(axis=1), "clevr_programs has a function that CLEVR lacks"),
        (other, "clevr_programs does not give the answer"),
    ):
        yield from where(flags, problem, pairs.text)


def mentions(pairs: SuitePairs) -> Iterator[Found]:
    """`cell` and `touches` are what programs and images show; made questions obey the split's rule."""
    place, pair, n = pairs.place, pairs.place.hop.held_out, pairs.n
    found, arrays = pairs.findings, pairs.arrays
    by_program = found.by_program[: 2 * n].reshape(n, 2)
    shown, scenes = np.zeros(n, bool), pairs.scenes[: 2 * n : 2]
    there = scenes != MISSING
    if pair:
        shown[there] = pairs.pool.holding(pair)[scenes[there]]
    completes = completed(pairs, arrays.columns["answers"][pairs.given])
    expected = {"cell": by_program @ np.asarray([2, 1]), "touches": shown + 2 * completes}
    for name, column in expected.items():
        stored = pairs.of_pair(name)
        for k in np.flatnonzero((stored != column) & there).tolist():
            yield 2 * k, f"{name} is not {column[k]}, by its programs and image", stored[k]
    words = pair and place.hop.words
    if pair and SPLITS[place.split.name].asked == "never":
        broken = [
            (found.by_program, f"mentions {words} in its program"),
            (found.by_words, f"mentions {words} in its words"),
        ]
        if pairs.folder.manifest.settings.strictness == "implied":
            implied = found.implied & ~found.by_program
            broken.append((implied, f"asks for a {words} through likenesses"))
    else:
        # In texts beyond CLEVR's, a value may follow its object: "is the matte thing a cylinder".
        may_be_apart = (arrays.columns["tier"] != 0) & found.by_program
        differs = (found.by_words != found.by_program) & ~may_be_apart
        broken = [(differs, f"mentions {words} in its words or in its program, but not in both")]
    is_own = np.isin(np.arange(len(arrays)), pairs.own)
    for flags, problem in broken:
        yield from where(flags & is_own, problem, pairs.text)


def unseen(pairs: SuitePairs) -> Iterator[Found]:
    """No made question asks for a combination that is not in the palette."""
    reader = pairs.palette.reader(pairs.place.split.name)
    if reader is None or not len(pairs.own):
        return
    texts, programs = (pairs.tokens(name)[pairs.own] for name in ("questions", "programs"))
    found, _ = reader.violations(texts, programs, len(VIOLATIONS) * len(pairs.own))
    for k, violation in found:
        yield int(pairs.own[k]), VIOLATIONS[violation][1], pairs.text(int(pairs.own[k]))


def completed(pairs: SuitePairs, values: Ints) -> Flags:
    """(K,) whether values complete the held-out pair, given how the split's question describes it.

    For a program `query_color unique ...`, a value does so if `filter_color[value] ...` mentions the pair and
    `...` does not, both without their parts about other objects. `values` (K,) are answer numbers.
    """
    n = pairs.n
    if not n:
        return np.zeros(0, bool)
    programs = pairs.tokens("programs")[pairs.given]
    functions, answers = pairs.vocab.functions, pairs.vocab.answers
    unique = functions.get("unique", -1)
    filters: dict[tuple[int, int], int] = {
        (functions.get(f"query_{kind}", -1), answers.get(value, -1)): functions[f"filter_{kind}[{value}]"]
        for kind, value in pairs.vocab.values()
    }
    alone, together = np.zeros((2, n, programs.shape[1] + 2), dtype=np.int32)
    asks = np.zeros(n, bool)
    said: dict[bytes, list[int]] = {}
    for k in np.flatnonzero(programs[:, 2] == unique).tolist():
        adds = filters.get((int(programs[k, 1]), int(values[k])))
        if adds is None:
            continue
        row = programs[k]
        tokens = said.setdefault(row.tobytes(), [])
        if not tokens:
            tokens += _of_object(pairs, row.tolist()[3:])
        alone[k, : len(tokens) + 2] = [START, *tokens, END]
        together[k, : len(tokens) + 3] = [START, adds, *tokens, END]
        asks[k] = True
    found: Flags = asks & _mention(pairs, together) & ~_mention(pairs, alone)
    return found


def _of_object(pairs: SuitePairs, tokens: Sequence[int]) -> list[int]:
    """The program of a set, without its parts about other objects.

    A part that begins with a relation or a likeness to other objects is replaced by the whole scene.
    """
    functions = pairs.vocab.functions
    n_inputs = {functions["scene"]: 0, functions["union"]: 2, functions["intersect"]: 2}
    others = {number for name, number in functions.items() if name.startswith(("relate", "same_"))}
    kept: list[int] = []
    left, hidden = 1, 0  # numbers of inputs still to come: in total, and of the omitted part
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


def _mention(pairs: SuitePairs, programs: Ints) -> Flags:
    """(K,) whether programs mention the held-out pair; False for rows without a program."""
    no_scenes = np.full(len(programs), MISSING, dtype=np.int64)
    read = pairs.reader.read(_no_words(len(programs)), programs, pairs.pool.native, no_scenes)
    return read.by_program


def _no_words(n: int) -> Ints:
    """(n, 2) texts without a word."""
    return np.full((n, 2), [START, END], dtype=np.int32)


def texts(pairs: SuitePairs, reader: TextReader, *, n_families: int) -> Iterator[Found]:
    """The texts that were made mean their programs, except those of families beyond `n_families`.

    Those families come from a suite whose files are unknown.
    """
    columns, counted = pairs.arrays.columns, pairs.counted
    questions, programs = pairs.tokens("questions"), pairs.tokens("programs")
    same = (questions[pairs.given] == questions[pairs.made]).all(axis=1)
    for row in pairs.made[same].tolist():
        yield row, "it is worded exactly like its original", pairs.text(row)
    families, answers = (int32(columns[name]) for name in ("question_families", "answers"))
    rows = pairs.own[families[pairs.own] < n_families]
    counted["pair texts"] += len(rows)
    counted["unread"] += len(pairs.own) - len(rows)
    flags, _ = reader.read(
        questions[rows], programs[rows], families[rows], answers[rows], pairs.pool.native, pairs.scenes[rows]
    )
    counted["several"] += int(np.count_nonzero(flags & TextReader.SEVERAL))
    counted["ambiguous"] += int(np.count_nonzero(flags & TextReader.AMBIGUOUS))
    for flag, problem in PROBLEMS.items():
        for row in rows[(flags & flag) != 0].tolist():
            yield row, problem, pairs.text(row)
