"""`--design official`: the original's rules, each an option; data made by them pass their own audit."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from building import Make, request
from clevr_making import make_clevr

from clevrhope.audit import audit
from clevrhope.config.presets import CLEVR_SHARE, PRESETS
from clevrhope.config.sources import resolve_config
from clevrhope.dataset.binding import BindingError
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError, SplitError
from clevrhope.pipeline.clevr import with_share
from clevrhope.pipeline.forecast import make_plan
from clevrhope.splits.hops import paper_hops
from wording import check_refused, refused


def test_it_is_the_originals_rules_with_the_papers_sizes_only() -> None:
    official = resolve_config(preset="paper", design="official")
    assert official.changed_settings() == {"strictness": "chain", "minimal_pool": "shared"}
    assert official.clevr_order == "first"
    assert official.world == {"directions": "clevr", "min_pixels": 200}
    sizes, paper = official.sizes, PRESETS["paper"].sizes
    assert (sizes.train, sizes.complex_iid) == (567_000, 121_500)
    assert (sizes.complex_ood, sizes.val_iid) == (paper.complex_ood, paper.val_iid)
    assert resolve_config(preset="small", design="official").sizes == PRESETS["small"].sizes


def test_a_file_and_an_option_override_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('minimal_pool = "own"\n[world]\nmin_pixels = 100\n')
    config = resolve_config(design="official", file=file, strictness="implied")
    assert (config.strictness, config.minimal_pool) == ("implied", "own")
    assert config.world == {"directions": "clevr", "min_pixels": 100}


def test_orders_of_clevrs_scenes_get_a_sentence(tmp_path: Path) -> None:
    check_refused(ConfigError, resolve_config, clevr=tmp_path, clevr_share=0.5, clevr_order="first")
    check_refused(ConfigError, resolve_config, design="official", templates=tmp_path / "nothing")


def test_an_order_or_a_share_beside_the_design_replaces_its_own(tmp_path: Path) -> None:
    def share(**chosen: object) -> float | None:
        return with_share(resolve_config(design="official", clevr=tmp_path, **chosen), None).clevr_share

    assert share() == 1.0
    assert share(clevr_order="even") == CLEVR_SHARE
    assert share(clevr_share=0.2) == 0.2
    assert share(clevr_order="even", clevr_share=0.3) == 0.3
    file = tmp_path / "mine.toml"
    for said, wanted in (("clevr_share = 0.3", 0.3), ('clevr_order = "even"', CLEVR_SHARE)):
        file.write_text(f'clevr = "{tmp_path}"\n{said}\n')
        assert share(file=file) == wanted


@pytest.mark.slow
def test_with_the_order_first_clevrs_fitting_scenes_of_a_number_come_before_new_ones(
    tmp_path: Path, make: Make
) -> None:
    clevr = make_clevr(tmp_path / "CLEVR_v1.0", 400).root
    config = resolve_config(preset="demo", design="official", clevr=clevr)
    config = replace(config, sizes=replace(config.sizes, train=1_800))
    layout = Layout(tmp_path / "out")
    make(layout.root, config=config, splits=("train", "complex_ood"), render=False)
    rows = {
        row["image_index"]: row
        for path in sorted((layout.root / "scenes" / "train").glob("*.json"))
        for row in json.loads(path.read_bytes())["scenes"]
    }
    used = read_table(layout.questions_h5("rubber_cylinder", "train")).scenes
    assert len(used) == 200
    is_clevrs: dict[int, list[bool]] = {}
    for index in sorted(used.tolist()):
        is_clevrs.setdefault(len(rows[index]["objects"]), []).append("source" in rows[index])
    assert {number: len(images) for number, images in is_clevrs.items()} == dict.fromkeys(range(3, 11), 25)
    for images in is_clevrs.values():
        assert images == sorted(images, reverse=True)
    # Of some 50 scenes of three objects, over half have no rubber cylinder; of ten objects, an eighth.
    assert all(is_clevrs[3])
    assert {False, True} == set(is_clevrs[10])
    assert not any(
        "source" in row
        for row in json.loads((layout.root / "scenes/test_ood/0000.json").read_bytes())["scenes"]
    )
    report = audit(layout.root)
    assert report.ok, [fault for check in report.checks for fault in check.faults]
    shown = ", ".join(f"{np.mean(images):.1%} with {number}" for number, images in sorted(is_clevrs.items()))
    assert shown in layout.hop_datasheet("rubber_cylinder").read_text()
    even = replace(config, clevr_order="even")
    check_refused(BindingError, make, layout.root, config=even, render=False)
    # The order need not be given again.
    make(layout.root, config=replace(config, clevr_order=None), render=False)


def test_a_pair_that_leaves_too_few_scenes_of_a_number_gets_a_sentence(tmp_path: Path, make: Make) -> None:
    # Half of all objects are the pair, so 1 scene of 30 objects in 10^9 is without it.
    properties = tmp_path / "properties.json"
    shapes = {"shapes": {"cube": "cube"}, "materials": {"rubber": "rubber"}, "sizes": {"small": 0.35}}
    colors = {"colors": {"red": [200, 0, 0], "blue": [0, 0, 200]}}
    properties.write_text(json.dumps({**shapes, **colors}))
    file = tmp_path / "mine.toml"
    file.write_text(f'properties = "{properties}"\n[world]\nmin_objects = 30\nmax_objects = 30\n')
    config = resolve_config(file=file)
    with refused(SplitError):
        make_plan(
            request(tmp_path / "out", hops=("red_cube",), splits=("train",), config=config, render=False)
        )


@pytest.mark.slow
def test_data_by_the_official_design_pass_their_audit(tmp_path: Path, make: Make) -> None:
    config = resolve_config(preset="small", design="official")
    out = tmp_path / "out"
    make(out, hops=("large_rubber", "rubber_cylinder"), config=config, render=False)
    report = audit(out)
    assert report.ok
    (line,) = (each for each in report.checks if each.name == "held-out pair")
    (note,) = line.notes
    assert note.startswith("made with --strictness chain; the default rule would find ")
    assert int(note.split("would find ")[1].split(" ")[0]) > 10
    assert (
        "by `--strictness chain`, as in the original" in Layout(out).hop_datasheet("large_rubber").read_text()
    )
    # By the default rule there are none, and the audit says nothing.
    make(tmp_path / "default", hops=("large_rubber",), config=PRESETS["small"], render=False)
    (line,) = (each for each in audit(tmp_path / "default").checks if each.name == "held-out pair")
    assert line.notes == []


@pytest.mark.slow
def test_all_pairs_share_40_places_at_the_papers_size(tmp_path: Path, make: Make) -> None:
    config = resolve_config(preset="paper", design="official")
    names = tuple(hop.name for hop in paper_hops())
    splits = ("minimal_iid", "minimal_ood")
    make(tmp_path / "out", hops=names, config=config, splits=splits, render=False, question_json=False)
    layout = Layout(tmp_path / "out")
    used = set()
    for name in names:
        for split in splits:
            table = read_table(layout.questions_h5(name, split))
            assert table.pool == "minimal"
            used.update(table.scenes.tolist())
    assert used == set(range(3_840))


def test_clevrs_own_words_have_the_public_numbers(tmp_path: Path, make: Make, test_data: Path) -> None:
    templates = tmp_path / "templates"
    shutil.copytree(test_data / "clevr_v1" / "templates", templates)
    shutil.copy(test_data / "clevr_v1" / "synonyms.json", templates)
    config = resolve_config(preset="demo", design="official", templates=templates)
    make(tmp_path / "out", config=config, splits=("train",), render=False)
    vocab = read_vocab(Layout(tmp_path / "out").vocab)
    words = vocab.question_token_to_idx
    assert len(words) == 93
    # Of the public vocabularies of CLEVR's models.
    assert {word: words[word] for word in ("", ";", "Are", "yellow")} == {
        **{"": 4, ";": 5, "Are": 6, "yellow": 92}
    }
    assert (len(vocab.program_token_to_idx), len(vocab.answer_token_to_idx)) == (44, 32)
