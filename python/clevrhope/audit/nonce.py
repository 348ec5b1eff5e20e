"""The check of episodes with nonce words, from their files alone and in code of its own."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import TextReader
from clevrhope.audit.checks.questions import misread
from clevrhope.audit.conditions import Condition, Scene, Value
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Found, Results
from clevrhope.dataset.native_reader import text_reader
from clevrhope.dataset.question_kinds import NONCE
from clevrhope.dataset.split_files import read_vocab
from clevrhope.errors import with_article
from clevrhope.runtime.forms import INDEX, NUMBER, TEXT, Fields, Form, ListOf
from clevrhope.runtime.progress import Advance
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, TOLD

PREFIX = "nonce words: "
RULES = ("answers", "support", "held out", "words", "scenes", "balance")

SAME = (
    *("questions", "programs", "answers", "image_idxs", "question_families"),
    *("words", "pairs", "grids", "partners"),
)
"""Columns that are the same in both conditions."""

_KINDS = ("size", "color", "material", "shape")
_FORM: Mapping[str, Form] = {
    "image_index": INDEX,
    "objects": ListOf(
        Fields({**dict.fromkeys(_KINDS, TEXT), "3d_coords": ListOf(NUMBER, 3), "rotation": NUMBER}), least=1
    ),
}
"""What scenes must have."""

_ORDER = ("size", "color", "material")
"""The order of adjectives."""


def holds(each: Mapping[str, Any], value: Value) -> bool:
    """Whether an object has a value."""
    return bool(each[value[0]] == value[1])


def check_nonce(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Reads both conditions and their scenes, and applies all rules."""
    files = {file.name: file for file in folder.files if file.kind is NONCE}
    if not folder.manifest.nonce:
        for result in results.values():
            result.skip("this folder has no episodes with nonce words")
    if len(files) != len(NONCE_SPLITS):
        return
    vocab = read_vocab(folder.layout.nonce_vocab)
    with ExitStack() as stack:
        arrays = [stack.enter_context(files[name].open()) for name in NONCE_SPLITS]
        pools = {str(each.attributes[name]) for each in arrays for name in ("pool", "support_pool")}
        scenes = {
            pool: {scene["image_index"]: scene for scene, _ in folder.parsed_scenes(pool, **_FORM)}
            for pool in sorted(pools)
        }
        unseen, seen = (
            Condition(files[name], each, vocab, scenes)
            for name, each in zip(NONCE_SPLITS, arrays, strict=True)
        )
    if unseen.n != seen.n:
        results[f"{PREFIX}support"].fault(
            seen.file, None, f"not the {unseen.n} rows of {unseen.file}", seen.n
        )
        return
    known = {*folder.vocab.words} | {word for _, value in unseen.values for word in (value, f"{value}s")}
    for row in range(unseen.n):
        for name, found in (
            ("answers", of_answer(unseen, row)),
            ("support", of_support(unseen, seen, row)),
            ("held out", of_pair(unseen, seen, row)),
            ("words", (each for condition in (unseen, seen) for each in of_words(condition, row, known))),
            ("scenes", of_partner(unseen, row)),
        ):
            results[f"{PREFIX}{name}"].n_checked += 1
            results[f"{PREFIX}{name}"].add(unseen.file, found)
        advance(1)
    results[f"{PREFIX}answers"].add(unseen.file, of_complex(unseen, folder))
    results[f"{PREFIX}balance"].n_checked += unseen.n
    results[f"{PREFIX}balance"].add(unseen.file, of_balance(unseen, seen))


def of_answer(of: Condition, row: int) -> Iterator[Found]:
    """The program says what the text says, is about the pair, and gives the answer."""
    if of.is_complex(row):
        return
    names = of.program(row)
    *ends, _ = [name for name in names if not name.startswith("filter_")]
    filters = {
        tuple(name.removeprefix("filter_")[:-1].split("[")) for name in names if name.startswith("filter_")
    }
    pair = of.pair(row)
    if filters != {*pair}:
        yield row, "its program is not about the pair, but about", sorted(filters)
    values = dict(pair)
    phrase = " ".join([*(values[kind] for kind in _ORDER if kind in values), values.get("shape", "thing")])
    found = [each for each in of.scene(row)["objects"] if all(holds(each, value) for value in pair)]
    answer: object
    if ends == ["exist"]:
        text, answer = f"is there {with_article(phrase)}", "yes" if found else "no"
    elif ends == ["count"]:
        text, answer = f"how many {phrase}s are there", str(len(found))
    else:
        kind = ends[0].removeprefix("query_")
        text, answer = (
            f"what {kind} is the {phrase}",
            found[0][kind] if len(found) == 1 else f"one of {len(found)}",
        )
    said = of.vocab.text(of.columns["questions"][row].tolist())
    if said != text:
        yield row, f'its text is not "{text}", but', said
    if (stated := of.vocab.answer(of.columns["answers"][row])) != answer:
        yield row, f"its answer is not {answer}, but", stated


def of_complex(of: Condition, folder: AuditFolder) -> Iterator[Found]:
    """A template's text means its program and gives the answer; of A and B it names the pair alone."""
    rows = np.asarray([row for row in range(of.n) if of.is_complex(row)], dtype=np.int64)
    if not len(rows):
        return
    columns, templates = of.columns, folder.templates
    reader = text_reader(of.vocab, templates.files, templates.synonyms)
    pool = folder.scenes[str(of.attributes["pool"])]
    texts, programs, answers = (
        columns[name][rows].astype(np.int32) for name in ("questions", "programs", "answers")
    )
    scenes = pool.rows(columns["image_idxs"][rows])
    flags, _ = reader.read(texts, programs, np.zeros(len(rows), np.int32), answers, pool.native, scenes)
    yield from misread(
        flags & ~np.uint8(TextReader.OTHER_FAMILY), lambda row: of.vocab.text(columns["questions"][row]), rows
    )
    for row in rows.tolist():
        pair = of.pair(row)
        chains = " ".join(name if name.startswith("filter_") else "|" for name in of.program(row)).split("|")
        wanted = {f"filter_{kind}[{value}]" for kind, value in pair}
        if not any(wanted <= {*chain.split()} for chain in chains):
            yield row, "its program is not about the pair, but", of.program(row)
        kinds = {kind for kind, _ in pair}
        words = {
            form: value
            for kind, value in of.values
            if kind in kinds
            for word in (value, *templates.words.get(value, ()))
            for form in (word, f"{word}s")
        }
        said = {*of.vocab.text(columns["questions"][row].tolist()).split()} & words.keys()
        if strange := sorted(said - {form for _, value in pair for form in (value, f"{value}s")}):
            yield row, "its text has a word for a value without a nonce word", strange[0]


def of_support(unseen: Condition, seen: Condition, row: int) -> Iterator[Found]:
    """Rows differ in the values of B of swapped objects alone; statements name A and B, and are true."""
    for name in SAME:
        if not np.array_equal(unseen.columns[name][row], seen.columns[name][row]):
            yield row, f"{name} is another than in {seen.file}", unseen.columns[name][row].tolist()
    of_a, of_b = (kind for kind, _ in unseen.pair(row))
    for condition in (unseen, seen):
        for scene, tokens in zip(condition.support(row), condition.columns["statements"][row], strict=False):
            if len(scene["objects"]) != 1:
                yield row, "a support image does not show one object, but", len(scene["objects"])
            values = {kind: scene["objects"][0][kind] for kind in (of_a, of_b)}
            adjectives = [values[kind] for kind in _ORDER if kind in values]
            text = f"this is {with_article(' '.join([*adjectives, values.get('shape', 'thing')]))}"
            if (said := condition.vocab.text(tokens.tolist())) != text:
                yield row, f'a statement is not "{text}", but', said
    supports = unseen.support(row), seen.support(row)
    pairs = [*zip(*supports, strict=False)] if len(supports[0]) == len(supports[1]) else []
    swapped = [(one, other) for one, other in pairs if one["image_index"] != other["image_index"]]
    n_b = sum(kind == of_b for kind, _ in unseen.named(row))
    if len(swapped) != (2 if n_b > 2 else 4):
        wanted = "two" if n_b > 2 else "four"
        yield row, f"not {wanted} support objects differ between the conditions, but", len(swapped)
    counts = [Counter(str(each["objects"][0][of_b]) for each in of) for of in zip(*swapped, strict=True)]
    if len(counts) == 2 and counts[0] != counts[1]:
        yield (
            row,
            f"the support's objects do not exchange their {of_b}, but have",
            [dict(each) for each in counts],
        )
    for one, other in swapped:
        if _but(one, of_b) != _but(other, of_b):
            yield row, f"support objects differ in more than {of_b}: scene", other["image_index"]


def _but(scene: Scene, kind: str) -> object:
    """All of a support scene that does not follow from its object's value of a type."""
    each = scene["objects"][0]
    seen = ("pixel_coords", "visible_pixels", "visible_fraction", "bbox", kind)
    x, y, z = each["3d_coords"]
    items = {key: value for key, value in each.items() if key not in (*seen, "3d_coords")}
    return items, (x, y, None if kind in ("size", "shape") else z), scene.get("camera"), scene.get("lights")


def of_pair(unseen: Condition, seen: Condition, row: int) -> Iterator[Found]:
    """`unseen` shows and says the pair nowhere; `seen` does both."""
    pair = unseen.pair(row)
    for condition, is_wanted in ((unseen, False), (seen, True)):
        said = [
            {*condition.vocab.text(each.tolist()).split()} for each in condition.columns["statements"][row]
        ]
        shown = any(
            all(holds(scene["objects"][0], value) for value in pair) for scene in condition.support(row)
        )
        if shown != is_wanted:
            yield row, f"{condition.file}: an image of the support shows the pair", shown
        if any({value for _, value in pair} <= words for words in said) != is_wanted:
            yield row, f"{condition.file}: a statement has both words", not is_wanted


def of_words(of: Condition, row: int, known: set[str]) -> Iterator[Found]:
    """Words are distinct and not known; one assignment of them to values makes all statements true."""
    named = of.named(row)
    if len({*named.values()}) != len(named):
        yield row, "a word stands for two values", sorted(named.values())
    if strange := sorted(known.intersection(named.values())):
        yield row, "not a nonce word", strange[0]
    grid = {kind for kind, _ in of.pair(row)}
    if (stated := of.form_and_grid(row)) != (found := of.found_form_and_grid(row)):
        yield row, f"its form and grid are not {' '.join(found)}, but", " ".join(stated)
    if not {*of.pair(row)} <= named.keys() or {kind for kind, _ in named} != grid:
        yield row, "the values with words are not those of the grid, but", sorted(named)
    said = [{*of.vocab.text(each.tolist()).split()} for each in of.columns["statements"][row]]
    is_told, fits = of.attributes["types"] == TOLD, []
    for kind, name in named:
        shown = [
            each["objects"][0] for each, words in zip(of.support(row), said, strict=False) if name in words
        ]
        fits.append(
            [
                all(holds(each, other) for each in shown) and (not is_told or other[0] == kind)
                for other in of.values
            ]
        )
    if (n := n_matchings(np.asarray(fits))) != 1:
        yield row, f"{of.file}: not one assignment of words to values fits the support, but", n


def n_matchings(fits: npt.NDArray[np.bool_]) -> int:
    """The number of ways to give each row a column of its own among those that fit it: (words, values)."""
    ways = Counter({0: 1})
    for row in fits:
        longer: Counter[int] = Counter()
        for taken, n in ways.items():
            for column in np.flatnonzero(row).tolist():
                if not taken >> column & 1:
                    longer[taken | 1 << column] += n
        ways = longer
    return sum(ways.values())


def of_partner(of: Condition, row: int) -> Iterator[Found]:
    """The partner is the same but for scene and answer, and its scene differs in A and B alone, permuted."""
    partner = int(of.columns["partners"][row])
    if partner < 0:
        return
    for name in ("questions", "programs", "support_idxs", "statements", "words"):
        if not np.array_equal(of.columns[name][row], of.columns[name][partner]):
            yield row, f"{name} is not that of its partner, row", partner
    if of.columns["answers"][row] == of.columns["answers"][partner]:
        yield row, "its partner has the same answer", of.vocab.answer(of.columns["answers"][row])
    a, b = (kind for kind, _ in of.pair(row))
    scenes = [of.scene(each)["objects"] for each in (row, partner)]
    others = [kind for kind in (*_KINDS, "rotation") if kind not in (a, b)]
    rest = [[[each[kind] for kind in others] for each in scene] for scene in scenes]
    if rest[0] != rest[1]:
        yield row, f"its scene differs from its partner's in more than {a} and {b}: row", partner
    for kind in (a, b):
        if len({tuple(sorted(each[kind] for each in scene)) for scene in scenes}) > 1:
            yield row, f"its scene does not have the {kind}s of its partner's: row", partner
    for condition in (0, 1):
        n = [sum((each[a], each[b]) in _unshown(of, row)[condition] for each in scene) for scene in scenes]
        if n[0] != n[1]:
            yield (
                row,
                f"kinds that {NONCE_SPLITS[condition]} does not show occur in other numbers than in row",
                partner,
            )


def _unshown(of: Condition, row: int) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The kinds of the grid that the support does not show: in this condition, and in the other."""
    (a, _), (b, _) = of.pair(row)
    named = of.named(row)
    grid = {(one, other) for kind, one in named if kind == a for of_b, other in named if of_b == b}
    here = grid - {(each["objects"][0][a], each["objects"][0][b]) for each in of.support(row)}
    rows, columns = ({each[side] for each in here} for side in (0, 1))
    return here, {(one, other) for one in rows for other in columns} - here


def of_balance(unseen: Condition, seen: Condition) -> Iterator[Found]:
    """Answers of a form are equally frequent but for the last group; either swapped object comes first."""
    forms = unseen.columns["question_families"]
    for form in np.unique(forms).tolist():
        rows = np.flatnonzero(forms == form).tolist()
        name = str(unseen.attributes["forms"][form])
        by_type: dict[str, Counter[str]] = {}
        for row in rows:
            program = " ".join(unseen.program(row)[:1])
            by_type.setdefault(program, Counter())[unseen.vocab.answer(unseen.columns["answers"][row])] += 1
        for program, counts in by_type.items():
            n_answers = 3 if program == "count" else 2
            n = [*counts.values()] + [0] * (n_answers - len(counts))
            # A query for one of many values draws two of them for each group.
            if len(counts) <= n_answers and max(n) - min(n) > 1:
                yield None, f"{name}: answers to {program} are not equally frequent", dict(counts)
        leaders = np.unique(unseen.columns["support_idxs"][rows], axis=0, return_index=True)[1]
        firsts = [_begins_with_a0(unseen, seen, rows[leader]) for leader in leaders.tolist()]
        if abs(2 * sum(firsts) - len(firsts)) > len(unseen.attributes["grid_names"]):
            shown = f"{sum(firsts)} of {len(firsts)}"
            yield None, f"{name}: the asked value of A comes first among swapped objects in groups", shown


def _begins_with_a0(unseen: Condition, seen: Condition, row: int) -> bool:
    """Whether the first swapped object has the value of A that is asked about."""
    (a, _) = unseen.pair(row)
    pairs = zip(unseen.support(row), seen.support(row), strict=False)
    swapped = (one for one, other in pairs if one["image_index"] != other["image_index"])
    return any(holds(each["objects"][0], a) for each in list(swapped)[:1])
