"""The pages of episodes with nonce words: both conditions, what words mean, and how lists find them."""

import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from site_client import SiteClient, links, make_client, text_of

from clevrhope.dataset.loader import load
from clevrhope.splits.nonce.kinds import NONCE_SPLITS


def episodes(dataset: Path) -> list[Any]:
    """Both conditions, as they are loaded."""
    return [load(dataset, "none", split, images=False, text=True) for split in NONCE_SPLITS]


def test_a_page_has_both_conditions_and_marks_what_is_swapped(client: SiteClient, dataset: Path) -> None:
    for row, pair in enumerate(zip(*episodes(dataset), strict=True)):
        page = client.get(f"question/none/{NONCE_SPLITS[row % 2]}/{row}")
        sides = re.findall(r'<section class="side".*?</section>', page, re.DOTALL)
        assert len(sides) == 2
        swapped = np.not_equal(*(each["support_indices"] for each in pair)).tolist()
        for side, item in zip(sides, pair, strict=True):
            shown = re.findall(r"<li(.*?)</li>", side, re.DOTALL)
            assert [text_of(f"<{each}").removesuffix(" swapped") for each in shown] == [
                f"{number} {statement}" for number, statement in enumerate(item["statements"], 1)
            ]
            assert ["swapped" in each for each in shown] == swapped
            images = [re.search(r"nonce_objects/(\d+)\.", each) for each in shown]
            assert [int(each[1]) for each in images if each] == item["support_indices"]
        assert "No image shows a" in text_of(sides[0])
        assert re.search(r"Images? \d( and \d)? shows? a", text_of(sides[1]))
        asked = [text_of(each) for each in re.findall(r'<td class="asked">.*?</td>', page)]
        n_shown = sum(swapped) // 2
        assert asked[0].startswith("none")
        assert re.match(", ".join(["[0-9]"] * n_shown) + r" \(", asked[1])


def test_a_page_says_what_is_asked_in_real_words(client: SiteClient, dataset: Path) -> None:
    unseen, _ = episodes(dataset)
    table, names = unseen.table, unseen.vocab.questions()
    for row, item in enumerate(unseen):
        said = text_of(client.get(f"question/none/nonce_unseen/{row}"))
        plain = " ".join(names[token] for token in item["question"].tolist() if token > 2)
        assert f"“{plain.capitalize()}?”" in said
        a, b = (table.value_names[number] for number in table.pairs[row].tolist())
        assert f"means {a} and" in said
        assert f"means {b} , so" in said or f"means {b}, so" in said
        assert ("The first sentence of a request says that" in said) == (table.types == "told")


def test_the_same_lesson_leads_to_the_other_scenes(client: SiteClient, dataset: Path) -> None:
    unseen, _ = episodes(dataset)
    page = client.get("question/none/nonce_unseen/6")
    rows = {int(each.split("/")[-1]) for each in links(page[page.index('id="others"') :], "question/")}
    assert rows == {7, 8}
    assert {unseen[row]["question_text"] for row in rows} == {unseen[6]["question_text"]}


def test_lists_show_and_find_nonce_words(client: SiteClient, dataset: Path) -> None:
    unseen, _ = episodes(dataset)
    page = client.get("questions?hop=none&split=nonce_unseen")
    assert all(each["question_text"] in text_of(page) for each in unseen)
    assert all(form in page for form in ("exist_3x3", "query_3x3", "count_3x3"))
    word = unseen[0]["question_text"].strip("?").split()[3]
    found = text_of(client.get(f"questions?hop=none&split=nonce_unseen&words={word}"))
    assert "1 to 2 of 2 questions" in found
    real = text_of(client.get("questions?hop=none&split=nonce_unseen&words=cube"))
    assert "none of 0 questions" in real
    assert "no image shows the pair" in text_of(client.get(""))


@pytest.mark.parametrize("partner", [0, 5, 999])
def test_a_partner_that_is_none_costs_at_most_its_page(copy: Path, partner: int) -> None:
    """A chain of partners that does not come back ends, and one that leaves the file is a sentence."""
    with h5py.File(copy / "nonce" / "unseen.h5", "r+") as file:
        file["partners"][:] = partner
    page = make_client(copy).get("question/none/nonce_unseen/3", status=500 if partner == 999 else 200)
    assert ("episodes that are in both conditions" in page) == (partner == 999)


@pytest.mark.parametrize("split", NONCE_SPLITS)
def test_a_damaged_condition_is_a_sentence(copy: Path, split: str) -> None:
    (copy / "nonce" / f"{split.removeprefix('nonce_')}.h5").unlink()
    client = make_client(copy)
    assert "nonce" in client.get(
        "question/none/nonce_unseen/0", status=404 if split == NONCE_SPLITS[0] else 500
    )
