"""Freezes editions anew: makes their content, and writes its digests into the package.

    python tests/editions/freeze_edition.py hope-1-small hope-1

It makes the text of all pairs in a temporary folder (`--work DIR` keeps it elsewhere), and renders the images
that are compared. An edition is not frozen again once a release has it: other content gets another name.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from rich.console import Console

from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.editions.content import PARTS, read_content, whole_digest
from clevrhope.editions.definition import Edition, edition_names, read_edition
from clevrhope.editions.frozen import write_frozen
from clevrhope.images.renderer import Renderer
from clevrhope.images.renderers import open_renderer, rendering_as_json
from clevrhope.look.definition import read_look
from clevrhope.pipeline import Request, build
from clevrhope.runtime.display import TerminalProgress
from clevrhope.runtime.progress import Progress, Silent


def freeze(edition: Edition, work: Path, progress: Progress | None = None) -> Path:
    """Freezes an edition and gives the file; `work` is a folder for its text."""
    progress = progress or Silent()
    config = replace(edition.config, question_json=False)
    request = Request(work, edition.hops, config, edition.seed, render=False)
    build(request, progress=progress)
    layout = Layout(work)
    manifest = existing_manifest(layout.manifest)
    with open_renderer(config.rendering, look=read_look()) as renderer:
        content = read_content(
            layout,
            manifest,
            progress,
            every_image=edition.every_image,
            render=lambda pool, indices: rendered(renderer, layout, pool, indices),
        )
    assert not content.faults, content.faults
    assert whole_digest(content.splits, PARTS)
    return write_frozen(edition, manifest, rendering_as_json(config.rendering), content)


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
