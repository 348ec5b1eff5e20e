"""Digests are of content: they stay when files are packed otherwise, and change with a token or a pixel."""

import hashlib
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from PIL import Image
from tiny_edition import HOPS, NAME

from clevrhope.__main__ import run_command
from clevrhope.dataset.clevr_json import read_row_lines
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.editions import verify
from clevrhope.editions.content import PARTS, scene_digest, whole_digest
from clevrhope.pipeline import engine, questions


def digests(folder: Path) -> dict[tuple[str, str, str], str]:
    return {
        (hop, split, part): digest
        for hop, splits in verify(folder).splits.items()
        for split, parts in splits.items()
        for part, digest in parts.items()
    }


def changed(a: Path, b: Path) -> set[tuple[str, str, str]]:
    before, after = digests(a), digests(b)
    assert before.keys() == after.keys()
    return {place for place in before if before[place] != after[place]}


def test_every_part_has_a_digest_of_its_own(built: Path, editions: Path) -> None:
    found = digests(built)
    splits = existing_manifest(Layout(built).manifest).splits
    assert {place[:2] for place in found} == {(hop, split) for hop in HOPS for split in splits[hop]}
    assert {place[2] for place in found} == set(PARTS)
    assert len(set(found.values())) == len(found)


@pytest.mark.slow
def test_other_batches_and_workers_give_the_same_content(
    built: Path, editions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "WINDOWS_A_BATCH", 1)
    monkeypatch.setattr(questions, "PLACES_A_BATCH", 2)
    monkeypatch.setattr(engine, "SCENES_A_BATCH", 3)
    for number, options in enumerate((["--workers", "3"], ["--workers", "1", "--images", "h5", "--no-json"])):
        out = tmp_path / str(number)
        assert run_command(["build", "--edition", NAME, "--out", str(out), *options, "--quiet"]) == 0
        assert not changed(built, out)
        assert verify(out).digest == verify(built).digest


@pytest.mark.slow
def test_files_packed_otherwise_have_the_same_content(copy: Path, built: Path) -> None:
    for path in copy.glob("hops/*/*.h5"):
        with h5py.File(path) as file:
            arrays = {name: each[:] for name, each in file.items()}
            attributes = dict(file.attrs)
        with h5py.File(path, "w") as file:
            for name, values in arrays.items():
                wide = name in ("questions", "programs")
                padded = np.pad(values, ((0, 0), (0, 3))) if wide else values
                file.create_dataset(name, data=padded.astype(">i8" if name == "answers" else "i8"))
            file.attrs.update(attributes)
    for path in copy.glob("images/*/*.png"):
        before = path.read_bytes()
        Image.open(path).save(path, compress_level=1)
        assert path.read_bytes() != before
    for path in copy.glob("images/*.h5"):
        with h5py.File(path) as file:
            images, indices, pool = file["images"][:], file["indices"][:], file.attrs["pool"]
        with h5py.File(path, "w") as file:
            file.create_dataset("images", data=images, chunks=(2, 16, 16, 3), compression="lzf")
            file.create_dataset("indices", data=indices)
            file.attrs["pool"] = pool
    for path in copy.glob("scenes/*/*.json"):
        raw = json.loads(path.read_text("utf-8"))
        rows = ",\n".join(json.dumps(dict(reversed(scene.items()))) for scene in raw["scenes"])
        path.write_text(f'{{"scenes": [\n{rows}\n]}}\n', "utf-8")
    assert not changed(built, copy)
    assert verify(copy).ok


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("questions", (7, 3)),
        pytest.param("programs", (4, 2), marks=pytest.mark.slow),
        pytest.param("answers", (4,), marks=pytest.mark.slow),
        pytest.param("question_families", (4,), marks=pytest.mark.slow),
    ],
)
def test_a_number_changes_the_digest_of_its_split(
    name: str, place: tuple[int, ...], copy: Path, built: Path
) -> None:
    with h5py.File(copy / "hops/cyan_cylinder/train.h5", "r+") as file:
        file[name][place] = file[name][place] + 1
    assert changed(built, copy) == {("cyan_cylinder", "train", "questions")}
    assert verify(copy).differences == ("cyan_cylinder/train: other questions",)


def test_two_questions_in_another_order_are_other_content(copy: Path, built: Path) -> None:
    with h5py.File(copy / "hops/cyan_cylinder/val_iid.h5", "r+") as file:
        for name in set(file) - {"orig_idxs"}:
            rows = file[name][:]
            file[name][:] = rows[[1, 0, *range(2, len(rows))]]
    assert changed(built, copy) == {("cyan_cylinder", "val_iid", "questions")}


def users(folder: Path, pool: str, index: int) -> set[tuple[str, str]]:
    """The sub-datasets and splits that ask about a scene."""
    found = set()
    for hop, splits in existing_manifest(Layout(folder).manifest).splits.items():
        for split, entry in splits.items():
            with h5py.File(folder / f"hops/{hop}/{split}.h5") as file:
                if entry["pool"] == pool and index in file["image_idxs"][:]:
                    found.add((hop, split))
    return found


def test_a_coordinate_changes_the_digests_of_the_splits_with_its_scene(copy: Path, built: Path) -> None:
    path = copy / "scenes/test_ood/0000.json"
    lines = path.read_text("utf-8").split("\n")
    scene = json.loads(lines[2].rstrip(","))
    scene["objects"][0]["3d_coords"][1] += 1e-6
    lines[2] = json.dumps(scene) + "," * lines[2].endswith(",")
    path.write_text("\n".join(lines), "utf-8")
    with_it = users(copy, "test_ood", scene["image_index"])
    assert with_it
    assert changed(built, copy) == {(*place, "scenes") for place in with_it}


def edit_pixel(folder: Path, pool: str, *, number: int = 1, h5: bool = True) -> int:
    """Changes a pixel of a pool's image by one step, in PNG and HDF5; gives the scene's index."""
    path = sorted((folder / "images" / pool).glob("*.png"))[number]
    pixels = np.array(Image.open(path))
    pixels[5, 9, 2] ^= 1
    Image.fromarray(pixels).save(path)
    index = int(path.stem.rpartition("_")[2])
    if h5:
        with h5py.File(folder / f"images/{pool}.h5", "r+") as file:
            file["images"][index] = pixels
    return index


def test_a_pixel_changes_the_digests_of_the_splits_with_its_image(copy: Path, built: Path) -> None:
    index = edit_pixel(copy, "test_ood")
    with_it = users(copy, "test_ood", index)
    assert changed(built, copy) == {(*place, "images") for place in with_it}
    assert set(verify(copy).differences) == {
        f"{hop}/{split}: other images, first image {index} of the pool test_ood" for hop, split in with_it
    }


def test_png_and_hdf5_have_to_agree(copy: Path) -> None:
    index = edit_pixel(copy, "val_iid", h5=False)
    (fault,) = verify(copy).faults
    assert f"images/val_iid.h5: image {index} has other pixels" in fault


@pytest.mark.slow
def test_images_between_those_compared_may_differ(copy: Path, editions: Path) -> None:
    path = editions / f"{NAME}.toml"
    path.write_text(path.read_text("utf-8").replace("every_image = 1", "every_image = 4"), "utf-8")
    before, n_images = digests(copy), verify(copy).n_images
    assert 0 < n_images < len(list(copy.glob("images/*/*.png")))
    images = sorted((copy / "images/test_iid").glob("*.png"))
    is_compared = [int(path.stem.rpartition("_")[2]) % 4 == 0 for path in images]
    for number in [number for number, compared in enumerate(is_compared) if not compared][:2]:
        edit_pixel(copy, "test_iid", number=number)
    assert digests(copy) == before
    edit_pixel(copy, "test_iid", number=is_compared.index(True))
    assert digests(copy) != before


def test_what_a_scene_was_drawn_from_is_not_its_content(built: Path) -> None:
    path = built / "scenes/train/0000.json"
    row = next(read_row_lines(path))
    scene = json.loads(row)
    assert scene.pop("stream")["seed"] == 11
    assert scene_digest(row, path, 2) == scene_digest(json.dumps(scene).encode(), path, 2)


def test_the_whole_digest_depends_on_each_part() -> None:
    def tree(**other: str) -> dict[str, Any]:
        parts = {"questions": "a" * 64, "scenes": "b" * 64, "images": "c" * 64}
        return {"none": {"train": parts, "val": {**parts, **other}}}

    base = whole_digest(tree(), PARTS)
    assert base == whole_digest({"none": dict(reversed(tree()["none"].items()))}, PARTS)
    assert len({base, *(whole_digest(tree(**{part: "d" * 64}), PARTS) for part in PARTS)}) == 4
    assert whole_digest(tree(images="d" * 64), PARTS[:2]) == whole_digest(tree(), PARTS[:2])
    without = tree()
    del without["none"]["val"]["images"]
    assert whole_digest(without, PARTS) is None
    assert whole_digest({}, PARTS) is None


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_digests_are_those_that_the_page_describes(built: Path, editions: Path) -> None:
    """Computed as docs/editions.md says, by code that shares nothing with the package's."""
    assert canonical({"b": [2.5, "é"], "a": 1}) == b'{"a":1,"b":[2.5,"\\u00e9"]}'
    maps = json.loads((built / "vocab.json").read_text("utf-8"))
    vocab = sha(json.dumps(list(maps.values()), sort_keys=True).encode())
    with h5py.File(built / "hops/cyan_cylinder/complex_ood.h5") as file:
        rows = {name: each[:].tolist() for name, each in file.items()}
    for tokens, lengths in (("questions", "question_lengths"), ("programs", "program_lengths")):
        pairs = zip(rows[tokens], rows[lengths], strict=True)
        rows[tokens] = [token for row, length in pairs for token in row[:length]]
    names = "answers image_idxs question_families question_lengths program_lengths questions programs"
    columns = {name: sha(b"".join(n.to_bytes(4, "little") for n in rows[name])) for name in names.split()}
    whole = {"format": "clevrhope questions 1", "vocab": vocab, "pool": "test_ood", "columns": columns}
    used = sorted(set(rows["image_idxs"]))
    scenes, images = (b"".join(index.to_bytes(4, "little") for index in used) for _ in range(2))
    raw = json.loads((built / "scenes/test_ood/0000.json").read_text("utf-8"))["scenes"]
    by_index = {scene["image_index"]: scene for scene in raw}
    for index in used:
        del by_index[index]["stream"]
        scenes += hashlib.sha256(canonical(by_index[index])).digest()
        image = Image.open(built / f"images/test_ood/HOPE_test_ood_{index:06d}.png").convert("RGB")
        images += hashlib.sha256(f"{image.width} {image.height} ".encode() + image.tobytes()).digest()
    found = verify(built)
    assert found.splits["cyan_cylinder"]["complex_ood"] == {
        "questions": sha(canonical({**whole, "n": len(rows["answers"])})),
        "scenes": sha(scenes),
        "images": sha(images),
    }
    hops = {hop: sha(canonical(splits)) for hop, splits in found.splits.items()}
    assert found.digest == sha(canonical({"format": "clevrhope content 1", "hops": hops}))
