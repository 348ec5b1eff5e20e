"""The first steps of resolving a request: opens what it names, and binds that to the folder."""

import json
import re
from dataclasses import replace
from pathlib import Path

from clevrhope._core import World
from clevrhope.config.presets import WINDOW, Config
from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.binding import check_binding
from clevrhope.dataset.layout import ON_ANOTHER_DISK, Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.editions.frozen import check_engine
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.images.passes import parse_passes
from clevrhope.pipeline import clevr
from clevrhope.pipeline.engine import Engine, open_world, template_files
from clevrhope.pipeline.request import Request, folder_palettes, limited_hops, with_diversity
from clevrhope.questions import read_templates
from clevrhope.runtime.reading import os_reason, reading
from clevrhope.splits.hops import Hop, parse_hop, prelim_hops
from clevrhope.splits.kinds import SPLITS, splits_of_dataset
from clevrhope.version import DATASET_VERSION


def open_engine(request: Request, existing: Manifest | None) -> tuple[Engine, tuple[Hop, ...]]:
    """Opens world, templates and CLEVR's scenes, and looks up the sub-datasets, each once.

    Args:
        request: the wanted dataset.
        existing: the folder's manifest; None for a new folder.

    Raises:
        ClevrhopeError: a pair, palette, template or setting is wrong, or conflicts with another.
    """
    config = clevr.with_share(request.config, existing)
    world = open_world(config)
    templates = read_templates(world, config.templates)
    hops = limited_hops(_hops(request, world), request.limits)
    clevr.check_palettes(config, existing, hops, request.out)
    _check_passes(request, existing)
    of_train = clevr.open_clevr(config, world, images=request.render)
    seed = request.seed if request.seed is not None else existing.seed if existing else None
    if seed is None:
        raise ConfigError(f"{request.out}: a new dataset needs a seed")
    recorded = existing.palettes if existing else {}
    palettes = folder_palettes(hops, request.limits, world, seed=seed, recorded=recorded)
    engine = Engine(world, templates, config, seed=seed, palettes=palettes, clevr=of_train)
    return engine, tuple(with_diversity(hop, palettes) for hop in hops)


def _hops(request: Request, world: World) -> tuple[Hop, ...]:
    if not request.hops and not request.prelim:
        raise ConfigError("no HOP given; name one or more with --hop, such as --hop rubber_cylinder")
    types = world.attribute_types
    named = (parse_hop(name, types) for name in request.hops)
    return tuple(dict.fromkeys((*named, *prelim_hops(request.prelim, types))))


def _check_passes(request: Request, existing: Manifest | None) -> None:
    """Checks that every wanted image can have the wanted annotations."""
    if not request.config.passes:
        return
    if not request.render:
        raise ConfigError(
            "--passes: masks, depths and normals are made with the images; leave --no-render out"
        )
    if request.config.clevr is not None or (existing is not None and "clevr" in existing.world):
        raise ConfigError(
            f"--passes: CLEVR's scenes do not say where their camera stood, so no mask fits their images; "
            f"leave --clevr out and choose another folder than {request.out}"
        )


def bind(request: Request, engine: Engine, existing: Manifest | None) -> Manifest:
    """Returns the folder's manifest, checked against the request; for a new folder, one that lists nothing.

    Raises:
        ClevrhopeError: the folder is bound to another seed, world or other setting, or is not a dataset.
    """
    if existing is None:
        _check_empty(request.out)
    world, templates, config = engine.world, engine.templates, engine.config
    wanted = Manifest(
        version=DATASET_VERSION,
        seed=engine.seed,
        world={
            "fingerprint": world.fingerprint,
            "constraints": json.loads(world.config_json),
            "attributes": {kind: list(values) for kind, values in world.attribute_types},
            **({"look": config.look} if config.look else {}),
            **clevr.binding(config, engine.clevr),
        },
        templates={"fingerprint": templates.fingerprint, "files": template_files(templates)},
        questions={
            "window": WINDOW,
            "an_image": {
                name: SPLITS[name].questions_per_scene
                for name in splits_of_dataset("pair", "plain")
                if SPLITS[name].drawn == "stream"
            },
            **config.changed_settings(),
        },
        rendering=request.rendering,
        edition=request.edition.record(engine.seed) if request.edition else None,
    )
    if request.edition:
        check_engine(request.edition, wanted)
    if existing is None:
        return replace(wanted, rendering=None)
    # The folder has no number of questions for kinds of splits that were added after it was made.
    questions = {**existing.questions}
    questions["an_image"] = {**wanted.questions["an_image"], **questions["an_image"]}
    if not existing.covr:
        # The way pairs are held out of questions over several images is not bound yet.
        free = QuestionSettings.names_of_sets()
        questions = {name: value for name, value in questions.items() if name not in free}
        questions |= {name: value for name, value in wanted.questions.items() if name in free}
    existing = replace(existing, questions=questions)
    clevr.check_same(existing, wanted, config, request.out)
    check_binding(existing, wanted, request.out)
    _check_seed(existing, Layout(request.out))
    return existing


def with_formats(config: Config, manifest: Manifest, root: Path) -> Config:
    """Adds to the configuration the image formats and annotations that the folder already has.

    Raises:
        ConfigError: the manifest names annotations that do not exist.
    """
    recorded = parse_passes(manifest.config.get("passes", ()), f"{Layout(root).manifest}: config.passes")
    is_same = manifest.config.get("images") in (None, config.images)
    return replace(
        config,
        images=config.images if is_same else "both",
        passes=parse_passes([*config.passes, *recorded], "--passes"),
    )


def _check_empty(root: Path) -> None:
    """Checks that a new folder is empty, so that a user's files are never mixed with a dataset."""
    try:
        entries = [path for path in root.iterdir() if not path.name.startswith(".")]
    except FileNotFoundError:
        return
    except OSError as error:
        raise DatasetError(
            f"{root}: cannot hold a dataset ({os_reason(error)}); choose another --out"
        ) from error
    # Users may link the folder of images to another disk beforehand.
    strays = [
        path for path in entries if not (path.name in ON_ANOTHER_DISK and _is_link_to_an_empty_folder(path))
    ]
    if strays:
        raise DatasetError(
            f"{root}: not empty ({strays[0].name}) and not a dataset of clevrhope (no manifest.json); "
            "choose another --out"
        )


def _is_link_to_an_empty_folder(path: Path) -> bool:
    return path.is_symlink() and path.is_dir() and all(each.name.startswith(".") for each in path.iterdir())


_STREAM = re.compile(rb'"stream":\{"world":"\w+","seed":(\d+)')


def _check_seed(manifest: Manifest, layout: Layout) -> None:
    """Checks that the folder's scenes were drawn with the manifest's seed, which nobody may edit."""
    for pool in sorted({entry["pool"] for splits in manifest.splits.values() for entry in splits.values()}):
        for path in layout.scene_files(pool)[:1]:
            with reading(path, "a scene file"), path.open("rb") as file:
                drawn = _STREAM.search(file.read(1 << 16))
            if drawn is not None and int(drawn[1]) != manifest.seed:
                raise DatasetError(
                    f"{layout.manifest}: seed is {manifest.seed}, but {layout.relative(path)} was drawn with "
                    f"seed {int(drawn[1])}; put the manifest's own seed back, or build into another folder"
                )
