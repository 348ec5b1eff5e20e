"""Freezes editions anew: makes their content, and writes its digests into the package.

    python tests/editions/freeze_edition.py hope-1-small hope-1

It makes the text of all pairs in a temporary folder (`--work DIR` keeps it elsewhere), and renders the images
that are compared. An edition is not frozen again once a release has it: other content gets another name.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np
from rich.console import Console

from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.editions import definition
from clevrhope.editions.content import PARTS, image_digest, joined_digest, read_content, whole_digest
from clevrhope.editions.definition import Edition, edition_names, read_edition
from clevrhope.editions.frozen import SHORT, engine_of
from clevrhope.images.renderer import Renderer
from clevrhope.images.renderers import open_renderer, rendering_as_json
from clevrhope.look.definition import read_look
from clevrhope.pipeline import Request, build
from clevrhope.runtime.display import TerminalProgress
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.version import software_version


def freeze(edition: Edition, work: Path, progress: Progress | None = None) -> Path:
    """Freezes an edition and gives the file; `work` is a folder for its text."""
    progress = progress or Silent()
    config = replace(edition.config, question_json=False)
    splits = () if edition.nonce else None
    request = Request(work, edition.hops, config, edition.seed, splits, render=False, nonce=edition.nonce)
    build(request, progress=progress)
    layout = Layout(work)
    manifest = existing_manifest(layout.manifest)
    content = read_content(layout, manifest, progress, every_image=edition.every_image)
    assert not content.faults, content.faults
    checked: dict[str, set[int]] = {}
    for pool, indices in (each for used in content.checked.values() for each in used.items()):
        checked.setdefault(pool, set()).update(indices.tolist())
    images = {}
    with open_renderer(config.rendering, look=read_look()) as renderer:
        for pool, numbers in sorted(checked.items()):
            of_pool = rendered(renderer, layout, pool, np.asarray(sorted(numbers), np.int32))
            images[pool] = {index: image_digest(pixels) for index, pixels in of_pool}
    found: dict[str, dict[str, dict[str, str]]] = {}
    for (hop, split), used in content.checked.items():
        of_images = joined_digest(used, images)
        found.setdefault(hop, {})[split] = {**content.splits[hop][split], "images": of_images}
    assert whole_digest(found, PARTS)
    frozen = {
        "clevrhope": software_version(),
        "engine": engine_of(manifest, rendering_as_json(config.rendering)),
        "splits": found,
        "images": {
            pool: " ".join(f"{index}:{digest.hex()[:SHORT]}" for index, digest in sorted(of_pool.items()))
            for pool, of_pool in images.items()
        },
    }
    path = definition.FOLDER / f"{edition.name}.json"
    path.write_text(json.dumps(frozen, indent=1) + "\n", "utf-8")
    return path


def rendered(
    renderer: Renderer, layout: Layout, pool: str, indices: Ints
) -> Iterator[tuple[int, ImageArray]]:
    """The images of a pool, rendered from the scenes of a folder."""
    return renderer.render((scene["image_index"], scene) for scene in scenes_of(layout, pool, indices))


def main() -> None:
    """Freezes the editions that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("editions", nargs="+", choices=edition_names())
    parser.add_argument("--work", type=Path, help="keep the text here; a second run resumes it")
    options = parser.parse_args()
    progress = TerminalProgress(Console(stderr=True))
    for name in options.editions:
        began = monotonic()
        with TemporaryDirectory(prefix="clevrhope-") as folder:
            path = freeze(read_edition(name), (options.work or Path(folder)) / name, progress)
        print(f"{path}: frozen in {monotonic() - began:.0f} s")  # noqa: T201


if __name__ == "__main__":
    main()
