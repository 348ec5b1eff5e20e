"""The table of renderers, and what manifests record of one. A new renderer is one module and one row here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError
from clevrhope.images.blender.cycles import BLENDER
from clevrhope.images.native import NATIVE
from clevrhope.images.renderer import Renderer, RendererRow
from clevrhope.images.settings import ANY, CPU, Rendering, parse_device
from clevrhope.look.definition import Look
from clevrhope.runtime.settings import naming, read_settings, unknown

#: The renderers by their names in options, files and manifests.
RENDERERS: dict[str, RendererRow] = {"blender": BLENDER, "native": NATIVE}

#: The renderer where none is named.
DEFAULT_RENDERER = "blender"

#: Where renderers run: in processes that this one starts, or in the actors of a Ray cluster.
ENGINES = ("local", "ray")


def row_named(renderer: str) -> RendererRow:
    """The row of a renderer; raises ConfigError if there is no such renderer."""
    if renderer not in RENDERERS:
        raise ConfigError(unknown("renderer", renderer, RENDERERS))
    return RENDERERS[renderer]


def row_recorded(record: Mapping[str, Any]) -> RendererRow:
    """The row of the renderer that a manifest's record of rendering names; raises as `row_named`."""
    return row_named(record.get("renderer", DEFAULT_RENDERER))


def renderer_of(rendering: Rendering) -> str:
    """The name of the renderer that settings are for."""
    return next(name for name, row in RENDERERS.items() if type(rendering) is row.settings)


def row_of(rendering: Rendering) -> RendererRow:
    """The row of the renderer that settings are for."""
    return RENDERERS[renderer_of(rendering)]


def on_device(rendering: Rendering, device: str) -> Rendering:
    """These settings on another device; raises ConfigError if it is invalid, or a GPU that is not used."""
    choice, row = parse_device(device), row_of(rendering)
    if row.takes("device"):
        return replace(rendering, device=device)  # type: ignore[call-arg]
    if choice.kind not in (ANY, CPU):
        raise ConfigError(f"{device}: {row.title} runs only on the CPU; use --renderer {DEFAULT_RENDERER}")
    return rendering


def open_renderer(
    rendering: Rendering,
    *,
    look: Look | None = None,
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
    folder: Path | None = None,
) -> Renderer:
    """Opens a renderer, which stays open until it is closed.

    Args:
        rendering: size and effort; its class decides the renderer.
        look: how the names in the scenes are drawn; by default the package's look.
        workers: Blender processes, or images that the native renderer has in flight at once; both use all
            cores whatever this number. With Ray, the number of actors, or of actors per GPU if there are
            GPUs.
        engine: one of `ENGINES`.
        address: the address of the Ray cluster; by default a cluster on this machine.
        folder: the folder of the images, for the compiled kernels of this machine's GPUs, see
            `CyclesRenderer`.

    Raises:
        ConfigError: the look, engine, address or device is invalid.
        RenderError: Blender or Ray is needed but missing, or Ray does not answer.
        SceneError: the renderer has no formula for a shape or material.
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine {engine!r} should be {' or '.join(ENGINES)}")
    if engine == "ray":
        from clevrhope.images.ray.engine import RayRenderer  # Ray may not be installed

        return RayRenderer(rendering, row_of(rendering), look=look, workers=workers, address=address)
    if address is not None:
        raise ConfigError(f"--address: {address} is the address of a Ray cluster; add --engine ray")
    return row_of(rendering).open(rendering, look=look, workers=workers, folder=folder)


def rendering_as_json(rendering: Rendering) -> dict[str, Any]:
    """The entry of a manifest: the renderer, all of its settings, and the renderer's revision if it has one.

    Only the kind of the device is recorded, because it does not matter which of a machine's GPUs made an
    image.
    """
    found = {"renderer": renderer_of(rendering), **asdict(rendering)}
    if "device" in found:
        found["device"] = parse_device(found["device"]).kind
    if (revision := row_of(rendering).revision) is not None:
        found["revision"] = revision
    return found


def rendering_of_folder(there: Mapping[str, Any] | None, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry of a folder's manifest after images are added to it: the requested rendering.

    A folder that was started with device "auto" keeps it when it is resumed on a specific device.
    """
    if there is not None and there.get("device") == ANY and "device" in asked:
        return {**asked, "device": ANY}
    return asked


def rendering_from_json(found: Mapping[str, Any], *, where: str) -> Rendering:
    """Reads settings as `rendering_as_json` wrote them; `where` names the file in messages.

    Raises:
        ConfigError: a renderer or setting is unknown, or a value has another type.
    """
    settings = {name: value for name, value in found.items() if name not in ("renderer", "revision")}
    with naming(where):
        defaults = row_recorded(found).settings()
    return read_settings(type(defaults), settings, where=where, start=defaults)


def other_revision(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Why images of two revisions of a renderer must not be mixed; "" if the revisions are equal."""
    before, now = there.get("revision"), here.get("revision")
    if before == now or there.get("renderer") != here.get("renderer"):
        return ""
    which = "an unknown revision" if before is None else f"revision {before}"
    return (
        f"its images are of {which} of {row_recorded(here).title}, and this clevrhope has revision {now}, "
        "whose pixels differ; choose another --out, or resume with the version that made them"
    )


def rendering_in_words(rendering: Mapping[str, Any]) -> str:
    """The command-line options for the rendering that a manifest records."""
    effort = row_recorded(rendering).effort
    return f"--renderer {rendering['renderer']} --{effort} {rendering[effort]}"


def made_by(rendering: Mapping[str, Any]) -> str:
    """The renderer and its quality from a manifest's record, to follow "rendered by"."""
    return row_recorded(rendering).made_by.format_map(rendering)
