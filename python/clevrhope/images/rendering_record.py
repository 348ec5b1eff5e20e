"""Records the settings of a renderer in manifests and messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from clevrhope.images.renderer import ANY, parse_device
from clevrhope.images.settings import (
    NATIVE_REVISION,
    Rendering,
    RenderSettings,
    default_settings,
    renderer_of,
)
from clevrhope.runtime.settings import naming, read_settings


def rendering_as_json(rendering: Rendering) -> dict[str, Any]:
    """The entry of a manifest: the renderer, all of its settings, and the native renderer's revision.

    Only the kind of the device is recorded, because it does not matter which of a machine's GPUs made an
    image.
    """
    found = {"renderer": renderer_of(rendering), **asdict(rendering)}
    if isinstance(rendering, RenderSettings):
        found["device"] = parse_device(rendering.device).kind
    else:
        found["revision"] = NATIVE_REVISION
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
        defaults = default_settings(found.get("renderer", "blender"))
    return read_settings(type(defaults), settings, where=where, start=defaults)


def other_revision(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Why images of two revisions of the native renderer must not be mixed; "" if the revisions are equal."""
    if any(each.get("renderer", "blender") != "native" for each in (there, here)):
        return ""
    before, now = there.get("revision"), here.get("revision")
    if before == now:
        return ""
    which = "an unknown revision" if before is None else f"revision {before}"
    return (
        f"its images are of {which} of the native renderer, and this clevrhope has revision {now}, "
        "whose pixels differ; choose another --out, or resume with the version that made them"
    )


def rendering_in_words(rendering: Mapping[str, Any]) -> str:
    """The command-line options for the rendering that a manifest records."""
    if rendering.get("renderer", "blender") == "native":
        return f"--renderer native --quality {rendering['quality']}"
    return f"--renderer blender --samples {rendering['samples']}"


def made_by(rendering: Mapping[str, Any]) -> str:
    """The renderer and its quality from a manifest's record, to follow "rendered by"."""
    if rendering.get("renderer", "blender") == "native":
        return f"clevrhope's native renderer (quality {rendering['quality']})"
    return f"Blender's Cycles ({rendering['samples']} samples per pixel)"
