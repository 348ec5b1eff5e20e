"""`stream`: a split without a build. Imports torch only where it is installed, and only when called."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Literal, cast

from clevrhope.config.presets import Config
from clevrhope.config.sources import resolve_config
from clevrhope.dataset.loader import Transform
from clevrhope.dataset.torch_dataset import torch_class
from clevrhope.errors import ConfigError, shown
from clevrhope.images.settings import NativeQuality, NativeSettings
from clevrhope.pipeline.limits import Limits
from clevrhope.pipeline.split_source import open_split_source
from clevrhope.runtime.settings import check_whole
from clevrhope.training.stream_dataset import Stream, check_process
from clevrhope.training.window_order import Order


def stream(
    hop: str,
    split: str,
    *,
    size: tuple[int, int],
    seed: int,
    limit: int | None = None,
    quality: NativeQuality | None = None,
    diversity: int | None = None,
    diversity_mode: Literal["nested", "grid"] = "nested",
    palette: str | PathLike[str] | None = None,
    test_palette: str | PathLike[str] | None = None,
    config: str | PathLike[str] | None = None,
    images: bool = True,
    text: bool = False,
    transform: Transform | None = None,
    scenes: bool = False,
    shuffle: int | None = None,
    buffer: int = 4,
    rank: int | None = None,
    world_size: int | None = None,
    cache: str | PathLike[str] | None = None,
) -> Stream:
    """A split's questions with images that are rendered as they are asked for: data without files.

    Questions, their order and pixels are those of `clevrhope build` with the same seed and settings; items
    are those of `clevrhope.load`. The questions are all made now; workers of a DataLoader only make images.

    Args:
        hop: such as "rubber_cylinder", "cyan_cylinder-d8", "prelim_cyan", or "none".
        split: such as "train" or "complex_ood".
        size: (width, height) of an image in pixels.
        seed: of scenes and questions, from 0 to 2**64 - 1, as of `build --seed`.
        limit: how many questions, from the first on; None for as many as the paper has.
        quality: "draft", "standard" (the default) or "high".
        diversity: number of combinations of the pair's types in training, the pair included.
        diversity_mode: which combinations these are, as of `build --diversity-mode`.
        palette: a file with the combinations, as of `build --palette`.
        test_palette: for val_b and test_b of `none`, as of `build --test-palette`.
        config: a settings file, as of `build --config`.
        images: False leaves the images out.
        text: adds question, program and answer in words.
        transform: applied to each image, (height, width, 3) uint8 RGB.
        scenes: adds the scenes, as a dataset's files have them.
        shuffle: a seed for the order; None for the split's own order.
        buffer: windows of 250 images whose questions are shuffled together; a process holds their images.
        rank: number of this process among those that train together; None asks torch.distributed.
        world_size: how many these are.
        cache: a folder that keeps the images for later epochs and runs.

    Returns:
        A torch `IterableDataset` where torch is installed, another iterable elsewhere.

    Raises:
        ConfigError: there is no such pair or split, or a setting is wrong; says what there is.
        DatasetError: the cache cannot be used.
        SplitError: no question or scene passes.
        SceneError: the renderer has no formula for a shape or material.
    """
    check_process()
    if not (isinstance(size, tuple | list) and len(size) == 2 and all(type(each) is int for each in size)):
        raise ConfigError(f"size is {shown(size)}; expected (width, height) in pixels, such as (96, 64)")
    NativeSettings(width=size[0], height=size[1], quality=quality or "standard")  # checks them
    check_whole("seed", seed)
    check_whole("buffer", buffer, least=1)
    for name, number, least in (("shuffle", shuffle, 0), ("limit", limit, 1), ("diversity", diversity, 1)):
        if number is not None:
            check_whole(name, number, least=least)
    ranks = _ranks(rank, world_size)
    limits = Limits(
        () if diversity is None else (diversity,),
        diversity_mode,
        None if palette is None else Path(palette),
        None if test_palette is None else Path(test_palette),
    )
    with _as_arguments():
        settings = _settings(None if config is None else Path(config), size, quality)
        source = open_split_source(hop, split, config=settings, seed=seed, limits=limits)
    made: Stream = torch_class(Stream)(
        source,
        limit=limit,
        rendering=cast(NativeSettings, settings.rendering),
        images=images,
        text=text,
        transform=transform,
        scenes=scenes,
        order=Order(shuffle, buffer),
        ranks=ranks,
        cache=None if cache is None else Path(cache),
    )
    return made


def _settings(file: Path | None, size: tuple[int, int], quality: str | None) -> Config:
    """The settings of a build with the paper's sizes and the native renderer."""
    width, height = size
    config = resolve_config(
        preset="paper", file=file, renderer="native", quality=quality, width=width, height=height
    )
    if config.clevr is not None:
        raise ConfigError(f"{file}: clevr: CLEVR's images are copied, not rendered, so they need a build")
    if config.passes:
        raise ConfigError(f"{file}: passes: a stream gives no {', '.join(config.passes)}; build a dataset")
    return config


def _ranks(rank: int | None, world_size: int | None) -> tuple[int, int] | None:
    if rank is None and world_size is None:
        return None
    if rank is None or world_size is None:
        raise ConfigError("rank and world_size go together; give both, or neither to ask torch.distributed")
    check_whole("rank", rank)
    check_whole("world_size", world_size, least=1)
    if rank >= world_size:
        raise ConfigError(f"rank is {rank}, but world_size is {world_size}; ranks are counted from 0")
    return rank, world_size


@contextmanager
def _as_arguments() -> Iterator[None]:
    """Has a message that names an option of `build` name the argument of `stream`."""
    try:
        yield
    except ConfigError as error:
        options = re.compile("--([a-z-]+)")
        raise ConfigError(options.sub(lambda each: each[1].replace("-", "_"), str(error))) from error
