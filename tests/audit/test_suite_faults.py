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
from spoiling import SUITES, Arrays, Change, Row, Spoilt, failed, put

from clevrhope.audit import Check, audit
from clevrhope.config.presets import PRESETS
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import read_manifest
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.describe.measured import suites_json
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
    """A folder with suites that may be written to."""

    def file(self, suite: str, split: str = IID) -> str:
        return f"hops/{HOP}/suites/{suite}/{split}.h5"

    def pairs(self, change: Change, suite: str, split: str = IID) -> None:
        """Changes the arrays of a suite's pairs."""
        self.change(self.file(suite, split), change)

    def test(self, name: str, suite: str) -> int:
        with h5py.File(self.path(self.file(suite))) as file:
            return list(file.attrs["tests"]).index(name)

    def rows(self, change: Callable[[list[Row]], None], suite: str) -> None:
        self._rows(self.file(suite).replace(".h5", "_questions.json"), "questions", change)

    def measure(self) -> None:
        """Makes measured.json say what the files hold."""
        layout = Layout(self.root)
        manifest = read_manifest(layout.manifest)
        assert manifest is not None
        suites = suites_json(measure_suites(layout, manifest, HOP))
        self.measured(MEASURED, lambda raw: raw.update(suites=suites))

    def function(self, name: str) -> int:
        path = self.path(f"hops/{HOP}/suites/carets/vocab.json")
        return int(json.loads(path.read_text())["program_token_to_idx"][name])

    def answer(self, name: str) -> int:
        return self.vocab["answer_token_to_idx"][name]


Plant = Callable[[SpoiltSuite], Any]
Spoil = Callable[[SpoiltSuite, Arrays], None]


def in_pairs(change: Change, suite: str, split: str = IID) -> Plant:
    """A plant that changes the arrays of a suite's pairs."""
    return lambda data: data.pairs(change, suite, split)


def spoils_pairs(suite: str, split: str = IID) -> Callable[[Spoil], Plant]:
    """Makes a plant of a function that changes the arrays of a suite's pairs."""
    return lambda spoil: lambda data: data.pairs(partial(spoil, data), suite, split)


def made_rows(arrays: Arrays) -> Any:
    return np.flatnonzero(arrays["orig_idxs"] < 0)


@spoils_pairs("carets")
def wrong_answer(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["answers"][made_rows(arrays)[0]] = data.answer("metal")


def first_of(arrays: Arrays, test: int) -> int:
    """The row at which the first pair of a test begins."""
    return int(np.flatnonzero(arrays["test"] == test)[0])


@spoils_pairs("carets")
def wrong_relation(data: SpoiltSuite, arrays: Arrays) -> None:
    """The same answer is said to be exchanged."""
    row = first_of(arrays, data.test("rephrase", "carets"))
    arrays["relation"][row : row + 2] = 1


@spoils_pairs("carets")
def relation_of_another_test(data: SpoiltSuite, arrays: Arrays) -> None:
    """Yes and no are exchanged, and the original is answered no: `is yes` would hold as well."""
    row = 2 * int(np.flatnonzero(arrays["relation"][::2] == 1)[0])
    arrays["relation"][row : row + 2], arrays["value"][row : row + 2] = 2, data.answer("blue")
    arrays["answers"][row : row + 2] = data.answer("no")


@spoils_pairs("rad")
def value_that_nobody_asks_for(data: SpoiltSuite, arrays: Arrays) -> None:
    no = (arrays["answers"][1::2] == data.answer("no")) & (arrays["relation"][::2] == 2)
    k = int(np.flatnonzero(no & (arrays["test"][::2] == data.test("is_there_color", "rad")))[0])
    others = {data.answer(name) for name in ("red", "blue", "cyan")}
    others -= {int(arrays["value"][2 * k]), int(arrays["answers"][2 * k])}
    arrays["value"][2 * k : 2 * k + 2] = min(others)


@spoils_pairs("carets")
def changed_word(data: SpoiltSuite, arrays: Arrays) -> None:
    """A made question says blue in place of red; its program stays."""
    made = made_rows(arrays)
    words = arrays["questions"][made]
    k, place = np.argwhere(words == data.word("red"))[0]
    arrays["questions"][made[k], place] = data.word("blue")


@spoils_pairs("carets")
def words_of_the_original(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["questions"][1], arrays["question_lengths"][1] = (
        arrays["questions"][0],
        arrays["question_lengths"][0],
    )


@spoils_pairs("rad")
def another_family(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["question_families"][made_rows(arrays)[0]] = 89


@spoils_pairs("carets")
def changed_original(data: SpoiltSuite, arrays: Arrays) -> None:
    """The words of an original are not those of its row in the split's file."""
    row = next(k for k in range(0, len(arrays["questions"]), 2) if arrays["orig_idxs"][k] >= 0)
    arrays["questions"][row, 1] = arrays["questions"][row, 2]


@spoils_pairs("rad")
def another_original(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["orig_idxs"][-2] += 1


def swap(arrays: Arrays, row: int) -> None:
    """Exchanges the questions of the pair that begins at a row; what makes them a pair stays."""
    stays = {"pair_idxs", "role", "test", "tier", "touches", "relation", "value", "cell"}
    for name in arrays.keys() - stays:
        arrays[name][[row, row + 1]] = arrays[name][[row + 1, row]]


def swapped_pair(data: SpoiltSuite) -> None:
    """Rephrasing is symmetric, but there the split's question is always the original."""
    test = data.test("rephrase", "carets")
    data.pairs(lambda arrays: swap(arrays, first_of(arrays, test)), "carets")


@spoils_pairs("carets")
def pair_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    for values in arrays.values():
        values[2:4] = values[0:2]
    arrays["pair_idxs"][2:4] = 1


def unbalanced_values(data: SpoiltSuite) -> None:
    """A pair whose value is asked for with no is lost, in both files and all numbers."""

    def lost(arrays: Arrays) -> int:
        asks = arrays["relation"] == 2
        return 2 * int(np.flatnonzero(asks[::2] & (arrays["answers"][1::2] == data.answer("no")))[0])

    row = -1

    def change(arrays: Arrays) -> None:
        nonlocal row
        row = lost(arrays)
        for name in arrays:
            arrays[name] = np.delete(arrays[name], [row, row + 1], axis=0)
        arrays["pair_idxs"] = np.repeat(np.arange(len(arrays["role"]) // 2, dtype=np.int32), 2)

    def leave_out(rows: list[Row]) -> None:
        del rows[row : row + 2]
        for k, each in enumerate(rows):
            each["question_index"], each["pair_index"] = k, k // 2

    data.pairs(change, "rad")
    data.rows(leave_out, "rad")

    def count(raw: Row) -> None:
        raw["suites"][HOP]["rad"][IID]["pairs"] -= 1

    data.manifest(count)
    data.measure()


def mention_in_program_and_words(data: SpoiltSuite) -> None:
    """A metal cylinder of a made question becomes a rubber one, in a split that never asks for one."""
    functions = data.vocab["program_token_to_idx"]

    def change(arrays: Arrays) -> None:
        programs, questions = arrays["programs"], arrays["questions"]
        metal, cylinder = (functions[f"filter_{name}"] for name in ("material[metal]", "shape[cylinder]"))
        made = made_rows(arrays)
        beside = (programs[made, :-1] == cylinder) & (programs[made, 1:] == metal)
        k, place = np.argwhere(beside)[0]
        row = int(made[k])
        programs[row, place + 1] = functions["filter_material[rubber]"]
        for word in ("metal", "metallic", "shiny"):
            questions[row, questions[row] == data.word(word)] = data.word("rubber")

    data.pairs(change, "carets")


@spoils_pairs("carets")
def mention_in_words(data: SpoiltSuite, arrays: Arrays) -> None:
    """A made question asks for a shiny cylinder; its words are changed alone."""
    made = made_rows(arrays)
    words = arrays["questions"][made]
    shiny = np.isin(words[:, :-1], [data.word("shiny"), data.word("metal"), data.word("metallic")])
    beside = shiny & np.isin(words[:, 1:], [data.word("cylinder"), data.word("cylinders")])
    k, place = np.argwhere(beside)[0]
    arrays["questions"][made[k], place] = data.word("matte")


def searched(data: SpoiltSuite, arrays: Arrays, test: str) -> int:
    """The row at which the first pair of a test begins whose original was searched for."""
    mine = (arrays["test"] == data.test(test, "carets")).reshape(-1, 2)[:, 0]
    return 2 * int(np.flatnonzero(mine & (arrays["orig_idxs"].reshape(-1, 2) < 0).all(axis=1))[0])


@spoils_pairs("carets")
def image_without_questions(data: SpoiltSuite, arrays: Arrays) -> None:
    """A searched question is about another image of the pool, about which the split has no question."""
    row = searched(data, arrays, "order_and")
    arrays["image_idxs"][row : row + 2] = arrays["image_idxs"].max() + 1


@spoils_pairs("carets")
def searched_pair_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    row = searched(data, arrays, "order_or")
    for name, values in arrays.items():
        if name not in ("pair_idxs", "role"):
            # The other way round it is the same pair.
            values[row + 2 : row + 4] = values[row : row + 2][::-1]


@spoils_pairs("carets")
def value_offered_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    """A choice offers its answer twice, in program and words."""
    row = searched(data, arrays, "order_choice2_material")
    offers = [data.function(f"offer_material[{name}]") for name in ("rubber", "metal")]
    answer = [data.answer("rubber"), data.answer("metal")].index(int(arrays["answers"][row]))
    program, words = arrays["programs"][row], arrays["questions"][row]
    program[np.isin(program, offers)] = offers[answer]
    last = np.flatnonzero(np.isin(words, [data.word("rubber"), data.word("metal")]))[-2:]
    words[last] = data.word(("rubber", "metal")[answer])


@spoils_pairs("carets")
def other_equivalent(data: SpoiltSuite, arrays: Arrays) -> None:
    """The equivalent in CLEVR's functions of a program that verifies a material asks for the other one."""
    row = searched(data, arrays, "rephrase_verify_material")
    functions = data.vocab["program_token_to_idx"]
    rubber, metal = (functions[f"filter_material[{name}]"] for name in ("rubber", "metal"))
    program = arrays["clevr_programs"][row]
    first = int(np.flatnonzero(np.isin(program, [rubber, metal]))[0])
    program[first] = rubber + metal - program[first]


@spoils_pairs("carets")
def no_equivalent(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["clevr_programs"][searched(data, arrays, "rephrase_or")] = 0


@spoils_pairs("carets")
def equivalent_beyond_clevr(data: SpoiltSuite, arrays: Arrays) -> None:
    row = searched(data, arrays, "rephrase_verify_color")
    width = arrays["programs"].shape[1]
    arrays["clevr_programs"][row, :width] = arrays["programs"][row]


def another_test_name(data: SpoiltSuite) -> None:
    with h5py.File(data.path(data.file("carets"))) as file:
        tests = list(file.attrs["tests"])
    data.attribute(f"{CARETS}.h5", "tests", [*tests[1:], tests[0]])


def other_numbers_of_words(data: SpoiltSuite) -> None:
    path = data.path(f"hops/{HOP}/suites/carets/vocab.json")
    vocab = json.loads(path.read_text())
    numbers = vocab["question_token_to_idx"]
    numbers["?!"] = numbers.pop("left")
    path.write_text(json.dumps(vocab))
    data.sign()


def holdout_pairs(arrays: Arrays, data: SpoiltSuite, test: str) -> Any:
    """The pairs of a test of `holdout`."""
    return np.flatnonzero(arrays["test"][::2] == data.test(test, "holdout"))


def without_pairs(arrays: Arrays, pairs: Any) -> None:
    """Leaves out pairs; the rest is numbered anew."""
    for name, values in arrays.items():
        arrays[name] = np.delete(values.reshape(-1, 2, *values.shape[1:]), pairs, axis=0).reshape(
            -1, *values.shape[1:]
        )
    arrays["pair_idxs"] = np.repeat(np.arange(len(arrays["pair_idxs"]) // 2, dtype=np.int32), 2)


def list_fewer(data: SpoiltSuite, n: int) -> None:
    data.manifest(lambda raw: raw["suites"][HOP]["holdout"][OOD].update(pairs=n))


def lost_pairs(test: str, some: slice) -> Plant:
    """Some pairs of a test of `holdout` are lost."""

    def plant(data: SpoiltSuite) -> None:
        def change(arrays: Arrays) -> None:
            without_pairs(arrays, holdout_pairs(arrays, data, test)[some])
            list_fewer(data, len(arrays["role"]) // 2)

        data.pairs(change, "holdout", OOD)

    return plant


@spoils_pairs("carets")
def unbalanced_verified_values(data: SpoiltSuite, arrays: Arrays) -> None:
    """A question whether a thing has a shape is lost, and so is the answer that made its value balanced."""
    without_pairs(arrays, np.asarray([searched(data, arrays, "rephrase_verify_shape") // 2]))


@spoils_pairs("holdout", OOD)
def control_that_completes(data: SpoiltSuite, arrays: Arrays) -> None:
    """The crossings are called controls."""
    crossings = holdout_pairs(arrays, data, "crossing_shape")
    controls = holdout_pairs(arrays, data, "control_shape")
    rows = [np.sort(np.concatenate([2 * each, 2 * each + 1])) for each in (crossings, controls)]
    for name, values in arrays.items():
        if name not in ("test", "pair_idxs", "role"):
            values[rows[0]], values[rows[1]] = values[rows[1]].copy(), values[rows[0]].copy()


@spoils_pairs("holdout", OOD)
def control_on_another_image(data: SpoiltSuite, arrays: Arrays) -> None:
    row = 2 * int(holdout_pairs(arrays, data, "control_shape")[-1])
    images = arrays["image_idxs"]
    images[row : row + 2] = images[images != images[row]][0]


@spoils_pairs("holdout", OOD)
def searched_original_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    row = 2 * int(holdout_pairs(arrays, data, "crossing_shape")[-1])
    for name, values in arrays.items():
        if name not in ("pair_idxs", "role"):
            values[row : row + 2] = values[row - 2 : row]


@spoils_pairs("holdout", OOD)
def value_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    """A partner of a group stands in the place of another one."""
    first = holdout_pairs(arrays, data, "values_material")[0]
    for name, values in arrays.items():
        if name not in ("pair_idxs", "role"):
            values[2 * first : 2 * first + 2] = values[2 * first + 2 : 2 * first + 4]


@spoils_pairs("holdout", OOD)
def pair_of_another_cell(data: SpoiltSuite, arrays: Arrays) -> None:
    first = holdout_pairs(arrays, data, "entailment_shape")[0]
    arrays["cell"][2 * first : 2 * first + 2] = 3


@spoils_pairs("holdout", OOD)
def answer_that_completes(data: SpoiltSuite, arrays: Arrays) -> None:
    """An answer is not said to complete the pair, in a question that mentions it of another object."""
    arrays["touches"] &= 1


def control_of_another_test(data: SpoiltSuite) -> None:
    path = data.path(data.file("holdout"))
    with h5py.File(path, "r+") as file:
        controls = list(file.attrs["controls"])
        controls[controls.index("crossing_shape")] = "crossing_color"
        file.attrs["controls"] = controls
    data.sign()


TRAIN_FILE = f"hops/{HOP}/suites/rad/train_rad"


def added(data: SpoiltSuite, change: Change) -> None:
    """Changes the arrays of a train set with questions of a suite; every 11th row is one of these."""
    data.change(f"{TRAIN_FILE}.h5", change)


def in_added(change: Change) -> Plant:
    """A plant that changes the arrays of this train set."""
    return lambda data: added(data, change)


def spoils_added(spoil: Spoil) -> Plant:
    """Makes a plant of a function that changes the arrays of this train set."""
    return lambda data: added(data, partial(spoil, data))


@spoils_added
def swapped_turns(data: SpoiltSuite, arrays: Arrays) -> None:
    for values in arrays.values():
        values[[9, 10]] = values[[10, 9]]


@spoils_added
def original_twice(data: SpoiltSuite, arrays: Arrays) -> None:
    """Two added questions are the same, of one test and original."""
    for values in arrays.values():
        values[21] = values[10]
    arrays["orig_idxs"][21] = 21


def other_words_of_the_train_set(data: SpoiltSuite) -> None:
    added(data, lambda arrays: arrays["questions"].__setitem__((3, 1), arrays["questions"][3, 1] + 1))


def other_answer_of_an_added_question(data: SpoiltSuite) -> None:
    added(data, lambda arrays: arrays["answers"].__setitem__(10, data.answer("metal")))


def added_mention(data: SpoiltSuite) -> None:
    """The words and the program of an added question are those of one that mentions the held-out pair."""
    with h5py.File(data.path(f"hops/{HOP}/{OOD}.h5")) as file:
        source = {name: file[name][0] for name in ("questions", "programs")}

    def change(arrays: Arrays) -> None:
        for name, row in source.items():
            arrays[name][10] = 0
            arrays[name][10, : len(row)] = row

    added(data, change)


def added_question_of_another_test(data: SpoiltSuite) -> None:
    added(data, lambda arrays: arrays["test"].__setitem__(10, (arrays["test"][10] + 1) % 5))


def original_of_an_added_question_in_json(data: SpoiltSuite) -> None:
    def change(rows: list[Row]) -> None:
        rows[10]["original_index"] += 1

    data._rows(f"{TRAIN_FILE}_questions.json", "questions", change)


HOLDOUT = f"hops/{HOP}/suites/holdout/{OOD}"
CARETS, RAD = (f"hops/{HOP}/suites/{suite}/{IID}" for suite in ("carets", "rad"))


def in_manifest(change: Callable[[Row], Any]) -> Plant:
    """A plant that changes what the manifest says of suites."""
    return lambda data: data.manifest(lambda raw: change(raw["suites"][HOP]))


def in_measured(change: Callable[[Row], Any]) -> Plant:
    """A plant that changes the measurements of suites."""
    return lambda data: data.measured(MEASURED, lambda raw: change(raw["suites"]))


MEASUREMENTS: dict[str, Plant] = {
    "pairs": in_measured(lambda raw: raw["rad"][IID].update(pairs=9)),
    "originals": in_measured(lambda raw: raw["rad"][IID].update(originals=9)),
    "relation": in_measured(lambda raw: raw["rad"][IID]["tests"]["any"].update(relations=["same"])),
    "cell": in_measured(lambda raw: raw["carets"][IID]["tests"]["rephrase"]["cells"].update({"00": 1})),
    "share": in_measured(lambda raw: raw["rad"][OOD]["tests"]["any"].update(partners_yes=1)),
    "no test": in_measured(lambda raw: raw["carets"][OOD]["tests"].pop("rephrase")),
    "no suites": in_measured(lambda raw: raw.clear()),
    "unknown suite": in_measured(lambda raw: raw.update(rat=raw["rad"])),
}

FAULTS: dict[str, tuple[Plant, dict[str, str]]] = {
    "wrong_answer": (
        wrong_answer,
        {"pair programs": f"{CARETS}.h5", "pair answers": f"{CARETS}.h5", "pair files": f"{CARETS}.h5"},
    ),
    "wrong_relation": (wrong_relation, {"pair answers": f"{CARETS}.h5"}),
    "relation_of_another_test": (relation_of_another_test, {"pairs": f"{CARETS}.h5"}),
    "value_that_nobody_asks_for": (
        value_that_nobody_asks_for,
        {"pair answers": f"{RAD}.h5", "pair balance": f"{RAD}.h5"},
    ),
    "wrong_cell": (
        in_pairs(put("cell", slice(0, 2), 3), "carets"),
        {"pair mentions": f"{CARETS}.h5", "pair files": f"{CARETS}_questions.json"},
    ),
    "wrong_touches": (in_pairs(put("touches", slice(4, 6), 1), "rad"), {"pair mentions": f"{RAD}.h5"}),
    "not_shown": (
        in_pairs(put("touches", slice(4, 6), 0), "rad", OOD),
        {"pair mentions": f"{RAD.replace(IID, OOD)}.h5"},
    ),
    "changed_word": (changed_word, {"pair texts": f"{CARETS}.h5"}),
    "words_of_the_original": (words_of_the_original, {"pair texts": f"{CARETS}.h5"}),
    "another_family": (another_family, {"pair texts": f"{RAD}.h5", "pairs": f"{RAD}.h5"}),
    "changed_original": (changed_original, {"pairs": f"{CARETS}.h5"}),
    "another_original": (another_original, {"pairs": f"{RAD}.h5"}),
    "foreign_original": (in_pairs(put("orig_idxs", -2, 450), "rad"), {"pairs": f"{RAD}.h5"}),
    "made_question_with_an_original": (in_pairs(put("orig_idxs", 1, 7), "carets"), {"pairs": f"{CARETS}.h5"}),
    "swapped_pair": (swapped_pair, {"pairs": f"{CARETS}.h5"}),
    "exchanged_roles": (in_pairs(put("role", slice(0, 2), [1, 0]), "carets"), {"pairs": f"{CARETS}.h5"}),
    "pair_twice": (pair_twice, {"pairs": f"{CARETS}.h5"}),
    "unbalanced_values": (unbalanced_values, {"pair balance": f"{RAD}.h5"}),
    "unbalanced_verified_values": (unbalanced_verified_values, {"pair balance": f"{CARETS}.h5"}),
    "mention_in_program_and_words": (mention_in_program_and_words, {"pair mentions": f"{CARETS}.h5"}),
    "mention_in_words": (mention_in_words, {"pair mentions": f"{CARETS}.h5"}),
    "another_length": (in_pairs(put("question_lengths", 1, 4), "carets"), {"pair programs": f"{CARETS}.h5"}),
    "image_without_questions": (image_without_questions, {"pairs": f"{CARETS}.h5"}),
    "searched_pair_twice": (searched_pair_twice, {"pairs": f"{CARETS}.h5"}),
    "question_of_the_split_said_to_be_searched": (
        in_pairs(put("orig_idxs", slice(0, 2), -1), "carets"),
        {"pairs": f"{CARETS}.h5"},
    ),
    "smaller_quota": (lambda data: data.attribute(f"{CARETS}.h5", "per_cell", 3), {"pairs": f"{CARETS}.h5"}),
    "value_offered_twice": (value_offered_twice, {"pair answers": f"{CARETS}.h5"}),
    "other_equivalent": (other_equivalent, {"pair programs": f"{CARETS}.h5"}),
    "no_equivalent": (no_equivalent, {"pair programs": f"{CARETS}.h5"}),
    "equivalent_beyond_clevr": (equivalent_beyond_clevr, {"pair programs": f"{CARETS}.h5"}),
    "other_answer_in_json": (
        lambda data: data.rows(lambda rows: rows[1].update(answer="metal"), "carets"),
        {"pair files": f"{CARETS}.h5"},
    ),
    "lost_row_in_json": (
        lambda data: data.rows(lambda rows: rows.pop(), "carets"),
        {"pair files": f"{CARETS}_questions.json"},
    ),
    "another_suite": (lambda data: data.attribute(f"{CARETS}.h5", "suite", "rad"), {"pairs": f"{CARETS}.h5"}),
    "another_test_name": (another_test_name, {"pairs": f"{CARETS}.h5"}),
    "other_number_of_originals": (
        lambda data: data.attribute(f"{CARETS}.h5", "n_originals", 449),
        {"counts": f"{CARETS}.h5"},
    ),
    "other_number_in_the_manifest": (
        in_manifest(lambda suites: suites["rad"][IID].update(pairs=1000)),
        {"counts": f"{RAD}.h5"},
    ),
    "suite_that_the_manifest_lacks": (in_manifest(lambda suites: suites.pop("rad")), {"counts": f"{RAD}.h5"}),
    "suite_of_no_split": (
        in_manifest(lambda suites: suites["rad"].update(val={"pairs": 1, "originals": 1})),
        {"counts": "manifest.json"},
    ),
    "control_that_completes": (control_that_completes, {"pair foils": f"{HOLDOUT}.h5"}),
    "lost_pairs_of_crossing_shape": (lost_pairs("crossing_shape", slice(1)), {"pair foils": f"{HOLDOUT}.h5"}),
    "lost_pairs_of_control_shape": (
        lost_pairs("control_shape", slice(-1, None)),
        {"pair foils": f"{HOLDOUT}.h5"},
    ),
    "lost_pairs_of_crossing_verify_shape": (
        lost_pairs("crossing_verify_shape", slice(-1, None)),
        {"pair foils": f"{HOLDOUT}.h5"},
    ),
    "control_on_another_image": (control_on_another_image, {"pair foils": f"{HOLDOUT}.h5"}),
    "searched_original_twice": (searched_original_twice, {"pair foils": f"{HOLDOUT}.h5"}),
    "lost_pairs_of_values_shape": (
        lost_pairs("values_shape", slice(-1, None)),
        {"pair foils": f"{HOLDOUT}.h5"},
    ),
    "smaller_quota_of_groups": (
        lambda data: data.attribute(f"{HOLDOUT}.h5", "per_cell", 4),
        {"pairs": f"{HOLDOUT}.h5"},
    ),
    "lost_pairs_of_values_color": (lost_pairs("values_color", slice(3, 4)), {"pair foils": f"{HOLDOUT}.h5"}),
    "value_twice": (value_twice, {"pair foils": f"{HOLDOUT}.h5"}),
    "pair_of_another_cell": (pair_of_another_cell, {"pair foils": f"{HOLDOUT}.h5"}),
    "answer_that_completes": (answer_that_completes, {"pair mentions": f"{HOLDOUT}.h5"}),
    "control_of_another_test": (control_of_another_test, {"pairs": f"{HOLDOUT.replace(OOD, IID)}.h5"}),
    "swapped_turns": (swapped_turns, {"added questions": f"{TRAIN_FILE}.h5"}),
    "later_original": (in_added(put("source_idxs", 10, 11)), {"added questions": f"{TRAIN_FILE}.h5"}),
    "original_twice": (original_twice, {"added questions": f"{TRAIN_FILE}.h5"}),
    "other_words_of_the_train_set": (other_words_of_the_train_set, {"added questions": f"{TRAIN_FILE}.h5"}),
    "other_answer_of_an_added_question": (
        other_answer_of_an_added_question,
        {"pair programs": f"{TRAIN_FILE}.h5", "pair answers": f"{TRAIN_FILE}.h5"},
    ),
    "added_mention": (added_mention, {"pair mentions": f"{TRAIN_FILE}.h5"}),
    "added_question_of_another_test": (added_question_of_another_test, {"pairs": f"{TRAIN_FILE}.h5"}),
    "original_of_an_added_question_in_json": (
        original_of_an_added_question_in_json,
        {"pair files": f"{TRAIN_FILE}_questions.json"},
    ),
    "other_numbers_of_words": (other_numbers_of_words, {"pairs": f"hops/{HOP}/suites/carets/vocab.json"}),
    **{f"measured {name}": (plant, {"counts": MEASURED}) for name, plant in MEASUREMENTS.items()},
}
"""Fault -> what plants it, and the lines on which it must be found, each with the file that it names."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_on_its_lines(fault: str, data: SpoiltSuite) -> None:
    plant, wanted = FAULTS[fault]
    plant(data)
    found = failed(audit(data.root))
    assert wanted.keys() <= found.keys(), {name: str(each.faults[0]) for name, each in found.items()}
    for line, file in wanted.items():
        assert file in {fault.file for fault in found[line].faults}, line
    # Questions of the dataset itself are as they were.
    assert found.keys() <= {*OF_SUITES, "counts"}


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
    data.rows(lambda rows: rows[1].update(others), "carets")
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
    path = data.path(data.file("rad"))
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
