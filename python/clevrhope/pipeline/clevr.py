"""A CLEVR_v1.0 folder in; the train pool's world with its scenes, and copies of its images out.

Only the train split is opened: nothing of val or test can come in, and a file of theirs is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import World
from clevrhope.config.presets import CLEVR_SHARE, Config
from clevrhope.dataset.clevr_folder import images_folder, scenes_file
from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.manifest import BindingError, Manifest
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.images.png import encode_png, open_png
from clevrhope.runtime.atomic import write_whole
from clevrhope.splits.hops import Hop

SPLIT = "train"
"""Of CLEVR, and the pool that its scenes go into."""

MODES = ("RGB", "RGBA")
"""Of a published image; its opacity says nothing and is left out."""

MOST_NAMED = 3
"""Missing images that an error names."""


def constraints(config: Config) -> Mapping[str, Any]:
    """Those of the configuration; with a CLEVR folder, its directions for the whole dataset.

    Raises:
        ConfigError: the camera's own directions are asked for, which CLEVR's scenes do not have.
    """
    if config.clevr is None:
        return config.world
    if config.world.get("directions", "clevr") != "clevr":
        raise ConfigError(
            f'world.directions is "{config.world["directions"]}", but with --clevr it has to be "clevr" for '
            "the whole dataset, since published scenes do not say where their camera stood"
        )
    return {**config.world, "directions": "clevr"}


def with_share(config: Config, existing: Manifest | None) -> Config:
    """The configuration with the share of CLEVR's scenes that it leaves open: the folder's, if it has one."""
    if config.clevr is None or config.clevr_share is not None:
        return config
    there = (existing.world.get("clevr") if existing else None) or {}
    return replace(config, clevr_share=there.get("share", CLEVR_SHARE))


def check_palettes(config: Config, existing: Manifest | None, hops: Sequence[Hop], out: Path) -> None:
    """Passes unless CLEVR's scenes, the folder's or asked for, would be beside a sub-dataset with a palette.

    Raises:
        ConfigError: they would; its pools cannot hold them.
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
    """The world of the pool `train` with CLEVR's scenes; None without a CLEVR folder.

    Raises:
        DatasetError: no CLEVR folder, no train scenes in it, or, where they are asked for, no train images.
        SceneError: scenes that are not those of CLEVR's train split; names the first.
    """
    if config.clevr is None:
        return None
    folder, file = config.clevr, scenes_file(config.clevr, SPLIT)
    if not folder.is_dir():
        raise DatasetError(f"{folder}: no such folder; expected a CLEVR_v1.0 folder (--clevr)")
    if not file.is_file():
        raise DatasetError(
            f"{folder}: no CLEVR folder with train scenes: {file.relative_to(folder)} is missing"
        )
    shown = images_folder(folder, SPLIT)
    if images and not shown.is_dir():
        raise DatasetError(
            f"{folder}: {shown.relative_to(folder)} is missing; with --no-render scenes are enough"
        )
    return world.with_clevr(file, share=config.clevr_share or CLEVR_SHARE)


def binding(config: Config, clevr: World | None) -> dict[str, Any]:
    """What the manifest says of CLEVR's scenes: what they are, not where they lie."""
    if clevr is None or clevr.clevr is None:
        return {}
    digest, n_scenes, _ = clevr.clevr
    return {"clevr": {"fingerprint": digest, "scenes": n_scenes, "share": config.clevr_share}}


def check_same(existing: Manifest, wanted: Manifest, config: Config, out: Path) -> None:
    """Passes when a folder has the CLEVR scenes that are asked for, and as many of them.

    Raises:
        BindingError: it has none, others, or another share; a sentence for each.
    """
    there, here = existing.world.get("clevr"), wanted.world.get("clevr")
    if there == here:
        return
    if here is None:
        raise BindingError(
            f"{out}: made with CLEVR's train scenes; name their folder with --clevr, also to extend it"
        )
    if there is None:
        raise BindingError(
            f"{out}: made without CLEVR's scenes, which would move those of its pool; choose another --out"
        )
    if there["fingerprint"] != here["fingerprint"]:
        numbers = (
            f"{there['scenes']:,}, not {here['scenes']:,}"
            if there["scenes"] != here["scenes"]
            else "as many, but they say something else"
        )
        raise BindingError(
            f"{out}: made with other train scenes of CLEVR than those in {config.clevr} ({numbers}); "
            "name the folder that it was made with"
        )
    raise BindingError(
        f"{out}: made with --clevr-share {there['share']}, not {here['share']}; choose another --out"
    )


def copy_images(
    folder: Path,
    wanted: Sequence[tuple[int, str, Path]],
    *,
    size: tuple[int, int],
    on_image: Callable[[], None],
) -> None:
    """Writes CLEVR's images as PNG files of a dataset: index in the pool, published name, and path of each.

    Red, green and blue of every pixel stay as published. The file is written anew, without opacity, so that
    all images of a dataset are of one kind. `size` is (height, width).

    Raises:
        DatasetError: images that are missing, told before any is copied; one that is none, or of
            another size.
    """
    published = images_folder(folder, SPLIT)
    there = {path.name for path in published.iterdir()} if published.is_dir() else set()
    missing = [f"{name} (scene {index} of {SPLIT})" for index, name, _ in wanted if name not in there]
    if missing:
        more = f" and {len(missing) - MOST_NAMED:,} more" if len(missing) > MOST_NAMED else ""
        raise DatasetError(
            f"{published}: {len(missing):,} images that are asked about are missing: "
            f"{', '.join(missing[:MOST_NAMED])}{more}; with --no-render scenes are enough"
        )

    def copy(each: tuple[int, str, Path]) -> None:
        index, name, path = each
        if not path.exists():
            write_whole(path, encode_png(read_published(published / name, index, size)))

    with ThreadPoolExecutor() as threads:
        try:
            for _ in threads.map(copy, wanted):
                on_image()
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise


def read_published(path: Path, index: int, size: tuple[int, int]) -> ImageArray:
    """The pixels (height, width, 3) of a published image, for the scene with an index.

    Raises:
        DatasetError: no whole PNG file, of another kind, or not of `size`, (height, width).
    """
    with open_png(path) as image:
        if image.mode not in MODES:
            raise DatasetError(f"{path}: of mode {image.mode}, for scene {index}; expected RGB or RGBA")
        if image.size[::-1] != size:
            found, wanted = f"{image.size[0]} x {image.size[1]}", f"{size[1]} x {size[0]}"
            raise DatasetError(f"{path}: {found} pixels, for scene {index}; the dataset has {wanted}")
        return np.asarray(image.convert("RGB"))
