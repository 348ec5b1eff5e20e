"""The first step of resolving a request: opens everything that it names, without writing anything."""

from dataclasses import dataclass

from clevrhope.config.presets import Config
from clevrhope.dataset.manifest import Manifest
from clevrhope.errors import ConfigError
from clevrhope.pipeline.clevr import check_palettes, open_clevr, with_share
from clevrhope.pipeline.engine import Templates, World, open_world
from clevrhope.pipeline.limits import limited_hops
from clevrhope.pipeline.request import Request
from clevrhope.questions import read_templates
from clevrhope.splits.hops import Hop, parse_hop, prelim_hops


@dataclass(frozen=True)
class Inputs:
    """What a request names, opened and checked."""

    config: Config
    """Includes the share of CLEVR's scenes, taken from the folder if the request does not set it."""
    world: World
    clevr: World | None
    """The world of the pool `train` if that contains CLEVR's scenes."""
    templates: Templates
    hops: tuple[Hop, ...]
    """Each sub-dataset once, with the name of its palette if it has one."""


def open_inputs(request: Request, existing: Manifest | None) -> Inputs:
    """Reads world, templates and CLEVR's scenes, and looks up the pairs.

    Args:
        request: the wanted dataset.
        existing: the folder's manifest; None for a new folder.

    Raises:
        ClevrhopeError: a pair, template or setting is wrong, or conflicts with another.
    """
    config = with_share(request.config, existing)
    world = open_world(config)
    templates = read_templates(world, config.templates)
    hops = limited_hops(_hops(request, world), request.limits)
    check_palettes(config, existing, hops, request.out)
    _check_passes(request, existing)
    return Inputs(config, world, open_clevr(config, world, images=request.render), templates, hops)


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
