"""CLEVR's own scenes and images as part of the train pool.

Only CLEVR's train split is opened, so nothing from its val and test can get into a dataset.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import World
from clevrhope.config.presets import CLEVR_SHARE, Config
from clevrhope.dataset.binding import BindingError
from clevrhope.dataset.clevr_folder import images_folder, scenes_file
from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.manifest import Manifest
from clevrhope.errors import ConfigError, DatasetError, listed
from clevrhope.images.png import open_png
from clevrhope.runtime.threads import map_in_threads
from clevrhope.splits.hops import Hop

SPLIT = "train"
"""CLEVR's split, and the pool to which its scenes are added."""

MODES = ("RGB", "RGBA")
"""Modes of CLEVR's images; their opacity carries no information and is dropped."""


def constraints(config: Config) -> Mapping[str, Any]:
    """The configuration's constraints on scenes; with a CLEVR folder, its directions for the whole dataset.

    Raises:
        ConfigError: another look is wanted, or the camera's own directions, which CLEVR's scenes do not have.
    """
    if config.clevr is None:
        return config.world
    if config.look:
        raise ConfigError(
            f"look.{next(iter(config.look))}: CLEVR's images (--clevr) have CLEVR's look; leave out [look], "
            "or --clevr"
        )
    if config.world.get("directions", "clevr") != "clevr":
        raise ConfigError(
            f'world.directions is "{config.world["directions"]}", but with --clevr it has to be "clevr" for '
            "the whole dataset, since published scenes do not say where their camera stood"
        )
    return {**config.world, "directions": "clevr"}


def with_share(config: Config, existing: Manifest | None) -> Config:
    """Fills in CLEVR's share: 1 if its scenes come first, or else that of the folder, or the default."""
    if config.clevr is None or config.clevr_share is not None:
        return config
    if config.clevr_order == "first":
        return replace(config, clevr_share=1.0)
    there = (existing.world.get("clevr") if existing else None) or {}
    share = there.get("share", CLEVR_SHARE)
    # A share of 1 is the order first, which was not asked for again.
    return replace(config, clevr_share=CLEVR_SHARE if config.clevr_order == "even" and share == 1 else share)


def check_palettes(config: Config, existing: Manifest | None, hops: Sequence[Hop], out: Path) -> None:
    """Checks that CLEVR's scenes, old or new, are not combined with a sub-dataset that has a palette.

    Raises:
        ConfigError: they are, and the pools of the sub-dataset cannot hold them.
    """
    there = existing is not None and "clevr" in existing.world
    limited = next((hop.name for hop in hops if hop.palette), None)
    if limited is None or not (there or config.clevr):
        return
    reason = (
        f'HOP "{limited}": its pools have a palette (--palette, --diversity), and CLEVR\'s scenes have all '
        "combinations of values"
    )
    if there:
        raise ConfigError(f"{reason}; {out} has some of them: choose another --out, without --clevr")
    raise ConfigError(
        f"{reason}; leave --clevr out, or make the sub-datasets without palette in another --out"
    )


def open_clevr(config: Config, world: World, *, images: bool) -> World | None:
    """Opens the world of the pool `train` with CLEVR's scenes; None without a CLEVR folder.

    Raises:
        DatasetError: the folder is missing, has no train scenes, or, if `images`, no train images.
        SceneError: the scenes are not those of CLEVR's train split; names the first wrong scene.
    """
    if config.clevr is None:
        return None
    folder, file = config.clevr, scenes_file(config.clevr, SPLIT)
    if not folder.is_dir():
        raise DatasetError(f"{folder}: no such folder; expected a CLEVR_v1.0 folder (--clevr)")
    if not file.is_file():
        raise DatasetError(
            f"{folder}: not a CLEVR folder with train scenes: {file.relative_to(folder)} is missing"
        )
    shown = images_folder(folder, SPLIT)
    if images and not shown.is_dir():
        raise DatasetError(
            f"{folder}: {shown.relative_to(folder)} is missing; with --no-render scenes are enough"
        )
    return world.with_clevr(file, share=config.clevr_share or CLEVR_SHARE)


def binding(config: Config, clevr: World | None) -> dict[str, Any]:
    """What the manifest records about CLEVR's scenes: their content and share, but not their path."""
    if clevr is None or clevr.clevr is None:
        return {}
    digest, by_number = clevr.clevr
    return {"clevr": {"fingerprint": digest, "scenes": sum(by_number), "share": config.clevr_share}}


def check_same(existing: Manifest, wanted: Manifest, config: Config, out: Path) -> None:
    """Checks that a folder has the requested scenes of CLEVR, in the requested share.

    Raises:
        BindingError: it has none, others, or another share.
    """
    there, here = existing.world.get("clevr"), wanted.world.get("clevr")
    if there == here:
        return
    if here is None:
        raise BindingError(
            f"{out}: made with CLEVR's train scenes; to extend it, name their folder with --clevr"
        )
    if there is None:
        raise BindingError(
            f"{out}: made without CLEVR's scenes, which would move those of its pool; choose another --out"
        )
    if there["fingerprint"] != here["fingerprint"]:
        numbers = (
            f"{there['scenes']:,}, not {here['scenes']:,}"
            if there["scenes"] != here["scenes"]
            else "as many, with other content"
        )
        raise BindingError(
            f"{out}: made with other train scenes of CLEVR than those in {config.clevr} ({numbers}); "
            "name the folder that it was made with"
        )
    made, asked = (
        "--clevr-order first" if each["share"] == 1 else f"--clevr-share {each['share']}"
        for each in (there, here)
    )
    raise BindingError(f"{out}: made with {made}, not {asked}; choose another --out")


def copy_images(
    folder: Path,
    wanted: Sequence[tuple[int, str, Path]],
    *,
    size: tuple[int, int],
    write: Callable[[Path, ImageArray], None],
    on_image: Callable[[], None],
) -> None:
    """Copies CLEVR's images into a dataset, dropping opacity so that all images have the same mode.

    Args:
        folder: CLEVR_v1.0.
        wanted: for each image its index in the pool, CLEVR's file name, and the path of the copy.
        size: (height, width) that the images must have.
        write: writes an image; called in other threads.
        on_image: called after each image.

    Raises:
        DatasetError: images are missing (checked before any is copied), or one is broken or of another size.
    """
    published = images_folder(folder, SPLIT)
    there = {path.name for path in published.iterdir()} if published.is_dir() else set()
    missing = [f"{name} (scene {index} of {SPLIT})" for index, name, _ in wanted if name not in there]
    if missing:
        raise DatasetError(
            f"{published}: {len(missing):,} needed images are missing: {listed(missing, most=3)}; with "
            "--no-render scenes are enough"
        )

    def copy(each: tuple[int, str, Path]) -> None:
        index, name, path = each
        write(path, _read_published(published / name, index, size))

    for _ in map_in_threads(copy, wanted, threads=None):
        on_image()


def _read_published(path: Path, index: int, size: tuple[int, int]) -> ImageArray:
    """(height, width, 3) uint8 RGB of one of CLEVR's images; `index` is that of the scene in the pool."""
    with open_png(path) as image:
        if image.mode not in MODES:
            raise DatasetError(f"{path}: mode {image.mode}, for scene {index}; expected RGB or RGBA")
        if image.size[::-1] != size:
            found, wanted = f"{image.size[0]} x {image.size[1]}", f"{size[1]} x {size[0]}"
            raise DatasetError(f"{path}: {found} pixels, for scene {index}; the dataset has {wanted}")
        return np.asarray(image.convert("RGB"))
