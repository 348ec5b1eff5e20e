"""Records the settings of a renderer in manifests and messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from clevrhope.images.renderers import (
    DEFAULT_RENDERER,
    renderer_of,
    row_of,
    row_recorded,
)
from clevrhope.images.settings import ANY, Rendering, parse_device
from clevrhope.runtime.settings import naming, read_settings


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
    name = rendering.get("renderer", DEFAULT_RENDERER)
    return f"--renderer {name} --{effort} {rendering[effort]}"


def made_by(rendering: Mapping[str, Any]) -> str:
    """The renderer and its quality from a manifest's record, to follow "rendered by"."""
    return row_recorded(rendering).made_by.format_map(rendering)
