"""Paraphrases that people wrote: read, stored with their own words, audited, asked, scored, exported."""

import csv
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import SET_SIZES, Cli, build_demo, tree
from suite_folders import HOP

import clevrhope
from clevrhope.audit import audit
from clevrhope.browse.folder import SiteFolder, SplitKey
from clevrhope.browse.models import Models
from clevrhope.browse.views import Views
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.question_kinds import PAIRS, SETS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError
from clevrhope.metrics.results import Part
from clevrhope.metrics.suites import score_suite
from clevrhope.pipeline.paraphrases import make_paraphrases
from clevrhope.pipeline.suites import make_suite
from wording import check_words, refused

SPLIT = "complex_iid"

PEOPLE: Mapping[int, str] = {
    0: "Is there a little green metal object shaped like the big yellow rubber one?",
    1: "Count the spheres that are yellow things or little brown rubber things.",
    2: "What's the red cube behind the gray matte block made of?",
    3: "Are there as many cubes behind the yellow block as there are tiny green objects?",
    4: "Look at the big shiny object. Does it have the color of the large matte cube at the back?",
    5: "does anything else have the large metal object's color",
    6: "There's a red object the size of the cyan ball: what shape is it?",
    7: "Are there more big metallic blocks than large gray matte objects?",
    8: "Name the material of the yellow cube that's as big as the metallic thing!",
    9: "The tiny thing between the blue sphere (on its left) and the shiny block - which shape is it?",
    11: "How many blue blocks do you see in front of the yellow sphere, left of the large metal cylinder?",
    12: "Which color has the tiny shiny ball in front of the metal one?",
    13: "Does the small yellow object have any metallic balls on the right side of it?",
    15: "To the right of that metallic ball, can you see small blue metal cubes?",
    16: "Does some other thing have the yellow object\u2019s shape?",
    17: "Apart from the red object, how many things are just as large… or small?",
    19: "Can you see a small purple cube?",
    21: "Which colour is the other large thing made of what the purple object is made of?",
    26: "Left of the matte cube there is a ball — what color?",
    30: "Is the number of brown matte cubes greater than that of yellow metallic cylinders?",
}
"""What somebody wrote in place of twenty questions; 13 and 30 are in words of templates."""


def lines(texts: Mapping[int, str], split: str = SPLIT, **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"{HOP}/{split}/{row}", "text": text, **more} for row, text in texts.items()]


def written(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def table(folder: Path, suite: str = "people", split: str = SPLIT) -> QuestionTable:
    layout = Layout(folder)
    vocab = read_vocab(layout.suite_vocab(HOP, suite))
    return read_table(layout.suite_h5(HOP, suite, split), PAIRS, vocab=vocab)


def faults(folder: Path) -> dict[str, list[str]]:
    """The faults of each line of the audit that failed."""
    return {
        check.name: [fault.problem for fault in check.faults]
        for check in audit(folder).checks
        if check.faults
    }


@pytest.fixture
def people(plain_copy: Path, tmp_path: Path) -> Path:
    """A dataset with a suite of the twenty texts."""
    make_paraphrases(plain_copy, "people", [written(tmp_path / "people.jsonl", lines(PEOPLE))])
    return plain_copy


def test_pairs_have_the_words_of_people_and_all_else_of_the_questions(people: Path) -> None:
    pairs = table(people).load()
    own = read_table(Layout(people).questions_h5(HOP, SPLIT)).take(np.repeat([*PEOPLE], 2))
    assert pairs.orig_idxs.tolist() == [row for each in PEOPLE for row in (each, -1)]
    for name in ("programs", "answers", "image_idxs", "question_families", "program_lengths"):
        np.testing.assert_array_equal(getattr(pairs, name), getattr(own, name))
    assert [*pairs.sentences()[1::2]] == [*PEOPLE.values()]
    rows = json.loads(Layout(people).suite_json(HOP, "people", SPLIT).read_text())["questions"]
    assert [row["question"] for row in rows] == [*pairs.sentences()]
    assert {pairs.tests, pairs.types, pairs.files} == {("paraphrase",), ("",), ("people.jsonl",)}
    new = {"What's", "—", "colour", "object\u2019s", "large…"}
    assert new <= read_vocab(Layout(people).suite_vocab(HOP, "people")).question_token_to_idx.keys()


def test_an_audit_passes_and_says_how_many_texts_it_could_not_read(people: Path) -> None:
    report = audit(people)
    assert report.ok
    (check,) = [check for check in report.checks if check.name == "pair texts"]
    assert check.n_checked == len(PEOPLE)
    check_words(check.note)


@pytest.mark.parametrize(
    ("row", "text", "line", "problem"),
    [
        (
            7,
            "Is the number of large metal cubes less than that of big gray rubber objects?",
            "pair texts",
            "by the templates, it asks something else than its question",
        ),
        (
            25,
            "Count the matte cylinders of the large block's color.",
            "pair mentions",
            "mentions rubber cylinder in its words",
        ),
        (
            10,
            "Is a cylinder, or whatever else, as big as the purple rubber block?",
            "pair texts",
            "names rubber cylinder, which its question does not",
        ),
    ],
    ids=["other meaning", "held-out pair", "held-out pair apart"],
)
def test_an_audit_finds_a_wrong_meaning_and_a_leak(
    row: int, text: str, line: str, problem: str, plain_copy: Path, tmp_path: Path
) -> None:
    file = written(tmp_path / "people.jsonl", lines(dict(sorted({**PEOPLE, row: text}.items()))))
    make_paraphrases(plain_copy, "people", [file])
    found = faults(plain_copy)
    assert problem in found[line]
    assert found.keys() <= {"pair texts", line}


def test_an_audit_finds_spoiled_texts(people: Path) -> None:
    import h5py

    path = Layout(people).suite_h5(HOP, "people", SPLIT)
    loud = table(people).sentences()[12].upper().encode()
    with h5py.File(path, "r+") as file:
        texts, questions = file["texts"][:], file["questions"][:]
        texts[1, :2] = list(b"At")
        texts[13] = [*loud, *bytes(texts.shape[1] - len(loud))]
        questions[5], questions[7] = questions[4], questions[9]
        file["texts"][:], file["questions"][:] = texts, questions
    found = faults(people)
    assert found["pair texts"].count("its tokens are not those of its text") == 4
    assert found["pair texts"].count("it is worded exactly like its original") == 2


@pytest.mark.parametrize("kind", ["jsonl", "csv", "bom"])
def test_files_of_both_forms_give_the_same_pairs(kind: str, plain_copy: Path, tmp_path: Path) -> None:
    rows, path = lines(PEOPLE, source="Ada"), tmp_path / ("texts.jsonl" if kind == "jsonl" else "texts.CSV")
    if kind == "jsonl":
        written(
            path,
            [
                {
                    **row,
                    "image": "of a request",
                    "id": f"{row['id']}@{existing_manifest(Layout(plain_copy).manifest).digest}",
                }
                for row in rows
            ],
        )
    else:
        with path.open("w", encoding="utf-8-sig" if kind == "bom" else "utf-8", newline="") as file:
            table_of = csv.DictWriter(file, ("text", "source", "id"))
            table_of.writeheader()
            table_of.writerows({**row, "text": row["text"].replace(" ", "\r\n ", 1)} for row in rows)
    (made,) = make_paraphrases(plain_copy, "people", [path])
    pairs = table(plain_copy)
    assert [*pairs.sentences()[1::2]] == [*PEOPLE.values()]
    assert (made.n_pairs, pairs.tests) == (20, ("Ada",))


def test_several_texts_of_a_question_and_of_several_sources(
    plain_copy: Path, tmp_path: Path, cli: Cli
) -> None:
    own = read_table(
        Layout(plain_copy).questions_h5(HOP, SPLIT), vocab=read_vocab(Layout(plain_copy).vocab)
    ).sentences()
    first = written(
        tmp_path / "a.jsonl",
        [
            *lines({3: "In one way?", 0: own[0]}),
            *lines({3: "In another  way?"}),
            *lines({3: "in ONE, way\u200b"}),
            *lines({0: f"{own[0].upper()}\u2060 !"}),
            *lines({1: own[1]}, source="machine"),
        ],
    )
    second = written(
        tmp_path / "b.jsonl",
        [*lines({3: "In one way?"}, source="machine"), *lines({2: "Why?"}, "complex_ood")],
    )
    said = cli("suite", "mine", plain_copy, "--texts", first, "--texts", second)
    check_words(said.out)
    pairs = table(plain_copy, "mine").load()
    assert [(pairs.tests[k], row) for k, row in zip(pairs.test[::2], pairs.orig_idxs[::2], strict=True)] == [
        ("machine", 3),
        ("paraphrase", 3),
        ("paraphrase", 3),
    ]
    assert pairs.sentences()[1::2] == ["In one way?", "In one way?", "In another way?"]
    assert table(plain_copy, "mine", "complex_ood").cell.tolist() == [3, 3]
    assert not faults(plain_copy)
    cli("suite", "mine", plain_copy, "--texts", written(first, lines({5: "Well?"})))
    assert [*existing_manifest(Layout(plain_copy).manifest).suites[HOP]["mine"]] == [SPLIT]
    assert not faults(plain_copy)


def test_minimal_sets_can_be_paraphrased(tmp_path: Path) -> None:
    build_demo(tmp_path / "data", render=False, splits=("minimal_iid", "minimal_ood"))
    texts = [*lines({0: "Do you see one?"}, "minimal_iid"), *lines({1: "Seen?"}, "minimal_ood")]
    made = make_paraphrases(tmp_path / "data", "people", [written(tmp_path / "texts.jsonl", texts)])
    assert [(each.split, each.n_pairs) for each in made] == [("minimal_iid", 1), ("minimal_ood", 1)]
    assert not faults(tmp_path / "data")


BAD: Mapping[str, str] = {
    "no question": '{"id": "rubber_cylinder/complex_iid/9999", "text": "Why?"}',
    "no split": '{"id": "rubber_cylinder/complex_odd/1", "text": "Why?"}',
    "no hop": '{"id": "rubber_cilinder/complex_iid/1", "text": "Why?"}',
    "covr_train": '{"id": "rubber_cylinder/covr_train/1", "text": "Why?"}',
    "suite": '{"id": "rubber_cylinder/carets/complex_iid/1", "text": "Why?"}',
    "number": '{"id": 7, "text": "Why?"}',
    "other dataset": '{"id": "rubber_cylinder/complex_iid/1@0123abcd", "text": "Why?"}',
    "no text": '{"id": "rubber_cylinder/complex_iid/1"}',
    "empty": '{"id": "rubber_cylinder/complex_iid/1", "text": " ?"}',
    "null": '{"id": "rubber_cylinder/complex_iid/1", "text": null}',
    "long": '{"id": "rubber_cylinder/complex_iid/1", "text": "' + 700 * "why " + '"}',
    "control": '{"id": "rubber_cylinder/complex_iid/1", "text": "Why\\u0000?"}',
    "surrogate": '{"id": "rubber_cylinder/complex_iid/1", "text": "Why\\ud800?"}',
    "token": '{"id": "rubber_cylinder/complex_iid/1", "text": "Why <END> so?"}',
    "source": '{"id": "rubber_cylinder/complex_iid/1", "text": "Why?", "source": "../Ada"}',
    "not JSON": "rubber_cylinder/complex_iid/1 Why?",
    "not an object": '["rubber_cylinder/complex_iid/1", "Why?"]',
    "blank": "",
    "unseen": '{"id": "rubber_cylinder/complex_iid/1", "text": "\\u200b!"}',
    "key twice": '{"id": "rubber_cylinder/complex_iid/1", "text": "Why?", "text": "So?"}',
    "unknown key": '{"id": "rubber_cylinder/complex_iid/1", "text": "Why?", "soruce": "Ada"}',
    "not a number": '{"id": "rubber_cylinder/complex_iid/1", "text": NaN}',
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line_is_an_error_that_names_it(kind: str, plain_copy: Path, tmp_path: Path) -> None:
    path, before = tmp_path / "texts.jsonl", tree(plain_copy)
    path.write_text(f"\n{BAD[kind]}\n")
    with refused(ConfigError):
        make_paraphrases(plain_copy, "people", [path])
    assert tree(plain_copy) == before


@pytest.mark.parametrize(
    "content",
    [
        b"id;text\nrubber_cylinder/complex_iid/1;Why?\n",
        b"id,text\nrubber_cylinder/complex_iid/1,Well, why?\n",
        b"id,text\nrubber_cylinder/complex_iid/1\n",
        b'id,text\nrubber_cylinder/complex_iid/1,"Why?\n',
        "id,text\n".encode("utf-16"),
        b"",
        b"id,text,text\nrubber_cylinder/complex_iid/1,Why?,So?\n",
        b"id,text,soruce\nrubber_cylinder/complex_iid/1,Why?,Ada\n",
    ],
    ids=["header", "comma", "cell", "quotation", "encoding", "nothing", "column twice", "unknown column"],
)
def test_a_bad_table_is_an_error_that_names_its_line(
    content: bytes, plain_copy: Path, tmp_path: Path
) -> None:
    path = tmp_path / "texts.csv"
    path.write_bytes(content)
    with refused(ConfigError):
        make_paraphrases(plain_copy, "people", [path])


@pytest.mark.parametrize("name", ["carets", "visual", "covr", "../people", "mine"])
def test_a_name_that_is_taken_is_refused(name: str, plain_copy: Path, tmp_path: Path) -> None:
    from suite_folders import ENTRY, own_suite

    make_suite(plain_copy, "mine", suite_files=own_suite(tmp_path, ENTRY))
    before = tree(plain_copy)
    with refused(ConfigError):
        make_paraphrases(plain_copy, name, [written(tmp_path / "people.jsonl", lines(PEOPLE))])
    assert tree(plain_copy) == before


def test_options_that_do_not_go_with_texts(plain_copy: Path, cli: Cli) -> None:
    for words in ("--train", "--remove", "--hop none", "--visual 3", "--templates x"):
        check_words(cli("suite", "people", plain_copy, "--texts", "x.jsonl", *words.split(), code=2).err)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with images and the twenty texts."""
    folder = tmp_path_factory.mktemp("shown") / "data"
    build_demo(folder, images="h5", splits=(SPLIT,), sizes={SPLIT: 36})
    make_paraphrases(folder, "people", [written(folder.parent / "people.jsonl", lines(PEOPLE))])
    return folder


def test_ask_answers_and_score_go_through(shown: Path, tmp_path: Path, cli: Cli) -> None:
    cli("ask", shown, "--suite", "people", "--out", tmp_path / "ask.jsonl")
    requests = [json.loads(line) for line in (tmp_path / "ask.jsonl").read_text().splitlines()]
    assert [row["question"] for row in requests] == [*PEOPLE.values()]
    pairs = table(shown).load()
    right = [pairs.answer_names[number] for number in pairs.answers[1::2]]
    replies = [
        {"id": row["id"], "reply": answer if k % 4 else ""}
        for k, (row, answer) in enumerate(zip(requests, right, strict=True))
    ]
    written(tmp_path / "replies.jsonl", replies)
    cli(
        "answers",
        tmp_path / "replies.jsonl",
        "--requests",
        tmp_path / "ask.jsonl",
        "--out",
        tmp_path / "mine.jsonl",
    )
    cli("ask", shown, "--split", SPLIT, "--out", tmp_path / "own.jsonl")
    own = [json.loads(line) for line in (tmp_path / "own.jsonl").read_text().splitlines()]
    assert [row["id"].partition("@")[0] for row in own][:2] == [f"{HOP}/{SPLIT}/0", f"{HOP}/{SPLIT}/1"]
    answers = read_table(Layout(shown).questions_h5(HOP, SPLIT)).answers
    written(
        tmp_path / "replies.jsonl",
        [{"id": row["id"], "reply": pairs.answer_names[n]} for row, n in zip(own, answers, strict=True)],
    )
    cli(
        "answers",
        tmp_path / "replies.jsonl",
        "--requests",
        tmp_path / "own.jsonl",
        "--out",
        tmp_path / "theirs.jsonl",
    )
    both = tmp_path / "both.jsonl"
    both.write_text((tmp_path / "mine.jsonl").read_text() + (tmp_path / "theirs.jsonl").read_text())
    (condition,) = score_suite(shown, "people", both, seed=1, bootstrap=100).conditions
    scores = condition.splits[SPLIT].parts[Part()].mean
    names = ("original_accuracy", "partner_accuracy", "both_right", "consistency")
    assert [round(scores[name].value) for name in names] == [100, 75, 75, 75]
    assert all(scores[name].interval is not None for name in names)


def test_texts_stay_as_they_are_in_items_and_pages(shown: Path) -> None:
    pairs = clevrhope.load(shown, HOP, SPLIT, suite="people", text=True)
    assert pairs[4]["partner"]["question_text"] == PEOPLE[4]
    assert PEOPLE[4] in repr(pairs.show(4))
    line = Views(SiteFolder(shown), Models()).line(SplitKey(HOP, SPLIT, "people"), 9)
    assert line.text == PEOPLE[4]


# Questions about sets of images


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with paraphrases of questions about sets of images."""
    folder = tmp_path_factory.mktemp("sets") / "data"
    build_demo(folder, images="h5", covr=True, sizes=SET_SIZES, splits=(SPLIT,))
    of_test = lines({0: "In this way?", 1: "In this way?", 3: "So…"}, "covr_test")
    of_dev = lines({2: "Well?"}, "covr_dev")
    make_paraphrases(folder, "people", [written(folder.parent / "texts.jsonl", [*of_test, *of_dev])])
    return folder


def test_sets_of_images_can_be_paraphrased(sets: Path, tmp_path: Path, cli: Cli) -> None:
    assert not {name: found for name, found in faults(sets).items() if name != "images"}
    pairs = clevrhope.load(sets, HOP, "covr_test", suite="people", text=True)
    assert [pair["partner"]["question_text"] for pair in pairs] == ["In this way?", "In this way?", "So…"]
    own = clevrhope.load(sets, HOP, "covr_test")
    for pair, row in zip(pairs, (0, 1, 3), strict=True):
        for side in ("original", "partner"):
            assert pair[side]["image_indices"] == own[row]["image_indices"]
            assert pair[side]["answer"] == own[row]["answer"]
    rows = []
    for name, options in {"theirs": ["--split", "covr_test"], "mine": ["--suite", "people"]}.items():
        cli("ask", sets, *options, "--out", tmp_path / f"{name}.jsonl")
        asked = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        replies = [{"id": row["id"], "reply": row["asked"][0]} for row in asked]
        written(tmp_path / "replies.jsonl", replies)
        said = ["--requests", tmp_path / f"{name}.jsonl", "--out", tmp_path / f"{name}.predictions.jsonl"]
        cli("answers", tmp_path / "replies.jsonl", *said)
        rows.append((tmp_path / f"{name}.predictions.jsonl").read_text())
    (tmp_path / "both.jsonl").write_text("".join(rows))
    (condition,) = score_suite(sets, "people", tmp_path / "both.jsonl", seed=1, bootstrap=0).conditions
    scores = condition.splits["covr_test"].parts[Part()].mean
    assert (scores.counts["n_pairs"], scores["consistency"].value) == (3, 100)
    assert scores["original_accuracy"].value == scores["partner_accuracy"].value


def test_an_audit_finds_spoiled_paraphrases_of_sets(sets: Path, tmp_path: Path) -> None:
    import h5py

    folder = Path(shutil.copytree(sets, tmp_path / "data"))
    vocab = read_vocab(Layout(folder).covr_vocab)
    own = read_table(Layout(folder).questions_h5(HOP, "covr_test"), SETS, vocab=vocab).sentences()
    row = next(row for row, text in enumerate(own) if "cylinder" not in text)
    texts = lines({row: "Any cylinder made of rubber?", row + 2: "Well?"}, "covr_test")
    make_paraphrases(folder, "people", [written(tmp_path / "texts.jsonl", texts)])
    with h5py.File(Layout(folder).suite_h5(HOP, "people", "covr_test"), "r+") as file:
        images, questions = file["image_idxs"][:], file["questions"][:]
        images[3], questions[3] = images[0], questions[1]
        file["image_idxs"][:], file["questions"][:] = images, questions
    found = faults(folder)
    assert "image_idxs is not that of its row of the split" in found["pairs"]
    assert set(found["pair texts"]) == {
        "its tokens are not those of its text",
        "names rubber cylinder, which its question does not",
    }


def test_one_suite_is_about_one_image_or_about_sets(sets: Path, tmp_path: Path) -> None:
    texts = [*lines({0: "Well?"}), *lines({0: "Well?"}, "covr_test")]
    with refused(ConfigError):
        make_paraphrases(sets, "mixed", [written(tmp_path / "texts.jsonl", texts)])
