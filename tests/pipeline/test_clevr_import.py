"""--clevr: CLEVR's train scenes and images in the train pool, the same share of every beginning of it."""

import html
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli, Make, request, tree
from clevr_making import MadeClevr, Row, make_clevr
from painting import PaintedRenderer
from PIL import Image

from clevrhope.dataset.images_h5 import read_images
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import read_table
from clevrhope.errors import ClevrhopeError, ConfigError, DatasetError, SceneError
from clevrhope.images.png import read_png
from clevrhope.pipeline import Shard, build, build_part, merge, run
from clevrhope.pipeline.forecast import make_plan, plan_json
from clevrhope.pipeline.resolution import Resolved
from clevrhope.runtime.lock import FolderInUseError
from wording import check_refused, check_words

SHARE = 0.3


@pytest.fixture(scope="module")
def clevr(tmp_path_factory: pytest.TempPathFactory) -> MadeClevr:
    """Some thousand scenes."""
    return make_clevr(tmp_path_factory.mktemp("clevr") / "CLEVR_v1.0", 3_000)


def asked(clevr: MadeClevr, **changes: Any) -> dict[str, Any]:
    return {"clevr": clevr.root, "clevr_share": SHARE, "render": False, **changes}


def train_scenes(root: Path) -> list[Row]:
    return [
        row
        for path in sorted((root / "scenes" / "train").glob("*.json"))
        for row in json.loads(path.read_bytes())["scenes"]
    ]


def published(clevr: MadeClevr) -> dict[str, Row]:
    return {row["image_filename"]: row for row in json.loads(clevr.scenes.read_text())["scenes"]}


@pytest.mark.slow
def test_train_scenes_come_from_clevr_at_its_share_and_no_others(
    clevr: MadeClevr, tmp_path: Path, make: Make
) -> None:
    layout = Layout(tmp_path / "out")
    made = make(layout.root, **asked(clevr, hops=("cyan_cylinder", "none"), sizes={"train": 9_000}))
    rows, theirs = train_scenes(layout.root), published(clevr)
    ours = [row for row in rows if "source" in row]
    assert len(rows) == 1_000 + made.splits["none"]["train"]["images"] - len(
        np.intersect1d(*(read_table(layout.questions_h5(h, "train")).scenes for h in made.splits))
    )
    used = read_table(layout.questions_h5("none", "train")).scenes
    of_none = {row["image_index"] for row in ours} & set(used.tolist())
    for n in (100, 300, 1_000):  # `none` uses nearly every scene, so its images are a beginning of the pool
        assert abs(sum(index < n for index in of_none) - SHARE * n) < 0.02 * n + 2
    for row in ours:
        for key in ("objects", "relationships", "directions"):
            assert row[key] == theirs[row["source"]][key]
        assert row["image_filename"] == f"HOPE_train_{row['image_index']:06d}.png"
        assert "camera" not in row
        assert "stream" not in row
    assert len({row["source"] for row in ours}) == len(ours)
    for path in layout.root.glob("scenes/*/*.json"):
        if path.parent.name != "train":
            assert all("source" not in row for row in json.loads(path.read_bytes())["scenes"]), path
    held = [
        row for row in ours if any(o["color"] == "cyan" and o["shape"] == "cylinder" for o in row["objects"])
    ]
    without = read_table(layout.questions_h5("cyan_cylinder", "train")).scenes
    assert held
    assert not {row["image_index"] for row in held} & set(without.tolist())
    assert {row["directions"]["left"][0] for row in rows} == {ours[0]["directions"]["left"][0]}
    manifest = json.loads(layout.manifest.read_text())
    assert manifest["world"]["constraints"]["directions"] == "clevr"
    assert (manifest["world"]["clevr"]["scenes"], manifest["world"]["clevr"]["share"]) == (3_000, SHARE)
    page = html.unescape(layout.contact_sheet.read_text())
    assert (made.n_published, made.n_copied) == (len(ours), 0)
    assert f"{len(ours):,} of the scenes are CLEVR's own" in page
    mine = len(set(without.tolist()) & {row["image_index"] for row in ours})
    sheet = layout.hop_datasheet("cyan_cylinder").read_text()
    assert f"{mine} of the {len(without):,} images of `train` are CLEVR's own." in sheet
    assert "CC BY 4.0" in sheet
    assert "Johnson, Hariharan" in sheet
    assert "nothing else was taken from elsewhere" in layout.datasheet.read_text()


def test_tests_are_those_of_a_folder_without_clevr(clevr: MadeClevr, tmp_path: Path, make: Make) -> None:
    make(tmp_path / "with", **asked(clevr))
    build(request(tmp_path / "without", world={"directions": "clevr"}, render=False))
    ours, plain = tree(tmp_path / "with"), tree(tmp_path / "without")
    same = [name for name in ours if "complex" in name or "minimal" in name or name.startswith("scenes/test")]
    assert len(same) >= 10
    assert [name for name in same if ours[name] != plain[name]] == []
    assert ours["scenes/train/0000.json"] != plain["scenes/train/0000.json"]


@pytest.mark.slow
def test_the_folder_may_be_moved_and_written_otherwise_but_not_be_another(
    clevr: MadeClevr, tmp_path: Path, make: Make
) -> None:
    out = tmp_path / "out"
    make(out, **asked(clevr))
    whole = tree(out)
    shutil.copytree(clevr.root, tmp_path / "moved")
    moved = MadeClevr(tmp_path / "moved", {})
    moved.change(lambda rows: rows.reverse())
    make(out, **asked(moved))
    assert tree(out) == whole

    def import_refused(**changes: Any) -> None:
        check_refused(ClevrhopeError, make, out, **{**asked(clevr), **changes})
        assert tree(out) == whole

    import_refused(clevr=None)
    import_refused(clevr_share=0.4)
    moved.change(lambda rows: rows[0]["objects"][0].update(rotation=1.0))
    import_refused(clevr=moved.root)
    moved.change(lambda rows: rows.pop())
    import_refused(clevr=moved.root)
    make(tmp_path / "plain", render=False)
    check_refused(DatasetError, make, tmp_path / "plain", **asked(clevr))
    part = [tmp_path / "part1", tmp_path / "part2"]
    for number, each in enumerate(part, 1):
        other = clevr.root if number == 1 else moved.root
        build_part(request(each, **{**asked(clevr), "clevr": other}), Shard(number, 2))
    check_refused(DatasetError, merge, part, request(tmp_path / "joined", **asked(clevr)))


def test_a_folder_keeps_its_share_where_none_is_asked_for(
    clevr: MadeClevr, tmp_path: Path, make: Make
) -> None:
    make(tmp_path / "out", **asked(clevr))
    whole = tree(tmp_path / "out")
    make(tmp_path / "out", **asked(clevr, clevr_share=None))
    assert tree(tmp_path / "out") == whole
    assert make_plan(request(tmp_path / "out", **asked(clevr, clevr_share=None))).images_to_copy > 0


def test_a_palette_beside_clevrs_scenes_is_sent_to_another_folder_at_once(
    clevr: MadeClevr, tmp_path: Path, make: Make
) -> None:
    out = tmp_path / "out"
    make(out, **asked(clevr))
    whole = tree(out)
    for given in (None, clevr.root):
        check_refused(ConfigError, make, out, **{**asked(clevr, hops=("cyan_cylinder-d8",)), "clevr": given})
    assert tree(out) == whole
    make(tmp_path / "other", hops=("cyan_cylinder-d8",), splits=("train",), render=False)


def test_no_other_run_begins_between_the_first_look_at_a_folder_and_its_end(
    clevr: MadeClevr, tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def begun_meanwhile(resolved: Resolved) -> None:
        monkeypatch.undo()
        with pytest.raises(FolderInUseError, match="another run is writing here"):
            make(out, **asked(clevr))

    monkeypatch.setattr(run, "try_each_split", begun_meanwhile)
    make(out, **asked(clevr, clevr_share=None))
    assert json.loads(Layout(out).manifest.read_text())["world"]["clevr"]["share"] == 0.06


def test_what_cannot_be_is_told_in_a_sentence_before_there_is_a_folder(
    clevr: MadeClevr, tmp_path: Path, make: Make, cli: Cli
) -> None:
    out = tmp_path / "out"

    def import_refused(kind: type[ClevrhopeError], **changes: Any) -> None:
        check_refused(kind, make, out, **{**asked(clevr), **changes})
        assert not out.exists()

    import_refused(DatasetError, clevr=tmp_path / "nowhere")
    empty = tmp_path / "empty"
    (empty / "scenes").mkdir(parents=True)
    import_refused(DatasetError, clevr=empty)
    val = make_clevr(tmp_path / "val", 3, split="val")
    import_refused(DatasetError, clevr=val.root)
    (val.root / "scenes" / "CLEVR_val_scenes.json").rename(val.scenes)
    import_refused(SceneError, clevr=val.root)
    import_refused(DatasetError, render=True)
    import_refused(ConfigError, hops=("cyan_cylinder-d8",))
    copied = make_clevr(tmp_path / "copied", 3)
    copied.change(lambda rows: rows[2]["objects"][1].update(shape="cone"))
    import_refused(SceneError, clevr=copied.root)
    command = ["build", "--hop", "rubber_cylinder", "--no-render", "--out", str(out)]
    config = tmp_path / "c.toml"
    for text, options in (
        ('[world]\ndirections = "camera"', ["--clevr", clevr.root]),
        ("", ["--clevr", clevr.root, "--clevr-share", "0"]),
        ('clevr_share = "much"', ["--clevr", clevr.root]),
        ("", ["--clevr-share", "0.5"]),
    ):
        config.write_text(text)
        check_words(cli(*command, "--config", config, *options, code=2).err)
        assert not out.exists()
    config.write_text(f'clevr = "{clevr.root}"\nclevr_share = 0.5')
    cli(*command, "--seed", "1", "--quiet", "--config", config)
    assert json.loads((out / "manifest.json").read_text())["world"]["clevr"]["share"] == 0.5


@pytest.mark.slow
def test_the_plan_says_what_comes_from_clevr(clevr: MadeClevr, tmp_path: Path, make: Make) -> None:
    small = make_plan(request(tmp_path / "out", **asked(clevr)))
    make(tmp_path / "out", **asked(clevr))
    assert small.exact
    assert small.images_to_copy == sum("source" in row for row in train_scenes(tmp_path / "out")) > 0
    large = make_plan(request(tmp_path / "new", **asked(clevr, hops=("none",), sizes={"train": 54_000})))
    assert not large.exact
    assert large.images_to_copy == pytest.approx(SHARE * 6_000, rel=0.1)
    longer = make_plan(request(tmp_path / "new", **asked(clevr, hops=("none",), sizes={"train": 180_000})))
    assert longer.images_to_copy == pytest.approx(3_000, rel=0.1)
    assert plan_json(longer)["images_to_render"] == 0


def test_scenes_of_clevr_that_are_used_up_are_followed_by_our_own(tmp_path: Path, make: Make) -> None:
    few = make_clevr(tmp_path / "few", 10)
    make(tmp_path / "out", **asked(few, hops=("none",), clevr_share=1.0))
    rows = train_scenes(tmp_path / "out")
    assert len(rows) > 15
    # Of each number of objects, CLEVR's scenes come first.
    for number in range(3, 11):
        of_number = [row for row in rows if len(row["objects"]) == number]
        theirs = ["source" in row for row in sorted(of_number, key=lambda row: row["image_index"])]
        assert theirs == sorted(theirs, reverse=True)
    assert 8 <= sum("source" in row for row in rows) <= 10


def test_images_are_copied_with_their_pixels(tmp_path: Path, make: Make) -> None:
    clevr = make_clevr(tmp_path / "CLEVR_v1.0", 300)
    out, layout = tmp_path / "out", Layout(tmp_path / "out")
    # The tests' renderer makes small images, CLEVR's are large: only train is made, all of it CLEVR's.
    choices = asked(clevr, clevr_share=1.0, hops=("none",), splits=("train",))
    make(out, **choices)
    rows = [row for row in train_scenes(out) if "source" in row]
    assert len(rows) > 15
    names = [row["source"] for row in rows]
    (clevr.root / "images" / "train").mkdir(parents=True)
    text = tree(out)

    def import_refused() -> None:
        check_refused(DatasetError, make, out, **{**choices, "render": True})

    clevr.paint(names[3:])
    import_refused()
    assert not list(out.glob("images/*/*"))
    clevr.paint(names)
    for wrong in (Image.new("RGB", (240, 160)), Image.new("L", (480, 320))):
        wrong.save(clevr.image(names[5]))
        import_refused()
    clevr.image(names[5]).write_bytes(b"PNG")
    import_refused()
    clevr.paint([names[5]])
    made = make(out, **{**choices, "render": True})
    assert made.n_rendered == 0
    assert made.n_copied >= 1, "those that were copied before a faulty one stay"
    packed = dict(read_images(layout.images_h5("train"), [row["image_index"] for row in rows]))
    for row in rows:
        pixels = clevr.pixels(row["source"])
        assert np.array_equal(read_png(layout.image("train", row["image_index"])), pixels)
        assert np.array_equal(packed[row["image_index"]], pixels)
    after = tree(out)
    texts = [name for name in text if name.startswith(("scenes", "hops/none/train"))]
    assert texts
    assert all(after[name] == text[name] for name in texts)
    alone = Layout(tmp_path / "h5")
    assert make(alone.root, **{**choices, "render": True, "images": "h5"}).n_copied == len(rows)
    assert not list(alone.root.rglob("*.png"))
    for index, pixels in read_images(alone.images_h5("train"), packed):
        assert np.array_equal(packed[index], pixels)
    # Once the images are copied, text can be made without them.
    shutil.rmtree(clevr.root / "images")
    make(out, **choices)
    assert tree(out) == after


@pytest.mark.slow
def test_parts_with_images_of_clevr_are_joined_into_those_of_one_machine(tmp_path: Path) -> None:
    """A third of train is CLEVR's, the rest is painted; each part copies and paints its own."""
    clevr = make_clevr(tmp_path / "CLEVR_v1.0", 300)
    clevr.paint(clevr.sampled)
    choices = asked(
        clevr, render=True, images="png", hops=("none",), splits=("train",), sizes={"train": 1_300}
    )

    def painted(*_: object) -> PaintedRenderer:
        return PaintedRenderer()

    whole = build(request(tmp_path / "whole", **choices), make_renderer=painted)
    assert 20 < whole.n_copied < whole.n_rendered
    parts = [tmp_path / f"part{number}" for number in (1, 2, 3)]
    for number, part in enumerate(parts, 1):
        build_part(request(part, **choices), Shard(number, 3), make_renderer=painted)
        images = {int(path.stem.rpartition("_")[2]) for path in part.glob("images/train/*.png")}
        of_clevr = {row["image_index"]: "source" in row for row in train_scenes(part)}
        assert images == of_clevr.keys()
        assert any(of_clevr.values()), "some of CLEVR's images in each part"
    made = merge(parts, request(tmp_path / "joined", **choices), make_renderer=painted)
    assert made.n_copied + made.n_rendered <= 3, "nearly all images were in the parts"
    assert made.n_published == whole.n_copied
    assert tree(tmp_path / "joined") == tree(tmp_path / "whole")


def test_real_train_scenes_go_in_and_real_val_scenes_do_not(
    tmp_path: Path, test_data: Path, make: Make
) -> None:
    (tmp_path / "CLEVR" / "scenes").mkdir(parents=True)
    path = tmp_path / "CLEVR" / "scenes" / "CLEVR_train_scenes.json"
    shutil.copyfile(test_data / "real_clevr" / "CLEVR_train_scenes.json", path)
    real = MadeClevr(tmp_path / "CLEVR", {})
    make(tmp_path / "out", **asked(real, hops=("none",), clevr_share=1.0))
    theirs, rows = published(real), [row for row in train_scenes(tmp_path / "out") if "source" in row]
    assert len(rows) > 10
    for row in rows:
        for key in ("objects", "relationships", "directions"):
            assert row[key] == theirs[row["source"]][key]
    shutil.copyfile(test_data / "real_clevr" / "CLEVR_val_scenes.json", path)
    check_refused(SceneError, make, tmp_path / "other", **asked(real))
    assert not (tmp_path / "other").exists()
