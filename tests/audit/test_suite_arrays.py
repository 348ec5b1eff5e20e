"""Faults planted in the arrays of suites of paired tests: found, each by its own line of the audit."""

from functools import partial
from typing import Any

import h5py
import numpy as np
import pytest
from spoiling import Arrays, check_faults, put
from suite_spoiling import ADDED, CARETS, HOLDOUT, HOP, OOD, RAD, RAD_OOD, Spoil, SpoiltSuite, without_pairs

pytestmark = pytest.mark.slow

OF_THE_PAIR = ("pair_idxs", "role", "test", "tier", "touches", "relation", "value", "cell")
PLACES = ("pair_idxs", "role")


def to(name: str, place: Any, value: Any) -> Spoil:
    """Changes one entry of an array."""
    return lambda data, arrays: put(name, place, value)(arrays)


def made_rows(arrays: Arrays) -> Any:
    return np.flatnonzero(arrays["orig_idxs"] < 0)


def first_of(data: SpoiltSuite, arrays: Arrays, test: str, file: str = CARETS) -> int:
    """The row at which the first pair of a test begins."""
    return int(np.flatnonzero(arrays["test"] == data.test(test, file))[0])


def searched(data: SpoiltSuite, arrays: Arrays, test: str) -> int:
    """The row at which the first pair of a test begins whose original was searched for."""
    mine = (arrays["test"] == data.test(test, CARETS)).reshape(-1, 2)[:, 0]
    return 2 * int(np.flatnonzero(mine & (arrays["orig_idxs"].reshape(-1, 2) < 0).all(axis=1))[0])


def holdout_pairs(data: SpoiltSuite, arrays: Arrays, test: str) -> Any:
    """The pairs of a test of `holdout`."""
    return np.flatnonzero(arrays["test"][::2] == data.test(test, HOLDOUT))


def copy_rows(arrays: Arrays, target: Any, source: Any, but: tuple[str, ...] = PLACES) -> None:
    """Puts rows in the place of others, but for some columns."""
    for name, values in arrays.items():
        if name not in but:
            values[target] = values[source]


def wrong_answer(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["answers"][made_rows(arrays)[0]] = data.answer("metal")


def wrong_relation(data: SpoiltSuite, arrays: Arrays) -> None:
    """The same answer is said to be exchanged."""
    row = first_of(data, arrays, "rephrase")
    arrays["relation"][row : row + 2] = 1


def relation_of_another_test(data: SpoiltSuite, arrays: Arrays) -> None:
    """Yes and no are exchanged, and the original is answered no: `is yes` would hold as well."""
    row = 2 * int(np.flatnonzero(arrays["relation"][::2] == 1)[0])
    arrays["relation"][row : row + 2], arrays["value"][row : row + 2] = 2, data.answer("blue")
    arrays["answers"][row : row + 2] = data.answer("no")


def value_that_nobody_asks_for(data: SpoiltSuite, arrays: Arrays) -> None:
    no = (arrays["answers"][1::2] == data.answer("no")) & (arrays["relation"][::2] == 2)
    k = int(np.flatnonzero(no & (arrays["test"][::2] == data.test("is_there_color", RAD)))[0])
    others = {data.answer(name) for name in ("red", "blue", "cyan")}
    others -= {int(arrays["value"][2 * k]), int(arrays["answers"][2 * k])}
    arrays["value"][2 * k : 2 * k + 2] = min(others)


def changed_word(data: SpoiltSuite, arrays: Arrays) -> None:
    """A made question says blue in place of red; its program stays."""
    made = made_rows(arrays)
    k, place = np.argwhere(arrays["questions"][made] == data.word("red"))[0]
    arrays["questions"][made[k], place] = data.word("blue")


def words_of_the_original(data: SpoiltSuite, arrays: Arrays) -> None:
    for name in ("questions", "question_lengths"):
        arrays[name][1] = arrays[name][0]


def another_family(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["question_families"][made_rows(arrays)[0]] = 89


def changed_original(data: SpoiltSuite, arrays: Arrays) -> None:
    """The words of an original are not those of its row in the split's file."""
    row = next(k for k in range(0, len(arrays["questions"]), 2) if arrays["orig_idxs"][k] >= 0)
    arrays["questions"][row, 1] = arrays["questions"][row, 2]


def another_original(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["orig_idxs"][-2] += 1


def swapped_pair(data: SpoiltSuite, arrays: Arrays) -> None:
    """Rephrasing is symmetric, but there the split's question is always the original."""
    row = first_of(data, arrays, "rephrase")
    copy_rows(arrays, [row, row + 1], [row + 1, row], OF_THE_PAIR)


def pair_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    copy_rows(arrays, slice(2, 4), slice(0, 2), ())
    arrays["pair_idxs"][2:4] = 1


def unbalanced_verified_values(data: SpoiltSuite, arrays: Arrays) -> None:
    """A question whether a thing has a shape is lost, and so is the answer that made its value balanced."""
    without_pairs(arrays, np.asarray([searched(data, arrays, "rephrase_verify_shape") // 2]))


def mention_in_program_and_words(data: SpoiltSuite, arrays: Arrays) -> None:
    """A metal cylinder of a made question becomes a rubber one, in a split that never asks for one."""
    functions = data.vocab["program_token_to_idx"]
    programs, questions, made = arrays["programs"], arrays["questions"], made_rows(arrays)
    metal, cylinder = (functions[f"filter_{name}"] for name in ("material[metal]", "shape[cylinder]"))
    k, place = np.argwhere((programs[made, :-1] == cylinder) & (programs[made, 1:] == metal))[0]
    row = int(made[k])
    programs[row, place + 1] = functions["filter_material[rubber]"]
    for word in ("metal", "metallic", "shiny"):
        questions[row, questions[row] == data.word(word)] = data.word("rubber")


def mention_in_words(data: SpoiltSuite, arrays: Arrays) -> None:
    """A made question asks for a shiny cylinder; its words are changed alone."""
    made = made_rows(arrays)
    words = arrays["questions"][made]
    shiny = np.isin(words[:, :-1], [data.word("shiny"), data.word("metal"), data.word("metallic")])
    k, place = np.argwhere(shiny & np.isin(words[:, 1:], [data.word("cylinder"), data.word("cylinders")]))[0]
    arrays["questions"][made[k], place] = data.word("matte")


def image_without_questions(data: SpoiltSuite, arrays: Arrays) -> None:
    """A searched question is about another image of the pool, about which the split has no question."""
    row = searched(data, arrays, "order_and")
    arrays["image_idxs"][row : row + 2] = arrays["image_idxs"].max() + 1


def searched_pair_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    """The other way round it is the same pair."""
    row = searched(data, arrays, "order_or")
    copy_rows(arrays, [row + 2, row + 3], [row + 1, row])


def value_offered_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    """A choice offers its answer twice, in program and words."""
    row = searched(data, arrays, "order_choice2_material")
    offers = [data.function(f"offer_material[{name}]") for name in ("rubber", "metal")]
    answer = [data.answer("rubber"), data.answer("metal")].index(int(arrays["answers"][row]))
    program, words = arrays["programs"][row], arrays["questions"][row]
    program[np.isin(program, offers)] = offers[answer]
    last = np.flatnonzero(np.isin(words, [data.word("rubber"), data.word("metal")]))[-2:]
    words[last] = data.word(("rubber", "metal")[answer])


def other_equivalent(data: SpoiltSuite, arrays: Arrays) -> None:
    """The equivalent in CLEVR's functions of a program that verifies a material asks for the other one."""
    functions = data.vocab["program_token_to_idx"]
    rubber, metal = (functions[f"filter_material[{name}]"] for name in ("rubber", "metal"))
    program = arrays["clevr_programs"][searched(data, arrays, "rephrase_verify_material")]
    first = int(np.flatnonzero(np.isin(program, [rubber, metal]))[0])
    program[first] = rubber + metal - program[first]


def no_equivalent(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["clevr_programs"][searched(data, arrays, "rephrase_or")] = 0


def equivalent_beyond_clevr(data: SpoiltSuite, arrays: Arrays) -> None:
    row = searched(data, arrays, "rephrase_verify_color")
    arrays["clevr_programs"][row, : arrays["programs"].shape[1]] = arrays["programs"][row]


def lost_pairs(test: str, chosen: slice) -> Spoil:
    """Some pairs of a test of `holdout` are lost."""

    def spoil(data: SpoiltSuite, arrays: Arrays) -> None:
        without_pairs(arrays, holdout_pairs(data, arrays, test)[chosen])
        n = len(arrays["role"]) // 2
        data.manifest(lambda raw: raw["suites"][HOP]["holdout"][OOD].update(pairs=n))

    return spoil


def control_that_completes(data: SpoiltSuite, arrays: Arrays) -> None:
    """The crossings are called controls."""
    pairs = [holdout_pairs(data, arrays, test) for test in ("crossing_shape", "control_shape")]
    crossings, controls = (np.sort(np.concatenate([2 * each, 2 * each + 1])) for each in pairs)
    both, other = np.concatenate([crossings, controls]), np.concatenate([controls, crossings])
    copy_rows(arrays, both, other, ("test", *PLACES))


def control_on_another_image(data: SpoiltSuite, arrays: Arrays) -> None:
    row = 2 * int(holdout_pairs(data, arrays, "control_shape")[-1])
    images = arrays["image_idxs"]
    images[row : row + 2] = images[images != images[row]][0]


def searched_original_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    row = 2 * int(holdout_pairs(data, arrays, "crossing_shape")[-1])
    copy_rows(arrays, slice(row, row + 2), slice(row - 2, row))


def value_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    """A partner of a group stands in the place of another one."""
    row = 2 * int(holdout_pairs(data, arrays, "values_material")[0])
    copy_rows(arrays, slice(row, row + 2), slice(row + 2, row + 4))


def pair_of_another_cell(data: SpoiltSuite, arrays: Arrays) -> None:
    row = 2 * int(holdout_pairs(data, arrays, "entailment_shape")[0])
    arrays["cell"][row : row + 2] = 3


def answer_that_completes(data: SpoiltSuite, arrays: Arrays) -> None:
    """An answer is not said to complete the pair, in a question that mentions it of another object."""
    arrays["touches"] &= 1


def swapped_turns(data: SpoiltSuite, arrays: Arrays) -> None:
    copy_rows(arrays, [9, 10], [10, 9], ())


def original_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    """Two added questions are the same, of one test and original."""
    copy_rows(arrays, 21, 10, ("orig_idxs",))


def other_words_of_the_train_set(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["questions"][3, 1] += 1


def other_answer_of_an_added_question(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["answers"][10] = data.answer("metal")


def added_mention(data: SpoiltSuite, arrays: Arrays) -> None:
    """The words and the program of an added question are those of one that mentions the held-out pair."""
    with h5py.File(data.path(f"hops/{HOP}/{OOD}.h5")) as file:
        for name in ("questions", "programs"):
            row = file[name][0]
            arrays[name][10] = 0
            arrays[name][10, : len(row)] = row


def added_question_of_another_test(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["test"][10] = (arrays["test"][10] + 1) % 5


IN_ARRAYS: dict[str, tuple[str, Spoil]] = {
    "wrong answer": (CARETS, wrong_answer),
    "wrong relation": (CARETS, wrong_relation),
    "relation of another test": (CARETS, relation_of_another_test),
    "value that nobody asks for": (RAD, value_that_nobody_asks_for),
    "cell of carets": (CARETS, to("cell", slice(0, 2), 3)),
    "touches of rad": (RAD, to("touches", slice(4, 6), 1)),
    "touches of rad_ood": (RAD_OOD, to("touches", slice(4, 6), 0)),
    "changed word": (CARETS, changed_word),
    "words of the original": (CARETS, words_of_the_original),
    "another family": (RAD, another_family),
    "changed original": (CARETS, changed_original),
    "another original": (RAD, another_original),
    "original that does not exist": (RAD, to("orig_idxs", -2, 450)),
    "partner that is an original": (CARETS, to("orig_idxs", 1, 7)),
    "swapped pair": (CARETS, swapped_pair),
    "role of carets": (CARETS, to("role", slice(0, 2), [1, 0])),
    "pair twice": (CARETS, pair_twice),
    "unbalanced verified values": (CARETS, unbalanced_verified_values),
    "mention in program and words": (CARETS, mention_in_program_and_words),
    "mention in words": (CARETS, mention_in_words),
    "question_lengths of carets": (CARETS, to("question_lengths", 1, 4)),
    "image without questions": (CARETS, image_without_questions),
    "searched pair twice": (CARETS, searched_pair_twice),
    "original said to be searched for": (CARETS, to("orig_idxs", slice(0, 2), -1)),
    "value offered twice": (CARETS, value_offered_twice),
    "other equivalent": (CARETS, other_equivalent),
    "no equivalent": (CARETS, no_equivalent),
    "equivalent beyond clevr": (CARETS, equivalent_beyond_clevr),
    "control that completes": (HOLDOUT, control_that_completes),
    "lost crossing_shape": (HOLDOUT, lost_pairs("crossing_shape", slice(1))),
    "lost control_shape": (HOLDOUT, lost_pairs("control_shape", slice(-1, None))),
    "lost crossing_verify_shape": (HOLDOUT, lost_pairs("crossing_verify_shape", slice(-1, None))),
    "lost values_shape": (HOLDOUT, lost_pairs("values_shape", slice(-1, None))),
    "lost values_color": (HOLDOUT, lost_pairs("values_color", slice(3, 4))),
    "control on another image": (HOLDOUT, control_on_another_image),
    "searched original twice": (HOLDOUT, searched_original_twice),
    "value twice": (HOLDOUT, value_twice),
    "pair of another cell": (HOLDOUT, pair_of_another_cell),
    "answer that completes": (HOLDOUT, answer_that_completes),
    "swapped turns": (ADDED, swapped_turns),
    "source_idxs of added": (ADDED, to("source_idxs", 10, 11)),
    "lost source_idxs of added": (ADDED, to("source_idxs", 10, -1)),
    "original twice": (ADDED, original_twice),
    "other words of the train set": (ADDED, other_words_of_the_train_set),
    "other answer of an added question": (ADDED, other_answer_of_an_added_question),
    "added mention": (ADDED, added_mention),
    "added question of another test": (ADDED, added_question_of_another_test),
}
"""The file whose arrays are changed, and the change."""


@pytest.mark.parametrize(("file", "spoil"), IN_ARRAYS.values(), ids=IN_ARRAYS)
def test_a_fault_in_arrays_is_found(file: str, spoil: Spoil, spoilt_suites: SpoiltSuite) -> None:
    spoilt_suites.change(f"{file}.h5", partial(spoil, spoilt_suites))
    check_faults(spoilt_suites.root)
