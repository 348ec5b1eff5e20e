"""Episodes with nonce words: the words, supports, matched scenes, and what strategies score."""

import json
import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest
from nonce_strategies import STRATEGIES, accuracies, complex_episodes
from syrupy.assertion import SnapshotAssertion

from clevrhope.config.presets import PRESETS
from clevrhope.dataset.vocab import CLEVR_WORDS
from clevrhope.errors import SplitError
from clevrhope.pipeline import Request
from clevrhope.pipeline.nonce import NonceEngine
from clevrhope.pipeline.resolution import resolve
from clevrhope.replies import ReplyReader, lexicon
from clevrhope.scenes.vocabulary import default_vocabulary
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.episodes import COMPLEX, FORMS, N_A, OF_LAYOUT, EpisodeStream, Form, Group
from clevrhope.splits.nonce.queries import UNSHOWN, matched_scenes
from clevrhope.splits.nonce.supports import class_patterns, n_assignments, support_slots, unnamed_values
from clevrhope.splits.nonce.words import nonce_words, usable_words
from wording import REPOSITORY, refused

TYPES = default_vocabulary().attribute_types
SIMPLE = tuple(form for form in FORMS if form.asks != COMPLEX)
"""The forms whose questions are about the pair alone, and need no layout."""
VALUES = [value for _, values in TYPES for value in values]


@lru_cache
def stream(*, told: bool = True, seed: int = 7) -> EpisodeStream:
    return EpisodeStream(TYPES, seed=seed, told=told)


def groups(form: Form, n: int, *, told: bool = True) -> list[Group]:
    return [stream(told=told).group(form, number) for number in range(n)]


EVERY_FORM = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)


def _distance(one: str, other: str) -> int:
    """How many letters to add, remove or replace to make one word of another."""
    before = [*range(len(other) + 1)]
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, compared in enumerate(other, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != compared)))
        before = row
    return before[-1]


def test_words_look_like_words_and_like_no_word_that_matters() -> None:
    words = nonce_words()
    assert len(words) == 200 == len({*words})
    assert sorted(words) == [*words]
    assert all(
        re.fullmatch("[bdfgjklmnprstvz][aeiou][bdfgjklmnprstvxz]{1,2}[aeiou][bdfgklmnprtvxz]", each)
        for each in words
    )
    assert min(_distance(*pair) for pair in combinations(words, 2)) > 2
    tables = (CLEVR_WORDS, lexicon.FORMS, lexicon.SYNONYMS, lexicon.OTHER_VALUES)
    known = {word for table in tables for row in table.items() for word in (row[0], *row[1])}
    known |= {*VALUES, *lexicon.YES, *lexicon.NO, *lexicon.NUMBERS, *lexicon.KINDS}
    for word, name in product(words, (each for each in known if len(each) > 2)):
        assert name not in word, (word, name)
        assert word not in name, (word, name)
        assert _distance(word, name) > 1 + (len(name) > 4), (word, name)


def test_the_reader_of_replies_reads_no_word_as_an_answer() -> None:
    reader = ReplyReader(default_vocabulary().set_answers, dict(TYPES))
    questions = (
        "Is there a red cube?",
        "How many red cubes are there?",
        "What size is the red cube?",
        "What color is the cube?",
        "What material is the red cube?",
        "What shape is the red thing?",
        "Which side of the cube is the red sphere on?",
    )
    for word, question in product(nonce_words(), questions):
        assert reader.read(question, f"A {word} thing.") is None, (question, word)


def test_a_world_whose_values_look_like_the_words_is_refused() -> None:
    assert usable_words(VALUES, least=6) == nonce_words()
    assert len(usable_words(["bafuxer"], least=6)) == 199
    with refused(SplitError):
        usable_words(nonce_words(), least=6)


def test_matched_scenes_are_all_those_that_there_are() -> None:
    numbers = {
        (asks, n_b, n): len(matched_scenes(asks, N_A, n_b, n))
        for asks, n_b, n in product(("exist", "count"), (3, 2), (4, 5, 6, 7, 8, 9))
    }
    assert [numbers["exist", 3, n] for n in (4, 5, 6)] == [3, 6, 12]
    assert [numbers["exist", 2, n] for n in (4, 5, 6)] == [1, 0, 2]
    # One arrangement without a target and one with two, and two with one.
    assert [numbers["count", 3, n] for n in (6, 7, 8, 9)] == [0, 0, 2, 2]
    assert len(matched_scenes("query", N_A, 3, 8)) == 3
    assert matched_scenes("query", N_A, 3, 4) == ()


def test_slots_are_those_of_the_definition() -> None:
    for (n_b, told), n_slots, n_patterns in (((3, True), 7, 2), ((3, False), 11, 434), ((2, True), 8, 56)):
        slots = support_slots(n_b, told=told)
        assert (len(slots), len(class_patterns(tuple(sorted(slots))))) == (n_slots, n_patterns)
        for condition in (0, 1):
            shown = {slot[condition] for slot in slots}
            assert {*np.ndindex(N_A, n_b)} - shown == {*UNSHOWN[condition]}
        for side in (0, 1):
            partners = [
                Counter(len({slot[c][1 - side] for slot in slots if slot[c][side] == i}) for i in range(3))
                for c in (0, 1)
            ]
            assert partners[0] == partners[1]


@EVERY_FORM
@pytest.mark.parametrize("told", [True, False], ids=["told", "found"])
def test_conditions_differ_by_a_swap(form: Form, told: bool) -> None:
    firsts = []
    for group in groups(form, 80, told=told):
        unseen, seen = group.support
        differs = unseen != seen
        n_swapped = 2 if form.n_b == 3 else 4
        assert differs.any(axis=1).sum() == n_swapped
        assert {*np.flatnonzero(differs.any(axis=0)).tolist()} == {group.b}
        target = (group.named[0][1], group.named[N_A][1])
        shown = [[(*each[[group.a, group.b]].tolist(),) for each in objects] for objects in (unseen, seen)]
        assert target not in shown[0]
        assert shown[1].count(target) == n_swapped // 2
        assert not any({0, N_A} <= {*said} for said in group.mentions[0])
        said = [Counter(word for pair in group.mentions[c] for word in pair) for c in (0, 1)]
        assert said[0] == said[1]
        firsts.append(int(unseen[differs.any(axis=1)][0, group.a] == group.named[0][1]))
        assert len({*group.words}) == len(group.named) == N_A + form.n_b
    assert sum(firsts) == 40


@EVERY_FORM
@pytest.mark.parametrize("told", [True, False], ids=["told", "found"])
def test_one_assignment_of_words_to_values_is_left(form: Form, told: bool) -> None:
    """By brute force over all injective assignments of the instructions."""
    values = np.asarray(
        [(kind, value) for kind, (_, names) in enumerate(TYPES) for value in range(len(names))]
    )
    for group in groups(form, 3, told=told):
        for objects, said in zip(group.support, group.mentions, strict=True):
            is_true = objects[:, values[:, 0]] == values[:, 1]  # (K, V)
            fits = [
                [
                    v
                    for v in range(len(values))
                    if all(is_true[k, v] for k, words in enumerate(said) if word in words)
                ]
                for word in range(len(group.named))
            ]
            if told:
                kinds = [kind for kind, _ in group.named]
                fits = [[v for v in of if values[v, 0] == kind] for of, kind in zip(fits, kinds, strict=True)]
            left = [each for each in product(*fits) if len({*each}) == len(each)]
            assert [[(*values[v].tolist(),) for v in each] for each in left] == [[*group.named]]


def test_assignments_are_counted() -> None:
    one, two = (0, 0), (1, 1)
    assert n_assignments([one, two], [(0,), (1,)], [0, 0]) == 1
    assert n_assignments([one, two], [(0,), (1,)], [None, None]) == 4
    assert n_assignments([one, one], [(0,), (1,)], [None, None]) == 2, "both words mean the one or the other"
    assert n_assignments([one, two], [(0,), (0,)], [None]) == 0


@EVERY_FORM
def test_scenes_of_a_group_are_matched(form: Form) -> None:
    for group in groups(form, 60):
        a0, b0 = group.named[0][1], group.named[N_A][1]
        kinds = [Counter((*each[[group.a, group.b]].tolist(),) for each in scene) for scene in group.scenes]
        unnamed = [kind for kind in range(len(TYPES)) if kind not in (group.a, group.b)]
        assert (group.scenes[:, :, unnamed] == group.scenes[:1, :, unnamed]).all()
        for kind in (group.a, group.b):
            assert len({(*sorted(scene[:, kind].tolist()),) for scene in group.scenes}) == 1
        named_a, named_b = group.named[:N_A], group.named[N_A:]
        for cells in UNSHOWN:
            unshown = {sum(each[named_a[i][1], named_b[j][1]] for i, j in cells) for each in kinds}
            assert len(unshown) == 1
        numbers = [each[a0, b0] for each in kinds]
        if form.asks == "query":
            assert group.asked is not None
            targets = [
                scene[(scene[:, group.a] == a0) & (scene[:, group.b] == b0)][:, group.asked]
                for scene in group.scenes
            ]
            names = TYPES[group.asked][1]
            assert [[names[value] for value in each] for each in targets] == [
                [each] for each in group.answers
            ]
        elif form.asks == COMPLEX:
            assert numbers == [1, 1]
            assert (group.scenes[:, :, unnamed] == OF_LAYOUT).all()
        elif form.asks == "exist":
            assert [*zip(numbers, group.answers, strict=True)] == [(0, "no"), (1, "yes")]
        else:
            assert [*map(str, numbers)] == [*group.answers] == ["0", "1", "2"]


def test_more_episodes_begin_with_fewer() -> None:
    many, some = stream().episodes(0, 40), stream().episodes(13, 9)
    assert [(each.group.form, each.group.number, each.member) for each in many[13:22]] == [
        (each.group.form, each.group.number, each.member) for each in some
    ]
    assert all((one.scene == two.scene).all() for one, two in zip(many[13:22], some, strict=True))
    assert Counter(each.group.form.name for each in many[:33]) == {
        "exist_3x3": 6, "exist_3x2": 6, "query_3x3": 6, "count_3x3": 9, "complex_3x3": 6,
    }  # fmt: skip
    other = stream(seed=8).episodes(0, 1)[0]
    assert (other.group.words, other.group.named) != (many[0].group.words, many[0].group.named)


def test_the_first_episode_stays_what_it_is(snapshot: SnapshotAssertion) -> None:
    group = stream().episodes(0, 1)[0].group
    assert (
        json.dumps([group.words, group.named, group.support[0].tolist(), group.scenes[0].tolist()])
        == snapshot
    )


def test_draws_are_even() -> None:
    draws = Draws(3, "mine", 0)
    counts = Counter(tuple(draws.shuffled("abc")) for _ in range(6000))
    assert {*counts} == {*permutations("abc")}
    assert all(abs(n - 1000) < 5 * 29 for n in counts.values())


def test_what_cannot_be_made_is_said() -> None:
    few = [
        ("size", ["large"]),
        ("color", ["red", "blue", "gray"]),
        ("material", ["metal"]),
        ("shape", ["cube"]),
    ]
    with refused(SplitError):
        EpisodeStream(few, seed=1)
    some = [
        ("size", ["large", "small"]),
        ("color", ["red", "blue", "gray"]),
        ("material", ["metal"]),
        ("shape", ["cube"]),
    ]
    made = EpisodeStream(some, seed=1)
    assert [form.name for form in made.forms] == ["exist_3x2"]
    assert "exist_3x3 of color and shape: shape has 1 value; expected at least 3" in made.missing
    assert [each.group.a for each in made.episodes(0, 4)] == [1] * 4
    with pytest.raises(SplitError, match="material and shape has one value, which all images share"):
        EpisodeStream(some, seed=1, told=False)
    with refused(SplitError):
        unnamed_values(support_slots(3, told=False), 1, Draws(1, "", 0), told=False, kind="size")


def test_a_world_of_ones_own() -> None:
    own = [
        ("size", ["tall", "flat"]),
        ("color", ["ochre", "teal", "mauve"]),
        ("material", ["felt", "slate", "cork"]),
        ("shape", ["torus", "cone", "star", "knot"]),
    ]
    for told in (True, False):
        made = EpisodeStream(own, seed=2, told=told)
        assert made.forms == FORMS
        assert made.missing == []
        simple = EpisodeStream(own, seed=2, told=told, forms=SIMPLE).episodes(0, 90)
        assert accuracies(simple, own, ["symbolic learner"]) == {"symbolic learner": (100.0, 100.0)}


@pytest.mark.parametrize("told", [True, False], ids=["told", "found"])
def test_who_composes_is_right_and_who_knows_phrases_is_right_on_seen_alone(told: bool) -> None:
    names = ["symbolic learner", "whole phrases only", "one word", "novel objects"]
    simple = EpisodeStream(TYPES, seed=7, told=told, forms=SIMPLE).episodes(0, 270)
    found = accuracies(simple, TYPES, names)
    chance = 100 * (2 / 2 + 2 / 2 + 2 / 2 + 3 / 3) / 9
    assert found == {
        "symbolic learner": (100, 100),
        "whole phrases only": (pytest.approx(chance), 100),
        "one word": (pytest.approx(chance), pytest.approx(chance)),
        "novel objects": (pytest.approx(chance), pytest.approx(chance)),
    }


@lru_cache
def engine() -> NonceEngine:
    made = resolve(Request(Path("none"), ("none",), PRESETS["demo"], seed=7, splits=(), render=False))
    return NonceEngine(made.engine, 0, "told")


def test_a_complex_question_tells_who_composes() -> None:
    names = [*[*STRATEGIES][:4], "whole phrases only", "symbolic learner"]
    found = accuracies(complex_episodes(engine(), 40), TYPES, names)
    assert found == {**dict.fromkeys(names, (50, 50)), names[4]: (50, 100), names[5]: (100, 100)}
    functions, programs = engine().vocab.programs(), engine().table("nonce_seen").programs
    asked = {functions[row[1]] for row in programs}
    assert len({*map(bytes, programs)}) == 20, "a question for every two scenes"
    assert {"exist", "greater_than"} <= asked


def test_templates_that_ask_no_complex_question_are_named(tmp_path: Path) -> None:
    name = "zero_hop.json"
    (tmp_path / name).write_text((REPOSITORY / "question_templates" / name).read_text())
    config = replace(PRESETS["demo"], templates=tmp_path)
    made = resolve(Request(Path("none"), ("none",), config, seed=7, splits=(), render=False))
    stream = NonceEngine(made.engine, 0, "told").stream
    assert stream.forms == SIMPLE
    assert stream.missing == [
        f"complex: {tmp_path}: no template compares or relates objects and is answered yes or no"
    ]


def table_of_strategies() -> dict[str, list[tuple[float, float]]]:
    """The table in docs/nonce.md: strategy -> accuracy in `unseen` and `seen` by form."""
    page = (REPOSITORY / "docs" / "nonce.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("|")
    ]
    return {
        row[0]: [tuple(map(float, cell.split(","))) for cell in row[1:]]  # type: ignore[misc]
        for row in rows
        if row[0] in STRATEGIES
    }


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(FORMS)), ids=[form.name for form in FORMS])
def test_strategies_score_what_the_page_says(place: int) -> None:
    """The page's numbers are of 20,000 episodes of each form with seed 1."""
    printed = table_of_strategies()
    assert [*printed] == [*STRATEGIES]
    form = FORMS[place]
    episodes = complex_episodes(engine(), 5000) if form.asks == COMPLEX else stream().of_form(form, 5000)
    measured = accuracies(episodes, TYPES)
    for name, pair in measured.items():
        assert pair == pytest.approx(printed[name][place], abs=2.5), name
    assert measured["symbolic learner"] == (100, 100)
    chance = 100 / form.n_scenes
    for name in [*STRATEGIES][:8]:
        if (name, form.asks) == ("one word", COMPLEX):
            continue  # a template's other words help who knows one of the two
        assert measured[name] == pytest.approx((chance, chance), abs=0.5), name
