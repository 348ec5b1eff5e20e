"""Faults planted in suites of paired tests: found, each by its own line of the audit's report, and named."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from spoiling import SUITES, Arrays, Row, Spoilt, failed, put

from clevrhope.audit import Check, audit
from clevrhope.config.presets import PRESETS
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import read_manifest
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.describe.suites import measure_suites
from clevrhope.errors import TemplateError
from clevrhope.pipeline import Request, build
from clevrhope.pipeline.limits import Limits
from clevrhope.pipeline.suites import make_suite
from clevrhope.runtime import assets

pytestmark = pytest.mark.slow

HOP = "rubber_cylinder"
IID, OOD = "complex_iid", "complex_ood"
MEASURED = f"hops/{HOP}/measured.json"
OF_SUITES = tuple(line for line in SUITES if line != "pair images")
"""The lines about suites, but for that about edited images, which these folders do not have."""


def with_suites(out: Path, *, hops: tuple[str, ...] = (HOP,), **changes: Any) -> Path:
    """A folder's test sets of whole scenes, all of the package's suites, and a train set with questions."""
    sizes = replace(PRESETS["demo"].sizes, train=60, complex_iid=450, complex_ood=250, test=150)
    limits = changes.pop("limits", Limits())
    config = replace(PRESETS["demo"], sizes=sizes, **changes)
    splits = ("train", IID, OOD, "test") if "none" in hops else ("train", IID, OOD)
    build(Request(out=out, hops=hops, splits=splits, config=config, limits=limits, seed=3, render=False))
    for suite in ("carets", "rad"):
        make_suite(out, suite)
    make_suite(out, "holdout", origin="search")
    make_suite(out, "rad", train=True)
    return out


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_suites(tmp_path_factory.mktemp("audit") / "paired")


@pytest.fixture
def data(paired: Path, tmp_path: Path) -> "SpoiltSuite":
    shutil.copytree(paired, tmp_path / "spoilt")
    return SpoiltSuite(tmp_path / "spoilt")


class SpoiltSuite(Spoilt):
    """A folder with suites that may be written to; `file` is the stem of a suite's files on a split."""

    def test(self, name: str, file: str) -> int:
        with h5py.File(self.path(f"{file}.h5")) as opened:
            return list(opened.attrs["tests"]).index(name)

    def rows(self, change: Callable[[list[Row]], Any], file: str) -> None:
        self._rows(f"{file}_questions.json", "questions", change)

    def measure(self) -> None:
        """Makes measured.json say what the files hold."""
        layout = Layout(self.root)
        manifest = read_manifest(layout.manifest)
        assert manifest is not None
        suites = measure_suites(layout, manifest, HOP)
        self.measured(MEASURED, lambda raw: raw.update(suites=suites))

    def function(self, name: str) -> int:
        path = self.path(f"hops/{HOP}/suites/carets/vocab.json")
        return int(json.loads(path.read_text())["program_token_to_idx"][name])

    def answer(self, name: str) -> int:
        return self.vocab["answer_token_to_idx"][name]


CARETS, RAD = (f"hops/{HOP}/suites/{suite}/{IID}" for suite in ("carets", "rad"))
RAD_OOD, HOLDOUT = (f"hops/{HOP}/suites/{suite}/{OOD}" for suite in ("rad", "holdout"))
HOLDOUT_IID = HOLDOUT.replace(OOD, IID)
ADDED = f"hops/{HOP}/suites/rad/train_rad"
"""A train set with questions of a suite, which are every 11th row."""

OF_THE_PAIR = ("pair_idxs", "role", "test", "tier", "touches", "relation", "value", "cell")
PLACES = ("pair_idxs", "role")

Spoil = Callable[[SpoiltSuite, Arrays], Any]
Plant = Callable[[SpoiltSuite], Any]


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


def without_pairs(arrays: Arrays, pairs: Any) -> None:
    """Leaves out pairs; the rest is numbered anew."""
    for name, values in arrays.items():
        kept = np.delete(values.reshape(-1, 2, *values.shape[1:]), pairs, axis=0)
        arrays[name] = kept.reshape(-1, *values.shape[1:])
    arrays["pair_idxs"] = np.repeat(np.arange(len(arrays["pair_idxs"]) // 2, dtype=np.int32), 2)


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


def unbalanced_values(data: SpoiltSuite) -> None:
    """A pair whose value is asked for with no is lost, in both files and all numbers."""
    pair = -1

    def change(arrays: Arrays) -> None:
        nonlocal pair
        is_no = arrays["answers"][1::2] == data.answer("no")
        pair = int(np.flatnonzero((arrays["relation"] == 2)[::2] & is_no)[0])
        without_pairs(arrays, [pair])

    def leave_out(rows: list[Row]) -> None:
        del rows[2 * pair : 2 * pair + 2]
        for k, row in enumerate(rows):
            row["question_index"], row["pair_index"] = k, k // 2

    def count(raw: Row) -> None:
        raw["suites"][HOP]["rad"][IID]["pairs"] -= 1

    data.change(f"{RAD}.h5", change)
    data.rows(leave_out, RAD)
    data.manifest(count)
    data.measure()


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


IN_ARRAYS: tuple[tuple[str, Spoil, str], ...] = (
    (CARETS, wrong_answer, "pair programs, pair answers, pair files"),
    (CARETS, wrong_relation, "pair answers"),
    (CARETS, relation_of_another_test, "pairs"),
    (RAD, value_that_nobody_asks_for, "pair answers, pair balance"),
    (CARETS, to("cell", slice(0, 2), 3), "pair mentions"),
    (RAD, to("touches", slice(4, 6), 1), "pair mentions"),
    (RAD_OOD, to("touches", slice(4, 6), 0), "pair mentions"),
    (CARETS, changed_word, "pair texts"),
    (CARETS, words_of_the_original, "pair texts"),
    (RAD, another_family, "pair texts, pairs"),
    (CARETS, changed_original, "pairs"),
    (RAD, another_original, "pairs"),
    (RAD, to("orig_idxs", -2, 450), "pairs"),
    (CARETS, to("orig_idxs", 1, 7), "pairs"),
    (CARETS, swapped_pair, "pairs"),
    (CARETS, to("role", slice(0, 2), [1, 0]), "pairs"),
    (CARETS, pair_twice, "pairs"),
    (CARETS, unbalanced_verified_values, "pair balance"),
    (CARETS, mention_in_program_and_words, "pair mentions"),
    (CARETS, mention_in_words, "pair mentions"),
    (CARETS, to("question_lengths", 1, 4), "pair programs"),
    (CARETS, image_without_questions, "pairs"),
    (CARETS, searched_pair_twice, "pairs"),
    (CARETS, to("orig_idxs", slice(0, 2), -1), "pairs"),
    (CARETS, value_offered_twice, "pair answers"),
    (CARETS, other_equivalent, "pair programs"),
    (CARETS, no_equivalent, "pair programs"),
    (CARETS, equivalent_beyond_clevr, "pair programs"),
    (HOLDOUT, control_that_completes, "pair foils"),
    (HOLDOUT, lost_pairs("crossing_shape", slice(1)), "pair foils"),
    (HOLDOUT, lost_pairs("control_shape", slice(-1, None)), "pair foils"),
    (HOLDOUT, lost_pairs("crossing_verify_shape", slice(-1, None)), "pair foils"),
    (HOLDOUT, lost_pairs("values_shape", slice(-1, None)), "pair foils"),
    (HOLDOUT, lost_pairs("values_color", slice(3, 4)), "pair foils"),
    (HOLDOUT, control_on_another_image, "pair foils"),
    (HOLDOUT, searched_original_twice, "pair foils"),
    (HOLDOUT, value_twice, "pair foils"),
    (HOLDOUT, pair_of_another_cell, "pair foils"),
    (HOLDOUT, answer_that_completes, "pair mentions"),
    (ADDED, swapped_turns, "added questions"),
    (ADDED, to("source_idxs", 10, 11), "added questions"),
    (ADDED, original_twice, "added questions"),
    (ADDED, other_words_of_the_train_set, "added questions"),
    (ADDED, other_answer_of_an_added_question, "pair programs, pair answers"),
    (ADDED, added_mention, "pair mentions"),
    (ADDED, added_question_of_another_test, "pairs"),
)
"""The file whose arrays are changed, the change, and the lines on which it must be found."""


def list_attribute(file: str, name: str, change: Callable[[list[str]], list[str]]) -> Plant:
    """A plant that changes a list in the attributes of a file."""

    def plant(data: SpoiltSuite) -> None:
        with h5py.File(data.path(f"{file}.h5")) as opened:
            values = [str(value) for value in opened.attrs[name]]
        data.attribute(f"{file}.h5", name, change(values))

    return plant


def other_numbers_of_words(data: SpoiltSuite) -> None:
    path = data.path(f"hops/{HOP}/suites/carets/vocab.json")
    vocab = json.loads(path.read_text())
    numbers = vocab["question_token_to_idx"]
    numbers["?!"] = numbers.pop("left")
    path.write_text(json.dumps(vocab))
    data.sign()


def original_in_json(rows: list[Row]) -> None:
    rows[10]["original_index"] += 1


def in_manifest(change: Callable[[Row], Any]) -> Plant:
    """A plant that changes what the manifest says of suites."""
    return lambda data: data.manifest(lambda raw: change(raw["suites"][HOP]))


def in_measured(change: Callable[[Row], Any]) -> tuple[Plant, str, str]:
    """A plant that changes the measurements of suites."""
    return lambda data: data.measured(MEASURED, lambda raw: change(raw["suites"])), MEASURED, "counts"


IN_OTHER_PLACES: tuple[tuple[Plant, str, str], ...] = (
    (unbalanced_values, f"{RAD}.h5", "pair balance"),
    (lambda data: data.attribute(f"{CARETS}.h5", "per_cell", 3), f"{CARETS}.h5", "pairs"),
    (lambda data: data.attribute(f"{HOLDOUT}.h5", "per_cell", 4), f"{HOLDOUT}.h5", "pairs"),
    (lambda data: data.attribute(f"{CARETS}.h5", "suite", "rad"), f"{CARETS}.h5", "pairs"),
    (lambda data: data.attribute(f"{CARETS}.h5", "n_originals", 449), f"{CARETS}.h5", "counts"),
    (list_attribute(CARETS, "tests", lambda tests: [*tests[1:], tests[0]]), f"{CARETS}.h5", "pairs"),
    (
        list_attribute(
            HOLDOUT_IID, "controls", lambda old: [name.replace("ing_shape", "ing_color") for name in old]
        ),
        *(f"{HOLDOUT_IID}.h5", "pairs"),
    ),
    (
        lambda data: data.change(f"{CARETS}.h5", put("cell", slice(0, 2), 3)),
        *(f"{CARETS}_questions.json", "pair files"),
    ),
    (
        lambda data: data.rows(lambda rows: rows[1].update(answer="metal"), CARETS),
        *(f"{CARETS}.h5", "pair files"),
    ),
    (
        lambda data: data.rows(lambda rows: rows.pop(), CARETS),
        *(f"{CARETS}_questions.json", "pair files"),
    ),
    (lambda data: data.rows(original_in_json, ADDED), f"{ADDED}_questions.json", "pair files"),
    (in_manifest(lambda suites: suites["rad"][IID].update(pairs=1000)), f"{RAD}.h5", "counts"),
    (in_manifest(lambda suites: suites.pop("rad")), f"{RAD}.h5", "counts"),
    (
        in_manifest(lambda suites: suites["rad"].update(val={"pairs": 1, "originals": 1})),
        *("manifest.json", "counts"),
    ),
    (other_numbers_of_words, f"hops/{HOP}/suites/carets/vocab.json", "pairs"),
    in_measured(lambda raw: raw["rad"][IID].update(pairs=9)),
    in_measured(lambda raw: raw["rad"][IID].update(originals=9)),
    in_measured(lambda raw: raw["rad"][IID]["tests"]["any"].update(relations=["same"])),
    in_measured(lambda raw: raw["carets"][IID]["tests"]["rephrase"]["cells"].update({"00": 1})),
    in_measured(lambda raw: raw["rad"][OOD]["tests"]["any"].update(partners_yes=1)),
    in_measured(lambda raw: raw["carets"][OOD]["tests"].pop("rephrase")),
    in_measured(lambda raw: raw.clear()),
    in_measured(lambda raw: raw.update(rat=raw["rad"])),
)
"""What plants a fault, the file that must be named, and the line on which it must be found."""


def find(data: SpoiltSuite, file: str, lines: str) -> None:
    """Looks where a fault is found: on these lines, each of which names the file."""
    found = failed(audit(data.root))
    for line in lines.split(", "):
        assert line in found, {name: str(each.faults[0]) for name, each in found.items()}
        assert file in {fault.file for fault in found[line].faults}, line
    # Questions of the dataset itself are as they were.
    assert found.keys() <= {*OF_SUITES, "counts"}


@pytest.mark.parametrize(("file", "spoil", "lines"), IN_ARRAYS)
def test_a_fault_in_arrays_is_found(file: str, spoil: Spoil, lines: str, data: SpoiltSuite) -> None:
    data.change(f"{file}.h5", partial(spoil, data))
    find(data, f"{file}.h5", lines)


@pytest.mark.parametrize(("plant", "file", "line"), IN_OTHER_PLACES)
def test_a_planted_fault_is_found(plant: Plant, file: str, line: str, data: SpoiltSuite) -> None:
    plant(data)
    find(data, file, line)


def test_each_key_of_a_row_is_compared_with_the_arrays(data: SpoiltSuite) -> None:
    others = {
        "split": "val",
        "question_index": 6,
        "template_index": 99,
        "suite": "rad",
        "pair_index": 7,
        "role": "original",
        "test": "synonyms",
        "tier": "in",
        "original_index": 3,
        "relation": "same",
        "value": "red",
    }
    data.rows(lambda rows: rows[1].update(others), CARETS)
    (line,) = failed(audit(data.root)).values()
    assert line.name == "pair files"
    assert {fault.file for fault in line.faults} == {f"{CARETS}_questions.json"}
    assert {fault.problem.partition(" is not ")[0] for fault in line.faults} == others.keys()
    assert line.n_faults == len(others)


def test_values_that_are_out_of_balance_fail_no_other_line(data: SpoiltSuite) -> None:
    unbalanced_values(data)
    (line,) = failed(audit(data.root)).values()
    assert line.name == "pair balance"
    (fault,) = line.faults
    assert " asks for " in fault.problem


def lines(folder: Path, **choices: Any) -> dict[str, Check]:
    report = audit(folder, **choices)
    assert report.ok, {name: str(each.faults[0]) for name, each in failed(report).items()}
    return {each.name: each for each in report.checks if each.name in OF_SUITES}


def number_searched(folder: Path) -> int:
    """The pairs of a folder's suites of which both questions were made."""
    files = [path for path in sorted(folder.glob("hops/*/suites/*/*.h5")) if "train" not in path.stem]
    both = [(read_table(path, PAIRS).orig_idxs.reshape(-1, 2) < 0).all(axis=1) for path in files]
    return int(sum(each.sum() for each in both))


def test_nothing_is_wrong_with_suites_as_they_were_made(paired: Path) -> None:
    found = lines(paired)
    assert {each.result for each in found.values()} == {"passed"}
    n_pairs = found["pairs"].n_checked
    manifest = json.loads((paired / "manifest.json").read_text())
    of_splits = [split for suite in manifest["suites"][HOP].values() for split in suite.values()]
    assert n_pairs == sum(split["pairs"] for split in of_splits) > 1000
    n_searched = number_searched(paired)
    assert found["pair answers"].n_checked == n_pairs > n_searched > 500
    assert found["pair texts"].n_checked == n_pairs + n_searched
    assert found["pair programs"].n_checked == 2 * n_pairs
    n_added = manifest["suites"][HOP]["rad"]["train_rad"]["pairs"]
    assert found["added questions"].n_checked == 66
    assert found["pair files"].n_checked == 2 * (n_pairs - n_added) + 66
    assert "carets fewer_more" in found["pair balance"].note


def test_without_suites_nothing_is_checked(clean: Path) -> None:
    found = lines(clean)
    assert {(each.result, each.note) for each in found.values()} == {
        ("not done", "this folder has no suites of paired tests")
    }


def test_suites_of_other_kinds_of_folders(tmp_path: Path) -> None:
    implied = with_suites(tmp_path / "implied", hops=(HOP, "none"), strictness="implied")
    palette = with_suites(tmp_path / "palette", hops=("cyan_cylinder",), limits=Limits((4,)))
    for folder in (implied, palette):
        assert {each.result for each in lines(folder).values()} == {"passed"}
        for suite in ("carets", "rad", "holdout"):
            make_suite(folder, suite, origin="search", per_cell=20)
        assert {each.result for each in lines(folder).values()} == {"passed"}


def test_a_file_that_cannot_be_read_leaves_out_its_pairs_alone(data: SpoiltSuite) -> None:
    whole = {each.name: each for each in audit(data.root).checks}
    path = data.path(f"{RAD}.h5")
    path.write_bytes(path.read_bytes()[:1000])
    found = {each.name: each for each in audit(data.root).checks}
    assert list(found) == list(whole)
    for name in OF_SUITES:
        assert found[name].result == "in part"
        # The suite has no tests with foils of that kind, and its train set can be read.
        same = name in ("pair foils", "added questions")
        assert 0 < found[name].n_checked <= whole[name].n_checked - (not same)
    assert found["text"].result == "passed"
    assert found["text"].n_checked == whole["text"].n_checked


OWN = {
    "test": "some",
    "tier": "beyond",
    "source": ["single_or"],
    "then": [{"type": "exist", "inputs": ["asked"]}],
    "text": ["Is it true that {X} exist?"],
    "relation": "positive",
}


def test_texts_of_an_own_suite_are_read_where_its_files_are_given(tmp_path: Path) -> None:
    own = tmp_path / "templates"
    shutil.copytree(assets.question_templates(), own, ignore=shutil.ignore_patterns("suites"))
    (own / "suites" / "mine").mkdir(parents=True)
    (own / "suites" / "mine" / "tests.json").write_text(json.dumps([OWN]))
    shutil.copy(assets.question_templates() / "suites" / "rad" / "subjects.json", own / "suites" / "mine")
    out = with_suites(tmp_path / "out")
    (split, *_) = make_suite(out, "mine", suite_files=own / "suites" / "mine")
    assert split.n_pairs >= 2
    checks = lines(out)
    assert "mine: not checked without its files" in checks["pair balance"].note
    note = checks["pair texts"].note
    assert note.endswith(" that are not the package's; give their folder with --templates")
    n_texts = lines(out)["pairs"].n_checked + number_searched(out)
    alone = shutil.copytree(own / "suites" / "mine", tmp_path / "elsewhere")
    for folder in (own, own / "suites" / "mine", alone):
        whole = lines(out, templates=folder)["pair texts"]
        assert whole.note == ""
        assert whole.n_checked == n_texts
    assert make_suite(out, "mine", suite_files=own) == make_suite(out, "mine", suite_files=Path(alone))
    (alone / "tests.json").write_text(json.dumps([{**OWN, "tier": "in"}]))
    with pytest.raises(TemplateError, match="elsewhere does not have the files of a suite as it was made"):
        audit(out, templates=Path(alone))
