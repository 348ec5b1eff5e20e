"""Datasheets and contact sheet: numbers counted from arrays, values escaped, nothing from the network."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrhope import __version__
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.measured import write_measured
from clevrhope.dataset.question_kinds import SINGLE
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.vocab import make_vocab, read_vocab, write_vocab
from clevrhope.describe.contact_sheet import contact_sheet, pair_boxes, sketch_url, thumbnail_url
from clevrhope.describe.datasheets import folder_datasheet, hop_datasheet
from clevrhope.describe.making_and_licence import making_and_licence
from clevrhope.describe.measure import FamilyNames, measure_split, read_scene_counts
from clevrhope.describe.measured import PoolStats, folder_json, hop_json
from clevrhope.pages import render_markdown
from clevrhope.pages.markdown import mean, percentile
from clevrhope.pipeline.documents import pool_stats
from clevrhope.runtime.atomic import FileRecord
from clevrhope.runtime.json_text import as_json_values
from clevrhope.scenes.sketch import SIZE_PX
from clevrhope.splits.hops import Hop, paper_hops
from wording import check_words

HOP = paper_hops()[4]


def scene(index: int, *objects: tuple[str, str, str, str]) -> dict[str, object]:
    return {
        "image_index": index,
        "image_filename": f"HOPE_train_{index:06d}.png",
        "objects": [
            {
                "size": size,
                "color": color,
                "material": material,
                "shape": shape,
                "3d_coords": [0, 0, 0.7],
                "rotation": 0.0,
                "pixel_coords": [240, 160, 10.0 + place],
                "bbox": [200, 100, 296, 180],
            }
            for place, (size, color, material, shape) in enumerate(objects)
        ],
        "relationships": {name: [[] for _ in objects] for name in ("left", "right", "front", "behind")},
    }


ATTRIBUTES = {
    "size": ["small", "large"],
    "color": ["red", "blue", "cyan"],
    "material": ["rubber", "metal"],
    "shape": ["cube", "sphere", "cylinder"],
}

SCENES = [
    scene(3, ("large", "red", "rubber", "cylinder"), ("small", "red", "metal", "cube")),
    scene(8, ("large", "blue", "metal", "cylinder")),
    scene(9, ("small", "cyan", "rubber", "sphere")),
]


def rows() -> QuestionTable:
    """Three questions on scene 3, one on scene 8."""
    return QuestionTable(
        SINGLE,
        {
            "questions": np.zeros((4, 9), np.int32),
            "question_lengths": np.asarray([7, 7, 8, 9], np.int32),
            "programs": np.asarray(
                [[1, 5, 5, 2, 0], [1, 4, 5, 2, 0], [1, 4, 4, 5, 2], [1, 4, 4, 5, 2]], np.int32
            ),
            "program_lengths": np.asarray([4, 4, 5, 5], np.int32),
            "answers": np.asarray([5, 5, 4, 5], np.int32),
            "image_idxs": np.asarray([3, 3, 3, 8], np.int32),
            "question_families": np.asarray([0, 1, 1, 1], np.int32),
            "relation_needed": np.asarray([[-1, -1, -1], [1, -1, -1], [1, 0, -1], [1, 1, -1]], np.int8),
        },
    )


FAMILIES = {0: ("zero_hop.json", 0), 1: ("one_hop.json", 3)}
Split = dict[str, Any]


@pytest.fixture
def split(tmp_path: Path) -> Split:
    shard = tmp_path / "0000.json"
    shard.write_text('{"info": {}, "scenes": [\n' + ",\n".join(map(json.dumps, SCENES)) + "\n]}\n")
    vocab = make_vocab(["word"], ["relate[left]", "scene"], ["yes", "no"])
    scenes = read_scene_counts([shard], ATTRIBUTES)
    return measure_split("train", rows(), vocab=vocab, scenes=scenes, families=FAMILIES)


def test_summaries_of_histograms() -> None:
    assert mean({1: 1, 3: 3}) == 2.5
    assert np.isnan(mean({}))
    assert (percentile({1: 5, 2: 90, 9: 5}, 0.05), percentile({1: 5, 2: 90, 9: 5}, 0.96)) == (1, 9)
    assert pool_stats(np.asarray([1, 2, 3]), np.asarray([0, 1, 3, 1])) == (4, 3, 1, 5)


def test_a_vocabulary_has_special_tokens_first_and_comes_back(tmp_path: Path) -> None:
    vocab = make_vocab(["things", ";", "Are"], ["scene", "count"], ["no", "yes", "10", "2"])
    assert vocab.questions() == ["<NULL>", "<START>", "<END>", "<UNK>", ";", "Are", "things"]
    assert vocab.answers()[4:] == ["10", "2", "no", "yes"]
    write_vocab(tmp_path / "vocab.json", vocab)
    assert read_vocab(tmp_path / "vocab.json") == vocab


def manifest(*splits: str, clevr: Mapping[str, Any] | None = None, **questions: str) -> Manifest:
    world = {
        "fingerprint": "abc",
        "constraints": {"max_objects": 10, "width": 480, "height": 320, "min_pixels": 100},
        "attributes": {"color": ["red", "blue"], "material": ["rubber"], "shape": ["cube", "cylinder"]},
    }
    return Manifest(
        version="1",
        seed=7,
        world=world if clevr is None else {**world, "clevr": clevr},
        templates={"fingerprint": "def"},
        questions=questions,
        config={"templates": "a|b"},
        splits={HOP.name: {name: {"questions": 4} for name in splits or ("train",)}},
        checked={HOP.name: ["4 questions; no <leak>"]},
        files={"scenes/train/0000.json": FileRecord(10, "")},
    )


def datasheet(
    splits: dict[str, Split], families: FamilyNames = FAMILIES, *, never: Sequence[int] = ()
) -> str:
    measured = hop_json(
        *(HOP, splits),
        images_shared=dict.fromkeys(splits, 1),
        from_clevr={},
        families=families,
        never=never,
        suites={},
        covr={},
    )
    return hop_datasheet(manifest(), as_json_values(measured))


def check_page(text: str) -> None:
    check_words(text.replace(f"| clevrhope | {__version__} |", "| clevrhope | VERSION |"))


def origin(manifest: Manifest) -> str:
    return render_markdown("parts/making_and_licence.md", **making_and_licence(manifest))


def test_a_datasheet_answers_from_what_was_measured(split: Split) -> None:
    sheet = datasheet({"train": split}, never=[1])
    check_page(sheet)


def test_a_datasheet_says_what_is_not_balanced_and_that_nothing_is_clevrs() -> None:
    """A folder may have preliminary sets alone, and be bound to CLEVR's scenes without a train split."""
    clevr = {"scenes": 70_000, "share": 0.21}
    for of_folder in (
        manifest(clevr=clevr),
        manifest("existence", "counting", clevr=clevr),
        manifest("train", "minimal_ood"),
    ):
        check_page(origin(of_folder))


@pytest.mark.parametrize("places", ["own", "shared"])
@pytest.mark.parametrize("strictness", ["description", "implied", "chain"])
def test_a_datasheet_says_what_its_folder_is_bound_to(places: str, strictness: str) -> None:
    sheet = origin(manifest("train", "minimal_ood", minimal_pool=places, strictness=strictness))
    for option, choice in (("minimal-pool", places), ("strictness", strictness)):
        assert f"| `--{option}` | `{choice}` |" in sheet
        assert f"ith `--{option} {choice}` " in sheet
    assert "--covr-hold" not in sheet  # which nothing in the folder depends on
    with_sets = replace(
        manifest("train", "minimal_ood", minimal_pool=places, strictness=strictness), covr={"none": {}}
    )
    assert "ith `--covr-hold both` " in origin(with_sets)


def test_every_row_of_a_table_has_as_many_cells_as_its_head(split: Split, tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    pools = {"train": PoolStats(9, 2, 1, 3)}
    write_measured(layout.measured, folder_json([HOP], manifest(), pools, n_answers=28))
    two = {"train": split, "complex_iid": split}
    for sheet in (datasheet(two), folder_datasheet(layout, manifest())):
        for block in re.findall(r"(?:^\|.*\n?)+", sheet, re.MULTILINE):
            cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(cells) == 1, block


class _Page(HTMLParser):
    """What a browser would see: tags that stay open, addresses, and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.marked: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img", "br", "link"):
            self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data
            if self.open and self.open[-1] == "mark":
                self.marked.append(data)


def sheet_of(*hops: dict[str, Any], n_published: int = 0) -> str:
    """The page of sub-datasets that `cards` made."""
    numbers = {"n_questions": 4, "n_images": 2, "n_rendered": 0, "n_published": n_published}
    return contact_sheet({"seed": "7", **numbers, "renderer": "", "hops": hops})


def cards(
    hop: Hop, question: dict[str, str], split: str = "train", *, words: Sequence[set[str]] = (), **card: Any
) -> dict[str, Any]:
    """A sub-dataset with a card, of which some values are given."""
    of_card = {"name": "HOPE_train_000003.png", "image": "data:,", "sketch": True, "pair_boxes": []}
    of_card |= {"questions": [question], "source": "", "group": -1, **card}
    of_split = {"split": split, "n_questions": 4, "n_images": 2, "cards": [of_card]}
    return {"hop": hop, "pair_words": words, "seen": "", "splits": [of_split], "covr": []}


def page(question: str) -> _Page:
    parser = _Page()
    hop = cards(
        HOP,
        {"text": question, "answer": "<yes>", "family": "zero_hop.json"},
        "complex_ood",
        words=[{"rubber", "matte"}, {"cylinder", "cylinders"}],
        image=sketch_url(SCENES[0], {"red": (173, 35, 35)}, SIZE_PX),
        pair_boxes=pair_boxes(SCENES[0], HOP.held_out or (), SIZE_PX),
    )
    parser.feed(sheet_of(hop))
    parser.close()
    return parser


def test_a_page_is_well_formed_escaped_and_offline() -> None:
    seen = page('Is there a <script>alert("x")</script> & cylinder?')
    assert seen.open == []
    assert 'Is there a <script>alert("x")</script> & cylinder?' in seen.text
    assert "<yes>" in seen.text
    assert seen.addresses
    for address in seen.addresses:
        assert address.startswith(("data:", "#", "DATASHEET.md", "manifest.json", "hops/")), address


def test_the_pair_is_marked_where_a_question_has_words_for_both_values() -> None:
    assert page("How many matte cylinders are there?").marked[1:] == ["matte", "cylinders"]
    assert page("How many matte cubes are there?").marked[1:] == []
    seen = page("How many matte things are either cylinders or red cubes?")
    assert seen.marked[1:] == ["matte", "cylinders"]


def test_the_box_is_that_of_the_objects_with_the_pair() -> None:
    (box,) = pair_boxes(SCENES[0], HOP.held_out or (), SIZE_PX)
    expected = {"left": 41.67, "top": 31.25, "width": 20.0, "height": 25.0}
    assert box == pytest.approx(expected, abs=0.01)
    assert pair_boxes(SCENES[1], HOP.held_out or (), SIZE_PX) == []


def test_a_thumbnail_has_the_same_bytes_each_time() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (32, 48, 3), dtype=np.uint8)
    assert thumbnail_url(pixels) == thumbnail_url(pixels.copy())
    assert thumbnail_url(pixels).startswith("data:image/jpeg;base64,/9j/")


ASKED = {"text": "Is it?", "answer": "yes", "family": "f"}
PAIR = cards(HOP, ASKED, words=[{value} for _, value in HOP.held_out or ()])
CYAN = cards(Hop("prelim_cyan", None, 0, value=("color", "cyan")), ASKED)
NONE = cards(Hop("none", None, 0), ASKED, source="CLEVR_train_000034.png")


@pytest.mark.parametrize(
    ("hops", "heading"),
    [
        ([CYAN], "cyan alone"),
        ([CYAN, CYAN], "Single values"),
        ([NONE, NONE], "Nothing held out"),
        ([PAIR, PAIR], "Held-out pairs"),
        ([NONE, PAIR, CYAN], "A held-out pair, a single value and a control with nothing held out"),
    ],
)
def test_the_heading_says_what_is_there_and_each_part_links_to_its_datasheet(
    hops: list[dict[str, Any]], heading: str
) -> None:
    sheet = sheet_of(*hops)
    assert f"<h1>{heading}</h1>" in sheet
    seen = _Page()
    seen.feed(sheet)
    assert {f"hops/{each['hop'].name}/DATASHEET.md" for each in hops} <= set(seen.addresses)


def test_images_of_clevr_are_marked_and_counted() -> None:
    sheet = sheet_of(NONE, PAIR, n_published=1_234)
    assert "1,234 of the scenes are CLEVR's own, by Johnson et al. (CC BY 4.0)" in " ".join(sheet.split())
    assert sheet.count('title="CLEVR_train_000034.png">') == sheet.count("CLEVR's own</b>") == 1
    assert "Johnson" not in sheet_of(PAIR)
