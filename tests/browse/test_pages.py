"""What pages show: lists with filters, questions with images and steps, groups, pairs, models."""

import html
import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
from PIL import Image
from site_client import HOP, SiteClient, links, make_client, text_of

from clevrhope.browse.addresses import Query
from clevrhope.browse.folder import SiteFolder
from clevrhope.browse.models import OUTCOMES, read_models
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.loader import load
from clevrhope.dataset.scene_reader import load_scenes
from clevrhope.models.lxmert.config import PRETRAINED
from clevrhope.programs import trace


def loaded(dataset: Path, split: str, **more: Any) -> Any:
    """The questions of a split, as they are loaded."""
    return load(dataset, HOP, split, images=False, text=True, **more)


def matches(page: str) -> int:
    found = re.search(r"of ([\d,]+) questions", text_of(page))
    assert found, text_of(page)[:500]
    return int(found[1].replace(",", ""))


def test_the_overview_lists_every_split_and_suite(client: SiteClient) -> None:
    page = client.get("")
    hops = (HOP, "none", "prelim_cyan")
    for name in (*hops, "complex_ood", "covr_test_ood", "counting", "carets on complex_iid"):
        assert name in text_of(page)
    for address in links(page, "questions|pairs"):
        client.get(address)


@pytest.mark.parametrize("split", ["train", "complex_ood", "minimal_iid"])
def test_filters_find_what_the_files_have(client: SiteClient, dataset: Path, split: str) -> None:
    """Each filter, and all together, against a look at every question."""
    questions = [*loaded(dataset, split, scenes=True)]
    some = questions[7]
    facets = {"family": some["family"], "answer": some["answer"], "objects": len(some["scene"]["objects"])}

    def fits(question: dict, names: set[str]) -> bool:
        values = {**question, "objects": len(question["scene"]["objects"])}
        return all(values[name] == facets[name] for name in names)

    for names in ({"family"}, {"answer"}, {"objects"}, set(facets)):
        asked = "&".join(f"{name}={facets[name]}" for name in names)
        page = client.get(f"questions?hop={HOP}&split={split}&{asked}")
        assert matches(page) == sum(fits(each, names) for each in questions) > 0


@pytest.mark.parametrize("words", ["two or more shiny things", "rubber cylinder", "no cube and a tiny ball"])
def test_objects_are_those_of_the_scenes(client: SiteClient, dataset: Path, words: str) -> None:
    asked = f"questions?hop={HOP}&split=complex_iid&shows={words.replace(' ', '+')}"
    such = {each["image_index"] for each in load_scenes(dataset, "test_iid", objects=words)}
    questions = loaded(dataset, "complex_iid")
    assert matches(client.get(asked)) == sum(each["image_index"] in such for each in questions)
    sets = f"questions?hop={HOP}&split=covr_test&shows={words.replace(' ', '+')}"
    of_sets = loaded(dataset, "covr_test")
    assert matches(client.get(sets)) == sum(not such.isdisjoint(each["image_indices"]) for each in of_sets)


def test_a_word_that_the_world_does_not_know_leaves_the_list_as_it_is(client: SiteClient) -> None:
    page = client.get(f"questions?hop={HOP}&split=complex_iid&shows=smal+cube")
    assert "called &#34;smal&#34; (did you mean &#34;small&#34;?)" in page
    assert matches(page) == matches(client.get(f"questions?hop={HOP}&split=complex_iid"))


def test_families_have_a_sentence_of_theirs(client: SiteClient, dataset: Path) -> None:
    page = client.get(f"questions?hop={HOP}&split=complex_iid")
    first = {}
    for each in loaded(dataset, "complex_iid"):
        first.setdefault(each["family"], each["question_text"])
    options = dict(re.findall(r'<option value="(\d+)">\w+ \d+: (.*?)(?: \.\.\.)? \(\d+\)</option>', page))
    assert options.keys() == {str(family) for family in first}
    splits = ("train", "val_iid")
    train, val = ([each["question_text"] for each in loaded(dataset, split)] for split in splits)
    for sentence in options.values():
        assert any(text.startswith(html.unescape(sentence)) for text in (*train, *val, *first.values()))


def test_accuracy_is_that_of_the_selection(compared: SiteClient, dataset: Path) -> None:
    asked = f"questions?hop={HOP}&split=complex_iid&answer="
    questions = [*loaded(dataset, "complex_iid")]
    no = next(each["answer"] for each in questions if each["answer_text"] == "no")
    shown = re.findall(r"<dt>always_no on this selection</dt><dd>(.*?)%", compared.get(f"{asked}{no}"))
    assert shown == ["100.0"]
    n_no = sum(each["answer"] == no for each in questions)
    shown = re.findall(r"<dt>always_no on all questions</dt><dd>(.*?)%", compared.get(asked))
    assert shown == [f"{100 * n_no / len(questions):.1f}"]
    assert f"<b>{100 * n_no / len(questions):.1f}%</b>" in compared.get(""), "the overview has it, too"


def test_a_list_is_a_grid_whose_images_have_boxes_of_the_pair(client: SiteClient, dataset: Path) -> None:
    page = client.get(f"questions?hop={HOP}&split=complex_ood&view=grid")
    assert '<ol class="lines grid"' in page
    n_pairs = 0
    for each in loaded(dataset, "complex_ood", scenes=True):
        objects = each["scene"]["objects"]
        n_pairs += sum((item["material"], item["shape"]) == ("rubber", "cylinder") for item in objects)
    assert page.count('<rect class="pair"') == n_pairs > 0
    assert "objects with rubber cylinder, the held-out pair" in page
    assert client.get("").count('class="thumb') >= 6, "the overview has an image of each split"


def test_mention_is_that_of_the_pair(client: SiteClient) -> None:
    asked = f"questions?hop={HOP}&split="
    assert matches(client.get(f"{asked}complex_ood&mention=1")) == 12
    assert matches(client.get(f"{asked}complex_iid&mention=0")) == 72
    assert "No question matches" in client.get(f"{asked}complex_iid&mention=1")
    assert 'name="mention"' in client.get(f"questions?hop={HOP}")
    assert 'name="mention"' not in client.get("questions?hop=none")


def test_words_are_found_together_or_apart(client: SiteClient, dataset: Path) -> None:
    texts = [each["question_text"] for each in loaded(dataset, "train")]
    words = ["left", "sphere"]
    page = client.get(f"questions?hop={HOP}&split=train&words={'+'.join(words)}")
    apart = [text for text in texts if all(re.search(rf"\b{word}\b", text) for word in words)]
    assert matches(page) == len(apart) > 0
    page = client.get(f"questions?hop={HOP}&split=train&words=%22left+of%22")
    together = [text for text in texts if "left of" in text]
    assert matches(page) == len(together) > 0


def test_pages_show_every_question_once(client: SiteClient, dataset: Path) -> None:
    seen: list[str] = []
    address = f"questions?hop={HOP}&split=train"
    while address:
        page = client.get(address)
        seen += re.findall(r"train (\d+)</p>", page)
        address = next((each for each in re.findall(r'rel="next" href="([^"]*)"', page)), "")
        address = address.replace("&amp;", "&")
    assert [int(each) for each in seen] == [*range(162)]


def test_a_page_beyond_the_last_is_empty(client: SiteClient) -> None:
    assert "none of 162 questions" in text_of(client.get(f"questions?hop={HOP}&split=train&page=99"))


def test_a_question_shows_what_its_files_have(client: SiteClient, dataset: Path) -> None:
    for row, question in enumerate(loaded(dataset, "complex_iid", scenes=True)):
        page = client.get(f"question/{HOP}/complex_iid/{row}")
        assert question["question_text"] in text_of(page)
        assert f'<b class="answer">{question["answer_text"]}</b>' in page
        assert page.count('<g class="box') == len(question["scene"]["objects"])
        if row == 10:
            break


def test_a_step_lights_up_the_objects_of_the_trace(client: SiteClient, dataset: Path) -> None:
    layout = Layout(dataset)
    row = 20
    question = loaded(dataset, "complex_iid", scenes=True)[row]
    raw = json.loads(layout.questions_json(HOP, "complex_iid").read_bytes())["questions"][row]
    steps = trace(raw["program"], question["scene"])
    n_lit = 0
    for number, step in enumerate(steps):
        page = client.get(f"question/{HOP}/complex_iid/{row}?step={number}")
        lit = {int(each) for each in re.findall(r'class="box[^"]* lit" data-object="0-(\d+)"', page)}
        wanted = step.output if step.type == "ObjectSet" else [step.output] * (step.type == "Object")
        assert lit == set(wanted)
        n_lit += len(lit)
        assert re.search(rf'class="step marked[^>]*data-step="{number}"', page)
    assert n_lit > 0


def test_the_address_says_what_is_shown(client: SiteClient) -> None:
    page = client.get(f"question/{HOP}/complex_iid/3?boxes=0&masks=1&ids=0")
    assert 'class="panel show-masks"' in page
    assert 'class="panel show-boxes show-ids"' in client.get(f"question/{HOP}/complex_iid/3")


def test_images_masks_and_sketches_are_served(client: SiteClient, dataset: Path) -> None:
    question = load(dataset, HOP, "train", passes=("mask",))[0]
    pool, index = "train", question["image_index"]
    image = client.raw.get(f"/a-token/image/{pool}/{index}.png")
    assert image.headers["content-type"] == "image/png"
    assert np.array_equal(np.asarray(Image.open(BytesIO(image.content)).convert("RGB")), question["image"])
    mask = client.raw.get(f"/a-token/mask/{pool}/{index}.png")
    shown = np.asarray(Image.open(BytesIO(mask.content)).convert("RGBA"))[..., 3] > 0
    assert np.array_equal(shown, question["mask"] != 255)
    assert client.raw.get(f"/a-token/sketch/{pool}/{index}.svg").text.startswith("<svg")
    assert client.raw.get(f"/a-token/image/{pool}/99999999.png").status_code == 404


@pytest.mark.parametrize(
    ("hop", "split", "n"),
    [(HOP, "minimal_ood", 4), ("prelim_cyan", "existence", 2), ("prelim_cyan", "counting", 6)],
)
def test_a_group_stands_side_by_side(client: SiteClient, hop: str, split: str, n: int) -> None:
    page = client.get(f"question/{hop}/{split}/1")
    assert page.count('<article class="card') == n
    assert page.count('aria-current="true"') == 1


def test_a_set_shows_all_its_images_and_its_source(client: SiteClient, dataset: Path) -> None:
    for row, question in enumerate(loaded(dataset, "covr_test")):
        page = client.get(f"question/{HOP}/covr_test/{row}")
        assert page.count('<figure class="image') == len(question["image_indices"])
        assert f"{question['source'] + 1}, the source" in page
        assert f'<b class="answer">{question["answer_text"]}</b>' in page
    assert row == 29


@pytest.mark.slow
def test_pairs_stand_side_by_side_and_on_their_originals(client: SiteClient, dataset: Path) -> None:
    pairs = loaded(dataset, "complex_iid", suite="carets")
    page = client.get(f"pair/{HOP}/carets/complex_iid/4?step=1&step2=2")
    for side in ("original", "partner"):
        assert pairs[4][side]["question_text"] in text_of(page)
    assert page.count('class="step marked') == 2
    originals = [{pair[side]["original_index"] for side in ("original", "partner")} for pair in pairs]
    row = next(index for pair in pairs if (index := pair["original"]["original_index"]) >= 0)
    page = client.get(f"question/{HOP}/complex_iid/{row}")
    assert len(links(page, "pair/")) == sum(row in of_pair for of_pair in originals) > 0
    test = pairs[4]["test"]
    listed = client.get(f"pairs/{HOP}/carets/complex_iid?test={test}")
    assert f"{sum(pair['test'] == test for pair in pairs):,} pairs" in text_of(listed)


def test_errors_come_first(compared: SiteClient, dataset: Path) -> None:
    right = [each["answer_text"] == "no" for each in loaded(dataset, "complex_iid")]
    seen: list[int] = []
    for number in (1, 2, 3):
        page = compared.get(f"questions?hop={HOP}&split=complex_iid&page={number}")
        seen += map(int, re.findall(r"complex_iid (\d+)</p>", page))
    assert seen == sorted(range(72), key=lambda row: right[row])
    in_file = compared.get(f"questions?hop={HOP}&split=complex_iid&order=file")
    assert re.findall(r"complex_iid (\d+)</p>", in_file)[:3] == ["0", "1", "2"]


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_two_models_are_compared(compared: SiteClient, dataset: Path, outcome: str) -> None:
    """Model A always says no; B is right but for every third question, to which it gives no known answer."""
    questions = loaded(dataset, "complex_iid")
    n = 0
    for row, question in enumerate(questions):
        a, b = question["answer_text"] == "no", row % 3 != 0
        n += {
            "a-wrong": not a,
            "a-right": a,
            "a-only": a and not b,
            "b-only": b and not a,
            "both-wrong": not a and not b,
            "both-right": a and b,
            "differ": not (a and b),
        }[outcome]
    page = compared.get(f"questions?hop={HOP}&split=complex_iid&outcome={outcome}")
    assert matches(page) == n > 0


def test_runs_are_named_by_what_tells_them_apart(
    dataset: Path, predictions: list[str], tmp_path: Path
) -> None:
    """A run's folder, as evaluate leaves it, beside a file that NAME=FILE names."""
    (tmp_path / "run" / "predictions").mkdir(parents=True)
    (tmp_path / "run" / "run.json").write_text(
        json.dumps(
            {
                "format": 1,
                "model": "film",
                "hop": HOP,
                "size": 25_000,
                "seed": 3,
                "places": {"dataset": str(dataset)},
                "dataset": {},
                "settings": {},
                "recipe": PRETRAINED.record(),
                "features": {"kind": "pixels", "options": {}, "weights": None, "code": 1, "note": None},
            }
        )
    )
    rows = Path(predictions[0]).read_text().splitlines()
    (tmp_path / "run" / "predictions" / "last.predict.jsonl").write_text("\n".join(rows))
    client = make_client(dataset, [str(tmp_path / "run"), f"vlm={predictions[1]}"])
    page = text_of(client.get(f"question/{HOP}/complex_iid/1"))
    assert "film, on 25,000, run 3 " in page
    assert "vlm " in page


def test_the_next_question_is_the_next_of_the_list(compared: SiteClient) -> None:
    page = compared.get(f"questions?hop={HOP}&split=complex_iid&outcome=b-only")
    wanted = re.findall(r"complex_iid (\d+)</p>", page)
    address = links(page, "question/")[0]
    seen = []
    for _ in range(4):
        page = compared.get(address)
        seen.append(re.search(r"question (\d+)</dd>", page)[1])
        address = re.search(r'rel="next" href="\.\./\.\./\.\./([^"]*)"', page)[1].replace("&amp;", "&")
    assert seen == wanted[:4]


def test_a_query_reads_what_it_writes() -> None:
    query = Query(hop="a_b", split="train", family=3, words='"red cube" & <b>', a=2, b=0, page=4, masks=1)
    assert Query.read(dict(parse_qsl(query.text().removeprefix("?")))) == query
    wrong = {"family": "-1", "page": "0", "boxes": "7", "outcome": "no", "answer": "9" * 40}
    assert Query.read(wrong) == Query()


def test_files_of_one_model_are_models_of_their_own(dataset: Path, tmp_path: Path) -> None:
    row = {"hop": HOP, "split": "complex_ood", "question_index": 0, "model": "m"}
    files = []
    for name, answer in (("a", "yes"), ("b", "no"), ("c", "3")):
        files.append(tmp_path / name / "p.jsonl")
        files[-1].parent.mkdir()
        files[-1].write_text(json.dumps({**row, "answer": answer}) + "\n")
    models = read_models([str(file) for file in files], SiteFolder(dataset)).models
    assert [model.name for model in models] == ["m", "m (p.jsonl)", "m (2)"]
    assert all(len(model.answers) == 1 for model in models)
