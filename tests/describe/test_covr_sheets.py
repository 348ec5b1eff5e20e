"""Questions over several images in datasheets and in `clevrhope stats`, counted from the files."""

import gc
import html
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from clevrhope.__main__ import run_command
from clevrhope.dataset.answer_counts import answer_counts, maj, maj_templ
from clevrhope.dataset.covr_questions import offered_answers
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.measured import read_measured
from clevrhope.dataset.question_kinds import SETS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.describe.covr import measure_covr
from clevrhope.describe.datasheets import hop_datasheet
from clevrhope.errors import DatasetError
from clevrhope.splits.covr.kinds import COVR_SPLITS
from wording import check_refused

HOP = "rubber_cylinder"
Measured = dict[str, dict[str, Any]]
HEADING = "## Questions over several images"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("covr") / "data"
    arguments = ["--hop", HOP, "--hop", "none", "--no-render", "--seed", "3", "--quiet", "--out", str(out)]
    assert run_command(["build", "--covr", *arguments]) == 0
    return out


@pytest.fixture(scope="module")
def measured(folder: Path) -> Measured:
    layout = Layout(folder)
    return measure_covr(layout, existing_manifest(layout.manifest), HOP)


def json_rows(folder: Path, split: str, hop: str = HOP) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(Layout(folder).questions_json(hop, split).read_text())[
        "questions"
    ]
    return rows


def test_a_split_is_counted_as_its_json_has_it(folder: Path, measured: Measured) -> None:
    assert tuple(measured) == COVR_SPLITS
    for split, found in measured.items():
        rows = json_rows(folder, split)
        assert found["questions"] == len(rows)
        assert found["images"] == len({index for row in rows for index in row["image_indices"]})
        assert found["images_a_question"] == Counter(len(row["image_indices"]) for row in rows)
        assert found["answers"] == Counter(row["answer"] for row in rows)
        assert found["structures"] == Counter(row["structure"] for row in rows)
        for name, template in found["templates"].items():
            mine = Counter(row["answer"] for row in rows if row["template"] == name)
            assert template["answers"] == mine
            assert sum(template["cut"].values()) == mine.total() == template["questions"]
            assert found["properties"][f"tpl-{name.replace('_', '-')}"] == mine.total()
        assert found["pair_places"].get("nowhere", 0) == (0 if split == "covr_test_ood" else len(rows))


def operators_of(nodes: list[dict[str, Any]], at: int = -1) -> list[str]:
    """The operators of a program of COVR's JSON and of its conditions, a shared step once for each use."""
    node, used = nodes[at], nodes[at].get("dependencies", [])
    argument = (node.get("arguments") or [None])[0]
    name = node["operation"]
    if name == "with_relation_object" and argument.startswith("same_"):
        name, used = "with_relation", used[::-1]  # having the same value is one relation in both directions
    inner = operators_of(argument) if isinstance(argument, list) else []
    return [name, *(each for k in used for each in operators_of(nodes, k)), *inner]


def test_texts_programs_and_operators_are_counted_as_the_json_has_them(
    folder: Path, measured: Measured
) -> None:
    for split, found in measured.items():
        rows = json_rows(folder, split)
        used = [operators_of(row["program"]) for row in rows]
        assert found["texts"] == len({row["question"] for row in rows}) <= len(rows) / 2
        assert found["anonymised_programs"] == len({tuple(each) for each in used})
        for operator in ("find", "filter", "with_relation", "unique", "all", "query_name"):
            times = Counter(each.count(operator) for each in used)
            assert found["operators"].get(operator, {}) == {k: times[k] for k in sorted(times) if k}, operator
        assert max(found["operators"]["find"]) > 3


def test_a_folder_of_before_has_no_counts_of_operators(folder: Path, tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    path = layout.hop_measured(HOP)
    path.parent.mkdir(parents=True)
    content = json.loads(Layout(folder).hop_measured(HOP).read_text())
    for split in content["covr"].values():
        for name in ("texts", "anonymised_programs", "operators"):
            del split[name]
    path.write_text(json.dumps(content))
    manifest = existing_manifest(Layout(folder).manifest)
    sheet = hop_datasheet(manifest, read_measured(path))
    assert "anonymised programs" not in sheet
    assert "Properties by which COVR's splits" in sheet


def test_baselines_are_those_of_the_scores(folder: Path, measured: Measured) -> None:
    layout = Layout(folder)
    train, test = (read_table(layout.questions_h5(HOP, each), SETS) for each in ("covr_train", "covr_test"))
    vocab = read_vocab(layout.covr_vocab)
    counts = answer_counts(train.answers, train.question_families, 15, len(vocab.answers()))
    offered = offered_answers(test.programs, vocab.programs(), vocab.answer_token_to_idx)
    templates = test.question_families
    guesses = {"maj": maj(counts), "maj_templ": maj_templ(counts, templates, offered)}
    for name, guessed in guesses.items():
        right = (guessed == test.answers).mean()
        assert measured["covr_test"]["baselines"][name] == pytest.approx(float(right), abs=1e-6)


def test_what_could_not_be_made_is_in_the_file(folder: Path, measured: Measured) -> None:
    with h5py.File(Layout(folder).questions_h5(HOP, "covr_test_ood")) as file:
        names = file.attrs["templates"]
        skipped = dict(zip(names, file.attrs["skipped"].tolist(), strict=True))
    assert measured["covr_test_ood"]["pairs_not_found"] == skipped
    assert skipped["query_object"] > 0


def test_the_datasheet_has_the_numbers(folder: Path, measured: Measured) -> None:
    sheet = Layout(folder).hop_datasheet(HOP).read_text()
    section = sheet[sheet.index(HEADING) :].partition("\n## ")[0].strip()
    train = measured["covr_train"]
    mean = sum(size * n for size, n in train["images_a_question"].items()) / 150
    assert f"| `covr_train` | train | `train` | 150 | {train['images']} | {mean:.2f} |" in section
    share = f"{100 * 33_300 / 248_154:.1f}%"
    assert re.search(rf"\| `has-quant` \| 13.3% \|.* {share} \|", section)
    assert "no attempt found these pairs of questions: " in section
    assert "| `covr_test` | 26.7% |" in section
    assert "does not apply here" in section
    assert f"| anonymised programs | {train['anonymised_programs']} |" in section
    assert re.search(r"\| yes or no \| 53\.3% \|.* 53\.7% \|", section)  # 8 of 15 templates
    assert re.search(r"\| open \| 13\.3% \|.* 12\.7% \|", section)
    plain = Layout(folder).hop_datasheet("none").read_text()
    assert "covr_dev" in plain
    assert "Where the pair is" not in plain[plain.index(HEADING) :]


@pytest.mark.slow
def test_the_folders_datasheet_counts_them_and_the_audit_agrees(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = Layout(folder).datasheet.read_text()
    manifest = existing_manifest(Layout(folder).manifest)
    n = sum(entry["questions"] for splits in manifest.covr.values() for entry in splits.values())
    assert f" and {n:,} over several images, " in sheet
    assert f"| `{HOP}` | 150 | 30 | 30 | 30 | 30 |" in sheet
    scenes = sum(
        len(json.loads(path.read_text())["scenes"])
        for pool in (folder / "scenes").iterdir()
        for path in pool.iterdir()
    )
    assert f"over several images, {scenes:,} images; " in sheet
    page = Layout(folder).contact_sheet.read_text()
    total = n + sum(entry["questions"] for splits in manifest.splits.values() for entry in splits.values())
    assert f"<b>{total:,}</b><span>questions</span>" in page
    assert run_command(["audit", str(folder), "--json"]) == 0, capsys.readouterr().out


def test_stats_shows_them_and_gives_every_count(
    folder: Path, measured: Measured, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["stats", str(folder), "--hop", HOP, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["hops"][HOP]["covr"]
    assert list(found) == list(COVR_SPLITS)
    for split, stats in found.items():
        assert sum(each["questions"] for each in stats["templates"].values()) == stats["questions"]
        for template in stats["templates"].values():
            assert sum(template["cut"].values()) == template["questions"]
        assert stats["properties"] == measured[split]["properties"]
    assert found["covr_test"]["baselines"]["maj"] == pytest.approx(8 / 30, abs=1e-6)
    assert run_command(["stats", str(folder), "--hop", HOP, "--splits", "covr_train,covr_test"]) == 0
    shown = capsys.readouterr().out
    assert "questions over several images are in" in shown
    assert "Template files" not in shown
    assert run_command(["stats", str(folder), "--hop", HOP, "--splits", "covr_tset"]) == 2
    said = capsys.readouterr().err
    assert f'no split "covr_tset" of {HOP} (did you mean "covr_test"?); there are: train, ' in said


def test_stats_counts_the_questions_with_a_property(
    folder: Path, measured: Measured, capsys: pytest.CaptureFixture[str]
) -> None:
    splits, own = ["covr_train", "covr_test"], "uses:{all,some,none} & answer:yes"
    command = ["stats", str(folder), "--hop", HOP, "--splits", ",".join(splits), "--covr-split"]
    assert run_command([*command, "has-quant", "--covr-split", own, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["hops"][HOP]["predicates"]
    assert counts["has-quant"] == {split: measured[split]["properties"]["has-quant"] for split in splits}
    for split in splits:
        rows = [row for row in json_rows(folder, split) if row["answer"] == "yes"]
        used = [{step["operation"] for step in row["program"]} for row in rows]
        assert counts[own][split] == sum(bool(each & {"all", "some", "none"}) for each in used) > 0
    assert run_command([*command, "has-quant"]) == 0
    train, test = counts["has-quant"].values()
    assert re.search(rf"has-quant +{train} +{test}\b", capsys.readouterr().out)
    assert run_command([*command, "ans-num & has-quant"]) == 2
    assert "covr_test, no question has this property; name one that some" in capsys.readouterr().err


def test_a_damaged_file_is_named(folder: Path, tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    (layout.root / "covr" / HOP).mkdir(parents=True)
    layout.covr_vocab.write_bytes(Layout(folder).covr_vocab.read_bytes())
    path = layout.questions_h5(HOP, "covr_dev")
    path.write_bytes(Layout(folder).questions_h5(HOP, "covr_dev").read_bytes())
    manifest = existing_manifest(Layout(folder).manifest)
    with h5py.File(path, "r+") as file:
        file["answers"][3] = len(read_vocab(layout.covr_vocab).answers())
    check_refused(DatasetError, measure_covr, layout, manifest, HOP, ["covr_dev"])
    gc.collect()  # the error's traceback had the file
    with h5py.File(path, "r+") as file:
        file.attrs["skipped"] = np.zeros(3, np.int64)
    check_refused(DatasetError, measure_covr, layout, manifest, HOP, ["covr_dev"])


def test_the_page_shows_both_answers_with_their_images(folder: Path) -> None:
    page = Layout(folder).contact_sheet.read_text()
    part = page[page.index('<section id="rubber_cylinder">') :].partition("</section>")[0]
    for split in COVR_SPLITS:
        of_split = part.partition(f'">{split} <span>')[2].partition("<h3 ")[0]
        cards = re.findall(r"<article>.*?</article>", of_split, re.DOTALL)
        rows = json_rows(folder, split)[: 2 * len(cards)]
        assert len(cards) == 4
        for card, two in zip(cards, zip(rows[::2], rows[1::2], strict=True), strict=True):
            text = re.search(r'<p class="q">(.*?)</p>', card)
            assert text
            assert html.unescape(re.sub("</?mark>", "", text[1])) == two[0]["question"]
            shown = card.split('<div class="row">')[1:]
            for html_row, row in zip(shown, two, strict=True):
                figures = html_row.split("<figure ")[1:]
                names = [re.findall('title="(.*?)"', each)[0] for each in figures]
                assert names == row["image_filenames"]
                assert ["source" in each for each in figures].index(True) == row["source"]
                assert f'<b class="a">{row["answer"]}</b>' in html_row
    assert "<mark>rubber</mark>" in of_split
