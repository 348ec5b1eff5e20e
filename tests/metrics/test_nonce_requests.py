"""Requests about episodes with nonce words: what is asked, what is read, and what is refused."""

import base64
import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from building import Cli
from made_folder import write_lines
from nonce_asking import TYPES, N, Rows, asked, build_episodes, lines

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.nonce_text import in_real_words
from clevrhope.errors import ConfigError, DatasetError, PredictionsError
from clevrhope.metrics.answers import write_answers
from clevrhope.metrics.episodes import Episodes
from clevrhope.metrics.nonce_requests import NonceRequests, messages
from clevrhope.metrics.request_files import read_requests
from clevrhope.metrics.survey import write_survey
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, OBJECTS
from wording import check_words, refused


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the datasets `told` and `found`."""
    root = tmp_path_factory.mktemp("nonce")
    for types in ("told", "found"):
        build_episodes(root / types, types=types)
    return root


# What is asked.


def test_controls_change_one_thing(folders: Path) -> None:
    controls = ["none", "words", "real", "text", "bare", "told"]
    rows = asked(folders / "found", controls=controls, limit=2)
    by = {name: [row for row in rows if row["control"] == name] for name in controls}
    n = len(by["none"])
    assert {name: len(of) for name, of in by.items()} == {**dict.fromkeys(controls, n), "words": 4 * n}
    for test, real, text, bare, told in zip(*(by[name] for name in controls if name != "words"), strict=True):
        assert test["question_index"] == real["question_index"] == told["question_index"]
        images = [each["image"] for each in test["context"]]
        assert [each["image"] for each in real["context"]] == images
        assert [each["text"] for each in text["context"]] == [each["text"] for each in test["context"]]
        assert "image" not in text
        assert not any("image" in each for each in text["context"])
        assert (bare["context"], bare["image"], bare["question"]) == ([], test["image"], test["question"])
        assert told["context"][1:] == test["context"]
        assert re.fullmatch(
            r"Here .* are words for \w+s, and .* are words for \w+s\.", told["context"][0]["text"]
        )
        assert all(
            f" {value}" not in each["text"] for each in test["context"] for _, of in TYPES for value in of
        )
        assert real["question"] != test["question"]
    with refused(ConfigError):
        NonceRequests(folders / "told", controls=["told"], seed=1)


def test_the_mapping_is_in_no_request(folders: Path) -> None:
    """What a request says is the same for every value that a word may have, but for images."""
    episodes = Episodes(folders / "told")
    for row in asked(folders / "told", controls=["none", "words"]):
        index = row["question_index"] // (4 if row["control"] == "words" else 1)
        texts = " ".join([*(each["text"] for each in row["context"]), row["question"]]).lower()
        values = {value for value in episodes.meanings(index).values() if re.search(rf"\b{value}\b", texts)}
        assert values == set()
        for part in row["context"][0]["text"].removeprefix("Here ").split(", and "):
            words = re.split(", | and ", part.partition(" are words")[0])
            assert words == sorted(words)  # their order says nothing


def test_names_of_images_tell_nothing(folders: Path) -> None:
    """They are numbers, from which the values of a support's object do not follow."""
    names = {
        Path(each["image"]).name
        for row in asked(folders / "told")
        for each in row["context"]
        if "image" in each
    }
    assert all(re.fullmatch(r"HOPE_nonce_objects_\d{6}\.png", name) for name in names)
    scenes = json.loads(Layout(folders / "told").scene_shard(OBJECTS, 0).read_text())["scenes"]
    objects = {scene["image_index"]: scene["objects"][0] for scene in scenes}
    numbers = sorted(objects)
    assert len(numbers) > 100
    for kind, values in TYPES:
        of = np.asarray([values.index(objects[number][kind]) for number in numbers])
        assert abs(np.corrcoef(numbers, of)[0, 1]) < 0.25
        for period in (2, 3, 6, 48, 96):  # of numbers that count combinations of values
            remainders = np.asarray(numbers) % period
            known = [np.bincount(of[remainders == k]).max() for k in np.unique(remainders)]
            chance = 1 - (1 - 1 / len(values)) * (1 - len(known) / len(numbers))
            assert sum(known) / len(numbers) < (1 + chance) / 2, "the remainder does not tell the value"


def test_probes_are_about_kinds_that_both_conditions_show(folders: Path) -> None:
    for types in ("told", "found"):
        episodes = Episodes(folders / types)
        scenes = json.loads(Layout(folders / types).scene_shard(OBJECTS, 0).read_text())["scenes"]
        shown = {scene["image_index"]: {scene["objects"][0][kind] for kind, _ in TYPES} for scene in scenes}
        assert all(said <= shown[image] for image, said in episodes.values_of.items())
        for row in range(N):
            supports = [table.support_idxs[row] for table in episodes.conditions.values()]
            form = episodes.table.forms[episodes.table.question_families[row]]
            for number in range(4):
                both = [episodes.probe(split, row, number) for split in NONCE_SPLITS]
                if form != "exist_3x2" or number:
                    assert both[0] == both[1]
                for split, (image, value, answer) in zip(NONCE_SPLITS, both, strict=True):
                    assert (value in shown[image]) == (answer == "yes")
                    asked_about = episodes.question(f"{split}_words", 4 * row + number).text.split()
                    word = asked_about[3].rstrip("?")
                    assert episodes.meanings(row)[word] == value
                    assert word in episodes.question(split, row).text
                    kind = {*episodes.meanings(row).values()} & shown[image]
                    there = [each for each, said in episodes.values_of.items() if said >= kind]
                    assert image in there
                    is_used = any(image in each for each in supports)
                    assert is_used == all(any(each in of for of in supports) for each in there)


def test_a_limit_takes_whole_groups_and_less_of_it_is_a_part(folders: Path) -> None:
    more, fewer = (
        {row["question_index"] for row in asked(folders / "told", controls=["none"], limit=limit, seed=4)}
        for limit in (11, 4)
    )
    assert fewer < more
    groups = Episodes(folders / "told").groups
    for chosen in (more, fewer):
        assert {k for k in range(N) if groups[k] in groups[[*chosen]]} == chosen
    forms = Episodes(folders / "told").table.question_families
    assert {int(forms[k]) for k in more} == {0, 1, 2, 3, 4}


def test_requests_are_told_as_json_and_their_answers_are_no_requests(
    folders: Path, tmp_path: Path, cli: Cli
) -> None:
    ask = ["ask", folders / "told", "--nonce", "--limit", 2, "--seed", 1, "--quiet", "--format", "html"]
    found = json.loads(cli(*ask, "--out", "people.html", "--json").out)
    assert found["files"] == ["people.jsonl", "people_A.html", "people_B.html"]
    assert found["next"].endswith(" --out answered_people.jsonl")
    page = (tmp_path / "people_A.html").read_text("utf-8")
    assert "Objects are cubes, spheres and cylinders" in page
    other = {kind: [f"{value}er" for value in values] for kind, values in TYPES}
    write_survey(tmp_path / "people.jsonl", tmp_path / "own.html", page="A", attributes=other)
    assert "<p>Objects differ in size, color, material, shape.</p>" in (tmp_path / "own.html").read_text(
        "utf-8"
    )


def test_turns_of_a_support(folders: Path) -> None:
    out = folders / "turns.jsonl"
    NonceRequests(folders / "told", seed=1, controls=["none"], support="turns", limit=2).write(out)
    for row in read_requests(out):
        said = messages(row)
        assert [role for role, _ in said] == ["user", "assistant"] * (len(row["context"]) - 1) + ["user"]
        assert said[0][1][0] == ("text", row["context"][0]["text"])
        assert said[1][1] == [("text", row["context"][1]["text"])]
        assert said[-1][1] == [("image", row["image"]), ("text", row["question"])]
        (one,) = messages({**row, "support": "message"})
        assert [kind for kind, _ in one[1]] == ["text", *["image", "text"] * len(row["context"])]


def test_a_table_of_vlmevalkit_has_lists_of_images(folders: Path, tmp_path: Path, cli: Cli) -> None:
    ask = ["ask", folders / "told", "--nonce", "--control", "none", "--limit", 2, "--seed", 1, "--quiet"]
    cli(*ask, "--format", "vlmeval", "--out", "table.tsv")
    csv.field_size_limit(1 << 24)
    with (tmp_path / "table.tsv").open(newline="") as file:
        rows = [*csv.DictReader(file, delimiter="\t")]
    for row, request in zip(rows, lines(tmp_path / "table.jsonl"), strict=True):
        images, names = json.loads(row["image"]), json.loads(row["image_path"])
        paths = [*(each["image"] for each in request["context"][1:]), request["image"]]
        assert [base64.b64decode(each) for each in images] == [
            (tmp_path / path).read_bytes() for path in paths
        ]
        assert names == [Path(path).name for path in paths]
        assert row["question"].startswith(f"{request['context'][0]['text']} Image 1: This is a ")
        assert f"Image {len(images)}: {request['question']} Answer" in row["question"]
        assert row["answer"] == request["right_answer"]
        assert request["support"] == "list"


# What is read and refused.


def test_replies_are_put_into_real_words_first() -> None:
    meanings = {"zovek": "red", "zov": "blue", "tumab": "cube"}
    assert in_real_words("Zovek TUMABS, not zov tumab.", meanings) == "red cubes, not blue cube."
    assert in_real_words("a zoveky one", meanings) == "a zoveky one"


def test_what_does_not_fit_is_refused(folders: Path, tmp_path: Path) -> None:
    told, out = folders / "told", tmp_path / "p.jsonl"
    requests = folders / "told.jsonl"
    rows = asked(told, controls=["none", "real"], limit=2)
    replies = [{"id": row["id"], "reply": "yes"} for row in rows]

    def read(rows: Rows = rows, replies: Rows = replies, folder: Path | None = told, cut: int = 0) -> None:
        write_lines(requests, [{**row, "image": "x.png"} for row in rows])
        write_lines(tmp_path / "r.jsonl", replies)
        if cut:
            content = (tmp_path / "r.jsonl").read_text()
            (tmp_path / "r.jsonl").write_text(content[:-cut])
        write_answers(tmp_path / "r.jsonl", requests, out, folder=folder)

    read()
    assert {(row["control"], row["support"]) for row in lines(out)} == {
        ("none", "message"),
        ("real", "message"),
    }
    with refused(PredictionsError):
        read(folder=None)
    with refused(PredictionsError):  # of a dataset with other supports
        read(folder=folders / "found")
    renamed = [{**row, "context": [{"text": "This is a zovek."}]} for row in rows]
    with refused(PredictionsError):
        read(rows=renamed)
    with refused(PredictionsError):
        read(rows=[*rows[:-1], {**rows[-1], "question_index": 4 * N}])
    with refused(PredictionsError):  # replies to another control
        read(replies=[*replies, {"id": rows[0]["id"].replace("unseen", "unseen_bare"), "reply": "yes"}])
    with refused(PredictionsError):
        read(rows=[*rows[:-1], {**rows[-1], "support": "turns"}])
    with refused(PredictionsError):
        read(rows=[*rows[:-1], {**rows[-1], "split": "complex_iid"}])
    with refused(PredictionsError):
        read(rows=[*rows[:-1], {**rows[-1], "control": "text"}])
    with refused(PredictionsError):
        read(cut=9)


def test_options_that_do_not_go_together_are_refused(folders: Path, cli: Cli) -> None:
    ask = ["ask", folders / "told", "--out", "r.jsonl"]
    wrong: list[list[object]] = [
        ["--nonce", "--split", "complex_iid"],
        ["--control", "real"],
        ["--nonce", "--control", "rael"],
        ["--nonce", "--control", "text", "--format", "vlmeval", "--out", "r.tsv"],
        ["--nonce", "--control", "real", "--format", "html", "--out", "r.html"],
        ["--nonce", "--support", "turns", "--format", "html", "--out", "r.html"],
        ["--nonce", "--format", "html", "--limit", 9, "--seed", 1, "--out", "r.html"],
    ]
    for options in wrong:
        check_words(cli(*ask, *options, code=2).err.strip())
    write_lines(
        Path("p.jsonl"), [{"hop": "none", "split": "nonce_seen_real", "question_index": 0, "answer": "no"}]
    )
    check_words(cli("score", folders / "told", "p.jsonl", "--nonce", "--by", "answer", code=2).err.strip())
    check_words(
        cli("score", folders / "told", "p.jsonl", "--nonce", "--seed", 1, "--quiet", code=2).err.strip()
    )


def test_folders_without_episodes_are_refused(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "told", tmp_path / "other")
    manifest = tmp_path / "other" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "nonce": {}}))
    with refused(DatasetError):
        NonceRequests(tmp_path / "other", seed=1)


# The pages for people.


def test_two_pages_have_each_query_once_and_ten_episodes_of_each_condition(
    folders: Path, tmp_path: Path, cli: Cli
) -> None:
    cli(
        "ask",
        folders / "told",
        "--nonce",
        "--format",
        "html",
        "--limit",
        6,
        "--seed",
        2,
        "--out",
        "page.html",
    )
    rows = lines(tmp_path / "page.jsonl")
    pages = {page: [row for row in rows if row["page"] == page] for page in "AB"}
    for page, of_page in pages.items():
        data = json.loads(
            re.findall(r'id="data">(.*?)</script>', (tmp_path / f"page_{page}.html").read_text())[0]
        )
        assert [each["id"] for each in data["questions"]] == [row["id"] for row in of_page]
        groups = Episodes(folders / "told").groups[[row["question_index"] for row in of_page]]
        assert len({*groups.tolist()}) == len(of_page) == 12
        assert sum(row["split"] == "nonce_unseen" for row in of_page) == 6
        for each, row in zip(data["questions"], of_page, strict=True):
            assert [said["text"] for said in each["context"]] == [said["text"] for said in row["context"]]
            for said, asked_for in zip(each["context"], row["context"], strict=True):
                image = None if said["image"] is None else data["images"][said["image"]].partition(",")[2]
                path = asked_for.get("image")
                assert (image and base64.b64decode(image)) == (path and (tmp_path / path).read_bytes())
    one, other = ([(row["question_index"], row["split"]) for row in of_page] for of_page in pages.values())
    assert [row for row, _ in one] == [row for row, _ in other]
    assert all(split != of_other for (_, split), (_, of_other) in zip(one, other, strict=True))
    files = [
        write_lines(
            tmp_path / f"{page}.jsonl", [{"id": row["id"], "reply": "no", "person": page} for row in of_page]
        )
        for page, of_page in pages.items()
    ]
    cli("answers", *files, "--requests", "page.jsonl", "--dataset", folders / "told", "--out", "people.jsonl")
    assert len(lines(tmp_path / "people.jsonl")) == 24
    cli("score", folders / "told", "people.jsonl", "--nonce", "--partial", "--seed", 1)
